"""What is kept of nodes that dbt runs although a model that they read has failed."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges.project_rules import Rules
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import NodeRun, Origin, RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.credentials import VcsCredentials
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.project.invocation import Invocation
from dbt.adapters.vcs.project.manifest import Project
from dbt.adapters.vcs.project.run import RunLife
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import RunLine
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status, find_run
from dbt.adapters.vcs.workspace.shared_run import begin_run, close_run
from tests.unit.warehouse import Warehouse

NUMBERS = itertools.count()
READS = {"a": [], "ephemeral": ["a"], "b": ["ephemeral"], "c": ["b"], "d": []}


def node(name: str) -> Any:
    needs = [f"model.shop.{parent}" for parent in READS[name]]
    return SimpleNamespace(
        resource_type="model",
        depends_on=SimpleNamespace(nodes=needs),
        compiled_code=None,
        config={},
        checksum=None,
    )


def no_engine() -> Engine:
    raise AssertionError("no engine is needed here")


class Started:
    """A run of models that each make an empty table of their name."""

    def __init__(
        self,
        publish: str,
        repository: Repository | None = None,
        target: str = "main",
        operation: str = "",
    ) -> None:
        self.said: list[str] = []
        self.repository = repository or Warehouse().repository
        id = f"i{next(NUMBERS)}"
        line = RunLine(
            self.repository,
            invocation=id,
            target=target,
            command="run",
            author="ann",
            on_error=lambda error: None,
        )
        manifest = SimpleNamespace(nodes={f"model.shop.{name}": node(name) for name in READS})
        self.life = RunLife(
            Workspace(self.repository, line, no_engine, schema="s"),
            line,
            Invocation(
                id=id,
                command="run-operation" if operation else "run",
                operation=operation,
                target="dev",
                project_root=None,  # type: ignore[arg-type]
                retry_of=None,
                author="ann",
                dbt_version="1.12.0",
            ),
            Project(lambda: manifest),
            credentials=VcsCredentials(database=None, schema="s", publish=publish),  # type: ignore[arg-type]
            rules=Rules(),
            say=self.said.append,
        )

    def build(self, name: str, status: str = "success") -> NodeRun | None:
        id = f"model.shop.{name}"
        connection = self.life.workspace.connect(id)
        text = f"create or replace table {name} (id int)"
        self.life.execute(connection, id, text, Origin(node=id))
        return self.life.end_node(NodeRun(id=id, status=status, relation=f"s.{name}"))

    def shown(self, revision: str) -> set[str]:
        tree = self.repository.tree(self.repository.resolve(revision))
        return set(tree.relations("s"))


@pytest.fixture(params=["always", "on_success"])
def run(request: pytest.FixtureRequest) -> Started:
    return Started(request.param)


def test_what_follows_from_a_failed_model_is_never_published(run: Started) -> None:
    run.build("a", "error")
    for name in ("b", "c"):
        ended = run.build(name)
        assert ended is not None and ended.status == "skipped"
    kept = run.build("d")
    assert kept is not None and kept.status == "success"
    assert run.said == [
        "Left out: model.shop.b follows from model.shop.a, which failed.",
        "Left out: model.shop.c follows from model.shop.a, which failed.",
    ]
    run.life.end(False, 1.0)
    published = run.life._credentials.publish == "always"
    assert run.shown("main") == ({"d"} if published else set())
    assert run.shown("main" if published else run.life.line.run.name) == {"d"}
    assert RelationName("s", "b") not in run.life.workspace.begin().relations


def test_a_model_that_succeeds_leaves_nothing_out(run: Started) -> None:
    for name in ("a", "b", "c"):
        run.build(name)
    run.life.end(True, 1.0)
    assert run.shown("main") == {"a", "b", "c"}
    assert not any("Left out" in line for line in run.said)


class Shared:
    """A shared run, whose commands build models."""

    def __init__(self) -> None:
        self.repository = Warehouse().repository
        self.begun = begin_run(self.repository, "main", author="ann")

    @property
    def run(self) -> RunBranch:
        return find_run(self.repository, self.begun.invocation)

    def command(self, *announced: str) -> Started:
        started = Started("on_success", self.repository, self.begun.name)
        started.life.announce([f"model.shop.{name}" for name in announced])
        return started

    def build(self, **results: str) -> list[str]:
        """A command that builds models, in order; returns what it left out."""
        command = self.command(*results)
        for name, status in results.items():
            command.build(name, status)
        command.life.end("error" not in results.values(), 1.0)
        return [line for line in command.said if "Left out" in line]

    def undone(self, why: str = "not a success") -> str:
        with pytest.raises(ConflictError, match=why) as caught:
            close_run(self.repository, self.run, author="ann")
        return str(caught.value).partition(f"{why}: ")[2].partition(". ")[0]

    @property
    def shown(self) -> set[str]:
        return set(self.repository.tree(self.run.head).relations("s"))


@pytest.fixture
def shared() -> Shared:
    return Shared()


def test_what_follows_from_a_failure_of_an_earlier_command_is_left_out(shared: Shared) -> None:
    shared.build(a="error")
    assert shared.build(b="success", d="success") == [
        "Left out: model.shop.b follows from model.shop.a, which did not succeed in an earlier "
        "command of the run."
    ]
    assert shared.shown == {"d"}
    assert shared.undone() == "model.shop.a (error), model.shop.b (skipped)"
    # It reads what was left out, whatever became of the failure meanwhile.
    shared.build(a="success")
    assert [line.split()[3:6] for line in shared.build(c="success")] == [
        ["follows", "from", "model.shop.b,"]
    ]
    assert shared.undone() == "model.shop.b (skipped), model.shop.c (skipped)"
    assert shared.build(b="success", c="success") == []
    close_run(shared.repository, shared.run, author="ann")
    assert shared.shown == {"a", "b", "c", "d"}


def test_a_failure_that_is_repeated_by_the_same_command_leaves_nothing_out(
    shared: Shared,
) -> None:
    shared.build(a="error")
    assert shared.build(a="success", b="success") == []
    assert shared.build(c="success") == []
    close_run(shared.repository, shared.run, author="ann")


def test_a_command_that_is_killed_leaves_out_nothing_of_others(shared: Shared) -> None:
    shared.command().build("a", "error")
    # It had no chance to say so: the scheduler repeats it.
    assert shared.build(a="success") == [] and shared.build(b="success") == []
    close_run(shared.repository, shared.run, author="ann", force=True)
    assert shared.shown == {"a", "b"}


@pytest.mark.parametrize("built", [(), ("a",)])
def test_a_command_that_is_killed_and_not_repeated_is_missed(
    shared: Shared, built: tuple[str, ...]
) -> None:
    killed = shared.command("a", "d")
    for name in built:
        # Its own branch has a lease by now, as long as its process lives.
        killed.build(name)
        killed.life.line.end(Status.INTERRUPTED)
    assert shared.undone("have not ended") == "model.shop.a, model.shop.d"
    assert shared.shown == set()
    shared.build(a="success", d="success")
    close_run(shared.repository, shared.run, author="ann")
    assert shared.shown == {"a", "d"}


def test_what_a_command_announced_and_did_not_reach_is_left_to_another(shared: Shared) -> None:
    """As with --fail-fast."""
    command = shared.command("a", "d")
    command.build("d", "error")
    command.life.end(False, 1.0)
    assert shared.undone() == "model.shop.a (skipped), model.shop.d (error)"
    # What succeeds in one command may have been announced by another that was killed before.
    shared.build(a="success", d="success")
    close_run(shared.repository, shared.run, author="ann")


def test_a_command_outside_of_a_shared_run_announces_nothing(run: Started) -> None:
    head = run.repository.branch("main").head
    run.life.announce(["model.shop.a"])
    assert run.repository.branch("main").head == head and not run.life.line.has_changes


def operation(shared: Shared, id: str) -> Started:
    started = Started("on_success", shared.repository, shared.begun.name, operation=id)
    started.life.announce([id])
    connection = started.life.workspace.connect("macro_load")
    text = "create or replace table loaded (id int)"
    started.life.execute(connection, "macro_load", text, Origin())
    return started


def test_an_operation_that_failed_leaves_nothing_and_is_missed_until_it_is_repeated(
    shared: Shared,
) -> None:
    load = "run-operation load.0123456789"
    failed = operation(shared, load)
    assert shared.undone("have not ended") == load
    failed.life.end(False, 1.0)
    assert shared.undone() == f"{load} (error)"
    assert shared.shown == set()
    assert failed.said[-1].endswith("Fix the cause and run the operation again.")
    operation(shared, "run-operation load").life.end(True, 1.0)
    assert shared.undone() == f"{load} (error)"
    operation(shared, load).life.end(True, 1.0)
    close_run(shared.repository, shared.run, author="ann")
    assert shared.shown == {"loaded"}


@pytest.mark.parametrize("success", [True, False])
def test_what_an_operation_postponed_is_carried_out_only_if_it_succeeds(
    shared: Shared, success: bool
) -> None:
    started = operation(shared, "run-operation load")
    started.life.postponed.add("macro_load", "dbt run-operation vcs_gc", lambda: ["collected"])
    started.life.end(success, 1.0)
    assert ("collected" in started.said) is success
    assert any("Not carried out" in line for line in started.said) is not success


def test_what_is_published_by_force_has_nothing_that_follows_from_a_failure(
    shared: Shared,
) -> None:
    shared.build(a="success", b="success", d="success")
    before = shared.repository.tree(shared.run.head).relations("s")
    shared.build(a="error", d="success")
    shared.build(b="success")
    close_run(shared.repository, shared.run, author="ann", force=True)
    after = shared.repository.tree(shared.run.head).relations("s")
    assert after["b"] == before["b"] and after["d"] != before["d"]


def test_commands_that_fail_at_once_leave_out_what_follows_later(shared: Shared) -> None:
    first, second = shared.command(), shared.command()
    first.build("a", "error")
    # It began before the first one ended, so it can't know; publication is refused all the same.
    kept = second.build("b")
    first.life.end(False, 1.0)
    second.life.end(True, 1.0)
    assert kept is not None and kept.status == "success"
    assert shared.undone() == "model.shop.a (error)"
    assert len(shared.build(c="success")) == 1
