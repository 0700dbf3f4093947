from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.unit.cli.conftest import Call
from tests.unit.shelf import Shelf


@pytest.fixture
def shelf(folder: Path) -> Shelf:
    shelf = Shelf(open_blobs(str(folder / "warehouse"), {"fsync": "false"}))
    for name in ("a", "b"):
        shelf.run(f"create table {name} (id int)")
        for number in range(3):
            shelf.append(name, id=[number])
    return shelf


def test_tables_are_named_one_by_one_by_schema_or_all(call: Call, shelf: Shelf) -> None:
    said = call("-r", "warehouse", "optimize", "s.a", "--target-size", "1MB").stdout
    assert "3 -> 1" in said and "Optimized 1 table on main" in said
    assert len(shelf.blocks("b")) == 3
    found = json.loads(call("-r", "warehouse", "optimize", "--schema", "s", "--json").stdout)
    assert [table["relation"] for table in found["tables"]] == ["s.b"]
    assert found["tables"][0]["blocks_after"] == len(shelf.blocks("b")) == 1
    said = call("-r", "warehouse", "optimize", "--all").stdout
    assert said == "Nothing to do: 2 tables checked, and no block needs to be rewritten.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "Give the tables to optimize"),
        (["s.nix"], 1, "s.nix"),
        (["--all", "--target-size", "big"], 2, "Expected a size"),
    ],
)
def test_wrong_use_is_told(
    call: Call, shelf: Shelf, arguments: list[str], code: int, text: str
) -> None:
    assert text in call("-r", "warehouse", "optimize", *arguments, code=code).output


def test_a_protected_branch_takes_it(call: Call, shelf: Shelf) -> None:
    call("-r", "warehouse", "branch", "protect", "main")
    call("-r", "warehouse", "optimize", "s.a")
    assert len(shelf.blocks("a")) == 1
