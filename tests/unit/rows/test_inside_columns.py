"""Partition columns are inside new files; older files with the path alone read the same."""

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import Block, Field, Schema
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs
from dbt.adapters.vcs.table.files.block_reader import Files, partition_scalar
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import arrow_schema, write_rows
from dbt.adapters.vcs.table.files.rewrite import rewrite_blocks, write_without
from dbt.adapters.vcs.table.partition_values import NULL_FOLDER, folder_of_text

FOLDER = "data/t/w=x1"
TYPES: dict[str, tuple[Any, str]] = {
    "string": ("a/b c", "a%2Fb c"),
    "char(3)": ("a  ", "a  "),
    "date": (date(2026, 11, 20), "2026-11-20"),
    "timestamp": (
        datetime(2026, 11, 20, 1, 2, 3, 4, timezone.utc),
        "2026-11-20 01%3A02%3A03.000004",
    ),
    "timestamp_ntz": (datetime(1900, 1, 1), "1900-01-01 00%3A00%3A00"),
    "decimal(38,20)": (Decimal("-1E-20"), "-1E-20"),
    "double": (1e-310, "1.0E-310"),
    "float": (float("inf"), "Infinity"),
    "boolean": (True, "true"),
    "tinyint": (-128, "-128"),
}
TABLE = Schema.of(
    [
        Field(id="", name="k", type="bigint"),
        *(Field(id="", name=f"p{n}", type=type_) for n, type_ in enumerate(TYPES)),
    ]
)
BY = TABLE.names[1:]


def old_block(blobs: MemoryBlobs, *, is_null: bool = False) -> Block:
    """Store a file as Spark wrote it when the path alone had the partition columns."""
    folders = "/".join(
        f"{id}={NULL_FOLDER if is_null else text}"
        for id, (_, text) in zip(BY, TYPES.values(), strict=True)
    )
    path = f"{FOLDER}/{folders}/part-0.parquet"
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"k": pa.array([1, 2, 3], pa.int64())}), sink)
    blobs.create(path, sink.getvalue().to_pybytes())
    [block] = read_blocks(blobs, [path], TABLE, BY)
    return block


def rows_in(blobs: MemoryBlobs, path: str) -> list[dict[str, Any]]:
    """Return what is inside a file, whatever its path is, and check the columns' numbers."""
    table = pq.ParquetFile(pa.BufferReader(blobs.get(path))).read()
    assert [int(field.metadata[b"PARQUET:field_id"]) for field in table.schema] == [
        field_number(field.name) for field in table.schema
    ]
    found: list[dict[str, Any]] = table.select(TABLE.names).to_pylist()
    return found


@pytest.mark.parametrize("is_null", [False, True])
def test_a_file_with_the_columns_only_in_its_path_gets_them(is_null: bool) -> None:
    blobs = MemoryBlobs()
    old = old_block(blobs, is_null=is_null)
    values = [None if is_null else value for value, _ in TYPES.values()]
    rows = [dict(zip(TABLE.names, [k, *values], strict=True)) for k in (1, 2, 3)]
    assert (
        Files(blobs).columns(old.path, TABLE.fields, partition=old.partition).to_pylist() == rows
    )

    [rewritten] = rewrite_blocks(
        blobs, [old], TABLE.fields, (), folder="data/t/w=x2", target_bytes=10**6
    )
    assert rows_in(blobs, rewritten) == rows
    filtered = rewritten.replace("w=x2", "w=x3")
    write_without(blobs, old, np.array([1]), filtered, fields=TABLE.fields)
    assert rows_in(blobs, filtered) == [rows[0], rows[2]]
    again = filtered.replace("w=x3", "w=x4")
    write_without(
        blobs,
        read_blocks(blobs, [filtered], TABLE, BY)[0],
        np.array([0]),
        again,
        fields=TABLE.fields,
    )
    assert rows_in(blobs, again) == [rows[2]]
    for path in (rewritten, filtered, again):
        [new] = read_blocks(blobs, [path], TABLE, BY)
        assert new.partition == old.partition
        stats = {id: new.stats[id][:2] for id in BY}
        assert stats == {id: old.stats[id][:2] for id in BY}


def test_a_partition_value_that_arrow_does_not_understand_is_left_to_spark() -> None:
    with pytest.raises(UnsupportedError, match=r"\+10000-01-01 00:00:00"):
        partition_scalar("+10000-01-01 00:00:00", pa.timestamp("us", "UTC"))


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
values = {
    "string": texts.filter(lambda text: text != NULL_FOLDER),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "date": st.dates(),
    "boolean": st.booleans(),
}
names = st.text(st.characters(codec="ascii", categories=["Ll", "P", "S"]), min_size=1, max_size=4)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Schema, tuple[str, ...], list[list[Any]]]:
    """Return columns, the ids of some to partition by, and rows."""
    ids = draw(st.lists(names, min_size=2, max_size=5, unique_by=str.lower))
    types = [draw(st.sampled_from(sorted(values))) for _ in ids]
    schema = Schema.of(
        Field(id="", name=id, type=type_) for id, type_ in zip(ids, types, strict=True)
    )
    by = tuple(ids[: draw(st.integers(1, len(ids) - 1))])
    cells = st.tuples(*(st.none() | values[type_] for type_ in types))
    return schema, by, [list(row) for row in draw(st.lists(cells, min_size=1, max_size=6))]


def without_columns(
    blobs: Blobs, block: Block, by: tuple[str, ...], write: str = "data/t/w=old"
) -> Block:
    """Store a block again as older versions did: the path alone has the partition columns."""
    inside = pq.ParquetFile(pa.BufferReader(blobs.get(block.path))).read().drop_columns(list(by))
    folders = "/".join(folder_of_text(id, block.partition[id]) for id in by)
    path = f"{write}/{folders}/{block.path.rpartition('/')[2]}"
    sink = pa.BufferOutputStream()
    pq.write_table(inside, sink)
    blobs.create(path, sink.getvalue().to_pybytes())
    return Block(path=path, rows=block.rows, bytes=blobs.size(path), partition=block.partition)


@given(table=tables(), data=st.data())
def test_rows_are_the_same_from_old_and_new_files_and_inside_of_new_ones(
    table: tuple[Schema, tuple[str, ...], list[list[Any]]], data: st.DataObject
) -> None:
    schema, by, rows = table
    blobs = MemoryBlobs()
    written = pa.Table.from_pylist(
        [dict(zip(schema.names, row, strict=True)) for row in rows], arrow_schema(schema)
    )
    paths = write_rows(blobs, written, folder=FOLDER, partition_by=by)
    blocks = [
        without_columns(blobs, block, by) if data.draw(st.booleans()) else block
        for block in read_blocks(blobs, paths, schema, by)
    ]
    files = Files(blobs)
    read = [
        row
        for block in blocks
        for row in files.columns(block.path, schema.fields, partition=block.partition).to_pylist()
    ]
    assert sorted(map(repr, read)) == sorted(map(repr, written.to_pylist()))
    inside = []
    for number, block in enumerate(blocks):
        [path] = rewrite_blocks(
            blobs, [block], schema.fields, (), folder=f"data/t/w=y{number}", target_bytes=10**6
        )
        found = pq.ParquetFile(pa.BufferReader(blobs.get(path))).read()
        inside += found.select(list(schema.names)).to_pylist()
        [new] = read_blocks(blobs, [path], schema, by)
        assert new.partition == block.partition
    assert inside == read
