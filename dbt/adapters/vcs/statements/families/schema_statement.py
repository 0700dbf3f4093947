"""Statements about schemas, which Spark calls databases and namespaces too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbt.adapters.vcs.statements.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSchema(Statement):
    """`create schema [if not exists] s`."""

    changes = True

    name: str
    if_not_exists: bool = False
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchema(Statement):
    """`drop schema [if exists] s [cascade]`; without `cascade` it must be empty."""

    changes = True

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSchemaProperties(Statement):
    """`alter schema s set dbproperties (...)`, or `unset`, which names those to remove."""

    changes = True

    name: str
    properties: Mapping[str, str]
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOnSchema(Statement):
    """`comment on schema s is '...'`; None removes the comment."""

    changes = True

    name: str
    comment: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use(Statement):
    """`use [schema] s`."""

    schema: str
