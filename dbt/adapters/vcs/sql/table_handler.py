"""Tables: `create table` with and without a query, `like`, clones, drops and new names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dbt.adapters.vcs.changes.writes import rebuild
from dbt.adapters.vcs.changes.writes.checks import check_default, check_rows
from dbt.adapters.vcs.changes.writes.keys import PRIMARY_KEY, check_keys, key_columns, settled_key
from dbt.adapters.vcs.changes.writes.versions import folder_of, previous, put_segments
from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.ids import SnapshotId, TableId, new_table_id
from dbt.adapters.vcs.core.model import (
    Absent,
    Field,
    Input,
    Origin,
    RelationName,
    Schema,
    SegmentRef,
    Snapshot,
    TableEntry,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.engines.port import Destination
from dbt.adapters.vcs.sql.alter import RenameRelation
from dbt.adapters.vcs.sql.function_statement import DropFunction
from dbt.adapters.vcs.sql.handler_registry import handles
from dbt.adapters.vcs.sql.property_handler import settled
from dbt.adapters.vcs.sql.show_handler import columns_of_temporary
from dbt.adapters.vcs.sql.syntax.names import Name
from dbt.adapters.vcs.sql.syntax.statement import Query
from dbt.adapters.vcs.sql.table import Clone, CreateTable, CreateTableLike, DropRelation
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.partition_values import check_partition_type
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import pinned
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope

_PROVIDERS = (None, "parquet", "vcs")


@handles(CreateTable)
def create_table(scope: Scope, statement: CreateTable) -> Outcome:
    """Create or replace a table, from a query or from column definitions.

    Raises:
        InputError: The name is taken, the key or the partitioning names no column, a default
            does not fit its column, a setting is invalid, or rows violate the primary key or a
            check constraint.
    """
    name = scope.name(statement.target.name)
    if not _may_create(
        scope, name, replace=statement.replace, if_not_exists=statement.if_not_exists
    ):
        return Outcome()
    _check_storage(statement)
    before = previous(scope.overlay, name)
    table = before[1].table if before else new_table_id()
    segments: tuple[SegmentRef, ...] = ()
    if statement.query is None:
        for column in statement.columns:
            if column.default is not None:
                check_default(scope.engine, column.name, column.default, column.type)
        schema = _schema_of(_declared(statement), statement, before)
    else:
        schema, segments = _written(scope, statement, statement.query, table, before)
    properties = settled(statement.properties)
    if statement.primary_key:
        properties[PRIMARY_KEY] = ", ".join(statement.primary_key)
    key = settled_key(schema, statement.primary_key, properties)
    version = Snapshot(
        table=table,
        schema=schema,
        segments=segments,
        created_at=scope.now,
        operation="rebuild" if before else "create",
        parents=(before[0],) if before else (),
        primary_key=key_columns(schema, key),
        partition_by=_ids(schema, statement.partition_by),
        cluster_by=_ids(schema, statement.cluster_by),
        comment=statement.comment,
        properties=properties,
        origin=scope.made_by(),
    )
    key_ids = check_keys(
        scope.overlay.repository, name, version, None, scope.engine, scope.warnings
    )
    version = msgspec.structs.replace(version, primary_key=key_ids)
    check_rows(scope.overlay.repository, name, version, None, scope.engine)
    if statement.query is not None and before is not None and rebuild.is_delta(version):
        return rebuild.put_rebuilt(scope, name, version, before)
    scope.overlay.put_table(name, version)
    affected = version.rows if statement.query is not None else None
    return Outcome(affected=affected)


@handles(CreateTableLike)
def create_table_like(scope: Scope, statement: CreateTableLike) -> Outcome:
    """Create an empty table with the columns of another relation.

    Raises:
        InputError: The name is taken.
        NotFoundError: There is no such other relation.
    """
    name = scope.name(statement.target.name)
    if not _may_create(scope, name, replace=False, if_not_exists=statement.if_not_exists):
        return Outcome()
    _refuse_location(statement.location, {})
    fields, partition_by = _shape_of(scope, statement.source.name)
    schema = Schema.of(fields)
    version = Snapshot(
        table=new_table_id(),
        schema=schema,
        segments=(),
        created_at=scope.now,
        operation="create",
        partition_by=tuple(schema.field(column).id for column in partition_by),
        origin=scope.made_by(),
    )
    scope.overlay.put_table(name, version)
    return Outcome()


def _shape_of(scope: Scope, name: Name) -> tuple[list[Field], tuple[str, ...]]:
    """Return the columns of a relation, and the names of its partition columns."""
    temporary = scope.temporaries.view(name)
    if temporary is not None:
        return _fields(columns_of_temporary(scope, temporary)), ()
    entry = scope.overlay.require(scope.name(name))
    if isinstance(entry, ViewEntry):
        view = scope.overlay.view(entry.view)
        return _fields((column.name, column.type, column.comment) for column in view.columns), ()
    snapshot = scope.overlay.snapshot(entry.snapshot)
    names = {field.id: field.name for field in snapshot.schema.fields}
    return list(snapshot.schema.fields), tuple(names[id] for id in snapshot.partition_by)


def _fields(columns: Iterable[tuple[str, str, str | None]]) -> list[Field]:
    return [Field(id="", name=name, type=type_, comment=note) for name, type_, note in columns]


@handles(Clone)
def clone(scope: Scope, statement: Clone) -> Outcome:
    """Create a table from a current or past version of another; no row is copied.

    The parent of the new table's first snapshot is the cloned snapshot, so the two keep a
    merge base (MatrixOne paper, section 4: a clone copies the list of objects, not the
    objects).

    Raises:
        InputError: The name is taken, or the source is a view.
        NotFoundError: There is no such source or version.
    """
    name = scope.name(statement.target.name)
    if not _may_create(
        scope, name, replace=statement.replace, if_not_exists=statement.if_not_exists
    ):
        return Outcome()
    source = scope.name(statement.source.name)
    overlay = scope.overlay
    if statement.at is None:
        overlay.require_table(source)
        entry = overlay.require(source)
        assert isinstance(entry, TableEntry)
        version = entry.snapshot
    else:
        found = pinned(overlay, scope.engine, source, statement.at)
        version = found.snapshot
        hold(
            overlay.repository,
            found.commit,
            [version],
            author=overlay.author,
            known=overlay.base,
        )
    scope.note(Input(relation=str(source), snapshot=version))
    put_clone(overlay, name, version, origin=scope.made_by())
    return Outcome()


def put_clone(
    overlay: Overlay, name: RelationName, version: SnapshotId, *, origin: Origin
) -> None:
    """Store a new table that starts as a version of another table."""
    new = msgspec.structs.replace(
        overlay.snapshot(version),
        created_at=overlay.repository.clock(),
        operation="clone",
        parents=(version,),
        origin=origin,
    )
    overlay.put_table(name, new)


def _may_create(scope: Scope, name: RelationName, *, replace: bool, if_not_exists: bool) -> bool:
    scope.overlay.require_schema(name.schema)
    existing = scope.overlay.entry(name)
    if existing is None:
        return True
    if if_not_exists:
        return False
    if not replace:
        raise InputError(f"{name} already exists. Drop it first, or use create or replace table.")
    if not isinstance(existing, TableEntry):
        noun = existing.noun
        raise InputError(f"{name} is a {noun}. Drop it first: drop {noun} {name}.")
    return True


def _check_storage(statement: CreateTable) -> None:
    if statement.provider not in _PROVIDERS:
        raise UnsupportedError(
            f"Tables in a dbt-vcs repository are Parquet; `using {statement.provider}` is not "
            "possible. Leave it out (in dbt: remove the config file_format)."
        )
    _refuse_location(statement.location, statement.options)
    if statement.constraints:
        raise UnsupportedError(
            f"The constraint {statement.constraints[0]} is not supported; versioned tables "
            "support NOT NULL, primary keys and checks. Leave it out, and test for it instead."
        )


def _refuse_location(location: str | None, options: Mapping[str, str]) -> None:
    if location is not None or "path" in map(str.lower, options):
        raise UnsupportedError(
            "A versioned table has no location of its own: its files are in the repository. "
            "Leave `location` and the option `path` out (in dbt: remove the config location_root)."
        )


def _declared(statement: CreateTable) -> list[Field]:
    return [
        Field(
            id="",
            name=column.name,
            type=column.type,
            nullable=column.nullable,
            comment=column.comment,
            default=column.default,
        )
        for column in statement.columns
    ]


def _written(
    scope: Scope,
    statement: CreateTable,
    query: Query,
    table: TableId,
    before: tuple[SnapshotId, Snapshot] | None,
) -> tuple[Schema, tuple[SegmentRef, ...]]:
    with scope.reading(query):
        columns = scope.session.columns_of(query.text)
    fields = [Field(id="", name=c.name, type=c.type, comment=c.comment) for c in columns]
    schema = _schema_of(fields, statement, before)
    written = scope.session.write(
        query.text,
        Destination(
            folder=folder_of(table),
            partition_by=statement.partition_by,
            cluster_by=statement.cluster_by,
            options=statement.options,
            ids=[schema.field(column.name).id for column in columns],
        ),
        analysing=lambda: scope.reading(query),
    )
    repository = scope.overlay.repository
    partition_by = _ids(schema, statement.partition_by)
    blocks = read_blocks(repository.blobs, written.files, schema, partition_by, written.footers)
    return schema, put_segments(repository, blocks)


def _schema_of(
    fields: Sequence[Field],
    statement: CreateTable,
    before: tuple[SnapshotId, Snapshot] | None,
) -> Schema:
    """Return the schema of the new table, partition columns last as Spark puts them."""
    partition_by = [column.lower() for column in statement.partition_by]
    _check_clustering(fields, statement)
    by_name = {field.name.lower(): field for field in fields}
    missing = [column for column in partition_by if column not in by_name]
    if missing:
        raise InputError(
            f"There is no column '{missing[0]}' to partition by; the columns are: "
            f"{', '.join(field.name for field in fields)}."
        )
    if fields and len(partition_by) == len(fields):
        raise InputError("A table can't be partitioned by all of its columns. Leave one out.")
    for column in partition_by:
        check_partition_type(by_name[column].name, by_name[column].type)
    ordered = [field for field in fields if field.name.lower() not in partition_by]
    ordered += [by_name[column] for column in partition_by]
    return before[1].schema.rebuilt(ordered) if before else Schema.of(ordered)


def _check_clustering(fields: Sequence[Field], statement: CreateTable) -> None:
    known = Schema(fields=tuple(fields))
    for name in statement.cluster_by:
        field = known.field(name)
        if type_of(field.type).is_nested:
            raise InputError(
                f"The table can't be clustered by {field.name}: files keep no value ranges for "
                f"the type {field.type}. Choose a column of a plain type."
            )


def _ids(schema: Schema, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(schema.field(name).id for name in names)


@handles(DropRelation)
def drop_relation(scope: Scope, statement: DropRelation) -> Outcome:
    """Drop a table or a view; its versions stay in the history.

    Raises:
        NotFoundError: There is no such relation.
        InputError: It is of another kind.
    """
    return drop(scope, scope.name(statement.target.name), statement.kind, statement.if_exists)


@handles(DropFunction)
def drop_function(scope: Scope, statement: DropFunction) -> Outcome:
    """Drop a function as `drop_relation` does a table."""
    return drop(scope, scope.name(statement.target.name), "function", statement.if_exists)


def drop(scope: Scope, name: RelationName, kind: str, if_exists: bool) -> Outcome:
    """Remove a relation of a kind from the branch, and from the session's catalog."""
    entry = scope.overlay.entry(name)
    if entry is None:
        if if_exists:
            return Outcome()
        raise NotFoundError(f"There is no {kind} {name} to drop.")
    if entry.noun != kind:
        raise InputError(f"{name} is a {entry.noun}; write: drop {entry.noun} {name}.")
    scope.overlay.put(name, Absent)
    _hide(scope, name)
    return Outcome()


@handles(RenameRelation)
def rename_relation(scope: Scope, statement: RenameRelation) -> Outcome:
    """Rename a table or a view; it keeps its history.

    Raises:
        NotFoundError: There is no such relation.
        InputError: The new name is taken.
    """
    name = scope.name(statement.target.name)
    new = statement.new.relation(name.schema)
    entry = scope.overlay.require(name)
    if scope.overlay.entry(new) is not None:
        raise InputError(f"{new} already exists; {name} can't be renamed to it.")
    scope.overlay.put(new, entry)
    scope.overlay.put(name, Absent)
    _hide(scope, name)
    return Outcome()


def _hide(scope: Scope, name: RelationName) -> None:
    if scope.mounts.is_shown(name):
        scope.mounts.hide(name, scope.session)
