"""What others may know of the relations of a branch where they share the engine's catalog."""

from __future__ import annotations

from dbt.adapters.vcs.core.model import RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.engines.port import Column, Sign
from dbt.adapters.vcs.workspace.overlay import Overlay


def versions(overlay: Overlay) -> dict[RelationName, str]:
    """Return every table and view of a branch with what names its version."""
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
        snapshot = overlay.snapshot(entry.snapshot)
        columns = tuple(
            Column(
                name=field.name, type=field.type, nullable=field.nullable, comment=field.comment
            )
            for field in snapshot.schema.fields
        )
        return Sign(kind="table", columns=columns, comment=snapshot.comment)
    view = overlay.view(entry.view)
    columns = tuple(
        Column(name=column.name, type=column.type, comment=column.comment)
        for column in view.columns
    )
    return Sign(kind="view", columns=columns, comment=view.comment)
