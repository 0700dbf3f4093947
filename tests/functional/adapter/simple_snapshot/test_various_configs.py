from __future__ import annotations

import pytest
from dbt.tests.adapter.simple_snapshot import fixtures
from dbt.tests.adapter.simple_snapshot import test_various_configs as various_configs
from dbt.tests.util import run_sql_with_adapter

from ..dialect import SpeaksPostgres


class OfSeed(SpeaksPostgres):
    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"snapshot.sql": fixtures.snapshot_actual_sql.replace("{{target.database}}.", "")}


class TestSnapshotColumnNames(OfSeed, various_configs.BaseSnapshotColumnNames):
    pass


class TestSnapshotColumnNamesFromDbtProject(
    OfSeed, various_configs.BaseSnapshotColumnNamesFromDbtProject
):
    pass


class TestSnapshotInvalidColumnNames(OfSeed, various_configs.BaseSnapshotInvalidColumnNames):
    pass


class TestSnapshotDbtValidToCurrent(OfSeed, various_configs.BaseSnapshotDbtValidToCurrent):
    @pytest.fixture(autouse=True)
    def rows_in_order(self, monkeypatch):
        """Ask for the order that the test expects of Postgres, though SQL promises none."""

        def run_in_order(adapter, sql, fetch):
            return run_sql_with_adapter(adapter, f"{sql} order by id, test_valid_to", fetch)

        monkeypatch.setattr(various_configs, "run_sql_with_adapter", run_in_order)


class TestSnapshotMultiUniqueKey(SpeaksPostgres, various_configs.BaseSnapshotMultiUniqueKey):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "seed.sql": fixtures.model_seed_sql.replace("{{target.database}}.", ""),
            "snapshots.yml": fixtures.snapshots_multi_key_yml,
            "ref_snapshot.sql": fixtures.ref_snapshot_sql,
        }
