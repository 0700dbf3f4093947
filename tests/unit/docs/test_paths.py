"""Pages for contributors: every path that they name exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
PACKAGE = CHECKOUT / "dbt/adapters/vcs"
PAGES = [
    CHECKOUT / name for name in ("CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md")
]
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)`")
PATHS = [
    pytest.param(path, id=f"{page.name}: {path}")
    for page in PAGES
    for path in sorted(set(PATH.findall(page.read_text(encoding="utf-8"))))
]
LINK = re.compile(r"\]\(([^)#:]+)[^)]*\)")


def test_the_pages_name_paths() -> None:
    assert len(PATHS) > 50


@pytest.mark.parametrize("path", PATHS)
def test_a_named_path_exists(path: str) -> None:
    """A path begins at the checkout, or at the package where the page is about its rooms."""
    assert (CHECKOUT / path).exists() or (PACKAGE / path).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_linked_page_exists(page: Path) -> None:
    linked = LINK.findall(page.read_text(encoding="utf-8"))
    assert linked
    assert all((page.parent / link).exists() for link in linked)


def test_the_tree_names_the_whole_top_level() -> None:
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = text.partition("```text\n")[2].partition("```")[0]
    named = [line.split()[0] for line in tree.splitlines()]
    listed = subprocess.run(
        ["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    files = listed.stdout.splitlines()
    tops = {f"{file.partition('/')[0]}/" if "/" in file else file for file in files}
    assert named == sorted(tops)
