"""Bisection: the first bad node of a history, found by halving the graph as git does.

The rule is that of `git bisect`: if a node is good, so are its ancestors, and if it is bad, so are
its descendants. Next is looked at the node that splits the suspects most evenly (bisect.c,
`find_bisection`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import Final, Generic, TypeVar

from dbt.adapters.vcs.core.history.graph import ParentsOf

N = TypeVar("N", bound=str)

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
        return ranked[int(len(ranked) * share**1.5)]

    def learn(self, node: N, mark: Mark) -> None:
        """Take in what a look found."""
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
