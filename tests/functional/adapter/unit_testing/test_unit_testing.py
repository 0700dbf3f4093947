from __future__ import annotations

import pytest
from dbt.tests.adapter.unit_testing import test_case_insensitivity as case_insensitivity
from dbt.tests.adapter.unit_testing import test_invalid_input as invalid_input
from dbt.tests.adapter.unit_testing import test_quoted_reserved_word_column_names as reserved
from dbt.tests.adapter.unit_testing import test_types as types


class TestCaseInsensitivity(case_insensitivity.TestPosgresUnitTestCaseInsensitivity):
    pass


class TestInvalidInput(invalid_input.TestPostgresUnitTestInvalidInput):
    pass


class TestQuotedReservedWordColumnNames(reserved.BaseUnitTestQuotedReservedWordColumnNames):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model.sql": reserved.my_model_sql,
            "my_upstream_model.sql": "select 1 as `GROUP`",
            "unit_tests.yml": reserved.test_my_model_csv_fixtures_yml,
        }


class TestTypes(types.TestPostgresUnitTestingTypes):
    @pytest.fixture
    def data_types(self):
        return [
            ["1", "1"],
            ["'1'", "1"],
            ["true", "true"],
            ["1.5d", "1.5"],
            ["cast(1 as decimal(10, 2))", "1"],
            ["date '2020-01-02'", "2020-01-02"],
            ["timestamp '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
            ["timestamp_ntz '2013-11-03 00:00:00'", "2013-11-03 00:00:00"],
            ["array('a', 'it\\'s')", """ "array('a', 'it\\\\'s')" """],
            ["array(1, 2, 3)", "'array(1, 2, 3)'"],
            ["map('a', 1, 'b', null)", """'map("a", 1, "b", null)'"""],
            ["named_struct('a', 1, 'b', 'c')", """'named_struct("a", 1, "b", "c")'"""],
        ]


class TestVarcharFixtureNoTruncation(types.BaseUnitTestingVarcharFixtureNoTruncation):
    pass
