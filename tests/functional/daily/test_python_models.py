"""Python models: frames of every kind, as tables and incrementals, on the branch's versions."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.errors import InputError

pytestmark = pytest.mark.spark

SCHEMA = """
sources:
  - name: shop
    schema: analytics
    tables: [{name: raw}]
models:
  - name: of_spark
    description: "it's a \U0001f600"
    config: {persist_docs: {relation: true}, primary_key: id, cluster_by: amount, scale: 3}
"""

MODELS = {
    "of_spark": """
        from pyspark.sql import functions as F

        def model(dbt, session):
            dbt.config(materialized="table")
            orders = dbt.ref("raw")
            scale = dbt.config.get("scale")
            return orders.withColumn("amount", F.col("amount") * scale)
        """,
    "of_pandas": """
        import pandas as pd

        def model(dbt, session):
            dbt.config(materialized="table")
            frame = dbt.source("shop", "raw").toPandas()
            frame["name"] = pd.Categorical(["a", None, "c"])
            times = ["2026-01-01", None, "2026-01-03 04:05:06.789"]
            frame["at"] = pd.to_datetime(times, format="mixed")
            return frame
        """,
    "of_arrow": """
        import pyarrow as pa

        def model(dbt, session):
            assert not dbt.is_incremental
            assert (dbt.this.schema, dbt.this.identifier) == ("analytics", "of_arrow")
            dbt.ref("raw")
            rows = session.sql("select count(*) as n from analytics.raw").collect()
            return pa.table({"n": [rows[0].n], "tags": [["x", None]]})
        """,
    "grown": """
        def model(dbt, session):
            dbt.config(materialized="incremental", incremental_strategy="append")
            raw = dbt.ref("raw")
            if dbt.is_incremental:
                top = session.table(str(dbt.this)).agg({"id": "max"}).collect()[0][0]
                raw = raw.selectExpr(f"id + {top} as id", "amount")
            return raw
        """,
    "after": "select sum(amount) as total from {{ ref('of_spark') }}",
    "fails": """
        def helper(value):
            return value / 0

        def model(dbt, session):
            return helper(1)
        """,
    "no_frame": "def model(dbt, session):\n    return [1, 2]\n",
    "two_types": """
        import pandas as pd

        def model(dbt, session):
            return pd.DataFrame({"x": ["a", 1]})
        """,
    "late": """
        def model(dbt, session):
            return session.sql("select raise_error('too late') as x")
        """,
    "twice": """
        def model(dbt, session):
            dbt.config(primary_key="id")
            return session.sql("select 1 as id union all select 1")
        """,
}
BAD = ["fails", "no_frame", "two_types", "late", "twice"]


@pytest.fixture(scope="module")
def shop(make_project):
    files = {
        f"models/{name}.{'sql' if name == 'after' else 'py'}": text
        for name, text in MODELS.items()
    }
    project = make_project(
        {
            "models/schema.yml": SCHEMA.encode(),
            "seeds/raw.csv": "id,amount\n1,30\n2,10\n3,20\n",
            **files,
        }
    )
    project.dbt("seed")
    project.first = project.dbt("run", "--exclude", *BAD)
    project.bad = project.dbt("run", "--select", *BAD, ok=False)
    return project


def test_a_spark_frame_is_written_as_a_query_would_be(shop):
    snapshot = shop.snapshot("of_spark")
    assert shop.rows("of_spark") == [(1, 90), (2, 30), (3, 60)]
    assert (snapshot.primary_key, snapshot.cluster_by) == (("id",), ("amount",))
    assert snapshot.comment == "it's a \U0001f600"
    assert shop.sql("select id from of_spark").column(0).to_pylist() == [2, 3, 1]
    assert shop.rows("after") == [(180,)]


def test_it_is_known_what_was_read(shop):
    origin = shop.snapshot("of_spark").origin
    assert origin.node == "model.shop.of_spark"
    assert [item.relation for item in origin.inputs] == ["analytics.raw"]
    assert origin.inputs[0].snapshot is not None
    for name in ("of_arrow", "of_pandas"):
        assert [item.relation for item in shop.snapshot(name).origin.inputs] == ["analytics.raw"]


def test_a_pandas_frame(shop):
    rows = shop.rows("select id, name, cast(at as string) from of_pandas")
    assert rows == [
        (1, "a", "2026-01-01 00:00:00"),
        (2, None, None),
        (3, "c", "2026-01-03 04:05:06.789"),
    ]


def test_an_arrow_table(shop):
    assert shop.rows("of_arrow") == [(3, ["x", None])]


def test_an_incremental_model_reads_what_it_has(shop):
    assert shop.column("select id from grown") == [1, 2, 3]
    shop.dbt("run", "--select", "grown")
    assert shop.column("select id from grown") == [1, 2, 3, 4, 5, 6]
    inputs = {item.relation for item in shop.snapshot("grown").origin.inputs}
    assert inputs == {"analytics.raw", "analytics.grown"}
    assert set(shop.kinds()) == {"raw", "of_spark", "of_pandas", "of_arrow", "grown", "after"}
    shop.dbt("run", "--select", "grown", "--full-refresh")
    assert shop.column("select id from grown") == [1, 2, 3]


@pytest.mark.parametrize(
    ("model", "texts"),
    [
        (
            "fails",
            [
                "The Python model fails failed: ZeroDivisionError: division by zero",
                "line 5, in model: return helper(1)",
                "line 2, in helper: return value / 0",
            ],
        ),
        ("no_frame", ["returned list; expected a frame of Spark, pandas or Arrow"]),
        ("two_types", ["two_types returned can't be turned into a table", "values of one type"]),
        ("late", ["too late"]),
        ("twice", ["the same primary key (id): 1."]),
    ],
)
def test_errors_name_the_users_own_lines(shop, model, texts):
    assert shop.bad.status(model) == "error"
    for text in texts:
        assert text in shop.bad.message(model)
    assert shop.entry(model) is None


def test_optimize_with_the_engine(shop):
    shop.sql("create table v as select 1 id, parse_json('{\"a\": 1}') j, interval '1' day d")
    shop.sql("insert into v values (2, parse_json('[2]'), interval '2' day)")
    rows = shop.rows("select id, to_json(j), d from v")
    answer = shop.sql("optimize v").to_pylist()
    assert answer == [
        {
            "relation": "analytics.v",
            "blocks_before": "2",
            "blocks_after": "1",
            "dropped_rows": "0",
        }
    ]
    assert shop.rows("select id, to_json(j), d from v") == rows
    assert shop.sql("optimize v").to_pylist()[0]["blocks_before"] == "1"


def test_optimize_sorts_the_whole_table(shop):
    shop.sql(
        "create table k (id bigint, day bigint) partitioned by (day) "
        "tblproperties ('vcs.write_mode' = 'merge_on_read')"
    )
    for seed in (7919, 104729):
        shop.sql(
            f"insert into k select /*+ repartition(3) */ (id * {seed}) % 10007, id % 2 "
            "from range(2000)"
        )
    shop.sql("delete from k where id < 100")
    assert sum(ref.deleted for ref in shop.snapshot("k").segments) > 0
    rows = shop.rows("k")
    ran = shop.dbt(
        "run-operation", "optimize", "--args", "{relation: analytics.k, cluster_by: [id]}"
    )
    assert "Optimized 1 table on main" in ran.said
    assert shop.rows("k") == rows
    assert sum(ref.deleted for ref in shop.snapshot("k").segments) == 0
    shop.dbt("run-operation", "optimize", "--args", "{all: true}")
    again = shop.dbt(
        "run-operation", "optimize", "--args", "{relation: analytics.k, cluster_by: id}"
    )
    assert "Nothing to do" in again.said
    with pytest.raises(InputError, match="no column 'nix'"):
        shop.sql("optimize k cluster by (nix)")
