"""Spark and Arrow read the same rows from old and new files of random partitioned tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import Schema
from dbt.adapters.vcs.engines.port import Destination, TableMount
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import arrow_schema, write_rows
from dbt.adapters.vcs.table.quoting import quoted
from tests.unit.rows.test_inside_columns import tables, without_columns

from .bench import Bench

pytestmark = pytest.mark.spark


@settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(table=tables(), data=st.data())
def test_old_and_new_files_have_the_rows_that_were_written(
    bench: Bench, table: tuple[Schema, tuple[str, ...], list[list[Any]]], data: st.DataObject
) -> None:
    schema, by, rows = table
    session, blobs, number = bench.session, bench.blobs, next(bench.numbers)
    written = pa.Table.from_pylist(
        [dict(zip(schema.names, row, strict=True)) for row in rows], arrow_schema(schema)
    )
    view = session.mount_arrow(f"rows{number}", written)
    columns = ", ".join(quoted(field.id) for field in schema.fields)
    folder = f"data/i{number}/w="
    by_spark = session.write(
        f"select {columns} from {view}", Destination(folder=f"{folder}s", partition_by=by)
    )
    by_arrow = write_rows(blobs, written, folder=f"{folder}a", partition_by=by)
    twice = [*read_blocks(blobs, by_spark.files, schema, by)]
    twice += read_blocks(blobs, by_arrow, schema, by)
    for block in twice:
        inside = pq.read_schema(pa.BufferReader(blobs.get(block.path)))
        assert {field.name: field.metadata[b"PARQUET:field_id"] for field in inside} == {
            field.id: str(field_number(field.id)).encode() for field in schema.fields
        }
    blocks = [
        without_columns(blobs, block, by, f"{folder}o") if data.draw(st.booleans()) else block
        for block in twice
    ]
    mount = TableMount(
        id=f"i{number}",
        folder=f"data/i{number}",
        files=tuple(block.path for block in blocks),
        fields=schema.fields,
    )
    spark = session.query(f"select {columns} from {session.mount_physical(mount)}").arrow()
    arrow = [
        row
        for block in blocks
        for row in Files(blobs)
        .columns(block.path, schema.fields, partition=block.partition)
        .to_pylist()
    ]
    wanted = Counter(map(repr, written.to_pylist() * 2))
    assert Counter(map(repr, spark.to_pylist())) == wanted
    assert Counter(map(repr, arrow)) == wanted
