"""Three-way join in process: the changes of both sides, joined row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.diffs.row_diff import TableDiff
from dbt.adapters.vcs.diffs.three_plan import Plan, ThreeWayColumn
from dbt.adapters.vcs.rows.equality import group_ids
from dbt.adapters.vcs.rows.files.block_reader import Positions, shown_type
from dbt.adapters.vcs.rows.sorted_numbers import distinct


def keyed_rows(plan: Plan, found: Sequence[TableDiff]) -> pa.Table:
    """Join the changes of both sides by key."""
    ours, theirs = (item.net for item in found)
    shift = found[0].rows.num_rows
    before = np.concatenate([ours.before, _shifted(theirs.before, shift)])
    after = np.concatenate([ours.after, _shifted(theirs.after, shift)])
    values = {
        column.field.id: _both(column, [item.rows for item in found]) for column in plan.columns
    }
    spots = pa.array(np.where(after < 0, before, after))
    keys = [values[column.field.id].take(spots) for column in plan.key]
    codes = group_ids(keys, len(before))
    units = int(codes.max(initial=-1)) + 1
    change = np.full((2, units), -1)
    count = len(ours.before)
    for side, part in enumerate((slice(0, count), slice(count, None))):
        if len(distinct(codes[part])) < len(codes[part]):
            raise InputError(
                "Several rows of one version have the same primary key, so the versions can't be "
                "joined by it. Compare them in the shape wide, which shows such rows."
            )
        change[side, codes[part]] = np.arange(len(before))[part]
    first = np.where(change[0] >= 0, change[0], change[1])
    base = before[first]
    sides = [np.where(change[n] >= 0, after[change[n]], base) for n in (0, 1)]
    columns = [keys[n].take(pa.array(first)) for n in range(len(keys))]
    columns += [_kinds(before, after, change[n]) for n in (0, 1)]
    for column in plan.columns:
        rows = values[column.field.id]
        columns += [rows.take(pa.array(places, mask=places < 0)) for places in (base, *sides)]
    return pa.table(columns, names=plan.names)


def counted_rows(plan: Plan, found: Sequence[TableDiff]) -> pa.Table:
    """Join the counts of both sides by content."""
    tables = [item.signed() for item in found]
    values = [_both(column, tables) for column in plan.columns]
    codes = group_ids(values, sum(table.num_rows for table in tables))
    units, first = np.unique(codes, return_index=True)
    counts = np.zeros((2, len(units)), np.int64)
    start = 0
    for side, table in enumerate(tables):
        counts[side, codes[start : start + table.num_rows]] = table.column("diff_count").to_numpy()
        start += table.num_rows
    kinds = [
        pa.array(np.where(of > 0, "added", "removed").tolist(), pa.string(), mask=of == 0)
        for of in counts
    ]
    rows = [column.take(pa.array(first)) for column in values]
    return pa.table([*kinds, *map(pa.array, counts), *rows], names=plan.names)


def _both(column: ThreeWayColumn, tables: Sequence[pa.Table]) -> pa.ChunkedArray:
    """Return a column of both sides, concatenated; NULLs for a side that lacks it."""
    type_ = shown_type(column.field)
    parts: list[pa.Array] = []
    for name, table in zip((column.ours, column.theirs), tables, strict=True):
        if name is None:
            parts.append(pa.nulls(table.num_rows, type_))
        else:
            parts += table.column(name).cast(type_).chunks
    return pa.chunked_array(parts, type_)


def _shifted(places: Positions, by: int) -> Positions:
    return np.where(places < 0, -1, places + by)


def _kinds(before: Positions, after: Positions, change: Positions) -> pa.Array:
    """Return each row's type of change on a side; NULL for no change."""
    names = np.array(["modified", "added", "removed"])
    kinds = names[(before[change] < 0) * 1 + (after[change] < 0) * 2]
    return pa.array(kinds.tolist(), pa.string(), mask=change < 0)
