"""Rows as files without Spark: partitions, sizes, and which values differ."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Field, Schema
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.table.files import parquet
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import can_write, write_rows

FOLDER = "data/t/w=x1"
P, Q = "__vcs_by_p", "__vcs_by_q"


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(tmp_path, fsync=False)


def schema(**types: str) -> Schema:
    return Schema.of(Field(id="", name=name, type=type_) for name, type_ in types.items())


def test_each_partition_is_a_folder(blobs: LocalBlobs) -> None:
    rows = pa.table(
        {"p": ["b", None, "a/c", "b"], "k": [1, 2, 3, 4], "q": [True, False, None, True]}
    )
    files = write_rows(blobs, rows, folder=FOLDER, partition_by=["p", "q"])
    assert tuple(files) == (
        f"{FOLDER}/{P}=__HIVE_DEFAULT_PARTITION__/{Q}=false/part-00000-x1.parquet",
        f"{FOLDER}/{P}=a%2Fc/{Q}=__HIVE_DEFAULT_PARTITION__/part-00001-x1.parquet",
        f"{FOLDER}/{P}=b/{Q}=true/part-00002-x1.parquet",
    )
    blocks = read_blocks(blobs, files, schema(k="bigint", p="string", q="boolean"), ["p", "q"])
    assert [(block.rows, block.partition) for block in blocks] == [
        (1, {"p": None, "q": "false"}),
        (1, {"p": "a/c", "q": None}),
        (2, {"p": "b", "q": "true"}),
    ]
    assert blocks[2].stats["k"][:2] == (1, 4)
    inside = [pq.ParquetFile(pa.BufferReader(blobs.get(path))).read() for path in files]
    assert pa.concat_tables(inside).to_pylist() == [rows.to_pylist()[n] for n in (1, 2, 0, 3)]


def test_no_rows_are_no_files(blobs: LocalBlobs) -> None:
    rows = pa.table({"p": pa.array([], pa.string()), "k": pa.array([], pa.int64())})
    assert write_rows(blobs, rows, folder=FOLDER) == {}
    assert write_rows(blobs, rows, folder=FOLDER, partition_by=["p"]) == {}


def test_a_folder_is_written_once(blobs: LocalBlobs) -> None:
    rows = pa.table({"k": [1]})
    write_rows(blobs, rows, folder=FOLDER)
    with pytest.raises(InputError, match="write to a new folder"):
        write_rows(blobs, pa.table({"k": [2]}), folder=FOLDER)


def test_large_rows_make_more_files(blobs: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"v": ["x" * 1000] * 10})
    monkeypatch.setattr(parquet, "_MAX_BYTES", 3500)
    files = write_rows(blobs, rows, folder=FOLDER)
    assert [b.rows for b in read_blocks(blobs, files, schema(v="string"), ())] == [3, 3, 3, 1]


@pytest.mark.parametrize("value", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_what_a_folder_would_turn_into_null_is_refused(blobs: LocalBlobs, value: str) -> None:
    rows = pa.table({"p": ["a", value], "k": [1, 2]})
    with pytest.raises(InputError, match="'p' holds an empty string"):
        write_rows(blobs, rows, folder=FOLDER, partition_by=["p"])
    with pytest.raises(InputError, match="'renamed' holds an empty string"):
        write_rows(blobs, rows, folder=FOLDER, partition_by=["p"], names={"p": "renamed"})


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("string", True),
        ("varchar(3)", True),
        ("bigint", True),
        ("date", True),
        ("boolean", True),
        ("timestamp", False),
        ("double", False),
        ("decimal(10,2)", False),
        ("char(3)", True),
        ("string collate utf8_lcase", False),
    ],
)
def test_partitions_whose_text_is_known(type_: str, expected: bool) -> None:
    assert can_write(schema(k="int", p=type_), ["p"]) is expected
    assert can_write(schema(k="int", p=type_), [])


@pytest.mark.parametrize("type_", ["variant", "interval day to second", "array<variant>"])
def test_types_that_arrow_lacks(type_: str) -> None:
    assert not can_write(schema(k=type_), [])


def test_a_date_that_python_lacks_has_a_folder_as_spark_names_it(blobs: LocalBlobs) -> None:
    rows = pa.table({"p": pa.array([3_789_548, -735_525, 0], pa.date32()), "k": [1, 2, 3]})
    files = write_rows(blobs, rows, folder=FOLDER, partition_by=["p"])
    blocks = read_blocks(blobs, files, schema(k="bigint", p="date"), ["p"])
    texts = [block.partition["p"] for block in blocks]
    assert sorted(map(str, texts)) == ["+12345-06-07", "-0044-03-15", "1970-01-01"]
