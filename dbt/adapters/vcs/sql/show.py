"""`show` statements that the branch's tree and manifests answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbt.adapters.vcs.core.errors import EngineError, InputError, NotFoundError
from dbt.adapters.vcs.core.model import RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.engines.port import GLOBAL_TEMPORARY
from dbt.adapters.vcs.sql.syntax.clauses import PartitionSpec, read_partition, read_property_key
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.names import CATALOG, Name, Target
from dbt.adapters.vcs.sql.syntax.parser import OnRelation, Statement, reads
from dbt.adapters.vcs.sql.table import partition_values
from dbt.adapters.vcs.table.partition_values import folder_of_text
from dbt.adapters.vcs.workspace.statement_scope import Listing, Outcome, Scope, handles
from dbt.adapters.vcs.workspace.table_version import Version
from dbt.adapters.vcs.workspace.temporary_names import is_global


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSchemas(Statement):
    """`show schemas [like 'a*|b*']`."""

    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTables(Statement):
    """`show tables|views [in s] [like 'a*|b*']`."""

    schema: str | None = None
    pattern: str | None = None
    views_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowColumns(OnRelation):
    """`show columns in t [in s]`; a schema given separately is part of `target`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPartitions(OnRelation):
    """`show partitions t [partition (...)]`."""

    partition: tuple[PartitionSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTableProperties(OnRelation):
    """`show tblproperties t [(key)]`."""

    key: str | None = None


@reads("show")
def read_show(cursor: TokenCursor) -> Statement | None:
    """Read what follows `show`; None if Spark answers it."""
    shown = _show(cursor)
    if shown is not None:
        cursor.end()
    return shown


def _show(cursor: TokenCursor) -> Statement | None:
    if cursor.take_any("schemas", "databases", "namespaces"):
        read_schema_filter(cursor)
        return ShowSchemas(pattern=_pattern(cursor))
    if cursor.take("tables"):
        return ShowTables(schema=read_schema_filter(cursor), pattern=_pattern(cursor))
    if cursor.take("views"):
        return ShowTables(
            schema=read_schema_filter(cursor), pattern=_pattern(cursor), views_only=True
        )
    if cursor.take("columns"):
        return _columns(cursor)
    if cursor.take("partitions"):
        return ShowPartitions(target=cursor.target(), partition=read_partition(cursor))
    if cursor.take("tblproperties"):
        return _properties(cursor)
    return None


def read_schema_filter(cursor: TokenCursor) -> str | None:
    """Read `in s`; None without it."""
    return cursor.schema() if cursor.take_any("in", "from") else None


def _pattern(cursor: TokenCursor) -> str | None:
    if cursor.take("like") or not cursor.done:
        return cursor.string()
    return None


def _columns(cursor: TokenCursor) -> ShowColumns:
    if cursor.take_any("in", "from") is None:
        cursor.fail("`in` and a table")
    target = cursor.target()
    schema = read_schema_filter(cursor)
    if schema is not None:
        name = Name(schema=schema, identifier=target.name.identifier)
        target = Target(name=name, start=target.start, end=target.end)
    return ShowColumns(target=target)


def _properties(cursor: TokenCursor) -> ShowTableProperties:
    target = cursor.target()
    key = None
    if cursor.take("("):
        key = read_property_key(cursor)
        cursor.expect_symbol(")")
    return ShowTableProperties(target=target, key=key)


@handles(ShowSchemas)
def show_schemas(scope: Scope, statement: ShowSchemas) -> Outcome:
    """List the schemas: `namespace`."""
    names = like(scope.overlay.schema_names(), statement.pattern)
    return Outcome(rows=Listing.of(["namespace"], [[name] for name in names]))


@handles(ShowTables)
def show_tables(scope: Scope, statement: ShowTables) -> Outcome:
    """List the relations of a schema: `namespace`, `tableName`, `isTemporary` (as Spark does).

    Raises:
        NotFoundError: There is no such schema.
    """
    schema = (statement.schema or scope.schema).lower()
    temporary = scope.temporaries.views()
    # This schema is Spark's and in no tree.
    if schema == GLOBAL_TEMPORARY:
        shared = [name.removeprefix(f"{schema}.") for name in temporary if is_global(name)]
        values = [[schema, name, True] for name in like(shared, statement.pattern)]
    else:
        scope.overlay.require_schema(schema)
        found = [
            identifier
            for identifier, entry in scope.overlay.entries(schema).items()
            if isinstance(entry, ViewEntry if statement.views_only else (TableEntry, ViewEntry))
        ]
        values = [[schema, name, False] for name in like(found, statement.pattern)]
    # Spark lists them with every schema.
    local = [name for name in temporary if not is_global(name)]
    values += [["", name, True] for name in like(local, statement.pattern)]
    column = "viewName" if statement.views_only else "tableName"
    return Outcome(rows=Listing.of(["namespace", column, "isTemporary"], values))


@handles(ShowColumns)
def show_columns(scope: Scope, statement: ShowColumns) -> Outcome:
    """List the columns of a relation: `col_name`."""
    columns = columns_of(scope, scope.name(statement.target.name))
    return Outcome(rows=Listing.of(["col_name"], [[name] for name, _, _ in columns]))


@handles(ShowPartitions)
def show_partitions(scope: Scope, statement: ShowPartitions) -> Outcome:
    """List the partitions of a table: `partition`, each as `column=value/...`.

    Raises:
        NotFoundError: There is no such table.
        InputError: It is not partitioned, or not by a column that is given.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    if not snapshot.partition_by:
        raise InputError(f"{name} is not partitioned; show partitions needs partition columns.")
    names = snapshot.schema.names_by_id
    for item in statement.partition:
        if item.value_sql is None:
            raise InputError(f"show partitions needs a value: partition ({item.name} = ...).")
    wanted = partition_values(scope, snapshot, statement.partition)
    # A partition exists as long as a block of the version is in it, whatever folders there are.
    found = {
        "/".join(folder_of_text(names[id], block.partition[id]) for id in snapshot.partition_by)
        for block in Version.of(scope.overlay.repository, snapshot).blocks
        if wanted.items() <= block.partition.items()
    }
    return Outcome(rows=Listing.of(["partition"], [[item] for item in sorted(found)]))


@handles(ShowTableProperties)
def show_table_properties(scope: Scope, statement: ShowTableProperties) -> Outcome:
    """List the properties of a relation: `key`, `value`.

    Raises:
        NotFoundError: There is no such relation.
    """
    name = scope.name(statement.target.name)
    properties = scope.overlay.properties(name)
    shown = redacted(scope, properties)
    if statement.key is None:
        values = [[key, shown[key]] for key in sorted(shown)]
    else:
        # Spark's own words for it.
        none = f"Table {CATALOG}.{name} does not have property: {statement.key}"
        values = [[statement.key, shown.get(statement.key, none)]]
    return Outcome(rows=Listing.of(["key", "value"], values))


def columns_of(scope: Scope, name: RelationName) -> list[tuple[str, str, str | None]]:
    """Return (name, type, comment) of the columns of a relation, external sources included.

    Raises:
        NotFoundError: There is no such relation.
    """
    entry = scope.overlay.entry(name)
    if entry is None and name in scope.externals:
        with scope.shown([name]):
            return [(c.name, c.type, c.comment) for c in scope.session.relation_columns(name)]
    entry = scope.overlay.require(name)
    if isinstance(entry, TableEntry):
        fields = scope.overlay.snapshot(entry.snapshot).schema.fields
        return [(field.name, field.type, field.comment) for field in fields]
    return _columns_of_view(scope, name, entry)


def _columns_of_view(
    scope: Scope, name: RelationName, entry: ViewEntry
) -> list[tuple[str, str, str | None]]:
    """Return a view's columns with their current types, or the stored ones if it can't be read."""
    try:
        with scope.shown([name]):
            return [(c.name, c.type, c.comment) for c in scope.session.relation_columns(name)]
    # What the view reads may be gone or have other columns by now.
    except (EngineError, NotFoundError, InputError) as error:
        scope.warnings.append(
            f"{name} can't be read any more: {error} Its columns are shown as they were when it "
            "was created. Create it again, or what it reads."
        )
        columns = scope.overlay.view(entry.view).columns
        return [(column.name, column.type, column.comment) for column in columns]


def redacted(scope: Scope, properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties as Spark shows them, with values that its settings redact hidden."""
    return scope.session.redacted(properties) if properties else {}


def like(names: Iterable[str], pattern: str | None) -> list[str]:
    """Filter by Spark's pattern: `*` is any text, `|` separates choices, case is ignored."""
    names = sorted(names)
    if pattern is None:
        return names
    choices = [
        re.compile(".*".join(re.escape(part) for part in choice.strip().split("*")), re.IGNORECASE)
        for choice in pattern.split("|")
    ]
    return [name for name in names if any(choice.fullmatch(name) for choice in choices)]
