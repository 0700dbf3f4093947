"""Data types of Spark, parsed.

Types are stored and sent as text; a `Type` answers questions about one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from dbt.adapters.vcs.core.errors import InputError

INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")
"""Kinds of whole numbers, the narrowest first."""

FLOATS: Final = ("float", "double")
TEXTS: Final = ("string", "varchar", "char")
TIMESTAMPS: Final = ("timestamp", "timestamp_ntz")
INSTANTS: Final = ("date", *TIMESTAMPS)
CONTAINERS: Final[dict[str, int]] = {"array": 1, "map": 2}
"""Kinds whose values are made of others, and how many types they name; structs name any."""

OTHER_NAMES: Final = {
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
"""Names that Spark also takes for a kind."""

PLAIN_KINDS: Final = frozenset(
    {"boolean", *INTEGERS, *FLOATS, *INSTANTS, "binary", "void", "variant", "string"}
)
"""Kinds that are a whole type by themselves."""

SIZED_KINDS: Final = frozenset({"char", "varchar", "time", "geometry", "geography"})
"""Kinds with a length, a precision or a reference system in parentheses."""

BINARY_COLLATION: Final = "UTF8_BINARY"
"""Spark's own collation: texts are equal if their bytes are. A type's text leaves it out."""

UNITS: Final = ("year", "month", "day", "hour", "minute", "second")
# Spark reads `time` as `time(6)`: both texts are one type.
_DEFAULT_SIZES: Final[dict[str, tuple[int | str, ...]]] = {
    **dict.fromkeys(SIZED_KINDS, ()),
    "time": (6,),
}
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|[\w.]+|[<>(),:])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Type:
    """A data type; equal types have equal values, even if their texts differ.

    Attributes:
        kind: Spark's own word for it, in lower case: `bigint`, `decimal`, `array`, ...
        size: The numbers in parentheses: (10, 2) of `decimal(10,2)`, (9,) of `varchar(9)`.
        collation: How a text is compared in SQL; None for byte by byte.
        units: First and last unit of an interval; both are the same where one is given.
        names: Names of a struct's fields.
        parts: The types of an array's elements, a map's keys and values, a struct's fields.
    """

    kind: str
    size: tuple[int | str, ...] = ()
    collation: str | None = None
    units: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    parts: tuple[Type, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether its values are texts, of any length and collation."""
        return self.kind in TEXTS

    @property
    def is_plain_text(self) -> bool:
        """Whether its values are texts that SQL compares by their bytes: no collation, no padding.

        Spark pads `char(n)` before it compares.
        """
        return self.kind in ("string", "varchar") and self.collation is None

    @property
    def is_nested(self) -> bool:
        """Whether Parquet keeps it in more than one column."""
        return self.kind in ("array", "map", "struct", "variant")

    @property
    def length(self) -> int | None:
        """How many characters `char(n)` and `varchar(n)` hold; None for any other type."""
        return int(self.size[0]) if self.kind in ("char", "varchar") and self.size else None

    @property
    def precision(self) -> int:
        """How many digits a decimal has."""
        return int(self.size[0])

    @property
    def scale(self) -> int:
        """How many of a decimal's digits are after the point."""
        return int(self.size[1])

    def whole(self) -> Iterator[Type]:
        """Yield the type itself, and all that it is made of."""
        yield self
        for part in self.parts:
            yield from part.whole()

    def binary(self) -> Type:
        """Return the type of the same values with texts that are compared byte by byte."""
        # Decision 18: rows and keys are compared so, whatever a column's collation.
        parts = tuple(part.binary() for part in self.parts)
        return replace(self, collation=None, parts=parts)

    def __str__(self) -> str:
        """Return the text that `DataType.simpleString` shows, fields quoted where need be."""
        if self.kind == "struct":
            fields = zip(self.names, self.parts, strict=True)
            return f"struct<{','.join(f'{_quoted(name)}:{type_}' for name, type_ in fields)}>"
        if self.parts:
            return f"{self.kind}<{','.join(map(str, self.parts))}>"
        if self.units:
            # A single unit is kept as both ends.
            return f"interval {' to '.join(dict.fromkeys(self.units))}"
        size = f"({','.join(map(str, self.size))})" if self.size else ""
        collation = f" collate {self.collation}" if self.collation else ""
        return f"{self.kind}{size}{collation}"


def first_word(text: str) -> str:
    """Return the first word of a text as a kind, which need not be one of Spark's types."""
    word = re.split(r"[<(\s]", text.strip().lower(), maxsplit=1)[0]
    return OTHER_NAMES.get(word, word)


# The same few texts come back with every column of every block.
@lru_cache(maxsize=10_000)
def type_of(text: str) -> Type:
    """Parse the text of a type.

    Raises:
        InputError: The text is not a type.
    """
    return _Parser(text).parse()


def decimal_type(size: tuple[int, ...]) -> Type:
    """Return the decimal type for the given numbers: none, one or both."""
    # Spark's `decimal` is decimal(10,0), and decimal(12) has no digits after the point.
    precision, scale = (*size, 10, 0)[:2] if not size else (*size, 0)[:2]
    return Type("decimal", (precision, scale))


def collated(name: str) -> str | None:
    """Return a collation's name as stored in a type: None for Spark's default."""
    return None if name.upper() == BINARY_COLLATION else name.upper()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split(text)

    def parse(self) -> Type:
        found = self._type()
        if self._tokens:
            raise self._error()
        return found

    def _split(self, text: str) -> list[str]:
        found: list[str] = []
        start, text = 0, text.rstrip()
        while start < len(text):
            match = _TOKEN.match(text, start)
            if match is None:
                raise self._error()
            found.append(match[1])
            start = match.end()
        # In reverse order, so that `pop` takes the next one.
        return found[::-1]

    def _type(self) -> Type:
        word = self._next().lower()
        kind = OTHER_NAMES.get(word, word)
        if kind in CONTAINERS:
            return Type(kind, parts=self._parts(CONTAINERS[kind]))
        if kind == "struct":
            return self._struct()
        if kind == "decimal":
            return decimal_type(tuple(self._numbers()))
        if kind == "interval":
            return Type(kind, units=self._units())
        if kind in SIZED_KINDS:
            return Type(kind, tuple(self._size()) or _DEFAULT_SIZES[kind], self._collation())
        if kind not in PLAIN_KINDS:
            raise self._error()
        return Type(kind, collation=self._collation() if kind == "string" else None)

    def _parts(self, count: int) -> tuple[Type, ...]:
        self._expect("<")
        found = [self._type()]
        for _ in range(count - 1):
            self._expect(",")
            found.append(self._type())
        self._expect(">")
        return tuple(found)

    def _struct(self) -> Type:
        names: list[str] = []
        parts: list[Type] = []
        self._expect("<")
        while not self._take(">"):
            if parts:
                self._expect(",")
            name = self._next()
            names.append(name[1:-1].replace("``", "`") if name.startswith("`") else name)
            # Spark shows `a:int`, and also reads `a int`.
            self._take(":")
            parts.append(self._type())
            # Both say nothing about values, and equal types have equal values.
            self._take("not", "null")
            if self._take("comment"):
                self._next()
        return Type("struct", names=tuple(names), parts=tuple(parts))

    def _numbers(self) -> list[int]:
        sizes = self._size()
        if not all(isinstance(size, int) for size in sizes) or len(sizes) > 2:
            raise self._error()
        return [int(size) for size in sizes]

    def _size(self) -> list[int | str]:
        if not self._take("("):
            return []
        found: list[int | str] = []
        while not found or self._take(","):
            word = self._next().lower()
            # A number, or the reference system of a geometry.
            found.append(int(word) if word.isdigit() else word)
        self._expect(")")
        return found

    def _collation(self) -> str | None:
        return collated(self._next()) if self._take("collate") else None

    def _units(self) -> tuple[str, ...]:
        first = self._unit()
        if first is None:
            return ()
        if not self._take("to"):
            return first, first
        last = self._unit()
        if last is None:
            raise self._error()
        return first, last

    def _unit(self) -> str | None:
        return next((unit for unit in UNITS if self._take(unit)), None)

    def _take(self, *words: str) -> bool:
        ahead = self._tokens[-len(words) :][::-1]
        if [token.lower() for token in ahead] != list(words):
            return False
        del self._tokens[-len(words) :]
        return True

    def _next(self) -> str:
        if not self._tokens:
            raise self._error()
        return self._tokens.pop()

    def _expect(self, wanted: str) -> None:
        if not self._take(wanted):
            raise self._error()

    def _error(self) -> InputError:
        return InputError(
            f"Expected a Spark SQL type such as bigint or array<string>, found: {self._text}."
        )


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"
