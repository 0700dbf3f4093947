"""`select count(*) from t` reads manifests, and says what a scan counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.engines.spark.session import SparkView

from .shop import Shop

pytestmark = [pytest.mark.spark, pytest.mark.counts_from_manifests]

STATEMENTS = (
    "insert into {t} select id, id % 3 from range({n}, {n} + 5)",
    "delete from {t} where id % 7 = {n} % 7",
    "update {t} set k = k + 1 where id > {n}",
    "merge into {t} using (select explode(sequence({n}, {n} + 2)) as id) s on {t}.id = s.id"
    " when matched then delete when not matched then insert (id, k) values (s.id, 9)",
    "insert overwrite {t} select id, 1 from range({n})",
    "truncate table {t}",
    "optimize {t}",
)


def counted(shop: Shop, query: str) -> tuple[list[str], int]:
    table = shop.sql(query)
    [number] = table.column(0).to_pylist()
    return table.column_names, number


@settings(max_examples=8)
@given(st.lists(st.tuples(st.sampled_from(STATEMENTS), st.integers(0, 20)), max_size=5))
def test_a_count_is_what_a_scan_finds(shop: Shop, history: list[tuple[str, int]]) -> None:
    name = shop.make("id bigint, k bigint", "select id, 0 from range(20)", by="k")
    for statement, number in history:
        shop.sql(statement.format(t=name, n=number))
        _, found = counted(shop, f"select count(*) from {name}")
        assert found == len(shop.rows(name))


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("select count(*) from {t}", "count(1)"),
        ("/* all */ SELECT COUNT( 1 ) FROM s.{t} -- rows", "count(1)"),
        ("select count(*) as `a b` from spark_catalog.s.{t}", "a b"),
        ("select count(*) Rows from {t} as x", "Rows"),
        ("select count(*) from s.`{t}`", "count(1)"),
    ],
)
def test_no_file_is_read(shop: Shop, query: str, column: str) -> None:
    name = shop.make("id bigint", "select * from range(5)")
    shop.sql(f"delete from {name} where id = 3")
    folder = Path(shop.repository.blobs.uri)
    for block in shop.blocks(name):
        (folder / block.path).unlink()
    assert counted(shop, query.format(t=name)) == ([column], 4)
    with pytest.raises(VcsError):
        shop.rows(name)


def test_spark_is_not_asked(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    name = shop.make("id bigint", "select * from range(5)")
    monkeypatch.delattr(SparkView, "query")
    assert counted(shop, f"select count(*) from {name}") == (["count(1)"], 5)
    with pytest.raises(AttributeError):
        shop.rows(name)


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("select count(*) from {t} where id > 1", 3),
        ("select count(id) from {t}", 4),
        ("select count(distinct 1) from {t}", 1),
        ("select count(*) + 1 from {t}", 6),
        ("select count(*) from {t} limit 0", None),
        ("select count(*) from {t} a join {t} b on a.id = b.id", 4),
        ("select count(*) from {t}, (values (1), (2)) as two", 10),
        ("select count(*) from {t} tablesample (0 rows)", 0),
        ("with {t} as (select 1) select count(*) from {t}", 1),
        ("select count(*) from {t} group by id having id = 1", 1),
        ("select count(*) filter (where id = 1) from {t}", 1),
        ("select count(*) over () from {t} limit 1", 5),
        ("select count(*) from {t} version as of 'two'", 2),
        ("select count(*) from {t}_seen", 5),
    ],
)
def test_other_counts_are_computed(shop: Shop, query: str, number: int | None) -> None:
    name = shop.make("id bigint", "values (1), (2)")
    shop.sql(f"create snapshot two for table {name}")
    shop.sql(f"insert into {name} values (3), (4), (null)")
    shop.sql(f"create view {name}_seen as select * from {name}")
    found = shop.sql(query.format(t=name)).column(0).to_pylist()
    assert found == ([] if number is None else [number])


@pytest.mark.parametrize("wrong", ["1", "as 1", "as 1L"])
def test_what_names_no_column_is_sparks_to_refuse(shop: Shop, wrong: str) -> None:
    name = shop.make("id bigint", "values (1), (2)")
    with pytest.raises(VcsError, match=r"(?i)syntax"):
        shop.sql(f"select count(*) {wrong} from {name}")


def test_a_temporary_view_hides_a_table(shop: Shop) -> None:
    name = shop.make("id bigint", "values (1), (2)")
    shop.sql(f"create temporary view {name} as select 1 as one")
    assert counted(shop, f"select count(*) from {name}")[1] == 1
    assert counted(shop, f"select count(*) from s.{name}")[1] == 2
    shop.sql(f"drop view {name}")
