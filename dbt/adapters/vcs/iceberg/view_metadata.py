"""Views as Iceberg's readers load them: metadata.json of a view at a commit."""

from __future__ import annotations

import uuid
from typing import Any, Final

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId, ViewId
from dbt.adapters.vcs.core.model import Field, RelationName, View, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.iceberg_types import columns_schema
from dbt.adapters.vcs.iceberg.metadata_files import (
    MetadataFile,
    MetadataPlace,
    PendingFiles,
    put_metadata,
)
from dbt.adapters.vcs.iceberg.shown_history import kept_since, shown_entry, shown_since

DIALECT: Final = "spark"
"""The SQL that views are written in."""


def view_metadata(
    repository: Repository, commit: CommitId, relation: RelationName, *, place: MetadataPlace
) -> MetadataFile:
    """Return a view as a commit shows it; the file is in the store when this returns.

    Engines that know the dialect run the view's query, whose relations have their schemas.

    Raises:
        NotFoundError: The commit has nothing of the name.
        UnsupportedError: The view calls functions of the repository, or Iceberg has no type for
            one of its columns; the message names it.
        InputError: The relation is no view.
    """
    id = shown_entry(repository, commit, relation, ViewEntry).view
    view = repository.objects.view(id)
    if view.calls:
        raise UnsupportedError(
            f"The view {relation} calls {', '.join(view.calls)}, and other engines don't have the "
            "functions of a repository. Give them a table that is built from the view."
        )
    at = shown_since(repository, commit, relation, kept_since(repository)) // 1000
    folder = f"{place.folder}/views/{id}"
    metadata = _metadata(repository, relation, view, id, at) | {"location": place.uri(folder)}
    return put_metadata(PendingFiles(repository.blobs), place, folder, metadata, id)


def view_uuid(repository: Repository, relation: RelationName) -> str:
    """Return the identity of a view, which is its name's."""
    name = f"dbt-vcs:{repository.id}/view/{relation}"
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def _metadata(
    repository: Repository, relation: RelationName, view: View, id: ViewId, at: int
) -> dict[str, Any]:
    fields = (
        # Columns of a view have no ids, so their numbers are made from their names.
        Field(id=column.name, name=column.name, type=column.type, comment=column.comment)
        for column in view.columns
    )
    # 31 bits: the id of a view's version is Java's int.
    number = int(id[:8], 16) >> 1 or 1
    version = {
        "version-id": number,
        "schema-id": 0,
        "timestamp-ms": at,
        "summary": {"engine-name": "dbt-vcs", "vcs.view": id},
        "default-namespace": [relation.schema],
        "representations": [{"type": "sql", "sql": view.text, "dialect": DIALECT}],
    }
    return {
        "view-uuid": view_uuid(repository, relation),
        "format-version": 1,
        "current-version-id": number,
        "versions": [version],
        "version-log": [{"version-id": number, "timestamp-ms": at}],
        "schemas": [columns_schema(tuple(fields), 0)],
        "properties": {**view.properties, **({"comment": view.comment} if view.comment else {})},
    }
