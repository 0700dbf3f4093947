"""Diff and merge of random trees, against an oracle on plain dicts."""

from collections.abc import Iterator, Mapping
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.ids import FunctionId, SnapshotId, TreeId, ViewId
from dbt.adapters.vcs.core.model import (
    Absent,
    Entry,
    FunctionEntry,
    RelationName,
    TableEntry,
    Tree,
    ViewEntry,
)
from dbt.adapters.vcs.core.store import relations as schema_relations
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.tree_changes import (
    SchemaInfo,
    TreeChanges,
    TreeMerge,
    diff_trees,
    edit_tree,
    merge_trees,
)

Plain = dict[str, tuple[SchemaInfo, dict[str, Entry]]]

SCHEMAS = ("s", "t")
TABLES = tuple("abcdefgh")
ENTRIES: tuple[Entry, ...] = (
    TableEntry(snapshot=SnapshotId("1" * 64)),
    TableEntry(snapshot=SnapshotId("2" * 64)),
    ViewEntry(view=ViewId("1" * 64)),
    FunctionEntry(function=FunctionId("1" * 64)),
)
INFOS = (SchemaInfo(), SchemaInfo("comment"), SchemaInfo(None, {"k": "v"}))

relations = st.dictionaries(st.sampled_from(TABLES), st.sampled_from(ENTRIES))
plains = st.dictionaries(st.sampled_from(SCHEMAS), st.tuples(st.sampled_from(INFOS), relations))


@pytest.fixture(scope="module", params=[(1_000, 7), (2, 1)], ids=["whole", "pieces"], autouse=True)
def sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hold each law for schemas that are one object, and for such as are cut into pieces."""
    whole, bits = request.param
    with patch.multiple(schema_relations, WHOLE=whole, BITS=bits):
        yield


class World:
    """Trees in a store, made from plain dicts and turned back into them."""

    def __init__(self) -> None:
        self.objects = ObjectStore(MemoryBlobs())
        self.empty = TreeId(self.objects.put(Tree()))

    def id(self, plain: Plain) -> TreeId:
        return edit_tree(
            self.objects,
            self.empty,
            TreeChanges(
                schemas={schema: info for schema, (info, _) in plain.items()},
                relations={
                    RelationName(schema, identifier): entry
                    for schema, (_, entries) in plain.items()
                    for identifier, entry in entries.items()
                },
            ),
        )

    def tree(self, plain: Plain) -> Tree:
        return self.objects.tree(self.id(plain))

    def plain(self, id: TreeId) -> Plain:
        return {
            schema: (
                SchemaInfo(ref.comment, ref.properties),
                dict(self.objects.relations(ref.id).items()),
            )
            for schema, ref in self.objects.tree(id).schemas.items()
        }

    def merge(self, base: Plain, ours: Plain, theirs: Plain) -> TreeMerge:
        trees = (self.tree(base), self.tree(ours), self.tree(theirs))
        return merge_trees(*trees, self.objects.relations)

    def applied(self, ours: Plain, merge: TreeMerge) -> Plain:
        changes = TreeChanges(relations=merge.relations, schemas=merge.schemas)
        return self.plain(edit_tree(self.objects, self.id(ours), changes))


def flat(plain: Plain) -> dict[RelationName, Entry]:
    return {
        RelationName(schema, identifier): entry
        for schema, (_, entries) in plain.items()
        for identifier, entry in entries.items()
    }


def infos(plain: Plain) -> dict[str, SchemaInfo]:
    return {schema: info for schema, (info, _) in plain.items()}


def three_way(base: Mapping, ours: Mapping, theirs: Mapping) -> tuple[dict, set]:
    """The rule, key by key; what conflicts is left as ours."""
    result, conflicts = {}, set()
    for key in base.keys() | ours.keys() | theirs.keys():
        b, o, t = (side.get(key, Absent) for side in (base, ours, theirs))
        if t == b or o == t:
            chosen = o
        elif o == b:
            chosen = t
        else:
            chosen = o
            conflicts.add(key)
        if chosen is not Absent:
            result[key] = chosen
    return result, conflicts


@given(plains, plains, plains)
def test_merge_is_the_rule_for_every_relation(base: Plain, ours: Plain, theirs: Plain) -> None:
    world = World()
    merge = world.merge(base, ours, theirs)
    expected, conflicts = three_way(flat(base), flat(ours), flat(theirs))
    schemas, schema_conflicts = three_way(infos(base), infos(ours), infos(theirs))
    assert set(merge.conflicts) == conflicts
    assert set(merge.schema_conflicts) == schema_conflicts
    if conflicts or schema_conflicts:
        return
    result = world.applied(ours, merge)
    assert flat(result) == expected
    # A schema that the rule drops stays if a relation was put into it.
    assert set(infos(result)) == set(schemas) | {name.schema for name in expected}
    assert {key: info for key, info in infos(result).items() if key in schemas} == schemas


@given(plains, plains)
def test_merging_what_did_not_change_keeps_ours(base: Plain, ours: Plain) -> None:
    world = World()
    assert world.applied(ours, world.merge(base, ours, base)) == ours
    assert world.applied(ours, world.merge(base, ours, ours)) == ours
    assert world.merge(base, ours, base).relations == {}


@given(plains, plains)
def test_merging_into_what_did_not_change_gives_theirs(base: Plain, theirs: Plain) -> None:
    world = World()
    merge = world.merge(base, base, theirs)
    assert not merge.conflicts and not merge.schema_conflicts
    assert world.applied(base, merge) == theirs
    assert world.id(world.applied(base, merge)) == world.id(theirs)


@given(plains, plains, plains)
def test_merging_twice_changes_nothing_more(base: Plain, ours: Plain, theirs: Plain) -> None:
    world = World()
    merge = world.merge(base, ours, theirs)
    if merge.conflicts or merge.schema_conflicts:
        return
    once = world.applied(ours, merge)
    # The base of the second merge is what the first one merged.
    assert world.applied(once, world.merge(theirs, once, theirs)) == once


@given(plains, plains, plains)
def test_sides_swapped_conflict_and_merge_alike(base: Plain, ours: Plain, theirs: Plain) -> None:
    world = World()
    one, other = world.merge(base, ours, theirs), world.merge(base, theirs, ours)
    assert set(one.conflicts) == set(other.conflicts)
    assert set(one.schema_conflicts) == set(other.schema_conflicts)
    for name, triple in one.conflicts.items():
        swapped = other.conflicts[name]
        assert (triple.ours, triple.theirs) == (swapped.theirs, swapped.ours)
    if not one.conflicts and not one.schema_conflicts:
        assert world.applied(ours, one) == world.applied(theirs, other)


@given(plains, plains)
def test_applying_a_diff_gives_the_other_tree(old: Plain, new: Plain) -> None:
    world = World()
    diff = diff_trees(world.tree(old), world.tree(new), world.objects.relations)
    changes = TreeChanges(
        relations={change.name: change.new for change in diff.relations},
        schemas={change.name: change.new for change in diff.schemas},
    )
    assert edit_tree(world.objects, world.id(old), changes) == world.id(new)
    back = diff_trees(world.tree(new), world.tree(old), world.objects.relations)
    assert [(c.name, c.new, c.old) for c in back.relations] == [
        (c.name, c.old, c.new) for c in diff.relations
    ]


@given(plains)
def test_a_tree_does_not_differ_from_itself(plain: Plain) -> None:
    world = World()

    def unread(id: TreeId) -> None:
        raise AssertionError(f"{id} need not be read")

    diff = diff_trees(world.tree(plain), world.tree(plain), unread)
    assert diff.relations == () and diff.schemas == ()
