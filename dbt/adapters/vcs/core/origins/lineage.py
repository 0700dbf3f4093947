"""Lineage: where versions of tables first appear, what they were made from, what they consumed.

A model that is built from changes is a pair: rows, and the versions of its inputs from which a
full build would compute these rows (its consumption). Both are in one snapshot, so whatever shows
an old version of the table shows what that version had consumed. In a merge of base b, ours o and
theirs t:

| case             | what the merged rows account for                          |
|------------------|-----------------------------------------------------------|
| o = t, or t = b  | o                                                         |
| o = b            | t                                                         |
| else             | nothing that has a name: the rows must be those of a side |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeAlias

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.graph import descends_from
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, TableId
from dbt.adapters.vcs.core.model import (
    Commit,
    Consumed,
    Consumption,
    Input,
    RelationName,
    Snapshot,
    TableEntry,
    Tree,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.tree_changes import diff_trees


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
        for change in diff_trees(old, new, objects.relations).relations:
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
    # By commit: the relations whose version it shows, too. Children come before parents, so all
    # that lead to a commit are known when it is reached.
    followed = {head: {name for name in names if tree.entry(name) is not None}}
    found: dict[RelationName, Introduction] = {}
    for id, commit in islice(repository.log(head), limit):
        own = followed.pop(id, set())
        for parent in commit.parents if own else ():
            old = objects.tree(objects.commit(parent).tree)
            changes = diff_trees(old, objects.tree(commit.tree), objects.relations)
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
        below = None if depth is None else depth - 1
        return self.made(RelationName.of(item.relation), SnapshotId(item.snapshot), below)


Consumptions: TypeAlias = tuple[Consumption | None, Consumption | None, Consumption | None]
"""What base, ours and theirs have consumed."""


def last_read(
    objects: ObjectStore,
    consumption: Consumption | None,
    reader: RelationName,
    relation: RelationName,
    table: TableId,
) -> Consumed | None:
    """Return what a table has consumed of an input; None if it has no record of it.

    If the table was built under another name (it is a clone, or was renamed), its inputs may have
    other names, too. Then an input with the same lineage counts if there is only one.

    Args:
        objects: The repository's objects.
        consumption: What the table has consumed.
        reader: The table's name now.
        relation: The input's name now.
        table: The input's lineage.
    """
    if consumption is None:
        return None
    for item in consumption.inputs:
        if item.relation == str(relation):
            return item
    # Built under this name, it knows its inputs by their own names: no other one is meant.
    if consumption.reader == str(reader):
        return None
    alike = [item for item in consumption.inputs if _lineage(objects, item) == table]
    # Decision 32: a guess would lose rows or repeat them.
    return alike[0] if len(alike) == 1 else None


def merged_consumption(sides: Consumptions) -> Consumption | None:
    """Return what a row-wise merge accounts for; that of ours if it has no name."""
    base, ours, theirs = sides
    return theirs if ours == base else ours


def has_name(sides: Consumptions) -> bool:
    """Return whether there is a name for what a row-wise merge of a table's sides accounts for.

    A side without a record that the base lacks, too, may have computed the same rows in another
    way, so its rows don't add up with those of a side that has one.
    """
    base, ours, theirs = sides
    # Decision 32: two sums that each gained 10 may have counted different rows.
    return ours == theirs or (base is not None and base in (ours, theirs))


def adds_up(sides: Consumptions) -> bool:
    """Return whether rows that both sides added to a table, seen as a bag, are to be kept.

    They are not if both built it from the same changes, each for itself.
    """
    base, ours, theirs = sides
    # Decision 32: else rows without a key, built from the same changes twice, are kept twice.
    return has_name(sides) and (ours != theirs or ours == base)


def is_at_or_before(
    objects: ObjectStore, first: Consumption | None, second: Consumption | None
) -> bool:
    """Return whether all that one table has consumed is in the history of what another has."""
    if first is None or second is None:
        return first is None
    # Decision 32: this decides which side a merge takes as a whole.
    later = {item.relation: item for item in second.inputs}
    return all(
        item.relation in later and _is_reached(objects, item, later[item.relation])
        for item in first.inputs
    )


def _is_reached(objects: ObjectStore, first: Consumed, second: Consumed) -> bool:
    if first.snapshot is None or first.snapshot == second.snapshot:
        return True
    if second.snapshot is None:
        return False
    # Versions may have been collected. Then nothing shows that the one came before the other.
    with suppress(DamagedError):
        return descends_from(
            SnapshotId(second.snapshot),
            SnapshotId(first.snapshot),
            lambda id: objects.snapshot(id).parents,
            lambda id: objects.snapshot(id).created_at,
        )
    return False


def _lineage(objects: ObjectStore, item: Consumed) -> TableId | None:
    if item.snapshot is None:
        return None
    with suppress(DamagedError):
        return objects.snapshot(SnapshotId(item.snapshot)).table
    return None
