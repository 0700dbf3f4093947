"""From a statement's text to its outcome: which handler answers what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError, ReadOnlyError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.handlers.catalog import describe_handler, missing, show_handler
from dbt.adapters.vcs.handlers.contents import (
    conflict_edits,
    insert_handler,
    optimize_handler,
    partition_handler,
    row_change_handler,
)
from dbt.adapters.vcs.handlers.definitions import (
    alter_handler,
    constraint_handler,
    drop_handler,
    function_handler,
    property_handler,
    schema_handler,
    table_handler,
    view_handler,
)
from dbt.adapters.vcs.handlers.versions import (
    diff_handler,
    merge_handler,
    restore_handler,
    snapshot_handler,
    time_travel,
)
from dbt.adapters.vcs.scope.answer import Outcome
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements import (
    AddCheck,
    AddColumns,
    AlterColumn,
    AlterViewAs,
    Clone,
    CommentOnSchema,
    CommentOnTable,
    CreateFunction,
    CreateSchema,
    CreateSnapshot,
    CreateTable,
    CreateTableLike,
    CreateTemporaryView,
    CreateView,
    Delete,
    Describe,
    DescribeFunction,
    DescribeSchema,
    DropColumns,
    DropConstraint,
    DropRelation,
    DropSchema,
    DropSnapshot,
    Insert,
    Merge,
    Optimize,
    Query,
    RenameColumn,
    RenameRelation,
    RestoreTable,
    SetProperties,
    SetSchemaProperties,
    ShowColumns,
    ShowCreateTable,
    ShowFunctions,
    ShowPartitions,
    ShowSchemas,
    ShowSnapshots,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
    SnapshotDiff,
    SnapshotMerge,
    SnapshotPick,
    SparkCommand,
    Statement,
    Truncate,
    UndropTable,
    UnsetProperties,
    Update,
    Use,
    excerpt,
    for_spark,
    read,
)
from dbt.adapters.vcs.statements.families.partition import AddPartitions, RepairTable
from dbt.adapters.vcs.statements.syntax.lexer import tokenize
from dbt.adapters.vcs.workspace import (
    computed_names,
    computed_times,
    error_places,
    immediate_statements,
)

Handler = Callable[[Scope, Any], Outcome]


def execute(scope: Scope, *, read_only: bool, before_rows: Callable[[], None]) -> Outcome:
    """Carry out the statement of a scope; changes go to its overlay.

    Args:
        scope: The statement's scope.
        read_only: True to refuse what would change something.
        before_rows: Called before rows are computed and written; raises where they can't land.

    Raises:
        InputError: The statement can't be carried out as written.
        ReadOnlyError: It would change something and that is not allowed here.
        EngineError: Spark refused or failed.
    """
    statement: Statement
    scope.text = immediate_statements.spoken(scope)
    written = scope.text
    scope.text = computed_names.written_out(scope)
    scope.text = computed_times.written_out(scope)
    statement, scope.calls = read(scope.text)
    if scope.temporaries.is_about(statement):
        statement = for_spark(scope.text)
    if read_only and type(statement) in _CHANGES:
        raise ReadOnlyError(
            "This dbt command only reads, and the statement would change the branch: "
            f"`{excerpt(scope.text)}`. Use dbt run-operation or dbt run for it."
        )
    if type(statement) in _WRITING:
        before_rows()
    handler = _HANDLERS.get(type(statement))
    if handler is None:
        raise UnsupportedError(
            f"Statements such as `{excerpt(scope.text, 40)}` are not supported yet. "
            "Look into the command dbt-vcs for another way."
        )
    written = error_places.own_text(written, statement, scope.origin)
    with missing.named(scope), error_places.counted_in(written):
        outcome = _handled(scope, statement, handler)
    return error_places.with_places(outcome, written)


def may_change(text: str) -> bool:
    """Tell whether a statement changes its branch, or can't be read before it is carried out.

    Names and texts that the statement computes are known to its connection only.
    """
    try:
        if [token.word for token in tokenize(text)[:2]] == ["execute", "immediate"]:
            return True
        statement, _ = read(text)
    except InputError:
        return True
    return type(statement) in _CHANGES


def _handled(scope: Scope, statement: Statement, handler: Handler) -> Outcome:
    settled = time_travel.settled(scope, statement)
    kept = conflict_edits.merge_kept_by(scope) if type(statement) in _CHANGES else None
    if kept is not None:
        return conflict_edits.edit_conflicts(scope, kept, settled)
    return handler(scope, settled)


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


def _use(scope: Scope, statement: Use) -> Outcome:
    schema = statement.schema.lower()
    scope.overlay.require_schema(schema)
    scope.session.ensure_schema(schema)
    scope.schema = schema
    return Outcome(rows=scope.session.query(scope.text))


def _is_known(scope: Scope, name: RelationName) -> bool:
    return scope.overlay.entry(name) is not None or name in scope.externals


_CHANGING: Final[Mapping[type, Handler]] = {
    AddCheck: constraint_handler.add_check,
    AddColumns: alter_handler.add_columns,
    AlterColumn: alter_handler.alter_column,
    AlterViewAs: view_handler.alter_view_as,
    Clone: table_handler.clone,
    CommentOnSchema: property_handler.comment_on_schema,
    CommentOnTable: property_handler.comment_on_table,
    CreateFunction: function_handler.create_function,
    CreateSchema: schema_handler.create_schema,
    CreateSnapshot: snapshot_handler.create_snapshot,
    CreateTable: table_handler.create_table,
    CreateTableLike: table_handler.create_table_like,
    CreateView: view_handler.create_view,
    Delete: row_change_handler.delete,
    DropColumns: alter_handler.drop_columns,
    DropConstraint: constraint_handler.drop_constraint,
    DropRelation: drop_handler.drop_relation,
    DropSchema: schema_handler.drop_schema,
    DropSnapshot: snapshot_handler.drop_snapshot,
    Insert: insert_handler.insert,
    Merge: row_change_handler.merge,
    Optimize: optimize_handler.optimize,
    RenameColumn: alter_handler.rename_column,
    RenameRelation: drop_handler.rename_relation,
    RestoreTable: restore_handler.restore_table,
    SetProperties: property_handler.set_properties,
    SetSchemaProperties: property_handler.set_schema_properties,
    SnapshotMerge: merge_handler.snapshot_merge,
    SnapshotPick: merge_handler.snapshot_pick,
    Truncate: insert_handler.truncate,
    UndropTable: restore_handler.undrop_table,
    UnsetProperties: property_handler.unset_properties,
    Update: row_change_handler.update,
}
_READING: Final[Mapping[type, Handler]] = {
    AddPartitions: partition_handler.add_partitions,
    CreateTemporaryView: view_handler.create_temporary_view,
    Describe: describe_handler.describe,
    DescribeFunction: function_handler.describe_function,
    DescribeSchema: describe_handler.describe_schema,
    Query: _query,
    RepairTable: partition_handler.repair_table,
    ShowColumns: show_handler.show_columns,
    ShowCreateTable: describe_handler.show_create_table,
    ShowFunctions: function_handler.show_functions,
    ShowPartitions: show_handler.show_partitions,
    ShowSchemas: show_handler.show_schemas,
    ShowSnapshots: snapshot_handler.show_snapshots,
    ShowTableExtended: describe_handler.show_table_extended,
    ShowTableProperties: show_handler.show_table_properties,
    ShowTables: show_handler.show_tables,
    SnapshotDiff: diff_handler.snapshot_diff,
    SparkCommand: _spark,
    Use: _use,
}
_CHANGES: Final = frozenset(_CHANGING)
_WRITING: Final = frozenset({CreateTable, Delete, Insert, Merge, Optimize, Update})
_HANDLERS: Final[Mapping[type, Handler]] = {**_CHANGING, **_READING}
