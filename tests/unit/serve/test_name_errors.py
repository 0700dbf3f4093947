"""What is missing or taken is told in the words of Iceberg's own servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.unit.iceberg.lake import Lake
from tests.unit.serve.test_view_commits import SCHEMA, version
from tests.unit.serve.test_writing import COLUMNS, client_of, head, refusal

SPACE = "/v1/main/namespaces"
VIEW = {"schema": SCHEMA, "view-version": version("select 1"), "properties": {}}
STALE: dict[str, Any] = {"updates": []}


def rename(source: str, target: str) -> dict[str, Any]:
    names = {"source": source, "destination": target}
    return {
        key: dict(zip(("namespace", "name"), ([s], n), strict=True))
        for key, value in names.items()
        for s, n in [value.split(".")]
    }


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(Path(tmp_path_factory.mktemp("names")) / "lake")
    lake.run("create table s.t (id bigint)")
    lake.run("create table s.u (id bigint)")
    return lake


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    client = client_of(lake)
    assert client.post(f"{SPACE}/s/views", json={"name": "v", **VIEW}).status_code == 200
    yield client


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "told"),
    [
        ("POST", "", {"namespace": ["s"]}, 409, "Namespace already exists: s"),
        ("DELETE", "/s", None, 409, "Namespace s is not empty: it holds t, u, v"),
        ("POST", "/x/properties", {"updates": {"a": "b"}}, 404, "Namespace does not exist: x"),
        (
            "POST",
            "/x/tables",
            {"name": "t", "schema": COLUMNS},
            404,
            "Namespace does not exist: x",
        ),
        ("POST", "/x/views", {"name": "w", **VIEW}, 404, "Namespace does not exist: x"),
        (
            "POST",
            "/s/tables",
            {"name": "t", "schema": COLUMNS},
            409,
            "Table already exists: s.t",
        ),
        (
            "POST",
            "/s/tables",
            {"name": "v", "schema": COLUMNS},
            409,
            "View with same name already exists: s.v",
        ),
        ("POST", "/s/views", {"name": "v", **VIEW}, 409, "View already exists: s.v"),
        (
            "POST",
            "/s/views",
            {"name": "t", **VIEW},
            409,
            "Table with same name already exists: s.t",
        ),
        ("DELETE", "/s/tables/v", None, 404, "Table does not exist: s.v"),
        ("DELETE", "/s/views/t", None, 404, "View does not exist: s.t"),
        (
            "POST",
            "/s/tables/t",
            {"requirements": [{"type": "assert-create"}], **STALE},
            409,
            "Requirement failed: table already exists: s.t",
        ),
        (
            "POST",
            "/s/tables/t",
            {"requirements": [{"type": "assert-table-uuid", "uuid": "x"}], **STALE},
            409,
            "Requirement failed: UUID does not match: expected x != ",
        ),
        (
            "POST",
            "/s/tables/t",
            {
                "requirements": [{"type": "assert-default-spec-id", "default-spec-id": 7}],
                **STALE,
            },
            409,
            "Requirement failed: default partition spec changed: expected id 7 != 0",
        ),
        (
            "POST",
            "/s/views/v",
            {"requirements": [{"type": "assert-view-uuid", "uuid": "x"}], **STALE},
            409,
            "Requirement failed: view UUID does not match: expected x != ",
        ),
    ],
)
def test_the_sentence_begins_as_clients_expect(
    lake: Lake, client: TestClient, method: str, path: str, body: Any, status: int, told: str
) -> None:
    before = head(lake)
    found = refusal(client.request(method, f"{SPACE}{path}", json=body))
    assert found[0] == status
    assert found[2].startswith(told)
    assert head(lake) == before


@pytest.mark.parametrize(
    ("kind", "source", "target", "told"),
    [
        ("tables", "s.x", "s.y", "Table does not exist: s.x"),
        ("tables", "s.t", "x.y", "Namespace does not exist: x"),
        ("tables", "s.t", "s.u", "Cannot rename s.t to s.u. Table already exists"),
        ("tables", "s.t", "s.v", "Cannot rename s.t to s.v. View already exists"),
        ("views", "s.x", "s.y", "View does not exist: s.x"),
        ("views", "s.v", "s.t", "Cannot rename s.v to s.t. Table already exists"),
    ],
)
def test_so_it_does_for_renames(
    client: TestClient, kind: str, source: str, target: str, told: str
) -> None:
    found = refusal(client.post(f"/v1/main/{kind}/rename", json=rename(source, target)))
    assert found[2] == told
