"""The page of branches: what waits, failed or is stale, and what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt.adapters.vcs.commands.options import Settings
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.ui_site import UiSite
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.cli.conftest import Call
from tests.unit.tables import Tables
from tests.unit.ui.conftest import TOKEN, Get
from tests.unit.warehouse import Warehouse

HOSTILE = "</script><b>x</b>\u202e"


def row(text: str, branch: str) -> str:
    """Return the visible text of a branch's row."""
    [found] = [
        part for part in re.findall(r"<tr>.*?</tr>", text, re.S) if f">{branch}</a>" in part
    ]
    return " ".join(re.sub(r"<[^>]*>", " ", found).split())


def test_an_empty_repository_has_its_default_branch(get: Get, warehouse: Warehouse) -> None:
    assert "default" in row(get("/").text, "main")


def test_a_branch_shows_what_waits_and_what_failed(
    get: Get, warehouse: Warehouse, call: Call
) -> None:
    tables = Tables(warehouse)
    rows = tables.block({1: "a"})
    orders = tables.entry([rows], key=True)
    revenue = tables.entry([rows], inputs={"shop.orders": orders})
    warehouse.put(orders=orders, revenue=revenue, a="1")
    warehouse.branch("dev")
    warehouse.put("dev", orders=tables.entry([tables.block({2: "b"})], key=True), a="2")
    warehouse.put(a="3")
    warehouse.repository.protect("dev", Protection(("approval",)), author="ann")
    warehouse.run("r1", Status.FAILED, target="dev", note=HOSTILE)
    call("-r", "warehouse", "merge", "dev", "main", code=1)

    text = get("/").text
    found = row(text, "dev")
    assert " 1 1 " in found
    for part in ("protected: approval", "run failed", "1 stale"):
        assert part in found
    assert "merge waiting" in row(text, "main")
    assert "dbt-vcs conflicts main" in text
    assert "<b>x</b>" not in text and "[U+202E]" in text


def test_many_branches_come_in_pages(get: Get, warehouse: Warehouse) -> None:
    for number in range(120):
        warehouse.branch(f"n-{number:03}")
    first, second = get("/").text, get("/", skip="100").text
    assert ">n-098</a>" in first and ">n-099</a>" not in first and "Further branches" in first
    assert ">n-099</a>" in second and "Earlier branches" in second


@pytest.mark.parametrize("skip", ["-1", "x", "1e9", "٣", "9" * 20])
def test_a_place_in_the_list_is_a_number(get: Get, skip: str) -> None:
    assert "Expected skip from 0" in get("/", 400, skip=skip).text


def test_the_rules_of_the_project_hold_from_when_they_are_written(
    folder: Path, warehouse: Warehouse
) -> None:
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (folder / "profiles.yml").write_text(
        "shop: {outputs: {default: {type: vcs, schema: shop, repository: ./warehouse}}}\n"
    )
    site = UiSite(CommandSession(Settings()), token=TOKEN, port=1)
    (folder / "vcs.yml").write_text("branches: {main: {protected: true}}\n")
    assert site.session().rules.protection_of("main") == Protection()
    (folder / "vcs.yml").write_text("branches: {}\n")
    assert site.session().rules.protection_of("main") is None
