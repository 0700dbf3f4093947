"""From a statement's text to its outcome: which handler answers what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dbt.adapters.vcs.core.errors import ReadOnlyError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName
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
from dbt.adapters.vcs.statements.lexer import tokenize
from dbt.adapters.vcs.statements.partitions import AddPartitions, RepairTable
from dbt.adapters.vcs.workspace import (
    alters,
    answers,
    computednames,
    computedtimes,
    conflictedits,
    constraints,
    descriptions,
    diffreads,
    drops,
    errorplaces,
    functions,
    immediate,
    inserts,
    merges,
    missing,
    optimize,
    partitioning,
    properties,
    restores,
    rowchanges,
    schemas,
    snapshots,
    tables,
    timetravel,
    views,
)
from dbt.adapters.vcs.workspace.outcome import Outcome
from dbt.adapters.vcs.workspace.scope import Scope

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
    scope.text = immediate.spoken(scope)
    written = scope.text
    scope.text = computednames.written_out(scope)
    scope.text = computedtimes.written_out(scope)
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
    written = errorplaces.own_text(written, statement, scope.origin)
    with missing.named(scope), errorplaces.counted_in(written):
        outcome = _handled(scope, statement, handler)
    return errorplaces.with_places(outcome, written)


def _handled(scope: Scope, statement: Statement, handler: Handler) -> Outcome:
    settled = timetravel.settled(scope, statement)
    kept = conflictedits.merge_kept_by(scope) if type(statement) in _CHANGES else None
    if kept is not None:
        return conflictedits.edit_conflicts(scope, kept, settled)
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
    AddCheck: constraints.add_check,
    AddColumns: alters.add_columns,
    AlterColumn: alters.alter_column,
    AlterViewAs: views.alter_view_as,
    Clone: tables.clone,
    CommentOnSchema: properties.comment_on_schema,
    CommentOnTable: properties.comment_on_table,
    CreateFunction: functions.create_function,
    CreateSchema: schemas.create_schema,
    CreateSnapshot: snapshots.create_snapshot,
    CreateTable: tables.create_table,
    CreateTableLike: tables.create_table_like,
    CreateView: views.create_view,
    Delete: rowchanges.delete,
    DropColumns: alters.drop_columns,
    DropConstraint: constraints.drop_constraint,
    DropRelation: drops.drop_relation,
    DropSchema: schemas.drop_schema,
    DropSnapshot: snapshots.drop_snapshot,
    Insert: inserts.insert,
    Merge: rowchanges.merge,
    Optimize: optimize.optimize,
    RenameColumn: alters.rename_column,
    RenameRelation: drops.rename_relation,
    RestoreTable: restores.restore_table,
    SetProperties: properties.set_properties,
    SetSchemaProperties: properties.set_schema_properties,
    SnapshotMerge: merges.snapshot_merge,
    SnapshotPick: merges.snapshot_pick,
    Truncate: inserts.truncate,
    UndropTable: restores.undrop_table,
    UnsetProperties: properties.unset_properties,
    Update: rowchanges.update,
}
_READING: Final[Mapping[type, Handler]] = {
    AddPartitions: partitioning.add_partitions,
    CreateTemporaryView: views.create_temporary_view,
    Describe: descriptions.describe,
    DescribeFunction: functions.describe_function,
    DescribeSchema: descriptions.describe_schema,
    Query: _query,
    RepairTable: partitioning.repair_table,
    ShowColumns: answers.show_columns,
    ShowCreateTable: descriptions.show_create_table,
    ShowFunctions: functions.show_functions,
    ShowPartitions: answers.show_partitions,
    ShowSchemas: answers.show_schemas,
    ShowSnapshots: snapshots.show_snapshots,
    ShowTableExtended: descriptions.show_table_extended,
    ShowTableProperties: answers.show_table_properties,
    ShowTables: answers.show_tables,
    SnapshotDiff: diffreads.snapshot_diff,
    SparkCommand: _spark,
    Use: _use,
}
_CHANGES: Final = frozenset(_CHANGING)
_WRITING: Final = frozenset({CreateTable, Delete, Insert, Merge, Optimize, Update})
_HANDLERS: Final[Mapping[type, Handler]] = {**_CHANGING, **_READING}
