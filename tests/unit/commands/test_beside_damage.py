"""Damage in one place stops nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbt.adapters.vcs.commands.branch import create_branch, delete_branch, list_branches
from dbt.adapters.vcs.commands.clone import clone_from_snapshot
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.restore import restore_branch, restore_relation
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.commands.status import read_status
from dbt.adapters.vcs.commands.tag import create_tag
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import DAY
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.sql.metadata_tables import table_of
from dbt.adapters.vcs.workspace.overlay import Overlay
from tests.unit.tables import Tables
from tests.unit.warehouse import Clock, Warehouse, promote

DAMAGES = ("move", "edited move", "gap", "commit", "tree", "schema", "snapshot", "segment", "data")


@pytest.fixture
def tables() -> Tables:
    clock = Clock()
    tables = Tables(Warehouse(MemoryBlobs(clock), clock))
    tables.put(a=tables.entry([tables.block({1: "a"})]), b=tables.entry([tables.block({1: "b"})]))
    tables.put(a=tables.entry([tables.block({1: "a2"})]))
    tables.warehouse.branch("dev")
    tables.warehouse.branch("bad")
    tables.put("dev", c=tables.entry([tables.block({1: "c"})]))
    tables.put("bad", b=tables.entry([tables.block({1: "x"})]))
    tables.put("bad", b=tables.entry([tables.block({2: "y"})]))
    return tables


def object_path(kind: str, id: str) -> str:
    return f"objects/{kind}/{id[:2]}/{id}"


def place_of(repository: Repository, branch: str, relation: str, what: str) -> str:
    """The file of a part of what a branch shows."""
    read, found = repository.objects, repository.branch(branch)
    read.flush()
    commit = read.commit(found.head)
    schema = read.tree(commit.tree).schemas["shop"].id
    entry = read.schema_tree(schema).relations[relation]
    assert isinstance(entry, TableEntry)
    segment = read.snapshot(entry.snapshot).segments[0].id
    return {
        "move": f"refs/heads/{branch}/{found.ref.seq:020d}",
        "edited move": f"refs/heads/{branch}/{found.ref.seq:020d}",
        "gap": f"refs/heads/{branch}/{found.ref.seq - 1:020d}",
        "commit": object_path("commit", found.head),
        "tree": object_path("tree", commit.tree),
        "schema": object_path("tree", schema),
        "snapshot": object_path("snapshot", entry.snapshot),
        "segment": object_path("segment", segment),
        "data": read.segment(segment).blocks[0].path,
    }[what]


def damaged(tables: Tables, branch: str, relation: str, what: str) -> Repository:
    """Damage a part, and open the repository anew, so that nothing is remembered."""
    warehouse = tables.warehouse
    path = place_of(warehouse.repository, branch, relation, what)
    data = warehouse.blobs.get(path)
    warehouse.blobs.delete(path)
    if what not in ("gap", "data"):
        warehouse.blobs.create(path, data[:-3])
    warehouse.repository = Repository.open(warehouse.blobs, clock=warehouse.clock)
    return warehouse.repository


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_branch_stops_nothing_on_others(tables: Tables, what: str) -> None:
    repository = damaged(tables, "bad", "b", what)
    told: list[str] = []
    listed = [branch.name for branch in list_branches(repository, tell=told.append)]
    assert listed == (["bad", "dev", "main"] if what in DAMAGES[4:] else ["dev", "main"])
    assert ["bad" in text or "commit" in text for text in told] == [True] * (3 - len(listed))
    status = read_status(repository, "main")
    assert (status.branch, status.branches + len(status.damaged)) == ("main", 3)
    assert len(list(read_log(repository, "main"))) == 3
    assert len(list(read_log(repository, "dev"))) == 4
    tables.put("dev", d=tables.entry([tables.block({1: "d"})]))
    create_tag(repository, "v1", "main~1", author="bob")
    create_branch(repository, "old", "main~1", author="bob")
    merge(repository, "dev", "main", author="bob")
    promote(repository, "main", "old", author="bob")
    restore_relation(repository, "shop.a", "main~2", branch="dev", author="bob")
    revert(repository, "main~1", branch="main", author="bob")
    delete_branch(repository, "old", author="bob")
    assert check_repository(repository).problems != ()
    if what != "data":
        with pytest.raises(DamagedError):
            collect(repository, author="bob")


@pytest.mark.parametrize("what", DAMAGES)
def test_the_table_of_branches_shows_the_others_and_tells_what_is_damaged(
    tables: Tables, what: str
) -> None:
    repository = damaged(tables, "bad", "b", what)
    main = repository.branch("main").head
    overlay = Overlay(repository=repository, base=main, tree=repository.tree(main), branch="main")
    rows = {row["name"]: row for row in table_of(overlay, "branches").to_pylist()}
    assert sorted(rows) == ["bad", "dev", "main"]
    assert rows["main"]["head"] == main
    assert rows["dev"]["action"] != "damaged"
    log_or_commit = what in DAMAGES[:4]
    assert (rows["bad"]["action"] == "damaged") == log_or_commit
    assert ("restore" in rows["bad"]["message"].lower()) == log_or_commit


def test_a_deleted_branch_is_not_in_the_table_beside_a_damaged_one(tables: Tables) -> None:
    delete_branch(tables.warehouse.repository, "dev", author="bob", force=True)
    repository = damaged(tables, "bad", "b", "gap")
    main = repository.branch("main").head
    overlay = Overlay(repository=repository, base=main, tree=repository.tree(main), branch="main")
    assert sorted(table_of(overlay, "branches").column("name").to_pylist()) == ["bad", "main"]


def test_a_collection_tells_why_it_refuses_and_goes_on_once_the_rows_are_let_go_of(
    tables: Tables,
) -> None:
    repository = damaged(tables, "bad", "b", "segment")
    with pytest.raises(DamagedError, match=r"nothing more was deleted.*dbt-vcs repair"):
        collect(repository, author="bob")
    tables.put("bad", b=None)
    tables.warehouse.clock.now += 40 * DAY
    repository = Repository.open(repository.blobs, clock=tables.warehouse.clock)
    assert collect(repository, author="bob").horizon is not None
    assert repository.branch("bad").head


@pytest.mark.parametrize("what", ["snapshot", "segment", "data"])
@pytest.mark.parametrize(
    "work",
    [
        lambda t, r: t.put(a=t.entry([t.block({5: "new"})])),
        lambda t, r: t.put(e=t.entry([t.block({5: "new"})])),
        lambda t, r: restore_relation(r, "shop.a", "main~1", branch="main", author="bob"),
        lambda t, r: restore_branch(r, "main~1", branch="main", author="bob"),
        lambda t, r: revert(r, "main", branch="main", author="bob"),
        lambda t, r: merge(r, "dev", "main", author="bob"),
        lambda t, r: (t.put("dev", a=None), merge(r, "dev", "main", author="bob")),
        lambda t, r: clone_from_snapshot(r, "shop.a", "shop.e", branch="main", author="bob"),
    ],
)
def test_a_damaged_relation_stops_no_work_on_others(
    tables: Tables, what: str, work: Callable[[Tables, Repository], object]
) -> None:
    repository = damaged(tables, "main", "b", what)
    before = repository.branch("main").ref.seq
    work(tables, repository)
    assert repository.branch("main").ref.seq == before + 1
    assert len(list(list_branches(repository))) == 3
    status = read_status(repository, "dev")
    assert len(status.damaged) == (what == "snapshot")
    assert status.contents is not None


@pytest.mark.parametrize("what", ["snapshot", "segment", "data"])
def test_a_damaged_relation_can_be_replaced_restored_and_dropped(
    tables: Tables, what: str
) -> None:
    tables.put(b=tables.entry([tables.block({7: "g"})]))
    repository = damaged(tables, "main", "b", what)
    restore_relation(repository, "shop.b", "main~1", branch="main", author="bob")
    assert tables.warehouse.rows("b")[0]["name"] == "b"
    repository = damaged(tables, "main", "b", what)
    tables.put(b=tables.entry([tables.block({8: "h"})]))
    assert tables.warehouse.rows("b")[0]["name"] == "h"
    damaged(tables, "main", "b", what)
    tables.put(b=None)
