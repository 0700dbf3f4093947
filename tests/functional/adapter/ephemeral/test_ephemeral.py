"""Ephemeral models: common table expressions in what refers to them."""

import re
from pathlib import Path

from dbt.tests.adapter.ephemeral.test_ephemeral import (
    BaseEphemeralErrorHandling,
    BaseEphemeralMulti,
    BaseEphemeralNested,
)
from dbt.tests.util import check_relations_equal, run_dbt

MULTI = """
create or replace view test_test_ephemeral.double_dependent as
with __dbt__cte__base as (
    select * from test_test_ephemeral.seed
), __dbt__cte__base_copy as (
    select * from __dbt__cte__base
)
-- base_copy just pulls from base. Make sure the listed
-- graph of CTEs all share the same dbt_cte__base cte
select * from __dbt__cte__base where gender = 'Male'
union all
select * from __dbt__cte__base_copy where gender = 'Female'
"""
NESTED = """
create or replace view test_test_ephemeral.root_view as
with __dbt__cte__ephemeral_level_two as (
    select * from test_test_ephemeral.source_table
), __dbt__cte__ephemeral as (
    select * from __dbt__cte__ephemeral_level_two
)
select * from __dbt__cte__ephemeral
"""


class TestEphemeralMulti(BaseEphemeralMulti):
    """The suite compares with Postgres's statement: here with Spark's, in the same way."""

    def test_ephemeral_multi(self, project):
        run_dbt(["seed"])
        results = run_dbt(["run"])
        assert len(results) == 3
        for model in ("dependent", "double_dependent", "super_dependent"):
            check_relations_equal(project.adapter, ["seed", model])
        assert _sent("double_dependent") == _squeezed(MULTI)


class TestEphemeralNested(BaseEphemeralNested):
    """The suite compares with Postgres's statement: here with Spark's, in the same way."""

    def test_ephemeral_nested(self, project):
        results = run_dbt(["run"])
        assert len(results) == 2
        assert _sent("root_view") == _squeezed(NESTED)


class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass


def _sent(model: str) -> str:
    """Return the statement that dbt wrote for a model, without what differs from run to run."""
    return _squeezed(re.sub(r"\d+", "", Path(f"target/run/test/models/{model}.sql").read_text()))


def _squeezed(text: str) -> str:
    return "".join(text.split())
