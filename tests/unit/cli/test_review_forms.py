"""`dbt-vcs review` writes the form that is asked for, and says where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call
from tests.unit.warehouse import Warehouse

HOSTILE = "select '</script><img src=x onerror=alert(1)>' as a"


@pytest.fixture(autouse=True)
def views(warehouse: Warehouse) -> None:
    warehouse.put(v=warehouse.view("select 1 as a"))
    warehouse.branch("dev")
    warehouse.put("dev", v=warehouse.view(HOSTILE))


def test_a_page_is_written_unless_another_form_is_asked_for(vcs: Call, folder: Path) -> None:
    said = vcs("review", "main...dev").output
    made = folder / "review.html"
    text = made.read_text(encoding="utf-8")
    assert f"in review.html ({made.stat().st_size / 1024:.1f} KiB)" in said
    assert text.startswith("<!doctype html>") and text.endswith("</html>\n")
    assert "<img" not in text and "&lt;img src=x onerror=alert(1)&gt;" in text


def test_the_form_is_what_the_file_ends_in(vcs: Call, folder: Path) -> None:
    vcs("review", "main...dev", "--output", "a.md")
    vcs("review", "main...dev", "--output", "a.json")
    vcs("review", "main...dev", "--output", "a.txt", "--format", "markdown")
    assert (folder / "a.md").read_text().startswith("## Review")
    assert (folder / "a.txt").read_text().startswith("## Review")
    assert json.loads((folder / "a.json").read_text())["format"] == 1


def test_a_page_goes_to_standard_output_if_asked(vcs: Call, folder: Path) -> None:
    assert vcs("review", "main...dev", "-o", "-").output.startswith("<!doctype html>")
    assert not (folder / "review.html").exists()
