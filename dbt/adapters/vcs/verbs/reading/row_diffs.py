"""Rows of one table that differ, in the shape that was asked for."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.diffs.difference import Difference
from dbt.adapters.vcs.diffs.shapes import RowTable, ShapedRows
from dbt.adapters.vcs.diffs.three_way import ThreeWay
from dbt.adapters.vcs.rows.limits import Limits, TooLargeError
from dbt.adapters.vcs.statements.syntax.diff_call import DiffShape
from dbt.adapters.vcs.verbs.reading.diff_range import Ends
from dbt.adapters.vcs.verbs.reading.diff_report import DiffReport
from dbt.adapters.vcs.verbs.reading.relation_diff import TablePair
from dbt.adapters.vcs.verbs.row_set import RowSet
from dbt.adapters.vcs.worktree.points import Point


def row_diff_report(
    ends: Ends,
    points: tuple[Point, Point],
    pair: TablePair,
    *,
    shape: DiffShape,
    limit: int | None,
    limits: Limits,
) -> DiffReport:
    """Return the report of two versions of tables with the rows that differ.

    Raises:
        InputError: There is no such column.
        UnsupportedError: Columns have types that can't be compared, or not without Spark.
        TooLargeError: There are too many rows for this process.
    """
    difference = Difference(
        repository=pair.repository, before=pair.before, after=pair.after, columns=pair.columns
    )
    try:
        found = difference.in_process(limits=limits)
    except TooLargeError as error:
        raise TooLargeError(f"{error} {_in_sql(points)}") from error
    except UnsupportedError as error:
        raise UnsupportedError(f"{error} {_in_sql(points)}") from error
    relation = pair.with_counts(found.counts)
    shaped: ShapedRows | RowTable
    if shape == "three_way":
        old, new = points
        three = ThreeWay.of(pair.repository, old.id, new.id, pair.columns)
        shaped = RowTable(three.table(limits=limits))
    else:
        shaped = ShapedRows(found, shape)
    shown = shaped.count if limit is None else min(limit, shaped.count)
    return DiffReport(
        before=ends.before,
        after=ends.after,
        is_equal=relation.how == "equal" and not shaped.count,
        relations=(relation,),
        heads=tuple(shaped.schema.names),
        key=tuple(field.name for field in found.comparison.key),
        rows=RowSet(shaped.schema, shown, shaped.parts),
        row_count=shaped.count,
    )


def _in_sql(points: tuple[Point, Point]) -> str:
    old, new = (
        f"{point.relation}@{point.id[:12]}" if point.id else str(point.relation)
        for point in points
    )
    return (
        'With Spark: dbt show --inline "select * from '
        f"snapshot_diff('{old}', '{new}')\"; or show only row counts: --stat"
    )
