"""`dbt clone`: tables as clones, or as views where a macro says so."""

import pytest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseClonePossible,
    BaseCloneSameSourceAndTarget,
    BaseCloneSameTargetAndState,
)
from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    TestPostgresCloneNotPossible as BaseCloneNotPossible,
)


class TestClonePossible(BaseClonePossible):
    pass


class TestCloneNotPossible(BaseCloneNotPossible):
    pass


class TestCloneSameSourceAndTarget(BaseCloneSameSourceAndTarget):
    """The suite spells names with a database, which is Spark's own catalog."""

    @pytest.fixture(scope="class")
    def project(self, project):
        project.database, none = "spark_catalog", project.database
        yield project
        project.database = none


class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    pass
