"""Models that run at once, of which one fails."""

import pytest
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency


class TestConcurrency(BaseConcurrency):
    """Checks the nodes that succeeded as well as those that failed."""

    @pytest.fixture(scope="class")
    def publish(self):
        return "always"
