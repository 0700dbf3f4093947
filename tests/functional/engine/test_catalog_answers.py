"""The catalog's answers, compared with plain Spark's for a table of the same shape."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.engines.spark.context import private_root

from .bench import Bench

pytestmark = pytest.mark.spark

TABLE = """create table shop.t (
    id bigint comment 'its id', name string default 'x', amount decimal(10,2), d date,
    ts timestamp, tn timestamp_ntz, b boolean, bin binary, arr array<int>, v varchar(5),
    `a b` smallint, p string, n int
) using parquet partitioned by (p, n) comment 'a table'
tblproperties ('made_by' = 'ann', 'password' = 'x', 'url' = 'http://a')"""
ROWS = """insert into shop.t values
    (1, 'a', 1.5, date'2026-01-01', timestamp'2026-01-01 10:00:00.5',
     timestamp_ntz'2026-01-01 10:00:00', true, X'00ff', array(1), 'ab', 3, 'x/y=z 100%', 1),
    (2, null, null, null, null, null, null, null, null, null, null, null, 2),
    (3, 'b', -2.5, date'1969-01-03', timestamp'2026-01-03 10:00:00',
     timestamp_ntz'2026-01-03 10:00:00', false, X'01ff', array(1), 'abc', -4, 'ü :"[]{}^', null)"""
VIEW = (
    "create view shop.w (a comment 'aa', b) comment 'a view' "
    "tblproperties ('password' = 'x', 'k' = 'v') as select id, amount from shop.t"
)
SCHEMA = "create schema shop comment 'the shop' with dbproperties (a = '1', password = 'x')"
ASIDE = {
    "Location", "location", "Owner", "Created Time", "created_time", "Statistics",
    "Created By", "View Original Text",
}  # fmt: skip


@pytest.fixture(scope="module")
def both(spark_engine_factory: Any, tmp_path_factory: Any) -> Iterator[tuple[Client, Any]]:
    """Return a client and a plain session, with the same table and view."""
    folder: Path = tmp_path_factory.mktemp("answers")
    with connect(str(folder / "w"), schema="shop", create=True) as client:
        for text in (SCHEMA, TABLE, ROWS, VIEW):
            client.sql(text)
        client.sql("select 1")
        context = client._connection.session().spark.sparkContext  # type: ignore[attr-defined]
        plain = private_root(context, {"spark.sql.warehouse.dir": str(folder / "plain")})
        for text in (SCHEMA, "use shop", TABLE, ROWS, VIEW):
            plain.sql(text)
        yield client, plain


def _lines(rows: list[tuple[Any, ...]]) -> list[Any]:
    """Return rows without what is each one's own; text of several lines as a list of them."""
    kept = [row for row in rows if row[0] not in ASIDE]
    return [
        tuple(
            [line for line in cell.split("\n") if line.partition(":")[0] not in ASIDE]
            if isinstance(cell, str)
            else cell
            for cell in row
        )
        for row in kept
    ]


def answers(both: tuple[Client, Any], text: str) -> tuple[Any, Any]:
    client, plain = both
    ours = client.sql(text)
    theirs = plain.sql(text)
    assert ours.column_names == theirs.columns
    return (
        _lines([tuple(row.values()) for row in ours.to_pylist()]),
        _lines([tuple(row) for row in theirs.collect()]),
    )


@pytest.mark.parametrize(
    "text",
    [
        "show create table shop.t",
        "show create table t",
        "show create table shop.w",
        "show table extended in shop like '*'",
        "show table extended like 't|w'",
        "show table extended in shop like 'none*'",
        "describe shop.t",
        "describe extended shop.t",
        "describe formatted shop.w",
        "describe table shop.w",
        "describe shop.t id",
        "describe shop.t name",
        "describe shop.w a",
        "describe extended shop.w a",
        "describe schema shop",
        "describe schema extended shop",
        "desc database extended shop",
        "show tblproperties shop.t",
        "show tblproperties shop.t ('password')",
        "show tblproperties shop.t ('none')",
        "show tblproperties shop.w",
        "show partitions shop.t",
        "show partitions shop.t partition (n = 2)",
        "show partitions shop.t partition (p = 'x/y=z 100%')",
        "show partitions shop.t partition (P = null, n = '2')",
        "show partitions shop.t partition (p = 'none')",
    ],
)
def test_the_catalog_answers_as_spark_does(both: tuple[Client, Any], text: str) -> None:
    ours, theirs = answers(both, text)
    assert ours == theirs


def test_describe_as_json_answers_as_spark_does(both: tuple[Client, Any]) -> None:
    import json

    for name in ("t", "w"):
        ours, theirs = (
            json.loads(rows[0][0][0])
            for rows in answers(both, f"describe extended shop.{name} as json")
        )
        # The settings of the session are its own.
        aside = {
            "view_creation_spark_configuration",
            "location",
            "created_time",
            "created_by",
            "owner",
            "statistics",
        }
        assert {k: v for k, v in ours.items() if k not in aside} == {
            k: v for k, v in theirs.items() if k not in aside
        }


COLUMNS = ["id", "name", "amount", "d", "ts", "tn", "b", "bin", "v", "`a b`", "p", "n"]


def test_statistics_of_columns_are_those_that_spark_finds(both: tuple[Client, Any]) -> None:
    _, plain = both
    plain.sql(f"analyze table shop.t compute statistics for columns {', '.join(COLUMNS)}")
    for column in COLUMNS:
        ours, theirs = answers(both, f"describe extended shop.t {column}")
        ours, theirs = dict(map(_pair, ours)), dict(map(_pair, theirs))
        assert ours.keys() == theirs.keys()
        wrong = {key: ours[key] for key in ours if ours[key] not in (theirs[key], "NULL")}
        assert wrong == {}
        known = {"min", "max", "num_nulls"} if theirs["min"] != "NULL" else {"num_nulls"}
        assert {key for key in known if ours[key] == "NULL"} == set(), column
    assert dict(map(_pair, answers(both, "describe extended shop.t arr")[0]))["min"] == "NULL"


def _pair(row: tuple[Any, Any]) -> tuple[str, str]:
    return row[0][0], row[1][0]


def test_statistics_that_deleted_rows_blur_are_not_told(both: tuple[Client, Any]) -> None:
    client, _ = both
    client.sql(
        "create table gone tblproperties ('vcs.write_mode' = 'merge_on_read') as "
        "select id, if(id = 5, null, 1) some, 1 none from range(10)"
    )

    def told(column: str) -> dict[str, str]:
        rows = client.sql(f"describe extended gone {column}").to_pylist()
        return {row["info_name"]: row["info_value"] for row in rows}

    assert (told("id")["min"], told("id")["max"], told("some")["num_nulls"]) == ("0", "9", "1")
    client.sql("delete from gone where id in (0, 9)")
    assert (told("id")["min"], told("id")["max"]) == ("NULL", "NULL")
    assert told("some")["num_nulls"] == "NULL"
    assert told("none")["num_nulls"] == "0"


def test_a_view_is_described_with_the_types_that_it_has_now(both: tuple[Client, Any]) -> None:
    client, _ = both
    client.sql("create table base as select 1 a, 'x' b")
    client.sql("create view over as select a, b from base")
    client.sql("create or replace table base as select 1.5d a, 'x' b")
    assert client.sql("select * from over").schema.field("a").type == "double"
    for text in ("describe over", "describe extended over"):
        row = client.sql(text).to_pylist()[0]
        assert (row["col_name"], row["data_type"]) == ("a", "double")
    assert client.sql("describe over a").to_pylist()[1]["info_value"] == "double"
    client.sql("drop table base")
    with pytest.warns(UserWarning, match=r"shop\.over can't be read"):
        assert client.sql("describe over").num_rows == 2


def test_what_show_create_table_says_makes_the_same_table(
    both: tuple[Client, Any], tmp_path: Path
) -> None:
    client, _ = both
    client.sql(
        "create table full (id int not null comment 'it''s', s struct<x: int, y: string>, "
        "c string collate UTF8_LCASE, n int default (1 + 1), p date) partitioned by (p) "
        "tblproperties ('primary_key' = 'id', 'vcs.check.n' = 'n > 0')"
    )
    client.sql("create table ordered (a int, b int) cluster by (b) comment 'by b'")
    for name in ("full", "ordered"):
        text = client.sql(f"show create table {name}").to_pylist()[0]["createtab_stmt"]
        before = client.sql(f"describe extended {name}").to_pylist()
        client.sql(f"drop table {name}")
        client.sql(text)
        after = client.sql(f"describe extended {name}").to_pylist()
        assert [row for row in after if row["col_name"] not in ASIDE] == [
            row for row in before if row["col_name"] not in ASIDE
        ]
        assert client.sql(f"show create table {name}").to_pylist()[0]["createtab_stmt"] == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("show partitions shop.t partition (zz = 1)", "zz.*p, n"),
        ("show partitions shop.t partition (n)", "value"),
        ("show partitions shop.w", "view"),
        ("show table extended in shop like 't' partition (n = 1)", "show partitions"),
        ("describe schema nowhere", "nowhere"),
        ("show create table shop.nothing", "nothing"),
        ("describe shop.nothing as json", "nothing"),
        ("describe extended shop.nothing", "nothing"),
    ],
)
def test_what_has_no_answer_is_refused_in_a_sentence(
    both: tuple[Client, Any], text: str, says: str
) -> None:
    with pytest.raises(VcsError, match=says):
        both[0].sql(text)


def test_answers_leave_names_readable(both: tuple[Client, Any]) -> None:
    client, _ = both
    query = "select count(*) n from t join w on id = a"
    assert client.sql(query).to_pylist() == [{"n": 3}]
    client.sql("show create table t")
    client.sql("show table extended in shop like '*'")
    assert client.sql(query).to_pylist() == [{"n": 3}]


def test_a_schema_is_described_before_anything_uses_it(both: tuple[Client, Any]) -> None:
    client, _ = both
    client.sql("create schema fresh")
    told = {
        row["info_name"]: row["info_value"]
        for row in client.sql("describe schema fresh").to_pylist()
    }
    assert told["Namespace Name"] == "fresh"
    assert told["Location"] == client.repository.blobs.uri


def test_answers_on_a_session_of_ones_own_are_the_branchs(bench: Bench, tmp_path: Path) -> None:
    spark = private_root(
        bench.session.spark.sparkContext, {"spark.sql.warehouse.dir": str(tmp_path / "wh")}
    )
    with connect(str(tmp_path / "w"), create=True, spark=spark) as client:
        client.sql("create schema analytics")
        client.sql("create table t (a int default 1) tblproperties ('k' = 'v')")
        text = client.sql("show create table t").to_pylist()[0]["createtab_stmt"]
        assert "a INT DEFAULT 1" in text
        assert "dbt-vcs" not in text
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.table("t").collect()
