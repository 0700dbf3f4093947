"""Column declarations in statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
        comment: Free text, or None.
        default: SQL text of the default expression, or None.
        position: Where `add columns` puts it; None is the end.
        checks: Its check constraints.
    """

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None
    position: Position | None = None
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumnDef:
    """One column of a view's own column list."""

    name: str
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpec:
    """One column of a `partition (...)` clause.

    Attributes:
        name: The column.
        value_sql: SQL text of its value; None if it comes with the rows.
    """

    name: str
    value_sql: str | None = None
