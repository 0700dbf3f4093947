"""The review in `dbt-vcs ui`: the same as the command's page, and the button that approves."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from dbt.adapters.vcs.changes.merges.approvals import approvals_of
from dbt.adapters.vcs.commands.options import Settings
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.ui import site_app
from dbt.adapters.vcs.core.branches import Protection
from tests.unit.cli.conftest import Call
from tests.unit.tables import Tables
from tests.unit.ui.conftest import BASE, TOKEN, Get
from tests.unit.warehouse import Warehouse


@pytest.fixture
def tables(warehouse: Warehouse) -> Tables:
    """`dev` changes a row of `a`."""
    made = Tables(warehouse)
    first = made.block({1: "a", 2: "secret"})
    one = made.entry([first], key=True)
    warehouse.put(a=one)
    warehouse.branch("dev")
    gone, come = made.tombstone(first, {1: (2, "secret")}), made.block({2: "hidden"})
    warehouse.put("dev", a=made.entry([first, come], [gone], parents=[one], key=True))
    return made


def inside(page: str) -> str:
    """Return what a review says, without the shell around it and the time it was made at."""
    found = page[page.index('id="verdict"') : page.index("</main>")]
    return re.sub(r"\s+", " ", found)


def form_of(page: str) -> dict[str, str]:
    """Return what the page's form sends when nothing is typed."""
    [form] = re.findall(r'<form[^>]*action="/approve".*?</form>', page, re.S)
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form)
    return {name: html.unescape(value) for name, value in fields}


def post(browser: TestClient, fields: dict[str, str]) -> Response:
    return browser.post("/approve", data=fields, headers={"origin": BASE})


def test_it_says_what_the_page_of_the_command_says(
    get: Get, warehouse: Warehouse, tables: Tables, call: Call
) -> None:
    page = get("/review", head="dev").text
    call("-r", "warehouse", "review", "main...dev")
    assert inside(page) == inside(Path("review.html").read_text(encoding="utf-8"))
    assert "Content-Security-Policy" not in page and 'src="/static/review.js"' in page
    assert "hidden" in get("/review", base="main~1", head="main", direct="1").text


def test_an_approval_is_of_what_the_page_showed(
    browser: TestClient, get: Get, warehouse: Warehouse, tables: Tables, call: Call
) -> None:
    repository, head = warehouse.repository, warehouse.head("dev")
    repository.protect("main", Protection(("approval",)), author="ann")
    fields = form_of(get("/review", head="dev").text)
    found = post(browser, {**fields, "note": "fine </b>"})
    assert (found.status_code, found.headers["location"]) == (303, "/review?base=main&head=dev")
    [approval] = approvals_of(repository, "dev", head)
    assert (approval.author, approval.note) == ("bob", "fine </b>")
    page = get("/review", head="dev").text
    assert "fine &lt;/b&gt;" in page and "Withdraw the approval" in page
    call("-r", "warehouse", "promote", "dev", "main", "--dry-run")

    assert post(browser, form_of(page)).status_code == 303
    assert not approvals_of(repository, "dev", head)
    call("-r", "warehouse", "promote", "dev", "main", "--dry-run", code=1)


def test_a_branch_that_moved_meanwhile_is_not_approved(
    browser: TestClient, get: Get, warehouse: Warehouse, tables: Tables
) -> None:
    fields = form_of(get("/review", head="dev").text)
    head = warehouse.put("dev", b="1")
    found = post(browser, fields)
    assert found.status_code == 409 and "Look at it again" in found.text
    assert not approvals_of(warehouse.repository, "dev", head)
    warehouse.repository.delete_branch("dev", author="ann")
    assert post(browser, fields).status_code == 404
    assert post(browser, {}).status_code == 400


@pytest.mark.parametrize(
    ("token", "origin"), [(None, BASE), ("wrong", BASE), (TOKEN, "http://evil.test")]
)
def test_nobody_else_approves(
    stranger: TestClient, warehouse: Warehouse, tables: Tables, token: str | None, origin: str
) -> None:
    if token is not None:
        stranger.cookies.set("dbt-vcs-ui-8182", token)
    fields = {"branch": "dev", "base": "main", "at": warehouse.head("dev")}
    found = stranger.post("/approve", data=fields, headers={"origin": origin})
    assert found.status_code == 403
    assert not approvals_of(warehouse.repository, "dev", warehouse.head("dev"))


def test_a_commit_is_reviewed_without_a_button(
    get: Get, warehouse: Warehouse, tables: Tables
) -> None:
    page = get("/review", head=warehouse.head("dev")).text
    assert "/approve" not in page
    assert "/approve" not in get("/review", head="main").text


@pytest.mark.parametrize("word", ["hide", "mask"])
def test_columns_that_the_project_keeps_out_of_reviews_stay_out(
    folder: Path, warehouse: Warehouse, tables: Tables, word: str
) -> None:
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (folder / "profiles.yml").write_text(
        "shop: {outputs: {default: {type: vcs, schema: shop, repository: ./warehouse}}}\n"
    )
    client = TestClient(
        site_app(CommandSession(Settings()), token=TOKEN, port=8182), base_url=BASE
    )
    client.get("/", params={"token": TOKEN})
    assert "secret" in client.get("/review?head=dev").text
    (folder / "vcs.yml").write_text(f"review: {{{word}: [shop.a.name]}}\n")
    page = client.get("/review?head=dev").text
    assert "secret" not in page and "hidden<" not in page
    (folder / "vcs.yml").write_text("review: {hide: 7}\n")
    found = client.get("/review?head=dev")
    assert found.status_code == 400 and "vcs.yml" in found.text
    assert "vcs.yml" in client.get("/").text
