"""Files with the numbers of their rows are taken as they are, and no column comes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.commands.fsck import check_repository
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import duckdb_connection, duckdb_rows, pyiceberg_rows
from tests.unit.serve.server_process import serving

from .hand_writer import LINEAGE, VectorWriter
from .test_writing import TABLES, refusal

NUMBERED = dict.fromkeys(LINEAGE, pa.int64())


@pytest.fixture
def writer(tmp_path: Path) -> VectorWriter:
    return VectorWriter(Lake(tmp_path / "lake"))


def write(writer: VectorWriter, base: Any, *rows: tuple[Any, ...]) -> str:
    """Write rows of id, name, row number and last change."""
    padded = [(id, name, None, number, at) for id, name, number, at in rows]
    return writer.write(base, padded, **NUMBERED)


def names(writer: VectorWriter) -> list[str]:
    return [field.name for field in writer.lake.snapshot("t").schema.fields]


def test_a_file_with_numbers_of_rows_becomes_a_block_where_it_lies(writer: VectorWriter) -> None:
    base = writer.load()
    first = writer.write(base, [(1, "a"), (2, "b")])
    assert writer.send(writer.snapshot(base, [first])).is_success
    base = writer.load()
    new = write(writer, base, (1, "z", 0, None), (3, "c", None, None))
    deletes = writer.delete(base, {first: [0]})
    assert writer.send(writer.snapshot(base, [first, new], (deletes,))).is_success
    base = writer.load()
    again = write(writer, base, (1, "y", 0, 7), (3, "c", 3, 7))
    assert writer.send(writer.snapshot(base, [first, again])).is_success
    assert writer.rows() == [(1, "y"), (2, "b"), (3, "c")]
    assert names(writer) == ["id", "name", "day"]
    paths = {writer.lake.place.uri(block.path) for block in writer.lake.blocks("t")}
    assert paths == {first, again}
    assert all(set(block.stats) == {"id", "name", "day"} for block in writer.lake.blocks("t"))
    assert check_repository(writer.lake.repository).problems == ()
    location = writer.http.get(f"{TABLES}/t").json()["metadata-location"]
    found = pyiceberg_rows(location)
    assert found.column_names == ["id", "name", "day"]
    with duckdb_connection() as duck:
        numbered = duck.execute(f"select id, _row_id from iceberg_scan('{location}') order by id")
        assert numbered.fetchall() == [(1, 0), (2, 1), (3, 3)]


def test_a_file_that_is_fitted_has_no_numbers(writer: VectorWriter) -> None:
    writer.lake.run("alter table s.t rename column name to title")
    base = writer.load()
    writer.ids["title"] = "name"
    columns = {"name": None, "title": pa.string(), **NUMBERED}
    uri = writer.write(base, [(1, None, None, "a", 5, 6)], **columns)
    assert writer.send(writer.snapshot(base, [uri])).is_success
    (block,) = writer.lake.blocks("t")
    stored = pq.read_table(pa.BufferReader(writer.lake.blobs.get(block.path)))
    assert stored.column_names == ["id", "name", "day"]
    assert stored.column("name").to_pylist() == ["a"]


@pytest.mark.parametrize("name", ["_row_id", "_Last_Updated_Sequence_Number"])
def test_a_column_of_such_a_name_does_not_show_the_numbers(
    writer: VectorWriter, name: str
) -> None:
    base = writer.load()
    uri = write(writer, base, (1, "a", 70, 80))
    assert writer.send(writer.snapshot(base, [uri])).is_success
    writer.lake.run(f"alter table s.t add columns ({name} bigint)")
    writer.lake.add("t", [(2, "b", None, 9)])
    assert sorted(writer.lake.rows("t")) == [(1, "a", None, None), (2, "b", None, 9)]
    location = writer.lake.document("t", format_version=2).location
    assert sorted(pyiceberg_rows(location).column(name).to_pylist(), key=str) == [9, None]


def test_columns_that_only_look_like_it_are_refused(writer: VectorWriter) -> None:
    base = writer.load()
    uri = writer.write(base, [(1, "a", None, 5)], _row_id_=pa.int64())
    status, _, message = refusal(writer.send(writer.snapshot(base, [uri])))
    assert (status, "columns that the table lacks" in message) == (400, True)


def test_duckdb_updates_rows_which_keep_their_numbers(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lake.run("create table s.t (id bigint, v string) tblproperties ('format-version' = '3')")
    lake.add("t", [(number, "a") for number in range(5)])
    lake.delete("t", (0, 4))
    with serving(Path(lake.blobs.uri)) as server, duckdb_connection("httpfs") as duck:
        where = f"endpoint '{server.url}', authorization_type 'none'"
        duck.execute(f"attach 'main' as vcs (type iceberg, {where})")
        duck.execute("delete from vcs.s.t where id = 0")
        duck.execute("update vcs.s.t set v = 'u' where id in (1, 3)")
        duck.execute("insert into vcs.s.t values (9, 'n')")
        duck.execute("delete from vcs.s.t where id = 2")
        duck.execute("update vcs.s.t set v = 'w' where id = 3")
        found = duck.execute("select _row_id, id, v from vcs.s.t order by id").fetchall()
    assert [(number, id, v) for number, id, v in found if id < 9] == [(1, 1, "u"), (3, 3, "w")]
    assert sorted(lake.rows("t")) == [(1, "u"), (3, "w"), (9, "n")]
    assert len({number for number, _, _ in found}) == 3
    assert check_repository(lake.repository).problems == ()
    with duckdb_connection() as duck:
        assert duckdb_rows(duck, lake.document("t").location).num_rows == 3
