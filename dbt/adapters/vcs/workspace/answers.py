"""Questions about the catalog, answered from the branch's tree and manifests alone."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.core.model import RelationName, Snapshot, TableEntry, ViewEntry
from dbt.adapters.vcs.engines.port import GLOBAL_TEMPORARY
from dbt.adapters.vcs.statements import (
    Describe,
    ShowColumns,
    ShowPartitions,
    ShowSchemas,
    ShowTableProperties,
    ShowTables,
)
from dbt.adapters.vcs.workspace.outcome import Listing, Outcome
from dbt.adapters.vcs.workspace.scope import Scope
from dbt.adapters.vcs.workspace.temporary import is_global, relation_of_view


def show_schemas(scope: Scope, statement: ShowSchemas) -> Outcome:
    """List the schemas: `namespace`."""
    names = like(scope.overlay.schema_names(), statement.pattern)
    return Outcome(rows=Listing.of(["namespace"], [[name] for name in names]))


def show_tables(scope: Scope, statement: ShowTables) -> Outcome:
    """List the relations of a schema: `namespace`, `tableName`, `isTemporary` (as Spark does).

    Raises:
        NotFoundError: There is no such schema.
    """
    schema = (statement.schema or scope.schema).lower()
    temporary = scope.temporaries.views()
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
    local = [name for name in temporary if not is_global(name)]
    values += [["", name, True] for name in like(local, statement.pattern)]
    column = "viewName" if statement.views_only else "tableName"
    return Outcome(rows=Listing.of(["namespace", column, "isTemporary"], values))


def show_columns(scope: Scope, statement: ShowColumns) -> Outcome:
    """List the columns of a relation: `col_name`."""
    columns = columns_of(scope, scope.name(statement.target.name))
    return Outcome(rows=Listing.of(["col_name"], [[name] for name, _, _ in columns]))


def show_partitions(scope: Scope, statement: ShowPartitions) -> Outcome:
    """List the partitions of a table: `partition`, each as `column=value/...`.

    Raises:
        NotFoundError: There is no such table.
        InputError: It is not partitioned.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    if not snapshot.partition_by:
        raise InputError(f"{name} is not partitioned; show partitions needs partition columns.")
    if statement.partition:
        raise UnsupportedError("show partitions with a partition clause is not supported yet.")
    names = {field.id: field.name for field in snapshot.schema.fields}
    objects = scope.overlay.repository.objects
    found = {
        "/".join(f"{names[id]}={_folder(block.partition[id])}" for id in snapshot.partition_by)
        for ref in snapshot.segments
        for block in objects.segment(ref.id).blocks
    }
    return Outcome(rows=Listing.of(["partition"], [[item] for item in sorted(found)]))


def show_table_properties(scope: Scope, statement: ShowTableProperties) -> Outcome:
    """List the properties of a relation: `key`, `value`.

    Raises:
        NotFoundError: There is no such relation.
    """
    entry = scope.overlay.require(scope.name(statement.target.name))
    if isinstance(entry, TableEntry):
        properties = scope.overlay.snapshot(entry.snapshot).properties
    else:
        properties = scope.overlay.view(entry.view).properties
    keys = sorted(properties) if statement.key is None else [statement.key]
    values = [[key, properties.get(key, "")] for key in keys]
    return Outcome(rows=Listing.of(["key", "value"], values))


def describe(scope: Scope, statement: Describe) -> Outcome:
    """Describe a relation: `col_name`, `data_type`, `comment`, then, if extended, its facts.

    Raises:
        NotFoundError: There is no such relation, or no such column.
    """
    if statement.json:
        raise UnsupportedError("describe ... as json is not supported yet; leave `as json` out.")
    name = scope.name(statement.target.name)
    columns = columns_of(scope, name)
    if statement.column is not None:
        wanted = statement.column.lower()
        found = [column for column in columns if column[0].lower() == wanted]
        if not found:
            raise InputError(
                f"{name} has no column '{statement.column}'; its columns are: "
                f"{', '.join(column[0] for column in columns)}."
            )
        facts = zip(("col_name", "data_type", "comment"), found[0], strict=True)
        return Outcome(rows=Listing.of(["info_name", "info_value"], list(facts)))
    values: list[tuple[str, str, str | None]] = list(columns)
    entry = scope.overlay.entry(name)
    if isinstance(entry, TableEntry):
        snapshot = scope.overlay.snapshot(entry.snapshot)
        values += _partitioning(snapshot)
        if statement.extended:
            values += _facts_of_table(name, snapshot)
    elif isinstance(entry, ViewEntry) and statement.extended:
        view = scope.overlay.view(entry.view)
        values += _facts(name, "VIEW", view.comment, view.properties, [("View Text", view.text)])
    return Outcome(rows=Listing.of(["col_name", "data_type", "comment"], values))


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
    view = scope.overlay.view(entry.view)
    return [(column.name, column.type, column.comment) for column in view.columns]


def columns_of_temporary(scope: Scope, view: str) -> list[tuple[str, str, str | None]]:
    """Return (name, type, comment) of the columns of one of the session's temporary views.

    The view is named as `Temporaries.view` does it.
    """
    name = relation_of_view(view)
    with scope.shown(scope.temporary_reads([view])):
        return [(c.name, c.type, c.comment) for c in scope.session.relation_columns(name)]


def _folder(value: str | None) -> str:
    return "__HIVE_DEFAULT_PARTITION__" if value is None else value


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


def _partitioning(snapshot: Snapshot) -> list[tuple[str, str, str | None]]:
    if not snapshot.partition_by:
        return []
    fields = [f for id in snapshot.partition_by if (f := snapshot.schema.by_id(id))]
    head = [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
    return [*head, *((field.name, field.type, field.comment) for field in fields)]


def _facts_of_table(name: RelationName, snapshot: Snapshot) -> list[tuple[str, str, str | None]]:
    created = datetime_of(snapshot.created_at).isoformat(sep=" ", timespec="seconds")
    more = [
        ("Created Time", created),
        ("Provider", "parquet"),
        ("Statistics", f"{snapshot.bytes} bytes, {snapshot.rows} rows"),
    ]
    return _facts(name, "MANAGED", snapshot.comment, snapshot.properties, more)


def _facts(
    name: RelationName,
    kind: str,
    comment: str | None,
    properties: dict[str, str],
    more: list[tuple[str, str]],
) -> list[tuple[str, str, str | None]]:
    listed = ", ".join(f"{key}={value}" for key, value in sorted(properties.items()))
    facts = [
        ("", ""),
        ("# Detailed Table Information", ""),
        ("Catalog", "spark_catalog"),
        ("Database", name.schema),
        ("Table", name.identifier),
        ("Type", kind),
        ("Comment", comment or ""),
        ("Table Properties", f"[{listed}]"),
        *more,
    ]
    return [(key, value, "") for key, value in facts]
