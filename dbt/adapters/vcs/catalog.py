"""dbt's catalog: what `dbt docs` shows, from the branch's tree and manifests alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.relation import BaseRelation
from dbt_common.contracts.metadata import (
    CatalogTable,
    ColumnMetadata,
    StatsItem,
    TableMetadata,
)

from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.core.model import Entry, RelationName, TableEntry
from dbt.adapters.vcs.workspace.overlay import Overlay

if TYPE_CHECKING:
    import agate

Statistic = tuple[str, str, Any, str]
"""Id, label, value and description."""


def table(overlay: Overlay, schemas: Iterable[str]) -> agate.Table:
    """Return a row a column of every relation in some schemas, under dbt's column names."""
    import agate
    from dbt_common.clients.agate_helper import DEFAULT_TYPE_TESTER

    rows = [
        row
        for schema in sorted(schemas)
        for identifier, entry in overlay.entries(schema.lower()).items()
        for row in _rows(overlay, RelationName(schema, identifier), entry)
    ]
    return agate.Table.from_object(rows, column_types=DEFAULT_TYPE_TESTER)


def single(overlay: Overlay, relation: BaseRelation) -> CatalogTable | None:
    """Return what dbt's docs show of one relation, or None if it isn't there."""
    name = RelationName((relation.schema or "").lower(), (relation.identifier or "").lower())
    entry = overlay.entry(name)
    if entry is None:
        return None
    kind, comment, columns, statistics = _facts(overlay, entry)
    return CatalogTable(
        metadata=TableMetadata(
            type=kind,
            schema=relation.schema or "",
            name=relation.identifier or "",
            comment=comment,
        ),
        columns={
            column: ColumnMetadata(type=type, index=index, name=column, comment=note)
            for index, (column, type, note) in enumerate(columns, start=1)
        },
        stats={
            id: StatsItem(id=id, label=label, value=value, include=True, description=text)
            for id, label, value, text in statistics
        },
    )


def _rows(overlay: Overlay, name: RelationName, entry: Entry) -> Iterator[dict[str, Any]]:
    kind, comment, columns, statistics = _facts(overlay, entry)
    shared: dict[str, Any] = {
        "table_database": None,
        "table_schema": name.schema,
        "table_name": name.identifier,
        "table_type": kind,
        "table_comment": comment,
        "table_owner": None,
    }
    for id, label, value, text in statistics:
        shared[f"stats:{id}:label"] = label
        shared[f"stats:{id}:value"] = value
        shared[f"stats:{id}:description"] = text
        shared[f"stats:{id}:include"] = True
    for index, (column, type, note) in enumerate(columns, start=1):
        yield {
            **shared,
            "column_name": column,
            "column_index": index,
            "column_type": type,
            "column_comment": note,
        }


def _facts(
    overlay: Overlay, entry: Entry
) -> tuple[str, str | None, list[tuple[str, str, str | None]], list[Statistic]]:
    if isinstance(entry, TableEntry):
        snapshot = overlay.snapshot(entry.snapshot)
        changed = datetime_of(snapshot.created_at).isoformat(sep=" ", timespec="seconds")
        statistics: list[Statistic] = [
            ("rows", "Rows", snapshot.rows, "Rows that a reader sees"),
            ("bytes", "Bytes", snapshot.bytes, "Size of the block files"),
            ("last_modified", "Last changed", changed, "When the snapshot was made (UTC)"),
            ("snapshot", "Snapshot", entry.snapshot[:12], "The version shown here"),
        ]
        columns = [(field.name, field.type, field.comment) for field in snapshot.schema.fields]
        return "table", snapshot.comment, columns, statistics
    view = overlay.view(entry.view)
    return "view", view.comment, [(c.name, c.type, c.comment) for c in view.columns], []
