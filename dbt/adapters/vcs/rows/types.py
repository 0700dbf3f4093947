"""Type texts: from Spark's types, and to Arrow's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.rows.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField

RAW_TYPE_KEY: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""Key in a field's metadata under which Spark keeps a declared char(n) or varchar(n)."""

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|\w+|[<>(),:])", re.DOTALL)
_SIMPLE: Final[dict[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "char": pa.string(),
    "varchar": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_PLAIN_TEXTS: Final[dict[pa.DataType, str]] = {
    _SIMPLE[text]: text
    for text in (
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "string",
        "binary",
        "date",
        "timestamp_ntz",
    )
}


def type_text(data_type: DataType) -> str:
    """Return the text of a Spark type; struct fields are quoted where they have to be."""
    kind = data_type.typeName()
    some: Any = data_type
    if kind == "struct":
        inner = ",".join(
            f"{_field_name(field.name)}:{type_text(field.dataType)}" for field in some.fields
        )
        return f"struct<{inner}>"
    if kind == "array":
        return f"array<{type_text(some.elementType)}>"
    if kind == "map":
        return f"map<{type_text(some.keyType)},{type_text(some.valueType)}>"
    return data_type.simpleString()


def field_type_text(field: StructField) -> str:
    """Return the type text of a column, with the length of char(n) and varchar(n) if declared."""
    raw = (field.metadata or {}).get(RAW_TYPE_KEY)
    return raw if isinstance(raw, str) else type_text(field.dataType)


def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type that a Spark type is written as.

    Raises:
        UnsupportedError: Arrow has no such type (intervals, VARIANT).
        InputError: The text is no type.
    """
    tokens = _tokens(text)
    parsed = _parse(tokens, text)
    if tokens:
        raise _no_type(text)
    return parsed


def plain_type_text(type_: pa.DataType) -> str | None:
    """Return the Spark type of plain values; None for times with a zone, and for nested values.

    Whoever reads plain values gets the same from Spark and from Arrow.
    """
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    return _PLAIN_TEXTS.get(type_)


def _field_name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quoted(name)


def _tokens(text: str) -> list[str]:
    """Return the tokens in reverse order, so that `pop` takes the next one."""
    found: list[str] = []
    start = 0
    text = text.rstrip()
    while start < len(text):
        match = _TOKEN.match(text, start)
        if match is None:
            raise _no_type(text)
        found.append(match[1])
        start = match.end()
    return found[::-1]


def _parse(tokens: list[str], text: str) -> pa.DataType:
    word = tokens.pop().lower() if tokens else ""
    if word == "array":
        _expect(tokens, "<", text)
        element = _parse(tokens, text)
        _expect(tokens, ">", text)
        return pa.list_(pa.field("element", element))
    if word == "map":
        _expect(tokens, "<", text)
        key = _parse(tokens, text)
        _expect(tokens, ",", text)
        value = _parse(tokens, text)
        _expect(tokens, ">", text)
        return pa.map_(key, value)
    if word == "struct":
        return _struct(tokens, text)
    if word in ("decimal", "dec", "numeric"):
        numbers = _numbers(tokens, text) or [10]
        return pa.decimal128(numbers[0], numbers[1] if len(numbers) > 1 else 0)
    if word in ("interval", "variant"):
        raise UnsupportedError(
            f"Values of type {text} can't be written from Arrow; write them with a query."
        )
    if word not in _SIMPLE:
        raise _no_type(text)
    if word in ("char", "varchar"):
        _numbers(tokens, text)
    if word == "string" and tokens[-1:] and tokens[-1].lower() == "collate":
        del tokens[-2:]
    return _SIMPLE[word]


def _struct(tokens: list[str], text: str) -> pa.DataType:
    fields: list[pa.Field] = []
    _expect(tokens, "<", text)
    while tokens and tokens[-1] != ">":
        name = tokens.pop()
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        if tokens[-1:] == [":"]:
            tokens.pop()
        fields.append(pa.field(name, _parse(tokens, text)))
        if [token.lower() for token in tokens[-2:]] == ["null", "not"]:
            del tokens[-2:]
        if tokens[-1:] and tokens[-1].lower() == "comment":
            del tokens[-2:]
        if tokens[-1:] == [","]:
            tokens.pop()
    _expect(tokens, ">", text)
    return pa.struct(fields)


def _numbers(tokens: list[str], text: str) -> list[int]:
    found: list[int] = []
    if tokens[-1:] != ["("]:
        return found
    tokens.pop()
    while tokens and tokens[-1] != ")":
        token = tokens.pop()
        if token.isdigit():
            found.append(int(token))
        elif token != ",":
            raise _no_type(text)
    _expect(tokens, ")", text)
    return found


def _expect(tokens: list[str], wanted: str, text: str) -> None:
    if not tokens or tokens.pop() != wanted:
        raise _no_type(text)


def _no_type(text: str) -> InputError:
    return InputError(f"Expected a Spark SQL type such as bigint or array<string>, found: {text}.")
