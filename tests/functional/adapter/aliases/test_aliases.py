"""Names of relations that differ from their models' names."""

import pytest
from dbt.tests.adapter.aliases import fixtures
from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors,
    BaseAliases,
    BaseSameAliasDifferentDatabases,
    BaseSameAliasDifferentSchemas,
)

TEXT = "{% macro vcs__string_literal(s) %}cast('{{ s }}' as string){% endmacro %}"


class SparkText:
    """The suite's macro casts to Postgres's text."""

    @pytest.fixture(scope="class")
    def macros(self):
        return {
            "cast.sql": fixtures.MACROS__CAST_SQL + TEXT,
            "expect_value.sql": fixtures.MACROS__EXPECT_VALUE_SQL,
        }


class TestAliases(SparkText, BaseAliases):
    pass


class TestAliasErrors(SparkText, BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(SparkText, BaseSameAliasDifferentSchemas):
    pass


class TestSameAliasDifferentDatabases(SparkText, BaseSameAliasDifferentDatabases):
    pass
