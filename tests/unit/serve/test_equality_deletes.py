"""Rows that clients delete by their values."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.iceberg.client_files import equality_deletions
from dbt.adapters.vcs.iceberg.client_manifests import EqualityFile
from dbt.adapters.vcs.table.limits import Limits
from dbt.adapters.vcs.workspace.table_version import Version
from tests.unit.iceberg.lake import Lake

from .hand_writer import Writer
from .test_adopted_rows import partitioned
from .test_writing import head, refusal

FOUR = [(1, "a"), (2, "b"), (3, "b"), (4, None)]


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Writer, str]:
    """A table with the ids 1 to 4 in one file, and the file's URI."""
    writer = Writer(Lake(tmp_path / "lake"))
    base = writer.load()
    file = writer.write(base, FOUR)
    assert writer.send(writer.snapshot(base, [file])).is_success
    return writer, file


def ids(writer: Writer, base: Any, *keys: int | None) -> str:
    """Write a file of deleted ids."""
    return writer.write(base, [(key,) for key in keys], name=None, day=None)


def names(writer: Writer, base: Any, *values: str | None) -> str:
    """Write a file of deleted names."""
    rows = [(None, value) for value in values]
    return writer.write(base, rows, id=None, day=None)


def test_rows_are_deleted_by_their_values(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    request = writer.snapshot(base, [file], values=(ids(writer, base, 1, 9),))
    assert writer.send(request).is_success
    assert set(writer.rows_in_any_order()) == set(FOUR[1:])
    before = head(writer.lake)
    assert writer.send(request).is_success
    assert head(writer.lake) == before


def test_null_is_a_value_like_others(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    gone = names(writer, base, None, "b")
    assert writer.send(writer.snapshot(base, [file], values=(gone,), by=("name",))).is_success
    assert writer.rows() == [(1, "a")]


def test_new_rows_of_the_same_commit_stay(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    new = writer.write(base, [(2, "z"), (5, "e")])
    request = writer.snapshot(base, [file, new], values=(ids(writer, base, 2, 5),))
    assert writer.send(request).is_success
    wanted = {(1, "a"), (2, "z"), (3, "b"), (4, None), (5, "e")}
    assert set(writer.rows_in_any_order()) == wanted
    before = head(writer.lake)
    assert writer.send(request).is_success
    assert head(writer.lake) == before


def test_an_upsert_follows_what_others_did(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    requests = []
    for name in ("y", "z"):
        new = writer.write(base, [(2, name), (5, name)])
        requests.append(writer.snapshot(base, [file, new], values=(ids(writer, base, 2, 5),)))
    for request, name in zip(requests, ("y", "z"), strict=True):
        assert writer.send(request).is_success
        assert set(writer.rows_in_any_order()) == {
            (1, "a"),
            (2, name),
            (3, "b"),
            (4, None),
            (5, name),
        }
    for request in requests:
        assert writer.send(request).is_success
        assert {row for row in writer.rows_in_any_order() if row[0] == 5} == {(5, "z")}


def test_a_late_deletion_is_merged_or_refused(filled: tuple[Writer, str]) -> None:
    writer, file = filled
    base = writer.load()
    one, two, same = (
        writer.snapshot(base, [file], values=(ids(writer, base, *keys),))
        for keys in ((1,), (2,), (1, 3))
    )
    assert writer.send(one).is_success
    assert writer.send(two).is_success
    assert {row[0] for row in writer.rows_in_any_order()} == {3, 4}
    assert refusal(writer.send(same))[:2] == (409, "CommitFailedException")
    assert {row[0] for row in writer.rows_in_any_order()} == {3, 4}


@pytest.mark.parametrize(
    ("by", "columns", "said"),
    [
        (("nothing",), {}, "columns that the table lacks"),
        (("name",), {"name": None, "day": None}, "lacks the column name"),
        (("id",), {"id": pa.string(), "name": None, "day": None}, "expected bigint"),
    ],
)
def test_a_file_of_other_columns_is_refused(
    filled: tuple[Writer, str], by: tuple[str, ...], columns: Any, said: str
) -> None:
    writer, file = filled
    base, before = writer.load(), head(writer.lake)
    value = "1" if columns.get("id") else 1
    gone = writer.write(base, [(value,)], **columns)
    status, _, message = refusal(writer.send(writer.snapshot(base, [file], values=(gone,), by=by)))
    assert (status, said in message) == (400, True), message
    assert head(writer.lake) == before


def test_columns_of_partitions_must_be_among_those_compared(tmp_path: Path) -> None:
    writer = partitioned(Lake(tmp_path / "lake"))
    base = writer.load()
    files = [f"file://{writer.lake.blobs.uri}/{block.path}" for block in version(writer).blocks]
    gone = ids(writer, base, 3)
    status, _, message = refusal(writer.send(writer.snapshot(base, files, values=(gone,))))
    assert (status, "partitioned" in message) == (400, True)
    both = writer.write(base, [(3, None), (1, "another")], day=None)
    request = writer.snapshot(base, files, values=(both,), by=("id", "name"))
    assert writer.send(request).is_success
    left = open_rows(writer)
    assert left == {1, 2, 4, 5}


def test_more_than_can_be_read_is_refused(filled: tuple[Writer, str]) -> None:
    writer, _ = filled
    shown = version(writer)
    uri = ids(writer, writer.load(), 1)
    path = uri.removeprefix(f"file://{writer.lake.blobs.uri}/")
    file = EqualityFile(path=path, columns=(field_number("id"),), sequence=1)
    with pytest.raises(UnsupportedError, match="would have to be read"):
        equality_deletions(
            writer.lake.repository, shown.snapshot, shown.blocks, [file], {}, limits=Limits(3, 1)
        )


def version(writer: Writer) -> Version:
    repository = writer.lake.repository
    entry = repository.tree(head(writer.lake)).entry(RelationName("s", "t"))
    assert isinstance(entry, TableEntry)
    return Version.of(repository, repository.objects.snapshot(entry.snapshot))


def open_rows(writer: Writer) -> set[int]:
    rows = sorted(row[0] for row in writer.rows_in_any_order())
    assert len(rows) == len(set(rows))
    return set(rows)


VALUES = st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]))


@settings(max_examples=settings().max_examples // 20, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(VALUES, max_size=4), min_size=1, max_size=3),
    st.lists(VALUES, min_size=1, max_size=3),
    st.lists(VALUES, max_size=2),
    st.sampled_from([("id",), ("name",), ("id", "name"), ("name", "id")]),
)
def test_the_rows_left_are_those_of_other_values(
    files: list[list[Any]], gone: list[Any], new: list[Any], by: tuple[str, ...]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(Lake(Path(folder) / "lake"), keyed=False)
        base = writer.load()
        uris = [writer.write(base, rows) for rows in files if rows]
        assert writer.send(writer.snapshot(base, uris)).is_success
        base = writer.load()
        deleted = writer.write(base, gone, day=None)
        added = [writer.write(base, new)] if new else []
        request = writer.snapshot(base, [*uris, *added], values=(deleted,), by=by)
        assert writer.send(request).is_success

        def told(row: Any) -> tuple[Any, ...]:
            return tuple(row[("id", "name").index(name)] for name in by)

        values = {told(row) for row in gone}
        left = [row for rows in files for row in rows if told(row) not in values]
        assert sorted(map(str, writer.rows_in_any_order())) == sorted(map(str, [*left, *new]))
