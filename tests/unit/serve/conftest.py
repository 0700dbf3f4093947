from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Readable, RelationName, TableEntry
from dbt.adapters.vcs.iceberg.metadata_files import MetadataFile
from dbt.adapters.vcs.iceberg.serve.access import TokenList
from dbt.adapters.vcs.iceberg.serve.catalog_api import rest_app
from dbt.adapters.vcs.iceberg.serve.documents import Documents
from tests.unit.warehouse import Warehouse


class PlainMaker:
    """Makes documents that say which version they are of."""

    format_version = 2

    def __init__(self) -> None:
        self.made: list[str] = []
        self.refused: str | None = None

    def key(self, commit: CommitId, relation: RelationName, entry: Readable, *, tags: bool) -> str:
        return f"{relation} {entry.version}"

    def make(
        self,
        commit: CommitId,
        relation: RelationName,
        entry: Readable,
        *,
        branch: str | None,
        tags: bool,
    ) -> MetadataFile:
        if relation.identifier == self.refused:
            raise UnsupportedError(f"Iceberg has no type for the column v of {relation}.")
        self.made.append(str(relation))
        metadata: dict[str, Any] = {
            "version": entry.version,
            "current-snapshot-id": 3,
            "snapshots": [{"snapshot-id": number} for number in (1, 2, 3)],
            "refs": {"main": {"snapshot-id": 3}, "v1": {"snapshot-id": 1}},
        }
        return MetadataFile(metadata, f"memory:///{relation}", "", entry.version)

    def stage(
        self, commit: CommitId, relation: RelationName, entry: TableEntry, branch: str
    ) -> dict[str, Any]:
        return {}


@pytest.fixture
def maker() -> PlainMaker:
    return PlainMaker()


@pytest.fixture
def lines() -> list[str]:
    """The access log."""
    return []


Open = Callable[..., TestClient]


@pytest.fixture
def client_of(warehouse: Warehouse, maker: PlainMaker, lines: list[str]) -> Open:
    def make(
        tokens: TokenList | None = None,
        token: str = "",
        base_url: str = "http://localhost",
        config: dict[str, str] | None = None,
    ) -> TestClient:
        documents = Documents(maker, config or {})
        app = rest_app(warehouse.repository, documents, tokens=tokens, log=lines.append)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return TestClient(app, base_url=base_url, headers=headers)

    return make


@pytest.fixture
def client(client_of: Open) -> TestClient:
    return client_of()
