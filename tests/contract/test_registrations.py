"""Exported tables in PyIceberg's SQL catalog, and in a simulated Glue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.glue import GlueCatalog

from dbt.adapters.vcs.changes.merges.project_rules import ExportRule
from tests.contract.registrations import Registrations, exported
from tests.unit.iceberg.lake import Lake


class TestSql(Registrations):
    @pytest.fixture
    def properties(self, tmp_path: Path) -> dict[str, str]:
        return {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db"}

    @pytest.fixture
    def down(self, tmp_path: Path) -> dict[str, str]:
        return {"uri": f"sqlite:///{tmp_path}/no folder/catalog.db"}


class TestGlue(Registrations):
    @pytest.fixture
    def properties(self, s3_endpoint: str) -> Iterator[dict[str, str]]:
        properties = {
            "type": "glue",
            "glue.endpoint": s3_endpoint,
            "glue.region": "us-east-1",
            "glue.access-key-id": "testing",
            "glue.secret-access-key": "not-a-secret",
        }
        yield properties
        glue = GlueCatalog("lake", **properties).glue
        for database in glue.get_databases()["DatabaseList"]:
            glue.delete_database(Name=database["Name"])

    @pytest.fixture
    def down(self) -> dict[str, str]:
        # Nothing listens there.
        return {"glue.endpoint": "http://127.0.0.1:9", "glue.max-retries": "0"}

    @pytest.mark.parametrize("parameters", [{}, {"table_type": "HUDI"}])
    def test_a_table_that_is_none_of_icebergs_is_left_alone(
        self, lake: Lake, rule: ExportRule, catalog: GlueCatalog, parameters: dict[str, str]
    ) -> None:
        catalog.create_namespace("s")
        table = {
            "Name": "t",
            "TableType": "EXTERNAL_TABLE",
            "Parameters": parameters,
            "StorageDescriptor": {"Columns": [], "Location": "s3://elsewhere/t"},
        }
        catalog.glue.create_table(DatabaseName="s", TableInput=table)
        lake.run("create table s.u (id bigint)")
        done = exported(lake, rule)
        assert done.registered == ("s.u",)
        assert "another table s.t" in done.refused["s.t"]
        found = catalog.glue.get_table(DatabaseName="s", Name="t")["Table"]
        assert (found.get("Parameters", {}), found["StorageDescriptor"]["Location"]) == (
            parameters,
            "s3://elsewhere/t",
        )
