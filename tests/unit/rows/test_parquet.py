from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.model import Block, ColumnStats, Field, Schema
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.files.footers import check_not_null, read_blocks
from dbt.adapters.vcs.table.files.parquet import arrow_schema, parquet_bytes, write_table

FOLDER = "data/t/w=x1"


def schema_of(*types: str, nullable: bool = True) -> Schema:
    return Schema.of(
        Field(id="", name=f"c{number}", type=type_, nullable=nullable)
        for number, type_ in enumerate(types)
    )


def blocks_of(table: pa.Table, schema: Schema, **options: int) -> tuple[Block, ...]:
    blobs = MemoryBlobs()
    paths = write_table(blobs, table, folder=FOLDER, schema=schema, **options)
    return read_blocks(blobs, paths, schema, ())


def stats_of(values: list[object], type_: str) -> ColumnStats:
    schema = schema_of(type_)
    table = pa.table({"c0": pa.array(values, arrow_schema(schema).types[0])})
    (block,) = blocks_of(table, schema)
    return block.stats["c0"]


@pytest.mark.parametrize(
    ("type_", "values", "low", "high"),
    [
        ("boolean", [True, False], False, True),
        ("tinyint", [-128, 127], -128, 127),
        ("bigint", [-(2**63), 2**63 - 1], -(2**63), 2**63 - 1),
        ("double", [1.5, -2.5], -2.5, 1.5),
        ("double", [float("inf"), 1.0], 1.0, None),
        ("decimal(38,18)", [Decimal("-1.5"), Decimal("2")], f"-1.5{'0' * 17}", f"2.{'0' * 18}"),
        ("decimal(5,2)", [Decimal("9.99"), Decimal("10.01")], "9.99", "10.01"),
        ("string", ["b", "a", "é"], "a", "é"),
        ("string", ["x" * 100], "x" * 64, "x" * 63 + "y"),
        ("date", [date(1969, 12, 31), date(1970, 1, 2)], -1, 1),
        ("timestamp", [datetime(1970, 1, 1, 0, 0, 1, 5, timezone.utc)], 1_000_005, 1_000_005),
        ("timestamp_ntz", [datetime(1970, 1, 1)], 0, 0),
    ],
)
def test_bounds(type_: str, values: list[object], low: object, high: object) -> None:
    assert stats_of([*values, None], type_) == ColumnStats(low, high, 1)


def test_decimals_are_compared_as_numbers_over_row_groups() -> None:
    table = pa.table({"c0": pa.array([Decimal("9.00"), Decimal("10.00")], pa.decimal128(5, 2))})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=1)
    blobs = MemoryBlobs()
    blobs.create(f"{FOLDER}/f.parquet", sink.getvalue().to_pybytes())
    schema = schema_of("decimal(5,2)")
    (block,) = read_blocks(blobs, [f"{FOLDER}/f.parquet"], schema, ())
    assert block.stats["c0"] == ColumnStats("9.00", "10.00", 0)


def test_floats_with_nan_have_the_count_of_nulls() -> None:
    assert stats_of([float("nan"), None], "double").nulls == 1


def test_floats_beside_nan_have_no_statistics_since_bounds_would_leave_it_out() -> None:
    assert stats_of([float("nan"), 1.0, None], "double") == ColumnStats(None, None, -1)
    assert stats_of([float("nan"), 1.0], "float") == ColumnStats(None, None, -1)


@pytest.mark.parametrize("type_", ["struct<d:double,i:int>", "array<float>", "map<int,double>"])
def test_floats_inside_other_values_have_no_statistics(type_: str) -> None:
    nested = {"struct": {"d": 1.5, "i": 2}, "array": [1.5], "map": [(1, 1.5)]}
    column = pa.array([nested[type_.partition("<")[0]]], arrow_schema(schema_of(type_)).types[0])
    data = parquet_bytes(pa.table({"c0": column}), "data/t/w=x")
    (group,) = [pq.read_metadata(pa.BufferReader(data))]
    found = {
        leaf.path_in_schema: leaf.is_stats_set
        for leaf in (group.row_group(0).column(n) for n in range(group.num_columns))
    }
    measured = {"c0.i", "c0.key_value.key"}
    assert found == {path: path in measured for path in found}


def test_only_nulls() -> None:
    assert stats_of([None, None], "int") == ColumnStats(None, None, 2)


@pytest.mark.parametrize("type_", ["array<int>", "map<string,int>", "struct<a:int>"])
def test_nested_columns_have_no_bounds(type_: str) -> None:
    schema = schema_of(type_, "int")
    table = pa.table(
        [pa.nulls(2, arrow_schema(schema).types[0]), pa.array([1, 2], pa.int32())], ["a", "b"]
    )
    (block,) = blocks_of(table, schema)
    assert block.stats == {"c1": ColumnStats(1, 2, 0)}


def test_binary_has_the_count_of_nulls_alone() -> None:
    assert stats_of([b"\x00\xff", None], "binary") == ColumnStats(None, None, 1)


def test_names_with_dots_are_not_nested_columns() -> None:
    schema = Schema.of(
        [Field(id="", name="a.b", type="int"), Field(id="", name="a", type="struct<b:int>")]
    )
    table = pa.table([pa.array([7]), pa.array([{"b": 1}])], ["x", "y"])
    (block,) = blocks_of(table, schema)
    assert block.stats == {"a.b": ColumnStats(7, 7, 0)}


def test_a_column_that_the_file_lacks_is_null() -> None:
    blobs = MemoryBlobs()
    paths = write_table(blobs, pa.table({"a": [1, 2]}), folder=FOLDER, schema=schema_of("bigint"))
    (block,) = read_blocks(blobs, paths, schema_of("bigint", "string", "array<int>"), ())
    assert block.stats["c1"] == ColumnStats(None, None, 2)
    assert block.stats["c2"] == ColumnStats(None, None, 2)


def test_partition_values_come_from_the_path() -> None:
    blobs = MemoryBlobs()
    schema = schema_of("bigint", "date")
    plain = schema_of("bigint")
    folder = f"{FOLDER}/c1=2026-01-01"
    paths = write_table(blobs, pa.table({"a": [1, 2]}), folder=folder, schema=plain)
    (block,) = read_blocks(blobs, paths, schema, ("c1",))
    assert block.partition == {"c1": "2026-01-01"}
    assert block.stats["c1"] == ColumnStats(20454, 20454, 0)
    assert (block.rows, block.bytes) == (2, blobs.size(block.path))


def test_many_rows_go_to_many_files() -> None:
    table = pa.table({"a": pa.array(range(10), pa.int64())})
    blocks = blocks_of(table, schema_of("bigint"), max_rows_per_file=4)
    assert [block.rows for block in blocks] == [4, 4, 2]
    assert len({block.path for block in blocks}) == 3


def test_no_rows_make_no_file() -> None:
    assert blocks_of(pa.table({"a": pa.array([], pa.int64())}), schema_of("bigint")) == ()


def test_a_long_footer_is_read_whole() -> None:
    count = 3000
    schema = schema_of(*["string"] * count)
    table = pa.table([pa.array(["x" * 60])] * count, [f"n{number}" for number in range(count)])
    (block,) = blocks_of(table, schema)
    assert len(block.stats) == count


def test_many_files_keep_their_order() -> None:
    table = pa.table({"a": pa.array(range(40), pa.int64())})
    blocks = blocks_of(table, schema_of("bigint"), max_rows_per_file=1)
    assert [block.stats["c0"].min for block in blocks] == list(range(40))


@pytest.mark.parametrize(
    "data", [b"", b"short", b"PAR1" + b"\0" * 20, b"x" * 8 + b"\xff\0\0\0PAR1"]
)
def test_files_that_are_no_parquet(data: bytes) -> None:
    blobs = MemoryBlobs()
    blobs.create("data/t/w=x/f", data)
    with pytest.raises(DamagedError, match="data/t/w=x/f is not a Parquet file"):
        read_blocks(blobs, ["data/t/w=x/f"], schema_of("int"), ())


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(NotFoundError):
        read_blocks(MemoryBlobs(), ["data/t/w=x/f"], schema_of("int"), ())


def test_a_folder_is_written_once() -> None:
    blobs = MemoryBlobs()
    table = pa.table({"a": [1]})
    write_table(blobs, table, folder=FOLDER, schema=schema_of("bigint"))
    other = pa.table({"a": [2]})
    with pytest.raises(InputError, match="already exists"):
        write_table(blobs, other, folder=FOLDER, schema=schema_of("bigint"))


@pytest.mark.parametrize(
    ("values", "type_"),
    [(["x"], "int"), ([2**40], "int"), ([1.5], "int"), (["1.005"], "decimal(3,2)")],
)
def test_values_that_do_not_fit_are_refused(values: list[object], type_: str) -> None:
    with pytest.raises(InputError, match="don't fit its type"):
        blocks_of(pa.table({"a": values}), schema_of(type_))


def test_another_number_of_columns_is_refused() -> None:
    with pytest.raises(InputError, match="2 columns"):
        blocks_of(pa.table({"a": [1]}), schema_of("int", "int"))


def test_not_null() -> None:
    schema = schema_of("bigint", "array<int>", nullable=False)
    table = pa.table([pa.array([1, None]), pa.array([[1], None])], ["a", "b"])
    blocks = blocks_of(table, schema)
    with pytest.raises(InputError, match=r"NOT NULL: c0 \(1 NULL\)"):
        check_not_null(blocks, schema)


def test_not_null_tells_what_counts_do_not_tell() -> None:
    schema = schema_of("bigint", "array<int>", nullable=False)
    blocks = blocks_of(pa.table([pa.array([1]), pa.array([[1]])], ["a", "b"]), schema)
    assert check_not_null(blocks, schema) == (schema.fields[1],)
    assert check_not_null((), schema) == ()
    assert check_not_null(blocks, schema_of("bigint", "array<int>")) == ()
