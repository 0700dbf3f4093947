"""Summaries: how what two commits show differs, a line for each relation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Absent, TableEntry, Tree
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.plan.tree_merge import Change, SchemaChange, diff_trees
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.diffs.difference import Difference
from dbt.adapters.vcs.rows.limits import Limits

BUDGET: Final = Limits(rows=250_000, bytes=64 * 2**20)
"""What is read at most for all lines of one summary: about a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSummary:
    """One relation or schema that differs.

    Attributes:
        name: `schema.identifier`, or the schema's name.
        kind: `schema`, `table`, `view` or `function`.
        how: `added`, `removed` or `changed`.
        rows_added: Rows that come, as a diff has them.
        rows_removed: Rows that go.
        rows_modified: Rows of one primary key, other values; 0 for a table without a key.
        is_exact: False where there is too much to read for a summary; the numbers are then those
            of the files that came and went, and so the most that it can be.
    """

    name: str
    kind: str
    how: str
    rows_added: int = 0
    rows_removed: int = 0
    rows_modified: int = 0
    is_exact: bool = True

    def __str__(self) -> str:
        rows = f"  {rows_text([self])}" if self.kind == "table" else ""
        return f"  {self.how:<8} {self.kind:<6} {self.name}{rows}"


def rows_text(changes: Iterable[ChangeSummary]) -> str:
    """Return `+added -removed ~modified` of all changes, `at most` before what isn't exact."""
    changes = tuple(changes)
    added, removed, modified = (
        sum(getattr(change, f"rows_{what}") for change in changes)
        for what in ("added", "removed", "modified")
    )
    most = "" if all(change.is_exact for change in changes) else "at most "
    # Of the files alone nobody knows which rows are the same row with other values.
    is_unknown = most and not any(change.is_exact for change in changes)
    return f"{most}+{added} -{removed}{'' if is_unknown else f' ~{modified}'}"


def list_changes(
    repository: Repository, before: CommitId | None, after: CommitId
) -> tuple[ChangeSummary, ...]:
    """Return how two commits differ: schemas, then relations, by name.

    None stands for a commit that shows nothing.
    """
    objects = repository.objects
    new = objects.tree(objects.commit(after).tree)
    old = Tree() if before is None else objects.tree(objects.commit(before).tree)
    found = diff_trees(old, new, objects.schema_tree)
    return summarize(repository, found.schemas, found.relations)


def summarize(
    repository: Repository,
    schemas: Iterable[SchemaChange],
    relations: Iterable[Change],
    *,
    budget: Limits = BUDGET,
) -> tuple[ChangeSummary, ...]:
    """Return changes with their rows: schemas, then relations, in the order given.

    Rows that were written again as they were don't count. The smallest changes are compared
    first, until the budget is spent; the others are told from their manifests.
    """
    drafts = each(lambda change: _draft(repository, change), relations)
    return (*map(_schema, schemas), *_counted(drafts, budget))


class _Draft(NamedTuple):
    """A summary from manifests, and what to compare to make it exact, if it isn't yet."""

    summary: ChangeSummary
    difference: Difference | None = None
    rows: int = 0
    bytes: int = 0


def _draft(repository: Repository, change: Change) -> _Draft:
    objects = repository.objects
    name, old, new = change
    shown = old if new is Absent else new
    assert shown is not Absent
    summary = ChangeSummary(name=str(name), kind=shown.noun, how=_how(old, new))
    before, after = (
        objects.snapshot(entry.snapshot) if isinstance(entry, TableEntry) else None
        for entry in (old, new)
    )
    if before is None or after is None:
        # The whole table came or went: its manifest tells how many rows, unread segments or not.
        came, went = (0 if table is None else table.rows for table in (after, before))
        return _Draft(replace(summary, rows_added=came, rows_removed=went))
    moved = delta(before, after, objects.segment)
    came, went = moved.rows_added, moved.rows_removed
    summary = replace(summary, rows_added=came, rows_removed=went)
    if not (came and went):
        return _Draft(summary)
    return _Draft(
        replace(summary, is_exact=False),
        Difference(repository=repository, before=before, after=after),
        came + went,
        sum(block.bytes for block in (*moved.added, *moved.removed)),
    )


def _counted(drafts: Sequence[_Draft], budget: Limits) -> list[ChangeSummary]:
    found = [draft.summary for draft in drafts]
    left = budget
    for place in sorted(range(len(drafts)), key=lambda place: drafts[place].rows):
        draft = drafts[place]
        if draft.difference is None:
            continue
        if draft.rows > left.rows:
            break
        try:
            counts = draft.difference.counts(limits=left)
        except VcsError:
            # What is told of happened anyway: too many bytes, types that only Spark compares, or
            # rows that have been collected leave the numbers of the files.
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


def _schema(change: SchemaChange) -> ChangeSummary:
    return ChangeSummary(name=change.name, kind="schema", how=_how(change.old, change.new))


def _how(old: object, new: object) -> str:
    if old is Absent:
        return "added"
    return "removed" if new is Absent else "changed"
