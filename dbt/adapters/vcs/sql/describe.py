"""Descriptions: `describe`, `show create table`, `show table extended`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import (
    Block,
    Field,
    Readable,
    RelationName,
    Scalar,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.engines.port import Column
from dbt.adapters.vcs.sql.function import DescribeFunction, read_describe_function
from dbt.adapters.vcs.sql.show import columns_of, like, read_schema_filter, redacted
from dbt.adapters.vcs.sql.syntax.clauses import SCHEMA_WORDS
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import Kind, quote_name
from dbt.adapters.vcs.sql.syntax.names import CATALOG, Target
from dbt.adapters.vcs.sql.syntax.parser import OnRelation, Statement, reads
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS
from dbt.adapters.vcs.table.python_values import date_text, moment_text
from dbt.adapters.vcs.workspace.mounts import answering, table_placeholder
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.statement_scope import Listing, Outcome, Scope, handles
from dbt.adapters.vcs.workspace.table_version import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe(OnRelation):
    """`describe [table] [extended|formatted] t [column]`.

    Attributes:
        column: The column asked for, its parts joined by dots, or None.
    """

    extended: bool = False
    column: str | None = None
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSchema(Statement):
    """`describe schema [extended] s`."""

    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCreateTable(OnRelation):
    """`show create table t`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTableExtended(Statement):
    """`show table extended [in s] like 'a*'`."""

    schema: str | None
    pattern: str


@reads("describe", "desc")
def read_describe(cursor: TokenCursor) -> Describe | DescribeFunction | DescribeSchema | None:
    """Read what follows `describe`; None if its object is not on the branch.

    Raises:
        UnsupportedError: It asks about one partition.
    """
    if not _last(cursor):
        # A dot behind one of these words makes it a schema's name.
        if cursor.ahead().word != "." and cursor.take("function"):
            return read_describe_function(cursor)
        if cursor.ahead().word != "." and cursor.take_any(*SCHEMA_WORDS):
            return _describe_schema(cursor)
        if cursor.ahead().word != "." and _other_kind(cursor):
            return None
        cursor.take("table")
    extended = not _last(cursor) and cursor.take_any("extended", "formatted") is not None
    target = cursor.target()
    if cursor.at("partition") and cursor.ahead().word == "(":
        raise UnsupportedError(
            f"`describe {target.name} partition (...)` is not supported on versioned tables. "
            "Select the rows of the partition instead."
        )
    column = None
    if not (cursor.done or cursor.at("as", "json")):
        column = ".".join(cursor.parts())
    json = cursor.take("as", "json")
    cursor.end()
    return Describe(target=target, extended=extended, column=column, json=json)


def _describe_schema(cursor: TokenCursor) -> DescribeSchema:
    extended = not _last(cursor) and cursor.take("extended")
    name = cursor.schema()
    cursor.end()
    return DescribeSchema(name=name, extended=extended)


def _other_kind(cursor: TokenCursor) -> bool:
    """Return whether the next word means that a query or an object of Spark is described."""
    kinds = {"procedure", "query", "catalog", "("}
    return cursor.token.word in kinds | QUERY_WORDS - {"table"}


def _last(cursor: TokenCursor) -> bool:
    """Return whether the next token is the last, and so a name whatever it looks like."""
    return cursor.ahead().kind is Kind.END


@reads("show create table")
def _read_show_create_table(cursor: TokenCursor) -> ShowCreateTable:
    target = cursor.target()
    cursor.take("as", "serde")
    cursor.end()
    return ShowCreateTable(target=target)


@reads("show table extended")
def _read_table_extended(cursor: TokenCursor) -> ShowTableExtended:
    schema = read_schema_filter(cursor)
    cursor.expect("like")
    pattern = cursor.string()
    if cursor.at("partition"):
        raise UnsupportedError(
            "`show table extended ... partition (...)` is not supported on versioned tables: "
            "a partition is not a folder there. Use `show partitions`, or select its rows."
        )
    cursor.end()
    return ShowTableExtended(schema=schema, pattern=pattern)


Row = tuple[str, str, str | None]


_USING: Final = "\nUSING parquet\n"


_NULL: Final = "NULL"
"""What Spark shows for an unknown value."""


_NAMES: Final = ("min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len")


_UNKNOWN: Final = [(name, _NULL) for name in (*_NAMES, "histogram")]
"""The statistics of a column about which nothing is known."""


_LENGTHS: Final = {
    "boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "date": 4,
    "timestamp": 8, "timestamp_ntz": 8, "float": 4, "double": 8,
}  # fmt: skip
"""Bytes that Spark counts per value."""


_BOUNDED: Final = {*_LENGTHS, "decimal"} - {"float", "double"}
"""Types whose bounds in a block are values of the column.

Bounds of text may be truncated, and those of floats exclude NaN.
"""


@handles(Describe)
def describe(scope: Scope, statement: Describe) -> Outcome:
    """Describe a relation: `col_name`, `data_type`, `comment`.

    For a column the result has `info_name`, `info_value`. Details beyond the columns come from
    the engine.

    Raises:
        NotFoundError: There is no such relation.
        InputError: There is no such column.
    """
    name = scope.name(statement.target.name)
    if statement.column is not None:
        return _describe_column(scope, name, statement.column, extended=statement.extended)
    if statement.json:
        return _engine_answer(scope, statement.target)
    if statement.extended:
        return _with_size(scope, name, _engine_answer(scope, statement.target))
    rows: list[Row] = list(columns_of(scope, name))
    entry = scope.overlay.entry(name)
    if isinstance(entry, TableEntry):
        snapshot = scope.overlay.snapshot(entry.snapshot)
        rows += [*_partitioning(snapshot), *_defaults(snapshot)]
    return Outcome(rows=Listing.of(["col_name", "data_type", "comment"], rows))


@handles(DescribeSchema)
def describe_schema(scope: Scope, statement: DescribeSchema) -> Outcome:
    """Describe a schema: `info_name`, `info_value`.

    Raises:
        NotFoundError: There is no such schema.
    """
    name = statement.name.lower()
    info = scope.overlay.schema_info(name)
    rows = [
        ("Catalog Name", CATALOG),
        ("Namespace Name", name),
        ("Comment", info.comment or ""),
        ("Location", scope.overlay.repository.blobs.uri),
        # A repository has no user accounts.
        ("Owner", ""),
    ]
    if statement.extended:
        shown = redacted(scope, info.properties)
        listed = ", ".join(f"({key},{shown[key]})" for key in sorted(shown))
        rows.append(("Properties", f"({listed})" if listed else ""))
    return Outcome(rows=Listing.of(["info_name", "info_value"], rows))


@handles(ShowCreateTable)
def show_create_table(scope: Scope, statement: ShowCreateTable) -> Outcome:
    """Show the statement that creates a table or view: `createtab_stmt`.

    Raises:
        NotFoundError: There is no such relation.
    """
    answer = _engine_answer(scope, statement.target, clustered=False)
    entry = scope.overlay.entry(scope.name(statement.target.name))
    if not isinstance(entry, TableEntry) or answer.rows is None:
        return answer
    snapshot = scope.overlay.snapshot(entry.snapshot)
    if not snapshot.cluster_by:
        return answer
    # Spark writes clustering as a partitioning, in a form that no reader accepts.
    names = ", ".join(quote_name(name) for name in table_placeholder(snapshot).cluster_by)
    text = str(answer.rows.fetch()[0][0])
    text = text.replace(_USING, f"{_USING}CLUSTER BY ({names})\n", 1)
    return Outcome(rows=Listing(answer.rows.columns, ((text,),)))


@handles(ShowTableExtended)
def show_table_extended(scope: Scope, statement: ShowTableExtended) -> Outcome:
    """Show details of relations: `namespace`, `tableName`, `isTemporary`, `information`.

    Raises:
        NotFoundError: There is no such schema.
    """
    schema = (statement.schema or scope.schema).lower()
    scope.overlay.require_schema(schema)
    scope.session.ensure_schema(schema)
    found = [
        RelationName(schema, identifier)
        for identifier, entry in scope.overlay.entries(schema).items()
        if isinstance(entry, Readable)
    ]
    wanted = set(like([name.identifier for name in found], statement.pattern))
    return _with_placeholders(scope, *(name for name in found if name.identifier in wanted))


def _engine_answer(scope: Scope, target: Target, *, clustered: bool = True) -> Outcome:
    name = scope.name(target.name)
    if scope.overlay.entry(name) is None and name in scope.externals:
        with scope.shown([name]):
            return Outcome(rows=scope.session.query(scope.text))
    return _with_placeholders(scope, name, clustered=clustered)


def _with_size(scope: Scope, name: RelationName, answer: Outcome) -> Outcome:
    """Add the size of a table to its description, in the place where Spark shows it."""
    entry = scope.overlay.entry(name)
    if not isinstance(entry, TableEntry) or answer.rows is None:
        return answer
    snapshot = scope.overlay.snapshot(entry.snapshot)
    size = ("Statistics", f"{snapshot.bytes} bytes, {snapshot.rows} rows", "")
    rows = [tuple(row) for row in answer.rows.fetch()]
    # A column may be called Location, and columns come first.
    at = next(i for i, row in reversed([*enumerate(rows)]) if row[0] == "Location")
    return Outcome(rows=Listing(answer.rows.columns, (*rows[:at], size, *rows[at:])))


def _with_placeholders(scope: Scope, *names: RelationName, clustered: bool = True) -> Outcome:
    """Send the statement to the engine while the catalog shows complete placeholders."""
    found = {}
    for name in names:
        columns: tuple[Column, ...] = ()
        # A view is described with the types that it has now, not with those of its creation.
        if not isinstance(scope.overlay.require(name), TableEntry):
            columns = tuple(
                Column(name=column, type=type_, comment=comment)
                for column, type_, comment in columns_of(scope, name)
            )
        placeholder = answering(scope.overlay, name, columns)
        found[name] = placeholder if clustered else replace(placeholder, cluster_by=())
    # Decision 16: a placeholder has a relation's name and columns without its rows. Spark
    # describes it, and no version is mounted.
    with scope.mounts.with_placeholders(found, scope.session):
        return Outcome(rows=scope.session.query(scope.text))


def _describe_column(scope: Scope, name: RelationName, column: str, *, extended: bool) -> Outcome:
    columns = columns_of(scope, name)
    found = next((item for item in columns if item[0].lower() == column.lower()), None)
    if found is None:
        raise InputError(
            f"{name} has no column '{column}'; its columns are: "
            f"{', '.join(item[0] for item in columns)}."
        )
    rows = [("col_name", found[0]), ("data_type", found[1]), ("comment", found[2] or _NULL)]
    if extended:
        entry = scope.overlay.entry(name)
        if isinstance(entry, TableEntry):
            snapshot = scope.overlay.snapshot(entry.snapshot)
            rows += _facts_of(scope.overlay, snapshot, snapshot.schema.field(found[0]))
        else:
            rows += _UNKNOWN
    return Outcome(rows=Listing.of(["info_name", "info_value"], rows))


def _partitioning(snapshot: Snapshot) -> list[Row]:
    if not snapshot.partition_by:
        return []
    fields = [f for id in snapshot.partition_by if (f := snapshot.schema.by_id(id))]
    head = [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
    return [*head, *((field.name, field.type, field.comment) for field in fields)]


def _defaults(snapshot: Snapshot) -> list[Row]:
    fields: list[Field] = [field for field in snapshot.schema.fields if field.default is not None]
    if not fields:
        return []
    head = [("", "", ""), ("# Column Default Values", "", "")]
    return [*head, *((field.name, field.type, field.default) for field in fields)]


def _facts_of(overlay: Overlay, snapshot: Snapshot, field: Field) -> list[tuple[str, str]]:
    """Return the statistics of a column as names and values, `NULL` if not known."""
    version = Version.of(overlay.repository, snapshot)
    holed = set(version.deleted)
    blocks = list(version.blocks)
    known = dict(_UNKNOWN)
    # What is shown is exact. A bound may have been in a row that is deleted, so it isn't known.
    if type_of(field.type).kind in _BOUNDED and not holed:
        low, high = _bounds(blocks, field)
        known |= {"min": low, "max": high}
    nulls = version.nulls(field)
    known["num_nulls"] = _NULL if nulls is None else str(nulls)
    length = _length(field.type)
    known |= {"avg_col_len": length, "max_col_len": length}
    more = [] if field.default is None else [("default", field.default)]
    return [*known.items(), *more]


def _bounds(blocks: list[Block], field: Field) -> tuple[str, str]:
    stats = [block.stats.get(field.id) for block in blocks]
    known = [item for item in stats if item is not None and item.min is not None]
    empty = [
        item is not None and item.nulls == block.rows
        for item, block in zip(stats, blocks, strict=True)
    ]
    # A block in which all values are NULL has no bounds, and none are missing.
    if not known or len(known) + sum(empty) < len(blocks):
        return _NULL, _NULL
    lows = [_value(item.min, field.type) for item in known]
    highs = [_value(item.max, field.type) for item in known]
    return _bound_text(min(lows), field.type), _bound_text(max(highs), field.type)


def _value(bound: Scalar, type_: str) -> Decimal | int:
    if type_of(type_).kind == "decimal":
        return Decimal(str(bound))
    return int(bound or 0)


def _bound_text(value: Decimal | int, type_: str) -> str:
    """Return a value in the form that Spark writes into a catalog."""
    kind = type_of(type_).kind
    if kind == "boolean":
        return str(bool(value)).lower()
    if kind == "date":
        return date_text(int(value))
    if kind in ("timestamp", "timestamp_ntz"):
        text = moment_text(int(value), fraction=True)
        # Spark's catalog has the bounds of instants in UTC.
        return f"{text} +0000" if kind == "timestamp" else text
    return str(value)


def _length(type_: str) -> str:
    found = type_of(type_)
    if found.kind == "decimal":
        # Up to 18 digits, Spark counts a decimal as a long.
        return "8" if found.precision <= 18 else "16"
    return str(_LENGTHS.get(found.kind, _NULL))
