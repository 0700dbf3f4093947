"""Diff of two versions of a table, row by row, in this process, and its shapes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.model import Snapshot
from dbt.adapters.vcs.core.plan.delta import Delta, delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.sql.syntax.diff_call import TwoWayShape
from dbt.adapters.vcs.table.compare.comparison import Counts, VersionComparison
from dbt.adapters.vcs.table.compare.located import SignedRows, hits, signed_rows
from dbt.adapters.vcs.table.compare.net import NetChanges, net_changes, sums, table_columns
from dbt.adapters.vcs.table.limits import LIMITS, Limits

ALL: Final = slice(None)
"""All changes, not a part of them."""

_TYPES: Final = pa.array(["modified", "added", "removed"], pa.string())
_KINDS: Final = pa.array(["delete", "insert", "update_preimage", "update_postimage"], pa.string())


@dataclass(frozen=True, slots=True)
class TableDiff:
    """The changes that turn one version of a table into another.

    Attributes:
        comparison: The columns compared.
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
        pairs = np.stack([before, after], axis=1).ravel()
        kinds = np.stack([both * 2, both * 2 + 1], axis=1).ravel()
        there = pairs >= 0
        table = self.rows.take(pa.array(pairs[there]))
        return table.add_column(0, "_change_type", _named(kinds[there], _KINDS))


def diff(
    repository: Repository,
    before: Snapshot | None,
    after: Snapshot | None,
    *,
    columns: Sequence[str] | None = None,
    shown: Collection[str] | None = None,
    where: pc.Expression | None = None,
    limits: Limits = LIMITS,
) -> TableDiff:
    """Return the changes from one version of a table to another.

    Files that both versions have are not read.

    Args:
        repository: The repository with both.
        before: The first version; None is a table without rows.
        after: The second version; the same.
        columns: The only columns to compare and show, by name; the key is always among them.
        shown: Of these, the only ones that the rows need to have, by lower-case name; one is
            there in any case. None for all.
        where: Only changes whose row meets this condition before or after; it names columns as the
            result does.
        limits: The most to read.

    Raises:
        InputError: There is no such column.
        UnsupportedError: Arrow can't read or compare a column: VARIANT, intervals.
        TooLargeError: There are too many rows; an engine has to compare them.
    """
    comparison = VersionComparison.of(before, after, columns)
    change = delta(before, after, repository.objects.segment)
    signed = signed_rows(repository.blobs, change, limits=limits)
    fields = list(comparison.fields)
    if shown is None:
        table = signed.read(fields)
        net = net_changes(table_columns(table), signed.sign, comparison.compared, comparison.key)
    else:
        net = _net(change, signed, comparison)
        fields = [field for field in fields if field.name.lower() in shown] or fields[:1]
        table = signed.read(fields)
    left = table if len(net.rows) == table.num_rows else table.take(pa.array(net.rows))
    named = left.rename_columns([field.name for field in fields])
    if where is not None:
        named, net = _filtered(named, net, where)
    return TableDiff(comparison, named, net)


def count_changes(
    repository: Repository,
    before: Snapshot | None,
    after: Snapshot | None,
    *,
    limits: Limits = LIMITS,
) -> Counts:
    """Count the rows of a diff; nothing is read if rows were only added or only removed.

    Raises:
        UnsupportedError: Arrow can't read or compare a column.
        TooLargeError: There are too many rows; an engine has to compare them.
    """
    change = delta(before, after, repository.objects.segment)
    if change.rows_added == 0 or change.rows_removed == 0:
        return Counts(change.rows_added, change.rows_removed, 0)
    comparison = VersionComparison.of(before, after)
    signed = signed_rows(repository.blobs, change, limits=limits)
    return _net(change, signed, comparison).counts


def _net(change: Delta, signed: SignedRows, comparison: VersionComparison) -> NetChanges:
    """Return the net changes; columns are read as far as they are needed."""
    likely = {id for update in (*change.updates, *change.undone) for id in update.columns}
    return net_changes(
        signed.columns, signed.sign, comparison.compared, comparison.key, likely=likely
    )


def _filtered(
    rows: pa.Table, net: NetChanges, where: pc.Expression
) -> tuple[pa.Table, NetChanges]:
    # The last place stands for -1, the missing row of a change.
    wanted = np.zeros(rows.num_rows + 1, np.bool_)
    wanted[hits(rows, where)] = True
    changes = wanted[net.before] | wanted[net.after]
    before, after = net.before[changes], net.after[changes]
    kept = np.zeros(rows.num_rows + 1, np.bool_)
    kept[before] = kept[after] = True
    chosen = np.flatnonzero(kept[:-1])
    place = np.full(rows.num_rows + 1, -1)
    place[chosen] = np.arange(len(chosen))
    return rows.take(pa.array(chosen)), NetChanges(
        net.rows[chosen], net.sign[chosen], net.value[chosen], place[before], place[after]
    )


def _named(codes: npt.NDArray[np.int64], names: pa.StringArray) -> pa.Array:
    """Return the names with the given places."""
    return names.take(pa.array(codes))


def _taken(rows: pa.Table, places: npt.NDArray[np.int64]) -> pa.Table:
    """Return the rows with the given numbers, NULLs for -1."""
    return rows.take(pa.array(places, mask=places < 0))


_PART: Final = 50_000
"""Changes whose rows are gathered at a time."""


class ShapedRows:
    """The rows of a difference in a shape.

    Attributes:
        schema: Their columns.
        count: The number of rows.
    """

    def __init__(self, found: TableDiff, shape: TwoWayShape) -> None:
        """Take the diff; only the shape `signed` gathers its rows now."""
        self._found = found
        self._shape = shape
        self._whole: pa.Table | None = None
        if shape == "wide":
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
        """Take the table."""
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
