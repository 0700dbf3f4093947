"""Verbs that walk trees, beside a schema that is cut into pieces."""

from collections import Counter
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from dbt.adapters.vcs.commands.copy import copy_repository
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.gc import collect, set_retention
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.commands.repair import survey
from dbt.adapters.vcs.commands.restore import restore_branch
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import Micros, TreeId
from dbt.adapters.vcs.core.model import RelationName, SchemaTree
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import DAY, names_of, needed_by_names
from dbt.adapters.vcs.core.store import relations as schema_relations
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.objects import object_path
from dbt.adapters.vcs.core.store.relations import edit_relations, pieces_and_entries
from tests.unit.tables import Tables
from tests.unit.warehouse import Clock, Warehouse

JANE = "zz-jane@example.org"
NAMES = [f"t{number}" for number in range(24)]


@pytest.fixture(autouse=True)
def small_pieces() -> Iterator[None]:
    with patch.multiple(schema_relations, WHOLE=4, BITS=1):
        yield


@pytest.fixture
def wide() -> Tables:
    clock = Clock()
    tables = Tables(Warehouse(MemoryBlobs(clock), clock))
    tables.put(
        **{name: tables.entry([tables.block({n: name, 99: JANE})]) for n, name in enumerate(NAMES)}
    )
    assert top(tables.warehouse.repository).level > 1
    return tables


def again(tables: Tables) -> Repository:
    """The repository as another process sees it."""
    repository = tables.warehouse.repository
    return Repository.open(repository.blobs, clock=repository.clock)


def lower(repository: Repository, branch: str = "main") -> TreeId:
    return repository.tree(repository.branch(branch).head).schema_ref("shop").id


def top(repository: Repository, branch: str = "main") -> SchemaTree:
    return repository.objects.schema_tree(lower(repository, branch))


def leaves(repository: Repository, id: TreeId) -> list[TreeId]:
    pieces, _ = pieces_and_entries(repository.objects.schema_tree(id))
    return [leaf for piece in pieces for leaf in leaves(repository, piece.id)] or [id]


def test_branches_that_changed_other_tables_are_merged(wide: Tables) -> None:
    for branch, name in (("one", "t3"), ("two", "t20")):
        wide.warehouse.branch(branch)
        wide.put(branch, **{name: wide.entry([wide.block({1: branch})])})
    repository = again(wide)
    wanted = {
        name: repository.tree(repository.branch(branch).head).entry(RelationName("shop", name))
        for branch, name in (("one", "t3"), ("two", "t20"))
    }
    merge(repository, "one", "main", author="ann")
    merge(repository, "two", "main", author="ann")
    shown = again(wide).tree(again(wide).branch("main").head).relations("shop")
    assert {name: shown[name] for name in wanted} == wanted
    assert list(shown) == sorted(NAMES)


def test_a_purge_cuts_a_schema_where_it_was_cut(wide: Tables) -> None:
    before = dict(again(wide).objects.relations(lower(again(wide))).items())
    purge(again(wide), PurgeRequest(relation="shop.t7", where=f"name = '{JANE}'"), author="bob")
    repository = again(wide)
    objects, shown = repository.objects, repository.objects.relations(lower(repository))
    assert check_repository(repository).problems == ()
    assert list(shown) == sorted(NAMES) == list(before)
    assert shown["t7"] != before["t7"]
    assert edit_relations(objects.relations(None), dict(shown.items()), objects.put) == shown.id


def test_a_collection_keeps_pieces_that_a_later_tree_shares(wide: Tables) -> None:
    old = set(leaves(again(wide), lower(again(wide))))
    wide.warehouse.branch("dev")
    wide.put("dev", t5=wide.entry([wide.block({5: "new"})]))
    new = set(leaves(again(wide), lower(again(wide), "dev")))
    assert len(old - new) == len(new - old) == 1
    again(wide).delete_branch("dev", author="ann")
    set_retention(again(wide), days=0, author="gc")
    wide.warehouse.clock.now += 100 * DAY
    assert collect(again(wide), author="gc").objects > 0
    repository = again(wide)
    assert check_repository(repository).problems == ()
    assert set(leaves(repository, lower(repository))) == old
    (gone,) = new - old
    assert not repository.blobs.exists(object_path("tree", gone))


def test_a_missing_piece_is_named_and_keeps_all_files(wide: Tables) -> None:
    lost = leaves(again(wide), lower(again(wide)))[1]
    again(wide).blobs.delete(object_path("tree", lost))
    assert [problem for problem in check_repository(again(wide)).problems if lost in problem]
    assert [each for each in survey(again(wide)).damages if lost in str(each)]
    wide.warehouse.clock.now += 100 * DAY
    with pytest.raises(DamagedError, match=lost):
        collect(again(wide), author="gc")


def test_a_copy_has_all_pieces_and_a_branch_goes_back_to_them(wide: Tables) -> None:
    target = MemoryBlobs()
    target.uri = "memory://copy"
    first = lower(again(wide))
    wide.put(**dict.fromkeys(NAMES[2:]))
    assert top(again(wide)).level == 0
    copy_repository(again(wide).blobs, target)
    copied = Repository.open(target)
    assert check_repository(copied).problems == ()
    restore_branch(copied, "main~1", branch="main", author="ann")
    assert lower(copied) == first


def test_a_collection_reads_each_node_of_a_tree_once_to_mark_what_it_keeps(wide: Tables) -> None:
    for number in range(3):
        wide.put(t3=wide.entry([wide.block({number: "x"})]))
    repository = again(wide)
    read: Counter[TreeId] = Counter()
    load = repository.objects.schema_tree

    def counted(id: TreeId) -> SchemaTree:
        read[id] += 1
        return load(id)

    with patch.object(repository.objects, "schema_tree", counted):
        kept = needed_by_names(repository, Micros(0), names_of(repository, Micros(0)), ())
    assert set(read.values()) == {1}
    assert {("tree", id) for id in read} <= kept.objects
    assert len(kept.files) == len(NAMES) + 3
