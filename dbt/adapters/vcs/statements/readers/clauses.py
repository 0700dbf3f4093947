"""Reads clauses that several statements share: properties, partitions, columns."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.statements.readers.check_reader import read_check
from dbt.adapters.vcs.statements.readers.type_reader import read_type
from dbt.adapters.vcs.statements.syntax.column_clauses import (
    Check,
    ColumnDef,
    PartitionSpec,
    Position,
)
from dbt.adapters.vcs.statements.syntax.cursor import TokenCursor
from dbt.adapters.vcs.statements.syntax.lexer import Kind


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
    cursor.symbol("=")
    first = cursor.index
    if cursor.token.kind is Kind.STRING:
        value = cursor.string()
        if cursor.token.word in (",", ")"):
            return key, value
        cursor.index = first
    value = cursor.sql_until(lambda: False)
    return key, value.lower() if value.lower() in ("true", "false") else value


def read_partition(cursor: TokenCursor) -> tuple[PartitionSpec, ...]:
    """Read `partition (a = 1, b)` if present."""
    if not cursor.take("partition"):
        return ()
    return cursor.items(lambda: _partition_value(cursor))


def _partition_value(cursor: TokenCursor) -> PartitionSpec:
    name = cursor.identifier("a partition column")
    value = cursor.sql_until(lambda: False) if cursor.symbol("=") else None
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
            if isinstance(found, Check):
                checks.append(found)
            else:
                primary |= found
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
    if cursor.at("not", "null"):
        return cursor.last.word != "is"
    return cursor.token.word in (*_CONSTRAINT_WORDS, "comment", "generated", "first", "after")


_CONSTRAINT_WORDS = ("constraint", "primary", "unique", "references", "check")


def _column_constraint(cursor: TokenCursor) -> Check | bool:
    """Read one constraint; return a check, or whether it is a primary key."""
    name = read_constraint_name(cursor)
    if cursor.at("check"):
        return read_check(cursor, name)
    primary = cursor.take("primary", "key")
    if not primary and not cursor.take("unique"):
        cursor.expect("references")
        cursor.parts()
        if cursor.token.word == "(":
            cursor.skip_group()
    read_characteristics(cursor)
    return primary


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
            columns = tuple(column.strip().strip("`") for column in value.split(","))
            if not all(columns):
                raise InputError(
                    f"The property primary_key names no column in {value!r}. "
                    "Write column names separated by commas."
                )
            return columns
    return ()
