"""Source rules no linter checks: who may import whom."""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGE = "dbt.adapters.vcs"
SOURCES = sorted((CHECKOUT / PACKAGE.replace(".", "/")).rglob("*.py"))
MAX_COMPLEXITY = 15
# Lowest first. A room imports from lower rows only, and knows nothing of its neighbours on a row.
# A module named here lies on another floor than its room.
FLOORS = (
    {"core"},
    {"variables", "yaml_text"},
    {"table", "sql.syntax"},
    {"engines"},
    {"credentials"},
    {"workspace"},
    {"changes"},
    {"iceberg", "hooks"},
    {"sql"},
    {"reuse"},
    {"workspace.lines"},
    {"client", "iceberg.serve"},
    {"commands"},
    {"api", "relation"},
    # These stand on the API.
    {"commands.prepare", "commands.sql"},
    {"cli"},
    {"project"},
    {"connections"},
    {"impl"},
)
FLOOR_OF = {name: floor for floor, row in enumerate(FLOORS) for name in row}
CONCRETE = tuple(f"{PACKAGE}.engines.{room}" for room in ("connect", "dataframes", "spark"))
FOREIGN_TO_CORE = {"dbt", "dbt_common", "pyspark", "agate", "sqlglot"}
BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.match_case)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported_by(path: Path) -> frozenset[str]:
    """Return the dotted names that a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def place_of(dotted: str) -> str:
    """Return the room of a module, or the module itself if it has a floor of its own."""
    parts = dotted.removeprefix(PACKAGE).strip(".").split(".")
    own = ".".join(parts[:2])
    return own if own in FLOOR_OF else parts[0]


def test_rooms_import_from_lower_floors_only() -> None:
    climbing = [
        f"{module_of(path)} must not import {name}, which isn't below it"
        for path in SOURCES
        for here in [place_of(module_of(path))]
        for name in imported_by(path)
        if name.startswith(f"{PACKAGE}.") and (there := place_of(name)) != here
        # A name without a floor lies in the package's own module.
        if there in FLOOR_OF and FLOOR_OF[there] >= FLOOR_OF.get(here, len(FLOORS))
    ]
    assert not climbing, climbing


def test_every_room_has_a_floor() -> None:
    there = {place_of(module_of(path)) for path in SOURCES} - {"", "__version__"}
    assert there == set(FLOOR_OF)


def test_only_the_engines_know_a_concrete_one() -> None:
    known = [
        (module_of(path), name)
        for path in SOURCES
        if not module_of(path).startswith(f"{PACKAGE}.engines.")
        for name in imported_by(path)
        if name.startswith(CONCRETE)
    ]
    assert not known, "ask for a protocol of engines.port, or engines.factory for an engine"


def test_core_knows_neither_dbt_nor_spark() -> None:
    ours = f"{PACKAGE}.core.", f"{PACKAGE}.__version__."
    foreign = [
        (module_of(path), name)
        for path in SOURCES
        if place_of(module_of(path)) == "core"
        for name in imported_by(path)
        if name.split(".")[0] in FOREIGN_TO_CORE and not f"{name}.".startswith(ours)
    ]
    assert not foreign


@pytest.mark.parametrize("module", ["engines", "engines.port", "engines.factory", "credentials"])
def test_spark_is_not_loaded_before_an_engine_is_made(module: str) -> None:
    code = f"import sys, {PACKAGE}.{module}; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_nothing_imports_in_a_circle() -> None:
    modules = {module_of(path): path for path in SOURCES}
    imports = {
        name: {
            found if found in modules else found.rpartition(".")[0]
            for found in imported_by(path)
            if found.startswith(PACKAGE)
        }
        - {name}
        for name, path in modules.items()
    }
    list(TopologicalSorter(imports).static_order())


def test_a_name_means_one_thing() -> None:
    # A public class in the package, a module in its room.
    classes = [
        node.name
        for path in SOURCES
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    modules = [
        f"{place_of(module_of(path)).partition('.')[0]}/{path.stem}"
        for path in SOURCES
        if path.name != "__init__.py"
    ]
    twice = Counter(classes) + Counter(modules)
    assert not [name for name, count in twice.items() if count > 1]


def test_no_package_has_a_module_that_holds_nothing() -> None:
    # Python needs none, and `docs/architecture.md` says what each package is for.
    empty = [
        module_of(path)
        for path in SOURCES
        if path.name == "__init__.py"
        and all(isinstance(node, ast.Expr) for node in parsed(path).body)
    ]
    assert not empty, empty


def complexity(function: ast.AST) -> int:
    """McCabe's number with the operators `and`, `or` and comprehensions counted, too."""
    total = 1
    for node in ast.walk(function):
        total += isinstance(node, BRANCHES)
        if isinstance(node, ast.comprehension):
            total += 1 + len(node.ifs)
        elif isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
    return total


def test_functions_stay_simple() -> None:
    assert not [
        (module_of(path), node.name, count)
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef) and (count := complexity(node)) > MAX_COMPLEXITY
    ]
