"""Lineage: where versions of tables first appear, and what they were made from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Commit, Input, RelationName, Snapshot, TableEntry, Tree
from dbt.adapters.vcs.core.plan.tree_merge import diff_trees
from dbt.adapters.vcs.core.repository import Repository


class Appearance(NamedTuple):
    """A version of a table, and the commit of a history that first shows it under a name."""

    relation: RelationName
    snapshot: SnapshotId
    commit: CommitId


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A version of a table and how it was made.

    Attributes:
        relation: The name under which it was read or shown.
        id: The version.
        commit: The commit that first shows it; None if the history has none, as for a step of a
            run that a later step replaced.
        snapshot: The stored snapshot.
        run: The commit itself, for the run that it publishes; None without one.
        inputs: What it was made from, tables as `Made`; tables beyond the depth as `Input`.
    """

    relation: RelationName
    id: SnapshotId
    commit: CommitId | None
    snapshot: Snapshot
    run: Commit | None
    inputs: tuple[Made | Input, ...]


def appearances(repository: Repository, head: CommitId) -> Iterator[Appearance]:
    """Yield each version of each table in a history where it first appears, newest first.

    A version that a merge brought in appears at the commit of the side that made it.
    """
    objects = repository.objects
    for id, commit in repository.log(head):
        new = objects.tree(commit.tree)
        parents = [objects.commit(parent).tree for parent in commit.parents]
        old = objects.tree(parents[0]) if parents else Tree()
        others = [repository.tree(parent) for parent in commit.parents[1:]]
        for change in diff_trees(old, new, objects.schema_tree).relations:
            entry = change.new
            if not isinstance(entry, TableEntry):
                continue
            if all(other.entry(change.name) != entry for other in others):
                yield Appearance(change.name, entry.snapshot, id)


class Introduction(NamedTuple):
    """The commit that made the version of a relation that a later commit shows."""

    id: CommitId
    commit: Commit


def introductions(
    repository: Repository, head: CommitId, names: Iterable[RelationName], *, limit: int
) -> dict[RelationName, Introduction]:
    """Return the commits that made the head's versions of some tables and views.

    At a merge it follows the first parent that shows the same version, as git does for a path.
    Only the `limit` newest commits are read; older versions are left out, and so are relations
    that the head doesn't show.
    """
    objects = repository.objects
    tree = repository.tree(head)
    followed = {head: {name for name in names if tree.entry(name) is not None}}
    found: dict[RelationName, Introduction] = {}
    for id, commit in islice(repository.log(head), limit):
        own = followed.pop(id, set())
        for parent in commit.parents if own else ():
            old = objects.tree(objects.commit(parent).tree)
            changes = diff_trees(old, objects.tree(commit.tree), objects.schema_tree)
            same = own.difference(change.name for change in changes.relations)
            if same:
                followed.setdefault(parent, set()).update(same)
                own -= same
        found.update((name, Introduction(id, commit)) for name in own)
        if not followed:
            break
    return found


class Lineage:
    """The versions of tables in one history, and what each was made from."""

    def __init__(self, repository: Repository, head: CommitId) -> None:
        self._repository = repository
        # Oldest last: a version that came back counts once, where it first appeared.
        self._commits = {
            (item.relation, item.snapshot): item.commit for item in appearances(repository, head)
        }

    def made(self, relation: RelationName, id: SnapshotId, depth: int | None = None) -> Made:
        """Return how a version was made, and how its inputs were, `depth` levels deep."""
        snapshot = self._repository.objects.snapshot(id)
        commit = self._commits.get((relation, id))
        return Made(
            relation=relation,
            id=id,
            commit=commit,
            snapshot=snapshot,
            run=self._repository.objects.commit(commit) if commit else None,
            inputs=tuple(self._input(item, depth) for item in snapshot.origin.inputs),
        )

    def readers(self, id: SnapshotId) -> list[Appearance]:
        """Return the versions that were made from a version, newest first.

        This includes those made from it through a view.
        """
        read = self._repository.objects.snapshot
        return [
            Appearance(relation, version, commit)
            for (relation, version), commit in self._commits.items()
            if any(source.snapshot == id for source in read(version).origin.inputs)
        ]

    def _input(self, item: Input, depth: int | None) -> Made | Input:
        if item.snapshot is None or depth == 0:
            return item
        schema, _, identifier = item.relation.partition(".")
        below = None if depth is None else depth - 1
        return self.made(RelationName(schema, identifier), SnapshotId(item.snapshot), below)
