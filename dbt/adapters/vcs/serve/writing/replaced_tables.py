"""Replaced tables: what clients build again under its name, with other columns and rows."""

from __future__ import annotations

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.iceberg.table_metadata import FORMAT_VERSION
from dbt.adapters.vcs.serve.writing.branch_writer import BranchWriter
from dbt.adapters.vcs.serve.writing.client_properties import shown_properties, to_remove, to_store
from dbt.adapters.vcs.serve.writing.commit_request import CommitRequest, Record
from dbt.adapters.vcs.serve.writing.iceberg_columns import partition_names, read_columns
from dbt.adapters.vcs.serve.writing.table_definitions import (
    COMMENT,
    UPGRADE,
    NewTable,
    create,
    current_after,
    properties_given,
)
from dbt.adapters.vcs.worktree.overlay import Overlay
from dbt.adapters.vcs.writes.keys import PRIMARY_KEY


def replace(
    writer: BranchWriter,
    overlay: Overlay,
    relation: RelationName,
    request: CommitRequest,
    metadata: Record,
) -> None:
    """Build a table again in an overlay, without rows, as `create or replace table` does.

    As in Iceberg its properties stay, and columns keep their numbers if name and type stay.

    Raises:
        RestError: A property can't be honoured, or the partitioning is none of columns.
        InputError: The table can't be as declared.
    """
    before = overlay.require_table(relation)
    columns = read_columns(current_after(request, metadata, "schema"))
    shown, version = shown_properties(metadata), int(metadata[FORMAT_VERSION])
    properties = {key: value for key, value in before.properties.items() if key != PRIMARY_KEY}
    if before.comment is not None:
        properties[COMMENT] = before.comment
    for item in request.of_action("set-properties", UPGRADE):
        properties |= to_store(properties_given(item), shown, version)
    for item in request.of_action("remove-properties"):
        for key in to_remove(item.get("removals") or ()):
            properties.pop(key, None)
    new = NewTable(
        relation=relation,
        columns=columns,
        partition_by=partition_names(current_after(request, metadata, "spec"), columns),
        properties=properties,
        replaces=True,
    )
    create(writer, overlay, new)
