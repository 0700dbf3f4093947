"""Restore, revert, clone and undelete: each writes no rows and makes a commit."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.commands.branch import undelete_branch
from dbt.adapters.vcs.commands.clone import clone_from_snapshot
from dbt.adapters.vcs.commands.merge import MergeRequest, merge
from dbt.adapters.vcs.commands.restore import restore_branch, restore_relation
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.commands.snapshot import create_snapshot, delete_snapshot, list_snapshots
from dbt.adapters.vcs.commands.tag import rename_tag
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.codec import is_same_table
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError, ProtectedError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Entry, RelationName, Run, TableEntry
from dbt.adapters.vcs.core.origins.lineage import Lineage
from dbt.adapters.vcs.core.origins.staleness import inputs_of
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

MAIN = {"branch": "main", "author": "bob"}


def assert_again(warehouse: Warehouse, name: str, past: Entry, *, parent: Entry) -> None:
    """Check that a table has the files of a past version, and comes after the last one."""
    entry = warehouse.shown()[name]
    assert isinstance(entry, TableEntry)
    read = warehouse.repository.objects.snapshot
    now = read(entry.snapshot)
    assert is_same_table(now, read(SnapshotId(past.version)))
    assert (now.parents, now.operation) == ((parent.version,), "restore")


def test_a_relation_becomes_what_it_was(warehouse: Warehouse) -> None:
    one, view = warehouse.table("1"), warehouse.view("select 1 as id")
    warehouse.put(a=one, v=view)
    warehouse.put(a="2", b="1")
    warehouse.put(v=warehouse.view("select 2 as id"))
    two, kept = warehouse.shown()["shop.a"], warehouse.shown()["shop.b"]
    report = restore_relation(warehouse.repository, "SHOP.a", "main~2", **MAIN)
    assert_again(warehouse, "shop.a", one, parent=two)
    assert warehouse.shown()["shop.b"] == kept
    assert [(c.name, c.how, c.rows_added, c.rows_modified) for c in report.changes] == [
        ("shop.a", "changed", 0, 10)
    ]
    commit = warehouse.repository.objects.commit(report.after)
    assert (commit.parents, commit.author) == ((report.before,), "bob")
    assert commit.message == "Restore shop.a to main~2"
    again = restore_relation(warehouse.repository, "shop.a", "main", **MAIN)
    assert again.after == again.before == report.after
    again = restore_relation(warehouse.repository, "shop.a", "main~3", **MAIN)
    assert (again.after, again.apart) == (report.after, ()), "it has these rows already"
    restore_relation(warehouse.repository, "shop.v", "main~3", **MAIN)
    assert warehouse.shown()["shop.v"] == view


def test_a_dry_run_changes_nothing(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    head = warehouse.put(a="2")
    report = restore_relation(warehouse.repository, "shop.a", "main~1", dry_run=True, **MAIN)
    assert (report.after, warehouse.head()) == (head, head)
    assert [change.name for change in report.changes] == ["shop.a"]
    report = restore_branch(warehouse.repository, "main~2", dry_run=True, **MAIN)
    assert [change.how for change in report.changes] == ["removed", "removed"]
    assert warehouse.head() == head


def test_a_restore_to_a_named_snapshot(warehouse: Warehouse) -> None:
    one = warehouse.table("1")
    warehouse.put(a=one)
    create_snapshot(warehouse.repository, "shop.a", "sn1", "main", author="bob", note="safe")
    warehouse.put(a="2")
    (named,) = list_snapshots(warehouse.repository)
    assert (named.relation, named.name, named.rows, named.note) == ("shop.a", "sn1", 10, "safe")
    two = warehouse.shown()["shop.a"]
    restore_relation(warehouse.repository, "shop.a", "sn1", **MAIN)
    assert_again(warehouse, "shop.a", one, parent=two)
    with pytest.raises(InputError, match="already a snapshot 'sn1'"):
        create_snapshot(warehouse.repository, "shop.a", "sn1", "main", author="bob")
    assert delete_snapshot(warehouse.repository, "shop.a", "sn1", author="bob").name == "sn1"
    with pytest.raises(NotFoundError, match="is not a version of"):
        restore_relation(warehouse.repository, "shop.a", "sn1", **MAIN)


def test_a_restore_that_takes_a_run_apart_says_so(warehouse: Warehouse) -> None:
    """Trap 2: the commit of a run is restored in only one table."""
    warehouse.put(a="1", b="1", c="1")
    run = warehouse.put(a="2", b="2", message="dbt build", run=Run(invocation="i", command="run"))
    warehouse.put(c="3")
    report = restore_relation(warehouse.repository, "shop.a", "main~2", **MAIN)
    (apart,) = report.apart
    assert (apart.commit, apart.summary, apart.others) == (run, "dbt build", ("shop.b",))
    report = restore_relation(warehouse.repository, "shop.b", "main~3", **MAIN)
    assert report.apart == ()
    report = restore_relation(warehouse.repository, "shop.c", "main~4", **MAIN)
    assert report.apart == ()


def test_all_of_a_branch_becomes_what_a_revision_shows(warehouse: Warehouse) -> None:
    one, same = warehouse.table("1"), warehouse.table("5")
    warehouse.put(a=one, same=same)
    warehouse.put(a="2", b="1")
    warehouse.put(schema="other", c="1")
    before, two = warehouse.head(), warehouse.shown()["shop.a"]
    report = restore_branch(warehouse.repository, "main~2", **MAIN)
    assert warehouse.shown().keys() == {"shop.a", "shop.same"}
    assert warehouse.shown()["shop.same"] == same
    assert_again(warehouse, "shop.a", one, parent=two)
    assert warehouse.repository.objects.commit(report.after).parents == (before,)
    assert {change.name: change.how for change in report.changes} == {
        "other": "removed",
        "other.c": "removed",
        "shop.a": "changed",
        "shop.b": "removed",
    }


def test_a_dropped_relation_comes_back_with_its_schema(warehouse: Warehouse) -> None:
    one = warehouse.table("1")
    warehouse.put(a=one)
    warehouse.put(a=None)
    warehouse.put(b="1")
    report = restore_relation(warehouse.repository, "shop.a", **MAIN)
    assert warehouse.shown()["shop.a"] == one
    assert [change.how for change in report.changes] == ["added"]
    with pytest.raises(InputError, match="exists"):
        restore_relation(warehouse.repository, "shop.a", **MAIN)
    with pytest.raises(NotFoundError, match=r"shop\.zzz never existed"):
        restore_relation(warehouse.repository, "shop.zzz", **MAIN)
    restore_branch(warehouse.repository, "main~4", **MAIN)
    assert warehouse.shown() == {}
    restore_relation(warehouse.repository, "shop.a", **MAIN)
    assert warehouse.shown() == {"shop.a": one}


def test_restored_to_the_base_a_merge_applies_what_the_source_did(warehouse: Warehouse) -> None:
    """Trap 4: as if the target had never changed, the source's deletes among it."""
    base, theirs = warehouse.table("1", "2"), warehouse.table("1")
    warehouse.put(a=base)
    warehouse.branch("feature")
    warehouse.put("feature", a=theirs)
    warehouse.put(a="9")
    restore_relation(warehouse.repository, "shop.a", "main~1", **MAIN)
    merge(warehouse.repository, "feature", "main", author="bob")
    assert warehouse.shown()["shop.a"] == theirs


@pytest.mark.parametrize("how", ["restore", "restore all", "revert"])
@pytest.mark.parametrize("key", [True, False])
def test_what_was_undone_stays_so_when_older_work_is_merged(
    warehouse: Warehouse, how: str, key: bool
) -> None:
    """Trap 13: the old version is no merge base of the branch, which began after it."""
    tables = Tables(warehouse)
    blocks = [tables.block({1: "a", 2: "b"})]
    one = tables.entry(blocks, key=key)
    tables.put(t=one)
    bad = tables.entry([*blocks, tables.block({7: "wrong"})], parents=[one], key=key)
    tables.put(t=bad)
    for name in ("before", "undoes", "other"):
        warehouse.branch(name)
    shown = [*blocks, tables.block({7: "wrong"}), tables.block({3: "new"})]
    tables.put("before", t=tables.entry(shown, parents=[bad], key=key))
    warehouse.put("other", u="1")
    for branch in ("main", "undoes"):
        who = {"branch": branch, "author": "bob"}
        if how == "revert":
            revert(warehouse.repository, "main" if branch == "main" else "main~1", **who)
        elif how == "restore":
            restore_relation(warehouse.repository, "shop.t", "before~2", **who)
        else:
            restore_branch(warehouse.repository, "before~2", **who)
    request = MergeRequest(dry_run=True)
    told = merge(warehouse.repository, "before", "main", request, author="bob")
    done = merge(warehouse.repository, "before", "main", author="bob")
    assert [(item.rows_added, item.rows_removed) for item in done.changes] == [(1, 0)]
    assert told.changes == done.changes
    merge(warehouse.repository, "other", "main", author="bob")
    assert tables.rows("t") == {1: "a", 2: "b", 3: "new"}
    merge(warehouse.repository, "undoes", "before", author="bob")
    assert tables.rows("t", "before") == {1: "a", 2: "b", 3: "new"}


def test_a_restored_table_follows_from_what_the_past_one_did(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    source, other = tables.entry([tables.block({1: "a"})]), tables.entry([tables.block({1: "b"})])
    made = tables.entry([tables.block({2: "a"})], inputs={"shop.source": source})
    by_hand = tables.entry([tables.block({2: "x"})], parents=[made])
    tables.put(source=source, other=other, t=by_hand)
    built = tables.entry([tables.block({3: "b"})], parents=[by_hand], inputs={"shop.other": other})
    tables.put(t=built)
    restore_relation(warehouse.repository, "shop.t", "main~1", **MAIN)
    shown = warehouse.shown()["shop.t"]
    assert isinstance(shown, TableEntry)
    found = inputs_of(warehouse.repository, RelationName("shop", "t"), shown.snapshot)
    assert [item.relation for item in found] == ["shop.source"]


def test_a_table_that_was_dropped_and_undropped_is_one_reader(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    source = tables.entry([tables.block({1: "a"})])
    made = tables.entry([tables.block({2: "a"})], inputs={"shop.source": source})
    tables.put(source=source, t=made)
    tables.put(t=None)
    restore_relation(warehouse.repository, "shop.t", **MAIN)
    (reader,) = Lineage(warehouse.repository, warehouse.head()).readers(source.snapshot)
    assert reader == (RelationName("shop", "t"), made.snapshot, reader.commit)


def test_where_nothing_may_be_changed(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    run = warehouse.run("r1", Status.FAILED, a="2")
    with pytest.raises(InputError, match="branch of a dbt run"):
        restore_branch(warehouse.repository, "main", branch=run.name, author="bob")
    warehouse.repository.protect("main", Protection(), author="ann")
    for change in (
        lambda: restore_branch(warehouse.repository, "main~1", **MAIN),
        lambda: restore_relation(warehouse.repository, "shop.a", "main", **MAIN),
        lambda: revert(warehouse.repository, "main", **MAIN),
        lambda: clone_from_snapshot(warehouse.repository, "shop.a", "shop.b", **MAIN),
    ):
        with pytest.raises(ProtectedError):
            change()


def test_a_revert_undoes_one_commit_and_leaves_later_ones(warehouse: Warehouse) -> None:
    one = warehouse.table("1")
    warehouse.put(a=one)
    middle = warehouse.put(a="2", b="1", message="Break it")
    warehouse.put(c="1")
    two = warehouse.shown()["shop.a"]
    report = revert(warehouse.repository, "main~1", **MAIN)
    assert set(warehouse.shown()) == {"shop.a", "shop.c"}
    assert_again(warehouse, "shop.a", one, parent=two)
    commit = warehouse.repository.objects.commit(report.after)
    assert commit.summary == 'Revert "Break it"'
    assert (report.commit, commit.metadata) == (middle, {"reverts": middle})
    again = revert(warehouse.repository, middle, **MAIN)
    assert again.after == again.before
    revert(warehouse.repository, report.after, **MAIN)
    assert set(warehouse.shown()) == {"shop.a", "shop.b", "shop.c"}


def test_a_revert_of_what_was_changed_since_is_a_conflict(warehouse: Warehouse) -> None:
    warehouse.put(a="1", b="1")
    middle = warehouse.put(a="2", b="2")
    head = warehouse.put(a=None)
    with pytest.raises(
        ConflictError, match=r"changed again since in shop\.a \(created, dropped.*Nothing was"
    ):
        revert(warehouse.repository, middle, **MAIN)
    assert warehouse.head() == head


def test_a_revert_undoes_rows_of_a_table_that_others_changed_since(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    first = tables.block({1: "a", 2: "b"})
    one = tables.entry([first], key=True)
    tables.put(t=one)
    wrong = tables.block({3: "wrong"})
    two = tables.entry([first, wrong], parents=[one], key=True)
    bad = tables.put(t=two)
    later = tables.block({4: "later"})
    tables.put(t=tables.entry([first, wrong, later], parents=[two], key=True))
    revert(warehouse.repository, bad, **MAIN)
    assert tables.rows("t") == {1: "a", 2: "b", 4: "later"}
    now = tables.shown(RelationName("shop", "t"))
    other = tables.block({4: "other"})
    head = tables.put(t=tables.entry([first, other], parents=[now], key=True))
    with pytest.raises(ConflictError, match=r"since in shop\.t: 1 "):
        revert(warehouse.repository, "main~2", **MAIN)
    assert warehouse.head() == head


def test_a_revert_of_a_merge_takes_the_merged_side_away(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("feature")
    warehouse.put("feature", b="1")
    warehouse.put(c="1")
    merged = merge(warehouse.repository, "feature", "main", author="bob").after
    assert merged is not None
    revert(warehouse.repository, merged, **MAIN)
    assert set(warehouse.shown()) == {"shop.a", "shop.c"}
    revert(warehouse.repository, "main", **MAIN)
    revert(warehouse.repository, merged, mainline=2, **MAIN)
    assert set(warehouse.shown()) == {"shop.a", "shop.b"}
    with pytest.raises(InputError, match="parent 3 was asked for"):
        revert(warehouse.repository, merged, mainline=3, **MAIN)
    first = [id for id, _ in warehouse.repository.log(warehouse.head())][-1]
    with pytest.raises(InputError, match="first commit of a repository"):
        revert(warehouse.repository, first, **MAIN)


def test_a_clone_shares_files_and_history(warehouse: Warehouse) -> None:
    one = warehouse.table("1", "2")
    assert isinstance(one, TableEntry)
    warehouse.put(a=one)
    warehouse.put(a="3")
    report = clone_from_snapshot(warehouse.repository, "shop.a", "copies.a", "main~1", **MAIN)
    entry: Entry = warehouse.shown()["copies.a"]
    assert isinstance(entry, TableEntry)
    objects = warehouse.repository.objects
    new, old = objects.snapshot(entry.snapshot), objects.snapshot(one.snapshot)
    assert delta(old, new, objects.segments).is_empty
    assert new.parents == (one.snapshot,) == (report.snapshot,)
    assert [(item.relation, item.snapshot) for item in new.origin.inputs] == [
        ("shop.a", one.snapshot)
    ]
    assert report.rows == 20
    with pytest.raises(InputError, match="already exists"):
        clone_from_snapshot(warehouse.repository, "shop.a", "copies.a", **MAIN)
    clone_from_snapshot(warehouse.repository, "shop.a", "copies.a", replace=True, **MAIN)
    with pytest.raises(NotFoundError, match=r"no table shop\.z at 'main'"):
        clone_from_snapshot(warehouse.repository, "shop.z", "copies.z", **MAIN)


def test_a_deleted_branch_comes_back(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("feature")
    head = warehouse.put("feature", b="1")
    warehouse.repository.delete_branch("feature", author="bob")
    made = undelete_branch(warehouse.repository, "feature", author="bob")
    assert (made.head, warehouse.head("feature")) == (head, head)
    with pytest.raises(InputError, match="exists"):
        undelete_branch(warehouse.repository, "feature", author="bob")
    with pytest.raises(NotFoundError, match="Did you mean 'feature'"):
        undelete_branch(warehouse.repository, "featur", author="bob")


def test_no_branch_comes_back_behind_a_tag(warehouse: Warehouse) -> None:
    repository = warehouse.repository
    warehouse.branch("feature")
    repository.delete_branch("feature", author="bob")
    repository.create_tag("feature", warehouse.head(), author="bob")
    with pytest.raises(InputError, match="would hide a branch"):
        undelete_branch(repository, "feature", author="bob")
    assert repository.find_branch("feature") is None
    rename_tag(repository, "feature", "v1", author="bob")
    assert undelete_branch(repository, "feature", author="bob").name == "feature"


def test_names_are_of_relations(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    for odd in ("a", "x.y.z"):
        with pytest.raises(InputError, match=r"Expected schema\.table"):
            restore_relation(warehouse.repository, odd, "main", **MAIN)
    assert list_snapshots(warehouse.repository, "shop.a") == []
