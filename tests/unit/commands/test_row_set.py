from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from dbt.adapters.vcs.commands.output import RowSet

TABLE = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})


def in_parts(read: list[int], count: int) -> RowSet:
    def parts() -> Iterator[pa.Table]:
        for number in range(100):
            read.append(number)
            yield TABLE

    return RowSet(TABLE.schema, count, parts)


def test_rows_are_those_of_the_table() -> None:
    rows = RowSet.of(TABLE)
    assert rows == TABLE.to_pylist()
    assert rows == tuple(TABLE.to_pylist())
    assert rows != TABLE.to_pylist()[:2]
    assert list(rows.values()) == [(1, "a"), (2, "b"), (3, None)]
    assert (rows.columns, rows.numeric) == (("id", "name"), {"id"})
    assert rows[-1] == {"id": 3, "name": None}
    assert rows[1:] == ({"id": 2, "name": "b"}, {"id": 3, "name": None})
    with pytest.raises(IndexError):
        rows[3]


def test_a_limit_is_kept() -> None:
    assert len(RowSet.of(TABLE, 2)) == len(list(RowSet.of(TABLE, 2))) == 2
    assert len(RowSet.of(TABLE, 9)) == len(list(RowSet.of(TABLE, 9))) == 3
    assert RowSet.none() == ()


def test_parts_are_made_when_they_are_read_and_no_more_than_needed() -> None:
    read: list[int] = []
    rows = in_parts(read, 7)
    assert read == []
    reader = iter(rows)
    for number in range(7):
        next(reader)
        assert len(read) == number // 3 + 1
    assert next(reader, None) is None
    assert len(read) == 3
