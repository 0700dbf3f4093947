"""The demo project as a command for each node, side by side, some of them killed and repeated."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.variables import RUN

PROJECT = Path(__file__).parents[1]
AT_ONCE = 3
KILLED = 8
TYPES = ("model", "seed", "snapshot", "test", "unit_test")
VERBS = {"model": "run", "seed": "seed", "snapshot": "snapshot"}


@dataclass(frozen=True)
class Project:
    """A copy of the demo project, with a repository of its own."""

    folder: Path

    def start(self, *words: str, run: str = "") -> subprocess.Popen[str]:
        """Start a command in the project, as a part of a run."""
        env = {**os.environ, "DBT_VCS_REPOSITORY": str(self.folder / "warehouse"), RUN: run}
        env["DBT_PROFILES_DIR"] = env["DBT_PROJECT_DIR"] = str(self.folder)
        return subprocess.Popen(
            [str(Path(sys.executable).with_name(words[0])), *words[1:]],
            cwd=self.folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def call(self, *words: str, run: str = "") -> str:
        """Return what a command says that has to succeed."""
        process = self.start(*words, run=run)
        said = process.communicate(timeout=900)[0]
        assert process.returncode == 0, f"{words}:\n{said}"
        return said

    def dbt(self, *words: str, run: str = "") -> str:
        """Return what a dbt command says that has to succeed."""
        return self.call("dbt", *words, "--target", "prod", run=run)

    @property
    def repository(self) -> Repository:
        """The repository as it is now."""
        return Repository.open(open_blobs(str(self.folder / "warehouse")))

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return the nodes that commands build, by id."""
        keys = ["unique_id", "name", "resource_type", "depends_on", "config"]
        said = self.dbt(
            "ls", "--quiet", "--resource-types", *TYPES, "--output", "json", "--output-keys", *keys
        )
        found = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        return {item["unique_id"]: item for item in found}

    def rows(self) -> dict[str, int]:
        """Return how many rows each table of `main` has."""
        repository = self.repository
        tree = repository.tree(repository.branch("main").head)
        return {
            f"{schema}.{name}": repository.objects.snapshot(entry.snapshot).rows
            for schema in tree.schemas()
            for name, entry in tree.relations(schema).items()
            if hasattr(entry, "snapshot")
        }


@pytest.fixture
def make(tmp_path: Path) -> Any:
    """Return a maker of copies of the demo project."""

    def project(name: str) -> Project:
        folder = tmp_path / name
        parts = ("models", "seeds", "tests", "data", "dbt_project.yml", "profiles.yml")
        folder.mkdir()
        for part in parts:
            copy = shutil.copytree if (PROJECT / part).is_dir() else shutil.copy
            copy(PROJECT / part, folder / part)
        return Project(folder)

    return project


def built(project: Project, node: Mapping[str, Any], run: str, *, killed_after: float) -> bool:
    """Build one node in a process; return False if it was killed, and must be repeated."""
    verb = VERBS.get(node["resource_type"], "test")
    target = project.folder / "targets" / node["unique_id"]
    process = project.start(
        "dbt", verb, "--select", node["name"], "--target", "prod",
        "--target-path", str(target), "--log-path", str(target), run=run,
    )  # fmt: skip
    try:
        said = process.communicate(timeout=killed_after or 600)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return False
    assert process.returncode == 0, said
    return True


def test_sixty_commands_are_one_run(make: Any) -> None:
    """All nodes in the order of the graph, three at a time; eight are killed once."""
    project, whole = make("many"), make("whole")
    whole.dbt("build")
    nodes = project.nodes()
    commands = {
        id: node
        for id, node in nodes.items()
        if node.get("config", {}).get("materialized") != "ephemeral"
    }
    assert len(commands) >= 60
    project.call("dbt-vcs", "init")
    head = project.repository.branch("main").head
    run = project.call("dbt-vcs", "run", "begin", "--branch", "main").strip()
    dice = random.Random(7)
    unlucky = set(dice.sample(sorted(commands), KILLED))
    done: set[str] = set()
    waiting, pending = dict(nodes), dict[Future[bool], str]()
    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while waiting or pending:
            for id, node in list(waiting.items()):
                needs = set(node["depends_on"].get("nodes", ())) & nodes.keys()
                if needs <= done:
                    del waiting[id]
                    if id not in commands:
                        done.add(id)
                        continue
                    after = dice.uniform(2, 12) if id in unlucky else 0
                    unlucky.discard(id)
                    pending[pool.submit(built, project, node, run, killed_after=after)] = id
            # A model without a command of its own may have been all that others waited for.
            for future in wait(pending, return_when=FIRST_COMPLETED).done if pending else ():
                id = pending.pop(future)
                if future.result():
                    done.add(id)
                else:
                    waiting[id] = commands[id]
    assert project.repository.branch("main").head == head
    project.call("dbt-vcs", "run", "publish", run)
    print(f"{len(commands)} commands, {KILLED} killed: {time.monotonic() - began:.0f} s")

    commit = project.repository.objects.commit(project.repository.branch("main").head)
    assert commit.parents == (head,)
    assert commit.run is not None and {node.id for node in commit.run.nodes} == set(commands)
    assert project.rows() == whole.rows()
