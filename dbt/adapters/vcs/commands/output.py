"""Output: results as plain text, fitted and styled text, or JSON, streamed."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import fields, is_dataclass
from itertools import islice
from operator import eq
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Final, overload

import msgspec

from dbt.adapters.vcs.commands.layout import (
    Block,
    Grid,
    Span,
    Style,
    TextLine,
    counted,
    entry,
    fitted_lines,
    line,
    plain_text,
)
from dbt.adapters.vcs.core.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from dbt.adapters.vcs.changes.diffs.summaries import ChangeSummary

_STYLES: Final[dict[Style, str]] = {
    "plain": "",
    "heading": "bold",
    "commit": "yellow",
    "name": "cyan",
    "faint": "dim",
    "good": "green",
    "bad": "red",
    "warn": "yellow",
}

_SOON: Final = 0.1
"""Seconds after which collected lines are flushed."""


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print blocks as they are read, styled and fitted if the output is a terminal."""
    if sys.stdout.isatty():
        # Imported here because it is slow to import, which scripts would notice.
        from rich.console import Console

        print_styled(blocks, Console(highlight=False))
    else:
        print_lines(plain_text(blocks))


def print_styled(blocks: Iterable[Block], console: Console) -> None:
    """Print blocks on a terminal as they are read."""
    from rich.color import ColorSystem
    from rich.style import Style as Look

    looks = {name: Look.parse(look) for name, look in _STYLES.items()}
    if console.no_color:
        looks = {name: look.without_color for name, look in looks.items()}
    # Only the basic colours, which every colour terminal has.
    system = None if console.color_system is None else ColorSystem.STANDARD

    def styled(line: TextLine) -> str:
        return "".join(
            looks[span.style].render(span.text, color_system=system) for span in line.spans
        )

    print_lines(map(styled, fitted_lines(blocks, max(1, console.width))), console.file)


def print_lines(lines: Iterable[str], file: IO[str] | None = None) -> None:
    """Print lines to standard output or a file as they are read, keeping at most one in memory."""
    into = sys.stdout if file is None else file
    written = monotonic()
    for text in lines:
        into.write(f"{text}\n")
        now = monotonic()
        # A flush for each line is slow, and none at all shows a pipe nothing for long.
        if now - written > _SOON:
            into.flush()
            written = now
    into.flush()


_INDENT: Final = "  "
_HELD: Final = (str, bytes, Mapping, list, tuple, set, frozenset, msgspec.Struct)
"""Iterables held in memory; any other iterable is read while it is printed."""


@contextmanager
def whole_file(output: str) -> Iterator[IO[bytes]]:
    """Yield a file that is there only once it is whole: nobody reads half of one.

    Raises:
        InputError: It can't be written there.
    """
    # Beside the file, since only within a file system is a rename one step.
    part = Path(f"{output}.part-{os.getpid()}")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(output)
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"Can't write {output}: {why}. Give another --output.") from error
    finally:
        with suppress(OSError):
            part.unlink()


def print_json(value: Any) -> None:
    """Print a value as JSON: objects by field name, times in UTC.

    Binary is hex digits, and numbers that JSON lacks are `"nan"`, `"inf"` and `"-inf"`.
    """
    print_lines(json_lines(value))


def print_jsonl(items: Iterable[Any]) -> None:
    """Print values as JSON, one per line."""
    print_lines(_json_bytes(item).decode() for item in items)


def json_lines(value: Any) -> Iterator[str]:
    """Yield a value as lines of JSON; its items are read as the lines are consumed."""
    if _is_read(value):
        yield from _list_lines("", value, "")
    # Field by field only if one of them is read while it is printed.
    elif is_dataclass(value) and not isinstance(value, type) and _reads(value):
        yield "{"
        pairs = [(field.name, getattr(value, field.name)) for field in fields(value)]
        for number, (name, item) in enumerate(pairs):
            comma = "," if number < len(pairs) - 1 else ""
            head = f'{_INDENT}"{name}": '
            if _is_read(item):
                yield from _list_lines(head, item, comma, _INDENT)
            else:
                yield f"{head}{_json_text(item, _INDENT)}{comma}"
        yield "}"
    else:
        yield _json_text(value, "")


def is_listing(value: Any) -> bool:
    """Return whether a value consists of several: a list, or a lazy iterable."""
    return isinstance(value, list | tuple) or _is_read(value)


def _list_lines(head: str, items: Iterable[Any], comma: str, indent: str = "") -> Iterator[str]:
    """Yield a list, keeping one element in memory at a time."""
    last: str | None = None
    for item in items:
        yield f"{head}[" if last is None else f"{last},"
        # One behind, since the last element has no comma.
        last = f"{indent}{_INDENT}{_json_text(item, indent + _INDENT)}"
    if last is None:
        yield f"{head}[]{comma}"
    else:
        yield last
        yield f"{indent}]{comma}"


def _json_text(value: Any, indent: str) -> str:
    data = _json_bytes(value)
    # Line breaks inside text are escaped, so any that occur come from the layout.
    return msgspec.json.format(data, indent=2).decode().replace("\n", f"\n{indent}")


def _json_bytes(value: Any) -> bytes:
    return msgspec.json.encode(json_value(value))


def json_value(value: Any) -> Any:
    """Return a value as `print_json` prints it, of what JSON has: objects, lists, texts, ..."""
    # Bytes stay bytes: msgspec would make them base64, and `--key` and `--set` take hex.
    plain = msgspec.to_builtins(value, builtin_types=(bytes,), str_keys=True, enc_hook=_plain)
    return _json_value(plain)


def _json_value(value: Any) -> Any:
    """Return a value with what JSON lacks as the text that options such as `--key` take."""
    match value:
        case dict():
            return {name: _json_value(item) for name, item in value.items()}
        case list() | tuple():
            return [_json_value(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
        case bytes():
            return value.hex()
    return value


def _plain(value: Any) -> Any:
    # msgspec takes no subclass of str, such as the text of a date that Python can't hold.
    return str(value) if isinstance(value, str) else list(value)


def _reads(value: Any) -> bool:
    return any(_is_read(getattr(value, field.name)) for field in fields(value))


def _is_read(value: Any) -> bool:
    is_held = isinstance(value, _HELD) or is_dataclass(value)
    return isinstance(value, Iterable) and not is_held


_AT_ONCE: Final = 1000
"""Number of rows converted to Python values at a time."""


class RowSet(Sequence[Mapping[str, Any]]):
    """Rows by column name; reading them again computes them again.

    Attributes:
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

    def first(self, count: int) -> RowSet:
        """Return the first rows, at most `count`."""
        fewer = copy(self)
        fewer._count = min(count, self._count)
        return fewer

    def values(self) -> Iterator[tuple[Any, ...]]:
        """Yield the values of each row, in the order of the columns."""
        # A command that shows no rows doesn't load what reads them.
        from dbt.adapters.vcs.table.python_values import python_values

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

    # It is equal to lists, which have no hash.
    __hash__ = None  # type: ignore[assignment]


def _is_number(type: pa.DataType) -> bool:
    # If there is a type, pyarrow is loaded; results without rows don't need it.
    from pyarrow import types

    return bool(types.is_integer(type) or types.is_floating(type) or types.is_decimal(type))


def rows_text(rows: RowSet, total: int) -> Iterator[Block]:
    """Yield rows as they are read, and the total if these are not all.

    Yields nothing if there are no columns.
    """
    if not rows.columns:
        return
    yield Grid(
        heads=rows.columns,
        rows=(tuple(map(cell_of, values)) for values in rows.values()),
        right=rows.numeric,
    )
    if total > len(rows):
        yield line(f"{len(rows)} of {counted(total, 'row')}")


def cell_of(value: Any, style: Style = "plain", marked: bool = False) -> Span:
    """Return the cell for a value; binary is shown in hex."""
    if isinstance(value, str):
        return Span(value, style, marked)
    if value is None:
        return Span("NULL", "faint", marked)
    return Span(value.hex() if isinstance(value, bytes) else str(value), style, marked)


_CHANGE_STYLES: Final[dict[str, Style]] = {"added": "good", "removed": "bad", "changed": "warn"}


def changes_text(changes: Sequence[ChangeSummary]) -> Iterator[TextLine]:
    """Yield one line per change, as a run writes it to dbt's log."""
    for change in changes:
        how = f"  {change.how:<8}"
        yield entry(Span(how, _CHANGE_STYLES[change.how]), str(change).removeprefix(how))
