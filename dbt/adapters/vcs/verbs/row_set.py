"""Rows of a result, computed as they are read and not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import eq
from typing import TYPE_CHECKING, Any, Final, overload

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE: Final = 1000
"""Number of rows converted to Python values at a time."""


class RowSet(Sequence[Mapping[str, Any]]):
    """Rows by column name; reading them again computes them again.

    Attributes:
        columns: Names of the columns.
        numeric: Names of the columns with numbers.
    """

    def __init__(
        self, schema: pa.Schema | None, count: int, parts: Callable[[], Iterable[pa.Table]]
    ) -> None:
        """Create a row set from tables with the schema; at most `count` rows are read.

        Without a schema there are no columns, and pyarrow isn't needed.
        """
        fields = () if schema is None else tuple(schema)
        self.columns: tuple[str, ...] = tuple(field.name for field in fields)
        self.numeric = frozenset(field.name for field in fields if _is_number(field.type))
        self._count = count
        self._parts = parts

    @classmethod
    def of(cls, table: pa.Table, limit: int | None = None) -> RowSet:
        """Return the rows of a table, at most `limit` unless it is None."""
        count = table.num_rows if limit is None else min(limit, table.num_rows)
        return cls(table.schema, count, lambda: [table])

    @classmethod
    def none(cls) -> RowSet:
        """Return an empty row set without columns."""
        return cls(None, 0, tuple)

    def values(self) -> Iterator[tuple[Any, ...]]:
        """Yield the values of each row, in the order of the columns."""
        # A command that shows no rows doesn't load what reads them.
        from dbt.adapters.vcs.rows.python_values import python_values

        left = self._count
        parts = iter(self._parts())
        while left > 0 and (part := next(parts, None)) is not None:
            chosen = part.slice(0, left)
            left -= chosen.num_rows
            for start in range(0, chosen.num_rows, _AT_ONCE):
                columns = chosen.slice(start, _AT_ONCE).columns
                yield from zip(*(python_values(column) for column in columns), strict=True)

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table; one without columns if there are no rows to have."""
        import pyarrow

        parts = list(self._parts())
        found = pyarrow.concat_tables(parts) if parts else pyarrow.table({})
        return found.slice(0, self._count)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for values in self.values():
            yield dict(zip(self.columns, values, strict=True))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Mapping[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return tuple(islice(self, *place.indices(len(self))))
        return next(islice(self, range(len(self))[place], None))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


def _is_number(type: pa.DataType) -> bool:
    # If there is a type, pyarrow is loaded; results without rows don't need it.
    from pyarrow import types

    return bool(types.is_integer(type) or types.is_floating(type) or types.is_decimal(type))
