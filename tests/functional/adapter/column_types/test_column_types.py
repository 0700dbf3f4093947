"""What kind of type each column's type is."""

import pytest
from dbt.tests.adapter.column_types import fixtures
from dbt.tests.adapter.column_types.test_column_types import BasePostgresColumnTypes

MODEL = """
select
    1::smallint as smallint_col,
    2::integer as int_col,
    3::bigint as bigint_col,
    4.0::real as real_col,
    5.0::double as double_col,
    6.0::numeric as numeric_col,
    '7'::string as text_col,
    '8'::varchar(20) as varchar_col
"""


class TestColumnTypes(BasePostgresColumnTypes):
    """Spark spells two of the types differently: double and string."""

    @pytest.fixture(scope="class")
    def models(self):
        return {"model.sql": MODEL, "schema.yml": fixtures.schema_yml}
