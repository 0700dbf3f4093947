"""Cherry-picks: the change of one commit, applied to another branch by a three-way merge."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import find_open_merge
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode, Policy
from dbt.adapters.vcs.changes.merges.project_rules import Contract
from dbt.adapters.vcs.commands.cherry_pick import cherry_pick, commits_of
from dbt.adapters.vcs.commands.merge import (
    MergeReport,
    MergeRequest,
    abort_merge,
    continue_merge,
    merge,
)
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError, InputError, ProtectedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.tables import Rows, Tables
from tests.unit.warehouse import Warehouse


class Shop:
    """A table with a key on main, and a branch dev, both written row by row."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self.tables = Tables(warehouse)
        self.write("main", {1: "one", 2: "two"})
        warehouse.branch("dev")

    def write(self, branch: str, rows: Rows, message: str = "") -> CommitId:
        """Write the table with a block for each row."""
        before = self.warehouse.shown(branch).get("shop.t")
        parents = [before] if isinstance(before, TableEntry) else []
        blocks = [self.tables.block({key: value}) for key, value in rows.items()]
        entry = self.tables.entry(blocks, parents=parents, key=True)
        return self.warehouse.put(branch, t=entry, message=message)

    def rows(self, revision: str = "main") -> dict[int, str]:
        return {row["id"]: row["name"] for row in self.warehouse.rows("t", revision)}

    def pick(self, revision: str, target: str = "main", **more: Any) -> MergeReport:
        return cherry_pick(self.warehouse.repository, revision, target, author="bob", **more)


@pytest.fixture
def shop(warehouse: Warehouse) -> Shop:
    return Shop(warehouse)


def test_a_pick_brings_what_one_commit_changed_and_no_more(shop: Shop) -> None:
    shop.write("dev", {1: "one", 2: "two", 3: "before"})
    commit = shop.write("dev", {1: "ONE", 2: "two", 3: "before"}, message="Shout\n\nLouder.")
    shop.write("dev", {1: "ONE", 2: "two", 3: "before", 4: "after"})
    head = shop.write("main", {1: "one", 2: "TWO"})
    report = shop.pick("dev~1")
    assert shop.rows() == {1: "ONE", 2: "TWO"}
    made = shop.warehouse.repository.objects.commit(shop.warehouse.head())
    assert made.parents == (head,) == (report.before,)
    assert made.message == f"Shout\n\nLouder.\n\n(cherry picked from commit {commit})"
    assert (made.author, made.metadata) == ("bob", {"picks": commit})
    (change,) = report.changes
    assert (change.name, change.rows_modified, change.rows_added) == ("shop.t", 1, 0)


def test_a_pick_on_the_parent_of_the_commit_gives_its_rows_by_a_new_commit(shop: Shop) -> None:
    commit = shop.write("dev", {1: "ONE", 3: "three"})
    report = shop.pick("dev")
    assert shop.rows() == shop.rows("dev") == {1: "ONE", 3: "three"}
    assert report.after not in (commit, report.before)
    # A merge of the branch finds nothing that it has to do.
    merge(shop.warehouse.repository, "dev", "main", author="bob")
    assert shop.rows() == {1: "ONE", 3: "three"}


def test_a_pick_of_what_is_there_makes_no_commit(shop: Shop) -> None:
    shop.write("dev", {1: "ONE", 2: "two"})
    first = shop.pick("dev")
    again = shop.pick("dev")
    assert (again.how, again.before, again.after) == ("up_to_date", first.after, first.after)
    shop.write("main", {1: "ONE", 2: "later"})
    assert shop.pick("dev").how == "up_to_date"


def test_what_was_picked_and_reverted_can_be_picked_again(shop: Shop) -> None:
    shop.write("dev", {1: "ONE", 2: "two"})
    picked = shop.pick("dev").after
    revert(shop.warehouse.repository, str(picked), branch="main", author="bob")
    assert shop.rows() == {1: "one", 2: "two"}
    shop.pick("dev")
    assert shop.rows() == {1: "ONE", 2: "two"}
    # The version is made from that of main, so that its history has all three.
    entry = shop.warehouse.shown()["shop.t"]
    assert entry != shop.warehouse.shown("dev")["shop.t"]


def test_a_conflict_waits_and_goes_on_with_the_change_alone(shop: Shop) -> None:
    shop.write("dev", {1: "one", 2: "two", 3: "before"})
    commit = shop.write("dev", {1: "theirs", 2: "TWO", 3: "before"}, message="Both")
    head = shop.write("main", {1: "ours", 2: "two"})
    with pytest.raises(ConflictError, match="dbt-vcs cherry-pick --continue --branch main"):
        shop.pick("dev")
    assert shop.warehouse.head() == head
    waiting = find_open_merge(shop.warehouse.repository, "main")
    assert (waiting.theirs, waiting.base) == (commit, shop.warehouse.repository.resolve("dev~1"))
    shop.warehouse.repository.delete_branch("dev", author="bob")
    resolve(shop.warehouse.repository, "main", None, RowChoice(choice=Choice.THEIRS), author="ann")
    report = continue_merge(shop.warehouse.repository, "main", author="ann")
    assert shop.rows() == {1: "theirs", 2: "TWO"}
    made = shop.warehouse.repository.objects.commit(shop.warehouse.head())
    assert made.parents == (head,) == (report.before,)
    assert made.message == f"Both\n\n(cherry picked from commit {commit})"
    assert made.metadata == {"picks": commit}


def test_choices_for_a_merge_are_not_those_for_a_pick_of_the_same_commit(shop: Shop) -> None:
    shop.write("dev", {1: "one", 2: "two", 3: "more"})
    shop.write("dev", {1: "theirs", 2: "two", 3: "more"})
    shop.write("main", {1: "ours", 2: "two"})
    repository = shop.warehouse.repository
    with pytest.raises(ConflictError):
        merge(repository, "dev", "main", author="bob")
    resolve(repository, "main", None, RowChoice(choice=Choice.THEIRS), author="ann")
    with pytest.raises(ConflictError):
        shop.pick("dev")
    with pytest.raises(ConflictError):
        continue_merge(repository, "main", author="ann")
    abort_merge(repository, "main", author="ann")
    assert shop.rows() == {1: "ours", 2: "two"}


@pytest.mark.parametrize(("mode", "value"), [(Mode.SKIP, "ours"), (Mode.ACCEPT, "theirs")])
def test_a_mode_decides_on_conflicts(shop: Shop, mode: Mode, value: str) -> None:
    shop.write("dev", {1: "theirs", 2: "TWO"})
    shop.write("main", {1: "ours", 2: "two"})
    shop.pick("dev", request=MergeRequest(policy=Policy(override=mode)))
    assert shop.rows() == {1: value, 2: "TWO"}


def test_a_pick_of_a_merge_is_relative_to_the_parent_that_is_asked_for(shop: Shop) -> None:
    shop.write("dev", {1: "ONE", 2: "two"})
    shop.warehouse.branch("other", "main")
    shop.write("main", {1: "one", 2: "TWO"})
    merged = merge(shop.warehouse.repository, "dev", "main", author="bob").after
    shop.warehouse.branch("third", "other")
    shop.pick(str(merged), "other")
    assert shop.rows("other") == {1: "ONE", 2: "two"}
    shop.pick(str(merged), "third", mainline=2)
    assert shop.rows("third") == {1: "one", 2: "TWO"}
    with pytest.raises(InputError, match="has 2 parents; parent 3"):
        shop.pick(str(merged), "third", mainline=3)
    first = [id for id, _ in shop.warehouse.repository.log(shop.warehouse.head())][-1]
    with pytest.raises(InputError, match="first commit of a repository changes nothing"):
        shop.pick(str(first))


def test_tables_and_views_that_a_commit_creates_and_drops_are_picked(shop: Shop) -> None:
    warehouse = shop.warehouse
    shop.write("dev", {1: "not wanted"})
    warehouse.put("dev", made="1", seen=warehouse.view("select 1"))
    shop.pick("dev")
    assert set(warehouse.shown()) == {"shop.t", "shop.made", "shop.seen"}
    assert shop.rows() == {1: "one", 2: "two"}
    warehouse.put("dev", made=None)
    shop.pick("dev")
    assert set(warehouse.shown()) == {"shop.t", "shop.seen"}
    # What both created is decided as a whole: neither has a table before to compare with.
    warehouse.put("dev", both="1")
    warehouse.put("main", both="2")
    with pytest.raises(ConflictError, match=r"shop\.both: ours created it, theirs created it"):
        shop.pick("dev")


def test_a_protected_branch_takes_no_pick_and_a_contract_holds(shop: Shop) -> None:
    shop.write("dev", {1: "one"})
    contract = Contract(pattern="shop.t", rules={"no_removed": True})
    with pytest.raises(ConflictError, match=r"shop\.t loses 1 row"):
        shop.pick("dev", request=MergeRequest(contracts=(contract,)))
    with pytest.raises(ProtectedError):
        shop.pick("dev", request=MergeRequest(protection=Protection()))
    assert shop.rows() == {1: "one", 2: "two"}


def test_a_dry_run_says_what_a_pick_would_change(shop: Shop) -> None:
    shop.write("dev", {1: "ONE", 2: "two"})
    head = shop.warehouse.head()
    report = shop.pick("dev", request=MergeRequest(dry_run=True))
    assert (report.how, report.after, shop.warehouse.head()) == ("merge", None, head)
    (change,) = report.changes
    assert (change.name, change.rows_modified, change.rows_added) == ("shop.t", 1, 0)


def test_the_steps_of_a_run_are_not_picked(shop: Shop) -> None:
    run = shop.warehouse.run("r1", Status.PASSED, u="1")
    with pytest.raises(InputError, match=f"dbt-vcs merge {run.name} main"):
        shop.pick(run.name)
    failed = shop.warehouse.run("r2", Status.FAILED, u="1")
    with pytest.raises(ConflictError, match="failed"):
        shop.pick(str(failed.head))


def test_a_range_has_the_commits_of_the_first_parents_oldest_first(shop: Shop) -> None:
    one = shop.write("dev", {1: "ONE", 2: "two"})
    shop.warehouse.branch("side", "dev")
    shop.write("side", {1: "ONE", 2: "TWO"})
    two = shop.write("dev", {1: "ONE", 2: "two", 3: "three"})
    merged = merge(shop.warehouse.repository, "side", "dev", author="bob").after
    found = commits_of(shop.warehouse.repository, ["main..dev"])
    assert found == [id[:12] for id in (one, two, str(merged))]
    for revision in found:
        shop.pick(revision)
    assert shop.rows() == shop.rows("dev")
    with pytest.raises(InputError, match="has no commits to pick"):
        commits_of(shop.warehouse.repository, ["dev..dev~1"])
    with pytest.raises(InputError, match=r"Expected a commit or a\.\.b"):
        commits_of(shop.warehouse.repository, ["main...dev"])


def test_a_name_with_two_dots_is_a_commit(shop: Shop) -> None:
    shop.write("dev", {1: "ONE", 2: "two"})
    repository, head = shop.warehouse.repository, shop.warehouse.head("dev")
    # An earlier version allowed it.
    repository.create_branch("x..y", head, author="ann", check=False)
    assert commits_of(shop.warehouse.repository, ["x..y"]) == ["x..y"]


def test_a_purged_row_does_not_come_back_by_a_pick_that_waited(shop: Shop) -> None:
    shop.write("dev", {1: "theirs", 2: "two", 3: "secret"})
    shop.write("main", {1: "ours", 2: "two"})
    repository = shop.warehouse.repository
    with pytest.raises(ConflictError):
        shop.pick("dev")
    purge(repository, PurgeRequest(relation="shop.t", where="id = 3"), author="ann")
    resolve(repository, "main", None, RowChoice(choice=Choice.THEIRS), author="ann")
    continue_merge(repository, "main", author="ann")
    assert shop.rows() == {1: "theirs", 2: "two"}
