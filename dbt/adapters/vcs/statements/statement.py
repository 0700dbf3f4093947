"""Everything that a SQL text can mean."""

from __future__ import annotations

from typing import TypeAlias

from dbt.adapters.vcs.statements.alterations import (
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
from dbt.adapters.vcs.statements.catalog import (
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
from dbt.adapters.vcs.statements.changes import Delete, Merge, Update
from dbt.adapters.vcs.statements.command import SparkCommand
from dbt.adapters.vcs.statements.functions import CreateFunction, DescribeFunction, ShowFunctions
from dbt.adapters.vcs.statements.partitions import AddPartitions, RepairTable
from dbt.adapters.vcs.statements.query import Query
from dbt.adapters.vcs.statements.rows import Insert
from dbt.adapters.vcs.statements.schemas import (
    CommentOnSchema,
    CreateSchema,
    DropSchema,
    SetSchemaProperties,
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
from dbt.adapters.vcs.statements.versioning import (
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
