from pathlib import Path

from dbt.adapters.vcs.changes.diffs.summaries import ChangeSummary
from dbt.adapters.vcs.changes.merges.project_rules import read_rules
from dbt.adapters.vcs.commands.show import show_commit
from dbt.adapters.vcs.commands.status import CommitContents, read_status
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.model import NodeRun, Run
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.warehouse import BYTES, Warehouse


def change(
    name: str, how: str, added: int = 0, removed: int = 0, modified: int = 0
) -> ChangeSummary:
    return ChangeSummary(
        name=name,
        kind="table",
        how=how,
        rows_added=added,
        rows_removed=removed,
        rows_modified=modified,
    )


def test_a_commit_shows_what_it_changed(warehouse: Warehouse) -> None:
    warehouse.put(a="1", b="1", c="1")
    warehouse.put(
        a=warehouse.table("1", "2"), b=None, c="9", d=warehouse.view("select 1"), message="Change"
    )
    found = show_commit(warehouse.repository, "main")
    assert found.changes == (
        change("shop.a", "changed", 10, 0),
        change("shop.b", "removed", 0, 10),
        change("shop.c", "changed", 0, 0, 10),
        ChangeSummary(name="shop.d", kind="view", how="added"),
    )
    assert (found.id, found.names, found.message) == (warehouse.head(), ("main",), "Change")
    assert found.since == found.parents[0] == warehouse.repository.resolve("main~1")
    earlier = show_commit(warehouse.repository, "main~1")
    assert earlier.changes[0] == ChangeSummary(name="shop", kind="schema", how="added")
    assert len(earlier.changes) == 4


def test_the_first_commit_shows_nothing(warehouse: Warehouse) -> None:
    found = show_commit(warehouse.repository, "main")
    assert (found.since, found.parents, found.changes) == (None, (), ())


def test_a_commit_shows_its_run(warehouse: Warehouse) -> None:
    node = NodeRun(id="model.shop.a", status="success", seconds=1.5, rows=10)
    warehouse.put(a="1", run=Run(invocation="i1", command="build", target="dev", nodes=(node,)))
    run = show_commit(warehouse.repository, "main").run
    assert run is not None
    assert (run.invocation, run.command, run.target, run.nodes) == ("i1", "build", "dev", (node,))


def test_the_branch_of_a_run_shows_the_whole_run(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    run = warehouse.run("r1", Status.FAILED, b="1", c="1", note="model c failed")
    found = show_commit(warehouse.repository, "runs/r1")
    assert [item.name for item in found.changes] == ["shop.b", "shop.c"]
    assert found.since == run.fork
    assert found.run_branch is not None
    assert (found.run_branch.status, found.run_branch.note) == ("failed", "model c failed")
    step = show_commit(warehouse.repository, run.head)
    assert [item.name for item in step.changes] == ["shop.c"]
    assert step.run_branch is None


def test_the_status_counts_what_the_branch_holds(warehouse: Warehouse) -> None:
    warehouse.put(a=warehouse.table("1", "2", rows=5), v=warehouse.view("select 1"))
    warehouse.put(b="3", schema="other", message="Latest")
    warehouse.branch("feature")
    warehouse.repository.create_tag("v1", warehouse.head(), author="ann")
    found = read_status(warehouse.repository, "main")
    assert found.contents == CommitContents(
        schemas=2, tables=2, views=1, functions=0, rows=20, bytes=3 * BYTES
    )
    assert (found.branches, found.tags, found.default_branch) == (2, 1, "main")
    assert (found.head, found.summary, found.author) == (warehouse.head(), "Latest", "ann")
    assert found.runs == ()


def test_a_branch_that_is_not_there_yet_has_a_status(warehouse: Warehouse) -> None:
    found = read_status(warehouse.repository, "feature")
    assert (found.branch, found.head, found.contents) == ("feature", None, None)


def test_the_status_names_the_runs_that_need_care(warehouse: Warehouse) -> None:
    for status in Status:
        warehouse.run(str(status), status)
    warehouse.run("gone", Status.OPEN)
    warehouse.clock.now += 3_600 * 1_000_000
    warehouse.run("open2", Status.OPEN)
    found = read_status(warehouse.repository, "main")
    assert {run.id: run.status for run in found.runs} == {
        "open": "abandoned",
        "gone": "abandoned",
        "open2": "open",
        "failed": "failed",
        "interrupted": "interrupted",
        "passed": "passed",
    }
    assert found.branches == 1


def test_a_status_shows_protection_and_what_the_rules_name_in_vain(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    warehouse.put(a="1")
    (tmp_path / "vcs.yml").write_text(
        "branches: {mian: {protected: true}, 'm*': {protected: true, require: [approval]}}\n"
        "contracts: {'shop.*': {freeze: true}, other.t: {freeze: true}}\n"
        "relations: {shop.aa: {on_conflict: skip}}\n"
    )
    found = read_status(warehouse.repository, "main", lambda: read_rules(tmp_path))
    assert found.requires == ("approval",)
    assert found.rules == (
        "branches.mian in vcs.yml matches no branch. Did you mean main?",
        "relations.shop.aa in vcs.yml matches no relation. Did you mean shop.a?",
        "contracts.other.t in vcs.yml matches no relation.",
    )
    assert read_status(warehouse.repository, "main").requires is None
    warehouse.repository.protect("main", Protection(), author="ann")
    assert read_status(warehouse.repository, "main").requires == ()


def test_a_status_comes_out_although_the_rules_can_not_be_read(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    (tmp_path / "vcs.yml").write_text("branches: [")
    found = read_status(warehouse.repository, "main", lambda: read_rules(tmp_path))
    assert found.branch == "main"
    assert [line.partition(":")[0].endswith("is not valid YAML") for line in found.rules] == [True]
