"""Named cases of diff and merge: each case of the decision tables, each way to carry them out."""

from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.changes.diffs.difference import Difference, diff
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Decided, Pick
from dbt.adapters.vcs.core.errors import ConflictError, DamagedError, InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import Field, Schema
from dbt.adapters.vcs.core.model.snapshot import POSITION_COLUMN
from dbt.adapters.vcs.table.limits import Limits
from tests.property.merging import merge, result_of
from tests.property.oracle import Table
from tests.property.sides import OLD, OUR, SCHEMA, THEIR, Sides, content, row

NONE: Table = []

# name: base, ours, theirs; what is left in mode skip, in mode accept; whether it is a conflict
WITH_KEY = {
    "inserted_in_theirs": (NONE, NONE, [THEIR], [THEIR], [THEIR], False),
    "inserted_in_ours": (NONE, [OUR], NONE, [OUR], [OUR], False),
    "inserted_in_both_alike": (NONE, [OUR], [OUR], [OUR], [OUR], False),
    "inserted_in_both_differently": (NONE, [OUR], [THEIR], [OUR], [THEIR], True),
    "base_is_ours_and_theirs_updated": ([OLD], [OLD], [THEIR], [THEIR], [THEIR], False),
    "base_is_ours_and_theirs_deleted": ([OLD], [OLD], NONE, NONE, NONE, False),
    "base_is_theirs_and_ours_updated": ([OLD], [OUR], [OLD], [OUR], [OUR], False),
    "base_is_theirs_and_ours_deleted": ([OLD], NONE, [OLD], NONE, NONE, False),
    "updated_in_both_alike": ([OLD], [OUR], [OUR], [OUR], [OUR], False),
    "updated_in_both_differently": ([OLD], [OUR], [THEIR], [OUR], [THEIR], True),
    "updated_in_ours_and_deleted_in_theirs": ([OLD], [OUR], NONE, [OUR], NONE, True),
    "deleted_in_ours_and_updated_in_theirs": ([OLD], NONE, [THEIR], NONE, [THEIR], True),
    "deleted_in_both": ([OLD], NONE, NONE, NONE, NONE, False),
}

# Counts of one row content: base, ours, theirs; skip, accept; whether it is a conflict
WITHOUT_KEY = {
    "only_ours_changed_the_count": (2, 3, 2, 3, 3, False),
    "only_theirs_changed_the_count": (2, 2, 1, 1, 1, False),
    "both_changed_the_count_alike": (1, 3, 3, 3, 3, False),
    "both_changed_the_count_differently": (2, 3, 1, 3, 1, True),
    "both_deleted_all": (2, 0, 0, 0, 0, False),
    "ours_deleted_all_and_theirs_added": (1, 0, 2, 0, 2, True),
}

written = pytest.mark.parametrize("rewrite", [False, True], ids=["tombstones", "copy_on_write"])


@written
@pytest.mark.parametrize("case", WITH_KEY.values(), ids=WITH_KEY)
def test_merge_with_key(case: tuple[Any, ...], rewrite: bool) -> None:
    base, ours, theirs, skipped, accepted, conflict = case
    others = [row(8), row(9)]
    for mode, expected in (("fail", skipped), ("skip", skipped), ("accept", accepted)):
        sides = Sides(base + others)
        for side, rows in (("ours", ours), ("theirs", theirs)):
            if rows != base:
                sides.make(side, [1], rows, rewrite=rewrite)
        outcome = sides.merge(mode)
        assert outcome.conflicts.table.num_rows == conflict
        assert outcome.is_blocked == (conflict and mode == "fail")
        if not outcome.is_blocked:
            assert sides.rows(outcome) == content(expected + others)


@written
@pytest.mark.parametrize("case", WITHOUT_KEY.values(), ids=WITHOUT_KEY)
def test_merge_without_key(case: tuple[Any, ...], rewrite: bool) -> None:
    base, ours, theirs, skipped, accepted, conflict = case
    for mode, expected in (("fail", skipped), ("skip", skipped), ("accept", accepted)):
        sides = Sides([OLD] * base + [row(9)], key=())
        for side, count in (("ours", ours), ("theirs", theirs)):
            if count != base:
                sides.make(side, [1], [OLD] * count, rewrite=rewrite)
        outcome = sides.merge(mode)
        assert outcome.conflicts.table.num_rows == conflict
        if not outcome.is_blocked:
            assert sides.rows(outcome) == content([OLD] * expected + [row(9)])


def test_conflicts_show_three_rows_side_by_side() -> None:
    sides = Sides([row(1), row(2)])
    sides.make("ours", [1, 2], [row(1, "a")])
    sides.make("theirs", [1, 2], [row(1, "b"), row(2, "c")])
    outcome = sides.merge()
    assert sorted(outcome.conflicts.table.to_pylist(), key=lambda r: r["their_v"]) == [
        {
            "our_diff_type": "modified",
            "their_diff_type": "modified",
            "base_k": 1,
            "our_k": 1,
            "their_k": 1,
            "base_v": "0",
            "our_v": "a",
            "their_v": "b",
            "base_w": "0",
            "our_w": "0",
            "their_w": "0",
        },
        {
            "our_diff_type": "removed",
            "their_diff_type": "modified",
            "base_k": 2,
            "our_k": None,
            "their_k": 2,
            "base_v": "0",
            "our_v": None,
            "their_v": "c",
            "base_w": "0",
            "our_w": None,
            "their_w": "0",
        },
    ]
    with pytest.raises(ConflictError, match="2 rows"):
        result_of(sides.world, outcome)


@pytest.mark.parametrize("key", [("k",), ()])
def test_one_row_that_both_delete_leaves_what_theirs_alone_did(key: tuple[str, ...]) -> None:
    sides = Sides([row(1), row(2), row(3), row(4)], key=key)
    sides.make("ours", [1], [])
    sides.make("theirs", [1, 2, 3], [row(2, "new")])
    outcome = sides.merge()
    assert sides.rows(outcome) == content([row(2, "new"), row(4)])
    assert outcome.repair is not None
    assert sorted(outcome.repair.deleted.column(POSITION_COLUMN).to_pylist()) == [1, 2]
    assert outcome.repair.inserted.num_rows == 0


def test_conflicts_without_key_tell_counts() -> None:
    sides = Sides([OLD] * 2, key=())
    sides.make("ours", [1], [OLD] * 3)
    sides.make("theirs", [1], [OLD])
    (conflict,) = sides.merge().conflicts.table.to_pylist()
    assert (conflict["our_diff_type"], conflict["our_diff_count"]) == ("added", 1)
    assert (conflict["their_diff_type"], conflict["their_diff_count"]) == ("removed", -1)


def test_cells_merge_column_by_column() -> None:
    sides = Sides([row(1), row(2), row(3)])
    sides.make("ours", [1, 2, 3], [row(1, v="a"), row(2, v="a"), row(3, v="a")])
    sides.make("theirs", [1, 2, 3], [row(1, w="b"), row(2, v="b", w="b")])
    outcome = sides.merge("accept", cells=True)
    assert sides.rows(outcome) == content([row(1, "a", "b"), row(2, "b", "b")])
    assert outcome.conflicts.table.column("our_k").to_pylist() == [2, 3]
    assert outcome.counts == (0, 1, 2)
    skipped = sides.rows(sides.merge("skip", cells=True))
    assert skipped == content([row(1, "a", "b"), row(2, "a", "b"), row(3, "a")])
    assert sides.merge(cells=True).is_blocked


def test_a_row_that_merges_to_one_sides_row_is_not_written() -> None:
    sides = Sides([row(1)])
    sides.make("ours", [1], [row(1, "a", "b")])
    sides.make("theirs", [1], [row(1, "a", "0")])
    outcome = sides.merge(cells=True)
    assert sides.rows(outcome) == content([row(1, "a", "b")])
    assert outcome.counts == (0, 0, 0)


def test_decisions_settle_single_conflicts() -> None:
    sides = Sides([row(k) for k in range(1, 6)])
    sides.make("ours", [1, 2, 3, 4, 5], [row(k, "a") for k in range(1, 6)])
    sides.make("theirs", [1, 2, 3, 4, 5], [row(k, "b") for k in range(1, 6)])
    choices = ("ours", "theirs", "base", "delete")
    decisions = [Decided((k,), Choice(choice)) for k, choice in enumerate(choices, 1)]
    first = sides.merge(decisions=decisions)
    assert first.conflicts.table.column("our_k").to_pylist() == [5]
    rest = sides.merge("accept", decisions=decisions)
    assert sides.rows(rest) == content([row(1, "a"), row(2, "b"), row(3), row(5, "b")])


def test_decisions_must_fit_the_key() -> None:
    sides = Sides([row(1)])
    sides.make("ours", [1], [row(1, "a")])
    sides.make("theirs", [1], [row(1, "b")])
    with pytest.raises(InputError, match=r"A key needs a value for each of \(k\)"):
        sides.merge(decisions=[Decided((1, 2), Choice.OURS)])
    with pytest.raises(InputError, match="must be bigint"):
        sides.merge(decisions=[Decided(("one",), Choice.OURS)])


def test_rows_without_a_key_are_not_deleted_by_a_decision() -> None:
    sides = Sides([OLD], key=())
    with pytest.raises(InputError, match="Without a primary key"):
        sides.merge(decisions=[Decided(tuple(OLD.values()), Choice.DELETE)])


def test_how_says_what_a_merge_took() -> None:
    sides = Sides([row(k) for k in range(10)])
    assert sides.merge().how == "up_to_date"
    sides.make("theirs", [], [row(20)])
    assert sides.merge().how == "fast_forward"
    sides.make("ours", [], [row(30)])
    assert sides.merge().how == "graft"
    sides.make("theirs", [], [row(30), row(31), row(32)])
    assert sides.merge().how == "rewrite"


def test_nothing_is_read_if_the_ranges_of_keys_do_not_meet() -> None:
    sides = Sides([row(k) for k in range(10)])
    world = sides.world
    sides.base = world.append(sides.base, [row(k) for k in range(10, 20)])
    sides.ours = sides.theirs = sides.base
    sides.make("ours", [3, 9], [row(3, "a")])
    sides.make("theirs", [12], [row(12, "b"), row(7_000, "b")])
    world.blobs.reads.clear()
    outcome = sides.merge()
    result = result_of(world, outcome)
    assert (outcome.how, world.blobs.reads) == ("graft", [])
    assert world.rows(result)


def test_rows_that_only_come_are_counted_unread() -> None:
    sides = Sides([row(1)])
    sides.make("ours", [], [row(2)])
    sides.make("theirs", [], [row(3), row(4)])
    sides.world.blobs.reads.clear()
    assert sides.merge().counts == (2, 0, 0)
    assert sides.world.blobs.reads == []


def test_a_merge_without_conflict_reads_keys_and_writes_nothing() -> None:
    sides = Sides([row(k) for k in range(10)])
    sides.make("ours", [2], [row(2, "a")])
    sides.make("theirs", [4], [row(4, "b")])
    before = {info.path for info in sides.world.blobs.walk("data")}
    outcome = sides.merge()
    result = result_of(sides.world, outcome)
    assert outcome.how == "graft"
    assert {info.path for info in sides.world.blobs.walk("data")} == before
    assert content(sides.world.rows(result))["4", "b"] == 0
    assert outcome.counts == (0, 0, 1)


def test_a_block_of_theirs_that_would_be_mostly_deleted_is_not_grafted() -> None:
    sides = Sides([row(k) for k in range(10)])
    sides.make("ours", list(range(10)), [row(k, "a") for k in range(10)])
    sides.make("theirs", list(range(10)), [row(k, "b") for k in range(10)] + [row(50, "b")])
    outcome = sides.merge("skip")
    result = result_of(sides.world, outcome)
    theirs = {block.path for block in sides.world.blocks(sides.theirs)}
    base = {block.path for block in sides.world.blocks(sides.base)}
    assert not {block.path for block in sides.world.blocks(result)} & (theirs - base)
    assert content(sides.world.rows(result)) == content(
        [*(row(k, "a") for k in range(10)), row(50, "b")]
    )


def test_both_deleting_one_row_by_files_of_their_own() -> None:
    for base_is_known in (True, False):
        sides = Sides([row(1), row(2)])
        sides.make("ours", [1], [])
        sides.make("theirs", [1], [])
        base = sides.base if base_is_known else None
        outcome = merge(sides.world.repository, base, sides.ours, sides.theirs)
        assert sides.rows(outcome) == content([row(2)])


def test_restore_to_the_base_then_accept_still_applies_deletes() -> None:
    sides = Sides([row(1), row(2)])
    sides.make("ours", [2], [row(2, "a")])
    sides.make("theirs", [1], [])
    sides.ours = sides.world.restore(sides.ours, sides.base)
    assert sides.rows(sides.merge("accept")) == content([row(2)])


def test_keys_that_stand_twice_merge_row_by_row() -> None:
    sides = Sides([row(1, "x"), row(1, "y"), row(2)])
    sides.make("ours", [], [row(1, "z")])
    places = [place for place, r in sides.world.located(sides.base) if r["v"] == "x"]
    sides.theirs = sides.world.delete(sides.base, places)
    sides.make("theirs", [], [row(1, "z")])
    outcome = sides.merge()
    assert sides.rows(outcome) == content([row(1, "y"), row(1, "z"), row(2)])


@pytest.mark.parametrize(
    "pick",
    [
        Pick(keys=[(1,), (7,)]),
        Pick(keys=pa.table({"any name": pa.array([7, 1], pa.int32())})),
    ],
    ids=["keys", "table"],
)
def test_pick_takes_chosen_rows_over(pick: Pick) -> None:
    sides = Sides([row(1), row(2), row(3)])
    sides.make("ours", [3], [row(3, "a")])
    sides.make("theirs", [1, 2, 3], [row(1, "b"), row(3, "b"), row(7, "b"), row(8, "b")])
    outcome = sides.merge(only=pick)
    assert outcome.how == "rewrite"
    assert sides.rows(outcome) == content([row(1, "b"), row(2), row(3, "a"), row(7, "b")])


def test_pick_of_a_row_in_conflict() -> None:
    sides = Sides([row(1)])
    sides.make("ours", [1], [row(1, "a")])
    sides.make("theirs", [1], [row(1, "b")])
    assert sides.merge(only=Pick(keys=[(1,)])).is_blocked
    accepted = sides.merge("accept", only=Pick(keys=[(1,)]))
    assert sides.rows(accepted) == content([row(1, "b")])


def test_what_is_small_is_known_before_any_row_is_read() -> None:
    sides = Sides([row(k) for k in range(10)])
    sides.make("ours", [1], [row(1, "a")])
    found = Difference(repository=sides.world.repository, before=sides.base, after=sides.ours)
    sides.world.blobs.reads.clear()
    assert found.is_small(Limits(rows=2, bytes=2**20))
    assert not found.is_small(Limits(rows=1, bytes=2**20))
    assert found.counts_here(Limits(rows=1, bytes=1)) is None
    assert sides.world.blobs.reads == []


def test_types_that_arrow_lacks_are_refused() -> None:
    sides = Sides([row(1)])
    variant = Schema.of([*SCHEMA.fields, Field(id="", name="j", type="variant")])
    sides.ours = sides.world.alter(sides.base, schema=variant)
    sides.make("theirs", [1], [row(1, "b")])
    sides.theirs = sides.world.alter(sides.theirs, schema=variant)
    with pytest.raises(UnsupportedError, match="variant"):
        diff(sides.world.repository, sides.ours, sides.theirs)


def test_what_is_written_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = Sides([row(1)])
    sides.make("ours", [1], [row(1, "a")])
    sides.make("theirs", [1], [row(1, w="b")])
    outcome = sides.merge(cells=True)
    blobs, create = sides.world.blobs, sides.world.blobs.create
    other = sides.world.blocks(sides.ours)[-1].path
    monkeypatch.setattr(
        blobs,
        "create",
        lambda path, data: create(path, blobs.get(other) if "/part-" in path else data),
    )
    with pytest.raises(DamagedError, match="is not the file that was written"):
        result_of(sides.world, outcome)


def test_a_tombstone_that_does_not_hold_what_its_entry_says_is_damage() -> None:
    sides = Sides([row(1), row(2)])
    sides.make("ours", [1], [])
    (tombstone,) = sides.world.tombstones(sides.ours)
    other = sides.world.delete(
        sides.base, [place for place, r in sides.world.located(sides.base) if r["k"] in (1, 2)]
    )
    (wider,) = sides.world.tombstones(other)
    sides.world.blobs.delete(tombstone.path)
    sides.world.blobs.create(tombstone.path, sides.world.blobs.get(wider.path))
    with pytest.raises(DamagedError, match="its entry says 1"):
        diff(sides.world.repository, sides.base, sides.ours)


def test_the_merged_version_names_both_parents() -> None:
    sides = Sides([row(1)])
    sides.make("ours", [], [row(2)])
    sides.make("theirs", [], [row(3)])
    parents = (sides.world.id(sides.ours), sides.world.id(sides.theirs))
    made = sides.merge().put(write=sides.world.write(), parents=parents, created_at=Micros(99))
    assert (made.parents, made.created_at, made.operation) == (parents, 99, "merge")
    assert made.primary_key == ("k",)
