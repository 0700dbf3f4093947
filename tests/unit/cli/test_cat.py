"""`dbt-vcs cat` writes the rows of a version, in any format, without Spark."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.cli.conftest import Call
from tests.unit.iceberg.lake import Lake


@pytest.fixture
def cat(call: Call, folder: Path) -> Call:
    """Run the command on a table of which each file has two rows."""
    lake = Lake(folder / "warehouse")
    lake.run("create table s.t (id bigint, name string, tags array<string>)")
    for n in (1, 3, 5):
        lake.add("t", [(n, f"n{n}", ["a"]), (n + 1, None, None)])
    return lambda *arguments, code=0: call("cat", *arguments, "-r", "warehouse", code=code)


def test_cat_writes_csv_with_a_header_and_nothing_for_null(cat: Call) -> None:
    done = cat("s.t", "--columns", "name, id", "--where", "id >= 3", "-n", "3")
    assert done.stdout == '"name","id"\n"n3",3\n,4\n"n5",5\n'


def test_cat_writes_an_object_a_line(cat: Call) -> None:
    done = cat("s.t", "--format", "json", "--at", "main~2", "-n", "1")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"id": 1, "name": "n1", "tags": ["a"]}
    ]


def test_cat_writes_arrow_and_parquet(cat: Call, folder: Path) -> None:
    stream = pa.ipc.open_stream(io.BytesIO(cat("s.t", "--format", "arrow").stdout_bytes))
    rows = stream.read_all()
    assert rows.column("id").to_pylist() == [1, 2, 3, 4, 5, 6]
    cat("s.t", "--format", "parquet", "-o", "t.parquet")
    assert pq.read_table(folder / "t.parquet").equals(rows)
    cat("s.t", "--format", "parquet", "-o", "none.parquet", "--where", "id < 0")
    assert pq.read_table(folder / "none.parquet").schema.equals(rows.schema)


def test_cat_writes_dates_that_python_lacks_as_spark_spells_them(call: Call, folder: Path) -> None:
    lake = Lake(folder / "warehouse")
    lake.run("create table s.t (d date, at timestamp, far array<date>)")
    lake.add("t", [(35804357, None, None), (0, None, None)])
    done = call("cat", "s.t", "-r", "warehouse", "--columns", "d, at")
    assert done.stdout == '"d","at"\n"+99999-01-01",\n"1970-01-01",\n'


def test_cat_that_fails_leaves_no_file(cat: Call, folder: Path) -> None:
    done = cat("s.t", "-o", "t.csv", code=2)
    assert "CSV can't hold nested and binary values: tags" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["warehouse"]


def test_cat_to_where_no_file_can_be_is_told(cat: Call) -> None:
    done = cat("s.t", "--columns", "id", "-o", "none/t.csv", code=2)
    assert (
        "Can't write none/t.csv: No such file or directory. Give another --output." in done.stderr
    )


def test_cat_says_what_it_cannot_read(cat: Call) -> None:
    assert "no table s.nothing" in cat("s.nothing", code=1).stderr
    assert "can't be computed here" in cat("s.t", "--where", "id = 1 or id + 1 = 2", code=2).stderr
