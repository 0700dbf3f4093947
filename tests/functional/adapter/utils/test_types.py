from __future__ import annotations

import pytest
from dbt.tests.adapter.utils import test_cast as cast
from dbt.tests.adapter.utils import test_cast_bool_to_text as cast_bool_to_text
from dbt.tests.adapter.utils import test_safe_cast as safe_cast
from dbt.tests.adapter.utils.data_types import test_type_bigint as type_bigint
from dbt.tests.adapter.utils.data_types import test_type_boolean as type_boolean
from dbt.tests.adapter.utils.data_types import test_type_float as type_float
from dbt.tests.adapter.utils.data_types import test_type_int as type_int
from dbt.tests.adapter.utils.data_types import test_type_numeric as type_numeric
from dbt.tests.adapter.utils.data_types import test_type_string as type_string
from dbt.tests.adapter.utils.data_types import test_type_timestamp as type_timestamp

COLUMN_TYPE = """
seeds:
  - name: expected
    config:
      column_types:
        {column}: {type}
"""


class TestCast(cast.TestCast):
    pass


class TestCastBoolToText(cast_bool_to_text.TestCastBoolToText):
    pass


class TestSafeCast(safe_cast.TestSafeCast):
    pass


class TestTypeBigInt(type_bigint.TestTypeBigInt):
    pass


class TestTypeBoolean(type_boolean.TestTypeBoolean):
    pass


class TestTypeFloat(type_float.TestTypeFloat):
    @pytest.fixture(scope="class")
    def seeds(self):
        return {
            "expected.csv": type_float.seeds__expected_csv,
            "expected.yml": COLUMN_TYPE.format(column="float_col", type="float"),
        }


class TestTypeInt(type_int.TestTypeInt):
    @pytest.fixture(scope="class")
    def seeds(self):
        return {
            "expected.csv": type_int.seeds__expected_csv,
            "expected.yml": COLUMN_TYPE.format(column="int_col", type="int"),
        }


class TestTypeNumeric(type_numeric.TestTypeNumeric):
    def numeric_fixture_type(self):
        return "decimal(28,6)"


class TestTypeString(type_string.TestTypeString):
    pass


class TestTypeTimestamp(type_timestamp.TestTypeTimestamp):
    pass
