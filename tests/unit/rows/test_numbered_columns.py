"""Columns in files carry their numbers, at every depth, or none of them does."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import Block, Field, Schema, Tombstone
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.files import parquet
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import (
    arrow_schema,
    numbered,
    write_rows,
    write_table,
    write_tombstone,
)
from dbt.adapters.vcs.table.files.rewrite import rewrite_blocks, write_without

FOLDER = "data/t/w=x1"
TABLE = Schema.of(
    Field(id="", name=name, type=type_)
    for name, type_ in {
        "k": "bigint",
        "s": "struct<a:int,`b c`:array<struct<d:string>>>",
        "m": "map<string,struct<e:int>>",
    }.items()
)
ROWS: list[dict[str, Any]] = [
    {"k": 1, "s": {"a": 1, "b c": [{"d": "x"}]}, "m": [("y", {"e": 2})]},
    {"k": 2, "s": None, "m": None},
]
NUMBERS = {
    path: field_number(*path)
    for path in [
        ("k",),
        ("s",),
        ("s", "a"),
        ("s", "b c"),
        ("s", "b c", "element"),
        ("s", "b c", "element", "d"),
        ("m",),
        ("m", "key"),
        ("m", "value"),
        ("m", "value", "e"),
    ]
}


def numbers_in(schema: pa.Schema) -> dict[tuple[str, ...], int | None]:
    """Return the number of each field of a file by its path; None without one."""
    found: dict[tuple[str, ...], int | None] = {}

    def visit(field: pa.Field, path: tuple[str, ...]) -> None:
        number = (field.metadata or {}).get(b"PARQUET:field_id")
        found[path] = None if number is None else int(number)
        if pa.types.is_struct(field.type):
            for part in field.type:
                visit(part, (*path, part.name))
        elif pa.types.is_map(field.type):
            visit(field.type.key_field, (*path, "key"))
            visit(field.type.item_field, (*path, "value"))
        elif pa.types.is_list(field.type):
            visit(field.type.value_field, (*path, "element"))

    for field in schema:
        visit(field, (field.name,))
    return found


def in_file(blobs: MemoryBlobs, path: str) -> dict[tuple[str, ...], int | None]:
    return numbers_in(pq.read_schema(pa.BufferReader(blobs.get(path))))


def table() -> pa.Table:
    return pa.Table.from_pylist(ROWS, schema=arrow_schema(TABLE))


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


def blocks(blobs: MemoryBlobs) -> tuple[Block, ...]:
    files = write_table(blobs, table(), folder=FOLDER, schema=TABLE)
    return read_blocks(blobs, files, TABLE, (), files)


def test_a_written_table_has_the_number_of_each_field(blobs: MemoryBlobs) -> None:
    [block] = blocks(blobs)
    assert in_file(blobs, block.path) == NUMBERS


def test_written_rows_have_the_number_of_each_field(blobs: MemoryBlobs) -> None:
    [path] = write_rows(blobs, table(), folder=FOLDER)
    assert in_file(blobs, path) == NUMBERS


def test_rewritten_blocks_have_the_number_of_each_field(blobs: MemoryBlobs) -> None:
    [path] = rewrite_blocks(
        blobs, blocks(blobs), TABLE.fields, (), folder="data/t/w=x2", target_bytes=1000
    )
    assert in_file(blobs, path) == NUMBERS
    assert pq.read_table(pa.BufferReader(blobs.get(path))).to_pylist() == ROWS


def test_a_block_from_which_rows_were_erased_has_the_numbers(blobs: MemoryBlobs) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table(), sink)
    blobs.create(f"{FOLDER}/old.parquet", sink.getvalue().to_pybytes())
    old, new = read_blocks(blobs, [f"{FOLDER}/old.parquet"], TABLE, ()), blocks(blobs)
    assert set(in_file(blobs, old[0].path).values()) == {None}
    for number, block in enumerate((*old, *new)):
        path = f"data/t/w=x9/{number}.parquet"
        write_without(blobs, block, np.array([0]), path)
        assert in_file(blobs, path) == NUMBERS
        assert pq.read_table(pa.BufferReader(blobs.get(path))).to_pylist() == ROWS[1:]


def test_deleted_rows_have_numbers_and_their_places_have_none(blobs: MemoryBlobs) -> None:
    places = {"__vcs_file": pa.array(["f", "f"]), "__vcs_pos": pa.array([0, 1])}
    rows = pa.table({**places, **{name: table().column(name) for name in TABLE.names}})
    tombstone: Tombstone = write_tombstone(blobs, rows, folder=FOLDER)
    assert in_file(blobs, tombstone.path) == {
        ("__vcs_file",): None,
        ("__vcs_pos",): None,
        **NUMBERS,
    }


def test_a_file_whose_numbers_collide_has_none(
    blobs: MemoryBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = blocks(blobs)
    monkeypatch.setattr(parquet, "field_number", lambda *path: 1_000 + len(path))
    [path] = write_rows(blobs, table(), folder="data/t/w=x2")
    assert set(in_file(blobs, path).values()) == {None}
    # What was read from a file with numbers must not hand them on.
    [path] = rewrite_blocks(
        blobs, before, TABLE.fields, (), folder="data/t/w=x3", target_bytes=1000
    )
    assert set(in_file(blobs, path).values()) == {None}


VARIANT = pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary())])
NUMBER = {b"PARQUET:field_id": b"1234"}


def test_the_parts_of_a_stored_variant_get_no_numbers() -> None:
    stored = pa.schema([pa.field("v", VARIANT, metadata=NUMBER)])
    assert numbers_in(numbered(stored, is_stored=True)) == {
        ("v",): field_number("v"),
        ("v", "metadata"): None,
        ("v", "value"): None,
    }


def test_a_stored_file_that_may_hold_a_variant_and_has_no_numbers_gets_none() -> None:
    stored = pa.schema([pa.field("k", pa.int64()), pa.field("a", pa.list_(VARIANT))])
    assert set(numbers_in(numbered(stored, is_stored=True)).values()) == {None}


def test_a_struct_that_looks_like_a_variant_has_numbers() -> None:
    new = numbered(pa.schema([pa.field("v", VARIANT)]))
    assert numbers_in(new) == {
        path: field_number(*path) for path in [("v",), ("v", "metadata"), ("v", "value")]
    }
    assert numbers_in(numbered(new, is_stored=True)) == numbers_in(new)
