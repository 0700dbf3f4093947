"""Local folders: made for clients that write to a folder, and don't make it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from starlette.requests import Request

from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.client_manifests import client_folder
from dbt.adapters.vcs.iceberg.metadata_place import place_of
from dbt.adapters.vcs.serve.catalog_view import FoundRelation

_LOCAL: Final = "file://"
_CLIENT: Final = "duckdb/"
"""How a client calls itself that makes the folder of rows, and none for manifests alone."""


def make_folder(repository: Repository, request: Request, found: FoundRelation) -> None:
    """Make the folder of a table's clients for one that doesn't, if it may write."""
    place = place_of(repository)
    if (
        isinstance(found.entry, TableEntry)
        and found.branch is not None
        and place.root.startswith(_LOCAL)
        and request.headers.get("user-agent", "").startswith(_CLIENT)
    ):
        table = repository.objects.snapshot(found.entry.snapshot).table
        uri = place.uri(client_folder(table, found.branch))
        Path(uri.removeprefix(_LOCAL)).mkdir(parents=True, exist_ok=True)
