"""Commit graph: the graph of commits and their parents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from dbt.adapters.vcs.core.history.graph import (
    all_merge_bases,
    ancestors,
    is_ancestor,
    merge_bases,
    only_reached,
)
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Commit
from dbt.adapters.vcs.core.store.objects import ObjectStore


class CommitGraph:
    """Commits of one store, each read when it is visited.

    A commit is later than its parents, so visiting by time takes children before parents.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def log(self, at: CommitId) -> Iterator[tuple[CommitId, Commit]]:
        """Yield a commit and all its ancestors once each, newest first."""
        for id in ancestors([at], self._parents, self._age):
            yield id, self._objects.commit(id)

    def merge_base(self, left: CommitId, right: CommitId) -> CommitId | None:
        """Return the nearest common ancestor, the newest of several; None if there is none."""
        found = self.merge_bases(left, right)
        return max(found, key=lambda id: (self._age(id), id), default=None)

    def merge_bases(self, left: CommitId, right: CommitId) -> list[CommitId]:
        """Return the best common ancestors: several after criss-cross merges."""
        return merge_bases(left, right, self._parents, self._age)

    def all_merge_bases(self, commits: Collection[CommitId]) -> set[CommitId]:
        """Return the merge bases of all pairs of some commits."""
        return all_merge_bases(commits, self._parents, self._age)

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
        return self._objects.commit(id).parents

    def _age(self, id: CommitId) -> int:
        return self._objects.commit(id).committed_at
