"""Summaries: how two commits differ, with one entry and its numbers of rows per relation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import DamagedError, VcsError
from dbt.adapters.vcs.core.ids import CommitId, TreeId
from dbt.adapters.vcs.core.model import Absent, Snapshot, TableEntry, Tree
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.plan.schema_merge import Definition
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import each
from dbt.adapters.vcs.core.tree_changes import Change, SchemaChange, diff_trees
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSummary:
    """One relation or schema that differs.

    Attributes:
        name: `schema.identifier`, or the schema's name.
        kind: `schema`, `table`, `view` or `function`.
        how: `added`, `removed` or `changed`.
        rows_modified: Rows whose values changed under the same primary key; 0 without a key.
        is_exact: False if there is too much to read for a summary; the numbers are then taken from
            the files added and removed, and are upper bounds.
        is_damaged: True if a version is damaged, so that its rows can't be counted.
        is_redefined: True if columns, key, comment, properties or layout of a table changed.
    """

    name: str
    kind: str
    how: str
    rows_added: int = 0
    rows_removed: int = 0
    rows_modified: int = 0
    is_exact: bool = True
    is_damaged: bool = False
    is_redefined: bool = False

    @property
    def is_only_stored(self) -> bool:
        """True if only files or versions differ: a diff shows nothing."""
        counts = (self.rows_added, self.rows_removed, self.rows_modified)
        is_same = self.kind == "table" and self.how == "changed" and not any(counts)
        return is_same and self.is_exact and not self.is_redefined

    def __str__(self) -> str:
        rows = f"  {rows_text([self])}" if self.kind == "table" else ""
        if self.is_redefined:
            rows += "  (definition)"
        elif self.is_only_stored:
            rows = "  (same rows)"
        return f"  {self.how:<8} {self.kind:<6} {self.name}{rows}"


def differing(changes: Iterable[ChangeSummary]) -> tuple[ChangeSummary, ...]:
    """Return the changes of which a diff shows something."""
    return tuple(change for change in changes if not change.is_only_stored)


def rows_text(changes: Iterable[ChangeSummary]) -> str:
    """Return `+added -removed ~modified` of all changes, `at most` before what isn't exact.

    Damaged tables are named as not counted.
    """
    changes = tuple(changes)
    damaged = sum(change.is_damaged for change in changes)
    if damaged:
        changes = tuple(change for change in changes if not change.is_damaged)
        return (f"{rows_text(changes)}, " if changes else "") + (
            f"rows of {damaged} damaged version{'' if damaged == 1 else 's'} not counted"
        )
    added, removed, modified = (
        sum(getattr(change, f"rows_{what}") for change in changes)
        for what in ("added", "removed", "modified")
    )
    most = "" if all(change.is_exact for change in changes) else "at most "
    # Files alone don't show which rows were modified rather than removed and added.
    is_unknown = most and not any(change.is_exact for change in changes)
    return f"{most}+{added} -{removed}{'' if is_unknown else f' ~{modified}'}"


BUDGET: Final = Limits(rows=250_000, bytes=64 * 2**20)
"""What is read at most for all lines of one summary: about a second."""


def list_changes(
    repository: Repository, before: CommitId | None, after: CommitId
) -> tuple[ChangeSummary, ...]:
    """List how two commits differ: schemas, then relations, by name.

    None means a commit that shows nothing.
    """
    return changes_to(repository, before, repository.objects.commit(after).tree)


def changes_to(
    repository: Repository, before: CommitId | None, tree: TreeId
) -> tuple[ChangeSummary, ...]:
    """List how a tree differs from what a commit shows, as `list_changes` does."""
    objects = repository.objects
    old = Tree() if before is None else objects.tree(objects.commit(before).tree)
    found = diff_trees(old, objects.tree(tree), objects.relations)
    return summarize(repository, found.schemas, found.relations)


def summarize(
    repository: Repository,
    schemas: Iterable[SchemaChange],
    relations: Iterable[Change],
    *,
    budget: Limits = BUDGET,
) -> tuple[ChangeSummary, ...]:
    """Add row counts to changes: schemas, then relations, in the order given.

    Rows that were rewritten unchanged don't count. The smallest changes are compared first, until
    the budget is spent; the rest are estimated from their manifests.
    """
    drafts = each(lambda change: _draft(repository, change), relations)
    return (*map(_schema, schemas), *_counted(repository, drafts, budget))


class _Draft(NamedTuple):
    """A summary from manifests, and the comparison that would make it exact, if any."""

    summary: ChangeSummary
    versions: tuple[Snapshot, Snapshot] | None = None
    rows: int = 0
    bytes: int = 0


def _draft(repository: Repository, change: Change) -> _Draft:
    name, old, new = change
    shown = old if new is Absent else new
    assert shown is not Absent
    summary = ChangeSummary(name=str(name), kind=shown.noun, how=how_changed(old, new))
    try:
        return _estimated(repository, change, summary)
    except DamagedError:
        # The change may be what replaces it.
        return _Draft(replace(summary, is_exact=False, is_damaged=True))


def _estimated(repository: Repository, change: Change, summary: ChangeSummary) -> _Draft:
    objects = repository.objects
    before, after = (
        objects.snapshot(entry.snapshot) if isinstance(entry, TableEntry) else None
        for entry in (change.old, change.new)
    )
    if before is None or after is None:
        # The whole table was added or removed: its manifest has the row count.
        came, went = (0 if table is None else table.rows for table in (after, before))
        return _Draft(replace(summary, rows_added=came, rows_removed=went))
    moved = delta(before, after, objects.segments)
    came, went = moved.rows_added, moved.rows_removed
    summary = replace(
        summary,
        rows_added=came,
        rows_removed=went,
        is_redefined=Definition.of(before) != Definition.of(after),
    )
    if not (came and went):
        return _Draft(summary)
    return _Draft(
        replace(summary, is_exact=False),
        (before, after),
        came + went,
        sum(block.bytes for block in (*moved.added, *moved.removed)),
    )


def _counted(
    repository: Repository, drafts: Sequence[_Draft], budget: Limits
) -> list[ChangeSummary]:
    found = [draft.summary for draft in drafts]
    left = budget
    for place in sorted(range(len(drafts)), key=lambda place: drafts[place].rows):
        draft = drafts[place]
        if draft.versions is None:
            continue
        # The others are larger still.
        if draft.rows > left.rows:
            break
        try:
            counts = _counts(repository, draft.versions, left)
        except VcsError:
            # The changes are made already. With collected rows, keep the numbers from the files.
            continue
        if counts is None:
            continue
        left = Limits(left.rows - draft.rows, max(0, left.bytes - draft.bytes))
        found[place] = replace(
            draft.summary,
            rows_added=counts.added,
            rows_removed=counts.removed,
            rows_modified=counts.modified,
            is_exact=True,
        )
    return found


def _counts(
    repository: Repository, versions: tuple[Snapshot, Snapshot], limits: Limits
) -> Counts | None:
    # Most commits can be summarized without reading a row, and so without pyarrow.
    from dbt.adapters.vcs.changes.diffs.difference import Difference

    before, after = versions
    return Difference(repository=repository, before=before, after=after).counts_here(limits)


def _schema(change: SchemaChange) -> ChangeSummary:
    return ChangeSummary(name=change.name, kind="schema", how=how_changed(change.old, change.new))


def how_changed(old: object, new: object) -> str:
    """Return `added`, `removed` or `changed`, for what was and what is; either may be Absent."""
    if old is Absent:
        return "added"
    return "removed" if new is Absent else "changed"
