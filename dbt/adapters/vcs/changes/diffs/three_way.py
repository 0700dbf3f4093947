"""Three-way differences: what two versions of a table changed since their common base.

The differences of both sides from the base are joined row by row; files that neither side changed
are not read. A row of the result is a primary key or, without a key, a row's content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.diff_query import delta_parts, diff_query
from dbt.adapters.vcs.changes.diffs.row_diff import TableDiff, diff
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Field, Snapshot
from dbt.adapters.vcs.core.model.snapshot import widens
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import VersionMounts
from dbt.adapters.vcs.table.compare.comparison import VersionComparison, merge_base
from dbt.adapters.vcs.table.equality import canonical, equals, group_ids
from dbt.adapters.vcs.table.files.block_reader import Positions, shown_type
from dbt.adapters.vcs.table.limits import LIMITS, Limits, in_process_first
from dbt.adapters.vcs.table.quoting import quoted, sql_type
from dbt.adapters.vcs.table.row_numbers import distinct


@dataclass(frozen=True, kw_only=True)
class ThreeWay:
    """Two versions to compare with the version that both come from.

    With a primary key in all three versions, the columns are those of the key; `our_diff_type` and
    `their_diff_type` (added, removed, modified; NULL if the side left the row unchanged); then
    `base_<column>`, `our_<column>`, `their_<column>` for each column, NULL if there is no such
    row. One row for each key that a side changed.

    Without a key, they are the types (added or removed); `our_diff_count` and `their_diff_count`
    (bigint: how many more or fewer rows of this content a side has than the base, 0 if equal);
    then the table's columns. One row for each content whose count a side changed.

    A column that a side dropped is left out. A renamed one has its new name, preferably that of
    ours.
    """

    repository: Repository
    base: Snapshot
    ours: Snapshot
    theirs: Snapshot
    columns: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        repository: Repository,
        ours: SnapshotId | None,
        theirs: SnapshotId | None,
        columns: Sequence[str] = (),
    ) -> ThreeWay:
        """Return the difference of two versions from their base: the newest, if there are several.

        Raises:
            InputError: A version doesn't exist, or they have no common base.
        """
        read = repository.objects.snapshot
        if ours is None or theirs is None:
            raise InputError(
                "A three-way diff needs two versions of a table, and one of them has no such "
                "table. Compare them in the shape wide."
            )
        base = merge_base(repository.objects, ours, theirs)
        if base is None:
            raise InputError(
                "The two versions have no common ancestor, so there is no base to compare them "
                "with. Compare them with each other: shape wide."
            )
        return cls(
            repository=repository,
            base=read(base),
            ours=read(ours),
            theirs=read(theirs),
            columns=tuple(columns),
        )

    def table(self, *, limits: Limits = LIMITS) -> pa.Table:
        """Compare with Arrow and return the rows.

        Raises:
            InputError: There is no such column, or a column has the name of one in the result.
            UnsupportedError: Arrow can't read or compare a column, or no engine could.
            TooLargeError: There are too many rows.
        """
        plan = Plan.of(self.base, self.ours, self.theirs, self.columns)
        found = [
            diff(self.repository, self.base, side, columns=names, limits=limits)
            for side, names in self._sides(plan)
        ]
        return (_keyed_rows if plan.key else _counted_rows)(plan, found)

    def by_engine(self, session: VersionMounts) -> str:
        """Return the query that compares the rows, and mount what it reads.

        Raises:
            InputError: There is no such column, or a column has the name of one in the result.
            UnsupportedError: A column has types that can't be compared.
        """
        plan = Plan.of(self.base, self.ours, self.theirs, self.columns)
        queries = []
        for side, names in self._sides(plan):
            comparison = VersionComparison.of(self.base, side, names)
            change = delta(self.base, side, self.repository.objects.segment)
            parts = delta_parts(session, change, comparison)
            queries.append(diff_query(parts, comparison, "wide" if plan.key else "signed"))
        return (_keyed_query if plan.key else _counted_query)(plan, *queries)

    def relation(
        self, session: VersionMounts, *, name: str | None = None, limits: Limits = LIMITS
    ) -> str:
        """Return SQL for a relation with the rows, as `Difference.relation` does."""
        rows = in_process_first(lambda: self.table(limits=limits), lambda: self.by_engine(session))
        return self.mounted(session, rows, name=name)

    def mounted(
        self, session: VersionMounts, rows: pa.Table | str, *, name: str | None = None
    ) -> str:
        """Return SQL for a relation of the rows, as `Difference.mounted` does."""
        if isinstance(rows, str):
            return f"({rows})"
        return session.mount_arrow(name or self._name, rows, lasting=name is None)

    def _sides(self, plan: Plan) -> Iterator[tuple[Snapshot, list[str]]]:
        """Yield each side's difference with the names of the columns to compare."""
        for side, names in (
            (self.ours, [column.ours for column in plan.columns]),
            (self.theirs, [column.theirs for column in plan.columns]),
        ):
            yield side, [name for name in names if name is not None]

    @property
    def _name(self) -> str:
        sides = [msgspec.json.encode(side) for side in (self.base, self.ours, self.theirs)]
        told = repr((sides, self.columns, "three_way"))
        return f"__vcs_diff_{hashlib.sha256(told.encode()).hexdigest()[:32]}"


def _keyed_query(plan: Plan, ours: str, theirs: str) -> str:
    """Return the query that joins both sides' changes, in the shape `wide`, by key."""

    def value(column: ThreeWayColumn, side: str, prefix: str) -> str:
        name = column.ours if side == "ours" else column.theirs
        sql = "null" if name is None else f"{side}.{quoted(f'{prefix}_{name}')}"
        return f"cast({sql} as {sql_type(column.field.type)})"

    def key(column: ThreeWayColumn, side: str) -> str:
        return f"coalesce({value(column, side, 'to')}, {value(column, side, 'from')})"

    joined = " and ".join(
        equals(key(column, "ours"), key(column, "theirs"), column.field.type)
        for column in plan.key
    )
    listed = [f"coalesce({key(column, 'ours')}, {key(column, 'theirs')})" for column in plan.key]
    listed += ["ours.diff_type", "theirs.diff_type"]
    for column in plan.columns:
        base = [value(column, side, "from") for side in ("ours", "theirs")]
        listed += [
            f"if(ours.diff_type is not null, {base[0]}, {base[1]})",
            f"if(ours.diff_type is not null, {value(column, 'ours', 'to')}, {base[1]})",
            f"if(theirs.diff_type is not null, {value(column, 'theirs', 'to')}, {base[0]})",
        ]
    named = [f"{sql} {quoted(name)}" for sql, name in zip(listed, plan.names, strict=True)]
    return (
        f"select {', '.join(named)} from ({ours}) ours full outer join ({theirs}) theirs "
        f"on {joined}"
    )


def _counted_query(plan: Plan, ours: str, theirs: str) -> str:
    """Return the query that adds up both sides' changes, in the shape `signed`."""
    numbers = range(len(plan.columns))
    parts = []
    for query, counts in ((ours, "diff_count o, 0L t"), (theirs, "0L o, diff_count t")):
        columns = [
            "null" if name is None else quoted(name)
            for name in ((c.ours if counts.startswith("diff") else c.theirs) for c in plan.columns)
        ]
        types = [sql_type(column.field.type) for column in plan.columns]
        listed = [f"cast({columns[n]} as {types[n]}) c{n}" for n in numbers]
        parts.append(f"select {counts}, {', '.join(listed)} from ({query})")
    keys = [canonical(f"c{n}", plan.columns[n].field.type) for n in numbers]
    shown = [f"c{n}" if keys[n] == f"c{n}" else f"any_value(c{n}) c{n}" for n in numbers]
    added = (
        f"select sum(o) o, sum(t) t, {', '.join(shown)} from ({' union all '.join(parts)}) "
        f"group by {', '.join(keys)}"
    )
    kinds = [f"if({side} > 0, 'added', if({side} < 0, 'removed', null))" for side in "ot"]
    values = [*kinds, "o", "t", *(f"c{n}" for n in numbers)]
    named = [f"{sql} {quoted(name)}" for sql, name in zip(values, plan.names, strict=True)]
    return f"select {', '.join(named)} from ({added})"


def _keyed_rows(plan: Plan, found: Sequence[TableDiff]) -> pa.Table:
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


def _counted_rows(plan: Plan, found: Sequence[TableDiff]) -> pa.Table:
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


_SIDES: Final = ("our", "their")


class ThreeWayColumn(NamedTuple):
    """A column of the result, and its name in each side's difference; None if it has none."""

    field: Field
    ours: str | None
    theirs: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How the differences of both sides from the base are combined.

    Attributes:
        columns: The columns that are compared and shown.
        key: Those that identify a row; none for tables without a key.
    """

    columns: tuple[ThreeWayColumn, ...]
    key: tuple[ThreeWayColumn, ...]

    @classmethod
    def of(
        cls, base: Snapshot, ours: Snapshot, theirs: Snapshot, wanted: Sequence[str] = ()
    ) -> Plan:
        """Plan the comparison of both sides with the base, by the given columns or by all.

        Raises:
            InputError: There is no such column, or a name clashes with one of the result's own.
            UnsupportedError: A column has types that can't be compared.
        """
        shown = [
            {field.id: field for field in VersionComparison.of(base, side).fields}
            for side in (ours, theirs)
        ]
        first, second = shown
        gone = {*ours.schema.retired, *theirs.schema.retired}
        keys = {version.primary_key for version in (base, ours, theirs)}
        key = keys.pop() if len(keys) == 1 else ()
        columns = [
            ThreeWayColumn(
                _typed(id, base, shown),
                first[id].name if id in first else None,
                second[id].name if id in second else None,
            )
            for id in {**first, **second}
            if id not in gone
        ]
        chosen = _chosen(columns, wanted, key)
        plan = cls(
            columns=chosen,
            key=tuple(column for id in key for column in chosen if column.field.id == id),
        )
        _check_names(plan.names)
        return plan

    @property
    def names(self) -> list[str]:
        """The columns of the result, as in `three_way.ThreeWay`."""
        own = [column.field.name for column in self.columns]
        kinds = [f"{side}_diff_type" for side in _SIDES]
        if not self.key:
            return [*kinds, *(f"{side}_diff_count" for side in _SIDES), *own]
        versions = [f"{version}_{name}" for name in own for version in ("base", *_SIDES)]
        return [*(column.field.name for column in self.key), *kinds, *versions]


def _typed(id: str, base: Snapshot, shown: Sequence[Mapping[str, Field]]) -> Field:
    """Return a column at the wider type of both differences, under its newest name."""
    ours, theirs = (side.get(id) for side in shown)
    if ours is None or theirs is None:
        found = ours or theirs
        assert found is not None
        return found
    old = base.schema.by_id(id)
    name = theirs.name if old is not None and ours.name == old.name else ours.name
    for narrow, wide in ((ours, theirs), (theirs, ours)):
        if widens(narrow.type, wide.type):
            return msgspec.structs.replace(wide, name=name)
    raise UnsupportedError(
        f"The column '{name}' is {ours.type} on one side and {theirs.type} on the other: "
        "there is no type that holds the values of both. Leave the column out."
    )


def _chosen(
    columns: Sequence[ThreeWayColumn], wanted: Sequence[str], key: Sequence[str]
) -> tuple[ThreeWayColumn, ...]:
    if not wanted:
        return tuple(columns)
    ids = {column.field.name.lower(): column.field.id for column in columns}
    for name in wanted:
        if name.lower() not in ids:
            names = ", ".join(column.field.name for column in columns)
            raise InputError(
                f"There is no column '{name}' to compare; the columns are: {names}. One that a "
                "side dropped is left out."
            )
    kept = {ids[name.lower()] for name in wanted} | set(key)
    return tuple(column for column in columns if column.field.id in kept)


def _check_names(names: Sequence[str]) -> None:
    lower = [name.lower() for name in names]
    twice = next((name for name in lower if lower.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"The shape three_way has a column {twice} of its own, and so has the table. Ask for "
            "other columns, or compare each side with the base: as wide."
        )
