"""Primary keys hold for every row that is written, in process."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.changes.writes import checks
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from tests.unit.shelf import Shelf

NAN = float("nan")


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def test_rows_with_new_keys_are_taken(shelf: Shelf) -> None:
    shelf.run("create table t (id bigint, v string, primary key (id))")
    shelf.append("t", id=[1, 2], v=["a", "b"])
    shelf.append("t", id=[3], v=["b"])
    assert shelf.snapshot("t").rows == 3
    assert shelf.snapshot("t").primary_key == ("id",)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ({"id": [3, None], "v": ["x", "y"]}, r"NULL in the primary key \(id\) of s\.t: NULL\."),
        ({"id": [3, 4, 3, 4], "v": list("abcd")}, r"Several of the rows .* \(id\): 3, 4\."),
        ({"id": [2, 3, 1], "v": list("abc")}, r"that other rows already have: 1, 2\."),
        ({"id": [*range(10, 30)] * 2, "v": ["x"] * 40}, r": 10, 11, 12, 13, 14\."),
    ],
)
def test_rows_without_a_key_of_their_own_are_refused(
    shelf: Shelf, rows: dict[str, list[Any]], text: str
) -> None:
    shelf.run("create table t (id bigint, v string, primary key (id))")
    shelf.append("t", id=[1, 2], v=["a", "b"])
    head = shelf.line.head()
    with pytest.raises(InputError, match=text) as caught:
        shelf.append("t", **rows)
    assert "Nothing was changed" in str(caught.value)
    assert shelf.line.head() == head


@pytest.mark.parametrize(
    ("type_", "old", "new", "clash"),
    [
        ("string", ["a", "b"], ["B", "c"], None),
        ("string", ["x" * 100 + "1"], ["x" * 100 + "2"], None),
        ("string", ["it's"], ["it's"], 'already have: "it\'s"'),
        ("double", [0.0], [-0.0], "0.0"),
        ("double", [NAN, 1.0], [NAN, 9.0], "nan"),
        ("double", [1.0, NAN], [2.0], None),
        ("float", [1.5], [1.5], "1.5"),
        ("decimal(10,2)", [Decimal("9.10")], [Decimal("10.00")], None),
        ("decimal(10,2)", [Decimal("9.10")], [Decimal("9.10")], "9.10"),
        ("date", [date(2026, 1, 1)], [date(2026, 1, 1)], "2026-01-01"),
        ("binary", [b"a"], [b"a"], "b'a'"),
        ("boolean", [True], [False], None),
    ],
)
def test_keys_of_every_plain_type(
    shelf: Shelf, type_: str, old: list[Any], new: list[Any], clash: str | None
) -> None:
    shelf.run(f"create table t (id {type_} primary key)")
    shelf.append("t", id=old)
    if clash is None:
        shelf.append("t", id=new)
    else:
        with pytest.raises(InputError) as caught:
            shelf.append("t", id=new)
        assert clash in str(caught.value)


@pytest.mark.parametrize("zeros", [[0.0, -0.0], [NAN, NAN]])
def test_one_zero_and_one_nan_within_a_write(shelf: Shelf, zeros: list[float]) -> None:
    shelf.run("create table t (id double primary key)")
    with pytest.raises(InputError, match="Several of the rows"):
        shelf.append("t", id=zeros)


def test_a_key_of_two_columns(shelf: Shelf) -> None:
    shelf.run("create table t (a int, b string, v int, primary key (a, b))")
    shelf.append("t", a=[1, 1, 2], b=["x", "y", "x"], v=[1, 2, 3])
    shelf.append("t", a=[2, 3], b=["y", "x"], v=[1, 2])
    with pytest.raises(InputError, match=r"\(a, b\).*already have: \(1, 'y'\), \(2, 'x'\)\."):
        shelf.append("t", a=[1, 2, 4], b=["y", "x", "x"], v=[1, 1, 1])
    with pytest.raises(InputError, match=r"NULL.*\(5, NULL\)"):
        shelf.append("t", a=[5], b=pa.array([None], pa.string()), v=[1])


@pytest.mark.parametrize("type_", ["array<int>", "struct<a:int>", "map<string,int>", "variant"])
def test_values_that_do_not_compare_are_no_key(shelf: Shelf, type_: str) -> None:
    with pytest.raises(InputError, match="can't be in a primary key"):
        shelf.run(f"create table t (id {type_}, primary key (id))")


def test_a_key_that_is_set_later_holds_for_the_rows_there(shelf: Shelf) -> None:
    shelf.run("create table t (id int, v int)")
    shelf.append("t", id=[1, 2], v=[1, 1])
    with pytest.raises(InputError, match=r"the same primary key \(v\): 1\."):
        shelf.run("alter table t set tblproperties ('primary_key' = 'v')")
    assert shelf.snapshot("t").primary_key == ()
    shelf.run("alter table t add primary key (id)")
    assert shelf.snapshot("t").primary_key == ("id",)
    shelf.run("alter table t rename column id to key")
    assert shelf.snapshot("t").properties["primary_key"] == "key"
    with pytest.raises(InputError, match=r"\(key\).*already have: 2\."):
        shelf.append("t", key=[2], v=[1])
    shelf.run("alter table t drop primary key")
    shelf.append("t", key=[2], v=[1])


def test_the_check_can_be_turned_off_and_on(shelf: Shelf) -> None:
    shelf.run(
        "create table t (id int, primary key (id)) "
        "tblproperties ('vcs.enforce_primary_key' = 'false')"
    )
    shelf.append("t", id=[1, 1])
    assert shelf.snapshot("t").primary_key == ("id",)
    on = "alter table t set tblproperties ('vcs.enforce_primary_key' = 'true')"
    with pytest.raises(InputError, match=r"\(id\): 1\."):
        shelf.run(on)
    shelf.run("truncate table t")
    shelf.run(on)
    with pytest.raises(InputError, match=r"\(id\): 1\."):
        shelf.append("t", id=[1, 1])


def test_a_unique_key_is_the_key_as_long_as_rows_keep_to_it(shelf: Shelf) -> None:
    shelf.run("create table t (id int) tblproperties ('vcs.unique_key' = 'id')")
    assert shelf.append("t", id=[1, 2]) == []
    assert shelf.snapshot("t").primary_key == ("id",)
    (warning,) = shelf.append("t", id=[2])
    assert "already have: 2." in warning and "unique_key" in warning
    assert shelf.snapshot("t").primary_key == ()
    assert shelf.snapshot("t").rows == 3


@pytest.mark.parametrize("unique_key", ["nix", "concat(id, '-')", "id, nix", ""])
def test_a_unique_key_that_is_no_column_makes_no_key(shelf: Shelf, unique_key: str) -> None:
    text = unique_key.replace("'", "\\'")
    shelf.run(f"create table t (id int) tblproperties ('vcs.unique_key' = '{text}')")
    assert shelf.snapshot("t").primary_key == ()


def test_blocks_that_cannot_hold_the_keys_are_not_read(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.run("create table t (id int, v string, primary key (id))")
    shelf.append("t", id=[*range(100)], v=["x"] * 100)
    far, read = shelf.blocks("t")[0].path, []
    whole, ranged = MemoryBlobs.get, MemoryBlobs.range

    def noted(self: MemoryBlobs, path: str) -> bytes:
        read.append(path)
        return whole(self, path)

    def noted_range(self: MemoryBlobs, path: str, start: int, length: int) -> bytes:
        read.append(path)
        return ranged(self, path, start, length)

    monkeypatch.setattr(MemoryBlobs, "get", noted)
    monkeypatch.setattr(MemoryBlobs, "range", noted_range)
    shelf.append("t", id=[100, 200], v=["x", "x"])
    assert far not in read and read
    with pytest.raises(InputError, match="already have: 99"):
        shelf.append("t", id=[99, 300], v=["x", "x"])
    assert far in read


def test_two_writers_cannot_add_one_key(shelf: Shelf) -> None:
    shelf.run("create table t (id int, primary key (id))")
    first, second, third = shelf.begin(), shelf.begin(), shelf.begin()
    shelf.append("t", first, id=[1])
    shelf.append("t", second, id=[2])
    shelf.append("t", third, id=[1])
    shelf.line.land(first, "one")
    shelf.line.land(second, "another")
    with pytest.raises(ConflictError):
        shelf.line.land(third, "the same")
    assert shelf.snapshot("t").rows == 2


def test_a_key_from_before_a_column_was_added(shelf: Shelf) -> None:
    shelf.run("create table t (id int)")
    shelf.append("t", id=[1])
    shelf.run("alter table t add columns (k int)")
    with pytest.raises(InputError, match="NULL in the primary key"):
        shelf.run("alter table t add primary key (k)")


def test_many_blocks_are_compared_by_their_overall_range(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_MOST_PAIRS", 0)
    shelf.run("create table t (id int, primary key (id))")
    shelf.append("t", id=[1, 5])
    with pytest.raises(InputError, match="already have: 5"):
        shelf.append("t", id=[5, 9])
