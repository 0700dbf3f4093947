"""DuckDB reads a branch's tables as views, and hands down what it doesn't need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.client.duck_views import TableDataset
from tests.unit.iceberg.lake import Lake


def test_duckdb_reads_every_table_and_hands_columns_and_filters_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, nan = Lake(tmp_path / "w"), float("nan")
    lake.run("create table s.t (id bigint, `a B` double, name string, r struct<f:double>)")
    lake.run("create table s.odd (id bigint, v variant)")
    lake.add("t", [(n, nan if n == 3 else n, f"r{n}", {"f": nan}) for n in range(10)])
    lake.add("t", [(n, n, None, None) for n in range(10, 20)])
    lake.delete("t", (1, 9))
    asked: list[Any] = []
    plain = TableDataset.scanner

    def noted(self: TableDataset, columns: Any = None, filter: Any = None, **rest: Any) -> Any:
        asked.append((columns, filter is not None))
        return plain(self, columns, filter, **rest)

    monkeypatch.setattr(TableDataset, "scanner", noted)
    duck = duckdb.connect()
    with connect(str(tmp_path / "w")) as client:
        assert client.register_all(duck) == ("s.odd", "s.t")
    assert duck.execute("select name from s.t where id = 7").fetchall() == [("r7",)]
    assert asked == [(["id", "name"], True)]
    assert duck.execute("select count(*) from s.t").fetchall() == [(19,)]
    # In DuckDB, as in Spark, NaN is above all numbers.
    high = duck.execute('select id from s.t where "a B" > 16 order by id').fetchall()
    assert high == [(3,), (17,), (18,)]
    assert duck.execute("select count(*) from s.t where r.f > 1").fetchall() == [(10,)]
    assert duck.execute("select count(*) from s.t where r.f <= 1").fetchall() == [(0,)]
    some = "select id from s.t where name is null and (id < 11 or id = 18) order by id"
    assert duck.execute(some).fetchall() == [(10,), (18,)]
    assert duck.execute("select * from s.odd").description[0][0] == "id"


def test_a_schema_may_have_the_name_of_the_database(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "w")
    lake.run("create table s.t (id bigint)")
    lake.run("create schema temp")
    lake.run("create table temp.t (id bigint)")
    lake.add("t", [(1,)])
    with (
        duckdb.connect(str(tmp_path / "s.duckdb")) as duck,
        connect(str(tmp_path / "w")) as client,
    ):
        assert client.register_all(duck) == ("s.t", "temp.t")
        assert duck.execute("select id from s.s.t").fetchall() == [(1,)]
        assert duck.execute("select id from s.temp.t").fetchall() == []


def test_views_stay_at_their_version_until_they_are_made_again(tmp_path: Path) -> None:
    lake, duck = Lake(tmp_path / "w"), duckdb.connect()
    lake.run("create table s.t (id bigint)")
    lake.add("t", [(1,)])
    with connect(str(tmp_path / "w")) as client:
        client.register_all(duck)
        lake.add("t", [(2,)])
        assert duck.execute("select id from s.t").fetchall() == [(1,)]
        client.register_all(duck)
        assert duck.execute("select id from s.t").fetchall() == [(1,), (2,)]
