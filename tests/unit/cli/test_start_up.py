"""What a verb that reads may load: the rooms and the packages that reading history takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.warehouse import Warehouse

PACKAGE = "dbt.adapters.vcs."
ROOMS = {
    "cli",
    "commands",
    "core",
    "changes.diffs.matched_columns",
    "changes.diffs.summaries",
    "engines.methods",
    "changes.merges.conflicts.open_merges",
    "changes.merges.conflicts.policy",
    "table.compare.comparison",
    "table.in_process",
    "table.limits",
    "sql.syntax",
    "variables",
    "workspace.overlay",
    "workspace.points",
    "workspace.run_branch",
    "workspace.shared_run",
    "yaml_text",
}
"""Rooms, and single modules of those that do more than read history."""
PACKAGES = {"click", "dbt", "msgspec", "typing_extensions", "zstandard"}
READING = (
    ("log",),
    ("status",),
    ("branch", "list"),
    ("tag", "list"),
    ("snapshot", "list"),
    ("show", "main"),
    ("conflicts", "main"),
    ("runs", "list"),
    ("lineage", "shop.a"),
    ("diff", "main~1", "main"),
    ("diff", "main~1", "main", "shop.b", "--stat"),
)
LISTING = """
import sys
before = set(sys.modules)
from dbt.adapters.vcs.cli import main
try:
    main({arguments!r}, standalone_mode=False)
finally:
    print(*sys.modules.keys() - before, file=sys.stderr)
"""


def loaded(*arguments: str) -> set[str]:
    """Return the modules that a command loads, besides those that Python starts with."""
    code = LISTING.format(arguments=["-r", "warehouse", *arguments])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stderr.split())


def strays_of(modules: set[str]) -> set[str]:
    """Return our modules that lie in no room of those that may be loaded."""
    ours = {name.removeprefix(PACKAGE) for name in modules if name.startswith(PACKAGE)}
    known = ROOMS | {"__version__"}
    allowed = {name for name in ours if any(f"{name}.".startswith(f"{room}.") for room in known)}
    # A package is loaded on the way to its modules; what is in it counts.
    ways = {
        "changes",
        "changes.diffs",
        "engines",
        "changes.merges",
        "changes.merges.conflicts",
        "changes.merges.rowwise",
        "table",
        "table.compare",
        "sql",
        "workspace",
    }
    return ours - allowed - ways


def packages_of(modules: set[str]) -> set[str]:
    """Return the distributions' top-level names, without the standard library."""
    names = {name.partition(".")[0] for name in modules}
    return {name for name in names - sys.stdlib_module_names if not name.startswith("_")}


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_a_verb_that_reads_history_loads_only_what_that_takes(
    warehouse: Warehouse, arguments: tuple[str, ...]
) -> None:
    warehouse.put(a="1 2")
    # Where rows only come, manifests count them; `show` reads rows where some went, too.
    warehouse.put(a="1 2", b="1 2 3")
    modules = loaded(*arguments)
    assert f"{PACKAGE}core.repository" in modules
    assert not strays_of(modules)
    assert packages_of(modules) <= PACKAGES
    assert "urllib.request" not in modules


def test_a_profile_without_jinja_is_read_with_yaml_alone(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    target = f"{{type: vcs, schema: shop, repository: {warehouse.blobs.uri}}}"
    (tmp_path / "profiles.yml").write_text(f"shop: {{outputs: {{default: {target}}}}}\n")
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", LISTING.format(arguments=["log"])],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    modules = set(done.stderr.split())
    assert f"{PACKAGE}commands.profile" in modules
    assert not strays_of(modules)
    assert packages_of(modules) <= PACKAGES | {"cython_runtime", "yaml"}


def test_the_version_is_shown_without_looking_for_installed_packages() -> None:
    code = (
        "import sys\n"
        "from dbt.adapters.vcs.cli import main\n"
        "main(['--version'], standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    modules = set(done.stderr.split())
    assert done.stdout.startswith("dbt-vcs, version ")
    assert not {"importlib.metadata", "msgspec", "obstore", "yaml", "rich"} & modules
    assert not any(name.startswith(f"{PACKAGE}commands.session") for name in modules)
