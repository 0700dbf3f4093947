"""Others who win a race, requirements that a merge meets late, and hooks that fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.changes.merges.hook_rules import read_hooks
from dbt.adapters.vcs.commands import resolve as resolving
from dbt.adapters.vcs.core.model import NodeRun
from dbt.adapters.vcs.hooks.branch_event import RunFailure
from dbt.adapters.vcs.hooks.hook_calls import call_hooks
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.cli import scenes as at
from tests.unit.cli.faults import said_by
from tests.unit.cli.scenes import Scene
from tests.unit.tables import Tables

FAILING = {"run": "exit 1"}


def another_is_begun(scene: Scene) -> str:
    """While somebody decides, another one gives the merge up and begins one of `other`."""
    at.waiting(scene)
    scene.warehouse.branch("other", "main~1")
    scene.put("other", a="4")
    real = resolving._Decision.land
    rivals = ["other"]

    def rival(*given: Any) -> Any:
        while rivals:
            scene.vcs("merge", "--abort", "main")
            scene.vcs("merge", rivals.pop(), "main", code=1)
        return real(*given)

    repository = scene.warehouse.repository
    chosen = RowChoice(choice=Choice.OURS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolving._Decision, "land", rival)
        return said_by(lambda: resolving.resolve(repository, "main", None, chosen, author="bob"))


def decided_by_hand(scene: Scene) -> None:
    """What a promotion makes of `a` is chosen, where what is published must be approved."""
    tables = Tables(scene.warehouse)
    scene.put(a=tables.entry([tables.block({1: "x", 2: "x"})], key=True))
    scene.warehouse.branch("dev")
    scene.put(a=tables.entry([tables.block({1: "y", 2: "x"})], key=True))
    scene.put("dev", a=tables.entry([tables.block({1: "z", 2: "z"})], key=True))
    scene.vcs("branch", "protect", "main", "--require", "approval")
    scene.vcs("approve", "dev")
    scene.vcs("promote", "dev", "main", code=1)
    scene.vcs("resolve", "--all", "--with", "ours", "main")


def stale_by_a_run(scene: Scene) -> None:
    """A run for `prod` changes what `b` was made from there."""
    at.stale(scene)
    scene.vcs("branch", "create", "prod", "main")
    tables = Tables(scene.warehouse)
    tables._number = 9
    new = tables.entry([tables.block({1: "new"})])
    scene.warehouse.run("r1", Status.PASSED, target="prod", a=new)
    scene.vcs("branch", "protect", "prod", "--require", "fresh")


def _hooks(scene: Scene) -> None:
    (project,) = scene.folder.parent.glob("*/dbt_project.yml")
    rules = {"on": {event: [FAILING] for event in ("publish", "merge", "conflict", "fail")}}
    project.with_name("vcs.yml").write_text(yaml.safe_dump(rules))


def hook_of_a_merge(scene: Scene) -> None:
    at.history(scene)
    _hooks(scene)


def hook_of_a_conflict(scene: Scene) -> None:
    at.clash(scene)
    _hooks(scene)


def hook_of_a_refusal(scene: Scene) -> None:
    at.approved(scene)
    _hooks(scene)


def _run_failed(scene: Scene, **tables: str) -> str:
    """Return what dbt's log says of a hook that fails for a run that failed."""
    scene.put(a="1")
    run = scene.warehouse.run("r1", Status.FAILED, **tables)
    failure = RunFailure(
        repository=scene.warehouse.repository,
        run=run,
        nodes=(NodeRun(id="model.shop.a", status="error"),),
        reason="failed",
        author="ann",
        has_changes=bool(tables),
    )
    said: list[str] = []
    rules = read_hooks({"on": {"fail": [FAILING]}}, Path("vcs.yml"))
    call_hooks(rules, "fail", "main", failure.event, said.append)
    return "\n".join(said)


def hook_of_a_run_with_results(scene: Scene) -> str:
    return _run_failed(scene, a="2")


def hook_of_a_run_without_results(scene: Scene) -> str:
    return _run_failed(scene)
