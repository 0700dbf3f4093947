"""Tombstones by range of blocks, for an engine that may write other files than expected."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbt.adapters.vcs.changes.writes import tombstone_ranges
from dbt.adapters.vcs.changes.writes.tombstone_ranges import write_tombstones
from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.engines.port import Destination, RowSession, Written
from dbt.adapters.vcs.table.files.footers import Footer

COUNTS = {"b/2": 3, "b/1": 2, "b/3": 4}


class Files:
    """A writer that leaves files with some numbers of rows."""

    def __init__(self, rows: Sequence[int]) -> None:
        self.rows = rows
        self.text = ""
        self.destination = Destination(folder="")

    def write(self, text: str, destination: Destination, **_: Any) -> Written:
        self.text, self.destination = text, destination
        footers = {
            f"{destination.folder}/part-{number}.parquet": Footer(
                10 + rows, SimpleNamespace(num_rows=rows), f"digest {number}"
            )
            for number, rows in enumerate(self.rows)
        }
        return Written(columns=(), files=tuple(footers), footers=footers)


def targets(rows: Sequence[int], counts: dict[str, int] = COUNTS) -> list[dict[str, int]]:
    writer = cast(RowSession, Files(rows))
    found = write_tombstones(MemoryBlobs(), writer, "q", counts, folder="data/t/w=x")
    assert [tombstone.bytes for tombstone in found] == [10 + count for count in rows]
    assert [tombstone.footer for tombstone in found] == [f"digest {n}" for n in range(len(rows))]
    return [tombstone.targets for tombstone in found]


def test_each_file_has_the_blocks_that_follow_those_of_the_one_before() -> None:
    assert targets([9]) == [{"b/1": 2, "b/2": 3, "b/3": 4}]
    assert targets([2, 7]) == [{"b/1": 2}, {"b/2": 3, "b/3": 4}]
    assert targets([5, 4]) == [{"b/1": 2, "b/2": 3}, {"b/3": 4}]
    assert targets([2, 3, 4]) == [{"b/1": 2}, {"b/2": 3}, {"b/3": 4}]


def test_without_deleted_rows_nothing_is_written() -> None:
    writer = Files([])
    assert write_tombstones(MemoryBlobs(), cast(RowSession, writer), "q", {}, folder="f") == ()
    assert writer.text == ""


@pytest.mark.parametrize("rows", [[3, 6], [4, 5], [10], [9, 1]])
def test_a_file_with_rows_of_part_of_a_block_is_refused(rows: list[int]) -> None:
    with pytest.raises(EngineError, match="not of whole blocks"):
        targets(rows)


@pytest.mark.parametrize("rows", [[], [5], [2, 3]])
def test_rows_that_are_missing_are_refused(rows: list[int]) -> None:
    with pytest.raises(EngineError, match=r"the (2|4) rows"):
        targets(rows)


@pytest.mark.parametrize(("most", "parts"), [(100, 1), (9, 1), (8, 2), (4, 3), (1, 9)])
def test_the_number_of_files_follows_the_rows(
    monkeypatch: pytest.MonkeyPatch, most: int, parts: int
) -> None:
    monkeypatch.setattr(tombstone_ranges, "ROWS", most)
    writer = Files([9])
    write_tombstones(MemoryBlobs(), cast(RowSession, writer), "q", COUNTS, folder="data/t/w=x")
    assert (writer.text, writer.destination.by_place) == ("q", parts)
