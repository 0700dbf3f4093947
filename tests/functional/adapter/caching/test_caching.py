"""What dbt's cache of relations holds after a run."""

from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel,
    BaseNoPopulateCache,
)
from dbt.tests.util import run_dbt


class WithoutDatabases:
    """The suite's checks, without the names of databases: on Spark relations have none."""

    def run_and_inspect_cache(self, project, run_args=None):
        first = self._only_one(project, run_args)
        assert first.schema == project.test_schema == project.test_schema.lower()
        second = self._only_one(project, run_args)
        assert first.database is second.database is None
        assert first.schema.lower() == second.schema.lower()
        assert first.identifier.lower() == second.identifier.lower()

    def _only_one(self, project, run_args):
        run_dbt(run_args)
        (relation,) = project.adapter.cache.relations
        return relation


class TestCachingLowercaseModel(WithoutDatabases, BaseCachingLowercaseModel):
    pass


class TestCachingUppercaseModel(WithoutDatabases, BaseCachingUppercaseModel):
    pass


class TestCachingSelectedSchemaOnly(WithoutDatabases, BaseCachingSelectedSchemaOnly):
    pass


class TestNoPopulateCache(WithoutDatabases, BaseNoPopulateCache):
    pass
