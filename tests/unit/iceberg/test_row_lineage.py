"""Rows keep their numbers in format version 3, whatever becomes of the manifests they are in."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.model import Origin, RelationName
from dbt.adapters.vcs.iceberg.avro_files import read_avro
from dbt.adapters.vcs.table.manifests import without_blocks
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import pyiceberg_rows

STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "add", "delete", "remove", "document"]), st.integers(0, 9)),
    min_size=1,
    max_size=40,
)


def records(uri: str) -> list[dict[str, Any]]:
    return read_avro(Path(uri.removeprefix("file://")).read_bytes())


def numbers(listing: str) -> dict[str, tuple[int, int]]:
    """Return first number and number of rows of each file, as the specification finds them."""
    found = {}
    for manifest in records(listing):
        if manifest["content"] != 0:
            continue
        inherited = manifest["first_row_id"]
        for entry in records(manifest["manifest_path"]):
            file = entry["data_file"]
            row = file["first_row_id"]
            if entry["status"] == 2:
                assert row is not None
                continue
            if row is None:
                row, inherited = inherited, inherited + file["record_count"]
            found[file["file_path"]] = (row, file["record_count"])
    return found


class Table:
    """A table whose files come and go."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        lake.run("create table s.t (id bigint)")

    def add(self, number: int) -> None:
        self.lake.add("t", [(n,) for n in range(number + 1)])

    def delete(self, number: int) -> None:
        blocks, gone = self.lake.blocks("t"), self.lake.deleted("t")
        if blocks:
            place = number % len(blocks)
            left = set(range(blocks[place].rows)) - gone.get(blocks[place].path, set())
            if left:
                self.lake.delete("t", (place, min(left)))

    def remove(self, number: int) -> None:
        blocks = self.lake.blocks("t")
        if not blocks:
            return
        into = self.lake.begin()
        old = self.lake.snapshot("t")
        gone = {blocks[number % len(blocks)].path}
        kept = without_blocks(self.lake.repository.objects, old.segments, gone)
        scope = self.lake.connection.scope("", into, Origin())
        changed(scope, RelationName("s", "t"), old, operation="delete", segments=kept)
        self.lake.line.land(into, "remove")

    def document(self, number: int) -> None:
        self.lake.document("t", format_version=3)


@settings(max_examples=settings().max_examples // 5, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_a_row_has_one_number_in_all_versions(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder))
        table = Table(lake)
        for step, number in steps:
            getattr(table, step)(number)
        metadata = lake.document("t", format_version=3).metadata
        first: dict[str, tuple[int, int]] = {}
        for snapshot in metadata["snapshots"]:
            shown = numbers(snapshot["manifest-list"])
            # What was seen before has the numbers that it had.
            assert shown == {path: first.setdefault(path, rows) for path, rows in shown.items()}
            for row, count in shown.values():
                assert row + count <= snapshot["first-row-id"] + snapshot["added-rows"]
        taken = sorted(first.values())
        assert all(one + count <= other for (one, count), (other, _) in pairwise(taken))
        for before, after in pairwise(metadata["snapshots"]):
            assert before["first-row-id"] + before["added-rows"] == after["first-row-id"]
        last = metadata["snapshots"][-1]
        assert metadata["next-row-id"] == last["first-row-id"] + last["added-rows"]
        blocks = {lake.place.uri(block.path) for block in lake.blocks("t")}
        assert numbers(last["manifest-list"]).keys() == blocks


def test_deleted_rows_are_not_read_again_where_none_was_deleted_since(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.run("create table s.t (id bigint)")
    lake.add("t", [(1,), (2,), (3,)])
    lake.delete("t", (0, 1))
    first = lake.document("t", format_version=3)
    lake.add("t", [(4,)])
    written = list(tmp_path.glob("data/**/*.parquet"))
    (tombstone,) = (path for path in written if "__vcs_pos" in pq.read_schema(path).names)
    tombstone.unlink()
    document = lake.document("t", format_version=3)
    listings = [item.metadata["snapshots"][-1]["manifest-list"] for item in (first, document)]
    one, two = (
        [item for item in records(listing) if item["content"] == 1] for listing in listings
    )
    assert one == two and len(one) == 1
    assert sorted(pyiceberg_rows(document.location)["id"].to_pylist()) == [1, 3, 4]
