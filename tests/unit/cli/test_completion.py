"""Shells complete commands, options and names, by the scripts that the command prints."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call
from tests.unit.warehouse import Warehouse

ODD = "feature/it's;$(touch_me)&a"


@pytest.fixture
def path(warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `dbt-vcs` on the PATH, of a repository with branches, tags, tables and a run."""
    warehouse.put(orders="1 2", items="1")
    warehouse.branch("feature/tax")
    warehouse.branch("feature/vat")
    warehouse.branch("runs/0d7c1f0e")
    warehouse.repository.create_tag("v1", warehouse.head(), author="ann")
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "dbt-vcs"
    command.write_text(
        f"#!{sys.executable}\nfrom dbt.adapters.vcs.cli import main\nmain(prog_name='dbt-vcs')\n"
    )
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DBT_VCS_REPOSITORY", "warehouse")
    return folder


def in_shell(shell: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [shell, *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def in_bash(line: str) -> list[str]:
    """Return what bash is given to put in the place of the last part of a line."""
    script = (
        'eval "$(dbt-vcs completion bash)"; '
        f"COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}; "
        '_dbt_vcs; (( ${#COMPREPLY[@]} == 0 )) || printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return in_shell("bash", "--norc", "-c", script)


def in_zsh(*words: str) -> list[str]:
    """Return the words that zsh is given, for the last one on the line."""
    script = (
        "compdef() { :; }; _files() { print -r -- FILES; }; "
        'compadd() { print -rl -- "${names[@]}"; }; '
        'eval "$(dbt-vcs completion zsh)"; '
        f"words=({shlex.join(words)}); CURRENT=$#words; PREFIX=$words[-1]; _dbt_vcs"
    )
    return in_shell("zsh", "-f", "-c", script)


def in_fish(line: str) -> list[str]:
    """Return the words that fish offers for the end of a line, without their help."""
    script = f"dbt-vcs completion fish | source; complete -C {shlex.quote(line)}"
    return [text.partition("\t")[0] for text in in_shell("fish", "--no-config", "-c", script)]


needs_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
needs_fish = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")

LINES = [
    ("mer", ["merge"]),
    ("branch de", ["delete"]),
    ("merge --dry", ["--dry-run"]),
    ("merge feat", ["feature/tax", "feature/vat"]),
    ("merge feature/tax ma", ["main"]),
    ("merge v", ["v1"]),
    ("diff main...feature/t", ["main...feature/tax"]),
    ("diff --shape th", ["three_way"]),
    ("cat shop.o", ["shop.orders"]),
    ("cat shop.orders --at v", ["v1"]),
    ("cat shop.orders --at=v", ["--at=v1"]),
    ("tag delete v", ["v1"]),
    ("branch delete v", []),
    ("branch create fea", []),
    ("show runs/", ["runs/0d7c1f0e"]),
    ("runs discard 0d", ["0d7c1f0e"]),
    ("lineage shop.orders@ma", ["shop.orders@main"]),
    ("nothing at all", []),
    ("-r nowhere merge ma", []),
    ("completion z", ["zsh"]),
]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("line", "expected"), LINES)
def test_a_line_is_completed(call: Call, line: str, expected: list[str]) -> None:
    *words, begun = line.split(" ")
    given = [f"--words={word}" for word in (*words, begun)]
    found = call("completion", "zsh", *given).stdout.splitlines()
    assert [text.partition("\t")[0] for text in found] == expected


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dbt-vcs mer", ["merge"]),
        ("dbt-vcs merge feat", ["feature/tax", "feature/vat"]),
        ("dbt-vcs merge 'feat", ["feature/tax", "feature/vat"]),
        ("dbt-vcs -r ware\\house merge feature/t", ["feature/tax"]),
        # Bash sees words that end at these characters, and replaces the last one only.
        ("dbt-vcs lineage shop.orders@ma", ["main"]),
        ("dbt-vcs cat shop.orders --at=v", ["v1"]),
        ("dbt-vcs nothing ", []),
    ],
)
def test_bash_completes(line: str, expected: list[str]) -> None:
    found = in_bash(line)
    assert [text for text in found if not text.startswith("-")] == expected


@pytest.mark.usefixtures("path")
def test_bash_gets_odd_names_as_they_have_to_be_typed(warehouse: Warehouse) -> None:
    warehouse.branch(ODD)
    (quoted,) = in_bash("dbt-vcs merge feature/i")
    assert quoted != ODD
    assert shlex.split(quoted) == [ODD]
    # A quote can't hold itself.
    assert in_bash("dbt-vcs merge 'feature/i") == []
    assert in_bash('dbt-vcs merge "feature/i') == []


@needs_zsh
@pytest.mark.usefixtures("path")
def test_zsh_completes(warehouse: Warehouse) -> None:
    warehouse.branch(ODD)
    assert in_zsh("dbt-vcs", "mer") == ["merge"]
    assert in_zsh("dbt-vcs", "merge", "feature/") == [ODD, "feature/tax", "feature/vat"]
    assert in_zsh("dbt-vcs", "lineage", "shop.orders@v") == ["shop.orders@v1"]
    assert in_zsh("dbt-vcs", "copy", "a") == ["FILES"]


@needs_fish
@pytest.mark.usefixtures("path")
def test_fish_completes(warehouse: Warehouse, folder: Path) -> None:
    warehouse.branch(ODD)
    (folder / "afile").touch()
    assert in_fish("dbt-vcs mer") == ["merge"]
    assert in_fish("dbt-vcs merge feature/") == [ODD, "feature/tax", "feature/vat"]
    assert in_fish("dbt-vcs lineage shop.orders@v") == ["shop.orders@v1"]
    assert in_fish("dbt-vcs copy afi") == ["afile"]


def test_nothing_is_offered_and_nothing_said_where_there_is_no_repository(call: Call) -> None:
    result = call("completion", "fish", "--words=merge", "--words=ma")
    assert result.output == ""


@pytest.mark.usefixtures("path")
def test_names_are_completed_without_what_computes_rows() -> None:
    code = (
        "import sys\nfrom dbt.adapters.vcs.cli import main\n"
        "try: main(['completion', 'zsh', '--words=cat', '--words=shop.'])\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines() == ["shop.items", "shop.orders"]
    loaded = set(done.stderr.split())
    assert not loaded & {"pyarrow", "pandas", "numpy", "duckdb", "pyspark", "dbt.cli", "rich"}
