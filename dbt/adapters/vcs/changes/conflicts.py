"""Conflicts as a table: each row with its three versions side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.decide import Groups, Verdict
from dbt.adapters.vcs.changes.files import Positions, shown_type
from dbt.adapters.vcs.core.model import Field

OUR_TYPE = "our_diff_type"
THEIR_TYPE = "their_diff_type"


def conflict_table(
    groups: Groups,
    verdict: Verdict,
    values: pa.Table,
    names: Sequence[str],
    *,
    keyed: bool,
) -> pa.Table:
    """Return the conflicts of a verdict, sorted as the rows are.

    Columns: `our_diff_type`, `their_diff_type` (added, removed, modified); without a key
    `our_diff_count` and `their_diff_count`, too (bigint: by how many rows of this content a side
    has more or less); then `base_<column>`, `our_<column>`, `their_<column>` for each column,
    NULL where a side has no such row.

    A key that stands for several rows on a side has a row here for each content.
    """
    units = np.flatnonzero(verdict.conflicts)
    single = groups.single[groups.group[units]]
    _, places = np.unique(groups.group[units][single], return_index=True)
    kept = np.sort(np.concatenate([units[single][places], units[~single]]))
    sides = []
    by_group = groups.single[groups.group[kept]]
    for counts in (groups.base, groups.ours, groups.theirs):
        of_group = groups.row_of(counts)[groups.group[kept]]
        of_unit = np.where(counts[kept] > 0, groups.first[kept], -1)
        sides.append(np.where(by_group, of_group, of_unit))
    base, ours, theirs = sides
    columns: dict[str, object] = {
        OUR_TYPE: _types(base, ours),
        THEIR_TYPE: _types(base, theirs),
    }
    if not keyed:
        own, other = groups.ours - groups.base, groups.theirs - groups.base
        columns[OUR_TYPE] = _signs(own[kept])
        columns[THEIR_TYPE] = _signs(other[kept])
        columns["our_diff_count"] = pa.array(own[kept], pa.int64())
        columns["their_diff_count"] = pa.array(other[kept], pa.int64())
    for name, column in zip(names, values.columns, strict=True):
        for prefix, rows in (("base", base), ("our", ours), ("their", theirs)):
            columns[f"{prefix}_{name}"] = column.take(pa.array(rows, mask=rows < 0))
    return pa.table(columns)


def no_conflicts(fields: Sequence[Field], *, keyed: bool) -> pa.Table:
    """Return the table of no conflict, with the columns that `conflict_table` has."""
    rows = pa.table(
        [pa.array([], shown_type(field)) for field in fields],
        names=[field.id for field in fields],
    )
    nobody = np.empty(0, np.bool_)
    nothing = np.empty(0, np.int64)
    groups = Groups.of(nothing, nothing, [nobody] * 3, keyed=keyed)
    verdict = Verdict(wanted=nothing, conflicts=nobody, made=())
    return conflict_table(groups, verdict, rows, [field.name for field in fields], keyed=keyed)


def _types(base: Positions, side: Positions) -> pa.Array:
    names = np.array(["modified", "added", "removed"])
    kinds = np.where(base < 0, 1, np.where(side < 0, 2, 0))
    return pa.array(names[kinds].tolist(), pa.string())


def _signs(counts: Positions) -> pa.Array:
    return pa.array(np.where(counts > 0, "added", "removed").tolist(), pa.string())
