"""Graphs: ancestors, merge bases and bisection in any graph, and the graph of commits.

Bisection follows the rule of `git bisect`: if a node is good, so are its ancestors, and if it is
bad, so are its descendants. Next is looked at the node that splits the suspects most evenly
(bisect.c, `find_bisection`).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, permutations, takewhile
from typing import Final, Generic, TypeAlias, TypeVar

from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Commit
from dbt.adapters.vcs.core.store.objects import ObjectStore

N = TypeVar("N", bound=str)

ParentsOf: TypeAlias = Callable[[N], Iterable[N]]
AgeOf: TypeAlias = Callable[[N], int]


# Marks of a node. Plain numbers: collections compare many pairs, and an enum takes most of that.
_LEFT: Final = 1
_RIGHT: Final = 2
_BOTH: Final = 3
_STALE: Final = 4


def no_age(_: str) -> int:
    """Give every node the same age: the results stay right, but more nodes are visited."""
    return 0


def ancestors(
    starts: Iterable[N], parents_of: ParentsOf[N], age_of: AgeOf[N] = no_age
) -> Iterator[N]:
    """Yield the starts and all their ancestors once each, the highest `age_of` first.

    If every node's age is above its parents', children come before parents.
    """
    queue: _Queue[N] = _Queue(age_of)
    queued = set()
    for start in starts:
        if start not in queued:
            queued.add(start)
            queue.push(start)
    while queue:
        node = queue.pop()
        yield node
        for parent in parents_of(node):
            if parent not in queued:
                queued.add(parent)
                queue.push(parent)


def is_ancestor(
    node: N, descendant: N, parents_of: ParentsOf[N], age_of: AgeOf[N] = no_age
) -> bool:
    """Return whether a node is reachable from another; a node is its own ancestor.

    Ages must not increase from a node to a parent: only nodes younger than the node are visited.
    """
    age = age_of(node)
    above = takewhile(
        lambda found: age_of(found) >= age, ancestors([descendant], parents_of, age_of)
    )
    return any(found == node for found in above)


def generations(starts: Iterable[N], parents_of: ParentsOf[N]) -> dict[N, int]:
    """Return how far each ancestor of some nodes is from the first one: an age above its parents'.

    For graphs whose nodes have no time that is later than their parents'. All of them are visited.
    """
    found: dict[N, int] = {}
    stack = list(starts)
    while stack:
        node = stack[-1]
        parents = [] if node in found else list(parents_of(node))
        missing = [parent for parent in parents if parent not in found]
        if missing:
            stack += missing
            continue
        if node not in found:
            found[node] = 1 + max((found[parent] for parent in parents), default=0)
        stack.pop()
    return found


def merge_bases(left: N, right: N, parents_of: ParentsOf[N], age_of: AgeOf[N] = no_age) -> list[N]:
    """Return the best common ancestors, sorted: those that are not ancestors of another one.

    Criss-cross merges have several, unrelated histories none. As in git's paint-down
    (commit-reach.c), both sides' marks flow to parents until only nodes below a common one are
    left. Ages affect how many nodes are visited, never the result.
    """
    candidates = _paint_down(left, right, parents_of, age_of)
    # The walk stops early, so a candidate may still be an ancestor of another one.
    redundant = {
        node
        for node, other in permutations(candidates, 2)
        if descends_from(other, node, parents_of, age_of)
    }
    return sorted(set(candidates) - redundant)


def descends_from(
    descendant: N, node: N, parents_of: ParentsOf[N], age_of: AgeOf[N] = no_age
) -> bool:
    """Return whether a node is reachable from another, as `is_ancestor` does.

    Ages affect how many nodes are visited, never the result.
    """
    # Nothing that two nodes have in common is above one of them.
    return node in _paint_down(descendant, node, parents_of, age_of)


def reaches_alone(
    node: N,
    other: N,
    is_wanted: Callable[[N], bool],
    parents_of: ParentsOf[N],
    age_of: AgeOf[N] = no_age,
) -> bool:
    """Return whether a node reaches a wanted one that the other node doesn't reach.

    Ages affect how many nodes are visited, never the result.
    """
    # Where ages are odd, the other one may reach some of them, too.
    return any(
        is_wanted(found) and not descends_from(other, found, parents_of, age_of)
        for found in only_reached(node, [other], parents_of, age_of)
    )


def only_reached(
    node: N,
    others: Iterable[N],
    parents_of: ParentsOf[N],
    age_of: AgeOf[N] = no_age,
    is_end: Callable[[N], bool] = lambda _: False,
) -> list[N]:
    """Return what a node reaches and none of the others does, children before parents.

    This is git's `others..node`. What the node reaches only through nodes that `is_end` is left
    out. If the age of each is above that of its parents, only nodes younger than the oldest result
    are visited, and a few more. Otherwise some that the others reach may be among them, too.
    """
    # Exclusion flows to parents. The order by age takes a node only after all of its children, so
    # it is known by then whether one of them is excluded.
    queue: _Queue[N] = _Queue(age_of)
    excluded = set(others)
    seen = {*excluded, node}
    for start in seen:
        queue.push(start)
    live = {node} - excluded
    found: list[N] = []
    # Once nothing but excluded nodes waits, all below is excluded, too.
    while live:
        at = queue.pop()
        live.discard(at)
        if at not in excluded:
            found.append(at)
            if is_end(at):
                continue
        for parent in parents_of(at):
            if parent in (excluded if at in excluded else seen):
                continue
            queue.push(parent)
            seen.add(parent)
            if at in excluded:
                excluded.add(parent)
                live.discard(parent)
            else:
                live.add(parent)
    return [item for item in found if item not in excluded]


DIVERGENCE_LIMIT: Final = 1_000
"""Commits that are looked at before counting is given up."""


def divergence(
    left: N, right: N, parents_of: ParentsOf[N], age_of: AgeOf[N]
) -> tuple[int, int] | None:
    """Count the commits that only the left and only the right one reaches; None beyond a limit.

    This is `git rev-list --left-right --count`.

    It gives up after DIVERGENCE_LIMIT commits, and relies on commits being later than their
    parents, which every landing ensures.
    """
    seen: dict[N, int] = {}
    queue: list[tuple[int, N]] = []

    def mark(node: N, side: int) -> None:
        if node not in seen:
            heapq.heappush(queue, (-age_of(node), node))
        seen[node] = seen.get(node, 0) | side

    mark(left, _LEFT)
    mark(right, _RIGHT)
    counts = {_LEFT: 0, _RIGHT: 0}
    for _ in range(DIVERGENCE_LIMIT):
        # What is left is common history: it counts for neither side.
        if all(seen[node] == _BOTH for _, node in queue):
            return counts[_LEFT], counts[_RIGHT]
        _, node = heapq.heappop(queue)
        side = seen[node]
        # Its sides are final: it was taken after all of its children.
        if side != _BOTH:
            counts[side] += 1
        for parent in parents_of(node):
            mark(parent, side)
    return None


def all_merge_bases(nodes: Collection[N], parents_of: ParentsOf[N], age_of: AgeOf[N]) -> set[N]:
    """Return the merge bases of all pairs of some nodes, in one walk of the graph.

    Which of the nodes reach a node flows down to its parents. A node is a base of two that reach
    it if no single child is reached by both. The age of each must be above that of its parents.

    Nodes that have met and went down one path since can't be told apart below: they count as one,
    and as long as that one is in a single place, it needs no name. So n branches of a line take n
    steps, and only merge commits give names, which are bits of a number.
    """
    waiting = set(nodes)
    if len(waiting) < 2:
        return set()
    found: set[N] = set()
    queue: _Queue[N] = _Queue(age_of)
    for node in waiting:
        queue.push(node)
    sides: dict[N, _Sides] = {}
    # Nodes that all reach through one child are no bases, and neither are those below.
    live = set(waiting)
    places = named = 0
    while live:
        node = queue.pop()
        live.discard(node)
        here = sides.pop(node, None) or _Sides()
        if node in waiting:
            waiting.discard(node)
            here.add(0, True)
            places += 1
        if here.has_base():
            found.add(node)
        is_unnamed, bits = here.unnamed > 0, here.bits
        # They have met, and count as one from here on.
        places -= max(here.unnamed - 1, 0)
        is_whole = not waiting and places == is_unnamed and bits == (1 << named) - 1
        parents = list(parents_of(node))
        if is_unnamed and len(parents) > 1:
            # It is going to be in several places.
            is_unnamed, bits = False, bits | 1 << named
            places, named = places - 1, named + 1
        for parent in parents:
            queue.push(parent)
            below = sides.setdefault(parent, _Sides())
            below.add(bits, is_unnamed)
            below.is_settled |= is_whole
            (live.discard if below.is_settled else live.add)(parent)
    return found


def outer_merge_bases(nodes: set[N], parents_of: ParentsOf[N], age_of: AgeOf[N]) -> set[N]:
    """Return the merge bases of all pairs of some nodes, and of such bases, that are none of them.

    The last of the nodes on the way to a base outside has a parent outside, and where the ways
    from two nodes to a base end in one, that one is nearer. So only pairs of such nodes are
    looked at: of a long line, its oldest one.
    """
    edge = {node for node in nodes if not nodes.issuperset(parents_of(node))}
    found: set[N] = set()
    while more := all_merge_bases(edge | found, parents_of, age_of) - found - edge:
        found |= more
    return found - nodes


class _Sides:
    """What reaches a node, by the child that it comes through.

    Attributes:
        unnamed: How many came that are nowhere else; each is another one.
        bits: The named ones, as bits.
        is_settled: True if all nodes come through one child.
    """

    __slots__ = ("_each", "bits", "is_settled", "unnamed")

    def __init__(self) -> None:
        self.unnamed = 0
        self.bits = 0
        self.is_settled = False
        self._each: set[tuple[int, bool]] = set()

    def add(self, bits: int, is_unnamed: bool) -> None:
        """Add what comes through one child."""
        self.bits |= bits
        self.unnamed += is_unnamed
        if self.unnamed > 1:
            # Two that are nowhere else meet here: no more has to be known.
            self._each.clear()
        else:
            self._each.add((bits, is_unnamed))

    def has_base(self) -> bool:
        """Return whether two of them come through no child together."""
        if self.unnamed > 1:
            return True
        # With the bit of the unnamed one before all others.
        each = {bits << 1 | is_unnamed for bits, is_unnamed in self._each}
        return _parts(each, self.bits << 1 | self.unnamed)


def _paint_down(left: N, right: N, parents_of: ParentsOf[N], age_of: AgeOf[N]) -> list[N]:
    """Return common ancestors, including all best ones."""
    seen: dict[N, int] = {}
    live = 0
    queue: _Queue[N] = _Queue(age_of)
    common: list[N] = []

    def mark(node: N, flags: int) -> int:
        """Add marks; return the change in the number of queued nodes that are not stale."""
        old = seen.get(node, 0)
        if old | flags == old:
            return 0
        seen[node] = old | flags
        waiting = queue.push(node)
        was_live = waiting and not old & _STALE
        return (0 if seen[node] & _STALE else 1) - int(was_live)

    live += mark(left, _LEFT)
    live += mark(right, _RIGHT)
    while live:
        node = queue.pop()
        flags = seen[node]
        if not flags & _STALE:
            live -= 1
            # What is below a common node can't be a best one: it is walked only to mark it so.
            if flags & _BOTH == _BOTH:
                common.append(node)
                flags |= _STALE
        for parent in parents_of(node):
            live += mark(parent, flags)
    # Where ages don't order them, a node may have been found common before its child was.
    return [node for node in common if not seen[node] & _STALE]


def _parts(sides: Collection[int], reached: int) -> bool:
    """Return whether two bits of `reached` are together in none of the sides."""
    if reached in sides:
        return False
    beside: dict[int, int] = {}
    for side in sides:
        rest = side
        while rest:
            bit = rest & -rest
            beside[bit] = beside.get(bit, 0) | side
            rest ^= bit
    return any(others != reached for others in beside.values())


class _Queue(Generic[N]):
    """Queue of nodes by age, highest first, then first in first out; holds each node once."""

    def __init__(self, age_of: AgeOf[N]) -> None:
        self._age_of = age_of
        self._heap: list[tuple[int, int, N]] = []
        self._waiting: set[N] = set()
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def push(self, node: N) -> bool:
        """Queue a node; return whether it was queued already."""
        if node in self._waiting:
            return True
        self._waiting.add(node)
        self._count += 1
        heapq.heappush(self._heap, (-self._age_of(node), self._count, node))
        return False

    def pop(self) -> N:
        _, _, node = heapq.heappop(self._heap)
        self._waiting.discard(node)
        return node


_GOLDEN: Final = 0.6180339887498949
"""Multiples of it, without their whole part, are spread evenly however many there are."""


class Mark(Enum):
    """What a look at a node found; `SKIPPED` if it can't be told there."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"


def first_bad(
    suspects: Sequence[N],
    parents_of: ParentsOf[N],
    twins: Mapping[N, N],
    look: Callable[[N, int], Mark],
) -> list[N]:
    """Return the first bad node; several if skipped ones leave open which it is, newest first.

    On a line of n suspects without twins and skipped nodes it looks at most at ceil(log2(n)).

    Args:
        suspects: What the bad node reaches and no good node does, children before parents. The
            first one is the bad node, at which it doesn't look.
        parents_of: Parents; those that are no suspects are good.
        twins: A parent, among the suspects, for nodes that are certainly as good or bad as it is.
            They are never the first bad one, and never looked at.
        look: Looks at a node; also told how many nodes it may still be.
    """
    search = _Search(suspects, parents_of, twins)
    while (node := search.next()) is not None:
        search.learn(node, look(node, search.left))
    return search.result()


class _Search(Generic[N]):
    """The suspects that are left, and what is known of them."""

    def __init__(
        self, suspects: Sequence[N], parents_of: ParentsOf[N], twins: Mapping[N, N]
    ) -> None:
        self._suspects = list(suspects)
        self._twins = twins
        known = set(suspects)
        self._parents = {
            node: tuple(parent for parent in parents_of(node) if parent in known)
            for node in suspects
        }
        self._skipped: set[N] = set()
        self._bad = suspects[0]
        self._blame(suspects[0])

    @property
    def left(self) -> int:
        """How many nodes may be the first bad one."""
        return sum(node not in self._twins for node in self._suspects)

    def next(self) -> N | None:
        """Return the node to look at, None if nothing is left to find out."""
        weights = self._weights()
        total = self.left
        open_ = {
            # What a look surely rules out: a good node its ancestors, a bad one all others.
            node: min(weights[node], total - weights[node])
            for node in self._suspects
            if node not in self._twins and node not in self._skipped and node != self._bad
        }
        ranked = sorted(open_, key=open_.__getitem__, reverse=True)
        if not ranked:
            return None
        # Neighbours of a skipped node are often no better, so look further away, too, as git does.
        near = sum(node in self._skipped for node in self._suspects)
        share = (near * _GOLDEN) % 1
        # The exponent is git's (`skip_away`): it favours nodes that split well.
        return ranked[int(len(ranked) * share**1.5)]

    def learn(self, node: N, mark: Mark) -> None:
        if mark is Mark.SKIPPED:
            self._skipped.add(node)
        elif mark is Mark.BAD:
            self._blame(node)
        else:
            good = self._reached(node)
            self._suspects = [item for item in self._suspects if item not in good]

    def result(self) -> list[N]:
        """Return the nodes that may be the first bad one."""
        return [node for node in self._suspects if node not in self._twins]

    def _blame(self, node: N) -> None:
        while node in self._twins:
            # A twin is as bad as its parent, so the parent is the earlier culprit.
            node = self._twins[node]
        self._bad = node
        bad = self._reached(node)
        self._suspects = [item for item in self._suspects if item in bad]

    def _reached(self, node: N) -> set[N]:
        found, left = {node}, [node]
        while left:
            new = [parent for parent in self._parents[left.pop()] if parent not in found]
            found.update(new)
            left += new
        return found

    def _weights(self) -> dict[N, int]:
        """Return of how many suspects without twins each one is a descendant, itself included."""
        weights: dict[N, int] = {}
        children = Counter(chain.from_iterable(self._parents[node] for node in self._suspects))
        # A set of ancestors is a number with a bit for each, dropped after the last child.
        reached: dict[N, int] = {}
        bit = 1
        for node in reversed(self._suspects):
            mask = 0
            if node not in self._twins:
                mask, bit = bit, bit << 1
            for parent in self._parents[node]:
                mask |= reached.get(parent, 0)
                children[parent] -= 1
                if not children[parent]:
                    reached.pop(parent, None)
            if children[node]:
                reached[node] = mask
            weights[node] = mask.bit_count()
        return weights


class CommitGraph:
    """Commits of one store, each read when it is visited.

    A commit is later than its parents, so visiting by time takes children before parents.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self.objects = objects

    def log(self, *at: CommitId) -> Iterator[tuple[CommitId, Commit]]:
        """Yield commits and all their ancestors once each, newest first."""
        for id in ancestors(at, self._parents, self._age):
            yield id, self.objects.commit(id)

    def merge_base(self, left: CommitId, right: CommitId) -> CommitId | None:
        """Return the nearest common ancestor, the newest of several; None if there is none."""
        return next(iter(self.merge_bases(left, right)), None)

    def merge_bases(self, left: CommitId, right: CommitId) -> list[CommitId]:
        """Return the nearest common ancestors, newest first: several after criss-cross merges."""
        found = merge_bases(left, right, self._parents, self._age)
        return sorted(found, key=lambda id: (self._age(id), id), reverse=True)

    def all_merge_bases(self, commits: Collection[CommitId]) -> set[CommitId]:
        """Return the merge bases of all pairs of some commits."""
        return all_merge_bases(commits, self._parents, self._age)

    def outer_merge_bases(self, commits: set[CommitId]) -> set[CommitId]:
        """Return the merge bases of pairs of commits, and of such bases, that are none of them."""
        return outer_merge_bases(commits, self._parents, self._age)

    def is_ancestor(self, commit: CommitId, descendant: CommitId) -> bool:
        """Return whether a commit is in the history of another one, or is that one."""
        return is_ancestor(commit, descendant, self._parents, self._age)

    def only_reached(self, commit: CommitId, others: Iterable[CommitId]) -> list[CommitId]:
        """Return what a commit reaches and none of others does, children before parents."""
        return only_reached(commit, others, self._parents, self._age)

    def latest(self, commits: tuple[CommitId, ...]) -> int:
        """Return the time of the latest of some commits."""
        return max(map(self._age, commits))

    def _parents(self, id: CommitId) -> tuple[CommitId, ...]:
        return self.objects.commit(id).parents

    def _age(self, id: CommitId) -> int:
        return self.objects.commit(id).committed_at
