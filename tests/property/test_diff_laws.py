"""The laws of diff on random tables and histories, against an oracle on plain dicts."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.diffs.diff_query import known_counts
from dbt.adapters.vcs.changes.diffs.difference import Difference, TableDiff, diff
from dbt.adapters.vcs.core.model import Snapshot
from dbt.adapters.vcs.core.plan.delta import Delta, KnownChange, delta, known_changes
from dbt.adapters.vcs.table.compare.located import SignedRows, signed_files, signed_rows
from tests.property.histories import Shape, Writer, shapes
from tests.property.oracle import Changes, Row, Table, counts_of, signed_diff, value_of, wide_diff
from tests.property.world import World


class Pair:
    """Two versions with one past, in a world of their own."""

    def __init__(self, shape: Shape, data: st.DataObject) -> None:
        self.shape = shape
        self.world = World()
        self.writer = Writer(self.world, shape, data.draw)
        base = self.writer.base()
        self.left, self.right = self.writer.steps(base), self.writer.steps(base)

    def diff(self, before: Snapshot | None, after: Snapshot | None) -> TableDiff:
        return diff(self.world.repository, before, after)

    def expected(self, before: Snapshot | None, after: Snapshot | None) -> Changes:
        rows = self.world.rows(before), self.world.rows(after)
        return wide_diff(*rows, self.shape.columns, self.shape.key)


def signed_of(shape: Shape, table: pa.Table) -> dict[Any, int]:
    rows = table.to_pylist()
    found = {value_of(row, shape.columns): row["diff_count"] for row in rows}
    assert len(found) == len(rows), "a row stands twice"
    return found


def wide_of(shape: Shape, table: pa.Table) -> Changes:
    found = Changes(Counter(), Counter(), Counter())
    for row in table.to_pylist():
        old, new = (
            value_of({id: row[f"{side}_{id}"] for id in shape.columns}, shape.columns)
            for side in ("from", "to")
        )
        if row["diff_type"] == "modified":
            found.modified[old, new] += 1
        else:
            {"added": found.added, "removed": found.removed}[row["diff_type"]][
                new if row["diff_type"] == "added" else old
            ] += 1
    return found


def apply(shape: Shape, before: Table, signed: dict[Any, int]) -> Counter[Any]:
    counts = counts_of(before, shape.columns)
    counts.update(signed)
    assert min(counts.values(), default=0) >= 0
    return +counts


keyed_or_not = pytest.mark.parametrize("keyed", [True, False], ids=["key", "no_key"])


@keyed_or_not
@given(data=st.data())
def test_diff_is_the_oracles(keyed: bool, data: st.DataObject) -> None:
    shape = data.draw(shapes(keyed=keyed))
    pair = Pair(shape, data)
    found = pair.diff(pair.left, pair.right)
    rows = [pair.world.rows(side) for side in (pair.left, pair.right)]
    signed = signed_of(shape, found.signed())
    expected = pair.expected(pair.left, pair.right)
    assert signed == signed_diff(*rows, shape.columns)
    assert wide_of(shape, found.wide()) == expected
    assert found.counts == tuple(sum(part.values()) for part in expected)
    difference = Difference(repository=pair.world.repository, before=pair.left, after=pair.right)
    assert found.counts == difference.counts_here()
    assert apply(shape, rows[0], signed) == counts_of(rows[1], shape.columns)


@keyed_or_not
@given(data=st.data())
def test_diff_of_the_other_way_round_is_the_negative(keyed: bool, data: st.DataObject) -> None:
    shape = data.draw(shapes(keyed=keyed))
    pair = Pair(shape, data)
    there = signed_of(shape, pair.diff(pair.left, pair.right).signed())
    back = signed_of(shape, pair.diff(pair.right, pair.left).signed())
    assert there == {value: -count for value, count in back.items()}


@given(shapes(keyed=False), st.data())
def test_a_version_does_not_differ_from_itself_nor_from_its_compaction(
    shape: Shape, data: st.DataObject
) -> None:
    pair = Pair(shape, data)
    assert pair.diff(pair.left, pair.left).signed().num_rows == 0
    compacted = pair.writer.compacted(pair.left)
    assert pair.diff(pair.left, compacted).signed().num_rows == 0
    there = signed_of(shape, pair.diff(pair.right, pair.left).signed())
    assert there == signed_of(shape, pair.diff(pair.right, compacted).signed())


@given(shapes(keyed=True), st.data())
def test_changes_are_the_signed_rows_one_by_one(shape: Shape, data: st.DataObject) -> None:
    pair = Pair(shape, data)
    found = pair.diff(pair.left, pair.right)
    counts: Counter[Any] = Counter()
    kinds = found.changes().column("_change_type").to_pylist()
    for row in found.changes().to_pylist():
        sign = -1 if row["_change_type"] in ("delete", "update_preimage") else 1
        counts[value_of(row, shape.columns)] += sign
    assert dict(counts) == signed_of(shape, found.signed())
    assert kinds.count("insert") == found.counts.added
    assert kinds.count("delete") == found.counts.removed
    for number, kind in enumerate(kinds):
        if kind == "update_preimage":
            assert kinds[number + 1] == "update_postimage"


@given(shapes(keyed=True), st.data())
def test_a_diff_from_nothing_adds_every_row(shape: Shape, data: st.DataObject) -> None:
    pair = Pair(shape, data)
    expected = pair.expected(None, pair.left)
    assert wide_of(shape, pair.diff(None, pair.left).wide()) == expected
    assert pair.diff(pair.left, None).counts == (0, sum(expected.added.values()), 0)


@pytest.mark.parametrize("keyed", [True, False], ids=["key", "no_key"])
@given(data=st.data())
def test_signed_rows_come_file_by_file_as_they_come_together(
    keyed: bool, data: st.DataObject
) -> None:
    pair = Pair(data.draw(shapes(keyed=keyed)), data)
    repository = pair.world.repository
    change = delta(pair.left, pair.right, repository.objects.segments)
    whole = signed_rows(repository.blobs, change)
    parts = list(signed_files(repository.blobs, change))
    assert all(len({piece.path for piece in part.located.pieces}) == 1 for part in parts)
    assert sum((places_of(part) for part in parts), Counter()) == places_of(whole)


@given(shapes(keyed=True), st.data())
def test_manifests_tell_what_an_update_changed(shape: Shape, data: st.DataObject) -> None:
    pair = Pair(shape, data)
    after = pair.writer.replaced(pair.left)
    assume(after != pair.left)
    read = pair.world.repository.objects.segments
    for sides in ((pair.left, after), (after, pair.left)):
        change = delta(*sides, read)
        found = known_changes(change, unique=True, key=shape.key, compared=shape.columns)
        assert found is not None
        assert {item.kind for item in found} == {"update_preimage", "update_postimage"}


@keyed_or_not
@given(data=st.data())
def test_changes_that_manifests_tell_are_the_oracles(keyed: bool, data: st.DataObject) -> None:
    shape = data.draw(shapes(keyed=keyed))
    pair = Pair(shape, data)
    # Most histories have no update that keeps all keys, and says so.
    for _ in range(data.draw(st.integers(0, 2))):
        pair.left = pair.writer.replaced(pair.left)
    for _ in range(data.draw(st.integers(0, 2))):
        pair.right = pair.writer.replaced(pair.right)
    change = delta(pair.left, pair.right, pair.world.repository.objects.segments)
    some = data.draw(st.lists(st.sampled_from(shape.columns), unique=True, min_size=1))
    columns = [id for id in shape.columns if id in (*some, *shape.key)]
    found = known_changes(change, unique=keyed, key=shape.key, compared=columns)
    event("unknown" if found is None else ", ".join(sorted({item.kind for item in found})))
    if found is None:
        return
    kinds = Counter(
        (item.kind, value_of(row, columns))
        for item in found
        for row in rows_of(pair, change, item)
    )
    rows = [pair.world.rows(side) for side in (pair.left, pair.right)]
    expected = wide_diff(*rows, columns, shape.key)
    assert known_counts(change, found) == tuple(sum(part.values()) for part in expected)
    assert kinds == Counter(
        [
            *(("insert", value) for value in expected.added.elements()),
            *(("delete", value) for value in expected.removed.elements()),
            *(("update_preimage", old) for old, _ in expected.modified.elements()),
            *(("update_postimage", new) for _, new in expected.modified.elements()),
        ]
    )


def rows_of(pair: Pair, change: Delta, item: KnownChange) -> Iterator[Row]:
    """Yield the rows of a known change."""
    world = pair.world
    for block in (*change.added, *change.removed):
        if block.path in item.blocks:
            gone = {
                position
                for hole in (*change.deleted, *change.restored)
                if hole.block == block.path
                for position, _ in world.images(hole.path, block.path)
            }
            rows = enumerate(world.block_rows(block, pair.shape.schema))
            yield from (row for position, row in rows if position not in gone)
    for image in item.images:
        yield from (row for _, row in world.images(image.path, image.block))


def places_of(rows: SignedRows) -> Counter[Any]:
    """Return the rows with their signs, places and the files that hold them."""
    located = rows.located
    return Counter(
        (int(sign), located.pieces[piece].block, located.pieces[piece].path, int(at), int(row))
        for sign, piece, at, row in zip(
            rows.sign, located.piece, located.position, located.row, strict=True
        )
    )
