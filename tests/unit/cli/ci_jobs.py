"""Runs the steps of the GitHub action and the jobs of the GitLab template, as their hosts do."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

CHECKOUT: Final = Path(__file__).parents[3]
ACTION: Final = yaml.safe_load((CHECKOUT / "integrations/github/action.yml").read_text())
TEMPLATE: Final = yaml.safe_load((CHECKOUT / "integrations/gitlab/merge-request.yml").read_text())
EXPRESSION: Final = re.compile(r"\$\{\{ (.*?) \}\}")


@dataclass
class Job:
    """What a job did.

    Attributes:
        code: Its exit code: of the first step that failed.
        output: What its steps said.
        uploads: The folders that it keeps.
    """

    code: int = 0
    output: str = ""
    uploads: list[Path] = field(default_factory=list)

    def run(self, command: list[str], folder: Path, env: Mapping[str, str]) -> bool:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        self.output += done.stdout
        self.code = self.code or done.returncode
        return done.returncode == 0


def run_action(
    step: str, folder: Path, env: Mapping[str, str], token: str, number: str, **inputs: str
) -> Job:
    """Run the action's steps in a checkout, with what a workflow gives it and the job has."""
    given = {name: item.get("default", "") for name, item in ACTION["inputs"].items()}
    given |= {"step": step, **{name.replace("_", "-"): text for name, text in inputs.items()}}
    context = {f"inputs.{name}": text for name, text in given.items()}
    context |= {"github.token": token, "github.event.pull_request.number": number}
    job = Job()

    def filled(text: str) -> str:
        # Twice, since a default is an expression as well.
        for _ in range(2):
            text = EXPRESSION.sub(lambda found: context[found[1]], text)
        return text

    for item in ACTION["runs"]["steps"]:
        wanted = re.fullmatch(
            r"(?:\$\{\{ )?(!cancelled\(\) && )?inputs\.step == '(\w+)'(?: \}\})?", item["if"]
        )
        assert wanted is not None, item["if"]
        runs = wanted[2] == step and (wanted[1] is not None or job.code == 0)
        outcome = "skipped"
        if runs and "uses" in item:
            job.uploads.append(folder / filled(item["with"]["path"]))
        elif runs:
            script = folder / ".step.sh"
            script.write_text(item["run"])
            bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
            own = {name: filled(str(text)) for name, text in item["env"].items()}
            place = folder / filled(item["working-directory"])
            outcome = "success" if job.run(bash, place, {**env, **own}) else "failure"
        if "id" in item:
            context[f"steps.{item['id']}.outcome"] = outcome
    return job


def run_template(
    name: str, folder: Path, env: Mapping[str, str], shell: str, **variables: str
) -> Job:
    """Run a job of the template in a checkout."""
    item: dict[str, Any] = TEMPLATE[name]
    given = {**TEMPLATE[item["extends"]]["variables"], **env, **variables}
    own = {
        key: re.sub(r"\$\{?(\w+)\}?", lambda found: given[found[1]], str(text))
        for key, text in given.items()
    }
    job = Job()
    job.run([shell, "-ec", "\n".join(item["script"])], folder, own)
    job.uploads = [folder / path for path in item.get("artifacts", {}).get("paths", [])]
    return job
