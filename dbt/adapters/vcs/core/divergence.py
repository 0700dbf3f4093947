"""Divergence: the numbers of commits that only one of two heads reaches."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.ids import CommitId

LIMIT: Final = 1_000
"""Commits that are looked at before counting is given up."""

_LEFT, _RIGHT, _BOTH = 1, 2, 3


class Divergence(NamedTuple):
    """Numbers of commits that only the left and only the right head reaches."""

    ahead: int
    behind: int


def divergence(
    left: CommitId,
    right: CommitId,
    parents_of: Callable[[CommitId], Iterable[CommitId]],
    age_of: Callable[[CommitId], int],
) -> Divergence | None:
    """Count as `git rev-list --left-right --count` does; None if it needs over LIMIT commits.

    Relies on commits being later than their parents, which every landing ensures.
    """
    seen: dict[CommitId, int] = {}
    queue: list[tuple[int, CommitId]] = []

    def mark(node: CommitId, side: int) -> None:
        if node not in seen:
            heapq.heappush(queue, (-age_of(node), node))
        seen[node] = seen.get(node, 0) | side

    mark(left, _LEFT)
    mark(right, _RIGHT)
    counts = {_LEFT: 0, _RIGHT: 0}
    for _ in range(LIMIT):
        if all(seen[node] == _BOTH for _, node in queue):
            return Divergence(counts[_LEFT], counts[_RIGHT])
        _, node = heapq.heappop(queue)
        side = seen[node]
        if side != _BOTH:
            counts[side] += 1
        for parent in parents_of(node):
            mark(parent, side)
    return None
