"""Clauses that several statements share: columns, types, checks, properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field
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
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor, read_expression
from dbt.adapters.vcs.sql.syntax.diff_call import DiffOutput, DiffShape
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt
from dbt.adapters.vcs.sql.syntax.lexer import Kind
from dbt.adapters.vcs.sql.syntax.names import TableAt, names_in

SCHEMA_WORDS: Final = ("schema", "database", "namespace")


def is_replacing(cursor: TokenCursor) -> bool:
    """Return whether a statement begins with `create or replace`."""
    # The cursor is behind the first words by now.
    return cursor.tokens[1].word == "or"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The position of an added or moved column.

    Attributes:
        place: The beginning, or after another column.
        column: The other column; None with `first`.
    """

    place: Literal["first", "after"]
    column: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check constraint that a statement declares.

    Attributes:
        name: As written, unquoted; None if it has none.
        expression: SQL text of the condition, without its parentheses.
    """

    name: str | None
    expression: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDef:
    """One column that a statement declares.

    Attributes:
        name: As written, unquoted.
        type: Spark's own lower-case text of the type: `bigint`, `decimal(10,2)`, `struct<a:int>`.
        nullable: False with `not null`.
        default: SQL text of the default expression, or None.
        position: Where `add columns` puts it; None is the end.
    """

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None
    position: Position | None = None
    checks: tuple[Check, ...] = ()

    def field(self, initial: str | None = None) -> Field:
        """Return a new column of a table, which gets its id from the table's schema."""
        return Field(
            id="",
            name=self.name,
            type=self.type,
            nullable=self.nullable,
            comment=self.comment,
            default=self.default,
            initial=initial,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpec:
    """One column of a `partition (...)` clause.

    Attributes:
        value_sql: SQL text of its value; None if it comes with the rows.
    """

    name: str
    value_sql: str | None = None


def read_properties(cursor: TokenCursor) -> dict[str, str]:
    """Read `(key = value, ...)`, values as text; the equals sign may be missing.

    A value other than a string, number or boolean is returned as written.
    """
    return dict(cursor.items(lambda: _property(cursor)))


def read_property_key(cursor: TokenCursor) -> str:
    """Read one key: a string, or names joined by dots."""
    if cursor.token.kind is Kind.STRING:
        return cursor.string()
    return ".".join(cursor.parts())


def read_property_keys(cursor: TokenCursor) -> tuple[str, ...]:
    """Read `(key, ...)`."""
    return cursor.items(lambda: read_property_key(cursor))


def _property(cursor: TokenCursor) -> tuple[str, str]:
    if cursor.token.kind is Kind.STRING and cursor.ahead().kind is Kind.STRING:
        key = cursor.literal()  # without an equals sign, the second one is the value
    else:
        key = read_property_key(cursor)
    cursor.take("=")
    first = cursor.index
    if cursor.token.kind is Kind.STRING:
        value = cursor.string()
        # A text that goes on, `'a' || 'b'`, is an expression, which is kept as written.
        if cursor.token.word in (",", ")"):
            return key, value
        cursor.index = first
    value = cursor.sql_until(lambda: False)
    # As Spark stores unquoted booleans.
    return key, value.lower() if value.lower() in ("true", "false") else value


def read_partition(cursor: TokenCursor) -> tuple[PartitionSpec, ...]:
    """Read `partition (a = 1, b)` if present."""
    if not cursor.take("partition"):
        return ()
    return cursor.items(lambda: _partition_value(cursor))


def _partition_value(cursor: TokenCursor) -> PartitionSpec:
    name = cursor.identifier("a partition column")
    value = cursor.sql_until(lambda: False) if cursor.take("=") else None
    return PartitionSpec(name=name, value_sql=value)


def read_names(cursor: TokenCursor) -> tuple[str, ...]:
    """Read a list of top-level columns in parentheses."""
    return cursor.items(cursor.column)


def read_if_exists(cursor: TokenCursor) -> bool:
    """Read `if exists` if present."""
    return cursor.take("if", "exists")


def read_if_not_exists(cursor: TokenCursor, *, replace: bool = False) -> bool:
    """Read `if not exists` if present.

    Raises:
        InputError: It is present after `or replace`.
    """
    found = cursor.take("if", "not", "exists")
    if found and replace:
        raise InputError("`or replace` and `if not exists` exclude each other. Leave one out.")
    return found


def read_comment_value(cursor: TokenCursor) -> str | None:
    """Read the text of a comment, or `null`."""
    return None if cursor.take("null") else cursor.string()


def read_position(cursor: TokenCursor) -> Position | None:
    """Read `first` or `after <column>` if present."""
    if cursor.take("first"):
        return Position(place="first")
    if cursor.take("after"):
        return Position(place="after", column=cursor.column())
    return None


def read_column(cursor: TokenCursor) -> tuple[ColumnDef, bool]:
    """Read a column's definition; return it and whether it has `primary key`.

    Raises:
        UnsupportedError: The column is generated, or has an unsupported constraint.
    """
    name = cursor.column()
    type_ = read_type(cursor)
    nullable, primary = True, False
    checks: list[Check] = []
    comment = default = position = None
    while not cursor.done:
        if cursor.take("not", "null"):
            nullable = False
        elif cursor.take("comment"):
            comment = cursor.string()
        elif cursor.take("default"):
            default = cursor.sql_until(lambda: at_column_option(cursor))
        elif cursor.at("first") or cursor.at("after"):
            position = read_position(cursor)
        elif cursor.at("generated"):
            raise generated_column(name)
        elif cursor.token.word in _CONSTRAINT_WORDS:
            found = _column_constraint(cursor)
            checks += [found] if found else []
            primary |= found is None
        else:
            break
    column = ColumnDef(
        name=name,
        type=type_,
        nullable=nullable,
        comment=comment,
        default=default,
        position=position,
        checks=tuple(checks),
    )
    return column, primary


def at_column_option(cursor: TokenCursor) -> bool:
    """Return whether a column option begins here, which ends a default expression."""
    # In `default a is not null` it is a part of the expression.
    if cursor.at("not", "null"):
        return cursor.last.word != "is"
    return cursor.token.word in (*_CONSTRAINT_WORDS, "comment", "generated", "first", "after")


_CONSTRAINT_WORDS = ("constraint", "primary", "unique", "references", "check")


def _column_constraint(cursor: TokenCursor) -> Check | None:
    """Read one constraint; return a check, or None for a primary key."""
    name = read_constraint_name(cursor)
    if cursor.at("check"):
        return read_check(cursor, name)
    read_primary_key(cursor)
    read_characteristics(cursor)
    return None


def read_primary_key(cursor: TokenCursor) -> None:
    """Read the words of a primary key, whose name has been read.

    Raises:
        UnsupportedError: It is a constraint that nobody would enforce.
    """
    if cursor.token.word in ("unique", "references", "foreign"):
        raise UnsupportedError(
            f"The constraint `{cursor.token.word}` is not supported: versioned tables have NOT "
            "NULL, primary keys and checks. Leave it out, and test for it instead (in dbt: the "
            "tests unique and relationships)."
        )
    cursor.expect("primary", "key")


def read_constraint_name(cursor: TokenCursor) -> str | None:
    """Read `constraint name` if present."""
    return cursor.identifier("a constraint's name") if cursor.take("constraint") else None


def read_characteristics(cursor: TokenCursor) -> None:
    """Read `not enforced`, `rely` and the like after a constraint.

    Raises:
        UnsupportedError: The constraint asks to be enforced.
    """
    while True:
        if cursor.take("not", "enforced") or cursor.take("rely") or cursor.take("norely"):
            continue
        if not cursor.at("enforced"):
            return
        raise UnsupportedError(
            "Constraints marked `enforced` are not supported. Leave the word out; a primary key "
            "is checked at each write anyway."
        )


def generated_column(name: str) -> UnsupportedError:
    """Return the error for a generated or identity column."""
    return UnsupportedError(
        f"The column '{name}' is generated; generated and identity columns are not supported on "
        "versioned tables. Compute the value in the query that fills the table."
    )


def primary_key_of(properties: dict[str, str]) -> tuple[str, ...]:
    """Return the columns in the property `primary_key`; empty if not set.

    Raises:
        InputError: The property names no column.
    """
    for key, value in properties.items():
        if key.lower() == "primary_key":
            columns = tuple(names_in(value))
            if not all(columns):
                raise InputError(
                    f"The property primary_key names no column in {value!r}. "
                    "Write column names separated by commas."
                )
            return columns
    return ()


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
    # Not `kind`: `timestamp_ltz` is one in any session.
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
    if cursor.take(">"):
        return Type("struct")
    fields = cursor.bare_items(lambda: _field(cursor))
    cursor.expect_symbol(">")
    names, parts = zip(*fields, strict=True)
    return Type("struct", names=names, parts=parts)


def _field(cursor: TokenCursor) -> tuple[str, Type]:
    name = cursor.identifier("a field's name")
    # Optional in Spark's grammar.
    cursor.take(":")
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
        # Spark's precision of a `time` without one.
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
        # `interval day` is short for `interval day to day`.
        return first, first
    return first, cursor.take_any(*UNITS) or cursor.fail("a unit of time")


CHECK: Final = "vcs.check."
"""Table property: followed by a constraint's name, the condition of that check constraint."""


def read_check(cursor: TokenCursor, name: str | None) -> Check:
    """Read `check (expression) [enforced]`, whose name has been read.

    Raises:
        UnsupportedError: It is marked as not enforced.
    """
    cursor.expect("check")
    opening = cursor.token
    cursor.skip_group()
    expression = cursor.text[opening.end : cursor.last.start].strip()
    if not expression:
        raise InputError("A check constraint has no condition in its parentheses. Give one.")
    while cursor.take_any("enforced", "rely", "norely"):
        pass
    if cursor.at("not", "enforced"):
        raise UnsupportedError(
            f"The constraint check ({expression}) is marked `not enforced`; every check of a "
            "versioned table is enforced. Leave it out, and test for it instead."
        )
    return Check(name=name, expression=expression)


def check_properties(checks: Iterable[tuple[str, Check]]) -> dict[str, str]:
    """Return the properties that store check constraints.

    Args:
        checks: Each with its subject, a column or the table, which names a check without a
            name.

    Raises:
        InputError: Two have the same name.
    """
    found: dict[str, str] = {}
    for subject, check in checks:
        key = CHECK + (check.name.lower() if check.name else free_name(subject, found))
        if key in found:
            raise InputError(
                f"Two constraints are called {check.name}. Give one of them another name."
            )
        found[key] = check.expression
    return found


def free_name(subject: str, taken: Iterable[str]) -> str:
    """Return a name for a check constraint that is not yet taken."""
    name, number = f"{subject.lower()}_check", 1
    known = set(taken)
    while CHECK + name in known:
        number += 1
        name = f"{subject.lower()}_check_{number}"
    return name


# Clauses of `snapshot diff`, `snapshot merge` and `snapshot pick`.
Clauses: TypeAlias = dict[str, Callable[[TokenCursor], Any]]
"""Readers of clauses by the field that each fills. One that finds no clause reads nothing."""

# A word begins a clause only with one of these behind it. Otherwise it may be a column of the
# condition.
_BEHIND: Final = {
    "as": get_args(DiffShape),
    "output": get_args(DiffOutput),
    "based": ("on",),
    "when": ("conflict",),
    "dry": ("run",),
}


def read_clauses(cursor: TokenCursor, readers: Clauses) -> dict[str, Any]:
    """Read clauses in any order, each at most once, to the statement's end."""
    values: dict[str, Any] = {}
    while not cursor.done:
        start = cursor.token
        # A generator: no other reader is called once one has moved the cursor.
        read = ((name, reader(cursor)) for name, reader in readers.items())
        # The value of a clause may be 0.
        name, value = next((item for item in read if cursor.token is not start), ("", None))
        if not name:
            cursor.fail("a clause of the statement or its end")
        if name in values:
            raise InputError(
                f"Expected one clause `{start.text} ...`, found two in the statement "
                f"`{excerpt(cursor.text, 60)}`. Remove one of them."
            )
        values[name] = value
    return values


def read_snapshot_name(cursor: TokenCursor) -> str:
    """Read the name of a snapshot, which may be in quotes."""
    if cursor.token.kind is Kind.STRING:
        return cursor.string()
    return cursor.identifier("a snapshot's name")


def read_table_at(cursor: TokenCursor) -> TableAt:
    """Read a table and the version asked for."""
    target, at = cursor.versioned_target()
    return TableAt(target.name, at)


def read_where(cursor: TokenCursor) -> str | None:
    """Read `where <condition>`, which ends where another clause begins; None without one."""
    if not cursor.take("where"):
        return None
    place = read_expression(cursor, lambda: _at_clause(cursor))
    return cursor.text[place.start : place.end]


def _at_clause(cursor: TokenCursor) -> bool:
    """Return whether another clause begins here, which ends a condition."""
    word, following = cursor.token.word, cursor.ahead()
    if word == "between":
        return at_between(cursor)
    if word in ("columns", "keys"):
        return following.word == "("
    if word == "limit":
        # To the lexer a number is a word.
        return following.kind is Kind.WORD
    return following.word in _BEHIND.get(word, ())


def at_between(cursor: TokenCursor) -> bool:
    """Return whether `between snapshot a and b` begins here, unlike `x between snapshot and 2`."""
    return cursor.at("between", "snapshot") and cursor.ahead(2).word != "and"
