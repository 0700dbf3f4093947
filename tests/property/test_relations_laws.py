"""Schemas in pieces of any size, against a plain dict."""

from collections.abc import Iterator, Mapping
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.core.ids import SnapshotId, TreeId
from dbt.adapters.vcs.core.model import Absent, Entry, SchemaTree, TableEntry
from dbt.adapters.vcs.core.store import relations as schema_relations
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.relations import (
    SchemaRelations,
    added_pieces,
    differences,
    edit_relations,
    pieces_and_entries,
)

Shown = dict[str, Entry]

names = st.integers(0, 60).map(lambda number: f"t{number}")
entries = st.sampled_from("12").map(lambda digit: TableEntry(snapshot=SnapshotId(digit * 64)))
shown = st.dictionaries(names, entries, max_size=50)
edits = st.lists(st.dictionaries(names, entries | st.just(Absent), max_size=12), max_size=4)


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    """Cut after two names on average, and from four names on."""
    with patch.multiple(schema_relations, WHOLE=3, BITS=1):
        yield


def stored(objects: ObjectStore, relations: Shown, before: TreeId | None = None) -> TreeId:
    return edit_relations(objects.relations(before), relations, objects.put)


def edited(relations: Shown, changes: Mapping) -> Shown:
    changed = {**relations, **changes}
    return {name: entry for name, entry in changed.items() if entry is not Absent}


def nodes(objects: ObjectStore, id: TreeId) -> dict[TreeId, SchemaTree]:
    node = objects.schema_tree(id)
    found = {id: node}
    for piece in pieces_and_entries(node)[0]:
        found |= nodes(objects, piece.id)
    return found


@given(shown)
def test_what_is_stored_is_read(relations: Shown) -> None:
    objects = ObjectStore(MemoryBlobs())
    found = objects.relations(stored(objects, relations))
    assert list(found.items()) == sorted(relations.items())
    assert list(found) == sorted(relations)
    assert list(found.values()) == [relations[name] for name in sorted(relations)]
    assert len(found) == len(relations)
    assert all(found.get(f"t{number}") == relations.get(f"t{number}") for number in range(61))
    assert found.get("") is None and found.get("z") is None


@given(shown, edits)
def test_equal_relations_are_one_tree_however_they_were_made(
    relations: Shown, steps: list[Mapping]
) -> None:
    objects = ObjectStore(MemoryBlobs())
    id = stored(objects, relations)
    for changes in steps:
        relations = edited(relations, changes)
        id = edit_relations(objects.relations(id), changes, objects.put)
        assert id == stored(objects, relations)


@given(shown, shown)
def test_differences_are_those_of_the_dicts(one: Shown, other: Shown) -> None:
    objects = ObjectStore(MemoryBlobs())
    ids = stored(objects, one), stored(objects, other)
    found = differences(*map(objects.relations, ids))
    assert [item.identifier for item in found] == sorted(
        name for name in one.keys() | other.keys() if one.get(name) != other.get(name)
    )
    for name, old, new in found:
        assert (old, new) == (one.get(name, Absent), other.get(name, Absent))


@given(shown, shown)
def test_a_schema_in_one_object_differs_from_pieces_by_its_relations(
    one: Shown, other: Shown
) -> None:
    objects = ObjectStore(MemoryBlobs())
    whole = edit_relations(objects.relations(None), one, objects.put, in_pieces=False)
    cut = stored(objects, other)
    found = differences(objects.relations(whole), objects.relations(cut))
    assert edited(one, {name: new for name, _, new in found}) == other
    # The next change in it cuts it, and one of an older format puts it together.
    assert stored(objects, other, whole) == stored(objects, {**one, **other})
    again = edit_relations(objects.relations(cut), one, objects.put, in_pieces=False)
    assert objects.schema_tree(again).relations == {**other, **one}


@given(shown, shown)
def test_added_pieces_are_the_nodes_of_the_later_tree_alone(one: Shown, other: Shown) -> None:
    objects = ObjectStore(MemoryBlobs())
    old, new = stored(objects, one), stored(objects, other)
    found = set(added_pieces(objects.relations(old), objects.relations(new)))
    alone = nodes(objects, new).keys() - nodes(objects, old).keys()
    # Where both have another height, some that both have may be named, too: never too few.
    assert alone <= found <= nodes(objects, new).keys()


@given(shown)
def test_a_node_says_how_many_relations_are_below_it(relations: Shown) -> None:
    objects = ObjectStore(MemoryBlobs())
    for node in nodes(objects, stored(objects, relations)).values():
        for piece in pieces_and_entries(node)[0]:
            below = objects.relations(piece.id)
            assert piece.relations == len(list(below))
            assert piece.first == next(iter(below))
            assert objects.schema_tree(piece.id).level == node.level - 1


@settings(max_examples=5)
@given(st.integers(0, 19_999))
def test_one_change_among_many_reads_and_writes_one_piece_a_level(number: int) -> None:
    with patch.multiple(schema_relations, WHOLE=1_000, BITS=4):
        objects = ObjectStore(MemoryBlobs())
        entry = TableEntry(snapshot=SnapshotId("1" * 64))
        many: Shown = {f"table_{n}": entry for n in range(20_000)}
        id = stored(objects, many)
        height = objects.schema_tree(id).level
        assert 2 <= height <= 5
        read: list[TreeId] = []

        def load(id: TreeId) -> SchemaTree:
            read.append(id)
            return objects.schema_tree(id)

        changed = {f"table_{number}": TableEntry(snapshot=SnapshotId("2" * 64))}
        new = edit_relations(SchemaRelations(load, id), changed, objects.put)
        # The way down and the look at the root.
        assert len(set(read)) <= height + 2
        assert len(nodes(objects, new).keys() - nodes(objects, id).keys()) == height + 1
        read.clear()
        found = differences(SchemaRelations(load, id), SchemaRelations(load, new))
        assert [item.identifier for item in found] == list(changed)
        assert len(set(read)) == 2 * (height + 1)
