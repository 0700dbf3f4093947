from __future__ import annotations

import pytest
from dbt.tests.adapter.incremental import fixtures
from dbt.tests.adapter.incremental import test_incremental_merge_exclude_columns as exclude_columns
from dbt.tests.adapter.incremental import test_incremental_microbatch as microbatch
from dbt.tests.adapter.incremental import test_incremental_on_schema_change as on_schema_change
from dbt.tests.adapter.incremental import test_incremental_predicates as predicates
from dbt.tests.adapter.incremental import test_incremental_unique_id as unique_key

from ..dialect import SpeaksPostgres


class TestMergeExcludeColumns(exclude_columns.BaseMergeExcludeColumns):
    pass


class TestMicrobatch(microbatch.BaseMicrobatch):
    pass


class TestMicrobatchByPartition(microbatch.BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self):
        return """
            {{ config(
                materialized='incremental', incremental_strategy='microbatch',
                event_time='event_time', batch_size='day', partition_by='event_day',
                begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0)
            ) }}
            select *, cast(event_time as date) as event_day from {{ ref('input_model') }}
        """


class TestOnSchemaChange(on_schema_change.TestIncrementalOnSchemaChange):
    pass


class TestOnSchemaChangeWithMerge(on_schema_change.BaseIncrementalOnSchemaChange):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "merge"}}


class TestOnSchemaChangeWithDeleteInsert(on_schema_change.BaseIncrementalOnSchemaChange):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "delete+insert"}}


class TestOnSchemaChangeWithAppend(on_schema_change.BaseIncrementalOnSchemaChange):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "append"}}


class TestOnSchemaChangeWithInsertOverwrite(on_schema_change.BaseIncrementalOnSchemaChange):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "insert_overwrite", "+partition_by": "id"}}


class TestOnSchemaChangeOfOddNames(on_schema_change.BaseIncrementalOnSchemaChangeSetup):
    """The suite's models whose columns hold spaces, dashes and dots, or are called `select`."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "model_a_special_chars.sql": fixtures._MODELS__A_SPECIAL_CHARS,
            "append_new.sql": fixtures._MODELS__INCREMENTAL_APPEND_NEW_SPECIAL_CHARS,
            "append_new_target.sql": fixtures._MODELS__INCREMENTAL_APPEND_NEW_SPECIAL_CHARS_TARGET,
            "sync_all.sql": fixtures._MODELS__INCREMENTAL_SYNC_ALL_SPECIAL_CHARS,
            "sync_all_target.sql": fixtures._MODELS__INCREMENTAL_SYNC_ALL_SPECIAL_CHARS_TARGET,
        }

    @pytest.mark.parametrize("model", ["append_new", "sync_all"])
    def test_columns_of_odd_names(self, project, model):
        select = f"model_a_special_chars {model} {model}_target"
        self.run_twice_and_assert(select, model, f"{model}_target", project)


class TestPredicatesDeleteInsert(predicates.TestIncrementalPredicatesDeleteInsert):
    pass


class TestPredicatesDeleteInsertByOldName(predicates.TestPredicatesDeleteInsert):
    pass


class TestPredicatesMerge(predicates.BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "models": {
                "+incremental_predicates": ["DBT_INTERNAL_DEST.id != 2"],
                "+incremental_strategy": "merge",
            }
        }


class TestUniqueKey(SpeaksPostgres, unique_key.TestIncrementalUniqueKey):
    pass


class TestUniqueKeyDeleteInsert(SpeaksPostgres, unique_key.BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "delete+insert"}}
