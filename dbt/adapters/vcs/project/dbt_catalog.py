"""dbt's catalog: what `dbt docs` shows, read only from the branch's tree and manifests."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dbt.adapters.base.relation import BaseRelation
from dbt_common.contracts.metadata import (
    CatalogTable,
    ColumnMetadata,
    StatsItem,
    TableMetadata,
)

from dbt.adapters.vcs.core.model import Entry, FunctionEntry, RelationName, TableEntry
from dbt.adapters.vcs.project.statistics import Statistic, Statistics
from dbt.adapters.vcs.workspace.overlay import Overlay

if TYPE_CHECKING:
    import agate

_TABLE: Final = (
    "table_database",
    "table_schema",
    "table_name",
    "table_type",
    "table_comment",
    "table_owner",
)
_COLUMN: Final = ("column_name", "column_index", "column_type", "column_comment")


class _Facts(NamedTuple):
    """A relation's kind and comment, and the name, type and comment of each column."""

    kind: str
    comment: str | None
    columns: list[tuple[str, str, str | None]]


def table(
    overlay: Overlay, schemas: Iterable[str], only: Container[RelationName] | None = None
) -> agate.Table:
    """Return one row per column of the relations in some schemas, with dbt's column names.

    `only` names the relations to include; None for all.
    """
    relations = {
        RelationName(schema.lower(), identifier): entry
        for schema in sorted(schemas)
        for identifier, entry in overlay.entries(schema.lower()).items()
        if only is None or RelationName(schema.lower(), identifier) in only
    }
    statistics = Statistics(overlay, relations)
    return _agate(
        row
        for name, entry in relations.items()
        for row in _rows(name, _facts(overlay, entry), statistics.of(name, entry))
    )


def single(overlay: Overlay, relation: BaseRelation, name: RelationName) -> CatalogTable | None:
    """Return what dbt docs shows about a relation, or None if it doesn't exist."""
    entry = overlay.entry(name)
    if entry is None:
        return None
    facts = _facts(overlay, entry)
    return CatalogTable(
        metadata=TableMetadata(
            type=facts.kind,
            schema=relation.schema or name.schema,
            name=relation.identifier or "",
            comment=facts.comment,
        ),
        columns={
            column: ColumnMetadata(type=type, index=index, name=column, comment=note)
            for index, (column, type, note) in enumerate(facts.columns, start=1)
        },
        stats={
            item.id: StatsItem(include=True, **item._asdict())
            for item in Statistics(overlay, [name]).of(name, entry)
        },
    )


def _rows(
    name: RelationName, facts: _Facts, statistics: Iterable[Statistic]
) -> Iterator[dict[str, Any]]:
    about = (None, name.schema, name.identifier, facts.kind, facts.comment, None)
    # dbt reads the statistics of a relation from its first row.
    shown = {
        f"stats:{item.id}:{part}": value
        for item in statistics
        for part, value in {**item._asdict(), "include": True}.items()
        if part != "id"
    }
    for index, (column, type, note) in enumerate(facts.columns, start=1):
        described = (column, index, type, note)
        yield {**dict(zip(_TABLE + _COLUMN, about + described, strict=True)), **shown}
        shown = {}


def _agate(rows: Iterable[Mapping[str, Any]]) -> agate.Table:
    """Return rows as a table, without guessing types: an id may look like a number."""
    import agate
    from dbt_common.clients.agate_helper import Integer

    found = list(rows)
    names = list(dict.fromkeys([*_TABLE, *_COLUMN, *(key for row in found for key in row)]))
    kinds: dict[type, Any] = {int: Integer(), bool: agate.Boolean()}
    text = agate.Text(cast_nulls=False)
    types = {
        key: kinds.get(type(value), text)
        for row in found
        for key, value in row.items()
        if value is not None
    }
    return agate.Table(
        [tuple(row.get(name) for name in names) for row in found],
        names,
        [types.get(name, text) for name in names],
    )


def _facts(overlay: Overlay, entry: Entry) -> _Facts:
    if isinstance(entry, TableEntry):
        snapshot = overlay.snapshot(entry.snapshot)
        fields = snapshot.schema.fields
        return _Facts(
            "table",
            snapshot.comment,
            [(field.name, field.type, field.comment) for field in fields],
        )
    if isinstance(entry, FunctionEntry):
        return _Facts("function", overlay.function(entry.function).comment, [])
    view = overlay.view(entry.view)
    return _Facts("view", view.comment, [(c.name, c.type, c.comment) for c in view.columns])
