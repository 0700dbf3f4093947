"""A commit that lost the race is merged by row, or refused as the protocol says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.core.model import RelationName, Snapshot, TableEntry
from tests.unit.iceberg.lake import Lake

from .hand_writer import VectorWriter, Writer
from .test_writing import head, refusal

FOUR = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


@pytest.fixture(params=[True, False], ids=["keyed", "keyless"])
def is_keyed(request: Any) -> bool:
    found: bool = request.param
    return found


@pytest.fixture(params=[Writer, VectorWriter], ids=["positions", "vectors"])
def filled(tmp_path: Path, request: Any, is_keyed: bool) -> tuple[Writer, str]:
    """A table with the ids 1 to 4 in one file, and the file's URI."""
    writer: Writer = request.param(Lake(tmp_path / "lake"), keyed=is_keyed)
    base = writer.load()
    file = writer.write(base, FOUR)
    assert writer.send(writer.snapshot(base, [file])).is_success
    return writer, file


def shown(writer: Writer) -> Snapshot:
    entry = writer.lake.repository.tree(head(writer.lake)).entry(RelationName("s", "t"))
    assert isinstance(entry, TableEntry)
    return writer.lake.repository.objects.snapshot(entry.snapshot)


def rewritten(writer: Writer, base: Any, rows: list[tuple[int, str]]) -> Any:
    """Return the commit of a client that writes the rows of its file again."""
    return writer.snapshot(base, [writer.write(base, rows)] if rows else [])


def test_two_rewrites_of_one_file_are_merged_by_row(filled: tuple[Writer, str]) -> None:
    writer, _ = filled
    base = writer.load()
    one = rewritten(writer, base, [(1, "z"), *FOUR[1:]])
    two = rewritten(writer, base, [FOUR[0], FOUR[1], (4, "y"), (5, "e")])
    assert writer.send(one).is_success
    assert writer.send(two).is_success
    wanted = [(1, "z"), (2, "b"), (4, "y"), (5, "e")]
    assert writer.rows() == wanted
    assert len(shown(writer).parents) == 2
    before = head(writer.lake)
    for late in (one, two):
        assert writer.send(late).is_success
        assert head(writer.lake) == before
    loaded = writer.load()
    assert loaded["current-snapshot-id"] != base["current-snapshot-id"]


def test_a_rewrite_and_deletions_by_position_are_merged_by_row(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    deletes = writer.snapshot(base, [file], (writer.delete(base, {file: [1]}),))
    assert writer.send(rewritten(writer, base, [(1, "z"), *FOUR[1:]])).is_success
    assert writer.send(deletes).is_success
    assert writer.rows() == [(1, "z"), (3, "c"), (4, "d")]


@pytest.mark.parametrize("late", [[(1, "y"), *FOUR[1:]], FOUR[1:], [(9, "x")]])
def test_changes_of_the_same_row_are_refused(
    filled: tuple[Writer, str], late: list[tuple[int, str]]
) -> None:
    writer, _ = filled
    base = writer.load()
    request = rewritten(writer, base, late)
    assert writer.send(rewritten(writer, base, [(1, "z"), *FOUR[1:]])).is_success
    before = head(writer.lake)
    status, kind, message = refusal(writer.send(request))
    assert (status, kind) == (409, "CommitFailedException")
    assert "load the table again" in message
    assert head(writer.lake) == before


def test_two_replacements_of_all_rows_do_not_leave_both(filled: tuple[Writer, str]) -> None:
    writer, _ = filled
    base = writer.load()
    late = rewritten(writer, base, [(6, "y")])
    assert writer.send(rewritten(writer, base, [(5, "z")])).is_success
    assert refusal(writer.send(late))[0] == 409
    assert writer.rows() == [(5, "z")]


def test_a_file_that_is_left_out_twice_is_left_out_once(filled: tuple[Writer, str]) -> None:
    writer, _ = filled
    base = writer.load()
    request = rewritten(writer, base, [])
    assert writer.send(request).is_success
    before = head(writer.lake)
    assert writer.send(request).is_success
    assert head(writer.lake) == before
    assert writer.rows() == []


def test_a_change_of_other_columns_is_refused(filled: tuple[Writer, str]) -> None:
    writer, _ = filled
    base = writer.load()
    late = rewritten(writer, base, FOUR[1:])
    writer.lake.run("alter table s.t add columns (more string)")
    status, _, message = refusal(writer.send(late))
    assert (status, "columns" in message) == (409, True)


def test_the_mode_of_the_table_decides_a_conflict(tmp_path: Path) -> None:
    writer = Writer(Lake(tmp_path / "lake"))
    base = writer.load()
    assert writer.send(writer.snapshot(base, [writer.write(base, FOUR)])).is_success
    writer.lake.run("alter table s.t set tblproperties ('vcs.on_conflict' = 'accept')")
    base = writer.load()
    late = rewritten(writer, base, [(1, "y"), *FOUR[1:]])
    assert writer.send(rewritten(writer, base, [(1, "z"), *FOUR[1:]])).is_success
    assert writer.send(late).is_success
    assert writer.rows() == [(1, "y"), *FOUR[1:]]


def test_clients_that_commit_at_once_lose_nothing(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    requests = [writer.snapshot(base, [file], (writer.delete(base, {file: [n]}),)) for n in (0, 1)]
    requests += [rewritten(writer, base, [*FOUR[:2], (3, "x"), FOUR[3]])]
    requests += [writer.snapshot(base, [file, writer.write(base, [(5, "e")])])]
    with ThreadPoolExecutor(len(requests)) as pool:
        answers = list(pool.map(writer.send, requests))
    assert [answer.status_code for answer in answers] == [200] * len(requests)
    assert writer.rows() == [(3, "x"), (4, "d"), (5, "e")]
