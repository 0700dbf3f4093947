from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.core.errors import DamagedError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.files import block_reader as module
from dbt.adapters.vcs.table.files.block_reader import Files


def field(id: str, type_: str) -> Field:
    return Field(id=id, name=id, type=type_)


def stored(table: pa.Table, **options: Any) -> Files:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    blobs = MemoryBlobs()
    blobs.create("f", sink.getvalue().to_pybytes())
    return Files(blobs)


TABLE = pa.table({"a.b": list(range(10)), "c d`e": [str(n) for n in range(10)]})


def test_columns_by_id_whatever_the_id() -> None:
    found = stored(TABLE).columns("f", [field("c d`e", "string"), field("a.b", "bigint")])
    assert found.column_names == ["c d`e", "a.b"]
    assert found.column("a.b").to_pylist() == list(range(10))


def test_ids_match_without_regard_to_case_as_spark_does() -> None:
    assert stored(TABLE).columns("f", [field("A.B", "bigint")]).column("A.B")[3].as_py() == 3


@pytest.mark.parametrize("size", [3, 100])
def test_rows_in_the_order_asked_for(size: int) -> None:
    files = stored(TABLE, row_group_size=size)
    found = files.columns("f", [field("a.b", "bigint")], rows=np.array([9, 0, 4]))
    assert found.column("a.b").to_pylist() == [9, 0, 4]


def test_types_widen() -> None:
    table = pa.table({"i": pa.array([1], pa.int32()), "f": pa.array([0.5], pa.float32())})
    found = stored(table).columns("f", [field("i", "bigint"), field("f", "double")])
    assert [column.type for column in found.columns] == [pa.int64(), pa.float64()]
    with pytest.raises(UnsupportedError, match="can't be read as"):
        stored(pa.table({"s": ["x"]})).columns("f", [field("s", "int")])


def test_what_a_file_lacks_is_null_and_what_folders_tell_is_told() -> None:
    wanted = [field("none", "string"), field("p", "date"), field("q", "timestamp")]
    found = stored(TABLE).columns(
        "f", wanted, partition={"p": "2026-11-20", "q": "2026-11-20 10:00:00.5"}
    )
    first = found.slice(0, 1).to_pylist()[0]
    assert found.num_rows == 10
    assert (first["none"], str(first["p"])) == (None, "2026-11-20")
    assert str(first["q"]) == "2026-11-20 10:00:00.500000+00:00"
    rows = stored(TABLE).columns("f", wanted[1:2], rows=np.array([1]), partition={"p": None})
    assert rows.to_pylist() == [{"p": None}]


def test_large_files_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_READ_WHOLE", 0)
    noise = [np.random.default_rng(n).bytes(1_000) for n in range(1_000)]
    files = stored(pa.table({"a": list(range(1_000)), "b": noise}))
    blobs = files.blobs
    lengths: list[int] = []
    original = blobs.range

    def counted(path: str, start: int, length: int) -> bytes:
        lengths.append(length)
        return original(path, start, length)

    monkeypatch.setattr(blobs, "range", counted)
    assert files.columns("f", [field("a", "bigint")]).column("a")[999].as_py() == 999
    assert sum(lengths) < blobs.size("f") / 2


def test_what_is_no_parquet_file_is_damage() -> None:
    blobs = MemoryBlobs()
    blobs.create("f", b"something else entirely")
    with pytest.raises(DamagedError, match="f is not a Parquet file"):
        Files(blobs).columns("f", [field("a", "int")])


def block(rows: int, **partition: str | None) -> Block:
    return Block(path="f", rows=rows, bytes=1, partition=partition)


def test_a_block_is_streamed_without_its_deleted_rows() -> None:
    files = stored(TABLE, row_group_size=4)
    wanted = [field("p", "int"), field("A.B", "bigint"), field("none", "string")]
    batches = list(files.batches(block(10, p="7"), wanted, np.array([9, 0, 4]), batch_rows=3))
    found = pa.Table.from_batches(batches)
    assert found.column("A.B").to_pylist() == [1, 2, 3, 5, 6, 7, 8]
    assert set(found.column("p").to_pylist()) == {7}
    assert found.column("none").null_count == 7
    assert max(batch.num_rows for batch in batches) <= 3


def test_a_block_without_the_columns_asked_for_has_its_rows() -> None:
    batches = stored(TABLE).batches(block(10), [field("none", "int")], np.array([3]), batch_rows=4)
    assert [batch.num_rows for batch in batches] == [3, 4, 2]


def test_streamed_types_widen_or_are_refused() -> None:
    table = pa.table({"i": pa.array([1], pa.int32())})
    (batch,) = stored(table).batches(block(1), [field("i", "bigint")])
    assert batch.schema.field("i").type == pa.int64()
    with pytest.raises(UnsupportedError, match="can't be read as"):
        list(stored(pa.table({"s": ["x"]})).batches(block(1), [field("s", "int")]))


def test_deletions_beyond_a_block_are_damage() -> None:
    with pytest.raises(DamagedError, match="row 10 of f, which has 10 rows"):
        list(stored(TABLE).batches(block(10), [field("a.b", "bigint")], np.array([10])))


@pytest.mark.parametrize(
    ("wanted", "count"), [("a", 2), ("n", 1), ("none", 3), ("p", 3), ("q", 0)]
)
def test_nulls_of_rows_that_are_left(wanted: str, count: int) -> None:
    files = stored(pa.table({"a": [1, None, None, None], "n": [[1], [2], None, None]}))
    held = block(4, p=None, q="x")
    assert files.nulls(held, field(wanted, "variant"), np.array([3])) == count


def test_deletions_of_some_blocks_come_in_rising_order() -> None:
    table = pa.table({FILE_COLUMN: ["b", "a", "b"], POSITION_COLUMN: [7, 3, 2]})
    tombstone = Tombstone(path="f", bytes=1, targets={"a": 1, "b": 2})
    found = stored(table).deletions([tombstone], ["b", "c"])
    assert {path: rows.tolist() for path, rows in found.items()} == {"b": [2, 7]}


def test_positions_of_few_tombstones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEPT_DELETIONS", 1_100)
    blobs, reads = MemoryBlobs(), []
    for name in "xyz":
        table = pa.table({FILE_COLUMN: ["b", "b"], POSITION_COLUMN: [ord(name), 2]})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        blobs.create(name, sink.getvalue().to_pybytes())
    files = Files(blobs)
    read = files._read_deletions
    monkeypatch.setattr(files, "_read_deletions", lambda *of: reads.append(of[0]) or read(*of))
    for name in "xyxyzzxz":
        assert files.deleted(name, "b")[0].tolist() == [ord(name), 2]
    # The third took the place of the one that was asked for least recently.
    assert reads == ["x", "y", "z", "x"]


def test_opened_files_take_no_more_than_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = 400_000
    monkeypatch.setattr(module, "_KEPT", bound)
    blobs, reads = MemoryBlobs(), []
    for number in range(12):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"a": np.random.default_rng(number).random(8_000)}), sink)
        blobs.create(f"{number:02}", sink.getvalue().to_pybytes())
    files = Files(blobs)
    source = module.checked_source
    monkeypatch.setattr(
        module,
        "checked_source",
        lambda *of, **more: reads.append(of[1]) or source(*of, **more),
    )
    for number in range(12):
        # The first one is used all the time, so that it stays.
        for path in ("00", f"{number:02}"):
            assert files.columns(path, [field("a", "double")]).num_rows == 8_000
        assert files._opened.bytes <= bound
    assert reads == [f"{number:02}" for number in range(12)]
    assert 1 < len(files._opened) < 6
