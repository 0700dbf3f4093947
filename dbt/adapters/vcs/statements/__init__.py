"""SQL texts that change or read a branch: text in, frozen statement out, nothing else touched."""

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
from dbt.adapters.vcs.statements.families.staging_sql import (
    Assignment,
    MergeClause,
    MergeSource,
    TargetColumn,
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
from dbt.adapters.vcs.statements.parser import for_spark, parse, read, split
from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.calls import Call, calls_of
from dbt.adapters.vcs.statements.syntax.column_clauses import (
    Check,
    ColumnDef,
    PartitionSpec,
    Position,
    ViewColumnDef,
)
from dbt.adapters.vcs.statements.syntax.conjuncts import Comparison, Constant, KeyPair
from dbt.adapters.vcs.statements.syntax.diff_call import DiffReference
from dbt.adapters.vcs.statements.syntax.excerpts import excerpt
from dbt.adapters.vcs.statements.syntax.literals import quote_name, quote_text
from dbt.adapters.vcs.statements.syntax.names import At, Name, Reference, TableAt, Target
from dbt.adapters.vcs.statements.syntax.query import Query, Slice, qualified

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
