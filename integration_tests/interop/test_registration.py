"""Exported tables and views in a REST catalog of another maker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest
from pyiceberg.catalog import Catalog, load_catalog

from dbt.adapters.vcs.changes.merges.project_rules import ExportRule
from dbt.adapters.vcs.iceberg.exports import export
from tests.contract.registrations import Registrations, exported, ids
from tests.unit.iceberg.lake import Lake

from .rest_catalog import rest_catalog


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with rest_catalog(tmp_path_factory.mktemp("rest catalog")) as address:
        yield address


class TestRest(Registrations):
    @pytest.fixture
    def properties(self, address: str) -> Iterator[dict[str, str]]:
        properties = {"type": "rest", "uri": address}
        yield properties
        catalog = load_catalog("lake", **properties)
        for namespace in catalog.list_namespaces():
            for table in catalog.list_tables(namespace):
                catalog.drop_table(table)
            for view in catalog.list_views(namespace):
                catalog.drop_view(view)
            catalog.drop_namespace(namespace)

    @pytest.fixture
    def down(self) -> dict[str, str]:
        # Nothing listens there.
        return {"uri": "http://127.0.0.1:9"}

    def test_views_are_registered_and_replaced(
        self, lake: Lake, rule: ExportRule, catalog: Catalog
    ) -> None:
        lake.view("v", "select id from s.t")
        assert exported(lake, rule).registered == ("s.t", "s.v")
        assert shown(catalog) == "select id from s.t"
        lake.view("v", "select id + 1 id from s.t")
        assert exported(lake, rule).registered == ("s.v",)
        assert shown(catalog) == "select id + 1 id from s.t"
        lake.run("drop view s.v")
        assert exported(lake, rule).dropped == ("s.v",)
        assert catalog.list_views("s") == []

    def test_a_table_that_becomes_a_view_changes_its_kind(
        self, lake: Lake, rule: ExportRule, catalog: Catalog
    ) -> None:
        exported(lake, rule)
        lake.view("t", "select 1 id")
        done = exported(lake, rule)
        assert (done.registered, done.refused) == (("s.t",), {})
        assert catalog.list_tables("s") == [] and catalog.list_views("s") == [("s", "t")]

    def test_a_table_whose_name_a_view_of_somebody_else_has_is_refused(
        self, lake: Lake, rule: ExportRule, catalog: Catalog
    ) -> None:
        lake.view("v", "select 1 id")
        exported(lake, rule)
        location = next(iter(export(lake.repository, "main", everything=True).views.values()))
        catalog.register_view(("s", "u"), location)
        lake.run("create table s.u (id bigint)")
        lake.run("create table s.w (id bigint)")
        done = exported(lake, rule)
        assert done.registered == ("s.w",)
        assert "something else of the name s.u" in done.refused["s.u"]
        assert catalog.list_views("s") == [("s", "u"), ("s", "v")]

    def test_what_the_server_cant_read_is_refused_and_the_others_go_on(
        self, lake: Lake, rule: ExportRule, catalog: Catalog
    ) -> None:
        exported(lake, rule)
        lake.add("t", [(2,)])
        exported(lake, rule)
        # Everything below this folder can be made again.
        rmtree(Path(lake.blobs.uri) / "iceberg")
        lake.run("create table s.u (id bigint)")
        done = exported(lake, rule)
        assert done.registered == ("s.u",)
        assert "something else of the name s.t" in done.refused["s.t"]
        assert "v2.metadata.json" in done.refused["s.t"]
        catalog.drop_table("s.t")
        assert exported(lake, rule).registered == ("s.t",)
        assert ids(catalog) == [1, 2]


def shown(catalog: Catalog) -> str:
    """Return the query of a view in the catalog."""
    (told,) = catalog.load_view("s.v").metadata.versions[-1].representations
    return str(told.root.sql)
