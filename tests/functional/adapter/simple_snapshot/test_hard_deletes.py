from __future__ import annotations

import pytest
from dbt.tests.adapter.simple_snapshot import (
    new_record_check_mode,
    new_record_dbt_valid_to_current,
    new_record_timestamp_mode,
)
from dbt.tests.adapter.simple_snapshot import test_ephemeral_snapshot_hard_deletes as ephemeral

from ..dialect import SpeaksPostgres

NO_DATABASE = ("{{target.database}}.", "")


class TestNewRecordTimestampMode(
    SpeaksPostgres, new_record_timestamp_mode.BaseSnapshotNewRecordTimestampMode
):
    @pytest.fixture(scope="class")
    def snapshots(self):
        return {
            "snapshot.sql": new_record_timestamp_mode._snapshot_actual_sql.replace(*NO_DATABASE)
        }


class TestNewRecordCheckMode(SpeaksPostgres, new_record_check_mode.BaseSnapshotNewRecordCheckMode):
    @pytest.fixture(scope="class")
    def snapshots(self):
        return {
            "snapshot.sql": new_record_timestamp_mode._snapshot_actual_sql.replace(*NO_DATABASE)
        }


class TestNewRecordDbtValidToCurrent(
    SpeaksPostgres, new_record_dbt_valid_to_current.BaseSnapshotNewRecordDbtValidToCurrent
):
    @pytest.fixture(scope="class")
    def snapshots(self):
        postgres = new_record_dbt_valid_to_current._snapshot_actual_sql
        return {"snapshot.sql": postgres.replace(*NO_DATABASE)}


class EphemeralCustomers(SpeaksPostgres):
    """The statements that the tests fill in themselves, for a catalog without databases."""

    @pytest.fixture(scope="class")
    def source_create_sql(self):
        return _without_database(ephemeral._source_create_sql)

    @pytest.fixture(scope="class")
    def source_insert_sql(self):
        return _without_database(ephemeral._source_insert_sql)

    @pytest.fixture(scope="class")
    def source_alter_sql(self):
        # Rows that are there show NULL in a new column; a default would have to be written.
        postgres = ephemeral._source_alter_sql.replace(" default 'dummy_value'", "")
        return _without_database(postgres)

    @pytest.fixture(scope="class")
    def source_delete_sql(self):
        return _without_database(ephemeral._source_delete_sql)


class TestEphemeralHardDeletes(EphemeralCustomers, ephemeral.BaseSnapshotEphemeralHardDeletes):
    pass


class TestNewColumnTimestampStrategy(
    EphemeralCustomers, ephemeral.BaseSnapshotNewColumnTimestampStrategy
):
    pass


class TestNewColumnSpecificCheckCols(
    EphemeralCustomers, ephemeral.BaseSnapshotNewColumnSpecificCheckCols
):
    pass


class TestNewColumnWithDeletes(EphemeralCustomers, ephemeral.BaseSnapshotNewColumnWithDeletes):
    pass


def _without_database(postgres: str) -> str:
    return postgres.replace("{database}.", "")
