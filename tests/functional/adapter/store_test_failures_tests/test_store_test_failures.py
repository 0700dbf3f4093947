from __future__ import annotations

import pytest
from dbt.tests.adapter.store_test_failures_tests import basic
from dbt.tests.adapter.store_test_failures_tests import test_store_test_failures as flag


class Published:
    """Lets the branch show what a run stored whose tests failed."""

    @pytest.fixture(scope="class")
    def publish(self):
        return "always"


class TestStoreTestFailures(Published, flag.TestStoreTestFailures):
    pass


class TestStoreTestFailuresLimit(Published, flag.TestStoreTestFailuresLimit):
    pass


class TestStoreTestFailuresAsInteractions(Published, basic.StoreTestFailuresAsInteractions):
    pass


class TestStoreTestFailuresAsProjectLevelOff(Published, basic.StoreTestFailuresAsProjectLevelOff):
    pass


class TestStoreTestFailuresAsProjectLevelView(
    Published, basic.StoreTestFailuresAsProjectLevelView
):
    pass


class TestStoreTestFailuresAsProjectLevelEphemeral(
    Published, basic.StoreTestFailuresAsProjectLevelEphemeral
):
    pass


class TestStoreTestFailuresAsGeneric(Published, basic.StoreTestFailuresAsGeneric):
    pass


class TestStoreTestFailuresAsExceptions(Published, basic.StoreTestFailuresAsExceptions):
    pass
