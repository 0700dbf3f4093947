"""Iceberg's own clients read a repository through a server that runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError, NoSuchViewError, RESTError

from dbt.adapters.vcs.core.ids import ViewId
from dbt.adapters.vcs.core.model import RelationName, View, ViewColumn, ViewEntry
from dbt.adapters.vcs.core.repository import Proposal
from dbt.adapters.vcs.core.tree_changes import TreeChanges
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import duckdb_connection
from tests.unit.serve.server_process import ServerProcess, serving


def put_view(lake: Lake, name: str, text: str) -> None:
    """Commit a view without an engine, which would look at its columns."""
    view = View(text=text, columns=(ViewColumn(name="id", type="bigint"),))
    entry = ViewEntry(view=ViewId(lake.repository.objects.put(view)))
    base = lake.repository.branch("main").head
    changes = TreeChanges(relations={RelationName("s", name): entry})
    tree = lake.repository.edit(lake.repository.objects.commit(base).tree, changes)
    lake.repository.land(
        Proposal(branch="main", base=base, tree=tree, author="ann", message="view")
    )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Orders on main, changed on a branch."""
    lake = Lake(tmp_path_factory.mktemp("serve") / "lake")
    lake.run("create table s.orders (id bigint, name string, day date) partitioned by (day)")
    lake.add("orders", [(1, "a", date(2026, 11, 1)), (2, None, None)])
    lake.run("create table s.spans (id bigint, length interval day to second)")
    put_view(lake, "named", "select id, name from s.orders")
    head = lake.repository.branch("main").head
    lake.repository.create_branch("feature/tax", head, author="ann")
    lake.repository.create_tag("v1", head, author="ann")
    lake.add("orders", [(3, "c", date(2026, 11, 2))])
    lake.delete("orders", (0, 0))
    return lake


@pytest.fixture(scope="module")
def server(lake: Lake) -> Iterator[ServerProcess]:
    with serving(Path(lake.blobs.uri)) as running:
        yield running


OLD = [(1, "a", date(2026, 11, 1)), (2, None, None)]
NEW = [(2, None, None), (3, "c", date(2026, 11, 2))]


def catalog(server: ServerProcess, warehouse: str | None = None) -> RestCatalog:
    asked = {} if warehouse is None else {"warehouse": warehouse}
    return RestCatalog("vcs", uri=server.url, **asked)


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize(
    ("warehouse", "expected"),
    [("main", NEW), ("feature/tax", OLD), ("v1", OLD), ("main~2", OLD), ("main@{0}", NEW)],
)
def test_pyiceberg_reads_any_revision(
    server: ServerProcess, warehouse: str, expected: list[tuple[Any, ...]]
) -> None:
    table = catalog(server, warehouse).load_table("s.orders")
    assert rows(table.scan().to_arrow()) == expected


def test_pyiceberg_reads_all_branches_in_one_catalog(server: ServerProcess) -> None:
    every = catalog(server)
    assert every.list_namespaces() == [("feature/tax",), ("main",)]
    assert every.list_namespaces(("feature/tax",)) == [("feature/tax", "s")]
    assert every.list_tables(("feature/tax", "s")) == [
        ("feature/tax", "s", "orders"),
        ("feature/tax", "s", "spans"),
    ]
    assert rows(every.load_table(("feature/tax", "s", "orders")).scan().to_arrow()) == OLD
    assert rows(every.load_table(("main", "s", "orders")).scan("id > 2").to_arrow()) == NEW[1:]


def test_pyiceberg_asks_what_there_is(server: ServerProcess) -> None:
    main = catalog(server, "main")
    assert main.list_namespaces() == [("s",)]
    assert main.namespace_exists("s") and not main.namespace_exists("nix")
    assert "vcs.commit" in main.load_namespace_properties("s")
    assert main.table_exists("s.orders") and not main.table_exists("s.named")
    assert main.list_views("s") == [("s", "named")]
    assert main.view_exists("s.named") and not main.view_exists("s.orders")
    view = main.load_view("s.named").metadata
    assert "orders" in view.versions[0].representations[0].root.sql
    with pytest.raises(NoSuchTableError):
        main.load_table("s.nix")
    with pytest.raises(NoSuchViewError):
        main.load_view("s.nix")


def test_pyiceberg_is_told_which_column_can_not_go_over(server: ServerProcess) -> None:
    with pytest.raises(RESTError, match="length"):
        catalog(server, "main").load_table("s.spans")


def test_pyiceberg_travels_to_versions_that_were_shown_before(
    server: ServerProcess, lake: Lake
) -> None:
    table = catalog(server, "main").load_table("s.orders")
    first = next(item for item in table.snapshots() if item.summary["total-records"] == "2")
    assert rows(table.scan(snapshot_id=first.snapshot_id).to_arrow()) == OLD
    last = table.current_snapshot()
    assert last is not None and last.summary is not None
    assert last.summary["vcs.commit"] == lake.repository.branch("main").head


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb_connection("httpfs") as connection:
        yield connection


@pytest.mark.parametrize(("warehouse", "expected"), [("main", NEW), ("feature/tax", OLD)])
def test_duckdb_attaches_any_revision(
    server: ServerProcess,
    duck: duckdb.DuckDBPyConnection,
    warehouse: str,
    expected: list[tuple[Any, ...]],
) -> None:
    duck.execute(
        f"attach '{warehouse}' as vcs "
        f"(type iceberg, endpoint '{server.url}', authorization_type 'none')"
    )
    try:
        found = duck.execute("select * from vcs.s.orders").fetch_arrow_table()
        assert rows(found) == expected
        shown = duck.execute(
            "select table_name from information_schema.tables where table_catalog = 'vcs'"
        ).fetchall()
        assert ("orders",) in shown
    finally:
        duck.execute("detach vcs")
