"""The tiers: what is listed exists, each test is of one, and what none runs can be imported."""

import ast
import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tiers import SLOW, VARIANTS, in_share

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("listed", [*SLOW, *VARIANTS])
def test_what_is_listed_exists(listed: str) -> None:
    path, _, name = listed.partition("::")
    place = TESTS / path
    assert place.exists()
    if name:
        for part in name.split("::"):
            assert re.search(rf"^ *(def|class) {part}\b", place.read_text(), re.MULTILINE)


def test_make_and_ci_run_each_tier_once() -> None:
    makefile = (TESTS.parent / "Makefile").read_text()
    assert re.findall(r"PYTEST\) -m \"(.*?)\"", makefile) == [
        "$(MARKED)",
        "not conformance and (slow or hypothesis)",
        # What is measured is the first tier.
        "$(MARKED)",
    ]
    # Another selection is for other series of dbt-core.
    assert "\nMARKED ?= not conformance and not slow\n" in makefile
    assert (TESTS.parent / ".ci" / "run").read_text().endswith("lint test test-rest SHARE=3\n")


def test_each_file_has_its_turn_and_is_run_whole() -> None:
    files = [f"tests/{listed.partition('::')[0]}" for listed in SLOW]
    for seed in map(str, range(10)):
        chosen = [file for file in files if in_share(f"{file}::one", 2, seed)]
        assert chosen == [file for file in files if in_share(f"{file}::other[1]", 2, seed)]
        assert len(files) / 4 < len(chosen) < 3 * len(files) / 4
    assert all(any(in_share(f"{file}::one", 2, str(n)) for n in range(20)) for file in files)
    assert all(in_share(f"{file}::one", 1, "7") for file in files)


@pytest.mark.parametrize("folder", ["benchmarks", "integration_tests"])
def test_what_no_tier_runs_imports_what_there_is(folder: str) -> None:
    missing = []
    for path in (TESTS.parent / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "dbt.adapters."
            ):
                missing += [f"{path}: {name}" for name in _missing_names(node)]
    assert missing == []


def _missing_names(node: ast.ImportFrom) -> list[str]:
    assert node.module is not None
    if find_spec(node.module) is None:
        return [node.module]
    module = importlib.import_module(node.module)
    return [
        f"{node.module}.{alias.name}"
        for alias in node.names
        if not hasattr(module, alias.name)
        and not (hasattr(module, "__path__") and find_spec(f"{node.module}.{alias.name}"))
    ]
