"""A deletion vector stays where it is until its file loses another row.

A client that adds a vector leaves out the file's earlier one, by its place, and Iceberg refuses
its commit if another vector of the file was added meanwhile.
"""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from pyroaring import BitMap64

from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import pyiceberg_rows
from tests.unit.iceberg.test_row_lineage import STEPS, Table, records

Vectors = dict[str, dict[str, Any]]


def vectors(listing: str) -> Vectors:
    """Return the live vectors of a snapshot by data file, as the specification finds them."""
    found: Vectors = {}
    for manifest in records(listing):
        if manifest["content"] != 1:
            continue
        numbers = []
        live = [0, 0]
        for entry in records(manifest["manifest_path"]):
            file = entry["data_file"]
            is_added = entry["status"] == 1
            assert (entry["sequence_number"] is None) == is_added
            live[is_added] += 1
            number = entry["sequence_number"] or manifest["sequence_number"]
            numbers.append(number)
            assert file["referenced_data_file"] not in found
            found[file["referenced_data_file"]] = {
                "place": (file["file_path"], file["content_offset"]),
                "added": entry["snapshot_id"] or manifest["added_snapshot_id"],
                "sequence": number,
                "rows": rows_of(file),
                "size": file["file_size_in_bytes"],
            }
        assert min(numbers) == manifest["min_sequence_number"]
        assert live == [manifest["existing_files_count"], manifest["added_files_count"]]
    return found


def rows_of(file: dict[str, Any]) -> list[int]:
    data = Path(file["file_path"].removeprefix("file://")).read_bytes()
    assert len(data) == file["file_size_in_bytes"]
    start = file["content_offset"]
    rows = list(BitMap64.deserialize(data[start + 8 : start + file["content_size_in_bytes"] - 4]))
    assert len(rows) == file["record_count"]
    return rows


@settings(max_examples=settings().max_examples // 5, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_a_vector_moves_only_with_its_rows(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder))
        table = Table(lake)
        for step, number in steps:
            getattr(table, step)(number)
        document = lake.document("t", format_version=3)
        snapshots = document.metadata["snapshots"]
        shown = [vectors(item["manifest-list"]) for item in snapshots]
        for (_, before), (after, now) in pairwise(zip(snapshots, shown, strict=True)):
            for path, vector in now.items():
                is_same = path in before and before[path]["rows"] == vector["rows"]
                if is_same:
                    assert vector == before[path]
                else:
                    assert vector["added"] == after["snapshot-id"]
                    assert vector["sequence"] == after["sequence-number"]
        deleted = {lake.place.uri(path): sorted(rows) for path, rows in lake.deleted("t").items()}
        assert {path: vector["rows"] for path, vector in shown[-1].items()} == deleted
        found = sorted(pyiceberg_rows(document.location)["id"].to_pylist())
        assert found == sorted(id for (id,) in lake.rows("t"))


def test_a_table_with_many_deletions_has_few_manifests(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.run("create table s.t (id bigint)")
    for _ in range(60):
        lake.add("t", [(1,), (2,)])
    for number in range(60):
        lake.delete("t", (number, 0))
        lake.document("t", format_version=3)
    listing = lake.document("t", format_version=3).metadata["snapshots"][-1]["manifest-list"]
    assert len(vectors(listing)) == 60
    assert sum(item["content"] == 1 for item in records(listing)) <= 20


def test_vectors_whose_manifest_is_gone_are_written_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.run("create table s.t (id bigint)")
    for _ in range(2):
        lake.add("t", [(1,), (2,), (3,)])
    lake.delete("t", (0, 0), (1, 1))
    lake.document("t", format_version=3)
    (manifest,) = tmp_path.glob("iceberg/**/vectors-*.avro")
    manifest.unlink()
    lake.delete("t", (1, 2))
    document = lake.document("t", format_version=3)
    assert sorted(pyiceberg_rows(document.location)["id"].to_pylist()) == [1, 2, 3]
    listing = document.metadata["snapshots"][-1]["manifest-list"]
    assert sorted(vector["rows"] for vector in vectors(listing).values()) == [[0], [1, 2]]
