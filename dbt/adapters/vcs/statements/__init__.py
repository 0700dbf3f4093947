"""SQL texts that change or read a branch: text in, frozen statement out, nothing else touched."""

from dbt.adapters.vcs.statements.alterations import (
    AddColumns,
    AlterColumn,
    CommentOnTable,
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
    ShowPartitions,
    ShowSchemas,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
)
from dbt.adapters.vcs.statements.columns import ColumnDef, PartitionSpec, Position, ViewColumnDef
from dbt.adapters.vcs.statements.command import SparkCommand
from dbt.adapters.vcs.statements.literals import quote_name, quote_text
from dbt.adapters.vcs.statements.names import At, Name, Reference, Target
from dbt.adapters.vcs.statements.parser import parse, split
from dbt.adapters.vcs.statements.query import Query, qualified
from dbt.adapters.vcs.statements.rows import Insert, RowChange, Slice
from dbt.adapters.vcs.statements.schemas import (
    CommentOnSchema,
    CreateSchema,
    DropSchema,
    SetSchemaProperties,
    Use,
)
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

__all__ = [
    "AddColumns",
    "AlterColumn",
    "AlterViewAs",
    "At",
    "Clone",
    "ColumnDef",
    "CommentOnSchema",
    "CommentOnTable",
    "CreateSchema",
    "CreateTable",
    "CreateTableLike",
    "CreateTemporaryView",
    "CreateView",
    "Describe",
    "DropColumns",
    "DropRelation",
    "DropSchema",
    "Insert",
    "Name",
    "PartitionSpec",
    "Position",
    "Query",
    "Reference",
    "RenameColumn",
    "RenameRelation",
    "RowChange",
    "SetProperties",
    "SetSchemaProperties",
    "ShowColumns",
    "ShowCreateTable",
    "ShowPartitions",
    "ShowSchemas",
    "ShowTableExtended",
    "ShowTableProperties",
    "ShowTables",
    "Slice",
    "SparkCommand",
    "Statement",
    "Target",
    "Truncate",
    "UnsetProperties",
    "Use",
    "ViewColumnDef",
    "parse",
    "qualified",
    "quote_name",
    "quote_text",
    "split",
]
