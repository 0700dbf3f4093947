"""Statements that change a relation's name, columns, comment or properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.column_clauses import Check, ColumnDef, Position
from dbt.adapters.vcs.statements.syntax.names import Name, Target

RelationKind = Literal["table", "view"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameRelation(Statement):
    """`alter table|view a rename to b`; `new` without a schema stays in the schema of `target`."""

    changes = True

    kind: RelationKind
    target: Target
    new: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumns(Statement):
    """`alter table t add columns (...)`."""

    changes = True

    target: Target
    columns: tuple[ColumnDef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn(Statement):
    """`alter table t rename column a to b`."""

    changes = True

    target: Target
    column: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumns(Statement):
    """`alter table t drop columns [if exists] (a, b)`."""

    changes = True

    target: Target
    columns: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterColumn(Statement):
    """`alter table t alter|change column c ...`, or `comment on column t.c is ...`.

    What is None is not changed.

    Attributes:
        target: The table.
        column: The column to change.
        type: Its new type.
        comment: Its new comment; empty text removes the comment.
        nullable: False with `set not null`, True with `drop not null`.
        position: Its new position.
        default: SQL text of its new default; empty text removes the default.
    """

    changes = True

    target: Target
    column: str
    type: str | None = None
    comment: str | None = None
    nullable: bool | None = None
    position: Position | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperties(Statement):
    """`alter table|view t set tblproperties (...)`, or `alter table t add primary key (...)`.

    A primary key is the property `primary_key`, its columns separated by commas.
    """

    changes = True

    kind: RelationKind
    target: Target
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperties(Statement):
    """`alter table|view t unset tblproperties [if exists] (...)`."""

    changes = True

    kind: RelationKind
    target: Target
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCheck(Statement):
    """`alter table t add [constraint name] check (expression)`."""

    changes = True

    target: Target
    check: Check


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint(Statement):
    """`alter table t drop constraint [if exists] name`."""

    changes = True

    target: Target
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOnTable(Statement):
    """`comment on table t is '...'`; None removes the comment."""

    changes = True

    target: Target
    comment: str | None
