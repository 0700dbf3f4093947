"""The user's guide: it builds, every link and anchor in it holds, and it asks no other host."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
# What a browser fetches on its own; links that a reader clicks may lead anywhere.
FETCHED = re.compile(
    r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(?:https?:)?//"""
    r"""|<link[^>]*\srel=["']?(?:stylesheet|preconnect|icon)[^>]*\shref=["']?(?:https?:)?//"""
    r"""|<link[^>]*\shref=["']?(?:https?:)?//[^>]*\srel=["']?(?:stylesheet|preconnect|icon)"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guide as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(CHECKOUT / "docs") for path in (CHECKOUT / "docs").rglob("*.md")}
    names = {
        str(page.with_name("index.html" if page.name == "README.md" else f"{page.stem}.html"))
        for page in pages
    }
    assert names <= {str(path.relative_to(site)) for path in site.rglob("*.html")}
    assert not list(site.rglob("*.py"))


def test_programs_find_a_list_of_all_pages_at_the_root(site: Path) -> None:
    listed = (site / "llms.txt").read_text(encoding="utf-8")
    assert listed.startswith("# dbt-vcs\n\n> Version control for the tables")
    addresses = re.findall(r"^- \[.+\]\((\S+)\): \S.*[.?]$", listed, re.MULTILINE)
    pages = [
        str(path.relative_to(CHECKOUT / "docs")) for path in (CHECKOUT / "docs").rglob("*.md")
    ]
    assert len(addresses) == len(set(addresses)) == len(pages) == listed.count("\n- ")
    assert all((site / address).is_file() for address in addresses)


def test_a_page_is_listed_by_its_title_and_first_sentence(tmp_path: Path) -> None:
    place = importlib.util.spec_from_file_location("hooks", CHECKOUT / "docs/hooks.py")
    assert place is not None and place.loader is not None
    hooks = importlib.util.module_from_spec(place)
    place.loader.exec_module(hooks)
    settings = {
        "site_name": "Shop",
        "site_description": "A shop",
        "nav": [{"One": [{"P": "p.md"}]}],
    }
    page, other = tmp_path / "p.md", tmp_path / "other.md"
    page.write_text("# Page\n\n```sh\n# no title\n```\n\nSee [the\nshop](s.md) v1.2. More.\n")
    other.write_text("# 1. Choice\n\n**Question.** Which one? More.\n")
    assert hooks.llms_txt(settings, tmp_path) == (
        "# Shop\n\n> A shop\n\n## One\n\n- [Page](p.html): See the shop v1.2.\n\n"
        "## Optional\n\n- [1. Choice](other.html): Which one?\n"
    )
    page.write_text("# Page\n\n- a list\n")
    with pytest.raises(hooks.UndescribedError, match=r"p\.md has no title, or no sentence"):
        hooks.llms_txt(settings, tmp_path)


def test_a_cell_shows_a_pipe_as_it_is(site: Path) -> None:
    assert "update set * | update set c = e" in (site / "sql.html").read_text()


def test_reading_it_needs_no_other_host(site: Path) -> None:
    asking = [path.name for path in site.rglob("*.html") if FETCHED.search(path.read_text())]
    assert asking == []


def test_a_broken_link_would_be_seen(tmp_path: Path) -> None:
    settings = (CHECKOUT / "mkdocs.yml").read_text().partition("\nnav:")[0]
    settings = settings.replace("docs/hooks.py", str(CHECKOUT / "docs/hooks.py"))
    (tmp_path / "mkdocs.yml").write_text(settings)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# One\n\n[gone](gone.md) and [lost](#lost)\n")

    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert built.returncode == 1
    assert "'gone.md'" in built.stderr
    assert "'#lost'" in built.stderr
