"""Graph algorithms: ancestors and merge bases in any graph with a `parents_of`."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import reduce
from itertools import takewhile
from operator import or_
from typing import Final, Generic, TypeAlias, TypeVar

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


def merge_bases(left: N, right: N, parents_of: ParentsOf[N], age_of: AgeOf[N] = no_age) -> list[N]:
    """Return the best common ancestors, sorted: those that are not ancestors of another one.

    Criss-cross merges have several, unrelated histories none. As in git's paint-down
    (commit-reach.c), both sides' marks flow to parents until only nodes below a common one are
    left. Ages affect how many nodes are visited, never the result.
    """
    candidates = _paint_down(left, right, parents_of, age_of)
    if len(candidates) < 2:
        return candidates
    redundant = set()
    for node in candidates:
        below = ancestors(parents_of(node), parents_of, age_of)
        redundant |= set(candidates).intersection(below)
    return sorted(set(candidates) - redundant)


def only_reached(
    node: N, others: Iterable[N], parents_of: ParentsOf[N], age_of: AgeOf[N]
) -> list[N]:
    """Return what a node reaches and none of the others does, children before parents.

    This is git's `others..node`. The age of each node must be above that of its parents, so that
    only nodes younger than the oldest result are visited, and a few more.
    """
    queue: _Queue[N] = _Queue(age_of)
    excluded = set(others)
    for start in (*excluded, node):
        queue.push(start)
    live = {node} - excluded
    found: list[N] = []
    while live:
        at = queue.pop()
        live.discard(at)
        if at not in excluded:
            found.append(at)
        for parent in parents_of(at):
            queue.push(parent)
            if at in excluded:
                excluded.add(parent)
                live.discard(parent)
            elif parent not in excluded:
                live.add(parent)
    return found


def all_merge_bases(nodes: Collection[N], parents_of: ParentsOf[N], age_of: AgeOf[N]) -> set[N]:
    """Return the merge bases of all pairs of some nodes, in one walk of the graph.

    Which of the nodes reach a node flows down to its parents. A node is a base of two that reach
    it if no single child is reached by both. The age of each must be above that of its parents.
    """
    if len(nodes) < 2:
        return set()
    own = {node: 1 << number for number, node in enumerate(nodes)}
    whole = (1 << len(own)) - 1
    below: dict[N, set[int]] = {}
    found: set[N] = set()
    queue: _Queue[N] = _Queue(age_of)
    for node in own:
        queue.push(node)
    # Nodes whose reaching set one child has already are no bases, and neither are those below.
    live = set(own)
    while live:
        node = queue.pop()
        live.discard(node)
        sides = below.pop(node, set())
        if node in own:
            sides = sides | {own[node]}
        reached = reduce(or_, sides)
        if _parts(sides, reached):
            found.add(node)
        for parent in parents_of(node):
            queue.push(parent)
            below.setdefault(parent, set()).add(reached)
            if reached == whole:
                live.discard(parent)
            elif whole not in below[parent]:
                live.add(parent)
    return found


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
            if flags & _BOTH == _BOTH:
                common.append(node)
                flags |= _STALE
        for parent in parents_of(node):
            live += mark(parent, flags)
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
        """Take the first node."""
        _, _, node = heapq.heappop(self._heap)
        self._waiting.discard(node)
        return node
