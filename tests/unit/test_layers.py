"""Source rules no linter checks: who may import whom, and how long a file may grow."""

import ast
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGE = "dbt.adapters.vcs"
SOURCES = sorted((CHECKOUT / PACKAGE.replace(".", "/")).rglob("*.py"))
MAX_LINES = 400

# Lowest first. A module imports from lower rows only; neighbours on a row stay strangers.
LAYERS = (
    {"core.errors", "core.ids", "variables"},
    {"storage"},
    {"core.model"},
    {"core.codec"},
    {"core.store", "core.history", "core.plan"},
    {"core.header", "core.treereader", "core.commits", "core.retry"},
    {"core.branches"},
    {"core.landing", "core.resolver", "core.snapshotnames"},
    {"core.repository"},
    {"core.tableversions", "core.retention", "core.lineage"},
    {"core.collection"},
    {"statements", "engines"},
    {"changes"},
    {"workspace", "seeds"},
    {"statistics"},
    {
        "credentials",
        "configs",
        "relation",
        "column",
        "invocation",
        "interruption",
        "project",
        "report",
        "rules",
        "externals",
        "catalog",
        "freshness",
        "seeding",
        "python_models",
    },
    {"advice"},
    {"run", "verbs", "api"},
    {"environment", "events"},
    {"connections"},
    {"impl", "cli"},
)
FOREIGN_TO_CORE = {"dbt", "dbt_common", "pyspark", "agate", "sqlglot"}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")


def imported_by(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def place(dotted: str) -> tuple[int, str] | None:
    for rank, row in enumerate(LAYERS):
        for name in row:
            if f"{dotted}.".startswith(f"{PACKAGE}.{name}."):
                return rank, name
    return None


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_imports_point_down(path: Path) -> None:
    here = place(module_of(path))
    for name in imported_by(path):
        there = place(name)
        if here and there and here[1] != there[1]:
            assert there[0] < here[0], f"{module_of(path)} must not import {name}"


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_every_module_has_a_place(path: Path) -> None:
    # PACKAGE itself tells dbt where the adapter is, its version's number stands beside it.
    if module_of(path) not in (PACKAGE, f"{PACKAGE}.__version__", f"{PACKAGE}.core"):
        assert place(module_of(path)) is not None


@pytest.mark.parametrize("path", [p for p in SOURCES if "core" in p.parts], ids=module_of)
def test_core_knows_neither_dbt_nor_spark(path: Path) -> None:
    ours = f"{PACKAGE}.core."
    foreign = {
        name
        for name in imported_by(path)
        if name.split(".")[0] in FOREIGN_TO_CORE and not f"{name}.".startswith(ours)
    }
    assert not foreign


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES
