"""Views that clients create and change on a branch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dbt.adapters.vcs.core.model import RelationName, View, ViewColumn, ViewEntry
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.test_writing import client_of, head, refusal

Record = dict[str, Any]
VIEWS = "/v1/main/namespaces/s/views"
SCHEMA: Record = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 0, "name": "id", "required": False, "type": "long"},
        {"id": 1, "name": "total", "required": False, "type": "decimal(9,2)", "doc": "euros"},
    ],
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "lake")
    lake.run("create table s.t (id bigint, price decimal(9,2))")
    return lake


@pytest.fixture
def client(lake: Lake) -> Iterator[TestClient]:
    yield client_of(lake)


def version(sql: str, dialect: str = "spark", **more: Any) -> Record:
    return {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": 1,
        "summary": {"engine-name": "spark"},
        "default-namespace": ["s"],
        "representations": [{"type": "sql", "sql": sql, "dialect": dialect}],
        **more,
    }


def create(client: TestClient, sql: str = "select * from t", **more: Any) -> Any:
    body = {"name": "v", "schema": SCHEMA, "view-version": version(sql), "properties": {}}
    return client.post(VIEWS, json={**body, **more})


def stored(lake: Lake, name: str = "v") -> View:
    entry = lake.repository.tree(head(lake)).entry(RelationName("s", name))
    assert isinstance(entry, ViewEntry)
    return lake.repository.objects.view(entry.view)


def test_a_created_view_is_a_commit_with_its_query_columns_and_what_it_reads(
    lake: Lake, client: TestClient
) -> None:
    made = create(
        client,
        "select id, price from t -- all",
        properties={"comment": "sold", "owner": "ann", "spark.query-column-names": "id,price"},
    )
    assert made.status_code == 200, made.text
    view = stored(lake)
    assert view == View(
        text="select id, price from `s`.`t`",
        columns=(
            ViewColumn(name="id", type="bigint"),
            ViewColumn(name="total", type="decimal(9,2)", comment="euros"),
        ),
        aliased=True,
        reads=("s.t",),
        comment="sold",
        properties={"owner": "ann"},
    )
    commit = lake.repository.objects.commit(head(lake))
    assert commit.message == "PyIceberg create the view s.v through the catalog"
    loaded = client.get(f"{VIEWS}/v").json()
    assert loaded == made.json()
    shown = loaded["metadata"]["versions"][0]["representations"][0]["sql"]
    assert shown == view.text


def test_a_view_whose_columns_are_the_querys_own_goes_by_their_names(
    lake: Lake, client: TestClient
) -> None:
    create(client, properties={"spark.query-column-names": "id,total"})
    assert not stored(lake).aliased


def test_a_name_that_is_taken_is_told(lake: Lake, client: TestClient) -> None:
    assert create(client).status_code == 200
    before = head(lake)
    assert refusal(create(client))[:2] == (409, "AlreadyExistsException")
    assert refusal(create(client, name="t"))[:2] == (409, "AlreadyExistsException")
    taken = client.post(f"{VIEWS.removesuffix('views')}tables", json={"name": "v"})
    assert taken.status_code in (400, 409)
    assert head(lake) == before


def commit(client: TestClient, *updates: Record, uuid: str | None = None) -> Any:
    there = client.get(f"{VIEWS}/v").json()["metadata"]["view-uuid"]
    needs = [{"type": "assert-view-uuid", "uuid": uuid or there}]
    return client.post(f"{VIEWS}/v", json={"requirements": needs, "updates": list(updates)})


def test_a_view_gets_another_query_and_properties(lake: Lake, client: TestClient) -> None:
    create(client, properties={"a": "1", "b": "2"})
    first = stored(lake)
    schema = {**SCHEMA, "fields": SCHEMA["fields"][:1]}
    found = commit(
        client,
        {"action": "set-properties", "updates": {"a": "3", "comment": "ids"}},
        {"action": "remove-properties", "removals": ["b"]},
        {"action": "add-schema", "schema": schema},
        {"action": "add-view-version", "view-version": version("select id from s.t")},
        {"action": "set-current-view-version", "view-version-id": -1},
    )
    assert found.status_code == 200, found.text
    view = stored(lake)
    assert (view.text, view.properties, view.comment) == ("select id from s.t", {"a": "3"}, "ids")
    assert [column.name for column in view.columns] == ["id"]
    assert len(first.columns) == 2
    before = head(lake)
    assert commit(client, {"action": "set-properties", "updates": {}}).status_code == 200
    assert stored(lake) == view
    assert lake.repository.tree(before).id == lake.repository.tree(head(lake)).id


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"view-version": version("select 1", "trino")}, "written for trino"),
        ({"view-version": version("select id from v")}, "would read itself"),
        ({"view-version": version("drop table t")}, "needs a query"),
        ({"view-version": version("select 1; select 2")}, "one statement"),
        ({"view-version": version("select * from lake.s.t")}, "reads the catalog lake"),
        ({"view-version": version("select * from t", **{"default-catalog": "x"})}, "catalog x"),
        ({"view-version": version("select * from vcs.log")}, "can't read"),
        ({"view-version": None}, "view-version"),
        ({"location": "file:///tmp/x"}, "Leave it out"),
        ({"schema": {}}, "list of fields"),
        ({"name": 7}, "name of the view"),
    ],
    ids=str,
)
def test_a_view_that_a_repository_cannot_hold_is_refused(
    lake: Lake, client: TestClient, body: Record, told: str
) -> None:
    before = head(lake)
    status, _, message = refusal(create(client, **body))
    assert status in (400, 406)
    assert told in message
    assert head(lake) == before


def test_a_change_that_cannot_be_carried_out_changes_nothing(
    lake: Lake, client: TestClient
) -> None:
    create(client)
    before = head(lake)
    stale = refusal(commit(client, uuid="00000000-0000-0000-0000-000000000000"))
    assert stale[:2] == (409, "CommitFailedException")
    old = refusal(commit(client, {"action": "set-current-view-version", "view-version-id": 7}))
    assert "dbt-vcs restore" in old[2]
    odd = refusal(commit(client, {"action": "dance"}))
    assert "dance" in odd[2]
    none = refusal(client.post(f"{VIEWS}/w", json={"requirements": [], "updates": []}))
    assert none[:2] == (404, "NoSuchViewException")
    assert head(lake) == before
