"""The installed command, in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.unit.warehouse import Warehouse

COMMAND = Path(sys.executable).with_name("dbt-vcs")

HEAVY = {
    "dbt_common",
    "dbt.cli",
    "dbt.version",
    "dbt.adapters.base",
    "pyspark",
    "sqlglot",
    "agate",
}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
        encoding="utf-8",
    )


def test_the_command_is_installed(warehouse: Warehouse) -> None:
    assert run("--version").stdout.startswith("dbt-vcs, version ")
    warehouse.put(a="1", message="Première 👩\u200d🚀")
    done = run("-r", "warehouse", "log")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Première 👩\u200d🚀" in done.stdout
    done = run("-r", "nowhere", "log")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert run("nix").returncode == 2


def test_characters_that_the_terminal_lacks_are_spelled(warehouse: Warehouse) -> None:
    warehouse.put(a="1", message="Rocket 🚀")
    done = run("-r", "warehouse", "log", PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Rocket \\U0001f680" in done.stdout


def test_a_reader_that_goes_away_is_no_error(warehouse: Warehouse) -> None:
    process = subprocess.Popen(
        [str(COMMAND), "-r", "warehouse", "log"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.wait(timeout=60)


def loaded(*arguments: str) -> set[str]:
    code = (
        "import sys\n"
        "from dbt.adapters.vcs.cli import main\n"
        f"main({list(arguments)!r}, standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stderr.split())


def test_neither_dbt_nor_spark_is_loaded(warehouse: Warehouse) -> None:
    modules = loaded("-r", "warehouse", "status")
    assert not HEAVY & modules
    # Plain output needs no rich, a given repository no profile.
    assert not {"rich", "jinja2"} & modules


def test_help_loads_next_to_nothing() -> None:
    code = "import sys, dbt.adapters.vcs.cli; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert not {*HEAVY, "obstore", "msgspec", "yaml", "rich"} & set(done.stdout.split())
