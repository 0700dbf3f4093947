"""SQL texts that change or read a branch: text in, frozen statement out, nothing else touched."""

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
from dbt.adapters.vcs.statements.calls import Call, calls_of
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
from dbt.adapters.vcs.statements.columns import (
    Check,
    ColumnDef,
    PartitionSpec,
    Position,
    ViewColumnDef,
)
from dbt.adapters.vcs.statements.command import SparkCommand
from dbt.adapters.vcs.statements.conjuncts import Comparison, Constant, KeyPair
from dbt.adapters.vcs.statements.diffs import DiffReference
from dbt.adapters.vcs.statements.excerpts import excerpt
from dbt.adapters.vcs.statements.functions import CreateFunction, DescribeFunction, ShowFunctions
from dbt.adapters.vcs.statements.literals import quote_name, quote_text
from dbt.adapters.vcs.statements.names import At, Name, Reference, TableAt, Target
from dbt.adapters.vcs.statements.parser import for_spark, parse, read, split
from dbt.adapters.vcs.statements.query import Query, qualified
from dbt.adapters.vcs.statements.rows import Insert, Slice
from dbt.adapters.vcs.statements.schemas import (
    CommentOnSchema,
    CreateSchema,
    DropSchema,
    SetSchemaProperties,
    Use,
)
from dbt.adapters.vcs.statements.staging import Assignment, MergeClause, MergeSource, TargetColumn
from dbt.adapters.vcs.statements.statement import Statement
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

__all__ = [
    "AddCheck",
    "AddColumns",
    "AlterColumn",
    "AlterViewAs",
    "Assignment",
    "At",
    "Call",
    "Check",
    "Clone",
    "ColumnDef",
    "CommentOnSchema",
    "CommentOnTable",
    "Comparison",
    "Constant",
    "CreateFunction",
    "CreateSchema",
    "CreateSnapshot",
    "CreateTable",
    "CreateTableLike",
    "CreateTemporaryView",
    "CreateView",
    "Delete",
    "Describe",
    "DescribeFunction",
    "DescribeSchema",
    "DiffReference",
    "DropColumns",
    "DropConstraint",
    "DropRelation",
    "DropSchema",
    "DropSnapshot",
    "Insert",
    "KeyPair",
    "Merge",
    "MergeClause",
    "MergeSource",
    "Name",
    "Optimize",
    "PartitionSpec",
    "Position",
    "Query",
    "Reference",
    "RenameColumn",
    "RenameRelation",
    "RestoreTable",
    "SetProperties",
    "SetSchemaProperties",
    "ShowColumns",
    "ShowCreateTable",
    "ShowFunctions",
    "ShowPartitions",
    "ShowSchemas",
    "ShowSnapshots",
    "ShowTableExtended",
    "ShowTableProperties",
    "ShowTables",
    "Slice",
    "SnapshotDiff",
    "SnapshotMerge",
    "SnapshotPick",
    "SparkCommand",
    "Statement",
    "TableAt",
    "Target",
    "TargetColumn",
    "Truncate",
    "UndropTable",
    "UnsetProperties",
    "Update",
    "Use",
    "ViewColumnDef",
    "calls_of",
    "excerpt",
    "for_spark",
    "parse",
    "qualified",
    "quote_name",
    "quote_text",
    "read",
    "split",
]
