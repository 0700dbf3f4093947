"""The three-way difference of random histories, against an oracle on plain dicts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.diffs.three_way import ThreeWay
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Snapshot
from dbt.adapters.vcs.engines.local_session import LocalSession
from tests.property.histories import Shape, Writer, shapes
from tests.property.oracle import Table, Value, counts_of, value_of
from tests.property.sides import Sides
from tests.property.sides import row as of_key
from tests.property.world import World

Versions = tuple[Value | None, Value | None, Value | None]


def kind(base: Value | None, side: Value | None) -> str | None:
    if base == side:
        return None
    return "added" if base is None else "removed" if side is None else "modified"


def expected_by_key(shape: Shape, tables: list[Table]) -> dict[Value, tuple[Any, ...]]:
    """Each key that a side changed: what each did, and the row of base, ours and theirs."""
    sides = [
        {value_of(row, shape.key): value_of(row, shape.columns) for row in table}
        for table in tables
    ]
    found = {}
    for key in {*sides[0], *sides[1], *sides[2]}:
        base, ours, theirs = (side.get(key) for side in sides)
        if not base == ours == theirs:
            found[key] = (kind(base, ours), kind(base, theirs), base, ours, theirs)
    return found


def expected_by_count(shape: Shape, tables: list[Table]) -> dict[Value, tuple[Any, ...]]:
    base, ours, theirs = (counts_of(table, shape.columns) for table in tables)
    found = {}
    for value in {*base, *ours, *theirs}:
        own, other = ours[value] - base[value], theirs[value] - base[value]
        if own or other:
            signs = (None if not n else "added" if n > 0 else "removed" for n in (own, other))
            found[value] = (*signs, own, other)
    return found


@pytest.mark.parametrize("keyed", [True, False], ids=["key", "no_key"])
@given(data=st.data())
def test_a_three_way_difference_is_the_oracles(keyed: bool, data: st.DataObject) -> None:
    shape = data.draw(shapes(keyed=keyed))
    world = World()
    writer = Writer(world, shape, data.draw)
    base = writer.base()
    ours, theirs = writer.steps(base), writer.steps(base)
    found = ThreeWay(repository=world.repository, base=base, ours=ours, theirs=theirs).table()
    tables = [world.rows(version) for version in (base, ours, theirs)]
    rows = found.to_pylist()
    if not keyed:
        counted = {
            value_of(row, shape.columns): (
                row["our_diff_type"],
                row["their_diff_type"],
                row["our_diff_count"],
                row["their_diff_count"],
            )
            for row in rows
        }
        assert counted == expected_by_count(shape, tables)
        assert len(counted) == len(rows)
        return
    expected = expected_by_key(shape, tables)
    told = {}
    for row in rows:
        versions = [
            value_of({id: row[f"{side}_{id}"] for id in shape.columns}, shape.columns)
            for side in ("base", "our", "their")
        ]
        key = value_of(row, shape.key)
        types = row["our_diff_type"], row["their_diff_type"]
        # A row that isn't there is all NULL; its key says whether it is.
        versions = [
            None
            if value is not None
            and set(value_of(dict(zip(shape.columns, value, strict=True)), shape.key)) == {None}
            else value
            for value in versions
        ]
        told[key] = (*types, *versions)
    assert told == expected
    assert len(told) == len(rows)


@given(data=st.data())
def test_sides_that_are_swapped_swap_the_answer(data: st.DataObject) -> None:
    shape = data.draw(shapes(keyed=True))
    world = World()
    writer = Writer(world, shape, data.draw)
    base = writer.base()
    ours, theirs = writer.steps(base), writer.steps(base)
    one, other = (
        ThreeWay(repository=world.repository, base=base, ours=a, theirs=b).table()
        for a, b in ((ours, theirs), (theirs, ours))
    )
    swapped = other.select(
        [
            "our" + name[5:]
            if name.startswith("their_")
            else "their" + name[3:]
            if name.startswith("our_")
            else name
            for name in one.column_names
        ]
    ).rename_columns(one.column_names)
    assert Counter(map(repr, one.to_pylist())) == Counter(map(repr, swapped.to_pylist()))
    same = ThreeWay(repository=world.repository, base=base, ours=base, theirs=base).table()
    assert same.num_rows == 0
    assert same.schema.names == one.schema.names


def test_keys_that_several_rows_have_are_refused() -> None:
    sides = Sides([of_key(1), of_key(2)])
    unchecked = {"properties": {"vcs.enforce_primary_key": "false"}}
    base = sides.world.alter(sides.base, **unchecked)
    ours = sides.world.append(base, [of_key(2, "again")])
    theirs = sides.world.append(ours, [of_key(3), of_key(3, "again")])
    sides.world.id(theirs)

    def rows(ours: Snapshot, theirs: Snapshot) -> int:
        repository = sides.world.repository
        found = ThreeWay(repository=repository, base=base, ours=ours, theirs=theirs)
        return int(found.table().num_rows)

    assert rows(ours, base) == 1
    for one, other in ((ours, theirs), (theirs, ours)):
        with pytest.raises(InputError, match="the same primary key, so"):
            rows(one, other)
        found = ThreeWay(repository=sides.world.repository, base=base, ours=one, theirs=other)
        with (
            LocalSession(sides.world.repository.blobs) as session,
            pytest.raises(InputError, match="the same primary key, so"),
        ):
            found.by_engine(session)
