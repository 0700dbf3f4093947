"""Files that Spark writes carry the numbers of their columns, or none if Spark can't give all."""

from collections.abc import Mapping
from typing import Any

import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.engines.dataframes import writes
from tests.unit.rows.test_numbered_columns import numbers_in

from .bench import Bench

pytestmark = pytest.mark.spark

NESTED = (
    "select 1L as k, named_struct('a', 1, 'b c', named_struct('d', 'x')) as s, "
    "cast(1.5 as decimal(5,2)) as amount, parse_json('[1]') as v, cast('x' as char(3)) as c"
)
PATHS = [("k",), ("s",), ("s", "a"), ("s", "b c"), ("s", "b c", "d"), ("amount",), ("v",), ("c",)]


def numbers_of(bench: Bench, query: str, **arguments: Any) -> Mapping[tuple[str, ...], int | None]:
    [path] = bench.write(query, **arguments).files
    return numbers_in(pq.read_schema(bench.blobs.root / path))


def test_each_field_has_its_number(bench: Bench) -> None:
    found = numbers_of(bench, NESTED)
    assert {path: found[path] for path in PATHS} == {path: field_number(*path) for path in PATHS}
    # The parts of a VARIANT have none.
    assert {path[0] for path, number in found.items() if number is None} == {"v"}


def test_numbers_come_from_ids_and_not_from_names(bench: Bench) -> None:
    found = numbers_of(bench, "select 1 as b, 2 as __vcs_pos", ids=["a", "__vcs_pos"])
    assert found == {("a",): field_number("a"), ("__vcs_pos",): None}


@pytest.mark.parametrize("value", ["array(named_struct('a', 1))", "map(1, 2)"])
def test_a_file_with_parts_that_spark_gives_no_numbers_has_none(bench: Bench, value: str) -> None:
    assert set(numbers_of(bench, f"select 1 as k, {value} as v").values()) == {None}


def test_a_file_whose_numbers_collide_has_none(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writes, "field_number", lambda *path: 1_000 + len(path))
    assert set(numbers_of(bench, "select 1 as a, 2 as b").values()) == {None}


def test_the_numbers_of_a_users_frame_are_not_taken_over(bench: Bench) -> None:
    spark = bench.session._spark
    from pyspark.sql.types import IntegerType, StructField, StructType

    told = {"parquet.field.id": 7}
    inner = StructType([StructField("a", IntegerType(), metadata=told)])
    schema = StructType(
        [StructField("s", inner, metadata=told), StructField("k", IntegerType(), metadata=told)]
    )
    spark.createDataFrame([((1,), 2)], schema).createOrReplaceTempView("theirs")
    assert numbers_of(bench, "select * from theirs") == {
        path: field_number(*path) for path in [("s",), ("s", "a"), ("k",)]
    }
    assert set(numbers_of(bench, "select *, array(1) as l from theirs").values()) == {None}


def test_a_session_that_writes_no_numbers_does_for_us(bench: Bench) -> None:
    bench.session._spark.conf.set("spark.sql.parquet.fieldId.write.enabled", "false")
    assert numbers_of(bench, "select 1 as a") == {("a",): field_number("a")}


def test_rows_are_read_by_name_whatever_the_session_says_of_numbers(bench: Bench) -> None:
    table, _ = bench.table(NESTED)
    bench.session._spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    assert bench.rows(f"select k, s.a, s.`b c`.d, cast(amount as string) from {table}") == [
        (1, 1, "x", "1.50")
    ]
