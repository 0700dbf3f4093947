"""A shared run that is published while another process publishes it, or purges rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges import branch_landing
from dbt.adapters.vcs.commands import merge as merging
from dbt.adapters.vcs.commands import runs as running
from dbt.adapters.vcs.core.errors import StorageError
from dbt.adapters.vcs.core.model import NodeRun, Run
from dbt.adapters.vcs.workspace import shared_run
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status, find_run
from tests.unit.cli.conftest import Call
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

GAPS = {
    "before it is closed": (shared_run, "check_succeeded"),
    "before the merge": (merging, "noted_merge"),
    "before the plan": (branch_landing, "plan_merge"),
    "before the landing": (branch_landing, "_put"),
    "before the run is marked": (branch_landing, "_close"),
}
"""Where the other process is faster: the function before which it does all of its work."""


@pytest.fixture
def run(warehouse: Warehouse) -> RunBranch:
    """A shared run that changed a row of `a` and made `b`."""
    warehouse.put(a=warehouse.table("x"))
    begun = shared_run.begin_run(warehouse.repository, "main", author="ann")
    warehouse.put(begun.name, a=warehouse.table("y"), b="1")
    return begun


def beside(
    patch: pytest.MonkeyPatch, gap: str, happens: Callable[[], object]
) -> Callable[[], None]:
    """Let something happen once in a gap."""
    module, name = GAPS[gap]
    real, todo = getattr(module, name), [happens]

    def rival(*given: Any, **named: Any) -> Any:
        while todo:
            todo.pop()()
        return real(*given, **named)

    patch.setattr(module, name, rival)
    return lambda: patch.setattr(module, name, real)


def commits(warehouse: Warehouse) -> list[str]:
    return [commit.summary for _, commit in warehouse.repository.log(warehouse.head())]


@pytest.mark.parametrize("gap", GAPS)
def test_the_run_lands_once_and_both_succeed(
    warehouse: Warehouse, run: RunBranch, vcs: Call, monkeypatch: pytest.MonkeyPatch, gap: str
) -> None:
    before = len(commits(warehouse))
    first: list[str] = []
    beside(monkeypatch, gap, lambda: first.append(vcs("run", "publish", run.name).output))
    second = vcs("run", "publish", run.name).output
    assert len(commits(warehouse)) == before + 1
    assert {row["v"] for row in warehouse.rows("a")} == {"y"} and "shop.b" in warehouse.shown()
    assert find_run(warehouse.repository, run.invocation).status is Status.PUBLISHED
    # Whoever comes second reads that there is nothing left to do.
    done = f"main is up to date: it contains everything from {run.name}"
    assert sorted("Merged" in said for said in (first[0], second)) == [False, True]
    assert sum(done in said for said in (first[0], second)) == 1


@pytest.mark.parametrize("gap", ["before it is closed", "before the merge", "before the landing"])
def test_rows_that_changed_since_the_run_was_published_do_not_conflict_with_it(
    warehouse: Warehouse, run: RunBranch, vcs: Call, monkeypatch: pytest.MonkeyPatch, gap: str
) -> None:
    def happens() -> None:
        vcs("run", "publish", run.name)
        warehouse.put(a=warehouse.table("z"))

    beside(monkeypatch, gap, happens)
    said = vcs("run", "publish", run.name).output
    assert f"main is up to date: it contains everything from {run.name}" in said
    assert {row["v"] for row in warehouse.rows("a")} == {"z"}
    assert warehouse.repository.find_branch("merges/main") is None


@pytest.mark.parametrize("gap", GAPS)
def test_rows_that_are_purged_while_the_run_is_published_do_not_come_back(
    warehouse: Warehouse, run: RunBranch, vcs: Call, monkeypatch: pytest.MonkeyPatch, gap: str
) -> None:
    line = ["purge", "shop.a", "--where", "id = 3"]
    beside(monkeypatch, gap, lambda: vcs(*line))
    vcs("run", "publish", run.name)
    assert {row["id"]: row["v"] for row in warehouse.rows("a")} == {
        id: "y" for id in range(10) if id != 3
    }
    assert "shop.b" in warehouse.shown()
    assert find_run(warehouse.repository, run.invocation).status is Status.PUBLISHED
    for revision in ("main", "main~1", run.name):
        assert 3 not in {row["id"] for row in warehouse.rows("a", revision)}
    assert "up to date" in vcs("run", "publish", run.name).output


def test_who_fails_does_not_open_a_run_that_the_other_one_published(
    warehouse: Warehouse, run: RunBranch, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = warehouse.repository
    closed = shared_run.close_run(repository, run, author="ann")
    real = repository.branch

    def published(name: str) -> Any:
        found = real(name)
        if name == run.name:
            monkeypatch.setattr(repository, "branch", real)
            shared_run._change_status(repository, run, Status.PASSED, Status.PUBLISHED, "bob")
        return found

    monkeypatch.setattr(repository, "branch", published)
    shared_run.reopen_run(repository, closed, author="ann")
    assert find_run(repository, run.invocation).status is Status.PUBLISHED


def test_results_that_came_after_what_landed_are_not_called_published(
    warehouse: Warehouse, run: RunBranch, vcs: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process fails and opens the run again, and a command joins, while the other lands."""

    def happens() -> None:
        shared_run.reopen_run(warehouse.repository, run, author="ann")
        warehouse.put(run.name, c="1")

    beside(monkeypatch, "before the landing", happens)
    vcs("run", "publish", run.name)
    assert "shop.b" in warehouse.shown() and "shop.c" not in warehouse.shown()
    # Nothing says of these that they were published.
    assert find_run(warehouse.repository, run.invocation).status is Status.OPEN
    # What others did to what landed stays, also where the run had changed it.
    warehouse.put(a=warehouse.table("z"))
    assert "Merged" in vcs("run", "publish", run.name).output
    assert "shop.c" in warehouse.shown()
    assert {row["v"] for row in warehouse.rows("a")} == {"z"}
    assert find_run(warehouse.repository, run.invocation).status is Status.PUBLISHED
    assert "up to date" in vcs("run", "publish", run.name).output


def test_a_run_that_could_not_be_merged_can_be_joined_again(
    warehouse: Warehouse, run: RunBranch, vcs: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise StorageError("the store is away")

    undo = beside(monkeypatch, "before the landing", fails)
    vcs("run", "publish", run.name, code=2)
    undo()
    assert shared_run.joined_run(warehouse.repository, run.invocation).status is Status.OPEN
    assert running.find_run(warehouse.repository, run.invocation).status is Status.OPEN


@pytest.mark.parametrize("on_stale", ["warn", "fail", "heal"])
def test_what_was_built_before_its_input_was_built_again_follows_the_rule(
    warehouse: Warehouse, call: Call, folder: Path, on_stale: str
) -> None:
    tables = Tables(warehouse)
    run = shared_run.begin_run(warehouse.repository, "main", author="ann")
    built = NodeRun(id="model.shop.a", status="success", relation="shop.a")
    record = Run(invocation="i", command="run", nodes=(built,))
    old, new = (tables.entry([tables.block({1: text})]) for text in ("old", "new"))
    warehouse.put(run.name, run=record, a=old)
    warehouse.put(run.name, b=tables.entry([], inputs={"shop.a": old}))
    warehouse.put(run.name, run=record, a=new)
    (folder / "dbt_project.yml").write_text("{name: shop, profile: shop}")
    output = "{type: vcs, method: session, repository: ./warehouse, schema: shop}"
    (folder / "profiles.yml").write_text(f"shop: {{target: dev, outputs: {{dev: {output}}}}}")
    (folder / "vcs.yml").write_text(f"on_stale: {on_stale}\n")
    if on_stale == "warn":
        assert "shop.b becomes stale" in call("run", "publish", run.name).output
        assert "shop.b" in warehouse.shown()
        return
    said = call("run", "publish", run.name, code=1).stderr
    assert "built again: shop.b. 'main' is unchanged" in " ".join(said.split())
    assert "shop.b" not in warehouse.shown()
    assert "shop.b becomes stale" in call("run", "publish", run.name, "--force").output
