"""Reads a data type and returns Spark's own text for it."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model.data_type import (
    CONTAINERS,
    OTHER_NAMES,
    PLAIN_KINDS,
    SIZED_KINDS,
    UNITS,
    Type,
    collated,
    decimal_type,
)
from dbt.adapters.vcs.statements.syntax.cursor import TokenCursor


def read_type(cursor: TokenCursor) -> str:
    """Read a type, and return it as `DataType.simpleString` of Spark would show it.

    A `timestamp` without more words is the type that the cursor's session means by it.

    Names of struct fields keep their case. `not null` and comments inside a struct are left
    out: Spark's file sources don't keep them either.

    Raises:
        UnsupportedError: Spark has no such type.
    """
    return str(_type(cursor))


def _type(cursor: TokenCursor) -> Type:
    word = cursor.identifier("a data type").lower()
    kind = OTHER_NAMES.get(word, word)
    if kind in CONTAINERS:
        return Type(kind, parts=_parts(cursor, CONTAINERS[kind]))
    if kind == "struct":
        return _struct(cursor)
    if kind == "decimal":
        return _decimal(cursor)
    if kind in SIZED_KINDS:
        return _sized(cursor, kind)
    if kind == "interval":
        return Type(kind, units=_units(cursor))
    if kind == "string":
        return Type(kind, collation=_collation(cursor))
    if word == "timestamp":
        without = cursor.take("without", "time", "zone")
        return Type("timestamp_ntz" if without else cursor.timestamp())
    if kind in PLAIN_KINDS:
        return Type(kind)
    raise UnsupportedError(
        f"There is no data type '{word}' in Spark. Use one of Spark's types, such as "
        "string, bigint, decimal(p,s), timestamp, array<...> or struct<...>."
    )


def _parts(cursor: TokenCursor, count: int) -> tuple[Type, ...]:
    cursor.expect_symbol("<")
    types = [_type(cursor)]
    for _ in range(count - 1):
        cursor.expect_symbol(",")
        types.append(_type(cursor))
    cursor.expect_symbol(">")
    return tuple(types)


def _struct(cursor: TokenCursor) -> Type:
    cursor.expect_symbol("<")
    if cursor.symbol(">"):
        return Type("struct")
    fields = cursor.bare_items(lambda: _field(cursor))
    cursor.expect_symbol(">")
    names, parts = zip(*fields, strict=True)
    return Type("struct", names=names, parts=parts)


def _field(cursor: TokenCursor) -> tuple[str, Type]:
    name = cursor.identifier("a field's name")
    cursor.symbol(":")
    type_ = _type(cursor)
    cursor.take("not", "null")
    if cursor.take("comment"):
        cursor.string()
    return name, type_


def _decimal(cursor: TokenCursor) -> Type:
    """Read `(p)` or `(p,s)` if present."""
    digits = _size(cursor)
    if len(digits) > 2 or not all(isinstance(digit, int) for digit in digits):
        cursor.fail("at most two numbers, as in decimal(10,2)")
    return decimal_type(tuple(int(digit) for digit in digits))


def _sized(cursor: TokenCursor, kind: str) -> Type:
    size = _size(cursor)
    if kind == "time":
        cursor.take("without", "time", "zone")
        size = size or (6,)
    if not size:
        cursor.fail(f"the length of {kind}, as in {kind}(10)")
    type_ = Type(kind, size)
    collation = _collation(cursor)
    if collation:
        raise UnsupportedError(
            f"`{type_} collate {collation}` is not supported. Use `string collate {collation}`, "
            "and a check constraint for the length."
        )
    return type_


def _size(cursor: TokenCursor) -> tuple[int | str, ...]:
    """Read the contents of parentheses if present."""
    if cursor.token.word != "(":
        return ()
    words = cursor.items(lambda: cursor.identifier("a number").lower())
    return tuple(int(word) if word.isdigit() else word for word in words)


def _collation(cursor: TokenCursor) -> str | None:
    """Read `collate <name>` if present, and return it unless it is Spark's default."""
    return collated(".".join(cursor.parts())) if cursor.take("collate") else None


def _units(cursor: TokenCursor) -> tuple[str, ...]:
    first = cursor.take_any(*UNITS)
    if first is None:
        return ()
    if not cursor.take("to"):
        return first, first
    return first, cursor.take_any(*UNITS) or cursor.fail("a unit of time")
