"""Damage in a file of rows is told, whatever bit it hits."""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import Block, Field, Schema, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.files import rewrite
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.footers import digest, read_blocks
from dbt.adapters.vcs.table.files.parquet import write_rows, write_table, write_tombstone
from dbt.adapters.vcs.table.files.rewrite import rewrite_blocks

SCHEMA = Schema.of(
    [Field(id="", name="id", type="bigint"), Field(id="", name="name", type="string")]
)


def rows(first: int, count: int) -> pa.Table:
    ids = list(range(first, first + count))
    return pa.table({"id": ids, "name": [f"name {id * 7919}" for id in ids]})


def written(blobs: MemoryBlobs, table: str, data: pa.Table) -> Block:
    paths = write_table(blobs, data, folder=f"data/{table}/w=x{table}", schema=SCHEMA)
    (block,) = read_blocks(blobs, paths, SCHEMA, (), paths)
    return block


def put(blobs: MemoryBlobs, path: str, data: bytes) -> None:
    blobs.delete(path)
    assert blobs.create(path, data)


def flipped(data: bytes, bit: int) -> bytes:
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def read(blobs: MemoryBlobs, block: Block) -> pa.Table:
    return pa.Table.from_batches(Files(blobs).batches(block, SCHEMA.fields))


SMALL, LARGE = rows(0, 100), rows(0, 20_000)


@given(st.data())
def test_a_flipped_bit_of_a_small_file_is_an_error_wherever_it_is(data: st.DataObject) -> None:
    blobs = MemoryBlobs()
    block = written(blobs, "t", SMALL)
    good = blobs.get(block.path)
    put(blobs, block.path, flipped(good, data.draw(st.integers(0, len(good) * 8 - 1))))
    with pytest.raises(DamagedError, match=block.path):
        read(blobs, block)


@given(st.data())
def test_a_flipped_bit_in_the_pages_of_a_large_file_gives_no_wrong_row(
    data: st.DataObject,
) -> None:
    blobs = MemoryBlobs()
    block = written(blobs, "t", LARGE)
    assert block.whole
    # As written by Spark: only page checksums and the footer's digest are left.
    block = msgspec.structs.replace(block, whole="")
    good = blobs.get(block.path)
    put(blobs, block.path, flipped(good, data.draw(st.integers(0, len(good) * 8 - 1))))
    try:
        found = read(blobs, block)
    except DamagedError as error:
        assert block.path in str(error)
    else:
        assert found.to_pylist() == LARGE.to_pylist()


@pytest.mark.parametrize("count", [100, 20_000])
def test_files_swapped_between_tables_are_told_apart(count: int) -> None:
    blobs = MemoryBlobs()
    one, two = written(blobs, "a", rows(0, count)), written(blobs, "b", rows(0, count))
    first, second = blobs.get(one.path), blobs.get(two.path)
    put(blobs, one.path, second)
    put(blobs, two.path, first)
    for block in (one, two):
        with pytest.raises(DamagedError, match="not the file that was written"):
            read(blobs, block)


@pytest.mark.parametrize("count", [100, 20_000])
@pytest.mark.parametrize("left", [0.0, 0.5, 0.999])
def test_a_truncated_file_is_damage(count: int, left: float) -> None:
    blobs = MemoryBlobs()
    block = written(blobs, "t", rows(0, count))
    good = blobs.get(block.path)
    put(blobs, block.path, good[: int(len(good) * left)])
    with pytest.raises(DamagedError, match=block.path):
        read(blobs, block)


def test_an_entry_without_digests_is_read_as_before() -> None:
    blobs = MemoryBlobs()
    block = written(blobs, "t", SMALL)
    old = msgspec.structs.replace(block, footer="", whole="")
    assert read(blobs, old).to_pylist() == SMALL.to_pylist()


def test_a_rewrite_refuses_a_damaged_block_and_writes_nothing() -> None:
    blobs = MemoryBlobs()
    block = written(blobs, "t", LARGE)
    good = blobs.get(block.path)
    put(blobs, block.path, flipped(good, 4_000))
    with pytest.raises(DamagedError, match=block.path):
        rewrite_blocks(
            blobs, [block], SCHEMA.fields, [], folder="data/t/w=new", target_bytes=2**20
        )
    assert list(blobs.walk("data/t/w=new")) == []


@pytest.mark.parametrize("at_once", [0, 2**20])
def test_a_purge_copies_no_row_of_another_file(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(rewrite, "_READ_WHOLE", at_once)
    blobs = MemoryBlobs()
    one, two = written(blobs, "a", rows(0, 100)), written(blobs, "b", rows(100, 100))
    put(blobs, one.path, blobs.get(two.path))
    with pytest.raises(DamagedError, match="not the file that was written"):
        rewrite.read_stored(blobs, one)
    with pytest.raises(DamagedError, match="not the file that was written"):
        rewrite.write_without(blobs, one, np.array([3]), "data/a/w=new/part-1.parquet")
    assert list(blobs.walk("data/a/w=new")) == []


def test_a_damaged_tombstone_deletes_nothing() -> None:
    blobs = MemoryBlobs()
    gone = pa.table({FILE_COLUMN: ["b"] * 9, POSITION_COLUMN: list(range(9)), "id": [1] * 9})
    tombstone: Tombstone = write_tombstone(blobs, gone, folder="data/t/w=x")
    put(blobs, tombstone.path, flipped(blobs.get(tombstone.path), 300))
    with pytest.raises(DamagedError, match=tombstone.path):
        Files(blobs).deletions([tombstone], ["b"])


@pytest.mark.parametrize("count", [100, 20_000])
def test_files_that_are_written_in_process_have_a_digest_of_all_bytes(count: int) -> None:
    blobs = MemoryBlobs()
    first = written(blobs, "t", rows(0, count))
    assert first.whole == digest(blobs.get(first.path))
    files = rewrite_blocks(
        blobs, [first], SCHEMA.fields, [], folder="data/t/w=new", target_bytes=2**20
    )
    (second,) = read_blocks(blobs, files, SCHEMA, (), files)
    assert second.whole == digest(blobs.get(second.path))
    third = write_rows(blobs, rows(0, count), folder="data/t/w=third")
    assert [footer.whole for footer in third.values()] == [digest(blobs.get(p)) for p in third]


@pytest.mark.parametrize("count", [100, 20_000])
def test_what_is_known_of_a_file_when_it_is_written_is_what_is_read_back(count: int) -> None:
    blobs = MemoryBlobs()
    block = written(blobs, "t", rows(0, count))
    (again,) = read_blocks(blobs, [block.path], SCHEMA, ())
    assert msgspec.structs.replace(again, whole=block.whole) == block
