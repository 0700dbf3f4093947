"""What a server doesn't tell: which of Spark's functions vary, by the examples of Spark itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.engines.dataframes.repeatable import is_plan_repeatable
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

pytestmark = pytest.mark.spark

EXAMPLE = re.compile(r"> (SELECT .*?);\n", re.DOTALL)


def is_deterministic(plan: Any) -> bool:
    expressions, children = plan.expressions(), plan.children()
    return all(
        expressions.apply(place).deterministic() for place in range(expressions.size())
    ) and all(is_deterministic(children.apply(place)) for place in range(children.size()))


def test_what_spark_calls_varying_is_known_from_its_name(
    spark_engine_factory: Callable[..., SparkEngine],
) -> None:
    spark_engine_factory(MemoryBlobs()).session("main").query("select 1").fetch()
    spark = SparkSession.builder.getOrCreate()
    found, missed = set(), []
    for (name,) in spark.sql("show system functions").collect():
        rows = spark.sql(f"describe function extended `{name}`").collect()
        for query in EXAMPLE.findall("\n".join(row[0] for row in rows)):
            try:
                (plans,) = spark.sql(f"explain extended {query}").first() or ("",)
                analysed = spark.sql(query)._jdf.queryExecution().analyzed()
            except Exception:
                continue
            if not is_deterministic(analysed):
                found.add(name)
                if is_plan_repeatable(plans, ()):
                    missed.append(query)
    assert not missed
    assert {"uuid", "reflect", "shuffle"} <= found
