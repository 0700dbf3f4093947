"""What holds in any catalog in which exported tables are registered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog

from dbt.adapters.vcs.changes.merges.project_rules import CatalogTarget, ExportRule
from dbt.adapters.vcs.iceberg.branch_export import Registration
from dbt.adapters.vcs.iceberg.exports import export, export_after
from tests.unit.iceberg.lake import Lake


def rule_for(properties: Mapping[str, str], namespace: str = "{schema}") -> ExportRule:
    target = CatalogTarget(name="lake", properties=properties, namespace=namespace)
    return ExportRule(pattern="*", catalog=target)


def exported(lake: Lake, rule: ExportRule, **options: Any) -> Registration:
    report = export(lake.repository, "main", rule, **options)
    assert report.registration is not None
    return report.registration


def ids(catalog: Catalog, name: str = "s.t") -> list[int]:
    return sorted(catalog.load_table(name).scan().to_arrow().column("id").to_pylist())


def names(catalog: Catalog, namespace: str = "s") -> list[str]:
    return sorted(name for _, name in catalog.list_tables(namespace))


class Registrations:
    """The suite; a class of tests for one catalog has a fixture `properties` besides."""

    @pytest.fixture
    def lake(self, tmp_path: Path) -> Lake:
        lake = Lake(tmp_path / "lake")
        lake.run("create table s.t (id bigint)")
        lake.add("t", [(1,)])
        return lake

    @pytest.fixture
    def rule(self, properties: Mapping[str, str]) -> ExportRule:
        return rule_for(properties)

    @pytest.fixture
    def catalog(self, properties: Mapping[str, str]) -> Catalog:
        return load_catalog("lake", **properties)

    def test_a_catalog_shows_what_the_export_does(
        self, lake: Lake, rule: ExportRule, catalog: Catalog
    ) -> None:
        assert exported(lake, rule).registered == ("s.t",)
        assert ids(catalog) == [1]
        lake.add("t", [(2,)])
        lake.run("create table s.u (id bigint)")
        assert exported(lake, rule).registered == ("s.t", "s.u")
        assert ids(catalog) == [1, 2] and ids(catalog, "s.u") == []
        assert exported(lake, rule).registered == ()
        assert len(catalog.load_table("s.t").metadata.snapshots) == 3

    def test_a_dropped_table_leaves_the_catalog(
        self, lake: Lake, rule: ExportRule, catalog: Catalog
    ) -> None:
        exported(lake, rule)
        lake.run("drop table s.t")
        assert exported(lake, rule).dropped == ("s.t",)
        assert names(catalog) == []
        lake.run("create table s.t (id bigint)")
        lake.add("t", [(3,)])
        assert exported(lake, rule).registered == ("s.t",)
        assert ids(catalog) == [3]

    def test_a_table_that_was_made_again_meanwhile_takes_the_place_of_the_old(
        self, lake: Lake, rule: ExportRule, catalog: Catalog
    ) -> None:
        for number in range(2, 4):
            lake.add("t", [(number,)])
            exported(lake, rule)
        # The catalog isn't told, as if it were down.
        lake.run("drop table s.t")
        export(lake.repository, "main")
        lake.run("create table s.t (id bigint)")
        lake.add("t", [(9,)])
        assert exported(lake, rule).registered == ("s.t",)
        assert ids(catalog) == [9]

    def test_a_renamed_table_has_its_new_name_alone(
        self, lake: Lake, rule: ExportRule, catalog: Catalog
    ) -> None:
        exported(lake, rule)
        lake.run("alter table s.t rename to s.u")
        done = exported(lake, rule)
        assert (done.registered, done.dropped) == (("s.u",), ("s.t",))
        assert names(catalog) == ["u"] and ids(catalog, "s.u") == [1]

    def test_everything_is_registered_again_if_the_catalog_lost_it(
        self, lake: Lake, rule: ExportRule, catalog: Catalog
    ) -> None:
        exported(lake, rule)
        catalog.drop_table("s.t")
        assert exported(lake, rule).registered == ()
        assert exported(lake, rule, everything=True).registered == ("s.t",)
        assert ids(catalog) == [1]

    def test_a_table_of_somebody_else_is_left_alone(
        self, lake: Lake, rule: ExportRule, catalog: Catalog, tmp_path: Path
    ) -> None:
        catalog.create_namespace("s")
        schema = pa.schema([("id", pa.int64())])
        other = catalog.create_table("s.t", schema, location=f"file://{tmp_path}/other")
        other.append(pa.table({"id": [7]}))
        lake.run("create table s.u (id bigint)")
        done = exported(lake, rule)
        assert done.registered == ("s.u",)
        assert "another table s.t" in done.refused["s.t"]
        assert ids(catalog) == [7]
        said: list[str] = []
        export_after(lake.repository, "main", rule, said.append)
        assert said[0].startswith("s.t is not registered in lake: ")
        # It isn't dropped either when ours is, and makes way when its owner drops it.
        lake.run("drop table s.u")
        assert exported(lake, rule).dropped == ("s.u",)
        catalog.drop_table("s.t")
        assert exported(lake, rule).registered == ("s.t",)
        assert ids(catalog) == [1]

    def test_a_table_that_another_engine_committed_to_is_left_alone(
        self, lake: Lake, rule: ExportRule, catalog: Catalog
    ) -> None:
        exported(lake, rule)
        with catalog.load_table("s.t").transaction() as change:
            change.set_properties(owner="bob")
        lake.add("t", [(2,)])
        assert "another table s.t" in exported(lake, rule).refused["s.t"]
        assert catalog.load_table("s.t").properties["owner"] == "bob"

    def test_branches_of_one_rule_have_namespaces_of_their_own(
        self, lake: Lake, properties: Mapping[str, str], catalog: Catalog
    ) -> None:
        rule = rule_for(properties, "{branch}_{schema}")
        lake.repository.create_branch("a/b", lake.repository.branch("main").head, author="ann")
        for branch in ("main", "a/b"):
            export(lake.repository, branch, rule)
        assert ids(catalog, "main_s.t") == ids(catalog, "a_b_s.t") == [1]

    def test_a_catalog_that_is_down_undoes_nothing_and_catches_up(
        self,
        lake: Lake,
        properties: Mapping[str, str],
        rule: ExportRule,
        catalog: Catalog,
        down: Mapping[str, str],
    ) -> None:
        exported(lake, rule)
        lake.add("t", [(2,)])
        said: list[str] = []
        head = lake.repository.branch("main").head
        export_after(lake.repository, "main", rule_for({**properties, **down}), said.append)
        assert "dbt-vcs export --branch main" in said[0] and "'lake'" in said[0]
        assert lake.repository.branch("main").head == head
        assert ids(catalog) == [1]
        assert exported(lake, rule).registered == ("s.t",)
        assert ids(catalog) == [1, 2]
