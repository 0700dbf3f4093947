from __future__ import annotations

import pytest
from dbt.tests.adapter.utils import fixture_get_intervals_between as intervals_fixture
from dbt.tests.adapter.utils import test_current_timestamp as current_timestamp
from dbt.tests.adapter.utils import test_date as date
from dbt.tests.adapter.utils import test_date_spine as date_spine
from dbt.tests.adapter.utils import test_date_trunc as date_trunc
from dbt.tests.adapter.utils import test_dateadd as dateadd
from dbt.tests.adapter.utils import test_datediff as datediff
from dbt.tests.adapter.utils import test_get_intervals_between as get_intervals_between
from dbt.tests.adapter.utils import test_last_day as last_day
from dbt.tests.adapter.utils import test_timestamps as timestamps


class TestCurrentTimestampNaive(current_timestamp.BaseCurrentTimestampNaive):
    pass


@pytest.mark.skip(
    reason="Spark's TIMESTAMP has no time zone and is returned as a naive datetime; the suite "
    "requires either BaseCurrentTimestampAware or BaseCurrentTimestampNaive"
)
class TestCurrentTimestampAware(current_timestamp.TestCurrentTimestamp):
    pass


class TestCurrentTimestamps(timestamps.TestCurrentTimestamps):
    @pytest.fixture(scope="class")
    def expected_schema(self):
        return {
            "current_timestamp": "timestamp",
            "current_timestamp_in_utc_backcompat": "timestamp",
            "current_timestamp_backcompat": "timestamp",
        }

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return """
            select current_timestamp() as current_timestamp,
                   current_timestamp::timestamp as current_timestamp_in_utc_backcompat,
                   current_timestamp::timestamp as current_timestamp_backcompat
        """


class TestDate(date.TestDate):
    pass


class TestDateAdd(dateadd.TestDateAdd):
    pass


class TestDateDiff(datediff.TestDateDiff):
    pass


class TestDateSpine(date_spine.TestDateSpine):
    pass


class TestDateTrunc(date_trunc.TestDateTrunc):
    pass


class TestGetIntervalsBetween(get_intervals_between.TestGetIntervalsBetween):
    @pytest.fixture(scope="class")
    def models(self):
        american = intervals_fixture.models__test_get_intervals_between_sql
        return {
            "test_get_intervals_between.yml": (
                intervals_fixture.models__test_get_intervals_between_yml
            ),
            "test_get_intervals_between.sql": american.replace("09/01/2023", "2023-09-01").replace(
                "09/12/2023", "2023-09-12"
            ),
        }


class TestLastDay(last_day.TestLastDay):
    pass
