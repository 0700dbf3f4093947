"""From a statement's text to its outcome: which handler answers what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dbt.adapters.vcs.core.errors import ReadOnlyError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.statements import (
    AddColumns,
    AlterColumn,
    AlterViewAs,
    Clone,
    CommentOnSchema,
    CommentOnTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    CreateTemporaryView,
    CreateView,
    Describe,
    DropColumns,
    DropRelation,
    DropSchema,
    Insert,
    Query,
    Reference,
    RenameColumn,
    RenameRelation,
    RowChange,
    SetProperties,
    SetSchemaProperties,
    ShowColumns,
    ShowCreateTable,
    ShowPartitions,
    ShowSchemas,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
    SparkCommand,
    Statement,
    Truncate,
    UnsetProperties,
    Use,
    parse,
)
from dbt.adapters.vcs.statements.lexer import tokenize
from dbt.adapters.vcs.workspace import (
    alters,
    answers,
    drops,
    inserts,
    schemas,
    tables,
    views,
)
from dbt.adapters.vcs.workspace.outcome import Outcome
from dbt.adapters.vcs.workspace.scope import Scope

Handler = Callable[[Scope, Any], Outcome]


def execute(scope: Scope, *, read_only: bool) -> Outcome:
    """Carry out the statement of a scope; changes go to its overlay.

    Raises:
        InputError: The statement can't be carried out as written.
        ReadOnlyError: It would change something and that is not allowed here.
        EngineError: Spark refused or failed.
    """
    statement: Statement = parse(scope.text)
    if read_only and type(statement) in _CHANGES:
        raise ReadOnlyError(
            "This dbt command only reads, and the statement would change the branch: "
            f"{' '.join(scope.text.split())[:80]}. Use dbt run-operation or dbt run for it."
        )
    _refuse_time_travel(statement)
    return _HANDLERS[type(statement)](scope, statement)


def _query(scope: Scope, statement: Query) -> Outcome:
    with scope.shown(scope.reads(statement.reads)):
        return Outcome(rows=scope.session.query(statement.text))


def _spark(scope: Scope, statement: SparkCommand) -> Outcome:
    known = [name for name in scope.reads(statement.mentions) if _is_known(scope, name)]
    if known and tokenize(statement.text)[0].word == "analyze":
        # Every version has its statistics in the manifest.
        return Outcome()
    with scope.shown(known):
        return Outcome(rows=scope.session.query(statement.text))


def _show_in_spark(scope: Scope, statement: ShowTableExtended | ShowCreateTable) -> Outcome:
    if isinstance(statement, ShowCreateTable):
        names = [scope.name(statement.target.name)]
    else:
        schema = (statement.schema or scope.schema).lower()
        scope.overlay.require_schema(schema)
        names = [RelationName(schema, item) for item in scope.overlay.entries(schema)]
        scope.session.ensure_schema(schema)
    with scope.shown(names):
        return Outcome(rows=scope.session.query(scope.text))


def _use(scope: Scope, statement: Use) -> Outcome:
    schema = statement.schema.lower()
    scope.overlay.require_schema(schema)
    scope.session.ensure_schema(schema)
    scope.schema = schema
    return Outcome(rows=scope.session.query(scope.text))


def _row_change(scope: Scope, statement: RowChange) -> Outcome:
    raise UnsupportedError(
        f"{statement.kind.upper()} on the versioned table {scope.name(statement.target.name)} "
        "is not supported yet. Rebuild the table (create or replace table ... as select ...), or "
        "replace whole partitions (insert overwrite)."
    )


def _is_known(scope: Scope, name: RelationName) -> bool:
    return scope.overlay.entry(name) is not None or name in scope.externals


def _refuse_time_travel(statement: Statement) -> None:
    query = statement if isinstance(statement, Query) else getattr(statement, "query", None)
    reads: tuple[Reference, ...] = query.reads if isinstance(query, Query) else ()
    for read in reads:
        if read.at is not None:
            raise UnsupportedError(
                f"Reading {read.name.identifier} as of another {read.at.kind} in SQL is not "
                "supported yet. Connect to that time instead: connect(repository, "
                "branch='<branch, tag or commit>')."
            )


_CHANGING: Final[Mapping[type, Handler]] = {
    AddColumns: alters.add_columns,
    AlterColumn: alters.alter_column,
    AlterViewAs: views.alter_view_as,
    Clone: tables.clone,
    CommentOnSchema: alters.comment_on_schema,
    CommentOnTable: alters.comment_on_table,
    CreateSchema: schemas.create_schema,
    CreateTable: tables.create_table,
    CreateTableLike: tables.create_table_like,
    CreateView: views.create_view,
    DropColumns: alters.drop_columns,
    DropRelation: drops.drop_relation,
    DropSchema: schemas.drop_schema,
    Insert: inserts.insert,
    RenameColumn: alters.rename_column,
    RenameRelation: drops.rename_relation,
    RowChange: _row_change,
    SetProperties: alters.set_properties,
    SetSchemaProperties: alters.set_schema_properties,
    Truncate: inserts.truncate,
    UnsetProperties: alters.unset_properties,
}
_READING: Final[Mapping[type, Handler]] = {
    CreateTemporaryView: views.create_temporary_view,
    Describe: answers.describe,
    Query: _query,
    ShowColumns: answers.show_columns,
    ShowCreateTable: _show_in_spark,
    ShowPartitions: answers.show_partitions,
    ShowSchemas: answers.show_schemas,
    ShowTableExtended: _show_in_spark,
    ShowTableProperties: answers.show_table_properties,
    ShowTables: answers.show_tables,
    SparkCommand: _spark,
    Use: _use,
}
_CHANGES: Final = frozenset(_CHANGING)
_HANDLERS: Final[Mapping[type, Handler]] = {**_CHANGING, **_READING}
