"""What a bisection computes in this process is what Spark computes."""

from __future__ import annotations

from contextlib import closing

import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.commands.bisect_condition import Probes, condition_of
from dbt.adapters.vcs.core.graph import Mark
from dbt.adapters.vcs.engines.port import Engine

from .conftest import Sql

pytestmark = pytest.mark.spark

ROWS = """
    values (1, -1.5D, 'a', date'2026-01-01', true), (2, double('nan'), null, null, null),
    (3, null, 'B', date'2026-01-03', false), (null, 0D, '', date'2026-01-04', true)
    as t(id, x, s, day, flag)
"""
FILTERS = [
    "id = 2",
    "not id = 2",
    "id <> 1 or x > 0",
    "x > 5",
    "x < 0",
    "x >= 0 and x is not null",
    "s is null",
    "s in ('b', 'A')",
    "s like 'B%'",
    "s > 'B'",
    "day between '2026-01-02' and '2026-01-03'",
    "day > date'2026-01-04'",
    "flag",
    "not flag",
    "id is null and flag",
]


def test_both_say_the_same(client: Client, sql: Sql) -> None:
    sql(f"create table t as select * from {ROWS}")
    sql("delete from t where id = 3")
    sql("insert into t values (3, 7D, 'B', date'2026-01-03', false)")
    (counts,) = sql(f"select {', '.join(f'count_if({filter})' for filter in FILTERS)} from t")
    assert 0 in counts and max(counts) > 1
    repository = client.repository
    head = repository.resolve("main")

    def no_engine() -> Engine:
        raise AssertionError("it starts Spark")

    def mark(text: str) -> Mark:
        with closing(Probes(repository, condition_of(text), "shop", no_engine)) as looks:
            return looks.at(head).mark

    for filter, count in zip(FILTERS, counts, strict=True):
        wanted = Mark.BAD if count else Mark.GOOD
        assert mark(f"select * from t where {filter}") is wanted, filter
        assert mark(f"select id, s from t where {filter}") is wanted, filter
        assert mark(f"select count(*) = 0 as ok from shop.t where {filter}") is wanted, filter
        exact = f"select count(1) = {count} from t where {filter}"
        assert mark(exact) is Mark.GOOD, filter
    assert mark("select count(*) > 4 from t") is Mark.BAD
    with pytest.raises(AssertionError, match="starts Spark"):
        # One column of booleans may be one truth, which the number of its rows decides.
        mark("select flag from t where id = 1")
