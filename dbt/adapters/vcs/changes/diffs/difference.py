"""Differences of two versions of a table: small ones in this process, others by the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.diff_query import (
    Scan,
    SignedPart,
    delta_parts,
    diff_query,
    is_unique,
    known_counts,
    scan_query,
    scannable,
    signed_part,
)
from dbt.adapters.vcs.changes.diffs.matched_columns import matched, needs_names
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, Snapshot
from dbt.adapters.vcs.core.plan.delta import Delta, Piece, delta, signed_pieces
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.port import RowSession, TableParts, VersionMounts
from dbt.adapters.vcs.engines.row_sessions import row_session
from dbt.adapters.vcs.sql.syntax.diff_call import TwoWayShape
from dbt.adapters.vcs.table.compare.comparison import Counts, VersionComparison
from dbt.adapters.vcs.table.compare.located import (
    NetChanges,
    net_changes,
    net_counts,
    signed_rows,
    sums,
    table_columns,
)
from dbt.adapters.vcs.table.files.block_reader import is_readable
from dbt.adapters.vcs.table.limits import LIMITS, Limits
from dbt.adapters.vcs.table.quoting import quoted, sql_type
from dbt.adapters.vcs.workspace.table_version import Version

if TYPE_CHECKING:
    from dbt.adapters.vcs.engines.local_session import LocalSession

ALL: Final = slice(None)
"""All changes, not a part of them."""

_TYPES: Final = ("modified", "added", "removed")
_KINDS: Final = ("delete", "insert", "update_preimage", "update_postimage")


@dataclass(frozen=True, slots=True)
class TableDiff:
    """The changes that turn one version of a table into another.

    Attributes:
        rows: The rows removed or added, columns by name; only those that are shown.
        net: Which of them make up each change.
    """

    comparison: VersionComparison
    rows: pa.Table
    net: NetChanges

    @property
    def counts(self) -> Counts:
        """The numbers of rows added, removed and modified."""
        return self.net.counts

    def signed(self) -> pa.Table:
        """Return `diff_count` (bigint, never 0), then the columns: each distinct row once.

        An added row has a positive count, a removed one a negative count (MatrixOne paper, Listing
        2).
        """
        _, first, value = np.unique(self.net.value, return_index=True, return_inverse=True)
        table, counts = self.rows, self.net.sign
        if len(first) < table.num_rows:
            order = np.argsort(first)
            table = table.take(pa.array(first[order]))
            counts = sums(value, counts)[order]
        return table.add_column(0, "diff_count", pa.array(counts, pa.int64()))

    def wide(self, part: slice = ALL) -> pa.Table:
        """Return `diff_type` (added, removed, modified), then `from_<column>`, `to_<column>`.

        One row per change, for a part of the changes; the missing side's columns are NULL.
        """
        before, after = self.net.before[part], self.net.after[part]
        # Places in `_TYPES`: nothing missing is 0, no row before 1, no row after 2.
        types = (before < 0) * 1 + (after < 0) * 2
        old, new = _taken(self.rows, before), _taken(self.rows, after)
        columns: dict[str, object] = {"diff_type": _named(types, _TYPES)}
        for name in self.rows.column_names:
            columns[f"from_{name}"] = old.column(name)
            columns[f"to_{name}"] = new.column(name)
        return pa.table(columns)

    def changes(self, part: slice = ALL) -> pa.Table:
        """Return `_change_type`, then the columns, for a part of the changes.

        The types are insert, delete, and update_preimage before update_postimage.
        """
        before, after = self.net.before[part], self.net.after[part]
        both = (before >= 0) & (after >= 0)
        # The old row of each change comes right before the new one.
        pairs = np.stack([before, after], axis=1).ravel()
        # Places in `_KINDS`.
        kinds = np.stack([both * 2, both * 2 + 1], axis=1).ravel()
        there = pairs >= 0
        table = self.rows.take(pa.array(pairs[there]))
        return table.add_column(0, "_change_type", _named(kinds[there], _KINDS))


def diff(repository: Repository, before: Snapshot | None, after: Snapshot | None) -> TableDiff:
    """Return the changes from one version of a table to another; None is a table without rows.

    Files that both versions have are not read.

    Raises:
        UnsupportedError: Arrow can't read or compare a column: VARIANT, intervals.
    """
    change = delta(before, after, repository.objects.segments)
    return _compared(repository.blobs, change, VersionComparison.of(before, after))


def _compared(
    blobs: Blobs,
    change: Delta,
    comparison: VersionComparison,
    *,
    shown: Collection[str] | None = None,
) -> TableDiff:
    """Return the changes of a delta, as `diff` does.

    `shown` are the only columns that the rows need to have, by lower-case name; one is there in
    any case. None for all.
    """
    signed = signed_rows(blobs, change)
    fields = list(comparison.fields)
    if shown is None:
        table = signed.read(fields)
        net = net_changes(table_columns(table), signed.sign, comparison.compared, comparison.key)
    else:
        compared, key, likely = comparison.compared, comparison.key, _updated(change)
        net = net_changes(signed.columns, signed.sign, compared, key, likely=likely)
        # A table of Arrow without columns has no rows either, so one column stays.
        fields = [field for field in fields if field.name.lower() in shown] or fields[:1]
        table = signed.read(fields)
    left = table if len(net.rows) == table.num_rows else table.take(pa.array(net.rows))
    return TableDiff(comparison, left.rename_columns([field.name for field in fields]), net)


def _updated(change: Delta) -> set[str]:
    """Return the ids of the columns that updates set, in which rows probably differ."""
    # Decision 29: an update says which columns it set, and rows are told apart soonest by these.
    return {id for update in (*change.updates, *change.undone) for id in update.columns}


def _named(codes: npt.NDArray[np.int64], names: Sequence[str]) -> pa.Array:
    """Return the names with the given places."""
    return pa.array(names, pa.string()).take(pa.array(codes))


def _taken(rows: pa.Table, places: npt.NDArray[np.int64]) -> pa.Table:
    """Return the rows with the given numbers, NULLs for -1."""
    return rows.take(pa.array(places, mask=places < 0))


_PART: Final = 50_000
"""Changes whose rows are gathered at a time."""


class ShapedRows:
    """The rows of a difference in a shape."""

    def __init__(self, found: TableDiff, shape: TwoWayShape) -> None:
        """Take the diff; only the shape `signed` gathers its rows now."""
        self._found = found
        self._shape = shape
        self._whole: pa.Table | None = None
        if shape == "wide":
            # Of no changes: only the columns are wanted now.
            self.schema, self.count = found.wide(slice(0, 0)).schema, len(found.net.before)
        elif shape == "changes":
            self.schema, self.count = found.changes(slice(0, 0)).schema, found.rows.num_rows
        else:
            # Equal rows may lie anywhere. If all values differ this makes no copy.
            self._whole = shaped(found, shape)
            self.schema, self.count = self._whole.schema, self._whole.num_rows

    @property
    def counts(self) -> Counts:
        """The numbers of rows added, removed and modified."""
        return self._found.counts

    def parts(self, limit: int | None = None) -> Iterator[pa.Table]:
        """Yield the rows as tables, each built when it is requested; at least so many."""
        if self._whole is not None:
            yield self._whole
            return
        part_of = self._found.wide if self._shape == "wide" else self._found.changes
        for start in range(0, len(self._found.net.before), _PART):
            yield part_of(slice(start, start + _PART))


class RowTable:
    """The same for rows that are already a table."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.schema, self.count = table.schema, table.num_rows

    def parts(self, limit: int | None = None) -> Iterator[pa.Table]:
        """Yield the table, whole."""
        yield self._table


def shaped(found: TableDiff, shape: TwoWayShape) -> pa.Table:
    """Return the rows of a difference in a shape."""
    match shape:
        case "wide":
            return found.wide()
        case "signed":
            return found.signed()
        case "changes":
            return found.changes()


_OWN: Final[dict[TwoWayShape, str]] = {"signed": "diff_count", "changes": "_change_type"}

# Up to this many changed rows it takes less time to compare them than to mount their files.
_FEW: Final = 20_000


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Two versions to compare.

    Attributes:
        before: The first version; None is a table without rows.
        after: The second version; the same.
        columns: Names of the only columns to compare and show besides the key; empty for all.
        shown: Lower-case names of the only columns that the rows need to have, where Arrow
            compares; None for all.
        shape: How rows represent changes.
    """

    repository: Repository
    before: Snapshot | None
    after: Snapshot | None
    columns: tuple[str, ...] = ()
    shown: frozenset[str] | None = None
    shape: TwoWayShape = "wide"

    @cached_property
    def comparison(self) -> VersionComparison:
        """How the versions are compared.

        Raises:
            InputError: There is no such column, or neither version is given.
            UnsupportedError: A column has two types that can't be compared.
        """
        return VersionComparison.of(*self._matched, self.columns or None)

    @property
    def pieces(self) -> list[Piece]:
        """What may hold rows that differ."""
        return [item.piece for item in signed_pieces(self._change)]

    def is_small(self, limits: Limits = LIMITS) -> bool:
        """Return whether this process compares the rows column by column.

        By what manifests tell: the rows are few, and of types that Arrow has. Raises as
        `comparison` does.
        """
        if self._needs_names or not all(map(is_readable, self.comparison.fields)):
            return False
        return limits.allow(self.pieces)

    def in_process(self) -> TableDiff:
        """Compare the rows with Arrow; files that both versions have are not read.

        Raises:
            InputError: There is no such column, or neither version is given.
            UnsupportedError: Arrow can't read or compare a column, or no engine could.
        """
        if self._needs_names:
            raise UnsupportedError(
                "Tables that are not related, and have columns that were renamed, can't be "
                "compared without Spark."
            )
        return _compared(self.repository.blobs, self._change, self.comparison, shown=self.shown)

    def counts(
        self, sessions: Callable[[], RowSession] | None = None, *, limits: Limits = LIMITS
    ) -> Counts:
        """Return the numbers of rows added, removed and modified.

        Nothing is read where manifests know them. Raises as `comparison` and `row_session` do.

        Args:
            sessions: Returns Spark's session, for types that only Spark has; None if there is
                none.
            limits: The most to compare column by column; SQL compares more.
        """
        found = self.counts_here(limits)
        if found is not None:
            return found
        with row_session(self.repository.blobs, self.comparison.fields, sessions) as session:
            return self.counts_by_engine(session)

    def counts_here(self, limits: Limits = LIMITS) -> Counts | None:
        """Return the same if it takes no engine, else None, also where no engine could compare.

        Raises:
            InputError: There is no such column, or neither version is given.
        """
        try:
            comparison = self.comparison
        except UnsupportedError:
            return None
        change = self._change
        scan = self._scan("changes")
        if scan is not None:
            return known_counts(change, scan.changes)
        if self._needs_names:
            return None
        if not (change.rows_added and change.rows_removed):
            return Counts(change.rows_added, change.rows_removed, 0)
        if not limits.allow(self.pieces):
            return None
        signed = signed_rows(self.repository.blobs, change)
        compared, key, likely = comparison.compared, comparison.key, _updated(change)
        return net_counts(signed.columns, signed.sign, compared, key, likely=likely)

    def table(self) -> pa.Table:
        """Return the rows in the shape; compares and raises as `in_process` does."""
        return shaped(self._found_here(), self.shape)

    def parts(self) -> ShapedRows:
        """Return the same rows, gathered one part at a time."""
        return ShapedRows(self._found_here(), self.shape)

    def computed(self, counts: Counts | None = None) -> ComputedRows:
        """Return the same rows, of any number, for DuckDB to compute; counts may be known."""
        count = None
        # In the shape `signed` equal rows are one, so that only a key tells how many there are.
        if counts is not None and self.shape != "signed":
            modified = counts.modified * (1 if self.shape == "wide" else 2)
            count = counts.added + counts.removed + modified
        return ComputedRows(
            blobs=self.repository.blobs,
            fields=self.comparison.fields,
            text=self.by_engine,
            known=count,
        )

    def rows(self) -> ShapedRows | ComputedRows:
        """Return the same rows without Spark: few compared here, others by DuckDB."""
        return self.parts() if self.is_small() else self.computed()

    def by_engine(self, session: VersionMounts) -> str:
        """Return the query that compares the rows, and mount what it reads.

        Raises:
            InputError: There is no such column, or neither version is given.
            UnsupportedError: A column has types that can't be compared.
        """
        return self._query(session, self.shape)

    def _query(self, session: VersionMounts, shape: TwoWayShape) -> str:
        (before, after), comparison = self._matched, self.comparison
        _check_names(comparison.fields, shape)
        scanned = self._scanned(session, shape)
        if scanned is not None:
            return scanned
        parts: Iterable[SignedPart]
        is_joined = is_unique(self.before, self.after, comparison)
        if self._needs_names:
            # Files hold columns by id, and the ids of these two tables don't correspond. So all
            # rows are read, under matching names.
            parts = [
                self._whole(session, self.before, before, -1),
                self._whole(session, self.after, after, 1),
            ]
        else:
            parts = delta_parts(session, self._change, comparison)
            # A row that both versions delete may come twice on one side, and a join would pair
            # each.
            is_joined = is_joined and not self._change.may_delete_twice
        return diff_query(parts, comparison, shape, unique=is_joined)

    def counts_by_engine(self, session: RowSession) -> Counts:
        """Return the numbers of rows added, removed and modified; raises as `by_engine` does.

        Nothing is read where manifests know them.
        """
        scan = self._scan("changes")
        if scan is not None:
            return known_counts(self._change, scan.changes)
        kinds = ", ".join(f"count_if(diff_type = '{kind}')" for kind in Counts._fields)
        text = f"select {kinds} from ({self._query(session, 'wide')})"
        return Counts(*session.query(text).fetch()[0])

    def _scanned(
        self, session: VersionMounts, shape: TwoWayShape, *, over: int = -1
    ) -> str | None:
        """Return the query that only scans files, and mount what it reads; None if there is none.

        With `over`, there is none unless there are more rows than this.
        """
        scan = self._scan(shape, over=over)
        if scan is None:
            return None
        _check_names(self.comparison.fields, shape)
        return scan_query(session, self._change, scan, self.comparison, shape)

    def relation(
        self, session: VersionMounts, *, name: str | None = None, limits: Limits = LIMITS
    ) -> str:
        """Return SQL for a relation with the rows, to put after `from`.

        Args:
            name: The relation's name in the session, where it replaces any other of that name;
                None for a name that means this difference as long as the session lives.
            limits: The most to compare in this process.

        Raises:
            InputError: There is no such column, or neither version is given.
            UnsupportedError: A column has types that can't be compared.
        """
        rows: TableParts | str | None = self._scanned(session, self.shape, over=_FEW)
        if rows is None:
            rows = self.parts() if self.is_small(limits) else self.by_engine(session)
        return self.mounted(session, rows, name=name)

    def mounted(
        self,
        session: VersionMounts,
        rows: pa.Table | TableParts | str,
        *,
        name: str | None = None,
    ) -> str:
        """Return SQL for a relation of compared rows, or of a query that compares them.

        Otherwise as `Difference.relation`.
        """
        shown = None if self.shown is None else sorted(self.shown)
        sides = (self.before, self.after)
        return mounted_rows(session, rows, name, sides, self.columns, shown, self.shape)

    @cached_property
    def _matched(self) -> tuple[Snapshot | None, Snapshot | None]:
        return matched(self.before, self.after)

    @cached_property
    def _needs_names(self) -> bool:
        return needs_names(self.before, self.after)

    @cached_property
    def _change(self) -> Delta:
        return delta(*self._matched, self.repository.objects.segments)

    def _scan(self, shape: TwoWayShape, *, over: int = -1) -> Scan | None:
        change = self._change
        if self._needs_names or change.rows_added + change.rows_removed <= over:
            return None
        return scannable(*self._matched, change, self.comparison, shape, self.shown)

    def _found_here(self) -> TableDiff:
        found = self.in_process()
        _check_names(found.comparison.fields, self.shape)
        return found

    def _whole(
        self,
        session: VersionMounts,
        stored: Snapshot | None,
        named: Snapshot | None,
        sign: int,
    ) -> SignedPart:
        """Return the query for all rows of a version, with columns matched to the other's."""
        # A version that is compared with none needs no names.
        assert stored is not None
        assert named is not None
        fields = self.comparison.fields
        ids = {
            new.id: old.id
            for new, old in zip(named.schema.fields, stored.schema.fields, strict=True)
        }
        held = (quoted(ids[field.id]) if field.id in ids else "null" for field in fields)
        columns = [
            (f"cast({column} as {sql_type(field.type)})", field.type)
            for column, field in zip(held, fields, strict=True)
        ]
        relation = session.mount_physical(Version.of(self.repository, stored).mount())
        return signed_part(relation, sign, columns)


@dataclass(frozen=True, kw_only=True)
class ComputedRows:
    """The rows of a large difference, in any order: DuckDB computes them whenever they are read.

    Each attribute and method raises UnsupportedError if only Spark has the type of a column,
    InputError if a setting of the engine can't be used, and EngineError if memory or disk is
    exhausted.

    Attributes:
        fields: The columns that are read.
        text: Returns the query, and mounts what it reads.
        known: The number of rows; None if it has to be computed.
    """

    blobs: Blobs
    fields: Sequence[Field]
    text: Callable[[RowSession], str]
    known: int | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        """Their columns."""
        with self._session() as session:
            text = f"select * from ({self.text(session)}) limit 0"
            return session.query(text).arrow().schema

    @cached_property
    def count(self) -> int:
        """The number of rows."""
        if self.known is not None:
            return self.known
        with self._session() as session:
            text = f"select count(*) from ({self.text(session)})"
            return int(session.query(text).fetch()[0][0])

    def parts(self, limit: int | None = None) -> Iterator[pa.Table]:
        """Yield the rows, at most so many: the fewer, the sooner."""
        some = "" if limit is None else f" limit {limit}"
        with self._session() as session:
            yield from session.query(f"select * from ({self.text(session)}){some}").tables()

    @contextmanager
    def _session(self) -> Iterator[LocalSession]:
        with row_session(self.blobs, self.fields, None) as session:
            # Without Spark's sessions there is no other.
            yield cast("LocalSession", session)


def mounted_rows(
    session: VersionMounts,
    rows: pa.Table | TableParts | str,
    name: str | None,
    versions: Sequence[Snapshot | None],
    *options: object,
) -> str:
    """Return SQL for a relation of compared rows, or of a query that compares them.

    Args:
        name: As `Difference.relation` takes it.
        versions: What is compared.
        options: How; with the versions, they tell the rows from those of other differences.
    """
    if isinstance(rows, str):
        return f"({rows})"
    # A name by content: asked again, the rows are still mounted.
    told = repr((list(map(msgspec.json.encode, versions)), *options))
    lasting = f"__vcs_diff_{hashlib.sha256(told.encode()).hexdigest()[:32]}"
    return session.mount_arrow(name or lasting, rows, lasting=name is None)


def _check_names(fields: Sequence[Field], shape: TwoWayShape) -> None:
    own = _OWN.get(shape)
    if any(field.name.lower() == own for field in fields):
        raise InputError(
            f"The shape {shape} has a column {own} of its own, and so has the table. Ask for the "
            "shape wide, or for other columns."
        )
