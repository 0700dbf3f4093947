"""Tables are served in format version 3 if the server or the table says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog
from starlette.testclient import TestClient

from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.iceberg.serve.catalog_api import rest_app
from dbt.adapters.vcs.iceberg.serve.documents import Documents, IcebergDocuments
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import duckdb_connection
from tests.unit.serve.server_process import serving
from tests.unit.serve.test_writing import TABLES, Record, commit, create, head, refusal


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def client_of(lake: Lake, version: int) -> TestClient:
    documents = Documents(IcebergDocuments(lake.repository, version), {})
    return TestClient(rest_app(lake.repository, documents), base_url="http://localhost")


@pytest.fixture
def client(lake: Lake) -> Iterator[TestClient]:
    yield client_of(lake, 2)


def stored(lake: Lake, name: str = "t") -> str | None:
    entry = lake.repository.tree(head(lake)).entry(RelationName("s", name))
    assert isinstance(entry, TableEntry)
    properties = lake.repository.objects.snapshot(entry.snapshot).properties
    return properties.get("format-version")


def shown(client: TestClient, name: str = "t") -> int:
    metadata = client.get(f"{TABLES}/{name}").json()["metadata"]
    assert "format-version" not in metadata["properties"]
    version: int = metadata["format-version"]
    return version


@pytest.mark.parametrize(("options", "own"), [(("--format-version", "3"), ""), ((), "3")])
def test_clients_read_a_served_table_without_its_deleted_rows(
    lake: Lake, options: tuple[str, ...], own: str
) -> None:
    said = f" tblproperties ('format-version' = '{own}')" if own else ""
    lake.run(f"create table s.t (id bigint, part string) partitioned by (part){said}")
    lake.add("t", [(number, f"p{number % 2}") for number in range(10)])
    lake.delete("t", (0, 0), (1, 3))
    lake.add("t", [(number, "p0") for number in range(10, 15)])
    lake.delete("t", (0, 1), (2, 4))
    wanted = sorted(lake.rows("t"))
    assert len(wanted) == 11
    with serving(Path(lake.blobs.uri), *options) as server:
        table = RestCatalog("vcs", uri=server.url, warehouse="main").load_table("s.t")
        assert table.metadata.format_version == 3
        found = table.scan().to_arrow()
        assert sorted(zip(*found.to_pydict().values(), strict=True)) == wanted
        metadata = table.metadata.model_dump(by_alias=True)
        rows = [(s["first-row-id"], s["added-rows"]) for s in metadata["snapshots"]]
        assert rows == [(0, 0), (0, 10), (10, 0), (10, 5), (15, 0)]
        assert metadata["next-row-id"] == 15
        with duckdb_connection("httpfs") as duck:
            where = f"endpoint '{server.url}', authorization_type 'none'"
            duck.execute(f"attach 'main' as vcs (type iceberg, {where})")
            assert sorted(duck.execute("select * from vcs.s.t").fetchall()) == wanted


def test_a_table_that_says_its_version_keeps_it_on_any_server(
    lake: Lake, client: TestClient
) -> None:
    create(client)
    create(client, "three", properties={"format-version": "3"})
    create(client_of(lake, 3), "two", properties={"format-version": "2"})
    create(client, "same", properties={"format-version": "2"})
    names = ("t", "three", "two", "same")
    assert [stored(lake, name) for name in names] == [None, "3", "2", None]
    assert [shown(client, name) for name in names] == [2, 3, 2, 2]
    assert [shown(client_of(lake, 3), name) for name in names] == [3, 3, 2, 3]


@pytest.mark.parametrize(
    "update",
    [
        {"action": "upgrade-format-version", "format-version": 3},
        {"action": "set-properties", "updates": {"format-version": "3"}},
    ],
)
def test_a_table_goes_up_and_not_back(lake: Lake, client: TestClient, update: Record) -> None:
    made = create(client)["metadata"]
    answer = commit(client, made, update)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["metadata"]["format-version"], stored(lake)) == (3, "3")
    before = head(lake)
    assert commit(client, made, update).status_code == 200
    back = {"action": "upgrade-format-version", "format-version": 2}
    removed = {"action": "remove-properties", "removals": ["format-version"]}
    for wrong, said in ((back, "don't go back"), (removed, "can't be removed")):
        status, _, message = refusal(commit(client, made, wrong))
        assert (status, said in message) == (400, True)
    assert head(lake) == before


def test_a_staged_table_is_created_in_the_version_that_it_was_staged_in(
    lake: Lake, client: TestClient
) -> None:
    more: Record = {"stage-create": True, "properties": {"format-version": "3"}}
    staged = create(client, **more)["metadata"]
    assert staged["format-version"] == 3
    updates: list[Record] = [
        {"action": "assign-uuid", "uuid": staged["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": 3},
        {"action": "add-schema", "schema": staged["schemas"][0]},
        {"action": "set-location", "location": staged["location"]},
        {"action": "set-properties", "updates": staged["properties"]},
    ]
    body = {"requirements": [{"type": "assert-create"}], "updates": updates}
    made = client.post(f"{TABLES}/t", json=body)
    assert made.status_code == 200, made.text
    assert made.json()["metadata"]["format-version"] == shown(client) == 3


def test_a_table_built_again_keeps_its_version_or_goes_up(lake: Lake, client: TestClient) -> None:
    def replaced(*more: Record) -> Any:
        base = client.get(f"{TABLES}/t").json()["metadata"]
        removed = {"action": "remove-snapshot-ref", "ref-name": "main"}
        return commit(client, base, removed, *more)

    create(client)
    up = {"action": "upgrade-format-version", "format-version": 3}
    assert replaced(up).json()["metadata"]["format-version"] == 3
    assert replaced().json()["metadata"]["format-version"] == 3
    back = {"action": "upgrade-format-version", "format-version": 2}
    assert refusal(replaced(back))[0] == 400


@pytest.mark.parametrize(("said", "version"), [("3", 3), ("2", 2), ("1", 2), ("x", 2)])
def test_an_export_goes_by_the_table_too(lake: Lake, said: str, version: int) -> None:
    lake.run(f"create table s.t (id bigint) tblproperties ('format-version' = '{said}')")
    assert lake.document("t").metadata["format-version"] == version
