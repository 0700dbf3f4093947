"""Decisions: which rows of a group a three-way merge keeps.

A group is a key or, without a key, a row's content. With a key, b, o and t are the group's row in
base, ours and theirs, or its absence. Without one they are the number of copies of the row:

| case                                    | fail     | skip | accept | cells                     |
|-----------------------------------------|----------|------|--------|---------------------------|
| t = b (only ours changed, or none)      | o        | o    | o      | o                         |
| o = b (only theirs changed)             | t        | t    | t      | t                         |
| o = t (both made the same change)       | o        | o    | o      | o                         |
| a row's values given by hand (SQL only) | that row, whatever the sides did                    |
| else, decided by hand (SQL only)        | as decided: ours, theirs, base or no row            |
| else: a conflict                        | o, and   | o    | t      | column by column by this  |
|                                         | told     |      |        | table, where o and t are  |
|                                         |          |      |        | rows; else as the mode    |

Only rows that a side touched are counted; rows that all versions have don't affect any comparison.
A key with more than one row on a side is merged row by row, as without a key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.table.compare.located import Mask, sums
from dbt.adapters.vcs.table.equality import Codes, codes_of
from dbt.adapters.vcs.table.files.block_reader import Positions, shown_type
from dbt.adapters.vcs.table.row_numbers import distinct

OURS: Final = 0
THEIRS: Final = 1
BASE: Final = 2
NOTHING: Final = 3
CUSTOM: Final = 4
"""None of the rows that there are: another one takes their place."""
CHOICES: Final[dict[Choice, int]] = {
    Choice.OURS: OURS,
    Choice.THEIRS: THEIRS,
    Choice.BASE: BASE,
    Choice.DELETE: NOTHING,
    Choice.CUSTOM: CUSTOM,
}
_ABSENT: Final = -1

ReadAt: TypeAlias = Callable[[Positions], pa.Table]
"""Returns columns of rows, given by their numbers in any order; NULLs for -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The rows to decide on; a unit is the equal rows of one group.

    Attributes:
        unit: For each row its unit.
        group: For each unit its group.
        first: For each unit one of its rows.
        base: For each unit the number of its rows that are live in base.
        ours: The same in ours.
        theirs: The same in theirs.
        single: For each group whether it has at most one row on each side and is one by its key.
    """

    unit: Codes
    group: Codes
    first: Positions
    base: Positions
    ours: Positions
    theirs: Positions
    single: Mask

    @classmethod
    def of(cls, group: Codes, value: Codes, live: Sequence[Mask], *, keyed: bool) -> Groups:
        """Build groups from each row's group, its content and the sides that have it.

        Groups are numbered densely from 0.
        """
        # One number for each pair of group and content: a single sort finds the units.
        width = int(value.max(initial=0)) + 1
        _, first, unit = np.unique(group * width + value, return_index=True, return_inverse=True)
        counts = [sums(unit, mask.astype(np.int64)) for mask in live]
        of_unit = group[first]
        single = np.full(int(group.max(initial=-1)) + 1, keyed)
        for count in counts:
            # A key that nobody enforces may stand for several rows, which are decided one by one.
            single &= sums(of_unit, count) <= 1
        return cls(
            unit=unit,
            group=of_unit,
            first=first,
            base=counts[0],
            ours=counts[1],
            theirs=counts[2],
            single=single,
        )

    def row_of(self, counts: Positions) -> Positions:
        """Return each single group's row on a side, -1 for none."""
        found = np.full(len(self.single), _ABSENT)
        there = (counts > 0) & self.single[self.group]
        found[self.group[there]] = self.first[there]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The rows to keep after the merge.

    Attributes:
        wanted: For each unit the number of rows to keep.
        conflicts: Units that are in conflict; all units of a group that is one by its key.
        made: Rows that no side has: for each column and each of these rows, the number of the row
            to take the value from.
    """

    wanted: Positions
    conflicts: Mask
    made: Sequence[Positions]


def decide(groups: Groups, read: ReadAt, *, mode: Mode) -> Verdict:
    """Decide on groups by the table above, where nobody decided by hand.

    Args:
        read: Reads all columns of the rows; used only to merge cells.
    """
    by_group = groups.single[groups.group]
    sides = [groups.row_of(counts) for counts in (groups.base, groups.ours, groups.theirs)]
    units = [_unit_at(groups, rows) for rows in sides]
    # A group that is one row a side is compared by which row that is. Others are compared by how
    # often each row occurs.
    choice = np.where(
        by_group,
        _choices(*units)[groups.group],
        _choices(groups.base, groups.ours, groups.theirs),
    )
    conflicts = choice == _ABSENT
    choice = np.where(conflicts, choice_by(mode), choice)
    made: Sequence[Positions] = ()
    if mode.is_by_cell:
        candidates = distinct(groups.group[conflicts & by_group])
        rows = [side[candidates] for side in sides]
        both = (rows[1] != _ABSENT) & (rows[2] != _ABSENT)
        # A row that one side deleted has no columns to merge, and remains a conflict.
        candidates, rows = candidates[both], [side[both] for side in rows]
        merged = _merged_cells(read, *rows, mode=mode)
        # With a side to prefer, columns that clash are settled as well.
        settled = ~merged.clashes if mode.side is None else np.ones(len(candidates), np.bool_)
        new = settled & ~merged.like_ours & ~merged.like_theirs
        made = [source[new] for source in merged.sources]
        # A row whose columns merge without a clash is no conflict. One that the mode had to settle
        # still counts as one.
        conflicts &= ~np.isin(groups.group, candidates[~merged.clashes])
        for chosen, which in (
            (OURS, merged.like_ours),
            (THEIRS, merged.like_theirs),
            (NOTHING, new),
        ):
            choice[np.isin(groups.group, candidates[settled & which])] = chosen
    # In the order of the codes, `OURS` to `NOTHING`.
    counts = np.stack([groups.ours, groups.theirs, groups.base, np.zeros_like(groups.base)])
    wanted = counts[choice, np.arange(len(choice))]
    return Verdict(wanted=wanted, conflicts=conflicts, made=made)


def choice_by(mode: Mode) -> int:
    """Return the side whose row stands until somebody decides: ours where no mode does."""
    return THEIRS if mode.side == "theirs" else OURS


def _choices(base: Positions, ours: Positions, theirs: Positions) -> Positions:
    """Return the choices by the first three rows of the table; -1 for a conflict."""
    found = np.full(len(ours), _ABSENT)
    # The first row of the table that fits counts, so it is assigned last.
    found[ours == base] = THEIRS
    found[(theirs == base) | (ours == theirs)] = OURS
    return found


def _unit_at(groups: Groups, rows: Positions) -> Positions:
    return np.where(rows == _ABSENT, _ABSENT, groups.unit[rows]) if len(groups.unit) else rows


class _Merged(NamedTuple):
    """Rows merged column by column.

    Attributes:
        sources: For each column the rows to take values from.
        clashes: Mask of the rows with a column that both sides changed differently.
        like_ours: Mask of the rows that come out equal to ours.
        like_theirs: Mask of the rows that come out equal to theirs.
    """

    sources: Sequence[Positions]
    clashes: Mask
    like_ours: Mask
    like_theirs: Mask


def _merged_cells(
    read: ReadAt, base: Positions, ours: Positions, theirs: Positions, *, mode: Mode
) -> _Merged:
    sides = [read(rows).columns for rows in (base, ours, theirs)]
    clashes = np.zeros(len(ours), np.bool_)
    like_ours, like_theirs = ~clashes, ~clashes
    sources: list[Positions] = []
    for columns in zip(*sides, strict=True):
        chunks = chain(*(column.chunks for column in columns))
        # Codes of one column can be compared with each other only, so all sides are coded at once.
        old, own, other = np.split(codes_of(pa.chunked_array(chunks, columns[0].type)), 3)
        # A NULL that was read for a missing row must not look like a value that a side kept.
        old = np.where(base == _ABSENT, _ABSENT, old)
        choice = _choices(old, own, other)
        clash = choice == _ABSENT
        is_other = np.where(clash, choice_by(mode), choice) == THEIRS
        clashes = clashes | clash
        like_ours = like_ours & (~is_other | (own == other))
        like_theirs = like_theirs & (is_other | (own == other))
        sources.append(np.where(is_other, theirs, ours))
    return _Merged(sources, clashes, like_ours, like_theirs)


OUR_TYPE = "our_diff_type"
THEIR_TYPE = "their_diff_type"


@dataclass(frozen=True, kw_only=True)
class Conflicts:
    """Undecided conflicts; their rows are read only when asked for.

    Attributes:
        groups: The rows that were examined.
        units: A unit of each conflict, in the order of the rows.
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
        # The sides' rows of one key are several units, and one conflict.
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
