"""Conflicts as a table: each row with its three versions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.rowwise.decide import Groups, ReadAt, Verdict
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.table.files.block_reader import Positions, shown_type

OUR_TYPE = "our_diff_type"
THEIR_TYPE = "their_diff_type"


@dataclass(frozen=True, kw_only=True)
class Conflicts:
    """Undecided conflicts; their rows are read only when asked for.

    Attributes:
        groups: The rows that were examined.
        units: A unit of each conflict, in the order of the rows.
        read: Reads all columns of the rows.
        fields: The columns.
        keyed: Whether rows are identified by a key.
    """

    groups: Groups
    units: Positions
    read: ReadAt
    fields: Sequence[Field]
    keyed: bool

    @classmethod
    def of(
        cls,
        groups: Groups,
        verdict: Verdict,
        read: ReadAt,
        fields: Sequence[Field],
        *,
        keyed: bool,
    ) -> Conflicts:
        """Return the conflicts of a verdict."""
        units = np.flatnonzero(verdict.conflicts)
        single = groups.single[groups.group[units]]
        _, places = np.unique(groups.group[units][single], return_index=True)
        kept = np.sort(np.concatenate([units[single][places], units[~single]]))
        return cls(groups=groups, units=kept, read=read, fields=fields, keyed=keyed)

    @classmethod
    def none(cls, fields: Sequence[Field], *, keyed: bool) -> Conflicts:
        """Return an empty set of conflicts."""
        nothing = np.empty(0, np.int64)
        groups = Groups.of(nothing, nothing, [np.empty(0, np.bool_)] * 3, keyed=keyed)
        empty = pa.table(
            [pa.array([], shown_type(field)) for field in fields],
            names=[field.id for field in fields],
        )
        return cls(groups=groups, units=nothing, read=lambda _: empty, fields=fields, keyed=keyed)

    def __len__(self) -> int:
        return len(self.units)

    @cached_property
    def table(self) -> pa.Table:
        """The conflicts with their rows.

        Columns: `our_diff_type`, `their_diff_type` (added, removed, modified); without a key
        `our_diff_count` and `their_diff_count`, too (bigint: by how many rows of this content a
        side has more or less); then `base_<column>`, `our_<column>`, `their_<column>` for each
        column, NULL where a side has no such row.

        A key with several rows on one side gets a row here for each distinct content. If the table
        has a column `diff_type` or `diff_count`, underscores are appended to the names of the
        columns above.
        """
        groups, kept = self.groups, self.units
        by_group = groups.single[groups.group[kept]]
        sides = []
        for counts in (groups.base, groups.ours, groups.theirs):
            of_group = groups.row_of(counts)[groups.group[kept]]
            of_unit = np.where(counts[kept] > 0, groups.first[kept], -1)
            sides.append(np.where(by_group, of_group, of_unit))
        base, ours, theirs = sides
        mark = mark_of(self.fields)
        columns: dict[str, object] = {
            OUR_TYPE + mark: _types(base, ours),
            THEIR_TYPE + mark: _types(base, theirs),
        }
        if not self.keyed:
            own, other = groups.ours - groups.base, groups.theirs - groups.base
            columns[OUR_TYPE + mark] = _signs(own[kept])
            columns[THEIR_TYPE + mark] = _signs(other[kept])
            columns[f"our_diff_count{mark}"] = pa.array(own[kept], pa.int64())
            columns[f"their_diff_count{mark}"] = pa.array(other[kept], pa.int64())
        tables = {"base": self.read(base), "our": self.read(ours), "their": self.read(theirs)}
        for field in self.fields:
            for prefix, table in tables.items():
                columns[f"{prefix}_{field.name}"] = table.column(field.id)
        return pa.table(columns)


def mark_of(fields: Sequence[Field]) -> str:
    """Return the suffix that keeps the change columns distinct from the table's own."""
    names = {field.name.lower() for field in fields}
    mark = ""
    while names & {f"diff_type{mark}", f"diff_count{mark}"}:
        mark += "_"
    return mark


def _types(base: Positions, side: Positions) -> pa.Array:
    names = np.array(["modified", "added", "removed"])
    kinds = np.where(base < 0, 1, np.where(side < 0, 2, 0))
    return pa.array(names[kinds].tolist(), pa.string())


def _signs(counts: Positions) -> pa.Array:
    return pa.array(np.where(counts > 0, "added", "removed").tolist(), pa.string())
