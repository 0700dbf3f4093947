"""A pull request of a dbt project goes through the steps of the GitHub action, built by dbt."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.functional.life.shop import MODELS, make_shop
from tests.unit.cli.ci_jobs import CHECKOUT, Job, run_action
from tests.unit.cli.code_host import code_host

pytestmark = pytest.mark.spark

TESTED = """
models:
  - name: a
    columns: [{name: n, data_tests: [{accepted_values: {arguments: {values: [1, 2]}}}]}]
  - name: b
    columns: [{name: n, data_tests: [not_null]}]
"""
RULES = "branches: {main: {protected: true, require: [tests, approval]}}\n"


def test_a_pull_request_that_fails_is_mended_approved_and_promoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITLAB_CI", raising=False)
    root = tmp_path / "my project"
    root.mkdir()
    shop = make_shop(
        root,
        {**MODELS, "models/schema.yml": TESTED},
        branch="{{ env_var('WAREHOUSE_BRANCH', 'main') }}",
    )
    bin = tmp_path / "bin"
    bin.mkdir()
    for name, code in (("dbt", "dbt.cli.main"), ("dbt-vcs", "dbt.adapters.vcs.cli")):
        run = f"from {code} import {'cli' if name == 'dbt' else 'main'} as run; run()"
        script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{run}" "$@"\n'
        (bin / name).write_text(script)
        (bin / name).chmod(0o755)
    assert shop.dbt("build").success
    shop.write({"vcs.yml": RULES})
    with code_host() as host:

        def action(step: str, code: int = 0) -> Job:
            told = {"pull_request": {"number": 12, "head": {"sha": host.code}}}
            (root / "event.json").write_text(json.dumps(told))
            env = {
                "PYTHONPATH": str(CHECKOUT),
                "GITHUB_ACTIONS": "true",
                "GITHUB_EVENT_NAME": "pull_request",
                "GITHUB_EVENT_PATH": str(root / "event.json"),
                "GITHUB_REPOSITORY": "acme/shop",
                "GITHUB_API_URL": host.url,
                "GITHUB_GRAPHQL_URL": f"{host.url}/graphql",
                "GITHUB_STEP_SUMMARY": str(root / "summary.md"),
                "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            }
            monkeypatch.setenv("PATH", str(bin), prepend=":")
            job = run_action(step, root, env, "secret", "12")
            assert job.code == code, job.output
            return job

        shop.write({"models/a.sql": MODELS["models/a.sql"].replace("var('n', 1)", "9")})
        action("build", code=1)
        [text] = host.texts("review")
        text = text.replace("&#46;", ".").replace("&#95;", "_")
        assert "<code>test.shop.accepted_values_a_n__1__2" in text
        assert "</code>: <code>fail</code>" in text
        assert "<code>model.shop.b</code>: <code>skipped</code>" in text
        # What was built nevertheless.
        assert "<code>analytics.a</code>" in text
        assert shop.value("select n from analytics.a", "pr/12") == 1
        assert "not been reviewed" in action("promote", code=1).output

        host.code = "b" * 40
        shop.write({"models/a.sql": MODELS["models/a.sql"].replace("var('n', 1)", "2")})
        action("build")
        [text] = host.texts("review")
        assert "requires an approval" in text.replace("&#39;", "'")
        [approve] = [line for line in text.splitlines() if line.startswith("dbt-vcs approve")]
        assert "nobody has approved" in action("promote", code=1).output
        job = Job()
        assert job.run(["bash", "-c", approve], root, {"PYTHONPATH": str(CHECKOUT)}), job.output
        # The same job again builds nothing that is new, and keeps the approval.
        action("build")
        assert "Approved by" in host.texts("review")[0]
        action("promote")
        assert shop.value("select n from analytics.a") == 2
        host.state = "closed"
        action("close", code=1)
        assert "pr/12" not in {branch.name for branch in shop.repository.branches()}
        [told] = host.texts("data")
        steps = told.partition("```text\n")[2].partition("\n```")[0].split("\n")[1:]
        assert len(steps) == 5
        job = Job()
        script = ["bash", "-exc", "\n".join(steps)]
        assert job.run(script, root, {"PYTHONPATH": str(CHECKOUT)}), job.output
        assert shop.value("select n from analytics.a") == 1
        action("close")
        assert len(host.comments) == 2
