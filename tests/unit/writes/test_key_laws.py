"""Laws of primary keys: a write is accepted if, and only if, every row has a key of its own."""

from __future__ import annotations

import math

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import InputError
from tests.unit.shelf import Shelf

NUMBERS = st.sampled_from([None, -0.0, 0.0, 1.5, -2.0, float("nan"), float("inf")])
TEXTS = st.sampled_from([None, "", "a", "b", "x" * 70 + "1", "x" * 70 + "2"])
WRITES = st.lists(
    st.lists(st.tuples(NUMBERS, TEXTS), min_size=1, max_size=4), min_size=1, max_size=5
)

Key = tuple[float | str | None, ...]


def plain(key: Key) -> Key:
    """Return a key that Python compares as Spark does: for Python no NaN equals another."""
    return tuple("NaN" if isinstance(part, float) and math.isnan(part) else part for part in key)


def keeps(keys: list[Key], there: set[Key]) -> bool:
    found = [plain(key) for key in keys]
    return (
        not any(None in key for key in keys)
        and len(set(found)) == len(found)
        and there.isdisjoint(found)
    )


@given(WRITES)
@settings(deadline=None)
def test_a_key_of_two_columns(writes: list[list[tuple[float | None, str | None]]]) -> None:
    shelf = Shelf()
    shelf.run("create table t (n double, s string, primary key (n, s))")
    there: set[Key] = set()
    for rows in writes:
        wanted = keeps(list(rows), there)
        columns = {
            "n": pa.array([row[0] for row in rows], pa.float64()),
            "s": pa.array([row[1] for row in rows], pa.string()),
        }
        try:
            shelf.append("t", **columns)
            taken = True
        except InputError:
            taken = False
        assert taken == wanted
        if wanted:
            there.update(plain(row) for row in rows)
    assert shelf.snapshot("t").rows == len(there)


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=1, max_size=5), st.booleans())
@settings(deadline=None)
def test_a_key_of_one_column(writes: list[list[str | None]], compacted: bool) -> None:
    shelf = Shelf()
    shelf.run("create table t (s string, primary key (s))")
    there: set[Key] = set()
    for texts in writes:
        wanted = keeps([(text,) for text in texts], there)
        try:
            shelf.append("t", s=pa.array(texts, pa.string()))
            taken = True
        except InputError:
            taken = False
        assert taken == wanted
        if wanted:
            there.update((text,) for text in texts)
        if compacted:
            shelf.run("optimize t")
    assert set(shelf.rows("t")) == there
