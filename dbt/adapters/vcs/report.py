"""What a run tells in dbt's log: a line per changed relation, and a summary."""

from __future__ import annotations

from typing import NamedTuple

from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Absent, RelationName, TableEntry
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.plan.trees import Change
from dbt.adapters.vcs.core.repository import Repository


class RelationChange(NamedTuple):
    """How one relation differs between two commits, counted from manifests alone.

    `how` is `added`, `removed` or `changed`; `rows_added` and `rows_removed` are the
    rows of the files that came and went (a rebuild counts every row on both sides).
    """

    name: RelationName
    kind: str
    how: str
    rows_added: int
    rows_removed: int

    def __str__(self) -> str:
        if self.kind != "table":
            return f"  {self.how:<8} {self.kind:<5} {self.name}"
        return f"  {self.how:<8} table {self.name}  +{self.rows_added} -{self.rows_removed}"


def changes_between(
    repository: Repository, before: CommitId, after: CommitId
) -> list[RelationChange]:
    """Return how the relations of two commits differ, sorted by name."""
    return [
        count_change(repository, change) for change in repository.diff(before, after).relations
    ]


def count_change(repository: Repository, change: Change) -> RelationChange:
    """Return how one relation differs, with its rows counted."""
    objects = repository.objects
    name, old, new = change
    how = "added" if old is Absent else "removed" if new is Absent else "changed"
    before, after = (
        objects.snapshot(entry.snapshot) if isinstance(entry, TableEntry) else None
        for entry in (old, new)
    )
    shown = old if new is Absent else new
    assert shown is not Absent
    kind = shown.noun
    if before is None or after is None:
        # The whole table came or went: its manifest tells how many rows, unread segments or not.
        came, went = (0 if table is None else table.rows for table in (after, before))
        return RelationChange(name, kind, how, came, went)
    moved = delta(before, after, objects.segment)
    return RelationChange(name, kind, how, moved.rows_added, moved.rows_removed)


def summary(
    *, branch: str, commit: CommitId, changes: list[RelationChange], seconds: float
) -> str:
    """Return the one line that ends a run."""
    added = sum(change.rows_added for change in changes)
    removed = sum(change.rows_removed for change in changes)
    relations = "1 relation" if len(changes) == 1 else f"{len(changes)} relations"
    return (
        f"Published {relations} to {branch} @ {commit[:12]}: "
        f"+{added} -{removed} rows, {seconds:.1f}s"
    )
