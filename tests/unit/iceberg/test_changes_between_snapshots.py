"""What a reader of changes finds: Iceberg's incremental scans go by added and removed entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.model import Origin, RelationName
from dbt.adapters.vcs.iceberg.avro_files import read_avro
from dbt.adapters.vcs.iceberg.manifest_files import ADDED, DATA, DELETED
from dbt.adapters.vcs.table.manifests import without_blocks
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import pyiceberg_rows


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "lake")
    lake.run("create table s.t (id bigint)")
    return lake


def changes(lake: Lake) -> Iterator[tuple[int, str, set[str], set[str]]]:
    """Yield id, operation, added and removed files of each snapshot, as Iceberg's scans do."""
    for snapshot in lake.document("t").metadata["snapshots"]:
        number, found = snapshot["snapshot-id"], {ADDED: set[str](), DELETED: set[str]()}
        for manifest in manifests(lake, snapshot["manifest-list"]):
            if manifest["added_snapshot_id"] == number and manifest["content"] == DATA:
                for entry in entries(lake, manifest["manifest_path"]):
                    found.setdefault(entry["status"], set()).add(entry["data_file"]["file_path"])
        yield number, snapshot["summary"]["operation"], found[ADDED], found[DELETED]


def manifests(lake: Lake, uri: str) -> list[dict[str, Any]]:
    return read_avro(lake.blobs.get(uri.removeprefix(lake.place.root + "/")))


def entries(lake: Lake, uri: str) -> list[dict[str, Any]]:
    return read_avro(lake.blobs.get(uri.removeprefix(lake.place.root + "/")))


def files(lake: Lake) -> set[str]:
    return {lake.place.uri(block.path) for block in lake.blocks("t")}


def test_joined_segments_add_only_the_new_file(lake: Lake) -> None:
    shown = []
    for number in range(40):
        lake.add("t", [(number,)])
        shown.append(files(lake))
    assert len(lake.snapshot("t").segments) < 40
    found = list(changes(lake))[1:]
    assert [operation for _, operation, _, _ in found] == ["append"] * 40
    before: set[str] = set()
    for after, (_, _, added, removed) in zip(shown, found, strict=True):
        assert (added, removed) == (after - before, set())
        before = after


def test_a_file_that_leaves_a_segment_is_the_only_one_removed(lake: Lake) -> None:
    lake.add("t", [(1,)])
    lake.add("t", [(2,)])
    lake.delete("t", (1, 0))
    into = lake.begin()
    scope = lake.connection.scope("", into, Origin())
    relation = RelationName("s", "t")
    snapshot = into.require_table(relation)
    gone = lake.blocks("t")[0].path
    segments = without_blocks(lake.repository.objects, snapshot.segments, {gone})
    changed(scope, relation, snapshot, operation="overwrite", segments=segments)
    lake.line.land(into, "drop a file")
    number, operation, added, removed = list(changes(lake))[-1]
    assert (operation, added, removed) == ("delete", set(), {lake.place.uri(gone)})
    document = lake.document("t")
    assert pyiceberg_rows(document.location, snapshot_id=number).num_rows == 0


def test_deletions_apply_to_files_whose_segment_was_rewritten(lake: Lake) -> None:
    for number in range(3):
        lake.add("t", [(number,), (number + 10,)])
    lake.delete("t", (0, 0), (1, 1), (2, 0))
    for number in range(40):
        lake.add("t", [(number + 100,)])
    document = lake.document("t")
    rows = {(row["id"],) for row in pyiceberg_rows(document.location).to_pylist()}
    assert rows == set(lake.rows("t")) and (0,) not in rows


def test_changes_stay_the_same_where_documents_were_made_on_the_way(lake: Lake) -> None:
    for number in range(5):
        lake.add("t", [(number,)])
        lake.document("t")
    on_the_way = list(changes(lake))
    for info in list(lake.blobs.walk("iceberg")):
        lake.blobs.delete(info.path)
    assert list(changes(lake)) == on_the_way
