"""`dbt-vcs docs`: the review beside the pages of dbt docs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from dbt.task.docs import DOCS_INDEX_FILE_PATH

from dbt.adapters.vcs.commands.docs import linked
from tests.unit.cli.conftest import Call
from tests.unit.warehouse import Warehouse

LINK = re.compile(r"<!-- review by dbt-vcs -->(.*?)<!-- /review by dbt-vcs -->")


@pytest.fixture
def shop(folder: Path, warehouse: Warehouse) -> Path:
    """A project on the branch `dev`, and its target folder."""
    warehouse.put(a="1")
    warehouse.branch("dev")
    warehouse.put("dev", a="2")
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    write_profile(folder, warehouse)
    target = folder / "target"
    target.mkdir()
    return target


def write_profile(folder: Path, warehouse: Warehouse, branch: str = "dev") -> None:
    output = f"{{type: vcs, schema: shop, repository: {warehouse.blobs.uri}, branch: {branch}}}"
    (folder / "profiles.yml").write_text(f"shop: {{target: t, outputs: {{t: {output}}}}}\n")


@pytest.mark.parametrize("words", [(), ("--review", "main...dev"), ("--review", "main..dev")])
def test_the_review_is_written_beside_the_docs_and_linked_once(
    call: Call, shop: Path, words: tuple[str, ...]
) -> None:
    index = shop / "index.html"
    shutil.copy(DOCS_INDEX_FILE_PATH, index)
    before = index.read_text(encoding="utf-8")
    for _ in range(2):
        said = call("docs", *words).output
        assert f"the review is in {shop / 'review.html'}" in said
    after = index.read_text(encoding="utf-8")
    (link,) = LINK.findall(after)
    assert 'href="review.html"' in link and (words or ("main...dev",))[-1] in link
    # dbt's own page is as it was.
    assert LINK.sub("", after) == before
    assert after.rstrip().endswith("<!-- /review by dbt-vcs --></body></html>")
    assert "shop.a" in (shop / "review.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in shop.iterdir()) == ["index.html", "review.html"]


def test_without_docs_the_command_that_makes_them_is_said(call: Call, shop: Path) -> None:
    said = call("docs", "--target", "t", code=1).stderr
    assert said.endswith("Make them first: dbt docs generate --target t\n")
    assert not list(shop.iterdir())


@pytest.mark.parametrize("text", ["", "not a page", "<html></html>"])
def test_another_page_is_left_alone(call: Call, shop: Path, text: str) -> None:
    (shop / "index.html").write_text(text)
    assert "isn't the page of dbt docs" in call("docs", code=2).stderr
    assert (shop / "index.html").read_text() == text
    assert not (shop / "review.html").exists()


def test_the_default_branch_alone_has_nothing_to_review(
    call: Call, shop: Path, folder: Path, warehouse: Warehouse
) -> None:
    shutil.copy(DOCS_INDEX_FILE_PATH, shop / "index.html")
    write_profile(folder, warehouse, "main")
    assert "dbt-vcs docs --review main...BRANCH" in call("docs", code=2).stderr
    assert not (shop / "review.html").exists()


def test_a_name_is_neither_html_nor_a_template_of_the_page() -> None:
    page = linked("<body></body>", "main...{{constructor.x}}</a><script>\u202e")
    assert "<a ng-non-bindable " in page
    assert "<script>" not in page and "\u202e" not in page
    assert "&lt;/a&gt;&lt;script&gt;\\u202e" in page


def test_an_export_of_the_docs_elsewhere_is_found(
    call: Call, shop: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBT_TARGET_PATH", "made")
    (folder / "made").mkdir()
    shutil.copy(DOCS_INDEX_FILE_PATH, folder / "made")
    call("docs")
    assert (folder / "made" / "review.html").exists()
    assert not list(shop.iterdir())
