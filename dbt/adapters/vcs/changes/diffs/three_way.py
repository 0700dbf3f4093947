"""Three-way differences: what two versions of a table changed since their common base.

The differences of both sides from the base are joined row by row; files that neither side changed
are not read. A row of the result is a primary key or, without a key, a row's content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.diff_query import delta_parts, diff_query, is_unique
from dbt.adapters.vcs.changes.diffs.difference import ComputedRows, RowTable, mounted_rows
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Field, Snapshot
from dbt.adapters.vcs.core.model.snapshot import widens
from dbt.adapters.vcs.core.plan.delta import Delta, delta, signed_pieces
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import RowSession, VersionMounts, VersionReader
from dbt.adapters.vcs.engines.row_sessions import is_for_spark, row_session
from dbt.adapters.vcs.table.compare.comparison import VersionComparison, merge_base
from dbt.adapters.vcs.table.equality import canonical, equals
from dbt.adapters.vcs.table.files.block_reader import shown_type
from dbt.adapters.vcs.table.limits import LIMITS, Limits
from dbt.adapters.vcs.table.quoting import quoted, sql_type


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

    def is_small(self, limits: Limits = LIMITS) -> bool:
        """Return whether the rows are few enough to be held, and need no Spark."""
        if is_for_spark(self.fields):
            return False
        changes = (change for _, _, change in self._sides)
        return all(limits.allow(x.piece for x in signed_pieces(change)) for change in changes)

    def table(self) -> pa.Table:
        """Compare in this process and return the rows.

        Raises:
            InputError: There is no such column, or a column has the name of one in the result; or
                several rows of a version have one key.
            UnsupportedError: Only Spark has the type of a column, or no engine could compare it.
        """
        with row_session(self.repository.blobs, self.fields, None) as session:
            found = session.query(self.by_engine(session)).arrow().cast(self._plan.schema)
        # PySpark takes no column that has no chunk, as those of no rows have.
        return pa.concat_tables([self._plan.schema.empty_table(), found])

    def computed(self) -> ComputedRows:
        """Return the same rows, of any number, for DuckDB to compute."""
        return ComputedRows(blobs=self.repository.blobs, fields=self.fields, text=self.by_engine)

    def rows(self, limits: Limits = LIMITS) -> RowTable | ComputedRows:
        """Return the same rows without Spark: few in memory, others as they are read."""
        return RowTable(self.table()) if self.is_small(limits) else self.computed()

    def by_engine(self, session: RowSession | VersionReader) -> str:
        """Return the query that compares the rows, and mount what it reads.

        Raises:
            InputError: There is no such column, or a column has the name of one in the result; or
                several rows of a version have one key.
            UnsupportedError: A column has types that can't be compared.
        """
        plan = self._plan
        sides = self._queries(session)
        # An enforced key is unique already, and needs no query.
        if plan.key and not all(version.is_key_enforced for version in self._versions):
            _check_joined(session, plan, sides)
        return (_keyed_query if plan.key else _counted_query)(plan, *sides)

    def relation(
        self, session: VersionReader, *, name: str | None = None, limits: Limits = LIMITS
    ) -> str:
        """Return SQL for a relation with the rows, as `Difference.relation` does."""
        rows = self.table() if self.is_small(limits) else self.by_engine(session)
        return self.mounted(session, rows, name=name)

    def mounted(
        self, session: VersionMounts, rows: pa.Table | str, *, name: str | None = None
    ) -> str:
        """Return SQL for a relation of the rows, as `Difference.mounted` does."""
        return mounted_rows(session, rows, name, self._versions, self.columns, "three_way")

    @property
    def _versions(self) -> tuple[Snapshot, ...]:
        return self.base, self.ours, self.theirs

    # Cached, since rows that are too many for this process are planned for another engine, too.
    @cached_property
    def _plan(self) -> Plan:
        return Plan.of(self.base, self.ours, self.theirs, self.columns)

    @property
    def fields(self) -> list[Field]:
        """The columns that are compared and shown."""
        return [column.field for column in self._plan.columns]

    def _queries(self, session: VersionMounts) -> list[str]:
        """Return the query for each side's difference from the base."""
        return [
            diff_query(
                delta_parts(session, change, comparison),
                comparison,
                "wide" if self._plan.key else "signed",
                unique=bool(self._plan.key)
                and is_unique(self.base, side, comparison)
                # A row that both versions delete may come twice, and a join would pair each.
                and not change.may_delete_twice,
            )
            for side, comparison, change in self._sides
        ]

    @cached_property
    def _sides(self) -> list[tuple[Snapshot, VersionComparison, Delta]]:
        """Each side, how it is compared with the base, and what it changed."""
        columns = self._plan.columns
        found = []
        for side, names in (
            (self.ours, [column.ours for column in columns]),
            (self.theirs, [column.theirs for column in columns]),
        ):
            shown = [name for name in names if name is not None]
            change = delta(self.base, side, self.repository.objects.segments)
            found.append((side, VersionComparison.of(self.base, side, shown), change))
        return found


def _keyed_query(plan: Plan, ours: str, theirs: str) -> str:
    """Return the query that joins both sides' changes, in the shape `wide`, by key."""
    joined = " and ".join(
        equals(_key(column, "ours"), _key(column, "theirs"), column.field.type)
        for column in plan.key
    )
    listed = [f"coalesce({_key(column, 'ours')}, {_key(column, 'theirs')})" for column in plan.key]
    listed += ["ours.diff_type", "theirs.diff_type"]
    for column in plan.columns:
        # A side that left the row alone has no row here: the other one shows what it has.
        base = [_value(column, side, "from") for side in ("ours", "theirs")]
        listed += [
            f"if(ours.diff_type is not null, {base[0]}, {base[1]})",
            f"if(ours.diff_type is not null, {_value(column, 'ours', 'to')}, {base[1]})",
            f"if(theirs.diff_type is not null, {_value(column, 'theirs', 'to')}, {base[0]})",
        ]
    named = [f"{sql} {quoted(name)}" for sql, name in zip(listed, plan.names, strict=True)]
    return (
        f"select {', '.join(named)} from ({ours}) ours full outer join ({theirs}) theirs "
        f"on {joined}"
    )


def _value(column: ThreeWayColumn, side: str, prefix: str) -> str:
    """Return SQL for a column of a side's difference, in the type of the result."""
    name = column.ours if side == "ours" else column.theirs
    sql = "null" if name is None else f"{side}.{quoted(f'{prefix}_{name}')}"
    return f"cast({sql} as {sql_type(column.field.type)})"


def _key(column: ThreeWayColumn, side: str) -> str:
    # A removed row has its key in the old columns only.
    return f"coalesce({_value(column, side, 'to')}, {_value(column, side, 'from')})"


def _check_joined(session: RowSession | VersionReader, plan: Plan, queries: Sequence[str]) -> None:
    """Refuse keys with which a side changed several rows."""
    for side, query in zip(("ours", "theirs"), queries, strict=True):
        # Joined by such a key, each row would meet each.
        keys = ", ".join(canonical(_key(column, side), column.field.type) for column in plan.key)
        text = f"select 1 from ({query}) {side} group by {keys} having count(*) > 1 limit 1"
        if session.query(text).fetch():
            raise InputError(
                "Several rows of one version have the same primary key, so the versions can't be "
                "joined by it. Compare them in the shape wide, which shows such rows."
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
    # Equal values may be spelled differently (-0.0, maps in another order): any is shown.
    shown = [f"c{n}" if keys[n] == f"c{n}" else f"any_value(c{n}) c{n}" for n in numbers]
    added = (
        f"select sum(o) o, sum(t) t, {', '.join(shown)} from ({' union all '.join(parts)}) "
        f"group by {', '.join(keys)}"
    )
    kinds = [f"if({side} > 0, 'added', if({side} < 0, 'removed', null))" for side in "ot"]
    values = [*kinds, "o", "t", *(f"c{n}" for n in numbers)]
    named = [f"{sql} {quoted(name)}" for sql, name in zip(values, plan.names, strict=True)]
    return f"select {', '.join(named)} from ({added})"


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
        key: The columns that identify a row; none for tables without a key.
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
        # Under different keys no row of one version is surely a row of another. So contents are
        # counted.
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
        return list(self.schema.names)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result with their types."""
        own = [(column.field.name, shown_type(column.field)) for column in self.columns]
        kinds = [(f"{side}_diff_type", pa.string()) for side in _SIDES]
        if not self.key:
            return pa.schema(
                [*kinds, *((f"{side}_diff_count", pa.int64()) for side in _SIDES), *own]
            )
        keys = [(column.field.name, shown_type(column.field)) for column in self.key]
        versions = [(f"{version}_{name}", t) for name, t in own for version in ("base", *_SIDES)]
        return pa.schema([*keys, *kinds, *versions])


def _typed(id: str, base: Snapshot, shown: Sequence[Mapping[str, Field]]) -> Field:
    """Return a column at the wider type of both differences, under its newest name."""
    ours, theirs = (side.get(id) for side in shown)
    if ours is None or theirs is None:
        found = ours or theirs
        assert found is not None
        return found
    old = base.schema.by_id(id)
    # The side that renamed the column has the newer name. If both did, it is that of ours.
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
