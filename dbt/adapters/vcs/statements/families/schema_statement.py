"""Statements about schemas, which Spark calls databases and namespaces too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSchema:
    """`create schema [if not exists] s`."""

    name: str
    if_not_exists: bool = False
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchema:
    """`drop schema [if exists] s [cascade]`; without `cascade` it must be empty."""

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSchemaProperties:
    """`alter schema s set dbproperties (...)`."""

    name: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOnSchema:
    """`comment on schema s is '...'`; None takes the comment away."""

    name: str
    comment: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """`use [schema] s`."""

    schema: str
