"""The package in `hub/`: its macros are those that the adapter's give, and its name is its own."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

CHECKOUT = Path(__file__).parents[3]
HUB = CHECKOUT / "hub"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hub_generate", HUB / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_macros_are_made_from_those_of_the_adapter(generate: ModuleType) -> None:
    wanted = generate.macros()
    found = {
        path.name: path.read_text(encoding="utf-8") for path in (HUB / "macros").glob("*.sql")
    }
    found.pop("check_adapter.sql")
    assert found == wanted, "Run python hub/generate.py, and commit what it changes."
    tests = {path.name for path in (CHECKOUT / "macros/tests").glob("diff_*.sql")}
    assert set(wanted) == tests | {"at.sql", "changes.sql", "snapshot_diff.sql"}
    for name, text in wanted.items():
        own = re.findall(r"check_adapter\('(\w+)'\)", text)
        assert own == [name.removesuffix(".sql")]
        # What computes stays with the adapter.
        assert re.findall(r"\bdefault__(?:test_)?(\w+)\(", text) == own
        assert "dispatch" not in text and "{% macro default__" not in text


def test_its_name_is_its_own_and_its_version_the_adapters() -> None:
    settings = yaml.safe_load((HUB / "dbt_project.yml").read_text(encoding="utf-8"))
    adapter = yaml.safe_load((CHECKOUT / "dbt_project.yml").read_text(encoding="utf-8"))
    # Two packages of one name are an error for dbt.
    assert settings["name"] != adapter["name"]
    assert settings["version"] == adapter["version"]
    # The adapter knows tests of this name as its own.
    where = (CHECKOUT / "macros/tests/get_where_subquery.sql").read_text(encoding="utf-8")
    assert f"'{settings['name']}'" in where
