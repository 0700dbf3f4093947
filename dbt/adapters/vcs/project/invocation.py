"""Facts about the current dbt invocation."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from dbt.adapters.contracts.connection import AdapterRequiredConfig
from dbt_common.invocation import get_invocation_id

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.commands.options import Settings

_FRESHNESS = "source freshness"
_WRITING = frozenset(
    {"build", "clone", "run", "run-operation", "seed", "snapshot", "test", _FRESHNESS}
)
_TESTING = frozenset({"build", "test"})
# Macros of this package whose statement changes nothing if it is asked for a dry run.
_DRY = frozenset({"snapshot_merge", "snapshot_pick"})
_COMPILING = frozenset({"compile", "docs generate"})
_BUILDING = frozenset({"build", "run", "seed", "snapshot", "test"})
_TYPED = {
    "freshness": _FRESHNESS,
    "snapshot-freshness": _FRESHNESS,
    "generate": "docs generate",
}
"""dbt's names of sub-commands that consist of two words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One dbt command.

    Attributes:
        id: dbt's invocation id.
        command: The sub-command that does the work, as typed; for `retry`, the one that is
            retried. Empty if no command is running and a program uses the adapter directly.
        target: Name of the profile target.
        project_root: Folder of the project.
        retry_of: Invocation id of the run that `dbt retry` resumes, or None.
        dbt_version: Version of dbt-core.
        runs_hooks: False if dbt's flag `source_freshness_run_project_hooks` is, for that command.
        refreshes: True with `--full-refresh`.
        is_empty: True with `--empty`.
        is_dry: True for the dry run of a statement that an operation makes.
        operation: What names an operation in the records of a shared run: its macro, and a digest
            of its arguments if it has any; empty for other commands.
        reuse: What dbt's variable `vcs_reuse` says; None if it isn't set.
        options: The options of the command line that chose profile and target.
    """

    id: str
    command: str
    target: str
    project_root: Path
    retry_of: str | None
    author: str
    dbt_version: str
    runs_hooks: bool = True
    refreshes: bool = False
    is_empty: bool = False
    is_dry: bool = False
    operation: str = ""
    reuse: Any = None
    options: Settings = field(default_factory=Settings)

    @property
    def is_direct(self) -> bool:
        """True if no command is running, so that no result of dbt will ever publish a run."""
        return not self.command

    @property
    def is_read_only(self) -> bool:
        """True for the commands that only read: compile, show, list, docs, parse, dry runs."""
        return not self.is_direct and (self.is_dry or self.command not in _WRITING)

    @property
    def is_compiling(self) -> bool:
        """True for the commands that render every model and run what its Jinja sends."""
        return self.command in _COMPILING

    @property
    def is_testing(self) -> bool:
        """True for the commands that run tests: build and test."""
        return self.command in _TESTING

    @property
    def is_building(self) -> bool:
        """True for the commands that create tables for nodes, as `test` does for failures."""
        return self.command in _BUILDING

    @property
    def is_operation(self) -> bool:
        """True for run-operation."""
        return self.command == "run-operation"

    @property
    def is_freshness(self) -> bool:
        """True for source freshness, where only project hooks write."""
        return self.command == _FRESHNESS

    def git_sha(self) -> str | None:
        """Return the commit of the project's git repository, or None if it has none.

        It ends in `-dirty`, as in `git describe --dirty`, if files of the project differ from
        what is committed. New files that git doesn't ignore count: dbt runs them.
        """
        head = self._git("rev-parse", "HEAD")
        # This folder only: a project may be a part of a larger repository.
        changes = self._git("status", "--porcelain", "--", ".") if head else None
        return f"{head}-dirty" if changes else head

    def _git(self, *words: str) -> str | None:
        """Return what git says in the project's folder; None if it fails or isn't there."""
        try:
            done = subprocess.run(
                # Else `status` writes the index, under a lock that the user's own git may want.
                ["git", "--no-optional-locks", *words],
                cwd=self.project_root,
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None


def current_invocation(config: AdapterRequiredConfig) -> Invocation:
    """Return the facts about the dbt command that is running.

    Every dbt command, including dbtRunner's, has a click context; dbt's flags name some command
    even if none is running.
    """
    from dbt import flags as dbt_flags

    flags: Any = dbt_flags.get_flags()  # type: ignore[no-untyped-call]
    retry_of = None
    macro, arguments = getattr(flags, "MACRO", None), getattr(flags, "ARGS", None)
    context = click.get_current_context(silent=True)
    command = getattr(flags, "WHICH", None) or "unknown" if context is not None else ""
    if context is not None and context.command.name == "retry":
        # `retry` runs what the last command ran, and its record says what that was.
        previous = _previous_run(config, getattr(flags, "STATE", None))
        retry_of = previous.get("metadata", {}).get("invocation_id")
        retried = previous.get("args", {})
        command = retried.get("which", command)
        macro, arguments = retried.get("macro"), retried.get("args")
    return Invocation(
        id=get_invocation_id(),
        command=_TYPED.get(command, command),
        target=getattr(config, "target_name", ""),
        project_root=Path(getattr(config, "project_root", ".")),
        retry_of=retry_of,
        author=variables.author(),
        dbt_version=_dbt_version(),
        runs_hooks=bool(getattr(flags, "source_freshness_run_project_hooks", True)),
        refreshes=bool(getattr(flags, "FULL_REFRESH", False)),
        is_empty=bool(getattr(flags, "EMPTY", False)),
        is_dry=command == "run-operation" and _is_dry(macro, arguments),
        operation=_operation(macro, arguments) if command == "run-operation" else "",
        reuse=_variables(config).get("vcs_reuse"),
        options=_options(context),
    )


def _options(context: click.Context | None) -> Settings:
    """Return the options of a dbt command that chose profile and target, if they were typed."""

    def typed(name: str) -> str | None:
        is_typed = context is not None and (
            context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        )
        value = context.params.get(name) if context is not None and is_typed else None
        return None if value is None else str(value)

    return Settings(
        project_dir=typed("project_dir"),
        profiles_dir=typed("profiles_dir"),
        profile=typed("profile"),
        profile_target=typed("target"),
    )


def _is_dry(macro: Any, given: Any) -> bool:
    # dbt takes the name of the macro's package in front, too.
    is_known = isinstance(macro, str) and macro.rpartition(".")[2] in _DRY
    return is_known and isinstance(given, Mapping) and bool(given.get("dry_run"))


def _operation(macro: Any, given: Any) -> str:
    if not given:
        return f"run-operation {macro}"
    # Two of one macro may both be parts of a run. Arguments may be long, or secret.
    text = json.dumps(given, sort_keys=True, default=str)
    return f"run-operation {macro}.{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _variables(config: AdapterRequiredConfig) -> Mapping[str, Any]:
    """Return dbt's variables for the whole project, those of the command line last."""
    project: Any = getattr(config, "vars", None)
    found = dict(project.to_dict()) if project is not None else {}
    return {**found, **(getattr(config, "cli_vars", None) or {})}


def _previous_run(config: AdapterRequiredConfig, state: Any) -> Mapping[str, Any]:
    folder = Path(state) if state else Path(getattr(config, "target_path", "target"))
    path = Path(getattr(config, "project_root", ".")) / folder / "run_results.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        # dbt itself reports what is wrong with a run that can't be retried.
        return {}
    return found if isinstance(found, dict) else {}


def _dbt_version() -> str:
    from dbt.version import __version__

    return str(__version__)
