"""Branches on one server: none sees another's rows, whatever its names are."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import InputError, VcsError

pytestmark = pytest.mark.spark

MADE = (
    "create schema shop",
    "create table orders (id int, amount int)",
    "insert into orders values (1, {n}), (2, {n})",
    "create table `Upper_Case` as select {n} as `The Value`",
    "create view totals as select sum(orders.amount) total from analytics.orders",
    "create function doubled(x int) returns int return x * 2 * {n}",
    "create function most() returns int return select max(amount) from analytics.orders",
    "create table shop.orders as select {n} * 100 as amount",
    "create temporary view mine as select * from orders",
)
READS = (
    "select sum(amount) n from orders",
    "select analytics.orders.amount n from analytics.orders where orders.id = 1",
    "select orders.* from orders where id = 2",
    "select o.amount n from ANALYTICS.Orders as o where o.id = 1",
    "select `the value` n from `UPPER_case`",
    "select total n from totals",
    "select doubled(1) n, analytics.doubled(2) m",
    "select most() n",
    "with orders as (select -1 amount) select amount n from orders",
    "with t as (select amount from orders where id = 1) select amount n from t",
    "select amount n from (select * from orders) orders where id = 1",
    "select max(amount) n from mine",
    "select analytics.orders.amount a, shop.orders.amount b from analytics.orders "
    "join shop.orders on analytics.orders.id = 1",
    "select (select max(amount) from shop.orders) n, exists(select 1 from orders where id = 9) m",
    "update orders set amount = amount + 1 where id = 1",
    "delete from orders where id = 2",
    "insert into orders (id) values (7)",
    "select id, amount from orders order by id",
)
PROGRAM = """
import json, sys
from dbt.adapters.vcs.api import connect
repository, branch, remote, number, made, reads = sys.argv[1:]
with connect(repository, branch, spark={"spark.remote": remote}) as client:
    for text in json.loads(made):
        client.sql(text.replace("{n}", number))
    print("made", flush=True)
    sys.stdin.readline()
    print(json.dumps([client.sql(text).to_pylist() for text in json.loads(reads)]), flush=True)
"""


def expected(n: int) -> list[list[dict[str, int | bool | None]]]:
    return [
        [{"n": 2 * n}],
        [{"n": n}],
        [{"id": 2, "amount": n}],
        [{"n": n}],
        [{"n": n}],
        [{"n": 2 * n}],
        [{"n": 2 * n, "m": 4 * n}],
        [{"n": n}],
        [{"n": -1}],
        [{"n": n}],
        [{"n": n}],
        [{"n": n}],
        [{"a": n, "b": 100 * n}],
        [{"n": 100 * n, "m": False}],
        [{"num_affected_rows": 1}],
        [{"num_affected_rows": 1}],
        [{"num_affected_rows": 1}],
        [{"id": 1, "amount": n + 1}, {"id": 7, "amount": None}],
    ]


def test_two_processes_with_a_branch_each_and_the_same_names(
    spark_server: str, tmp_path: Path
) -> None:
    repository = str(tmp_path / "warehouse")
    with connect(repository, create=True, spark={"spark.remote": spark_server}) as client:
        client.sql("create schema analytics")
        client.create("other").close()
    texts = [json.dumps(MADE), json.dumps(READS)]
    # Nothing on the way may start Java here, or need one.
    env = {**os.environ, "JAVA_HOME": "/nonsense", "SPARK_HOME": "/nonsense"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, repository, branch, spark_server, number, *texts],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        for branch, number in (("main", "1"), ("other", "20"))
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line == "made\n", process.communicate(timeout=60)[1][-3000:]
        answers = [process.communicate("\n", timeout=240) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for (out, err), n in zip(answers, (1, 20), strict=True):
        assert out, err[-3000:]
        for text, found, rows in zip(READS, json.loads(out), expected(n), strict=True):
            assert found == rows, text


@pytest.fixture
def client(spark_server: str, tmp_path: Path) -> Iterator[Client]:
    remote = {"spark.remote": spark_server}
    with connect(str(tmp_path / "warehouse"), create=True, spark=remote) as made:
        made.sql("create schema analytics")
        made.sql("create table orders as select 1 id, 10 amount")
        yield made


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("select nope from orders", r"`nope` cannot be resolved"),
        ("select * from analytics.nope", r"no table or view analytics\.nope"),
        ("select analytics.f(1)", r"`analytics`\.`f`"),
        ("insert into orders values ('x', 1)", r"orders"),
    ],
)
def test_errors_have_the_users_names(client: Client, text: str, words: str) -> None:
    with pytest.raises(VcsError, match=words) as caught:
        client.sql(text)
    assert "__vcs" not in str(caught.value)
    assert "vcs_scratch" not in str(caught.value)


def test_a_servers_own_table_is_not_read_for_a_name_that_the_branch_lacks(
    client: Client, spark_server: str
) -> None:
    from pyspark.sql.connect.session import SparkSession

    stranger = SparkSession(connection=spark_server)
    stranger.sql("create schema if not exists analytics")
    stranger.sql("create table analytics.foreign using parquet as select 1 a")
    try:
        with pytest.raises(VcsError, match="no table or view"):
            client.sql("select * from analytics.foreign")
    finally:
        stranger.sql("drop schema analytics cascade")
        stranger.stop()


def test_nothing_is_in_the_servers_catalog(client: Client, spark_server: str) -> None:
    from pyspark.sql.connect.session import SparkSession

    client.sql("create view v as select * from orders")
    client.sql("select * from v")
    stranger = SparkSession(connection=spark_server)
    assert stranger.sql("show views").collect() == []
    assert stranger.sql("show tables").collect() == []
    assert {
        row[0] for row in stranger.sql("show schemas").collect() if "scratch" not in row[0]
    } == {"default"}
    stranger.stop()


def test_a_temporary_view_follows_the_branch(client: Client) -> None:
    client.sql("create temporary view mine as select count(*) n from orders")
    assert client.sql("select * from mine").to_pylist() == [{"n": 1}]
    client.sql("insert into orders values (2, 20)")
    assert client.sql("select * from mine").to_pylist() == [{"n": 2}]


def test_what_a_server_would_show_to_all_is_refused(client: Client) -> None:
    with pytest.raises(VcsError, match="seen by other sessions"):
        client.sql("create global temporary view mine as select 1 a")
    with pytest.raises(VcsError, match="needs Spark in this process"):
        client.sql("describe extended orders")


def test_a_repository_that_the_server_does_not_see(spark_server: str, tmp_path: Path) -> None:
    remote = {"spark.remote": spark_server}
    repository = tmp_path / "warehouse"
    with connect(str(repository), create=True) as made:
        made.sql("create schema analytics")
    away = tmp_path / "away"
    repository.rename(away)
    repository.mkdir()
    (repository / "vcs.json").write_text((away / "vcs.json").read_text().replace("{", "{ ", 1))
    for path in away.iterdir():
        if path.name != "vcs.json":
            path.rename(repository / path.name)
    client = connect(str(repository), spark=remote)
    client._workspace.repository.blobs.delete("vcs.json")
    with pytest.raises(VcsError):
        client.sql("select 1")


def test_settings_that_are_the_servers(spark_server: str, tmp_path: Path) -> None:
    settings = {"spark.remote": spark_server, "spark.executor.memory": "1g"}
    with (
        connect(str(tmp_path / "w"), create=True, spark=settings) as client,
        pytest.raises(InputError, match=r"its own spark\.executor\.memory"),
    ):
        client.sql("select 1")
