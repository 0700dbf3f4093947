"""What is kept of nodes that dbt runs although a model that they read has failed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges.project_rules import Rules
from dbt.adapters.vcs.core.model import NodeRun, Origin, RelationName
from dbt.adapters.vcs.credentials import VcsCredentials
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.project.invocation import Invocation
from dbt.adapters.vcs.project.manifest import Project
from dbt.adapters.vcs.project.run import RunLife
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import RunLine
from tests.unit.warehouse import Warehouse

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

    def __init__(self, publish: str) -> None:
        self.said: list[str] = []
        self.repository = Warehouse().repository
        line = RunLine(
            self.repository,
            invocation="i",
            target="main",
            command="run",
            author="ann",
            on_error=lambda error: None,
        )
        manifest = SimpleNamespace(nodes={f"model.shop.{name}": node(name) for name in READS})
        self.life = RunLife(
            Workspace(self.repository, line, no_engine, schema="s"),
            line,
            Invocation(
                id="i",
                command="run",
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
        self.life.execute(connection, id, f"create table {name} (id int)", Origin(node=id))
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
    assert run.shown("main" if published else "runs/i") == {"d"}
    assert RelationName("s", "b") not in run.life.workspace.begin().relations


def test_a_model_that_succeeds_leaves_nothing_out(run: Started) -> None:
    for name in ("a", "b", "c"):
        run.build(name)
    run.life.end(True, 1.0)
    assert run.shown("main") == {"a", "b", "c"}
    assert not any("Left out" in line for line in run.said)
