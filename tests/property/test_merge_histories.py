"""Merges of versions with a past: compactions, clones, tables that are not related."""

import pytest

from dbt.adapters.vcs.table.compare.comparison import merge_base
from tests.property.merging import RowMode, merge, policy_of, result_of
from tests.property.sides import OLD, SCHEMA, Sides, content, row
from tests.property.world import World


def test_a_clone_merges_back_into_its_table() -> None:
    sides = Sides([row(1), row(2)])
    world = sides.world
    sides.theirs = world.clone(world.clone(sides.base))
    sides.make("theirs", [1], [row(1, "clone")])
    sides.make("ours", [2], [row(2, "table")])
    base = merge_base(world.repository.objects, world.id(sides.ours), world.id(sides.theirs))
    assert base == world.id(sides.base)
    assert sides.rows(sides.merge()) == content([row(1, "clone"), row(2, "table")])


def test_unrelated_tables_have_no_base() -> None:
    world = World()
    one = world.create(SCHEMA, [row(1)], key=("k",))
    two = world.create(SCHEMA, [row(2)])
    assert merge_base(world.repository.objects, world.id(one), world.id(two)) is None


def test_unrelated_tables_agree_on_equal_rows_and_delete_nothing() -> None:
    world = World()
    ours = world.create(SCHEMA, [row(1), row(2, "a"), row(3)], key=("k",))
    theirs = world.create(SCHEMA, [row(1), row(2, "b"), row(4)], key=("k",))
    outcome = merge(world.repository, None, ours, theirs)
    assert outcome.conflicts.table.column("our_k").to_pylist() == [2]
    accepted = merge(world.repository, None, ours, theirs, policy=policy_of(mode="accept"))
    assert content(world.rows(result_of(world, accepted))) == content(
        [row(1), row(2, "b"), row(3), row(4)]
    )


def test_a_row_that_shared_files_hold_and_only_ours_deleted_comes_back_without_a_base() -> None:
    sides = Sides([row(1), row(2)])
    sides.make("ours", [1], [])
    outcome = merge(sides.world.repository, None, sides.ours, sides.base)
    assert sides.rows(outcome) == content([row(1), row(2)])


@pytest.mark.parametrize("derive", [True, False])
def test_compaction_of_ours_while_theirs_deletes(derive: bool) -> None:
    sides = Sides([row(1), row(2)])
    world = sides.world
    sides.base = sides.theirs = world.append(sides.base, [row(3), row(4)])
    paths = [block.path for block in world.blocks(sides.base)]
    sides.ours = world.compact(sides.base, paths, derive=derive)
    sides.make("theirs", [1, 4], [row(4, "b")])
    outcome = sides.merge()
    assert outcome.conflicts.table.num_rows == 0
    assert sides.rows(outcome) == content([row(2), row(3), row(4, "b")])


@pytest.mark.parametrize("derive", [True, False])
def test_compaction_of_theirs_with_deletes_after_it(derive: bool) -> None:
    sides = Sides([row(1), row(2)])
    world = sides.world
    sides.base = world.append(sides.base, [row(3), row(4)])
    paths = [block.path for block in world.blocks(sides.base)]
    sides.theirs = world.compact(sides.base, paths, derive=derive)
    sides.ours = sides.base
    sides.make("theirs", [1], [])
    sides.make("ours", [4], [row(4, "a")])
    assert sides.rows(sides.merge()) == content([row(2), row(3), row(4, "a")])


def test_a_compaction_that_changed_nothing_else_is_taken_over() -> None:
    sides = Sides([row(1), row(2)])
    world = sides.world
    sides.base = sides.ours = world.append(sides.base, [row(3)])
    paths = [block.path for block in world.blocks(sides.base)]
    sides.theirs = world.compact(sides.base, paths, derive=True)
    sides.make("theirs", [], [row(9)])
    sides.make("ours", [], [row(8)])
    world.blobs.reads.clear()
    outcome = sides.merge()
    result = result_of(world, outcome)
    assert (outcome.how, world.blobs.reads, len(world.blocks(result))) == ("graft", [], 3)
    assert content(world.rows(result)) == content([row(k) for k in (1, 2, 3, 8, 9)])


def test_a_compaction_of_ours_after_deletes_stays_where_theirs_touched_nothing() -> None:
    sides = Sides([row(1), row(2)])
    world = sides.world
    sides.base = world.append(sides.base, [row(3)])
    sides.base = sides.ours = sides.theirs = world.append(sides.base, [row(4), row(5)])
    sides.make("ours", [1, 4], [])
    first, second, third = [block.path for block in world.blocks(sides.ours)]
    sides.ours = world.compact(sides.ours, [first, second], derive=True)
    sides.ours = world.compact(sides.ours, [third], derive=True)
    compacted = {block.path for block in world.blocks(sides.ours)}
    sides.make("theirs", [5], [row(5, "b")])
    outcome = sides.merge()
    result = result_of(world, outcome)
    assert content(world.rows(result)) == content([row(2), row(3), row(5, "b")])
    assert outcome.counts == (0, 0, 1)
    left = compacted & {block.path for block in world.blocks(result)}
    assert len(left) == 1, "the compaction of blocks that theirs deleted from is undone, no other"


def test_a_compaction_of_theirs_that_ours_takes_over_beside_a_conflict() -> None:
    sides = Sides([OLD], key=())
    world = sides.world
    (block,) = world.blocks(sides.base)
    sides.theirs = world.compact(sides.base, [block.path], derive=True)
    sides.make("theirs", [], [OLD, row(2)])
    sides.make("ours", [], [OLD])
    assert sides.rows(sides.merge()) == content([OLD, OLD, row(2)])


@pytest.mark.parametrize("mode", ["skip", "accept"])
def test_a_compaction_of_ours_of_blocks_that_theirs_rewrote(mode: RowMode) -> None:
    sides = Sides([OLD], key=())
    world = sides.world
    sides.base = sides.ours = sides.theirs = world.append(sides.base, [OLD])
    first, second = [block.path for block in world.blocks(sides.base)]
    sides.make("ours", [], [OLD])
    sides.ours = world.compact(sides.ours, [first, second], derive=True)
    sides.theirs = world.rewrite(sides.theirs, [first], lambda rows: [])
    assert sides.rows(sides.merge(mode)) == content([OLD] * (3 if mode == "skip" else 1))


def test_compactions_of_compactions_are_read_where_manifests_do_not_tell() -> None:
    sides = Sides([row(1), row(2), row(3)])
    world = sides.world
    for k in (1, 2):
        sides.make("ours", [k], [])
        paths = [block.path for block in world.blocks(sides.ours)]
        sides.ours = world.compact(sides.ours, paths, derive=True)
    sides.make("theirs", [3], [row(3, "b")])
    assert sides.rows(sides.merge()) == content([row(3, "b")])
