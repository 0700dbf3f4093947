"""A dbt project built on a Spark Connect server: models, tests, functions, Python, leftovers."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import connect

pytestmark = pytest.mark.spark

FILES = {
    "dbt_project.yml": "name: shop\nprofile: shop\nversion: '1.0'\n"
    "flags: {send_anonymous_usage_stats: false}\n",
    "profiles.yml": """
shop:
  target: dev
  outputs:
    dev: {type: vcs, method: connect, host: '{{ env_var("REMOTE") }}', schema: shop,
          repository: warehouse, threads: 2}
""",
    "models/numbers.sql": "select id, cast(id as string) as text from range(10)",
    "models/seen.sql": "{{ config(materialized='view') }} select * from {{ ref('numbers') }}",
    "models/grown.sql": (
        "{{ config(materialized='incremental', unique_key='id') }} select id, text from "
        "{{ ref('seen') }} {% if is_incremental() %} where id > 7 {% endif %}"
    ),
    "models/halves.py": """
from pyspark.sql import functions as F

def model(dbt, session):
    dbt.config(materialized="table")
    return dbt.ref("grown").select("id", (F.col("id") / 2).alias("half"))
""",
    "models/schema.yml": """
models:
  - name: halves
    columns: [{name: id, data_tests: [unique, not_null]}]
""",
}


def test_a_project_is_built_twice_without_java_here(spark_server: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    env = {**os.environ, "REMOTE": spark_server, "JAVA_HOME": "/nonsense"}
    dbt = str(Path(sys.executable).with_name("dbt"))
    for _ in range(2):
        done = subprocess.run(
            [dbt, "build", "--profiles-dir", "."], cwd=tmp_path, env=env, capture_output=True
        )
        assert done.returncode == 0, done.stdout.decode()[-3000:]
    remote = {"spark.remote": spark_server}
    with connect(str(tmp_path / "warehouse"), schema="shop", spark=remote) as client:
        found = client.sql("select count(*) n, sum(half) s, count(distinct id) d from halves")
    assert found.to_pylist() == [{"n": 10, "s": 22.5, "d": 10}]


def test_functions_in_python_and_what_reads_them(spark_server: str, tmp_path: Path) -> None:
    remote = {"spark.remote": spark_server}
    with connect(str(tmp_path / "w"), create=True, spark=remote) as client:
        client.sql("create schema analytics")
        client.sql(
            "create function twice(x int) returns int language python handler = 'f' "
            "as $$\ndef f(x):\n    return None if x is None else x * 2\n$$"
        )
        client.sql("create view doubled as select twice(cast(id as int)) d from range(3)")
        found = client.sql("select sum(d) s, max(analytics.twice(4)) m from doubled")
        assert found.to_pylist() == [{"s": 6, "m": 8}]
        client.sql("create or replace function twice(x int) returns int return x * 3")
        assert client.sql("select sum(d) s from doubled").to_pylist() == [{"s": 9}]


def test_a_query_that_varies_is_known_by_its_plan(spark_server: str, tmp_path: Path) -> None:
    with connect(str(tmp_path / "w"), create=True, spark={"spark.remote": spark_server}) as client:
        client.sql("create schema analytics")
        client.sql("create view v as select rand() r, 1 one from range(3)")
        session = client._connection.session()
        client.sql("select * from v")
        assert session.analysed(
            "select one from range(3) cross join (select 1 one)"
        ).is_repeatable()
        for text in (
            "select r from analytics.v",
            "select uuid() from range(3)",
            "select * from range(9) limit 2",
            "select first(id) from range(3)",
            "select * from range(3) where now() > timestamp'2026-01-01'",
        ):
            assert not session.analysed(text).is_repeatable(), text


PROGRAM = """
import sys
from dbt.adapters.vcs.api import connect
with connect(sys.argv[1], create=True, spark={"spark.remote": sys.argv[2]}) as client:
    client.sql("create schema analytics")
    client.sql("create table t (id bigint, text string default 'x')")
    client.sql("insert into t (id) values (1)")
    client.sql("select * from t")
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_client_leaves_is_swept_by_a_later_one(
    spark_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.connect.session import SparkSession

    from dbt.adapters.vcs.engines.dataframes import staged_insert

    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "w"), spark_server],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    stranger = SparkSession(connection=spark_server)

    def left() -> set[str]:
        rows = stranger.sql("show schemas like 'vcs_scratch_*'").collect()
        return {str(row[0]) for row in rows}

    before = left()
    assert before
    monkeypatch.setattr(staged_insert, "KEPT", -5)
    remote = {"spark.remote": spark_server}
    with connect(str(tmp_path / "w"), spark=remote) as client:
        assert client.sql("select id, text from t").to_pylist() == [{"id": 1, "text": "x"}]
        client.sql("insert into t (id) values (2)")
        assert client.sql("select max(id) n from t").to_pylist() == [{"n": 2}]
    assert not before & left()
    assert stranger.sql("show views").collect() == []
    stranger.stop()
