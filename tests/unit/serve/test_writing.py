"""Requests that change a branch, and what they are refused for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.iceberg.client_manifests import client_folder
from dbt.adapters.vcs.iceberg.serve.access import TokenList, read_tokens
from dbt.adapters.vcs.iceberg.serve.catalog_api import rest_app
from dbt.adapters.vcs.iceberg.serve.documents import Documents, IcebergDocuments
from tests.unit.iceberg.lake import Lake


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


Record = dict[str, Any]

COLUMNS: Record = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "name", "required": False, "type": "string", "doc": "who"},
        {"id": 3, "name": "day", "required": False, "type": "date"},
    ],
    "identifier-field-ids": [1],
}
TABLES = "/v1/main/namespaces/s/tables"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def client_of(lake: Lake, tokens: TokenList | None = None, token: str = "") -> TestClient:
    app = rest_app(
        lake.repository, Documents(IcebergDocuments(lake.repository), {}), tokens=tokens
    )
    headers = {"X-Client-Version": "PyIceberg 0.12.0"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return TestClient(app, base_url="http://localhost", headers=headers)


@pytest.fixture
def client(lake: Lake) -> Iterator[TestClient]:
    yield client_of(lake)


def refusal(response: Any) -> tuple[int, str, str]:
    body = response.json()["error"]
    assert body["code"] == response.status_code
    return body["code"], body["type"], body["message"]


def head(lake: Lake, branch: str = "main") -> CommitId:
    return lake.repository.branch(branch).head


def create(client: TestClient, name: str = "t", **more: Any) -> Record:
    response = client.post(TABLES, json={"name": name, "schema": COLUMNS, **more})
    assert response.status_code == 200, response.text
    found: Record = response.json()
    return found


def commit(client: TestClient, metadata: Record, *updates: Record, **required: Any) -> Any:
    needs = [{"type": "assert-table-uuid", "uuid": metadata["table-uuid"]}]
    needs += required.get("requirements", [])
    body = {"requirements": needs, "updates": list(updates)}
    return client.post(f"{TABLES}/{required.get('name', 't')}", json=body)


def test_a_created_table_is_a_commit_with_its_columns_key_and_partitions(
    lake: Lake, client: TestClient
) -> None:
    spec = {"fields": [{"source-id": 3, "name": "day", "transform": "identity"}]}
    more: Record = {"partition-spec": spec, "properties": {"comment": "orders", "owner": "ann"}}
    made = create(client, **more)
    stored = lake.repository.objects.commit(head(lake))
    assert stored.message == "PyIceberg create s.t through the catalog"
    entry = lake.repository.tree(head(lake)).entry(RelationName("s", "t"))
    assert isinstance(entry, TableEntry)
    snapshot = lake.repository.objects.snapshot(entry.snapshot)
    assert [(f.name, f.type, f.nullable, f.comment) for f in snapshot.schema.fields] == [
        ("id", "bigint", False, None),
        ("name", "string", True, "who"),
        ("day", "date", True, None),
    ]
    assert (snapshot.primary_key, snapshot.partition_by) == (("id",), ("day",))
    assert (snapshot.comment, snapshot.properties["owner"]) == ("orders", "ann")
    folder = f"file://{lake.blobs.uri}/{client_folder(snapshot.table, 'main')}"
    assert made["metadata"]["properties"]["write.data.path"] == folder
    # Trino creates a table only where its location is empty.
    location = made["metadata"]["location"]
    assert location == f"file://{lake.blobs.uri}/iceberg/locations/tables/{snapshot.table}"
    assert not Path(location.removeprefix("file://")).exists()
    assert made["metadata"]["properties"]["write.metadata.path"] == folder


def test_a_staged_table_changes_nothing_until_its_commit_creates_it(
    lake: Lake, client: TestClient
) -> None:
    before = head(lake)
    more: Record = {"stage-create": True}
    staged = create(client, **more)["metadata"]
    assert head(lake) == before
    assert staged["snapshots"] == []
    assert not list(Path(lake.blobs.uri).glob("iceberg/**/*"))
    body = {
        "requirements": [{"type": "assert-create"}],
        "updates": [
            {"action": "assign-uuid", "uuid": staged["table-uuid"]},
            {"action": "upgrade-format-version", "format-version": 2},
            {"action": "add-schema", "schema": staged["schemas"][0]},
            {"action": "set-current-schema", "schema-id": -1},
            {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
            {"action": "set-default-spec", "spec-id": -1},
            {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
            {"action": "set-default-sort-order", "sort-order-id": -1},
            {"action": "set-location", "location": staged["location"]},
            {"action": "set-properties", "updates": staged["properties"]},
        ],
    }
    forged = {"action": "assign-uuid", "uuid": "00000000-0000-0000-0000-000000000000"}
    for updates in ([forged, *body["updates"][1:]], body["updates"][:8]):
        assert refusal(client.post(f"{TABLES}/t", json={**body, "updates": updates}))[0] == 400
    assert head(lake) == before
    made = client.post(f"{TABLES}/t", json=body)
    assert made.status_code == 200, made.text
    assert made.json()["metadata"]["table-uuid"] == staged["table-uuid"]
    assert made.json()["metadata"]["schemas"] == staged["schemas"]
    after = head(lake)
    assert after != before
    # The answer was lost, and the client asks again.
    again = client.post(f"{TABLES}/t", json=body)
    assert (again.status_code, head(lake)) == (200, after)
    other = client.post(f"{TABLES}/t", json={**body, "updates": body["updates"][1:]})
    assert refusal(other)[:2] == (409, "CommitFailedException")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"location": "file:///elsewhere"}, "location"),
        ({"schema": {"fields": [{"id": 1, "name": "u", "type": "uuid"}]}}, "'u'"),
        (
            {"partition-spec": {"fields": [{"source-id": 3, "name": "m", "transform": "month"}]}},
            "month of 'day'",
        ),
        (
            {
                "write-order": {
                    "order-id": 1,
                    "fields": [{"source-id": 1, "transform": "identity"}],
                }
            },
            "sort order",
        ),
        ({"properties": {"write.format.default": "orc"}}, "write.format.default"),
        ({"properties": {"format-version": "1"}}, "format version 2 or 3"),
        ({"properties": {"vcs.relation": "x.y"}}, "vcs.relation"),
    ],
)
def test_a_table_that_a_repository_can_not_hold_is_refused(
    lake: Lake, client: TestClient, changed: Record, told: str
) -> None:
    before = head(lake)
    found = refusal(client.post(TABLES, json={"name": "t", "schema": COLUMNS, **changed}))
    assert found[:2] == (400, "BadRequestException")
    assert told in found[2]
    assert head(lake) == before


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"fields": 1},
        {"fields": []},
        {"fields": [1]},
        {"fields": [{"id": "x", "name": "a", "type": "int"}]},
        {"fields": [{"id": 1, "name": "", "type": "int"}]},
        {"fields": [{"id": 1, "name": "a", "type": {"type": "list"}}]},
        {"fields": [{"id": 1, "name": "a", "type": {"type": "struct"}}]},
        {"fields": [{"id": 1, "name": "a", "type": {"type": "map", "key": "int"}}]},
        {"fields": [{"id": 1, "name": "a", "type": "int", "write-default": 1}]},
        {"fields": [{"id": 1, "name": n, "type": "int"} for n in ("a", "A")]},
        {"fields": [{"id": 1, "name": "a", "type": "int"}], "identifier-field-ids": [2]},
        {"fields": [{"id": 1, "name": "a", "type": "int"}], "identifier-field-ids": "x"},
    ],
)
def test_a_schema_that_is_none_is_refused(
    lake: Lake, client: TestClient, schema: Record | None
) -> None:
    before = head(lake)
    found = refusal(client.post(TABLES, json={"name": "t", "schema": schema}))
    assert found[:2] == (400, "BadRequestException")
    assert head(lake) == before


def test_clients_that_race_lose_nothing_that_was_acknowledged(
    lake: Lake, client: TestClient
) -> None:
    made = create(client)["metadata"]

    def write(number: int) -> list[str]:
        kept = []
        for round in range(3):
            key = f"k{number}.{round}"
            update = {"action": "set-properties", "updates": {key: "v"}}
            answered = commit(client, made, update)
            while answered.status_code == 409:
                assert refusal(answered)[1] == "CommitFailedException"
                answered = commit(client, made, update)
            assert answered.status_code == 200, answered.text
            kept.append(key)
        return kept

    with ThreadPoolExecutor(4) as pool:
        acknowledged = [key for keys in pool.map(write, range(4)) for key in keys]
    shown = client.get(f"{TABLES}/t").json()["metadata"]["properties"]
    assert [key for key in acknowledged if key not in shown] == []
    assert len(acknowledged) == 12


def test_rows_that_follow_no_version_are_refused_and_change_nothing(
    lake: Lake, client: TestClient
) -> None:
    made = create(client)["metadata"]
    before = head(lake)
    rows = {"action": "add-snapshot", "snapshot": {"snapshot-id": 1, "manifest-list": "x"}}
    shown = {"action": "set-snapshot-ref", "ref-name": "main", "snapshot-id": 1}
    properties = {"action": "set-properties", "updates": {"a": "1"}}
    found = refusal(commit(client, made, properties, rows, shown))
    assert found[:2] == (409, "CommitFailedException")
    assert refusal(commit(client, made, properties, rows))[0] == 400
    assert head(lake) == before


def test_commits_are_counted_by_their_route(client: TestClient) -> None:
    create(client)
    counted = client.get("/metrics").text
    assert (
        'dbt_vcs_requests_total{method="POST",'
        'route="/v1/{prefix}/namespaces/{namespace}/tables",status="200"} 1.0' in counted
    )


def test_names_that_are_taken_or_missing_are_told_as_the_protocol_does(
    lake: Lake, client: TestClient
) -> None:
    create(client)
    taken = client.post(TABLES, json={"name": "T", "schema": COLUMNS})
    assert refusal(taken)[:2] == (409, "AlreadyExistsException")
    nowhere = TABLES.replace("/s/", "/nix/")
    missing = client.post(nowhere, json={"name": "t", "schema": COLUMNS})
    assert refusal(missing)[:2] == (404, "NoSuchNamespaceException")
    assert refusal(client.delete(f"{TABLES}/nix"))[:2] == (404, "NoSuchTableException")
    lost = client.post(f"{TABLES}/nix", json={"requirements": [], "updates": []})
    assert refusal(lost)[:2] == (404, "NoSuchTableException")


def test_schemas_are_created_altered_and_dropped_once_empty(
    lake: Lake, client: TestClient
) -> None:
    start = "/v1/main/namespaces"
    body = {"namespace": ["new"], "properties": {"comment": "c", "owner": "ann"}}
    assert client.post(start, json=body).status_code == 200
    assert refusal(client.post(start, json=body))[:2] == (409, "AlreadyExistsException")
    changes = {"updates": {"a": "1"}, "removals": ["owner", "nix"]}
    altered = client.post(f"{start}/new/properties", json=changes).json()
    assert altered == {"updated": ["a"], "removed": ["owner"], "missing": ["nix"]}
    there = client.get(f"{start}/new").json()["properties"]
    assert {**there, "vcs.commit": ""} == {"a": "1", "comment": "c", "vcs.commit": ""}
    client.post(f"{start}/new/tables", json={"name": "t", "schema": COLUMNS})
    full = refusal(client.delete(f"{start}/new"))
    assert full[:2] == (409, "NamespaceNotEmptyException")
    assert client.delete(f"{start}/new/tables/t?purgeRequested=true").status_code == 204
    assert client.delete(f"{start}/new").status_code == 204
    assert refusal(client.delete(f"{start}/new"))[:2] == (404, "NoSuchNamespaceException")


def test_a_table_is_renamed_and_keeps_its_history(lake: Lake, client: TestClient) -> None:
    create(client)
    create(client, "other")
    names = {
        "source": {"namespace": ["s"], "name": "t"},
        "destination": {"namespace": ["s"], "name": "u"},
    }
    before = lake.repository.tree(head(lake)).entry(RelationName("s", "t"))
    assert client.post("/v1/main/tables/rename", json=names).status_code == 204
    assert lake.repository.tree(head(lake)).entry(RelationName("s", "u")) == before
    again = client.post("/v1/main/tables/rename", json=names)
    assert refusal(again)[:2] == (404, "NoSuchTableException")
    names["source"]["name"] = "other"
    taken = client.post("/v1/main/tables/rename", json=names)
    assert refusal(taken)[:2] == (409, "AlreadyExistsException")


def test_columns_stay_in_a_client_s_order_wherever_the_partition_columns_are(
    lake: Lake, client: TestClient
) -> None:
    by_name = [{"source-id": 2, "name": "name", "transform": "identity"}]
    made = create(client, **{"partition-spec": {"fields": by_name}})["metadata"]
    first = made["schemas"][0]["fields"]
    assert [field["name"] for field in first] == ["id", "name", "day"]
    more = {"id": 9, "name": "more", "required": False, "type": "string"}
    for fields in ([*first, more], [first[1], more, first[2], first[0]]):
        schema = {"type": "struct", "schema-id": 1, "fields": fields}
        changed = commit(
            client,
            made,
            {"action": "add-schema", "schema": schema},
            {"action": "set-current-schema", "schema-id": -1},
        ).json()["metadata"]
        shown = next(
            item
            for item in changed["schemas"]
            if item["schema-id"] == changed["current-schema-id"]
        )
        names = [field["name"] for field in fields]
        assert [field["name"] for field in shown["fields"]] == names
        assert [field.name for field in lake.snapshot("t").schema.fields] == names
        more = next(field for field in shown["fields"] if field["name"] == "more")
    lake.run("alter table s.t add column last int")
    assert [field.name for field in lake.snapshot("t").schema.fields] == [*names, "last"]


def test_columns_change_as_a_client_s_schema_says(lake: Lake, client: TestClient) -> None:
    made = create(client)["metadata"]
    id, name, _ = made["schemas"][0]["fields"]
    schema = {
        "type": "struct",
        "schema-id": 1,
        "identifier-field-ids": [id["id"]],
        "fields": [
            {"id": 9, "name": "price", "required": False, "type": "decimal(10, 2)", "doc": "EUR"},
            id,
            {**name, "name": "who", "doc": "new"},
        ],
    }
    changed = commit(
        client,
        made,
        {"action": "add-schema", "schema": schema},
        {"action": "set-current-schema", "schema-id": -1},
        requirements=[
            {"type": "assert-current-schema-id", "current-schema-id": 0},
            {
                "type": "assert-last-assigned-field-id",
                "last-assigned-field-id": made["last-column-id"],
            },
        ],
    )
    assert changed.status_code == 200, changed.text
    entry = lake.repository.tree(head(lake)).entry(RelationName("s", "t"))
    assert isinstance(entry, TableEntry)
    snapshot = lake.repository.objects.snapshot(entry.snapshot)
    assert [(f.id, f.name, f.type, f.comment) for f in snapshot.schema.fields] == [
        ("price", "price", "decimal(10,2)", "EUR"),
        ("id", "id", "bigint", None),
        ("name", "who", "string", "new"),
    ]
    assert lake.repository.objects.commit(head(lake)).message.startswith("PyIceberg alter s.t")


def test_columns_may_swap_their_names(lake: Lake, client: TestClient) -> None:
    made = create(client)["metadata"]
    id, name, day = made["schemas"][0]["fields"]
    fields = [id, {**name, "name": "day"}, {**day, "name": "name"}]
    schema = {**made["schemas"][0], "schema-id": 1, "fields": fields}
    changed = commit(
        client,
        made,
        {"action": "add-schema", "schema": schema},
        {"action": "set-current-schema", "schema-id": -1},
    )
    after = changed.json()["metadata"]
    current = next(s for s in after["schemas"] if s["schema-id"] == after["current-schema-id"])
    assert current["fields"] == fields


def test_properties_are_stored_removed_or_refused(lake: Lake, client: TestClient) -> None:
    made = create(client, properties={"a": "1", "b": "2"})["metadata"]
    changed = commit(
        client,
        made,
        {"action": "set-properties", "updates": {"a": "3", "write.delete.mode": "merge-on-read"}},
        {"action": "remove-properties", "removals": ["b", "nix"]},
    ).json()["metadata"]["properties"]
    assert (changed["a"], changed["write.delete.mode"]) == ("3", "merge-on-read")
    assert "b" not in changed
    before = head(lake)
    for update in (
        {"action": "set-properties", "updates": {"gc.enabled": "true"}},
        {"action": "remove-properties", "removals": ["write.data.path"]},
    ):
        assert refusal(commit(client, made, update))[0] == 400
    assert head(lake) == before


@pytest.mark.parametrize(
    ("update", "told"),
    [
        ({"action": "set-location", "location": "file:///x"}, "location"),
        ({"action": "remove-snapshots", "snapshot-ids": [1]}, "dbt-vcs gc"),
        ({"action": "remove-snapshot-ref", "ref-name": "x"}, "dbt-vcs branch"),
        ({"action": "upgrade-format-version", "format-version": 4}, "format version 2 or 3"),
        ({"action": "assign-uuid", "uuid": "x"}, "uuid"),
        ({"action": "set-statistics"}, "statistics"),
        ({"action": "set-snapshot-ref", "ref-name": "main", "snapshot-id": 1}, "dbt-vcs restore"),
        ({"action": "nix"}, "'nix'"),
        ({"action": "set-current-schema", "schema-id": 7}, "schema-id 7"),
    ],
)
def test_an_update_that_can_not_be_carried_out_is_refused_with_a_sentence(
    lake: Lake, client: TestClient, update: Record, told: str
) -> None:
    made = create(client)["metadata"]
    before = head(lake)
    found = refusal(commit(client, made, update))
    assert found[:2] == (400, "BadRequestException")
    assert told in found[2]
    assert head(lake) == before


@pytest.mark.parametrize(
    "requirement",
    [
        {"type": "assert-create"},
        {"type": "assert-table-uuid", "uuid": "00000000-0000-0000-0000-000000000000"},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 1},
        {"type": "assert-current-schema-id", "current-schema-id": 5},
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 5},
        {"type": "assert-default-spec-id", "default-spec-id": 5},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": 5},
    ],
)
def test_a_requirement_that_does_not_hold_fails_the_commit(
    lake: Lake, client: TestClient, requirement: Record
) -> None:
    made = create(client)["metadata"]
    before = head(lake)
    update = {"action": "set-properties", "updates": {"a": "1"}}
    found = refusal(commit(client, made, update, requirements=[requirement]))
    assert found[:2] == (409, "CommitFailedException")
    assert head(lake) == before


def test_a_transaction_is_one_commit_or_none(lake: Lake, client: TestClient) -> None:
    first, second = create(client, "a")["metadata"], create(client, "b")["metadata"]

    def changes(uuid: str) -> Record:
        return {
            "table-changes": [
                {
                    "identifier": {"namespace": ["s"], "name": name},
                    "requirements": [{"type": "assert-table-uuid", "uuid": id}],
                    "updates": [{"action": "set-properties", "updates": {"k": "v"}}],
                }
                for name, id in (("a", first["table-uuid"]), ("b", uuid))
            ]
        }

    before = head(lake)
    path = "/v1/main/transactions/commit"
    assert refusal(client.post(path, json=changes(first["table-uuid"])))[0] == 409
    assert head(lake) == before
    assert client.post(path, json=changes(second["table-uuid"])).status_code == 204
    assert lake.repository.objects.commit(head(lake)).parents == (before,)
    for name in "ab":
        entry = lake.repository.tree(head(lake)).entry(RelationName("s", name))
        assert isinstance(entry, TableEntry)
        assert lake.repository.objects.snapshot(entry.snapshot).properties["k"] == "v"


def test_only_branches_that_take_changes_are_written(lake: Lake, client: TestClient) -> None:
    lake.repository.create_tag("v1", head(lake), author="ann")
    lake.repository.create_branch("kept", head(lake), author="ann")
    lake.repository.protect("kept", Protection(), author="ann")
    body = {"name": "t", "schema": COLUMNS}
    for revision in ("v1", "main~0", head(lake)):
        found = refusal(client.post(f"/v1/{revision}/namespaces/s/tables", json=body))
        assert found[0] in (400, 404), revision
        if found[0] == 400:
            assert "is not a branch" in found[2]
    kept = refusal(client.post("/v1/kept/namespaces/s/tables", json=body))
    assert kept[:2] == (403, "ForbiddenException")
    assert "promote" in kept[2]
    nowhere = refusal(client.post("/v1/nix/namespaces/s/tables", json=body))
    assert nowhere[:2] == (404, "NoSuchNamespaceException")


def test_without_a_warehouse_a_namespace_begins_with_the_branch(
    lake: Lake, client: TestClient
) -> None:
    lake.repository.create_branch("feature/tax", head(lake), author="ann")
    path = "/v1/namespaces/feature%2Ftax%1Fs/tables"
    assert client.post(path, json={"name": "t", "schema": COLUMNS}).status_code == 200
    entry = lake.repository.tree(head(lake, "feature/tax")).entry(RelationName("s", "t"))
    assert isinstance(entry, TableEntry)
    names = {
        "source": {"namespace": ["feature/tax", "s"], "name": "t"},
        "destination": {"namespace": ["main", "s"], "name": "t"},
    }
    assert "another branch" in refusal(client.post("/v1/tables/rename", json=names))[2]
    lone = refusal(client.post("/v1/namespaces", json={"namespace": ["b"]}))
    assert "branch create" in lone[2]


def test_a_token_writes_to_the_branches_of_its_role_under_its_name(
    lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "tokens.yml"
    path.write_text(
        "tokens:\n"
        f"  - {{name: all, sha256: {digest('r')}, role: reader}}\n"
        f"  - {{name: etl, sha256: {digest('w')}, role: writer, branches: [dev]}}\n"
        f"  - {{name: etl, sha256: {digest('w')}, role: reader}}\n"
    )
    tokens = read_tokens(path)
    lake.repository.create_branch("dev", head(lake), author="ann")
    body = {"name": "t", "schema": COLUMNS}
    dev = TABLES.replace("/main/", "/dev/")
    reader, writer = client_of(lake, tokens, "r"), client_of(lake, tokens, "w")
    assert refusal(reader.post(dev, json=body))[:2] == (403, "ForbiddenException")
    assert refusal(writer.post(TABLES, json=body))[:2] == (403, "ForbiddenException")
    assert writer.post(dev, json=body).status_code == 200
    assert lake.repository.objects.commit(head(lake, "dev")).author == "etl"


def test_what_the_catalog_does_not_do_is_refused_with_what_to_do_instead(
    lake: Lake, client: TestClient
) -> None:
    before = head(lake)
    found = refusal(client.post("/v1/main/namespaces/s/register", json={}))
    assert found[:2] == (406, "UnsupportedOperationException")
    assert "dbt" in found[2]
    assert head(lake) == before


def test_a_web_page_changes_nothing_where_no_tokens_are_used(
    lake: Lake, client: TestClient
) -> None:
    before = head(lake)
    body = {"name": "t", "schema": COLUMNS}
    for origin in ("https://evil.example", "null"):
        found = refusal(client.post(TABLES, json=body, headers={"Origin": origin}))
        assert found[:2] == (403, "ForbiddenException")
    assert head(lake) == before


@pytest.mark.parametrize("data", [b"{", b"[]", b'"x"', b"\xff"])
def test_a_body_that_is_no_object_is_refused(client: TestClient, data: bytes) -> None:
    assert refusal(client.post(TABLES, content=data))[:2] == (400, "BadRequestException")
