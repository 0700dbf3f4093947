"""Partition columns are inside the files that Spark writes, and older files read the same."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import Block, Field, Schema
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.rewrite import rewrite_blocks
from dbt.adapters.vcs.table.partition_values import column_of, partition_folders

from .bench import Bench, schema_of

pytestmark = pytest.mark.spark

COLUMNS = {
    "k": "bigint",
    "s": "string",
    "t": "timestamp",
    "n": "timestamp_ntz",
    "d": "date",
    "f": "double",
    "x": "decimal(38,20)",
    "b": "boolean",
    "c": "char(3)",
    "v": "varchar(5)",
}
BY = list(COLUMNS)[1:]
ROWS = (
    "(1, 'a/b%41', timestamp'2026-01-02 03:04:05.678901', timestamp_ntz'1900-01-01 00:00:00', "
    "date'0001-01-01', double('nan'), -0.00000000000000000001, true, 'a', 'x '), "
    "(2, null, null, null, null, null, null, null, null, null), "
    "(3, ' ü=', timestamp'1582-10-04 00:00:00', timestamp_ntz'2026-01-02 03:04:05.6', "
    "date'9999-12-31', double('-0.0'), 1, false, 'abc', 'a/b%')"
)
CAST = ", ".join(f"cast({name} as {type_}) {name}" for name, type_ in COLUMNS.items())
QUERY = f"select {CAST} from values {ROWS} as r({', '.join(COLUMNS)})"


def as_before(bench: Bench, block: Block, *, inside: bool) -> str:
    """Store a block in folders called like the columns; return its path.

    Older versions kept the columns out of the file.
    """
    write, folders = partition_folders(block.path)
    names = "/".join(f"{column_of(name)}={value}" for name, value in folders)
    path = f"{write}old{inside}/{names}/{block.path.rpartition('/')[2]}"
    rows = pq.ParquetFile(bench.blobs.root / block.path).read()
    sink = pa.BufferOutputStream()
    pq.write_table(rows if inside else rows.drop_columns(BY), sink, coerce_timestamps="us")
    bench.blobs.create(path, sink.getvalue().to_pybytes())
    return path


def test_a_partitioned_write_keeps_its_columns_inside_with_their_numbers(bench: Bench) -> None:
    written = bench.write(QUERY, *BY)
    tables = [pq.ParquetFile(Path(bench.blobs.root) / path).read() for path in written.files]
    for table in tables:
        assert table.column_names == list(COLUMNS)
        assert [int(field.metadata[b"PARQUET:field_id"]) for field in table.schema] == [
            field_number(name) for name in COLUMNS
        ]
    plain = bench.session.query(QUERY).arrow().to_pylist()
    inside = pa.concat_tables(tables).to_pylist()
    assert Counter(map(repr, inside)) == Counter(map(repr, plain))


def test_old_and_new_files_have_the_same_rows_in_spark_and_in_arrow(bench: Bench) -> None:
    written = bench.write(QUERY, *BY)
    schema = schema_of(written, COLUMNS)
    new = bench.blocks(written, *BY)
    paths = {
        "new": list(written.files),
        "path alone": [as_before(bench, block, inside=False) for block in new],
        "both, called alike": [as_before(bench, block, inside=True) for block in new],
    }
    [*rewritten] = rewrite_blocks(
        bench.blobs,
        read_blocks(bench.blobs, paths["path alone"][:1], schema, BY),
        schema.fields,
        (),
        folder=bench.folder(),
        target_bytes=10**6,
    )
    mixed = [paths["new"][0], paths["path alone"][1], paths["both, called alike"][2]]
    wanted = bench.rows(f"{QUERY} order by k")
    for name, files in {**paths, "mixed": mixed}.items():
        table = bench.mount(files, schema)
        assert repr(bench.rows(f"select * from {table} order by k")) == repr(wanted), name
        assert [(c.name, c.type) for c in bench.session.analysed(f"from {table}").columns] == [
            *COLUMNS.items()
        ]
        for column in BY:
            # One file is read for a value of any partition column.
            query = f"from {table} a left semi join {table} b on a.{column} <=> b.{column}"
            assert len(bench.rows(f"{query} and b.k = 1")) == 1, (name, column)
        blocks = read_blocks(bench.blobs, files, schema, BY)
        read = [
            row
            for block in blocks
            for row in Files(bench.blobs)
            .columns(block.path, schema.fields, partition=block.partition)
            .to_pylist()
        ]
        arrow = bench.session.query(f"select * from {table}").arrow().to_pylist()
        assert Counter(map(repr, read)) == Counter(map(repr, arrow)), name
    [first] = bench.rows(f"select * from {bench.mount(rewritten, schema)}")
    assert repr(first) in map(repr, wanted)


def test_partitions_are_left_out_without_looking_into_files(bench: Bench) -> None:
    written = bench.write("select id, id % 10 p from range(100)", "p")
    table = bench.mount(written.files, schema_of(written))
    [(plan,)] = bench.rows(f"explain select id from {table} where p = 3")
    assert "PartitionFilters: [isnotnull(__vcs_by_p" in plan
    assert "ReadSchema: struct<id:bigint>" in plan


def test_a_column_may_be_called_like_a_copy(bench: Bench) -> None:
    schema = Schema.of(Field(id="", name=name, type="int") for name in ("k", "__vcs_by_p", "p"))
    ids = [field.id for field in schema.fields]
    written = bench.write("select 1 k, 2 __vcs_by_p, 3 p", "p", "__vcs_by_p", ids=ids)
    table = bench.mount(written.files, schema)
    assert bench.rows(f"select k, p, __vcs_by_p from {table}") == [(1, 3, 2)]
    [block] = read_blocks(bench.blobs, written.files, schema, [ids[2], ids[1]])
    assert block.partition == {"p": "3", ids[1]: "2"}


def test_a_table_needs_a_column_that_is_no_partition(bench: Bench) -> None:
    with pytest.raises(StatementError, match="ALL_PARTITION_COLUMNS_NOT_ALLOWED"):
        bench.write("select 1 a, 2 b", "a", "b")
