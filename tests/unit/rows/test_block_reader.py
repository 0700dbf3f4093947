from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.core.errors import DamagedError, UnsupportedError
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.store import MemoryBlobs
from dbt.adapters.vcs.rows.files import block_reader as module
from dbt.adapters.vcs.rows.files.block_reader import Files


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
    blobs = files._blobs
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
    with pytest.raises(DamagedError, match="f is no Parquet file"):
        Files(blobs).columns("f", [field("a", "int")])
