"""What a shared catalog shows others about the relations of a branch."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.vcs.core.model import RelationName, Snapshot, TableEntry, ViewEntry
from dbt.adapters.vcs.engines.port import Column, Sign
from dbt.adapters.vcs.workspace.overlay import Overlay


def versions(overlay: Overlay) -> dict[RelationName, str]:
    """Return every table and view of a branch with a name for its version."""
    found: dict[RelationName, str] = {}
    for schema in overlay.schema_names():
        for identifier, entry in overlay.entries(schema).items():
            if isinstance(entry, TableEntry):
                found[RelationName(schema, identifier)] = entry.snapshot
            elif isinstance(entry, ViewEntry):
                found[RelationName(schema, identifier)] = entry.view
    return found


def sign(overlay: Overlay, name: RelationName) -> Sign:
    """Return the sign of a table or view of a branch.

    Raises:
        NotFoundError: There is no such relation.
    """
    entry = overlay.require(name)
    if isinstance(entry, TableEntry):
        return sign_of_table(overlay.snapshot(entry.snapshot))
    view = overlay.view(entry.view)
    columns = tuple(
        Column(name=column.name, type=column.type, comment=column.comment)
        for column in view.columns
    )
    return Sign(kind="view", columns=columns, comment=view.comment)


def answering(overlay: Overlay, name: RelationName, columns: tuple[Column, ...] = ()) -> Sign:
    """Return the sign of a table or view with everything that the engine reports on it.

    Args:
        overlay: The branch.
        name: The relation.
        columns: The current columns of a view.

    Raises:
        NotFoundError: There is no such relation.
    """
    entry = overlay.require(name)
    if isinstance(entry, TableEntry):
        snapshot = overlay.snapshot(entry.snapshot)
        return replace(
            sign_of_table(snapshot),
            properties=snapshot.properties,
            created_at=snapshot.created_at,
        )
    view = overlay.view(entry.view)
    return replace(
        sign(overlay, name), columns=columns, properties=view.properties, text=view.text
    )


def sign_of_table(snapshot: Snapshot) -> Sign:
    """Return the sign of a version of a table."""
    schema = snapshot.schema
    names = {field.id: field.name for field in schema.fields}
    last = [field for id in snapshot.partition_by if (field := schema.by_id(id))]
    fields = [field for field in schema.fields if field not in last]
    return Sign(
        kind="table",
        columns=tuple(
            Column(
                name=field.name,
                type=field.type,
                nullable=field.nullable,
                comment=field.comment,
                default=field.default,
            )
            for field in (*fields, *last)
        ),
        comment=snapshot.comment,
        partition_by=tuple(names[id] for id in snapshot.partition_by),
        cluster_by=tuple(names[id] for id in snapshot.cluster_by if id in names),
    )
