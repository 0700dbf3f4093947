"""Reads a data type, and returns Spark's own text for it."""

from __future__ import annotations

import re
from typing import Final

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.statements.syntax.cursor import Cursor
from dbt.adapters.vcs.statements.syntax.literals import quote_name

_SAME: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "character": "char",
    "dec": "decimal",
    "numeric": "decimal",
}
# fmt: off
_PLAIN: Final = frozenset({
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp",
    "timestamp_ntz", "binary", "void", "variant", "string",
})
# fmt: on
_DEFAULT_COLLATION: Final = "UTF8_BINARY"
_PLAIN_NAME: Final = re.compile(r"\w+\Z")


def read_type(cursor: Cursor) -> str:
    """Read a type, and return it as `DataType.simpleString` of Spark would show it.

    Names of struct fields keep their case. `not null` and comments inside a struct are left
    out: Spark's file sources do not keep them either.

    Raises:
        UnsupportedError: Spark has no such type.
    """
    word = cursor.identifier("a data type").lower()
    name = _SAME.get(word, word)
    if name == "array":
        return f"array<{_arguments(cursor, 1)[0]}>"
    if name == "map":
        key, value = _arguments(cursor, 2)
        return f"map<{key},{value}>"
    if name == "struct":
        return f"struct<{','.join(_fields(cursor))}>"
    if name == "decimal":
        digits = _digits(cursor) or "10,0"
        return f"decimal({digits})" if "," in digits else f"decimal({digits},0)"
    if name in ("char", "varchar", "time", "geometry", "geography"):
        size = _sized(cursor, name)
        collation = _collation(cursor)
        if collation:
            raise UnsupportedError(
                f"`{size}{collation}` is not supported. Use `string{collation}`, and a check "
                "constraint for the length."
            )
        return size
    if name == "interval":
        return _interval(cursor)
    if name == "string":
        return f"string{_collation(cursor)}"
    if name == "timestamp" and cursor.take("without", "time", "zone"):
        return "timestamp_ntz"
    if name in _PLAIN:
        return name
    raise UnsupportedError(
        f"There is no data type '{word}' in Spark. Use one of Spark's types, such as "
        "string, bigint, decimal(p,s), timestamp, array<...> or struct<...>."
    )


def _arguments(cursor: Cursor, count: int) -> list[str]:
    cursor.expect_symbol("<")
    types = [read_type(cursor)]
    for _ in range(count - 1):
        cursor.expect_symbol(",")
        types.append(read_type(cursor))
    cursor.expect_symbol(">")
    return types


def _fields(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect_symbol("<")
    if cursor.symbol(">"):
        return ()
    fields = cursor.bare_items(lambda: _field(cursor))
    cursor.expect_symbol(">")
    return fields


def _field(cursor: Cursor) -> str:
    name = cursor.identifier("a field's name")
    cursor.symbol(":")
    type_ = read_type(cursor)
    cursor.take("not", "null")
    if cursor.take("comment"):
        cursor.string()
    return f"{name if _PLAIN_NAME.match(name) else quote_name(name)}:{type_}"


def _digits(cursor: Cursor) -> str:
    """Read `(p)` or `(p,s)` if it is there, and return it without parentheses and spaces."""
    if cursor.token.word != "(":
        return ""
    return ",".join(cursor.items(lambda: cursor.identifier("a number")))


def _sized(cursor: Cursor, name: str) -> str:
    size = _digits(cursor).lower()
    if name == "time":
        cursor.take("without", "time", "zone")
        size = size or "6"
    if not size:
        cursor.fail(f"the length of {name}, as in {name}(10)")
    return f"{name}({size})"


def _collation(cursor: Cursor) -> str:
    """Read `collate <name>` if it is there, and return it unless it is Spark's default."""
    if not cursor.take("collate"):
        return ""
    name = ".".join(cursor.parts()).upper()
    return "" if name == _DEFAULT_COLLATION else f" collate {name}"


def _interval(cursor: Cursor) -> str:
    units = ("year", "month", "day", "hour", "minute", "second")
    first = cursor.take_any(*units)
    if first is None:
        return "interval"
    last = None
    if cursor.take("to"):
        last = cursor.take_any(*units) or cursor.fail("a unit of time")
    return f"interval {first} to {last}" if last else f"interval {first}"
