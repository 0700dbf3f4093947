"""A statement that reads the table it inserts into is run again when the table has moved."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client, connect
from tests.functional.clients import SPARK, Sql, client, rows_of, sql

__all__ = ["client", "sql"]

pytestmark = pytest.mark.spark

FORMS = {
    "query": "insert into t select max(id) + 1 from t",
    "scalar": "insert into t select (select max(id) + 1 from t)",
    "view": "insert into t select m + 1 from v",
    "temporary view": "insert into t select m + 1 from tv",
    "function": "insert into t select top() + 1",
    "named query": "insert into t with x as (select * from shop.t) select max(id) + 1 from x",
    "version": "insert into t select max(id) + 1 from t version as of 'main'",
}


def overtaken(client: Client, other: str) -> list[str]:
    """Let another writer's statement land just before the client's next one; once."""
    line: Any = client._workspace.line
    land, tries = line.land, []

    def landed(*args: Any, **kwargs: Any) -> Any:
        tries.append("land")
        if len(tries) == 1:
            with connect(client.repository.uri, schema="shop", spark=SPARK) as another:
                another.sql(other)
        return land(*args, **kwargs)

    line.land = landed
    return tries


@pytest.mark.parametrize("form", FORMS)
def test_what_it_read_is_what_it_follows(client: Client, sql: Sql, form: str) -> None:
    sql("create table t as select * from values (1), (2), (3) x(id)")
    sql("create view v as select max(id) as m from t")
    sql("create temporary view tv as select max(id) as m from t")
    sql("create function top() returns int return (select max(id) from shop.t)")
    tries = overtaken(client, "insert into t select max(id) + 1 from t")
    sql(FORMS[form])
    assert sorted(id for (id,) in sql("select id from t")) == [1, 2, 3, 4, 5]
    assert len(tries) == 2


def test_an_insert_that_reads_another_table_is_run_once(client: Client, sql: Sql) -> None:
    sql("create table t as select 1 as id")
    sql("create table other as select 7 as id")
    tries = overtaken(client, "insert into t values (2)")
    sql("insert into t select id from other")
    assert sorted(id for (id,) in sql("select id from t")) == [1, 2, 7]
    assert len(tries) == 1


def test_a_partition_that_another_writer_just_filled_is_there(client: Client, sql: Sql) -> None:
    sql("create table t (id int, p int) partitioned by (p)")
    text = "insert overwrite t partition (p = 1) if not exists select {} as id"
    overtaken(client, text.format(1))
    sql(text.format(2))
    assert sql("select id, p from t") == [(1, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "insert overwrite t values ({0}, 1)",
        "insert overwrite t partition (p = 1) values ({0})",
        "insert into t replace where p = 1 values ({0}, 1)",
    ],
)
@pytest.mark.parametrize("other", ["insert into t values (1, 1)", ""])
def test_what_another_writer_just_put_into_an_empty_table_is_replaced(
    client: Client, sql: Sql, text: str, other: str
) -> None:
    sql("create table t (id int, p int) partitioned by (p)")
    tries = overtaken(client, other or text.format(1))
    sql(text.format(2))
    assert sql("select id, p from t") == [(2, 1)]
    assert len(tries) == 2


def test_partitions_that_another_writer_just_filled_are_replaced(client: Client, sql: Sql) -> None:
    sql("set spark.sql.sources.partitionOverwriteMode = dynamic")
    sql("create table t (id int, p int) partitioned by (p)")
    overtaken(client, "insert into t values (1, 1), (1, 2)")
    sql("insert overwrite t values (2, 1)")
    assert sorted(sql("select id, p from t")) == [(1, 2), (2, 1)]


def test_a_row_that_another_writer_just_inserted_is_matched(client: Client, sql: Sql) -> None:
    sql("create table t (id int, v int)")
    text = (
        "merge into t using (select 1 as id) s on t.id = s.id "
        "when matched then update set v = v + 1 when not matched then insert (id, v) values (1, 0)"
    )
    overtaken(client, text)
    sql(text)
    assert sql("select id, v from t") == [(1, 1)]


def test_writers_side_by_side_number_their_rows_without_a_gap(tmp_path: Path) -> None:
    place = str(tmp_path / "warehouse")
    with connect(place, schema="shop", create=True, spark=SPARK) as client:
        client.sql("create schema shop")
        client.sql("create table t as select 0 as id")

    def write() -> None:
        with connect(place, schema="shop", spark=SPARK) as client:
            for _ in range(4):
                client.sql("insert into t select max(id) + 1 from t")

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with connect(place, schema="shop", spark=SPARK) as client:
        ids = sorted(id for (id,) in rows_of(client.sql("select id from t")))
    assert ids == list(range(9))
