"""Help and usage errors load nothing of what a verb runs, and are those of the verb itself."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from typing import Any

import click
import pytest

from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode
from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.commands import COMMANDS
from dbt.adapters.vcs.commands.signatures import command_of

HEAVY = {
    "agate",
    "dbt.cli",
    "duckdb",
    "jinja2",
    "numpy",
    "obstore",
    "pandas",
    "pyarrow",
    "pyspark",
    "rich",
    "starlette",
    "yaml",
}
PACKAGE = "dbt.adapters.vcs"
OURS = {
    f"{PACKAGE}.{name}" for name in ("commands.session", "core.repository", "engines", "table")
}
# A process for all of them would be quicker, and would not see what the first one loads.
ASKING = """
import json, sys
from dbt.adapters.vcs.cli import main
try:
    main({words!r}, prog_name="dbt-vcs")
except SystemExit as end:
    print(json.dumps([end.code, sorted(sys.modules)]), file=sys.stderr)
"""
MISTAKES = (
    "merge --nothing",
    "merge",
    "merge --abort main dev",
    "merge --continue main --ff-only",
    "promote",
    "resolve",
    "resolve --all main dev",
    "restore",
    "restore --all",
    "revert",
    "revert main -m 1",
    "cherry-pick",
    "cherry-pick dev -m 2",
    "cherry-pick --continue dev",
    "clone shop.a",
    "purge",
    "blame shop.a",
    "bisect main",
    "reuse drop",
    "reuse nothing",
    "review --format nothing",
    "forecast --nothing",
    "export --nothing",
    "optimize --nothing",
    "copy a",
    "fsck --sample 1%",
    "repair --dry-run",
    "prepare --nothing",
    "sql",
    "cat",
    "gc --force",
    "runs discard",
    "lineage shop.a@main -b dev",
    "conflicts --limit 3",
    "diff --stat --limit 3",
    "merg",
)


def ask(*words: str) -> tuple[int, str, set[str]]:
    """Return the exit code, what a command wrote, and the modules that it loaded."""
    code = ASKING.format(words=list(words))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    *told, last = done.stderr.splitlines()
    exit_code, modules = json.loads(last)
    return exit_code, done.stdout + "\n".join(told), set(modules)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_loads_nothing_of_what_a_verb_runs(name: str) -> None:
    exit_code, told, modules = ask(name, "--help")
    assert exit_code == 0
    assert f"Usage: dbt-vcs {name}" in told
    assert not modules & HEAVY
    assert not modules & OURS


@pytest.mark.parametrize("line", MISTAKES)
def test_a_usage_error_loads_nothing_of_what_a_verb_runs(line: str) -> None:
    exit_code, told, modules = ask(*line.split())
    assert exit_code == 2
    assert "Error: " in told
    assert not modules & HEAVY
    assert not modules & OURS


def described(command: click.Command) -> Any:
    """Return what a command takes, and its commands."""
    # A command keeps the first help option that it makes.
    root = click.Context(main, **main.context_settings)
    with click.Context(command, info_name=command.name, parent=root) as context:
        told = command.to_info_dict(context)
    return told | {"class": type(command).__qualname__, "check": hasattr(command, "check")}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_read_of_a_file_is_what_its_command_takes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = name.replace("-", "_")
    file = {"promote": "merge", "upgrade": "init"}.get(name, name)
    module = import_module(f"{PACKAGE}.commands.{file}")
    own = getattr(module, f"{name}_command")
    # As in a process that has not loaded the file yet.
    monkeypatch.delitem(sys.modules, module.__name__)
    command_of.cache_clear()
    read = command_of(module.__name__, f"{name}_command")
    command_of.cache_clear()
    assert read is not own
    assert described(read) == described(own)


def test_a_command_is_taken_as_it_is_where_there_is_no_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = import_module(f"{PACKAGE}.commands.du")
    monkeypatch.delitem(sys.modules, module.__name__)
    monkeypatch.setattr(SourceFileLoader, "get_source", lambda loader, name: None)
    command_of.cache_clear()
    try:
        command = main.get_command(click.Context(main), "du")
        assert command is sys.modules[module.__name__].du_command
    finally:
        command_of.cache_clear()


@pytest.mark.parametrize("name", ["merge", "promote", "cherry-pick"])
def test_a_command_takes_every_mode_of_conflicts(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    (taken,) = (param.type for param in command.params if param.name == "on_conflict")
    assert isinstance(taken, click.Choice)
    assert list(taken.choices) == [mode.value for mode in Mode]
