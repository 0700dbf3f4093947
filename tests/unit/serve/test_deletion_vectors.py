"""What becomes of deletion vectors that clients wrote, and of wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.client.lazy_table import open_table
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.plan.compaction import contents_of
from dbt.adapters.vcs.table.files.block_reader import Files
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import duckdb_connection, duckdb_rows, pyiceberg_rows

from .hand_writer import Record, VectorWriter
from .test_writing import TABLES, head, refusal

FOUR = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


@pytest.fixture
def writer(tmp_path: Path) -> VectorWriter:
    return VectorWriter(Lake(tmp_path / "lake"))


@pytest.fixture
def file(writer: VectorWriter) -> str:
    """The URI of a file with the keys 1 to 4."""
    base = writer.load()
    found = writer.write(base, FOUR)
    assert writer.send(writer.snapshot(base, [found])).is_success
    return found


def tombstones(writer: VectorWriter) -> list[dict[str, int]]:
    """Return what each tombstone of the table deletes: rows by block."""
    repository = writer.lake.repository
    entry = repository.tree(head(writer.lake)).entry(RelationName("s", "t"))
    assert isinstance(entry, TableEntry)
    version = repository.objects.snapshot(entry.snapshot)
    held = contents_of(repository.objects.segment(ref.id) for ref in version.segments)
    return [dict(tombstone.targets) for tombstone in held.tombstones]


def deleted(writer: VectorWriter, base: Record, files: list[str], uri: str) -> Any:
    return writer.send(writer.snapshot(base, files, (uri,)))


def test_a_vector_that_replaces_another_deletes_what_the_other_did_not(
    writer: VectorWriter, file: str
) -> None:
    for rows, left in (([0], 3), ([2, 0], 2), ([3], 1)):
        base = writer.load()
        assert base["format-version"] == 3
        assert deleted(writer, base, [file], writer.delete(base, {file: rows})).is_success
        assert len(writer.rows()) == left
    assert writer.rows() == [(2, "b")]
    path = file.partition("/lake/")[2]
    # Each row has one before-image.
    assert tombstones(writer) == [{path: 1}] * 3
    assert check_repository(writer.lake.repository).problems == ()
    location = writer.http.get(f"{TABLES}/t").json()["metadata-location"]
    assert pyiceberg_rows(location).num_rows == 1
    with duckdb_connection() as duck:
        assert duckdb_rows(duck, location).num_rows == 1


def test_before_images_are_the_rows_as_they_were(writer: VectorWriter, file: str) -> None:
    base = writer.load()
    assert deleted(writer, base, [file], writer.delete(base, {file: [1, 3]})).is_success
    lake = writer.lake
    (tombstone,) = contents_of(
        lake.repository.objects.segment(ref.id) for ref in lake.snapshot("t").segments
    ).tombstones
    fields = lake.snapshot("t").schema.fields
    images = Files(lake.blobs).columns(tombstone.path, fields)
    assert sorted(zip(*images.select(["id", "name"]).to_pydict().values(), strict=True)) == [
        (2, "b"),
        (4, "d"),
    ]


def test_vectors_of_several_files_may_be_in_one_and_keep_their_neighbours(
    writer: VectorWriter, file: str
) -> None:
    base = writer.load()
    other = writer.write(base, [(5, "e"), (6, "f")])
    assert writer.send(writer.snapshot(base, [file, other])).is_success
    base = writer.load()
    both = writer.delete(base, {file: [0], other: [0]})
    assert deleted(writer, base, [file, other], both).is_success
    # The vector of one file is replaced, that of the other stays in our Puffin file.
    base = writer.load()
    new = writer.write(base, [(7, "g"), (8, "h")])
    one = writer.delete(base, {file: [1], new: [1]})
    assert deleted(writer, base, [file, other, new], one).is_success
    assert writer.rows() == [(3, "c"), (4, "d"), (6, "f"), (7, "g")]


def test_a_file_that_is_written_again_takes_its_vector_along(
    writer: VectorWriter, file: str
) -> None:
    base = writer.load()
    assert deleted(writer, base, [file], writer.delete(base, {file: [0]})).is_success
    base = writer.load()
    again = writer.write(base, [(2, "b"), (3, "z")])
    assert writer.send(writer.snapshot(base, [again])).is_success
    assert writer.rows() == [(2, "b"), (3, "z")]


def test_rows_that_a_vector_brings_back_are_refused(writer: VectorWriter, file: str) -> None:
    base = writer.load()
    assert deleted(writer, base, [file], writer.delete(base, {file: [0, 1]})).is_success
    base, before = writer.load(), head(writer.lake)
    less = writer.delete(base, {file: [1, 2]}, alone=True)
    status, _, message = refusal(deleted(writer, base, [file], less))
    assert (status, "restore" in message) == (400, True)
    assert head(writer.lake) == before


def test_two_vectors_of_one_file_are_refused(writer: VectorWriter, file: str) -> None:
    base, before = writer.load(), head(writer.lake)
    two = tuple(writer.delete(base, {file: [number]}) for number in range(2))
    status, _, message = refusal(writer.send(writer.snapshot(base, [file], two)))
    assert (status, "2 deletion vectors" in message) == (400, True)
    assert head(writer.lake) == before


def test_a_position_that_no_row_has_is_refused(writer: VectorWriter, file: str) -> None:
    for row in (4, 2**33):
        base, before = writer.load(), head(writer.lake)
        wrong = writer.delete(base, {file: [row]})
        status, _, message = refusal(deleted(writer, base, [file], wrong))
        assert (status, f"the row {row}" in message) == (400, True)
        assert head(writer.lake) == before


def test_a_deleted_key_may_come_again_and_another_may_not(writer: VectorWriter, file: str) -> None:
    base = writer.load()
    new = writer.write(base, [(1, "z"), (2, "y")])
    wrong = writer.snapshot(base, [file, new], (writer.delete(base, {file: [0]}),))
    status, _, message = refusal(writer.send(wrong))
    assert (status, "primary key" in message) == (400, True)
    right = writer.snapshot(base, [file, new], (writer.delete(base, {file: [0, 1]}),))
    assert writer.send(right).is_success
    assert writer.rows() == [(1, "z"), (2, "y"), (3, "c"), (4, "d")]


def test_a_protected_branch_takes_no_vector(writer: VectorWriter, file: str) -> None:
    base = writer.load()
    request = writer.snapshot(base, [file], (writer.delete(base, {file: [0]}),))
    writer.lake.repository.protect("main", Protection(), author="ann")
    assert refusal(writer.send(request))[0] in (400, 403)
    assert writer.rows() == FOUR


def test_an_older_version_has_the_rows(writer: VectorWriter, file: str) -> None:
    before = head(writer.lake)
    base = writer.load()
    assert deleted(writer, base, [file], writer.delete(base, {file: [0]})).is_success
    old = open_table(writer.lake.repository, RelationName("s", "t"), before, None).to_arrow()
    assert sorted(old["id"].to_pylist()) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"content_offset": 5}, "nothing of"),
        ({"content_size_in_bytes": 5}, "nothing of"),
        ({"content_offset": None}, "where in"),
        ({"referenced_data_file": None}, "where in"),
        ({"record_count": 2}, "1 positions"),
        ({"file_path": "{folder}/none.puffin"}, "not there"),
        ({"file_path": "{root}/data/other/w=x/a.puffin"}, "outside of the folders"),
        ({"file_format": "ORC"}, "format ORC"),
        ({"content": 2}, "format PUFFIN"),
    ],
)
def test_an_entry_that_does_not_fit_its_file_is_refused(
    writer: VectorWriter, file: str, change: Record, said: str
) -> None:
    base, before = writer.load(), head(writer.lake)
    folder = base["properties"]["write.data.path"]
    uri = writer.delete(base, {file: [0]})
    named = {"folder": folder, "root": folder.partition("/data/")[0]}
    shown = {k: v.format(**named) if isinstance(v, str) else v for k, v in change.items()}
    writer.vectors[uri] = [{**entry, **shown} for entry in writer.vectors[uri]]
    status, _, message = refusal(deleted(writer, base, [file], uri))
    assert (status, said in message) == (400, True), message
    assert head(writer.lake) == before


def test_a_vector_of_another_file_is_refused(writer: VectorWriter, file: str) -> None:
    base = writer.load()
    other = writer.write(base, [(5, "e"), (6, "f")])
    assert writer.send(writer.snapshot(base, [file, other])).is_success
    base, before = writer.load(), head(writer.lake)
    uri = writer.delete(base, {file: [0]})
    writer.vectors[uri][0]["referenced_data_file"] = other
    status, _, message = refusal(deleted(writer, base, [file, other], uri))
    assert (status, f"it is about {file}" in message) == (400, True)
    assert head(writer.lake) == before


def test_a_damaged_file_is_refused(writer: VectorWriter, file: str) -> None:
    base, before = writer.load(), head(writer.lake)
    uri = writer.delete(base, {file: [0]})
    path = Path(uri.removeprefix("file://"))
    whole = path.read_bytes()
    for at, said in ((0, "magic bytes"), (20, "checksum"), (len(whole) - 1, "magic bytes")):
        wrong = bytearray(whole)
        wrong[at] ^= 1
        path.write_bytes(bytes(wrong))
        status, _, message = refusal(deleted(writer, base, [file], uri))
        assert (status, said in message) == (400, True), message
    path.write_bytes(whole[:30])
    assert refusal(deleted(writer, base, [file], uri))[0] == 400
    assert head(writer.lake) == before
    path.write_bytes(whole)
    assert deleted(writer, base, [file], uri).is_success
