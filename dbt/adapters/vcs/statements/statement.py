"""Everything that a SQL text can mean."""

from __future__ import annotations

from typing import TypeAlias

from dbt.adapters.vcs.statements.families.alter import (
    AddCheck,
    AddColumns,
    AlterColumn,
    CommentOnTable,
    DropColumns,
    DropConstraint,
    RenameColumn,
    RenameRelation,
    SetProperties,
    UnsetProperties,
)
from dbt.adapters.vcs.statements.families.command import SparkCommand
from dbt.adapters.vcs.statements.families.function_statement import (
    CreateFunction,
    DescribeFunction,
    ShowFunctions,
)
from dbt.adapters.vcs.statements.families.insert import Insert
from dbt.adapters.vcs.statements.families.partition import AddPartitions, RepairTable
from dbt.adapters.vcs.statements.families.row_change import Delete, Merge, Update
from dbt.adapters.vcs.statements.families.schema_statement import (
    CommentOnSchema,
    CreateSchema,
    DropSchema,
    SetSchemaProperties,
    Use,
)
from dbt.adapters.vcs.statements.families.show import (
    Describe,
    DescribeSchema,
    ShowColumns,
    ShowCreateTable,
    ShowPartitions,
    ShowSchemas,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
)
from dbt.adapters.vcs.statements.families.table import (
    AlterViewAs,
    Clone,
    CreateTable,
    CreateTableLike,
    CreateTemporaryView,
    CreateView,
    DropRelation,
    Truncate,
)
from dbt.adapters.vcs.statements.families.versioning import (
    CreateSnapshot,
    DropSnapshot,
    Optimize,
    RestoreTable,
    ShowSnapshots,
    SnapshotDiff,
    SnapshotMerge,
    SnapshotPick,
    UndropTable,
)
from dbt.adapters.vcs.statements.syntax.query import Query

Statement: TypeAlias = (
    Query
    | CreateTable
    | CreateTableLike
    | Clone
    | CreateView
    | CreateTemporaryView
    | AlterViewAs
    | CreateFunction
    | Insert
    | Update
    | Delete
    | Merge
    | Truncate
    | DropRelation
    | RenameRelation
    | AddColumns
    | RenameColumn
    | DropColumns
    | AlterColumn
    | SetProperties
    | UnsetProperties
    | AddCheck
    | DropConstraint
    | CommentOnTable
    | CreateSchema
    | DropSchema
    | SetSchemaProperties
    | CommentOnSchema
    | Use
    | ShowSchemas
    | ShowTables
    | ShowTableExtended
    | ShowColumns
    | ShowPartitions
    | ShowTableProperties
    | ShowCreateTable
    | Describe
    | DescribeFunction
    | DescribeSchema
    | ShowFunctions
    | CreateSnapshot
    | DropSnapshot
    | Optimize
    | RestoreTable
    | ShowSnapshots
    | SnapshotDiff
    | SnapshotMerge
    | SnapshotPick
    | UndropTable
    | AddPartitions
    | RepairTable
    | SparkCommand
)
