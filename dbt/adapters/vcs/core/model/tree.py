"""A tree: schema -> relation -> table, view or function, in two levels that versions share."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, Final, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.ids import FunctionId, SnapshotId, TreeId, ViewId
from dbt.adapters.vcs.core.model.value import Value


class _Absent(Enum):
    ABSENT = "absent"

    def __repr__(self) -> str:
        return "Absent"


Absent: Final = _Absent.ABSENT
"""Stands for "nothing is there" where a value or its absence is meant."""

AbsentType: TypeAlias = _Absent


class RelationName(NamedTuple):
    """`schema.identifier`, both lower case as Spark's catalog keeps them."""

    schema: str
    identifier: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.identifier}"


class TableEntry(Value, frozen=True, kw_only=True, tag_field="kind", tag="table"):
    """A relation that is a table, at one snapshot."""

    noun: ClassVar[str] = "table"

    snapshot: SnapshotId

    @property
    def version(self) -> str:
        """Id of the snapshot."""
        return self.snapshot


class ViewEntry(Value, frozen=True, kw_only=True, tag_field="kind", tag="view"):
    """A relation that is a view, at one version."""

    noun: ClassVar[str] = "view"

    view: ViewId

    @property
    def version(self) -> str:
        """Id of the view."""
        return self.view


class FunctionEntry(Value, frozen=True, kw_only=True, tag_field="kind", tag="function"):
    """A function, at one version; it shares the names of a schema with tables and views."""

    noun: ClassVar[str] = "function"

    function: FunctionId

    @property
    def version(self) -> str:
        """Id of the function."""
        return self.function


Readable: TypeAlias = TableEntry | ViewEntry
"""What has rows."""

Entry: TypeAlias = Readable | FunctionEntry


class SchemaTree(Value, frozen=True, kw_only=True):
    """The relations of one schema, by identifier."""

    relations: dict[str, Entry] = {}


class SchemaRef(Value, frozen=True, kw_only=True):
    """One schema of a tree: its relations, comment and properties."""

    id: TreeId
    comment: str | None = None
    properties: dict[str, str] = {}


class Tree(Value, frozen=True, kw_only=True):
    """The schemas of one commit, by name."""

    schemas: dict[str, SchemaRef] = {}
