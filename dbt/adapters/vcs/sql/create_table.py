"""`create table`, with and without a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import msgspec

from dbt.adapters.vcs.changes.writes import rebuild
from dbt.adapters.vcs.changes.writes.checks import (
    PRIMARY_KEY,
    check_keys,
    check_rows,
    checks_of,
    refuse_broken,
)
from dbt.adapters.vcs.changes.writes.versions import previous
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import SnapshotId, new_table_id
from dbt.adapters.vcs.core.model import Field, Schema, SegmentRef, Snapshot, ViewEntry
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.origins.results import RowCounts
from dbt.adapters.vcs.engines.port import Analysed, Destination
from dbt.adapters.vcs.sql.properties import check_default, key_columns, settled, settled_key
from dbt.adapters.vcs.sql.syntax.clauses import (
    Check,
    ColumnDef,
    check_properties,
    primary_key_of,
    read_characteristics,
    read_check,
    read_column,
    read_constraint_name,
    read_names,
    read_primary_key,
    read_properties,
    read_type,
)
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import quote_name, quote_text
from dbt.adapters.vcs.sql.syntax.names import Name, Target, list_of
from dbt.adapters.vcs.sql.syntax.parser import ChangingStatement, Query, reads, remaining_query
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS
from dbt.adapters.vcs.sql.table import Clone, Creation, may_create, read_creation
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.manifests import folder_of, put_segments
from dbt.adapters.vcs.table.partition_values import check_partition_type
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope, handles


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable(Creation):
    """`create [or replace] table t (...)`, with or without a query.

    Attributes:
        columns: The declared columns, those of `partitioned by` last; empty if the query
            defines them.
        provider: Lower-case name after `using` or `stored as`, or None.
        partition_by: Names of partition columns, in order.
        primary_key: Columns of the `primary key` constraint, else of the property
            `primary_key`; empty if there is neither.
    """

    writes_rows = True

    columns: tuple[ColumnDef, ...] = ()
    query: Query | None = None
    provider: str | None = None
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableLike(ChangingStatement):
    """`create table t like s`: an empty table with the columns and partitions of another."""

    source: Target
    table: CreateTable


@dataclass
class _Draft:
    """The parts of a `create table` read so far."""

    columns: list[ColumnDef] = field(default_factory=list)
    provider: str | None = None
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    checks: list[Check] = field(default_factory=list)
    comment: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    location: str | None = None


@reads("create [or replace] [external] table")
def _read_create_table(cursor: TokenCursor) -> CreateTable | CreateTableLike | Clone:
    creation = read_creation(cursor)
    if cursor.take("like"):
        return _like(cursor, creation)
    if cursor.at("clone") or cursor.at("shallow", "clone") or cursor.at("deep", "clone"):
        # Other engines' words. No clone copies rows here, so both mean the same.
        cursor.take_any("shallow", "deep")
        cursor.expect("clone")
        return _clone(cursor, creation)
    if cursor.take("from", "snapshot"):
        return _clone(cursor, creation)
    draft = _draft_with_columns(cursor)
    while _clause(cursor, draft):
        pass
    if cursor.done and not draft.columns and (draft.location is not None or draft.options):
        raise _outside(creation["target"], draft)
    return _finish(creation, draft, _query(cursor, draft))


@reads(
    "create [or replace] [global] temporary [external] table",
    "create [or replace] [global] temp [external] table",
)
def _refuse_temporary(cursor: TokenCursor) -> NoReturn:
    raise UnsupportedError("Spark has no temporary tables. Write `create temporary view ... as`.")


def _outside(target: Target, draft: _Draft) -> UnsupportedError:
    """Return the error for a table over files, whose columns Spark would take from them."""
    options = dict(draft.options)
    if draft.location is not None:
        options["path"] = draft.location
    given = ", ".join(f"{quote_text(key)} {quote_text(text)}" for key, text in options.items())
    return UnsupportedError(
        f"{target.name} would be files outside the repository, which aren't versioned. Copy their "
        f"rows with `create temporary view files using {draft.provider or 'parquet'} options "
        f"({given})` and `create table {target.name} as select * from files`, or declare a source "
        "with the config external_location."
    )


def _draft_with_columns(cursor: TokenCursor) -> _Draft:
    """Read the list of columns, unless parentheses hold a query or nothing is in parentheses."""
    draft, first = _Draft(), cursor.index
    if cursor.token.word != "(":
        return draft
    try:
        cursor.items(lambda: _element(cursor, draft))
    except (InputError, UnsupportedError):
        # A query's first word may name a column: `(from int, ...)`. As in Spark, what can be a
        # list of columns is one.
        if cursor.tokens[first + 1].word not in (*QUERY_WORDS, "("):
            raise
        cursor.index = first
        return _Draft()
    return draft


def _query(cursor: TokenCursor, draft: _Draft) -> Query | None:
    taken = cursor.take("as")
    if not taken and cursor.done:
        if not draft.columns:
            cursor.fail("a list of columns or `as` and a query")
        return None
    if not (cursor.token.word in QUERY_WORDS or cursor.token.word == "("):
        cursor.fail("a query" if taken else "a clause of `create table` or `as` and a query")
    if draft.columns:
        raise InputError(
            "A `create table ... as` takes no list of columns with types, since the query has "
            "them. Cast the columns in the query, or create the table and insert into it."
        )
    return remaining_query(cursor)


def _finish(creation: dict[str, Any], draft: _Draft, query: Query | None) -> CreateTable:
    name: Name = creation["target"].name
    if draft.columns:
        # Those of a query are known only when the engine has analysed it.
        known = {column.name.lower() for column in draft.columns}
        for column in (*draft.partition_by, *draft.cluster_by, *draft.primary_key):
            if column.lower() not in known:
                raise InputError(
                    f"The table {name} has no column '{column}'; its columns are: "
                    f"{', '.join(column.name for column in draft.columns)}."
                )
    keys = draft.primary_key or primary_key_of(draft.properties)
    checks = [(column.name, check) for column in draft.columns for check in column.checks]
    checks += [(name.identifier, check) for check in draft.checks]
    return CreateTable(
        **creation,
        columns=tuple(draft.columns),
        query=query,
        provider=draft.provider,
        partition_by=draft.partition_by,
        cluster_by=draft.cluster_by,
        primary_key=keys,
        comment=draft.comment,
        properties={**draft.properties, **check_properties(checks)},
        options=draft.options,
        location=draft.location,
    )


def _element(cursor: TokenCursor, draft: _Draft) -> None:
    if not _at_constraint(cursor):
        column, primary = read_column(cursor)
        if column.position is not None:
            cursor.fail("columns in the order that they should have, without `first` or `after`")
        draft.columns.append(column)
        if primary:
            _set_primary_key(draft, (column.name,))
        return
    name = read_constraint_name(cursor)
    if cursor.at("check"):
        draft.checks.append(read_check(cursor, name))
        return
    read_primary_key(cursor)
    _set_primary_key(draft, read_names(cursor))
    read_characteristics(cursor)


def _at_constraint(cursor: TokenCursor) -> bool:
    kinds = ("primary", "unique", "foreign", "check")
    if cursor.at("constraint"):
        return cursor.ahead(2).word in kinds
    key = 2 if cursor.at("primary", "key") or cursor.at("foreign", "key") else 1
    # A column may be called `check` or `primary`: only a constraint has a parenthesis here.
    return cursor.token.word in kinds and cursor.ahead(key).word == "("


def _set_primary_key(draft: _Draft, columns: tuple[str, ...]) -> None:
    if draft.primary_key:
        raise InputError("A table has one primary key; two are declared. Leave one out.")
    draft.primary_key = columns


def _clause(cursor: TokenCursor, draft: _Draft) -> bool:
    """Read one clause between the columns and the query; False if there is none."""
    if cursor.take("using"):
        draft.provider = ".".join(cursor.parts()).lower()
    elif cursor.take("stored", "as"):
        draft.provider = cursor.identifier("a file format").lower()
    elif cursor.take("options"):
        draft.options.update(read_properties(cursor))
    elif cursor.take("tblproperties"):
        draft.properties.update(read_properties(cursor))
    elif cursor.take("comment"):
        draft.comment = cursor.string()
    elif cursor.take("location"):
        draft.location = cursor.string()
    elif cursor.take("partitioned", "by"):
        _partitioned_by(cursor, draft)
    elif cursor.take("cluster", "by"):
        _cluster_by(cursor, draft)
    elif cursor.take("default", "collation"):
        raise UnsupportedError(
            "`default collation` is not supported on versioned tables. "
            "Write `collate` after the type of each column."
        )
    else:
        _refuse_clause(cursor)
        return False
    return True


def _partitioned_by(cursor: TokenCursor, draft: _Draft) -> None:
    columns: list[ColumnDef] = []

    def read() -> str:
        name = cursor.column()
        if cursor.token.word == "(":
            raise UnsupportedError(
                f"Partitioning by an expression ({name}(...)) is not supported on versioned "
                "tables. Compute the value as a column of its own and partition by that."
            )
        if cursor.token.word not in (",", ")"):
            type_ = read_type(cursor)
            nullable = not cursor.take("not", "null")
            comment = cursor.string() if cursor.take("comment") else None
            # Hive's form: partition columns are declared here, and not in the list.
            columns.append(ColumnDef(name=name, type=type_, nullable=nullable, comment=comment))
        return name

    draft.partition_by = cursor.items(read)
    if columns and len(columns) != len(draft.partition_by):
        raise InputError(
            "`partitioned by` names columns with and without a type. Write all of them with a "
            "type, or declare them in the list of columns and only name them here."
        )
    draft.columns += columns


def _cluster_by(cursor: TokenCursor, draft: _Draft) -> None:
    if cursor.take("none"):
        return
    if cursor.at("auto"):
        raise UnsupportedError("`cluster by auto` is not supported. Name the columns.")
    draft.cluster_by = read_names(cursor)


def _refuse_clause(cursor: TokenCursor) -> None:
    if cursor.at("clustered", "by"):
        raise UnsupportedError(
            "Buckets (`clustered by ... into ... buckets`) are not supported on versioned "
            "tables. Remove the configs `clustered_by` and `buckets`; use `partition_by` instead."
        )
    refused = ("row format", "stored by", "skewed by")
    words = f"{cursor.token.word} {cursor.ahead().word}"
    if words in refused:
        raise UnsupportedError(
            f"`{words}` is not supported: versioned tables are stored as Parquet. Remove the "
            "clause."
        )


def _like(cursor: TokenCursor, creation: dict[str, Any]) -> CreateTableLike:
    source = cursor.target()
    draft = _Draft()
    while _clause(cursor, draft):
        pass
    cursor.end()
    if draft.partition_by:
        raise UnsupportedError(
            f"A table like {source.name} has its partitions. Leave `partitioned by` out, or "
            f"write it before a query: create table {creation['target'].name} partitioned by "
            f"({', '.join(map(quote_name, draft.partition_by))}) as select * from {source.name} "
            "where false."
        )
    return CreateTableLike(source=source, table=_finish(creation, draft, None))


def _clone(cursor: TokenCursor, creation: dict[str, Any]) -> Clone:
    source, at = cursor.versioned_target()
    cursor.end()
    return Clone(**creation, source=source, at=at)


_PROVIDERS = (None, "parquet", "vcs")


@handles(CreateTable)
def create_table(scope: Scope, statement: CreateTable) -> Outcome:
    """Create or replace a table, from a query or from column definitions.

    Raises:
        InputError: The name is taken, the key or the partitioning names no column, a default
            does not fit its column, a setting is invalid, or rows violate the primary key or a
            check constraint.
    """
    if not _may_create(scope, statement):
        return Outcome()
    if statement.query is None:
        for column in statement.columns:
            if column.default is not None:
                check_default(scope.engine, column.name, column.default, column.type)
        return _create(scope, statement, [column.field() for column in statement.columns])
    # Another connection may need another version under the same name. So names are held while the
    # query is analysed, and not while it runs.
    with scope.analysing(statement.query):
        query = scope.session.analysed(statement.query.text)
    scope.is_repeatable = query.is_repeatable
    return _create(
        scope,
        statement,
        [Field(id="", name=c.name, type=c.type, comment=c.comment) for c in query.columns],
        query,
    )


@handles(CreateTableLike)
def create_table_like(scope: Scope, statement: CreateTableLike) -> Outcome:
    """Create an empty table with the columns and partitions of another relation.

    Raises:
        InputError: The name is taken, or a setting is invalid.
        NotFoundError: There is no such other relation.
    """
    if not _may_create(scope, statement.table):
        return Outcome()
    fields, partition_by = _shape_of(scope, statement.source.name)
    return _create(scope, replace(statement.table, partition_by=partition_by), fields)


def _create(
    scope: Scope, statement: CreateTable, fields: Sequence[Field], query: Analysed | None = None
) -> Outcome:
    """Create or replace a table with columns, whose ids are given here, and a query's rows."""
    name = scope.name(statement.target.name)
    before = previous(scope.overlay, name)
    # A rebuild is a version of the same table, in the same folder.
    table = before[1].table if before else new_table_id()
    # All that can be wrong with the definition, before rows are computed.
    schema = _schema_of(fields, statement, before)
    properties = settled(statement.properties)
    if statement.primary_key:
        properties[PRIMARY_KEY] = list_of(statement.primary_key)
    key = settled_key(schema, statement.primary_key, properties)
    version = Snapshot(
        table=table,
        schema=schema,
        segments=(),
        created_at=scope.now,
        # The version before is the parent, so that two branches that rebuilt the table have a
        # base. Without a key they conflict (decision 12).
        operation="rebuild" if before else "create",
        parents=(before[0],) if before else (),
        primary_key=key_columns(schema, key),
        partition_by=_ids(schema, statement.partition_by),
        cluster_by=_ids(schema, statement.cluster_by),
        comment=statement.comment,
        properties=properties,
        origin=scope.made_by(),
    )
    repository = scope.overlay.repository
    # There are no rows yet, so this checks whether the conditions are valid.
    check_rows(repository, name, version, None, scope.engine)
    if query is not None:
        segments = _written(scope, statement, query, fields, version)
        version = msgspec.structs.replace(version, segments=segments, created_at=scope.now)
    # Where rows violate dbt's `unique_key`, the key is given up with a warning, since dbt allows
    # that.
    key_ids = check_keys(repository, name, version, None, scope.engine, scope.warnings)
    version = msgspec.structs.replace(version, primary_key=key_ids)
    refuse_broken(repository, name, version, {}, checks_of(properties), scope.engine)
    if query is not None and before is not None and rebuild.is_delta(version):
        return rebuild.put_rebuilt(scope, name, version, before)
    scope.overlay.put_table(name, version)
    if query is None:
        return Outcome()
    return Outcome(affected=version.rows, counts=RowCounts(version.rows))


def _shape_of(scope: Scope, name: Name) -> tuple[list[Field], tuple[str, ...]]:
    # A temporary view hides a relation of its name.
    temporary = scope.temporaries.view(name)
    if temporary is not None:
        return _fields(scope.columns_of_temporary(temporary)), ()
    entry = scope.overlay.require(scope.name(name))
    if isinstance(entry, ViewEntry):
        view = scope.overlay.view(entry.view)
        return _fields((column.name, column.type, column.comment) for column in view.columns), ()
    snapshot = scope.overlay.snapshot(entry.snapshot)
    names = snapshot.schema.names_by_id
    return list(snapshot.schema.fields), tuple(names[id] for id in snapshot.partition_by)


def _fields(columns: Iterable[tuple[str, str, str | None]]) -> list[Field]:
    return [Field(id="", name=name, type=type_, comment=note) for name, type_, note in columns]


def _may_create(scope: Scope, statement: CreateTable) -> bool:
    is_new = may_create(scope, statement, "table")
    if is_new:
        _check_storage(statement)
    return is_new


def _check_storage(statement: CreateTable) -> None:
    if statement.provider not in _PROVIDERS:
        raise UnsupportedError(
            f"Tables in a dbt-vcs repository are Parquet; `using {statement.provider}` is not "
            "possible. Leave it out (in dbt: remove the config file_format)."
        )
    # Spark takes options in any case.
    if statement.location is not None or "path" in map(str.lower, statement.options):
        raise UnsupportedError(
            "A versioned table has no location of its own: its files are in the repository. "
            "Leave `location` and the option `path` out (in dbt: remove the config location_root)."
        )


def _written(
    scope: Scope,
    statement: CreateTable,
    query: Analysed,
    fields: Sequence[Field],
    version: Snapshot,
) -> tuple[SegmentRef, ...]:
    """Write the rows of a query as segments of a version that has none yet.

    `fields` are the query's columns, in its order.
    """
    schema = version.schema
    written = query.write(
        Destination(
            folder=folder_of(version.table),
            partition_by=statement.partition_by,
            cluster_by=statement.cluster_by,
            options=statement.options,
            # Decision 1: a column is called by its id in files.
            ids=[schema.field(field.name).id for field in fields],
        )
    )
    repository = scope.overlay.repository
    blocks = read_blocks(
        repository.blobs, written.files, schema, version.partition_by, written.footers
    )
    return put_segments(repository.objects, blocks)


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
        # Folders don't keep the values of every type.
        check_partition_type(by_name[column].name, by_name[column].type)
    ordered = [field for field in fields if field.name.lower() not in partition_by]
    ordered += [by_name[column] for column in partition_by]
    # Columns that stay keep their ids (decision 1), or every diff with older versions would show
    # all rows.
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
