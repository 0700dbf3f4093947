"""The first page of the guide, typed as it is printed, from an empty folder to the last merge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from dbt.adapters.factory import reset_adapters

from tests.functional.recipes.conftest import reader_of
from tests.functional.recipes.page import Block, Reader, blocks

pytestmark = pytest.mark.spark

PAGE = "getting-started.md"
FAILS = "Not published"


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Reader]:
    """Somebody in an empty folder, who has installed dbt-vcs."""
    home = tmp_path / "ann"
    home.mkdir()
    yield reader_of(home)
    reset_adapters()


def at(home: Path, block: Block) -> Block:
    """Return a block with this machine's folder in place of the page's."""
    return replace(block, text=block.text.replace("/home/ann", str(home)))


def test_getting_started(newcomer: Reader) -> None:
    home = newcomer.folder
    shown = [block for block in blocks(PAGE) if block.language in ("sh", "console")]
    assert shown[0].heading == "Install"
    for block in shown[1:]:
        newcomer.follow(at(home, block), codes=(1,) if FAILS in block.text else (0,))
        if block.heading == "Create a project":
            assert newcomer.folder == home / "shop"
            newcomer.type("git init --quiet")

    # All that builds make is ignored.
    listed = newcomer.type("git status --porcelain --untracked-files=all").split("?? ")
    assert {name.strip() for name in listed if name} == {
        ".gitignore",
        "dbt_project.yml",
        "models/orders.sql",
        "models/revenue.sql",
        "models/schema.yml",
        "profiles.yml",
        "seeds/raw_orders.csv",
    }
    (profile,) = [block.text for block in blocks(PAGE) if block.language == "yaml"]
    written = (home / "shop/profiles.yml").read_text().splitlines(keepends=True)
    assert "".join(line for line in written if "#" not in line) == profile
