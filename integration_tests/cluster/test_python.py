"""Python models and Python functions on workers that import nothing of this package."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.api import connect
from tests.functional.life.shop import Shop, make_shop

from .spark_cluster import SparkCluster

ROWS = 3_000
MODELS = {
    "models/numbers.sql": (
        "{{ config(materialized='table') }} "
        f"select id, id % 7 as k, cast(id as string) as word from range(0, {ROWS}, 1, 4)"
    ),
    "models/of_spark.py": """
from pyspark.sql import functions as F
from pyspark.sql.types import LongType


def model(dbt, session):
    dbt.config(materialized="table")
    squared = F.udf(lambda n: n * n, LongType())
    return dbt.ref("numbers").select("id", squared("id").alias("v"))
""",
    "models/of_pandas.py": """
def model(dbt, session):
    dbt.config(materialized="table")
    frame = dbt.ref("numbers").toPandas()
    return frame.groupby("k", as_index=False)["id"].sum().rename(columns={"id": "v"})
""",
    "models/of_batches.py": """
def model(dbt, session):
    dbt.config(materialized="table")

    def lengths(batches):
        for batch in batches:
            yield batch.assign(v=batch["word"].str.len())[["id", "v"]]

    return dbt.ref("numbers").mapInPandas(lengths, "id bigint, v bigint")
""",
    "models/grown.py": """
def model(dbt, session):
    dbt.config(materialized="incremental", unique_key="id", incremental_strategy="merge")
    frame = dbt.ref("numbers").selectExpr("id", "id as v")
    if dbt.is_incremental:
        return frame.selectExpr("id + 1000 as id", "-id as v")
    return frame
""",
    "models/called.sql": (
        "{{ config(materialized='table') }} select id, {{ function('shifted') }}(id) as v, "
        "{{ function('imports') }}(id) as imported from {{ ref('numbers') }}"
    ),
    "models/totals.sql": (
        "{{ config(materialized='table') }} select k, {{ function('total') }}(id) as v "
        "from {{ ref('numbers') }} group by k"
    ),
    "functions/shifted.py": "def shifted(n):\n    return n + 10\n",
    "functions/imports.py": """
import sys


def imports(n):
    return ",".join(sorted(name for name in sys.modules if name.split(".")[0] == "dbt"))
""",
    "functions/total.py": """
class Total:
    def __init__(self):
        self.sum = 0

    def accumulate(self, value):
        self.sum += value

    def finish(self):
        return self.sum
""",
    "functions/functions.yml": """
functions:
  - name: shifted
    config: {entry_point: shifted, runtime_version: "3.11"}
    arguments: [{name: n, data_type: bigint}]
    returns: {data_type: bigint}
  - name: imports
    config: {entry_point: imports, runtime_version: "3.11"}
    arguments: [{name: n, data_type: bigint}]
    returns: {data_type: string}
  - name: total
    config: {type: aggregate, entry_point: Total, runtime_version: "3.11"}
    arguments: [{name: value, data_type: bigint}]
    returns: {data_type: bigint}
""",
}
SECONDS = 300


@pytest.fixture(scope="module")
def shop(cluster: SparkCluster, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A project that was built twice."""
    made = make_shop(tmp_path_factory.mktemp("python"), MODELS, spark_config=cluster.settings())
    for _ in range(2):
        process = made.start("build")
        output, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, output
    return made


def table(shop: Shop, name: str, key: str = "id") -> dict[int, object]:
    """Read a table without Spark."""
    with connect(str(shop.warehouse)) as client:
        rows = client.table(name).to_arrow().to_pylist()
    found = {row[key]: row["v"] for row in rows}
    assert len(found) == len(rows)
    return found


def sums() -> dict[int, int]:
    return {k: sum(range(k, ROWS, 7)) for k in range(7)}


def test_a_frame_of_spark_with_a_function_in_python(shop: Shop) -> None:
    assert table(shop, "of_spark") == {id: id * id for id in range(ROWS)}


def test_a_frame_of_pandas(shop: Shop) -> None:
    assert table(shop, "of_pandas", "k") == sums()


def test_batches_of_pandas_on_workers(shop: Shop) -> None:
    assert table(shop, "of_batches") == {id: len(str(id)) for id in range(ROWS)}


def test_an_incremental_model(shop: Shop) -> None:
    expected = {id: id for id in range(ROWS)} | {id + 1000: -id for id in range(ROWS)}
    assert table(shop, "grown") == expected


def test_functions_of_a_row_and_of_a_group(shop: Shop) -> None:
    assert table(shop, "called") == {id: id + 10 for id in range(ROWS)}
    assert table(shop, "totals", "k") == sums()


def test_workers_import_nothing_of_dbt(shop: Shop) -> None:
    with connect(str(shop.warehouse)) as client:
        found = client.table("called").to_arrow()["imported"].to_pylist()
    assert set(found) == {""}
