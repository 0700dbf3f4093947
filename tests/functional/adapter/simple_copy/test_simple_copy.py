from __future__ import annotations

import pytest
from dbt.tests.adapter.simple_copy import test_copy_uppercase as uppercase
from dbt.tests.adapter.simple_copy import test_simple_copy as simple_copy
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import get_connection


class TestSimpleCopy(simple_copy.TestSimpleCopyBase):
    @pytest.mark.skip(reason="Apache Spark has materialized views only in its pipelines")
    def test_simple_copy_with_materialized_views(self, project):
        pass


class TestEmptyModelsArentRun(simple_copy.TestEmptyModelsArentRun):
    @pytest.fixture(scope="class")
    def project(self, project: TestProjInfo) -> TestProjInfo:
        """Ask the adapter for what Postgres's information_schema would show."""

        def tables() -> dict[str, str]:
            adapter = project.adapter
            schema = adapter.Relation.create(schema=project.test_schema)
            with get_connection(adapter):
                found = adapter.list_relations_without_caching(schema)
            return {relation.identifier: str(relation.type) for relation in found}

        project.get_tables_in_schema = tables
        return project


class TestSimpleCopyUppercase(uppercase.TestSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        return dbt_profile_target
