"""Python models are reused where a list of what they may do covers all that they do."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.reuse.python_purity import unrepeatable

HEAD = """
def model(dbt, session):
    import pandas as pd, numpy as np, pyarrow as pa, polars as pl
    return """
COLUMNS = """
from pyspark.sql import functions as F
def model(dbt, session):
    return """


@pytest.mark.parametrize(
    "expression",
    [
        "pd.read_csv('/x')",
        "np.loadtxt('/x')",
        "pl.scan_parquet('/x')",
        "pa.dataset.dataset('/x').to_table()",
        "pd.Timestamp('now')",
    ],
)
def test_libraries_can_read_anything(expression):
    assert unrepeatable(HEAD + expression) == "it imports pandas"


@pytest.mark.parametrize(
    "expression",
    [
        "session.sparkContext.textFile('/x')",
        "session.read.csv('/x')",
        "session.sql('select 1')",
        "session.createDataFrame([(session.conf.get('spark.app.id'),)])",
        "session._jvm.java.lang.System.nanoTime()",
        "session.range(1).select(F.curdate())",
        "session.range(1).select(F.current_user())",
        "session.range(1).select(F.unix_timestamp())",
        "session.range(9).agg(F.array_agg('id'))",
        "session.range(9).agg(F.mode('id'))",
        "session.range(9).agg(F.listagg('id'))",
        "session.range(1).select(F.reflect(F.lit('java.lang.System'), F.lit('nanoTime')))",
        "session.range(1).select(F.call_function('reflect', F.lit('x')))",
        'session.range(1).select(F.expr(\'java_method("java.lang.System", "nanoTime")\'))',
        "session.range(1).selectExpr('`reflect` (1)')",
        "session.range(1).selectExpr('ref' + 'lect' + '(1)')",
        "session.range(1).where(f\"id < {'reflect'}(1)\")",
        "session.range(1).where('ts < current_date')",
        "session.range(1).where(F.col('ts') < F.lit('now').cast('timestamp'))",
        "session.range(1).where('who = current_user')",
        "session.range(9).dropDuplicates(['id'])",
        "session.range(9).limit(3)",
        "session.range(9).offset(3)",
        "session.range(9).sample(0.5)",
        "session.range(9).toPandas().iloc[:3]",
        "session.createDataFrame([(id(object()),)], 'a long')",
        "session.createDataFrame([(hash('x'),)], 'a long')",
        "session.createDataFrame([(x,) for x in {'x', 'y'}], 'a string')",
        "session.createDataFrame([(x,) for x in set('xy')], 'a string')",
        "session.createDataFrame([(open('/x').read(),)], 'a string')",
        "getattr(session, 'sparkContext')",
        "session.range(9).mapInPandas(lambda frames: frames, 'id long')",
        "F.udf(lambda: 1)()",
    ],
)
def test_what_is_not_known_to_be_repeatable_is_not(expression):
    assert unrepeatable(COLUMNS + expression) is not None


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "import pyspark",
        "from pyspark.sql.functions import reflect as abs",
        "from pyspark.sql.functions import *",
        "from datetime import *",
        "from . import helpers",
        "from typing import sys",
    ],
)
def test_only_known_names_are_imported(line):
    assert unrepeatable(f"{line}\ndef model(dbt, session):\n    return dbt.ref('a')") is not None


def test_columns_of_what_dbt_knows_are_repeatable():
    code = '''
"""It's a model of reflect(1) and now()."""
from datetime import date, timedelta
from functools import reduce
import pyspark.sql.functions as F
import pyspark.sql.types as T
from pyspark.sql import DataFrame, Window
from pyspark.sql.functions import col, lit

def latest(rows: DataFrame, *keys):
    """Say 'today'."""
    by = Window.partitionBy(*keys).orderBy(F.desc("day"), col("id"))
    return rows.withColumn("n", F.row_number().over(by)).where("n = 1 and id in (1, 2)").drop("n")

def model(dbt, session):
    dbt.config(materialized="incremental", tags=["a"])
    orders, rates = dbt.ref("orders"), dbt.source("raw", "rates")
    if dbt.is_incremental:
        orders = orders.where(F.col("day") > lit(date(2020, 1, 1) + timedelta(days=3)))
    schema = T.StructType([T.StructField("id", T.LongType())])
    both = reduce(DataFrame.union, [orders.select("id"), session.createDataFrame([(1,)], schema)])
    joined = both.join(rates, ["id"], "left").groupBy("id").agg(
        F.sum(F.col("amount").cast("decimal(10, 2)")).alias("total"),
        F.expr("max(if(rate > 1, coalesce(rate, 0), 1))").alias("rate"),
    )
    return latest(joined, *[name for name in joined.columns if name != "total"])
'''
    assert unrepeatable(code) is None
