"""What becomes of files that clients wrote, request by request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.client.lazy_table import open_table
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.model.field_number import field_number
from dbt.adapters.vcs.iceberg.avro_files import read_avro
from dbt.adapters.vcs.iceberg.manifest_files import list_bytes
from dbt.adapters.vcs.serve.writing.branch_writer import BranchWriter
from dbt.adapters.vcs.verbs.changing.adopt import AddedSnapshot, adopt
from dbt.adapters.vcs.workspace.lines import BranchLine
from dbt.adapters.vcs.worktree.table_version import Version
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.test_writing import COLUMNS, TABLES, client_of, create, head, refusal

Record = dict[str, Any]
KEY_AND_NAME = [(1, "a"), (2, "b")]


class Writer:
    """A client that writes its files by hand, and may write wrong ones."""

    def __init__(self, lake: Lake, *, partitioned: bool = False, keyed: bool = True) -> None:
        self.lake = lake
        self.http = client_of(lake)
        self.made = 0
        self.ids: dict[str, str] = {}
        """Field ids of renamed columns by their names."""
        by_name = {"source-id": 2, "name": "name", "transform": "identity"}
        more: Record = {"partition-spec": {"fields": [by_name]}} if partitioned else {}
        if not keyed:
            more["schema"] = {**COLUMNS, "identifier-field-ids": []}
        create(self.http, **more)

    def load(self) -> Record:
        found: Record = self.http.get(f"{TABLES}/t").json()["metadata"]
        return found

    def write(
        self, base: Record, rows: list[tuple[Any, ...]], inside: str = "", **columns: Any
    ) -> str:
        """Write a data file into the folder handed out, and return its URI."""
        self.made += 1
        types = {"id": pa.int64(), "name": pa.string(), "day": pa.date32(), **columns}
        fields = [
            pa.field(
                name,
                type_,
                metadata={"PARQUET:field_id": str(field_number(self.ids.get(name, name)))},
            )
            for name, type_ in types.items()
            if type_ is not None
        ]
        padded = [dict(zip(types, (*row, None, None), strict=False)) for row in rows]
        table = pa.Table.from_pylist(padded, schema=pa.schema(fields))
        uri = f"{base['properties']['write.data.path']}/{inside}{self.made}.parquet"
        path = Path(uri.removeprefix("file://"))
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        return uri

    def delete(self, base: Record, rows: dict[str, list[int]]) -> str:
        """Write a file of deleted positions by the URI of their file, and return its URI."""
        self.made += 1
        pairs = [(uri, position) for uri, positions in rows.items() for position in positions]
        names = [uri for uri, _ in pairs]
        places = pa.array([position for _, position in pairs], pa.int64())
        uri = f"{base['properties']['write.data.path']}/{self.made}-deletes.parquet"
        path = Path(uri.removeprefix("file://"))
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"file_path": pa.array(names, pa.string()), "pos": places}), path)
        return uri

    def snapshot(
        self,
        base: Record,
        files: list[str],
        deletes: tuple[str, ...] = (),
        *,
        values: tuple[str, ...] = (),
        by: tuple[str, ...] = ("id",),
        dropped: tuple[str, ...] = (),
        format: str = "PARQUET",
    ) -> Record:
        """Write manifests and a list of all files of a snapshot, and return the request.

        Args:
            base: The table as the client loaded it.
            files: URIs of data files.
            deletes: URIs of files of deleted positions.
            values: URIs of files of deleted values, of the columns `by`.
            by: These columns.
            dropped: URIs of delete files that are left out.
            format: The format of the delete files, as the manifest says it.
        """
        self.made += 1
        folder = base["properties"]["write.metadata.path"]
        listing = f"{folder}/l{self.made}.avro"
        manifests = []
        for kind, paths in ((0, files), (1, deletes), (2, values)):
            if paths:
                manifest = f"{folder}/m{self.made}-{kind}.avro"
                ids = [field_number(name) for name in by] if kind == 2 else None
                entries = [
                    {"status": 1, "file": file, "content": kind, "ids": ids} for file in paths
                ]
                entries += [
                    {"status": 2, "file": file, "content": kind, "ids": None}
                    for file in dropped
                    if kind == 1
                ]
                self._put(manifest, _manifest(entries, format if kind else "PARQUET"))
                manifests.append(_listed(manifest, min(kind, 1)))
        self._put(listing, list_bytes(manifests, {}, 2))
        id = self.made
        snapshot = {
            "snapshot-id": id,
            "parent-snapshot-id": base["current-snapshot-id"],
            "manifest-list": listing,
            "summary": {"operation": "append"},
        }
        shown = {"action": "set-snapshot-ref", "ref-name": "main", "snapshot-id": id}
        return {
            "requirements": [],
            "updates": [{"action": "add-snapshot", "snapshot": snapshot}, shown],
        }

    def shown_deletes(self, base: Record) -> list[str]:
        """Return the delete files of the snapshot that a client loaded."""
        listing = next(
            item["manifest-list"]
            for item in base["snapshots"]
            if item["snapshot-id"] == base["current-snapshot-id"]
        )
        manifests = [item for item in self.records(listing) if item["content"] == 1]
        return [
            entry["data_file"]["file_path"]
            for item in manifests
            for entry in self.records(item["manifest_path"])
        ]

    @staticmethod
    def records(uri: str) -> list[Record]:
        return read_avro(Path(uri.removeprefix("file://")).read_bytes())

    def send(self, request: Record) -> Any:
        return self.http.post(f"{TABLES}/t", json=request)

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(self.rows_in_any_order())

    def rows_in_any_order(self) -> list[tuple[Any, ...]]:
        lazy = open_table(self.lake.repository, RelationName("s", "t"), head(self.lake), None)
        found = lazy.to_arrow().select(["id", "name"]).to_pydict().values()
        return list(zip(*found, strict=True))

    def _put(self, uri: str, data: bytes) -> None:
        path = Path(uri.removeprefix("file://"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _manifest(entries: list[Record], format: str) -> bytes:
    import io

    import fastavro

    file = {
        "type": "record",
        "name": "r2",
        "fields": [
            {"name": "content", "type": "int"},
            {"name": "file_path", "type": "string"},
            {"name": "file_format", "type": "string"},
            {"name": "record_count", "type": "long"},
            {"name": "equality_ids", "type": ["null", {"type": "array", "items": "int"}]},
        ],
    }
    schema = {
        "type": "record",
        "name": "manifest_entry",
        "fields": [{"name": "status", "type": "int"}, {"name": "data_file", "type": file}],
    }
    records = [
        {
            "status": item["status"],
            "data_file": {
                "content": item["content"],
                "file_path": item["file"],
                "file_format": format,
                # A count that is never right.
                "record_count": 77,
                "equality_ids": item["ids"],
            },
        }
        for item in entries
    ]
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), records)
    return out.getvalue()


def _listed(manifest: str, content: int) -> Record:
    zeros = (
        "manifest_length partition_spec_id sequence_number min_sequence_number added_snapshot_id "
        "added_files_count existing_files_count deleted_files_count added_rows_count "
        "existing_rows_count deleted_rows_count"
    )
    return {
        **dict.fromkeys(zeros.split(), 0),
        "manifest_path": manifest,
        "content": content,
        "partitions": None,
    }


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(Lake(tmp_path / "lake"))


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


def test_deletions_that_are_sent_twice_are_made_once(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    request = writer.snapshot(base, [file], (writer.delete(base, {file: [0]}),))
    assert writer.send(request).is_success
    before = head(writer.lake)
    assert writer.send(request).is_success
    assert head(writer.lake) == before


def test_an_update_deletes_a_row_and_brings_another_of_its_key(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    new = writer.write(base, [(1, "z"), (9, "never")])
    deletes = writer.delete(base, {file: [0], new: [1]})
    request = writer.snapshot(base, [file, new], (deletes,))
    for _ in range(2):
        assert writer.send(request).is_success
        assert writer.rows() == [(1, "z"), (2, "b"), (3, "c"), (4, "d")]


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


def test_a_file_of_positions_may_be_beside_the_rows(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    beside = {"properties": {"write.data.path": file.rpartition("/")[0]}}
    request = writer.snapshot(base, [file], (writer.delete(beside, {file: [0]}),))
    assert writer.send(request).is_success
    assert writer.rows() == [(2, "b"), (3, "c"), (4, "d")]
    root = file.partition("/data/")[0]
    base = writer.load()
    elsewhere = {"properties": {"write.data.path": f"{root}/data/other/w=x"}}
    shown = writer.shown_deletes(base)
    far = writer.snapshot(base, [file], (*shown, writer.delete(elsewhere, {file: [1]})))
    status, _, message = refusal(writer.send(far))
    assert (status, "outside of the table's folder" in message) == (400, True)


def test_deletion_vectors_are_refused_with_the_version_that_is_served(
    filled: tuple[Writer, str],
) -> None:
    writer, file = filled
    base, before = writer.load(), head(writer.lake)
    request = writer.snapshot(base, [file], (writer.delete(base, {file: [0]}),), format="PUFFIN")
    status, _, message = refusal(writer.send(request))
    assert (status, "version 2" in message) == (400, True)
    assert head(writer.lake) == before


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
    by = BranchWriter(repository=repository, branch="main", author="a", client="Test")
    line = BranchLine(repository, "main", "a")
    one, two = by.workspace.begin(), by.workspace.begin()
    listing = request["updates"][0]["snapshot"]["manifest-list"]
    for overlay in (one, two):
        adopt(by.scope(overlay), name, AddedSnapshot(manifest_list=listing, base=None))
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
