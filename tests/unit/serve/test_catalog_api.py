"""What Iceberg's clients ask a repository, and what they are told."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.iceberg.serve.access import Bearer, Grant, Role, TokenList
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.serve.conftest import Open, PlainMaker
from tests.unit.warehouse import Warehouse


def at(client: TestClient, warehouse: str) -> str:
    """Ask as a client does first; return the start of its further paths."""
    found = client.get("/v1/config", params={"warehouse": warehouse})
    assert found.status_code == 200, found.text
    return f"/v1/{found.json()['overrides']['prefix']}"


def version(client: TestClient, path: str) -> str:
    found = client.get(path)
    assert found.status_code == 200, found.text
    shown: str = found.json()["metadata"]["version"]
    return shown


def shown(warehouse: Warehouse, name: str, revision: str = "main") -> str:
    return warehouse.shown(revision)[name].version


def error(client: TestClient, path: str, **arguments: Any) -> tuple[int, str, str]:
    found = client.request(arguments.pop("method", "GET"), path, **arguments)
    told = found.json()["error"]
    assert told["code"] == found.status_code
    return found.status_code, told["type"], told["message"]


@pytest.mark.parametrize(
    "revision", ["main", "feature/tax", "v1", "main~1", "main@{1}", "main@{2026-11-20 12:00}"]
)
def test_a_warehouse_is_any_revision(
    warehouse: Warehouse, client: TestClient, revision: str
) -> None:
    warehouse.put(a="1")
    warehouse.repository.create_tag("v1", warehouse.head(), author="ann")
    warehouse.put(a="2")
    warehouse.branch("feature/tax")
    warehouse.put("feature/tax", a="3")
    warehouse.clock.now += 10 * 86_400 * 1_000_000
    start = at(client, revision)
    assert version(client, f"{start}/namespaces/shop/tables/a") == shown(
        warehouse, "shop.a", revision
    )


def test_a_warehouse_is_a_commit_by_its_id_or_the_start_of_it(
    warehouse: Warehouse, client: TestClient
) -> None:
    commit = warehouse.put(a="1")
    warehouse.put(a="2")
    for revision in (commit, commit[:8]):
        start = at(client, revision)
        assert version(client, f"{start}/namespaces/shop/tables/a") == shown(
            warehouse, "shop.a", commit
        )


def test_a_warehouse_of_a_named_snapshot_shows_the_tables_that_have_it(
    warehouse: Warehouse, client: TestClient
) -> None:
    warehouse.put(a="1", b="1")
    old = warehouse.shown()["shop.a"]
    assert isinstance(old, TableEntry)
    warehouse.repository.snapshots.create(
        RelationName("shop", "a"), "audit", old.snapshot, at=warehouse.head(), author="ann"
    )
    warehouse.put(a="2")
    start = at(client, "audit")
    assert client.get(f"{start}/namespaces").json()["namespaces"] == [["shop"]]
    listed = client.get(f"{start}/namespaces/shop/tables").json()["identifiers"]
    assert listed == [{"namespace": ["shop"], "name": "a"}]
    assert version(client, f"{start}/namespaces/shop/tables/a") == old.snapshot


def test_a_warehouse_that_names_nothing_is_refused_with_near_names(
    warehouse: Warehouse, client: TestClient
) -> None:
    status, kind, told = error(client, "/v1/config?warehouse=mian")
    assert (status, kind) == (404, "NoSuchWarehouseException")
    assert "Did you mean 'main'?" in told


def test_the_configuration_lists_what_is_offered(client: TestClient) -> None:
    offered = client.get("/v1/config").json()["endpoints"]
    assert "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}" in offered
    assert "HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}" in offered
    assert "POST /v1/{prefix}/transactions/commit" in offered
    assert "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}" in offered
    assert not [item for item in offered if item.endswith(("/register", "/plan"))]
    assert "POST /v1/{prefix}/namespaces/{namespace}/views" in offered


def test_a_branch_is_asked_for_its_head_anew_and_a_commit_never_moves(
    warehouse: Warehouse, client: TestClient
) -> None:
    first = warehouse.put(a="1")
    moving, fixed = at(client, "main"), at(client, first)
    before = version(client, f"{moving}/namespaces/shop/tables/a")
    warehouse.put(a="2")
    assert version(client, f"{moving}/namespaces/shop/tables/a") != before
    assert version(client, f"{fixed}/namespaces/shop/tables/a") == before


def test_a_branch_that_was_deleted_meanwhile_is_not_found(
    warehouse: Warehouse, client: TestClient
) -> None:
    warehouse.branch("dev")
    start = at(client, "dev")
    warehouse.repository.delete_branch("dev", author="ann")
    status, kind, told = error(client, f"{start}/namespaces")
    assert (status, kind) == (404, "NoSuchNamespaceException")
    assert "was deleted" in told


@pytest.mark.parametrize(
    "name", ["namespaces", "config", "a b", "ä/ö", "a=41", "a%2Fb", "x~y", "tables", ".a"]
)
def test_any_name_of_a_branch_is_a_prefix_that_needs_no_escaping(
    warehouse: Warehouse, client: TestClient, name: str
) -> None:
    warehouse.repository.create_branch(name, warehouse.head(), author="ann", check=False)
    warehouse.put(name, a="1")
    start = at(client, name)
    assert quote(start, safe="/=") == start
    expected = shown(warehouse, "shop.a", f"heads/{name}")
    assert version(client, f"{start}/namespaces/shop/tables/a") == expected
    # Clients that escape the prefix once more are understood, too.
    prefix = quote(start.removeprefix("/v1/"), safe="")
    assert version(client, f"/v1/{prefix}/namespaces/shop/tables/a") == expected


def test_without_a_warehouse_all_branches_are_namespaces(
    warehouse: Warehouse, client: TestClient
) -> None:
    warehouse.put(a="1")
    warehouse.branch("feature/tax")
    warehouse.put("feature/tax", a="2")
    warehouse.run("r1", Status.OPEN, a="3")
    assert client.get("/v1/config").json()["overrides"] == {}
    listed = client.get("/v1/namespaces").json()["namespaces"]
    assert listed == [["feature/tax"], ["main"]]
    below = client.get("/v1/namespaces", params={"parent": "feature/tax"}).json()["namespaces"]
    assert below == [["feature/tax", "shop"]]
    path = "/v1/namespaces/feature%2Ftax%1Fshop"
    assert client.get(f"{path}/tables").json()["identifiers"] == [
        {"namespace": ["feature/tax", "shop"], "name": "a"}
    ]
    expected = shown(warehouse, "shop.a", "feature/tax")
    assert version(client, f"{path}/tables/a") == expected
    assert client.get("/v1/namespaces/feature%2Ftax").json()["properties"] == {
        "vcs.commit": warehouse.head("feature/tax")
    }


def test_a_namespace_of_all_branches_may_be_any_revision(
    warehouse: Warehouse, client: TestClient
) -> None:
    warehouse.put(a="1")
    warehouse.put(a="2")
    old = shown(warehouse, "shop.a", "main~1")
    assert version(client, "/v1/namespaces/main~1%1Fshop/tables/a") == old
    assert error(client, "/v1/namespaces/nix%1Fshop/tables")[1] == "NoSuchNamespaceException"


def test_reads_of_one_request_see_one_commit(
    warehouse: Warehouse, client: TestClient, maker: PlainMaker
) -> None:
    """Somebody publishes between the moment a branch is read and the moment its table is made."""
    warehouse.put(a="1", b="1")
    start = at(client, "main")
    expected, make = shown(warehouse, "shop.a"), maker.make

    def late(*arguments: Any, **more: Any) -> Any:
        warehouse.put(a="2")
        return make(*arguments, **more)

    maker.make = late  # type: ignore[method-assign]
    assert version(client, f"{start}/namespaces/shop/tables/a") == expected


def test_namespaces_have_properties_and_exist_or_not(
    warehouse: Warehouse, client: TestClient
) -> None:
    commit = warehouse.put(a="1")
    start = at(client, "main")
    found = client.get(f"{start}/namespaces/shop").json()
    assert found == {"namespace": ["shop"], "properties": {"vcs.commit": commit}}
    assert client.head(f"{start}/namespaces/shop").status_code == 204
    assert client.head(f"{start}/namespaces/nix").status_code == 404
    assert error(client, f"{start}/namespaces/nix")[:2] == (404, "NoSuchNamespaceException")
    assert error(client, f"{start}/namespaces/nix/tables")[1] == "NoSuchNamespaceException"
    assert error(client, f"{start}/namespaces/shop%1Fa")[1] == "NoSuchNamespaceException"
    assert error(client, f"{start}/namespaces?parent=nix")[1] == "NoSuchNamespaceException"
    assert client.get(f"{start}/namespaces?parent=shop").json()["namespaces"] == []
    assert client.get(f"{start}/namespaces?parent=").json()["namespaces"] == [["shop"]]


def test_tables_and_views_are_listed_apart(warehouse: Warehouse, client: TestClient) -> None:
    warehouse.put(b="1", a="1", v=warehouse.view("select id from shop.a"))
    start = at(client, "main") + "/namespaces/shop"
    tables = client.get(f"{start}/tables").json()
    assert [item["name"] for item in tables["identifiers"]] == ["a", "b"]
    views = client.get(f"{start}/views").json()
    assert views["identifiers"] == [{"namespace": ["shop"], "name": "v"}]
    assert version(client, f"{start}/views/v") == shown(warehouse, "shop.v")
    assert client.head(f"{start}/tables/a").status_code == 204
    assert client.head(f"{start}/tables/v").status_code == 404
    assert client.head(f"{start}/views/v").status_code == 204
    assert client.head(f"{start}/views/a").status_code == 404
    status, kind, told = error(client, f"{start}/tables/v")
    assert (status, kind) == (404, "NoSuchTableException")
    assert "it is a view" in told
    assert error(client, f"{start}/views/nix")[:2] == (404, "NoSuchViewException")
    assert error(client, f"{start}/tables/nix")[:2] == (404, "NoSuchTableException")


def test_a_table_in_a_namespace_that_is_not_there_is_no_table(
    warehouse: Warehouse, client: TestClient
) -> None:
    """Java's client asks so for `shop.a.snapshots`, and makes it of `shop.a` then."""
    warehouse.put(a="1")
    for path in ("main/namespaces/shop%1Fa", "namespaces/main%1Fshop%1Fa", "namespaces/nix"):
        told = error(client, f"/v1/{path}/tables/snapshots")
        assert told[:2] == (404, "NoSuchTableException")
        assert error(client, f"/v1/{path}/views/v")[1] == "NoSuchViewException"


def test_whether_a_table_exists_is_answered_without_making_its_document(
    warehouse: Warehouse, client: TestClient, maker: PlainMaker
) -> None:
    warehouse.put(a="1")
    client.head(at(client, "main") + "/namespaces/shop/tables/a")
    assert maker.made == []


def test_a_listing_comes_in_pages_for_who_asks_for_them(
    warehouse: Warehouse, client: TestClient
) -> None:
    names = [f"t{number}" for number in range(5)]
    warehouse.put(**dict.fromkeys(names, "1"))
    path = at(client, "main") + "/namespaces/shop/tables"
    seen, token, pages = [], "", 0
    while token is not None:
        found = client.get(path, params={"pageToken": token, "pageSize": "2"}).json()
        seen += [item["name"] for item in found["identifiers"]]
        token, pages = found["next-page-token"], pages + 1
        # A page follows the name that the last one ended with, whatever came meanwhile.
        warehouse.put(t0a="1")
    assert (seen, pages) == (names, 3)
    whole = client.get(path, params={"pageSize": "2"}).json()
    assert len(whole["identifiers"]) == 6 and whole["next-page-token"] is None
    sizes = [{"pageToken": "", "pageSize": size} for size in ("0", "-1", "x", "9" * 5_000)]
    for wrong in (*sizes, {"pageToken": "?"}):
        assert error(client, path, params=wrong)[:2] == (400, "BadRequestException")


def test_namespaces_come_in_pages_below_a_parent_too(
    warehouse: Warehouse, client: TestClient
) -> None:
    for schema in ("s1", "s2", "s3"):
        warehouse.put(schema=schema, a="1")
    asked = {"parent": "main", "pageToken": "", "pageSize": "2"}
    first = client.get("/v1/namespaces", params=asked).json()
    assert first["namespaces"] == [["main", "s1"], ["main", "s2"]]
    asked["pageToken"] = first["next-page-token"]
    assert client.get("/v1/namespaces", params=asked).json() == {
        "namespaces": [["main", "s3"]],
        "next-page-token": None,
    }


def test_a_client_may_want_only_the_snapshots_that_refs_name(
    warehouse: Warehouse, client: TestClient
) -> None:
    warehouse.put(a="1")
    path = at(client, "main") + "/namespaces/shop/tables/a"

    def numbers(**asked: str) -> list[int]:
        found = client.get(path, params=asked).json()["metadata"]["snapshots"]
        return [item["snapshot-id"] for item in found]

    assert numbers() == numbers(snapshots="all") == [1, 2, 3]
    assert numbers(snapshots="refs") == [1, 3]
    assert error(client, path, params={"snapshots": "some"})[:2] == (400, "BadRequestException")


def test_what_a_client_has_is_not_sent_again(warehouse: Warehouse, client: TestClient) -> None:
    warehouse.put(a="1", v=warehouse.view("select 1 as id"))
    start = at(client, "main") + "/namespaces/shop"
    for path in (f"{start}/tables/a", f"{start}/views/v"):
        first = client.get(path)
        tag = first.headers["ETag"]
        again = client.get(path, headers={"If-None-Match": f'"other", W/{tag}'})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == tag
    warehouse.put(a="2")
    moved = client.get(f"{start}/tables/a", headers={"If-None-Match": tag})
    assert moved.status_code == 200 and moved.headers["ETag"] != tag
    refs = client.get(f"{start}/tables/a", params={"snapshots": "refs"})
    assert refs.headers["ETag"] != moved.headers["ETag"]


@pytest.mark.parametrize(("role", "made"), [("reader", 1), ("writer", 2)])
def test_a_version_is_made_once_for_all_branches_that_show_it_to_readers(
    warehouse: Warehouse, client_of: Open, maker: PlainMaker, role: Role, made: int
) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    bearer = Bearer("b", (Grant(role),))
    client = client_of(TokenList(((hashlib.sha256(b"x").hexdigest(), bearer),)), "x")
    # Who may write to a branch is told where.
    for revision in ("main", "dev", "main"):
        client.get(at(client, revision) + "/namespaces/shop/tables/a")
    assert maker.made == ["shop.a"] * made


def test_a_table_that_can_not_go_over_names_its_column_and_stops_no_other(
    warehouse: Warehouse, client: TestClient, maker: PlainMaker
) -> None:
    warehouse.put(a="1", b="1")
    maker.refused = "a"
    start = at(client, "main") + "/namespaces/shop/tables"
    status, kind, told = error(client, f"{start}/a")
    assert (status, kind) == (400, "BadRequestException")
    assert "column v of shop.a" in told
    assert client.get(f"{start}/b").status_code == 200


def test_reports_of_scans_are_accepted(warehouse: Warehouse, client: TestClient) -> None:
    warehouse.put(a="1")
    start = at(client, "main") + "/namespaces/shop/tables"
    assert client.post(f"{start}/a/metrics", json={"report-type": "scan"}).status_code == 204
    assert client.post(f"{start}/nix/metrics", json={}).status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/v1/main/namespaces/shop/tables/a"),
        ("DELETE", "/v1/main/namespaces"),
        ("POST", "/v1/main/namespaces/shop/tables/a/plan"),
    ],
)
def test_what_is_not_offered_is_refused_with_a_sentence(
    warehouse: Warehouse, client: TestClient, method: str, path: str
) -> None:
    warehouse.put(a="1")
    head = warehouse.head()
    status, kind, told = error(client, path, method=method)
    assert (status, kind) == (406, "UnsupportedOperationException")
    assert "/v1/config" in told
    assert warehouse.head() == head


def test_what_is_nowhere_is_not_found(client: TestClient) -> None:
    for path in ("/", "/v2/config", "/v1/main/namespaces/", "/v1/main/nix"):
        assert error(client, path)[:2] == (404, "NotFoundException")


def test_credentials_are_not_exchanged_for_a_token(client: TestClient) -> None:
    found = client.post("/v1/oauth/tokens", data={"grant_type": "client_credentials"})
    assert found.status_code == 400
    assert found.json()["error"] == "unsupported_grant_type"
    assert "`token`" in found.json()["error_description"]


def test_an_unexpected_error_keeps_its_secrets(
    warehouse: Warehouse, client: TestClient, maker: PlainMaker
) -> None:
    warehouse.put(a="1")

    def fail(*_: Any, **__: Any) -> Any:
        raise KeyError("aws_secret_access_key=hush")

    maker.make = fail  # type: ignore[method-assign]
    status, kind, told = error(client, "/v1/main/namespaces/shop/tables/a")
    assert (status, kind) == (500, "InternalServerError")
    assert "KeyError" in told and "hush" not in told


def test_requests_are_answered_while_others_are_at_work(
    warehouse: Warehouse, client: TestClient, maker: PlainMaker
) -> None:
    """A document that takes long is made in a thread: it stops no other request."""
    import threading

    warehouse.put(a="1", b="1")
    at_work, go, make = threading.Event(), threading.Event(), maker.make

    def slow(commit: Any, relation: Any, entry: Any, **more: Any) -> Any:
        if relation.identifier == "a":
            at_work.set()
            assert go.wait(30)
        return make(commit, relation, entry, **more)

    maker.make = slow  # type: ignore[method-assign]
    with client:
        first = threading.Thread(target=client.get, args=("/v1/main/namespaces/shop/tables/a",))
        first.start()
        assert at_work.wait(30)
        assert client.get("/v1/main/namespaces/shop/tables/b").status_code == 200
        go.set()
        first.join(30)
    assert sorted(maker.made) == ["shop.a", "shop.b"]
