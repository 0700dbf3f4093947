"""`--empty`: models and seeds without rows, and macros on relations under it."""

import pytest
from dbt.cli.main import seed
from dbt.tests.adapter.empty import _models
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmptyInlineSourceRef,
    BaseTestEmptySeedFlag,
    MetadataWithEmptyFlag,
)
from dbt.tests.adapter.empty.test_empty import (
    TestEmpty as BaseEmpty,
)

needs_empty_seeds = pytest.mark.skipif(
    "empty" not in {parameter.name for parameter in seed.params},
    reason="seeds accept `--empty` only after dbt-core 1.11",
)


class TestEmpty(BaseEmpty):
    pass


class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


class TestEmptySeedFlag(BaseTestEmptySeedFlag):
    @needs_empty_seeds
    def test_seed_empty_creates_table_with_zero_rows(self, project):
        super().test_seed_empty_creates_table_with_zero_rows(project)

    @needs_empty_seeds
    def test_seed_empty_preserves_column_types(self, project):
        super().test_seed_empty_preserves_column_types(project)

    @needs_empty_seeds
    def test_build_empty_with_seed(self, project):
        super().test_build_empty_with_seed(project)


class TestMetadataWithEmptyFlag(MetadataWithEmptyFlag):
    """Spark has no varchar without a length."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "schema.yml": _models.SCHEMA,
            "control.sql": _models.CONTROL,
            "get_columns_in_relation.sql": _models.GET_COLUMNS_IN_RELATION,
            "alter_column_type.sql": _spark(_models.ALTER_COLUMN_TYPE),
            "alter_relation_comment.sql": _models.ALTER_RELATION_COMMENT,
            "alter_column_comment.sql": _models.ALTER_COLUMN_COMMENT,
            "alter_relation_add_remove_columns.sql": _spark(
                _models.ALTER_RELATION_ADD_REMOVE_COLUMNS
            ),
            "truncate_relation.sql": _models.TRUNCATE_RELATION,
        }


def _spark(model: str) -> str:
    return model.replace('"varchar"', '"string"')
