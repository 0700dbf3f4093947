"""A lazy table: its rows are those of one version, read without an engine."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.table.files import block_reader
from tests.unit.iceberg.lake import Lake

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "w")


@pytest.fixture
def client(lake: Lake, tmp_path: Path) -> Client:
    return connect(str(tmp_path / "w"), schema="s")


def filled(lake: Lake, parts: int = 3) -> None:
    """Files of ten rows each: 0 to 9, 10 to 19, and so on."""
    lake.run("create table s.t (id bigint, name string)")
    for part in range(parts):
        lake.add("t", [(part * 10 + n, f"r{n}") for n in range(10)])


def test_a_table_is_read_whole_with_its_types_and_without_deleted_rows(
    lake: Lake, client: Client
) -> None:
    filled(lake)
    lake.delete("t", (0, 3), (2, 0))
    table = client.table("t")
    assert table.schema == pa.schema([("id", pa.int64()), ("name", pa.string())])
    rows = table.to_arrow()
    assert rows.schema == table.schema
    assert rows.column("id").to_pylist() == [n for n in range(30) if n not in (3, 20)]
    assert table.count() == rows.num_rows == 28
    assert table.to_pandas()["id"].tolist() == rows.column("id").to_pylist()
    assert table.to_reader().read_all().equals(rows)


def test_an_old_version_stays_what_it_was(lake: Lake, client: Client) -> None:
    filled(lake, 1)
    before = client.table("s.t")
    lake.add("t", [(10, "new")])
    assert client.table("T").count() == 11
    old = client.table("t", at="main~1")
    assert (old.count(), old.version) == (10, before.version)
    assert old.to_arrow().equals(before.to_arrow())
    assert client.table("t", at=before.version[:12]).count() == 10


def test_columns_keep_their_values_through_renames_drops_and_defaults(
    lake: Lake, client: Client
) -> None:
    lake.run("create table s.t (id bigint, old string, gone int) partitioned by (old)")
    lake.add("t", [(1, 1, "a/b"), (2, 2, None)])
    lake.run("alter table s.t rename column old to `new one`")
    lake.run("alter table s.t drop column gone")
    lake.run("alter table s.t add columns (extra decimal(5,2))")
    lake.add("t", [(3, Decimal("1.50"), "c")])
    rows = client.table("t").to_arrow().sort_by("id").to_pylist()
    assert rows == [
        {"id": 1, "new one": "a/b", "extra": None},
        {"id": 2, "new one": None, "extra": None},
        {"id": 3, "new one": "c", "extra": Decimal("1.50")},
    ]
    found = client.table("t").scan(["EXTRA", "id"], "`new one` = 'a/b'")
    assert len(found.blocks) == 1
    assert found.to_arrow().to_pylist() == [{"extra": None, "id": 1}]


def test_a_clone_is_read_from_the_files_of_its_origin(lake: Lake, client: Client) -> None:
    filled(lake, 1)
    lake.run("create table s.u shallow clone s.t")
    lake.add("u", [(99, "own")])
    assert client.table("u").count() == 11
    assert client.table("u").to_arrow().num_rows == 11


@pytest.mark.parametrize(
    ("filter", "files"),
    [
        ("id < 5", 1),
        ("id between 8 and 11", 2),
        ("id in (1, 29)", 2),
        ("29 = id and name = 'r9'", 1),
        ("id is null", 0),
        ("name > 'z'", 0),
        ("id is not null", 3),
        (pc.field("id") < 5, 1),
        ((pc.field("id") == 1) | (pc.field("id") == 25), 2),
        (~pc.field("id").is_null(), 3),
    ],
    ids=str,
)
def test_files_in_which_no_row_can_pass_are_ruled_out(
    lake: Lake, client: Client, filter: Any, files: int
) -> None:
    filled(lake)
    found = client.table("t").scan(["name"], filter)
    assert len(found.blocks) == files
    every = client.table("t").scan(filter=filter)
    assert found.count() == every.to_arrow().num_rows
    assert found.to_arrow().equals(every.to_arrow().select(["name"]))
    assert found.schema.names == ["name"]


def test_no_file_is_opened_that_is_ruled_out(lake: Lake, client: Client) -> None:
    filled(lake)
    for block in lake.blocks("t")[1:]:
        lake.blobs.delete(block.path)
    assert client.table("t").scan(filter="id <= 9").to_arrow().num_rows == 10
    with pytest.raises(NotFoundError):
        client.table("t").to_arrow()


ROWS: list[tuple[Any, ...]] = [
    (None,) * 6,
    (1, 1.5, Decimal("1.10"), date(2026, 1, 1), NOON, True),
    (2, float("nan"), Decimal("2.00"), date(2026, 1, 2), NOON.replace(hour=13), False),
]


@pytest.mark.parametrize(
    ("filter", "places"),
    [
        ("i = 1", [1]),
        ("i >= 1.0", [1, 2]),
        ("i <=> 2", [2]),
        ("f > 1", [1, 2]),
        ("f < 100", [1]),
        ("f <= 1.5", [1]),
        ("d = 1.1", [1]),
        ("d >= 2", [2]),
        ("at > '2026-11-20 12:00:00'", [2]),
        ("at = timestamp '2026-11-20T13:00:00+00:00'", [2]),
        ("day = date '2026-01-02'", [2]),
        ("day < '2026-01-02'", [1]),
        ("b = true", [1]),
        ("b is null", [0]),
        ("(i = 1) and (f is not null)", [1]),
        ("i = 1 or i = 2 and f < 0", [1]),
        ("(i = 1 or i = 2) and not f < 0", [1, 2]),
        ("i <> 1", [2]),
        ("not i <=> 1", [0, 2]),
        ("f != 1.5", [2]),
        ("not f > 1.5", [1]),
        ("i not in (1, 3)", [2]),
        ("not (i not between 2 and 3)", [2]),
        ("b", [1]),
        ("not b", [2]),
    ],
)
def test_a_condition_is_computed_as_sql_would(
    lake: Lake, client: Client, filter: str, places: list[int]
) -> None:
    lake.run(
        "create table s.t (i int, f double, d decimal(9,2), day date, at timestamp, b boolean)"
    )
    lake.add("t", ROWS)
    found = client.table("t").scan(filter=filter).to_arrow()
    assert found.column("i").to_pylist() == [ROWS[place][0] for place in places]


@pytest.mark.parametrize(
    ("filter", "told"),
    [
        ("id = 1 or id + 1 = 2", "comparisons of columns with constants"),
        ("case when id = 1 then true end", "comparisons of columns with constants"),
        ("name like 'a' escape '/'", "comparisons of columns with constants"),
        (r"name like 'a\\b'", "Write it twice"),
        ("id like 'a%'", "can't be matched"),
        ("upper(name) = 'A'", "comparisons of columns with constants"),
        ("nothing = 1", "nothing"),
        ("id = 'a'", "can't be compared with the string 'a'"),
        ("id = 1.5", "can't be compared"),
        ("id = 1; drop table t", "not one condition"),
        ("", "not one condition"),
        (pc.field("nothing") == 1, "The columns are: id, name"),
        (pc.field("id") == "a", "can't be computed"),
    ],
    ids=str,
)
def test_a_filter_that_cannot_be_computed_is_refused_before_rows_are_read(
    lake: Lake, client: Client, filter: Any, told: str
) -> None:
    filled(lake, 1)
    with pytest.raises(InputError, match=told):
        client.table("t").scan(filter=filter)


def test_scans_of_scans_keep_both_filters(lake: Lake, client: Client) -> None:
    filled(lake)
    found = client.table("t").scan(filter="id > 5").scan(["id"], pc.field("id") < 12)
    assert found.to_arrow().column("id").to_pylist() == [6, 7, 8, 9, 10, 11]
    assert len(found.blocks) == 2


def test_batches_are_small_and_one_file_is_read_at_a_time(
    lake: Lake, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(lake)
    opened: list[str] = []
    plain = block_reader.Files.batches

    def noted(self: Any, block: Any, *args: Any, **options: Any) -> Any:
        opened.append(block.path)
        return plain(self, block, *args, **options)

    monkeypatch.setattr(block_reader.Files, "batches", noted)
    batches = client.table("t").to_batches(batch_rows=4)
    assert not opened
    assert next(batches).column("id").to_pylist() == [0, 1, 2, 3]
    assert len(opened) == 1
    assert [batch.num_rows for batch in batches] == [4, 2, 4, 4, 2, 4, 4, 2]
    assert len(opened) == 3


def test_what_only_spark_can_read_is_said(lake: Lake, client: Client) -> None:
    lake.run("create table s.t (id bigint, v variant)")
    table = client.table("t")
    with pytest.raises(UnsupportedError, match=r"v \(variant\).*columns="):
        table.to_arrow()
    assert table.scan(["id"]).to_arrow().num_rows == 0
    with pytest.raises(InputError, match="Expected some columns"):
        table.scan([])


def test_names_that_are_no_tables_are_refused(lake: Lake, client: Client) -> None:
    filled(lake, 1)
    with pytest.raises(NotFoundError, match=r"no table s\.tt at this version \(.*you mean s\.t"):
        client.table("tt")
    with pytest.raises(NotFoundError, match="not a version"):
        client.table("t", at="nowhere")
    with pytest.raises(InputError, match="Expected the name of a table"):
        client.table("a b")


def test_polars_gets_the_same_rows(lake: Lake, client: Client) -> None:
    pytest.importorskip("polars")
    filled(lake, 1)
    frame = client.table("t").to_polars()
    assert frame.columns == ["id", "name"]
    assert frame["id"].to_list() == list(range(10))


READ = """
import sys
from dbt.adapters.vcs.api import connect
with connect(sys.argv[1], schema="s") as client:
    print(client.table("t").scan(filter="id < 5").to_arrow().num_rows)
print("pyspark" in sys.modules)
"""


def test_a_process_without_java_reads(lake: Lake, tmp_path: Path) -> None:
    filled(lake)
    env = {**os.environ, "JAVA_HOME": "/nowhere", "PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / "w")],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["5", "False"]
