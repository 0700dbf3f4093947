"""What becomes of files that clients wrote, request by request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.client.lazy_table import open_table
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.iceberg.adopt import AddedSnapshot, adopt
from dbt.adapters.vcs.iceberg.serve.writing.branch_writer import BranchWriter
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.table_version import Version
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.hand_writer import Record, VectorWriter, Writer
from tests.unit.serve.test_writing import COLUMNS, TABLES, head, refusal

KEY_AND_NAME = [(1, "a"), (2, "b")]


WRITERS = pytest.mark.parametrize(
    "writer", [Writer, VectorWriter], ids=["positions", "vectors"], indirect=True
)


@pytest.fixture
def writer(tmp_path: Path, request: Any) -> Writer:
    kind: type[Writer] = getattr(request, "param", Writer)
    return kind(Lake(tmp_path / "lake"))


def test_counts_come_from_the_files(writer: Writer) -> None:
    base = writer.load()
    response = writer.send(writer.snapshot(base, [writer.write(base, KEY_AND_NAME)]))
    assert response.status_code == 200, response.text
    assert writer.rows() == KEY_AND_NAME
    entry = writer.lake.repository.tree(head(writer.lake)).entry(RelationName("s", "t"))
    assert entry is not None
    assert writer.lake.repository.objects.snapshot(entry.snapshot).rows == 2  # type: ignore[union-attr]


def test_a_commit_that_is_sent_twice_adds_its_rows_once(writer: Writer) -> None:
    base = writer.load()
    request = writer.snapshot(base, [writer.write(base, KEY_AND_NAME)])
    assert writer.send(request).status_code == 200
    before = head(writer.lake)
    assert writer.send(request).status_code == 200
    assert head(writer.lake) == before
    assert writer.rows() == KEY_AND_NAME


def test_a_late_repetition_brings_no_replaced_rows_back(writer: Writer) -> None:
    base = writer.load()
    first = writer.snapshot(base, [writer.write(base, KEY_AND_NAME)])
    assert writer.send(first).status_code == 200
    after = writer.load()
    assert writer.send(writer.snapshot(after, [writer.write(after, [(9, "z")])])).is_success
    assert writer.send(first).status_code == 200
    assert writer.rows() == [(9, "z")]


def test_what_replaces_rows_that_moved_is_refused(writer: Writer) -> None:
    base = writer.load()
    assert writer.send(writer.snapshot(base, [writer.write(base, KEY_AND_NAME)])).is_success
    seen = writer.load()
    kept = writer.write(seen, [(3, "c")])
    more = writer.snapshot(seen, [kept])
    assert writer.send(more).is_success
    stale = writer.snapshot(seen, [writer.write(seen, [(4, "d")])])
    assert refusal(writer.send(stale))[:2] == (409, "CommitFailedException")
    assert writer.rows() == [(3, "c")]


def test_an_overwrite_that_found_nothing_does_not_follow_rows_that_land_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(Lake(tmp_path / "lake"), keyed=False)
    base = writer.load()
    first = writer.snapshot(base, [writer.write(base, KEY_AND_NAME)])
    second = writer.snapshot(base, [writer.write(base, [(3, "c")])])
    second["updates"][0]["snapshot"]["summary"]["operation"] = "overwrite"
    land, faster = BranchLine.land, [first]

    def land_second(self: BranchLine, *given: Any, **more: Any) -> Any:
        if faster:
            assert writer.send(faster.pop()).is_success
        return land(self, *given, **more)

    monkeypatch.setattr(BranchLine, "land", land_second)
    assert refusal(writer.send(second))[:2] == (409, "CommitFailedException")
    assert writer.rows() == KEY_AND_NAME


@pytest.mark.parametrize(
    ("rows", "columns", "said"),
    [
        ([(1, "a"), (1, "b")], {}, "primary key"),
        ([(None, "a")], {}, "NULL"),
        ([(1, "a")], {"id": pa.int32()}, "expected bigint"),
        ([(1, "a")], {"day": None}, "lacks the column day"),
        ([(1, "a", None, 1)], {"more": pa.int64()}, "columns that the table lacks: more"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    writer: Writer, rows: list[tuple[Any, ...]], columns: Record, said: str
) -> None:
    base, before = writer.load(), head(writer.lake)
    status, _, message = refusal(
        writer.send(writer.snapshot(base, [writer.write(base, rows, **columns)]))
    )
    assert status == 400
    assert said in message
    assert head(writer.lake) == before


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd",
        "{data}/../../{other}.parquet",
        "s3://elsewhere/x.parquet",
        "{root}/data/another/w=x00000000000000000000000000000000/x.parquet",
        "{root}/vcs.json",
    ],
)
def test_a_file_outside_of_the_folder_is_refused(writer: Writer, uri: str) -> None:
    base, before = writer.load(), head(writer.lake)
    data = base["properties"]["write.data.path"]
    named = uri.format(data=data, root=data.partition("/data/")[0], other="x")
    status, _, message = refusal(writer.send(writer.snapshot(base, [named])))
    assert status == 400
    assert "folder" in message
    assert head(writer.lake) == before


def test_a_file_that_is_not_there_or_no_parquet_is_refused(writer: Writer) -> None:
    base, before = writer.load(), head(writer.lake)
    missing = f"{base['properties']['write.data.path']}/none.parquet"
    assert refusal(writer.send(writer.snapshot(base, [missing])))[0] == 400
    path = Path(missing.removeprefix("file://"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"no rows here")
    status, _, message = refusal(writer.send(writer.snapshot(base, [missing])))
    assert (status, "not a Parquet file" in message) == (400, True)
    assert head(writer.lake) == before


@pytest.fixture
def filled(writer: Writer) -> tuple[Writer, str]:
    """A table with the keys 1 to 4 in one file, and the file's URI."""
    base = writer.load()
    file = writer.write(base, [(1, "a"), (2, "b"), (3, "c"), (4, "d")])
    assert writer.send(writer.snapshot(base, [file])).is_success
    return writer, file


@WRITERS
def test_rows_deleted_by_position_are_gone_from_this_version_alone(
    filled: tuple[Writer, str],
) -> None:
    writer, file = filled
    before = head(writer.lake)
    base = writer.load()
    one = writer.delete(base, {file: [0, 2]})
    request = writer.snapshot(base, [file], (one,))
    assert writer.send(request).is_success
    assert writer.rows() == [(2, "b"), (4, "d")]
    repository = writer.lake.repository
    old = open_table(repository, RelationName("s", "t"), before, None).to_arrow()
    assert sorted(old["id"].to_pylist()) == [1, 2, 3, 4]
    base = writer.load()
    # Rows that are deleted already may be named again, beside what was not.
    more = writer.delete(base, {file: [1, 2, 1]})
    shown = writer.shown_deletes(base)
    assert writer.send(writer.snapshot(base, [file], (*shown, more))).is_success
    assert writer.rows() == [(4, "d")]


@WRITERS
def test_deletions_that_are_sent_twice_are_made_once(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    request = writer.snapshot(base, [file], (writer.delete(base, {file: [0]}),))
    assert writer.send(request).is_success
    before = head(writer.lake)
    assert writer.send(request).is_success
    assert head(writer.lake) == before


@WRITERS
def test_an_update_deletes_a_row_and_brings_another_of_its_key(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    new = writer.write(base, [(1, "z"), (9, "never")])
    deletes = writer.delete(base, {file: [0], new: [1]})
    request = writer.snapshot(base, [file, new], (deletes,))
    for _ in range(2):
        assert writer.send(request).is_success
        assert writer.rows() == [(1, "z"), (2, "b"), (3, "c"), (4, "d")]


@WRITERS
def test_deletions_follow_what_others_did_to_other_rows(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    here = writer.snapshot(base, [file], (writer.delete(base, {file: [0]}),))
    there = writer.snapshot(
        base, [file, writer.write(base, [(5, "e")])], (writer.delete(base, {file: [3]}),)
    )
    assert writer.send(there).is_success
    assert writer.send(here).is_success
    assert writer.rows() == [(2, "b"), (3, "c"), (5, "e")]


@WRITERS
def test_deletions_of_rows_that_others_changed_are_refused(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    changed = writer.snapshot(
        base, [file, writer.write(base, [(1, "z")])], (writer.delete(base, {file: [0]}),)
    )
    late = [
        writer.snapshot(base, [file], (writer.delete(base, {file: rows}),))
        for rows in ([0], [0, 1])
    ]
    assert writer.send(changed).is_success
    for request in late:
        assert refusal(writer.send(request))[:2] == (409, "CommitFailedException")
    assert writer.rows() == [(1, "z"), (2, "b"), (3, "c"), (4, "d")]


def test_deleted_rows_come_back_only_by_a_restore(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    first = writer.snapshot(base, [file], (writer.delete(base, {file: [0, 1]}),))
    assert writer.send(first).is_success
    base = writer.load()
    less, all_ = (writer.delete(base, {file: rows}) for rows in ([0], [0, 1, 2]))
    dropped = tuple(writer.shown_deletes(base))
    back = writer.snapshot(base, [file], (less,), dropped=dropped)
    status, _, message = refusal(writer.send(back))
    assert (status, "restore" in message) == (400, True)
    merged = writer.snapshot(base, [file], (all_,), dropped=dropped)
    assert writer.send(merged).is_success
    assert writer.rows() == [(4, "d")]


@pytest.mark.parametrize("rows", [[4], [-1]])
def test_a_position_that_no_row_has_is_refused(
    filled: tuple[Writer, str], rows: list[int]
) -> None:
    writer, file = filled
    base, before = writer.load(), head(writer.lake)
    request = writer.snapshot(base, [file], (writer.delete(base, {file: rows}),))
    status, _, message = refusal(writer.send(request))
    assert (status, f"the row {rows[0]}" in message) == (400, True)
    assert head(writer.lake) == before


@WRITERS
def test_a_file_of_positions_may_be_beside_the_rows(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    beside = {**base, "properties": {"write.data.path": file.rpartition("/")[0]}}
    request = writer.snapshot(base, [file], (writer.delete(beside, {file: [0]}),))
    assert writer.send(request).is_success
    assert writer.rows() == [(2, "b"), (3, "c"), (4, "d")]
    root = file.partition("/data/")[0]
    base = writer.load()
    elsewhere = {**base, "properties": {"write.data.path": f"{root}/data/other/w=x"}}
    shown = writer.shown_deletes(base)
    far = writer.snapshot(base, [file], (*shown, writer.delete(elsewhere, {file: [1]})))
    status, _, message = refusal(writer.send(far))
    assert (status, "outside of the folders" in message) == (400, True)


def test_a_file_that_has_no_positions_is_refused(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base, before = writer.load(), head(writer.lake)
    request = writer.snapshot(base, [file], (writer.write(base, KEY_AND_NAME),))
    status, _, message = refusal(writer.send(request))
    assert (status, "deleted positions" in message) == (400, True)
    assert head(writer.lake) == before


def test_a_commit_that_arrives_twice_at_once_adds_its_rows_once(writer: Writer) -> None:
    repository, name = writer.lake.repository, RelationName("s", "u")
    columns = {key: COLUMNS[key] for key in ("type", "schema-id", "fields")}
    made = writer.http.post(TABLES, json={"name": "u", "schema": columns})
    assert made.status_code == 200, made.text
    table = writer.http.get(f"{TABLES}/u").json()["metadata"]
    request = writer.snapshot(table, [writer.write(table, KEY_AND_NAME)])
    by = BranchWriter(
        repository=repository, branch="main", author="a", client="Test", sees_tags=True
    )
    line = BranchLine(repository, "main", "a")
    one, two = by.workspace.begin(), by.workspace.begin()
    listing = request["updates"][0]["snapshot"]["manifest-list"]
    folder = table["properties"]["write.data.path"].partition(f"{writer.lake.blobs.uri}/")[2]
    added = AddedSnapshot(manifest_list=listing, branch="main", folder=folder, base=None)
    for overlay in (one, two):
        adopt(by.scope(overlay), name, added)
    line.land(one, "once")
    with pytest.raises(ConflictError):
        line.land(two, "twice")
    lazy = open_table(repository, name, head(writer.lake), None)
    assert lazy.to_arrow().num_rows == 2


PARTS = {
    "name=a%2Fb/": [(1, "a/b"), (2, "a/b")],
    "name=null/": [(3, None)],
    "": [(4, "__vcs")],
    "name=another/": [(5, "null")],
}
"""Rows of a table by `name`, and the folders that clients gave their files, right or not."""


def partitioned(lake: Lake) -> Writer:
    """Return a client of a partitioned table after it wrote `PARTS`."""
    writer = Writer(lake, partitioned=True)
    base = writer.load()
    files = [writer.write(base, rows, inside) for inside, rows in PARTS.items()]
    assert writer.send(writer.snapshot(base, files)).status_code == 200
    return writer


def test_rows_of_partitions_are_known_by_the_columns_in_their_files(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    writer = partitioned(lake)
    rows = sorted(row for rows in PARTS.values() for row in rows)
    assert sorted(writer.rows(), key=lambda row: row[0]) == rows
    entry = lake.repository.tree(head(lake)).entry(RelationName("s", "t"))
    assert isinstance(entry, TableEntry)
    blocks = Version.of(lake.repository, lake.repository.objects.snapshot(entry.snapshot)).blocks
    assert {block.partition["name"]: block.rows for block in blocks} == {
        "a/b": 2,
        None: 1,
        "__vcs": 1,
        "null": 1,
    }


@pytest.mark.parametrize("rows", [[(1, "a"), (2, "b")], [(1, "a"), (2, None)], [(1, "")]])
def test_a_file_of_no_one_partition_is_refused(
    tmp_path: Path, rows: list[tuple[Any, ...]]
) -> None:
    writer = Writer(Lake(tmp_path / "lake"), partitioned=True)
    base = writer.load()
    request = writer.snapshot(base, [writer.write(base, rows)])
    status, _, message = refusal(writer.send(request))
    assert status == 400
    assert "name" in message
    assert writer.rows() == []
