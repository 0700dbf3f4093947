"""The result of a statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dbt.adapters.vcs.core.model import Input, RelationName
from dbt.adapters.vcs.engines.engine_errors import UnfitError
from dbt.adapters.vcs.engines.port import Column, Rows
from dbt.adapters.vcs.table.types import plain_type_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a statement did.

    Attributes:
        rows: The rows of its result; None if it has no result.
        relation: The relation that it changed, or None.
        affected: Rows that it wrote, or None if it wrote none or the number isn't known.
        warnings: What the user should know although the statement succeeded.
        inputs: The versions that it read, by relation name.
        reused: Where its result was computed before, and the time saved; None if it was
            computed.
    """

    rows: Rows | None = None
    relation: RelationName | None = None
    affected: int | None = None
    warnings: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    reused: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows computed without an engine; every column is text or a boolean."""

    columns: tuple[Column, ...]
    values: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, names: Sequence[str], values: Sequence[Sequence[Any]]) -> Listing:
        """Return rows under column names; a column is boolean if its name starts with `is`."""
        columns = tuple(
            Column(name=name, type="boolean" if name.startswith("is") else "string")
            for name in names
        )
        return cls(columns, tuple(tuple(row) for row in values))

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows, or only the first `limit` of them."""
        return list(self.values if limit is None else self.values[:limit])

    def run(self) -> None:
        """Do nothing: the rows are already computed."""

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        types = [pa.bool_() if c.type == "boolean" else pa.string() for c in self.columns]
        arrays = [
            pa.array([row[index] for row in self.values], type) for index, type in enumerate(types)
        ]
        return pa.table(arrays, names=[column.name for column in self.columns])


class ArrowRows:
    """Rows computed without an engine, as a table of plain values."""

    def __init__(self, table: pa.Table) -> None:
        """Take a table for which `are_plain` holds."""
        self._table = table
        self.columns = tuple(
            Column(name=field.name, type=plain_type_text(field.type) or "")
            for field in table.schema
        )

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows, or only the first `limit` of them."""
        table = self._table if limit is None else self._table.slice(0, limit)
        try:
            values = [column.to_pylist() for column in table.columns]
        except (ValueError, OverflowError) as error:
            raise UnfitError(error) from error
        return list(zip(*values, strict=True))

    def run(self) -> None:
        """Do nothing: the rows are already computed."""

    def arrow(self) -> pa.Table:
        """Return the table."""
        return self._table


def are_plain(table: pa.Table) -> bool:
    """Return whether all readers interpret the values alike, so no engine is needed."""
    return all(plain_type_text(field.type) is not None for field in table.schema)
