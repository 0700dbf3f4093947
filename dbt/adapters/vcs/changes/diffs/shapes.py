"""Shapes: the rows of a difference in a form for people, built one part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.row_diff import TableDiff
from dbt.adapters.vcs.sql.syntax.diff_call import TwoWayShape
from dbt.adapters.vcs.table.compare.comparison import Counts

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
