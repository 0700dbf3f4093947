"""The pages of `dbt-vcs ui` in a real browser, from the process that a person starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges.approvals import approvals_of
from tests.browser import shops
from tests.browser.chromium import Chromium
from tests.browser.conftest import needs_chromium, serious, tab_to
from tests.unit.serve.server_process import ServerProcess
from tests.unit.warehouse import Warehouse

pytestmark = needs_chromium

PAGES = {
    "branches": "",
    "log": "log",
    "commit": "commit?at=2026-q1",
    "tables": "tables",
    "table": "table?name=shop.orders",
    "view": "table?name=shop.revenue_view",
    "rows": "rows?name=shop.orders&where=amount+%3E+100",
    "no rows": "rows?name=shop.orders&where=nix",
    "figures": "figures?name=shop.orders",
    "blame": "blame?name=shop.orders&column=id&value=7&at=feature/tax",
    "review": "review?head=feature/tax",
    "merge": "merge",
    "conflicts": "conflicts?into=main&name=shop.orders",
    "decided": "conflicts?into=main&name=shop.orders&all=1&skip=20",
    "nothing there": "log?at=nix",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return shops.usual(tmp_path_factory.mktemp("ui") / "shop", 200)


@pytest.fixture(scope="module")
def home(shop: Warehouse, browser: Chromium) -> Iterator[str]:
    """The address of a server whose token the browser has."""
    server = ServerProcess(shop.repository.uri, verb="ui", says="Showing ")
    try:
        browser.open(server.url)
        yield server.url.partition("?")[0]
    finally:
        server.stop()


def loud(browser: Chromium) -> list[Any]:
    """Return what the browser complained of, but for the status of a page."""
    kinds = {"Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening"}
    found = [event for event in browser.events if event["method"] in kinds]
    return [event for event in found if "the server responded with" not in str(event)]


def settle(browser: Chromium) -> None:
    browser.run("new Promise(done => setTimeout(done, 700))")


def enter(browser: Chromium) -> None:
    """Press Enter where it leads to another page."""
    browser.events.clear()
    browser.press("Enter", code=13, text="\r")
    browser.wait_for_page()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "dark")])
@pytest.mark.parametrize("page", PAGES)
def test_nothing_serious_is_in_the_way_of_anyone(
    browser: Chromium, home: str, axe: str, page: str, width: int, scheme: str
) -> None:
    browser.open(home + PAGES[page], width=width, scheme=scheme)
    assert not loud(browser)
    assert browser.run("document.documentElement.scrollWidth") == width
    asked = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert asked and all(url.startswith((home, "data:")) for url in asked)
    assert not serious(browser, axe)


def test_the_keyboard_alone_leads_to_a_review_and_approves_it(
    browser: Chromium, home: str, shop: Warehouse
) -> None:
    browser.open(home)
    tab_to(browser, "it.matches('.skip')", most=1)
    tab_to(browser, "it.textContent === 'review' && it.href.includes('tax')")
    enter(browser)
    assert browser.run("location.pathname") == "/review"
    tab_to(browser, "it.name === 'note'")
    browser("Input.insertText", text="seen & agreed")
    tab_to(browser, "it.matches('form.approve button')", most=1)
    enter(browser)
    [approval] = approvals_of(shop.repository, "feature/tax", shop.head("feature/tax"))
    assert approval.note == "seen & agreed"
    text = "document.querySelector('form.approve').textContent"
    assert "approved by you" in browser.run(text)
    assert not loud(browser)


def test_the_keyboard_alone_decides_conflicts(browser: Chromium, home: str) -> None:
    left = "document.querySelector('header p').textContent.match(/(\\d+) of/)[1]"
    browser.open(f"{home}merge")
    tab_to(browser, "it.textContent === 'shop.orders'")
    enter(browser)
    first = int(browser.run(left))
    # By cell: the arrows go from one side to the next.
    clashes = "document.querySelector('.conflict').querySelectorAll('tr.clash').length"
    for _ in range(browser.run(clashes)):
        tab_to(browser, "it.closest('tr.clash') && it.type === 'radio' && !it.checked")
        browser.press(" ", code=32, text=" ")
        browser.press("ArrowRight", code=39)
        assert browser.run("document.activeElement.value") == "ours"
    tab_to(browser, "it.textContent === 'Take the chosen cells'")
    enter(browser)
    assert int(browser.run(left)) == first - 1
    # By a value of one's own, which is refused.
    tab_to(browser, "it.name === 'value-2'")
    browser("Input.insertText", text="1.505")
    tab_to(browser, "it.textContent === 'Take the chosen cells'")
    enter(browser)
    assert "is not a value" in browser.run("document.querySelector('[role=alert]').textContent")
    assert browser.run("document.querySelector('[name=value-2]').value") == "1.505"
    # By a rule, which is taken back.
    tab_to(browser, "it.name === 'by'")
    browser.press("ArrowDown", code=40)
    assert browser.run("document.activeElement.value") == "amount"
    tab_to(browser, "it.textContent === 'Take it'", most=1)
    enter(browser)
    assert browser.run("document.querySelectorAll('.conflict').length") == 0
    tab_to(browser, "it.textContent === 'Undo'")
    enter(browser)
    assert int(browser.run(left)) == first - 1
    assert not loud(browser)


def test_names_are_filtered_while_they_are_typed(browser: Chromium, home: str) -> None:
    browser.open(f"{home}tables")
    rows = "document.querySelectorAll('#listed tbody tr').length"
    assert browser.run(rows) == 200
    tab_to(browser, "it.name === 'words'")
    browser("Input.insertText", text="rev")
    settle(browser)
    assert browser.run(rows) == 2
    # The page is the same: what was typed is still there, and in focus.
    assert browser.run("document.activeElement.value") == "rev"
    assert not loud(browser)


def test_a_condition_is_tried_without_leaving_the_page(browser: Chromium, home: str) -> None:
    browser.open(f"{home}rows?name=shop.orders")
    tab_to(browser, "it.name === 'where'")
    browser("Input.insertText", text="id = ")
    browser.press("Enter", code=13, text="\r")
    settle(browser)
    assert browser.run("document.querySelectorAll('#rows [role=alert]').length") == 1
    browser("Input.insertText", text="7")
    browser.press("Enter", code=13, text="\r")
    settle(browser)
    assert browser.run("document.querySelectorAll('#rows tbody tr').length") == 1
    assert browser.run("document.querySelectorAll('#rows [role=alert]').length") == 0
    assert not loud(browser)


def test_printed_a_page_has_its_content_and_no_menu(
    browser: Chromium, home: str, tmp_path: Path
) -> None:
    browser.open(f"{home}rows?name=shop.orders")
    browser.pdf(tmp_path / "rows.pdf")
    assert (tmp_path / "rows.pdf").read_bytes().startswith(b"%PDF")
    browser("Emulation.setEmulatedMedia", media="print")
    shown = "getComputedStyle(document.querySelector('.site')).display"
    assert browser.run(shown) == "none"
    browser("Emulation.setEmulatedMedia", media="")


def test_a_page_of_another_origin_gets_nothing(
    browser: Chromium, home: str, tmp_path: Path
) -> None:
    page = tmp_path / "evil.html"
    page.write_text(
        f"<form action='{home}approve' method='post'><input name='branch' value='try/prices'>"
        f"</form><iframe src='{home}'></iframe><script src='{home}tables'></script>"
    )
    browser.open(page)
    tried = browser.run(f"fetch('{home}tables').then(() => 'read', () => 'refused')")
    assert tried == "refused"
    browser.events.clear()
    browser.run("document.forms[0].submit()")
    browser.wait_for_page()
    assert "Another page asked for a change" in browser.run("document.body.textContent")
