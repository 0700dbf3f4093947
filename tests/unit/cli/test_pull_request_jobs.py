"""The GitHub action and the GitLab template: their steps run as they are written."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.unit.cli.ci_jobs import ACTION, CHECKOUT, TEMPLATE, Job, run_action, run_template
from tests.unit.cli.code_host import CodeHost, code_host
from tests.unit.cli.conftest import Call
from tests.unit.warehouse import Clock, Warehouse

SECRET = "glpat-0123456789secret"
HOSTILE = "c i`touch pwned`$(touch pwned)';\"touch pwned"
# What builds is replaced, since Spark takes a minute for it: a table is written as a program does.
BUILD = """
import os, sys
import pyarrow as pa
from dbt.adapters.vcs.api import connect

print("dbt", *sys.argv[1:], os.environ.get("DBT_TARGET"))
value = open("orders.txt").read()
if value == "broken":
    sys.exit(2)
with connect("warehouse", os.environ["WAREHOUSE_BRANCH"], schema="shop") as branch:
    branch.write("orders", pa.table({"id": [1], "value": [value]}), "overwrite")
"""


class Checkout:
    """A checkout of a project in CI, on one of the hosts."""

    def __init__(self, folder: Path, host: CodeHost, shell: str) -> None:
        self.folder = folder
        self.host = host
        self.shell = shell
        self.name = "pr/12" if shell == "github" else "mr/12"
        target = {
            "type": "vcs",
            "schema": "shop",
            "repository": "warehouse",
            "branch": "{{ env_var('WAREHOUSE_BRANCH', 'dev') }}",
        }
        outputs = {"ci": target, HOSTILE: target}
        profile = {"shop": {"target": "ci", "outputs": outputs}}
        (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
        (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
        (folder / "orders.txt").write_text("one")
        (folder / "target").mkdir()
        (folder / "target/manifest.json").write_text("{}")
        bin = folder.parent / "bin"
        bin.mkdir()
        (bin / "build.py").write_text(BUILD)
        self._command(bin / "dbt", f"{shlex.quote(str(bin / 'build.py'))}")
        self._command(bin / "dbt-vcs", "-c 'from dbt.adapters.vcs.cli import main; main()'")
        self.env = {"PATH": f"{bin}:/usr/bin:/bin", "PYTHONPATH": str(CHECKOUT)}

    def _command(self, place: Path, arguments: str) -> None:
        place.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        place.chmod(0o755)

    def run(self, step: str, code: int = 0, **given: str) -> Job:
        """Run a job for the head of the code that the host has."""
        if self.shell == "github":
            told: dict[str, Any] = {
                "pull_request": {
                    "number": 12,
                    "title": HOSTILE,
                    "head": {"sha": self.host.code, "ref": HOSTILE},
                }
            }
            (self.folder / "event.json").write_text(json.dumps(told))
            env = {
                "GITHUB_ACTIONS": "true",
                "GITHUB_EVENT_NAME": "pull_request",
                "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
                "GITHUB_REPOSITORY": "acme/shop",
                "GITHUB_API_URL": self.host.url,
                "GITHUB_GRAPHQL_URL": f"{self.host.url}/graphql",
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            }
            job = run_action(step, self.folder, {**self.env, **env}, SECRET, "12", **given)
        else:
            env = {
                "GITLAB_CI": "true",
                "CI_MERGE_REQUEST_IID": "12",
                "CI_MERGE_REQUEST_PROJECT_ID": "7",
                "CI_MERGE_REQUEST_TITLE": HOSTILE,
                "CI_COMMIT_SHA": self.host.code,
                "CI_API_V4_URL": self.host.url,
                "GITLAB_TOKEN": SECRET,
            }
            env |= {f"DBT_VCS_{name.upper()}": text for name, text in given.items()}
            job = run_template(f"data-{step}", self.folder, {**self.env, **env}, self.shell)
        assert job.code == code, job.output
        assert SECRET not in job.output
        return job


@pytest.fixture(params=["github", "sh"])
def checkout(
    request: pytest.FixtureRequest,
    folder: Path,
    warehouse: Warehouse,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Checkout]:
    """A checkout in a job of GitHub, or of GitLab, whose shell is the plainest."""
    for name in ("GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)
    with code_host() as host:
        yield Checkout(folder, host, request.param)


@pytest.fixture
def warehouse(folder: Path) -> Warehouse:
    clock = Clock()
    clock.now = int((time.time() - 3600) * 1_000_000)
    made = Warehouse(open_blobs(str(folder / "warehouse"), {"fsync": "false"}), clock)
    made.put(other="1")
    return made


def orders(warehouse: Warehouse, branch: str = "main") -> Any:
    return warehouse.shown(branch).get("shop.orders")


def test_a_pull_request_is_built_reviewed_promoted_and_cleaned_up(
    checkout: Checkout, warehouse: Warehouse
) -> None:
    job = checkout.run("build")
    assert [sorted(path.name for path in upload.iterdir()) for upload in job.uploads] == [
        ["review.html", "review.md"]
    ]
    [text] = checkout.host.texts("review")
    assert "**Can be merged**" in text
    assert orders(warehouse) is None
    # A push that fails, and one that mends it: the comment stays one.
    checkout.host.code = "b" * 40
    (checkout.folder / "orders.txt").write_text("broken")
    failed = checkout.run("build", code=2 if checkout.shell == "github" else 1)
    assert failed.uploads[0].is_dir()
    [text] = checkout.host.texts("review")
    assert "The build ended with <code>failure</code>" in text
    assert "not been reviewed" in checkout.run("promote", code=1).output
    (checkout.folder / "orders.txt").write_text("two")
    checkout.run("build")
    [text] = checkout.host.texts("review")
    assert "**Can be merged**" in text
    made = orders(warehouse, checkout.name)
    checkout.run("promote")
    assert orders(warehouse) == made
    # The job is run again.
    checkout.run("promote")
    checkout.host.state = "merged"
    checkout.run("close")
    assert warehouse.repository.find_branch(checkout.name) is None
    assert checkout.host.tokens == {SECRET}


def test_no_input_is_run_as_a_command_and_printed_steps_have_the_target(
    checkout: Checkout, warehouse: Warehouse, call: Call
) -> None:
    build = "dbt build --vars '{a: \"b c\"}' && true"
    given = {"target": HOSTILE, "base": "main", "build": build}
    job = checkout.run("build", **given)
    assert f'dbt build --vars {{a: "b c"}} {HOSTILE}' in job.output
    del given["build"]
    said = checkout.run("promote", **given).output
    [undo] = [line for line in said.splitlines() if " revert " in line]
    assert shlex.split(undo)[1:3] == ["--target", HOSTILE]
    before = orders(warehouse)
    call(*shlex.split(undo)[1:])
    assert before is not None
    assert orders(warehouse) is None
    checkout.host.state = "closed"
    checkout.run("close", **given)
    assert not list(checkout.folder.rglob("pwned"))


def test_a_build_on_a_branch_of_others_does_not_begin(
    checkout: Checkout, warehouse: Warehouse
) -> None:
    profiles = checkout.folder / "profiles.yml"
    profiles.write_text(profiles.read_text().replace("WAREHOUSE_BRANCH", "OTHER"))
    before = warehouse.head()
    job = checkout.run("build", code=2 if checkout.shell == "github" else 1)
    assert "The profile's branch is 'dev'" in job.output
    assert "dbt build" not in job.output
    assert "<code>skipped</code>" in checkout.host.texts("review")[0]
    assert [branch.name for branch in warehouse.repository.branches()] == ["main"]
    assert warehouse.head() == before


def test_a_token_that_can_not_write_leaves_artifact_and_summary(
    checkout: Checkout, warehouse: Warehouse
) -> None:
    checkout.host.failing = [("POST", 403, {})] * 2
    job = checkout.run("build")
    assert "There is no comment" in job.output
    assert not checkout.host.comments
    assert "Can be merged" in (job.uploads[0] / "review.md").read_text()
    if checkout.shell == "github":
        assert "Can be merged" in (checkout.folder / "summary.md").read_text()


def test_scripts_have_no_expressions_and_actions_are_pinned() -> None:
    steps = ACTION["runs"]["steps"]
    assert not [step["name"] for step in steps if "${{" in step.get("run", "")]
    assert all(step.get("shell", "bash") == "bash" for step in steps)
    used = [step["uses"] for step in steps if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) for name in used)


def test_the_workflow_of_the_guide_gives_each_job_what_it_needs() -> None:
    page = (CHECKOUT / "docs/recipes/pull-requests.md").read_text()
    [text] = [
        text for text in re.findall(r"```yaml\n(.*?)```", page, re.S) if "merge_group" in text
    ][:1]
    flow = yaml.safe_load(text)
    assert flow["permissions"] == {}
    steps = [job["steps"][-1]["with"]["step"] for job in flow["jobs"].values()]
    assert steps == list(flow["jobs"]) == ["build", "promote", "close"]
    for job in flow["jobs"].values():
        assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
        assert job["steps"][-1]["uses"].startswith("OWNER/dbt-vcs/integrations/github@")
    inputs = re.findall(
        r"^\| `([\w-]+)` \|", page.partition("| input |")[2].partition("## On GitLab")[0], re.M
    )
    assert inputs == list(ACTION["inputs"])


def test_the_jobs_of_the_template_know_each_other() -> None:
    stops = TEMPLATE["data-build"]["environment"]["on_stop"]
    environments = {TEMPLATE[job]["environment"]["name"] for job in ("data-build", stops)}
    assert len(environments) == 1
    assert TEMPLATE[stops]["environment"]["action"] == "stop"
    assert TEMPLATE["data-promote"]["needs"][0]["job"] in TEMPLATE
