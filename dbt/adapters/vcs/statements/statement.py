"""Everything that a SQL text can mean."""

from __future__ import annotations

from typing import TypeAlias

from dbt.adapters.vcs.statements.alterations import (
    AddColumns,
    AlterColumn,
    CommentOn,
    DropColumns,
    RenameColumn,
    RenameRelation,
    SetProperties,
    UnsetProperties,
)
from dbt.adapters.vcs.statements.catalog import (
    Describe,
    ShowColumns,
    ShowCreateTable,
    ShowSchemas,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
)
from dbt.adapters.vcs.statements.command import SparkCommand
from dbt.adapters.vcs.statements.query import Query
from dbt.adapters.vcs.statements.rows import Insert, RowChange
from dbt.adapters.vcs.statements.schemas import (
    CreateSchema,
    DropSchema,
    Use,
)
from dbt.adapters.vcs.statements.tables import (
    AlterViewAs,
    Clone,
    CreateTable,
    CreateTableLike,
    CreateTemporaryView,
    CreateView,
    DropRelation,
    Truncate,
)

Statement: TypeAlias = (
    Query
    | CreateTable
    | CreateTableLike
    | Clone
    | CreateView
    | CreateTemporaryView
    | AlterViewAs
    | Insert
    | RowChange
    | Truncate
    | DropRelation
    | RenameRelation
    | AddColumns
    | RenameColumn
    | DropColumns
    | AlterColumn
    | SetProperties
    | UnsetProperties
    | CommentOn
    | CreateSchema
    | DropSchema
    | Use
    | ShowSchemas
    | ShowTables
    | ShowTableExtended
    | ShowColumns
    | ShowTableProperties
    | ShowCreateTable
    | Describe
    | SparkCommand
)
