from __future__ import annotations

from pathlib import Path

import pytest
from dbt.tests.adapter.simple_seed import fixtures
from dbt.tests.adapter.simple_seed import test_seed as seed
from dbt.tests.adapter.simple_seed import test_seed_type_override as type_override
from dbt.tests.util import check_relations_equal

from ..dialect import SpeaksPostgres, speaking_postgres


class KeepsViews(SpeaksPostgres):
    """Where Postgres drops a view with the table that it reads, Spark's reads the new table."""

    def _check_relation_end_state(self, run_result, project, exists):
        super()._check_relation_end_state(run_result, project, exists=True)
        check_relations_equal(
            project.adapter, ["models__downstream_from_seed_actual", "seed_expected"]
        )


class TestBasicSeeds(KeepsViews, seed.TestBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(KeepsViews, seed.TestSeedConfigFullRefreshOn):
    pass


class TestSeedConfigFullRefreshOff(SpeaksPostgres, seed.TestSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(SpeaksPostgres, seed.TestSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(SpeaksPostgres, seed.TestSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(SpeaksPostgres, seed.TestSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(SpeaksPostgres, seed.TestSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(seed.TestSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(SpeaksPostgres, seed.TestSeedParsing):
    pass


class TestSimpleSeedWithBOM(seed.TestSimpleSeedWithBOM):
    @pytest.fixture(scope="class")
    def project(self, project):
        project.test_dir = Path(seed.__file__).parent
        return speaking_postgres(project)


class TestSeedSpecificFormats(seed.TestSeedSpecificFormats):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        # Spark's catalog knows no names with dots.
        seeds = {"test": {"seed.with.dots": {"alias": "seed_with_dots"}}, "quote_columns": False}
        return {"seeds": seeds}

    @pytest.fixture(scope="class")
    def test_data_dir(self, tmp_path_factory):
        return tmp_path_factory.mktemp("seeds") / "data"


class TestEmptySeed(seed.TestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(type_override.TestSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self):
        postgres = fixtures.properties__schema_yml
        return {
            "schema.yml": postgres.replace("type: text", "type: string")
            .replace("type: integer", "type: bigint")
            .replace("type: timestamp without time zone", "type: timestamp")
        }

    @staticmethod
    def seed_enabled_types():
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types():
        return {
            "seed_id_str": "string",
            "looks_like_a_bool": "string",
            "looks_like_a_date": "string",
        }
