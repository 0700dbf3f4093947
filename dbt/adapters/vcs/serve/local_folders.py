"""Local folders: made for clients that write to a folder, and don't make it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from starlette.requests import Request

from dbt.adapters.vcs.core.model import Readable, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.metadata_place import place_of
from dbt.adapters.vcs.serve.iceberg_documents import client_folder
from dbt.adapters.vcs.serve.rest_answers import bearer_of

_LOCAL: Final = "file://"
_CLIENT: Final = "duckdb/"
"""How a client calls itself that makes the folder of rows, and none for manifests alone."""


def make_folder(repository: Repository, request: Request, entry: Readable) -> None:
    """Make the folder of a table's clients for one that doesn't, if it may write."""
    place = place_of(repository)
    if (
        isinstance(entry, TableEntry)
        and place.root.startswith(_LOCAL)
        and request.headers.get("user-agent", "").startswith(_CLIENT)
        and bearer_of(request).is_writer
    ):
        uri = place.uri(client_folder(repository, entry))
        Path(uri.removeprefix(_LOCAL)).mkdir(parents=True, exist_ok=True)
