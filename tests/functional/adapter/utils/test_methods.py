"""Methods of the adapter that no macro of dbt's calls."""

from __future__ import annotations

from dbt.tests.adapter.utils import test_source_freshness_custom_info as source_freshness
from dbt.tests.adapter.utils import test_validate_sql as validate_sql


class TestCalculateFreshness(source_freshness.TestCalculateFreshnessMethod):
    pass


class TestValidateSql(validate_sql.TestValidateSqlMethod):
    pass
