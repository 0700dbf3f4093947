"""A dbt project of two tables that must agree, and what runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from dbt.cli.main import dbtRunner, dbtRunnerResult

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.workspace.run_branch import RunBranch, runs

SPARK = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "2g",
}
MODELS = {
    "models/a.sql": "{{ config(materialized='table') }} select {{ var('n', 1) }} as n",
    "models/b.sql": (
        "{{ config(materialized='table') }} select {{ var('n', 1) }} as n from {{ ref('a') }}"
    ),
}


def unaimed(text: str) -> str:
    """Return what was said without the options that chose the project, which commands repeat."""
    return re.sub(r" --(?:project-dir|profiles-dir) \S+?(?=[.;,]?(?:\s|$))", "", text)


@dataclass
class Shop:
    """A project folder with a repository next to it."""

    root: Path
    profile: dict[str, Any] = field(default_factory=dict)

    @property
    def warehouse(self) -> Path:
        return self.root / "warehouse"

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def write_profile(self, **changes: Any) -> None:
        self.profile.update(changes)
        output = {
            "type": "vcs",
            "repository": str(self.warehouse),
            "branch": "main",
            "schema": "analytics",
            "threads": 2,
            "spark_config": SPARK,
            **self.profile,
        }
        self.write(
            {"profiles.yml": yaml.safe_dump({"shop": {"target": "t", "outputs": {"t": output}}})}
        )

    def dbt(
        self, *args: str, callbacks: list[Callable[[Any], None]] | None = None, **vars: Any
    ) -> dbtRunnerResult:
        """Run dbt in this process."""
        return dbtRunner(callbacks=callbacks or []).invoke([*args, *self._flags(vars)])

    def start(self, *args: str, **vars: Any) -> subprocess.Popen[str]:
        """Start dbt in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "dbt.cli.main", *args, *self._flags(vars)],
            cwd=self.root,
            env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A shell's background jobs ignore Ctrl-C, and so would everything that they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def _flags(self, vars: Mapping[str, Any]) -> list[str]:
        flags = ["--project-dir", str(self.root), "--profiles-dir", str(self.root)]
        return [*flags, "--vars", json.dumps(vars)] if vars else flags

    @property
    def repository(self) -> Repository:
        return Repository.open(open_blobs(str(self.warehouse)))

    def head(self, branch: str = "main") -> CommitId:
        return self.repository.branch(branch).head

    def runs(self) -> list[RunBranch]:
        return runs(self.repository)

    def connect(self, branch: str = "main") -> Client:
        return connect(str(self.warehouse), branch, spark=SPARK)

    def value(self, text: str, branch: str = "main") -> Any:
        """Return the one value of a query."""
        with self.connect(branch) as client:
            (row,) = client.sql(text).to_pylist()
            (value,) = row.values()
            return value

    def relations(self, branch: str = "main") -> set[str]:
        tree = self.repository.tree(self.head(branch))
        return {f"{s}.{r}" for s in tree.schemas() for r in tree.relations(s)}


def make_shop(root: Path, files: Mapping[str, str] = MODELS, **profile: Any) -> Shop:
    shop = Shop(root)
    shop.write(
        {
            "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\n"
            "flags: {send_anonymous_usage_stats: false}\n",
            **files,
        }
    )
    shop.write_profile(**profile)
    return shop
