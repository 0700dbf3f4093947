"""Words of a statement that may name columns: a star and its like name all."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.sql.diff import named_columns


@pytest.mark.parametrize(
    ("text", "names", "others"),
    [
        ("select count(*) from d", {"count"}, {"price"}),
        ("select Price * 2, sum(`a b`) from d", {"price", "a b"}, {"name"}),
        ('select "price" from d', {"price"}, {"name"}),
        ("create or replace table t as select to_price from d", {"to_price"}, {"price"}),
        ("insert into table t select id from d where name > 'x'", {"id", "name"}, {"price"}),
        ("select 1 from d -- price, *", {"d"}, {"price"}),
        ("with c as (select id from d) select max(id) from c", {"id"}, {"price"}),
    ],
)
def test_names_are_among_the_words(text: str, names: set[str], others: set[str]) -> None:
    found = named_columns(text)
    assert found is not None
    assert names <= found and not others & found


@pytest.mark.parametrize(
    "text",
    [
        "select * from d",
        "select distinct * from d",
        "select 1, * from d",
        "select d.* from d",
        "select count(distinct *) from d",
        "select count(d.*) from d",
        "select struct(*) from d",
        "select hash(*) from d",
        "select * except (a) from d",
        "from d",
        "table d",
        "select a from d natural join e",
        "select 1 from d pivot (sum(a) for b in (1))",
        "from d |> where id = 1",
        "select identifier('price') from d",
        "select `pri.*` from d",
        "select transform(a) using 'cat' from d",
    ],
)
def test_statements_that_may_read_every_column(text: str) -> None:
    assert named_columns(text) is None


def test_a_condition_of_the_difference_names_columns_too() -> None:
    found = named_columns("select id from d", "to_price > 3")
    assert found is not None and "to_price" in found
