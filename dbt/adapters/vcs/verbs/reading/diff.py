"""Diff: how two commits differ by relation, and how two versions of a table differ by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Snapshot, TableEntry
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.plan.tree_merge import Change
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.diffs.change_summary import ChangeSummary
from dbt.adapters.vcs.diffs.difference import Difference
from dbt.adapters.vcs.diffs.shapes import RowTable, ShapedRows
from dbt.adapters.vcs.diffs.summaries import summarize
from dbt.adapters.vcs.diffs.three_way import ThreeWay
from dbt.adapters.vcs.rows.compare.net import Counts
from dbt.adapters.vcs.rows.in_process import in_process_first
from dbt.adapters.vcs.rows.limits import LIMITS, Limits, TooLargeError
from dbt.adapters.vcs.statements.syntax.diff_call import DiffShape
from dbt.adapters.vcs.verbs.reading.diff_range import (
    Ends,
    name_of,
    read_ends,
    read_points,
    resolved,
)
from dbt.adapters.vcs.verbs.row_set import RowSet
from dbt.adapters.vcs.worktree.points import Point

_AT_ONCE: Final = 16
_SETTINGS: Final = ("primary_key", "partition_by", "cluster_by", "comment", "properties")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDiff:
    """One attribute of one column that differs.

    Attributes:
        kind: `added`, `dropped`, `renamed`, `retyped`, `nullable`, `default`, `comment`, `moved`.
        column: The column's name after, or before if it was dropped.
        before: The old value of the attribute; None if there was none.
        after: The new value.
    """

    kind: str
    column: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationDiff(ChangeSummary):
    """How one relation differs, read as far as this process can.

    Attributes:
        name: `schema.identifier`; two of them, `a -> b`, where two tables are compared.
        kind: `table`, `view` or `function`.
        how: `added`, `removed`, `changed`, or `equal`.
        columns: How its columns differ.
        settings: Other properties of the table that differ: `primary_key`, `comment`, ...
    """

    columns: tuple[ColumnDiff, ...] = ()
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffReport:
    """The result of a diff.

    Attributes:
        before: The old side, as a person would write it.
        after: The new side.
        is_equal: True if nothing differs.
        schemas: Schemas that were added, removed or changed.
        relations: Relations that differ, by name; always includes a requested relation.
        heads: Names of the columns of `rows`.
        key: The table's key columns; none without a key.
        rows: The rows that differ, up to the limit; none unless one table is compared. They are
            computed as they are read.
        row_count: The total number of rows that differ.
    """

    before: str
    after: str
    is_equal: bool
    schemas: tuple[ChangeSummary, ...] = ()
    relations: tuple[RelationDiff, ...] = ()
    heads: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    rows: RowSet = field(default_factory=RowSet.none)
    row_count: int = 0


def read_diff(
    repository: Repository,
    words: Sequence[str],
    *,
    branch: str,
    columns: Sequence[str] = (),
    shape: DiffShape = "changes",
    limit: int | None = None,
    with_rows: bool = True,
    limits: Limits = LIMITS,
) -> DiffReport:
    """Compare the two sides given by words, as `read_ends` parses them; starts no engine.

    Args:
        repository: The repository.
        words: Revisions and tables.
        branch: The current branch.
        columns: Compare only these columns and the key; needs a single table.
        shape: Of the rows.
        limit: Maximum number of rows to return; None for all.
        with_rows: Whether to return the rows of a named table.
        limits: The most that is read of one table.

    Raises:
        NotFoundError: There is no such revision, version or relation.
        InputError: The words can't be parsed, or there is no such column.
        UnsupportedError: Columns have types that can't be compared, or not without Spark.
        TooLargeError: Rows are requested, and there are too many for this process.
    """
    ends = read_ends(repository, words, branch)
    if not ends.tables and ends.table is None:
        if columns:
            raise InputError("--columns needs a table; name it: dbt-vcs diff a..b s.t")
        return _commits(repository, ends, limits)
    if shape == "three_way":
        ends = ends.without_merge_base()
    points = read_points(repository, ends, branch)
    if points is None:
        return _commits(repository, ends, limits)
    return _tables(
        repository, ends, points, tuple(columns), shape, limit if with_rows else 0, limits
    )


def _commits(repository: Repository, ends: Ends, limits: Limits) -> DiffReport:
    before, after = resolved(repository, ends)
    found = repository.diff(before, after)
    wanted = name_of(ends.table) if ends.table else None
    relations = [item for item in found.relations if wanted in (None, item.name)]
    # Several small tables at once, large ones one by one, so that they fit into memory together.
    few = Limits(limits.rows // _AT_ONCE, limits.bytes // _AT_ONCE)
    told = each(lambda change: _relation(repository, change, few), relations)
    exact = (
        item if item.is_exact else _relation(repository, change, limits)
        for change, item in zip(relations, told, strict=True)
    )
    differing = tuple(item for item in exact if item.how != "equal")
    schemas = () if wanted else summarize(repository, found.schemas, ())
    return DiffReport(
        before=ends.before,
        after=ends.after,
        is_equal=not differing and not schemas,
        schemas=schemas,
        relations=differing,
    )


def _relation(repository: Repository, change: Change, limits: Limits) -> RelationDiff:
    name, old, new = change
    shown = old if isinstance(new, AbsentType) else new
    assert not isinstance(shown, AbsentType)
    kind = shown.noun
    how = "changed"
    if isinstance(old, AbsentType) or isinstance(new, AbsentType):
        how = "added" if isinstance(old, AbsentType) else "removed"
    before, after = (
        repository.objects.snapshot(entry.snapshot) if isinstance(entry, TableEntry) else None
        for entry in (old, new)
    )
    if before is None and after is None:
        return RelationDiff(name=str(name), kind=kind, how=how)
    difference = Difference(repository=repository, before=before, after=after)
    return _counted(str(name), kind, how, difference, limits)


def _counted(
    name: str, kind: str, how: str, difference: Difference, limits: Limits
) -> RelationDiff:
    """Return how a table differs, counted from file metadata if there are too many rows."""

    def most() -> RelationDiff:
        change = delta(difference.before, difference.after, difference.repository.objects.segment)
        counts = Counts(change.rows_added, change.rows_removed, 0)
        return _told(name, kind, how, difference, counts, is_exact=False)

    return in_process_first(
        lambda: _told(name, kind, how, difference, difference.counts(limits=limits)), most
    )


def _told(
    name: str,
    kind: str,
    how: str,
    difference: Difference,
    counts: Counts,
    *,
    is_exact: bool = True,
) -> RelationDiff:
    before, after = difference.before, difference.after
    columns = _columns(difference)
    settings: tuple[str, ...] = ()
    if before is not None and after is not None:
        if not difference.columns:
            settings = tuple(
                item for item in _SETTINGS if getattr(before, item) != getattr(after, item)
            )
        if not (any(counts) or columns or settings):
            how = "equal"
    return RelationDiff(
        name=name,
        kind=kind,
        how=how,
        rows_added=counts.added,
        rows_removed=counts.removed,
        rows_modified=counts.modified,
        is_exact=is_exact,
        columns=columns,
        settings=settings,
    )


def _columns(difference: Difference) -> tuple[ColumnDiff, ...]:
    chosen = {name.lower() for name in difference.columns}
    return tuple(
        ColumnDiff(kind=kind, column=column, before=before, after=after)
        for kind, column, before, after in difference.schema
        if not chosen or column.lower() in chosen
    )


def _tables(
    repository: Repository,
    ends: Ends,
    points: tuple[Point, Point],
    columns: tuple[str, ...],
    shape: DiffShape,
    limit: int | None,
    limits: Limits,
) -> DiffReport:
    before, after = (
        None if point.id is None else repository.objects.snapshot(point.id) for point in points
    )
    old, new = points
    name = str(new.relation)
    if old.relation != new.relation:
        name = f"{old.relation} -> {new.relation}"
    difference = Difference(repository=repository, before=before, after=after, columns=columns)
    how = _how(before, after)
    if limit == 0:
        told = _counted(name, "table", how, difference, limits)
        return DiffReport(
            before=ends.before, after=ends.after, is_equal=told.how == "equal", relations=(told,)
        )
    try:
        found = difference.in_process(limits=limits)
    except TooLargeError as error:
        raise TooLargeError(f"{error} {_in_sql(points)}") from error
    except UnsupportedError as error:
        raise UnsupportedError(f"{error} {_in_sql(points)}") from error
    told = _told(name, "table", how, difference, found.counts)
    shaped: ShapedRows | RowTable
    if shape == "three_way":
        three = ThreeWay.of(repository, old.id, new.id, columns)
        shaped = RowTable(three.table(limits=limits))
    else:
        shaped = ShapedRows(found, shape)
    shown = shaped.count if limit is None else min(limit, shaped.count)
    return DiffReport(
        before=ends.before,
        after=ends.after,
        is_equal=told.how == "equal" and not shaped.count,
        relations=(told,),
        heads=tuple(shaped.schema.names),
        key=tuple(field.name for field in found.comparison.key),
        rows=RowSet(shaped.schema, shown, shaped.parts),
        row_count=shaped.count,
    )


def _how(before: Snapshot | None, after: Snapshot | None) -> str:
    if before is None:
        return "added"
    return "removed" if after is None else "changed"


def _in_sql(points: tuple[Point, Point]) -> str:
    old, new = (f"{relation}@{id[:12]}" if id else str(relation) for relation, id in points)
    return (
        'With Spark: dbt show --inline "select * from '
        f"snapshot_diff('{old}', '{new}')\"; or show only row counts: --stat"
    )
