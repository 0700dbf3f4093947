"""A review's page in a real browser: by keyboard, on a narrow screen, printed, and large."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.commands.review_page import page
from dbt.adapters.vcs.commands.review_report import Review
from tests.browser.chromium import Chromium
from tests.browser.conftest import needs_chromium, serious, tab_to
from tests.unit import reviews

HOSTILE = "</script><img src=//x.test/x onerror=alert(1)><style>@import '//x.test/y'</style>\u202e"
SECONDS_AT_MOST = 10

pytestmark = needs_chromium


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(review: Review) -> Path:
        path = tmp_path / "review.html"
        path.write_text(page(review), encoding="utf-8", newline="\n")
        return path

    return written


@pytest.mark.parametrize("text", [HOSTILE, "x" * 1_000_000], ids=["markup", "long"])
def test_a_page_of_hostile_texts_asks_for_nothing_and_runs_nothing(
    browser: Chromium, write: Any, text: str
) -> None:
    made = write(reviews.hostile(text))
    browser.open(made)
    browser.run("document.querySelectorAll('details').forEach(part => { part.open = true })")
    browser.run("new Promise(done => setTimeout(done, 200))")
    asked = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [made.as_uri()]
    loud = {"Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening"}
    assert not [event for event in browser.events if event["method"] in loud]
    assert browser.run("document.querySelectorAll('[data-rows] tbody tr').length") > 0
    assert browser.run("document.querySelectorAll('img').length") == 0


@pytest.mark.parametrize("text", ["", HOSTILE, "x" * 100_000], ids=["usual", "markup", "long"])
def test_a_narrow_screen_scrolls_tables_and_not_the_page(
    browser: Chromium, write: Any, text: str
) -> None:
    browser.open(write(reviews.hostile(text) if text else reviews.usual()), width=375)
    browser.run("document.querySelectorAll('details').forEach(part => { part.open = true })")
    assert browser.run("document.documentElement.scrollWidth") == 375


def test_the_keyboard_alone_opens_searches_and_sorts(browser: Chromium, write: Any) -> None:
    browser.open(write(reviews.usual()))
    tab_to(browser, "it.matches('.skip')", most=1)
    tab_to(browser, "it.matches('nav a[href=\"#relations\"]')")
    tab_to(browser, "it.id === 'filter'")
    browser("Input.insertText", text="DAILY")
    assert browser.run("document.getElementById('filtered').textContent") == "1 of 4"

    tab_to(browser, "it.matches('details.rows > summary')")
    outline = browser.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    browser.press("Enter", code=13, text="\r")
    browser.run("new Promise(done => setTimeout(done, 100))")
    tab_to(browser, "it.matches('[data-rows] input')", most=1)
    browser("Input.insertText", text="books corrected")
    rows = "[...document.querySelectorAll('[data-rows] tbody tr')]"
    found = browser.run(f"{rows}.map(row => row.textContent)")
    assert found and all("books" in row and "tax corrected" in row for row in found)
    assert len(found) < 6

    tab_to(browser, "it.matches('th button') && it.textContent === 'gross_amount'")
    for way, is_reversed in (("ascending", False), ("descending", True)):
        browser.press("Enter", code=13, text="\r")
        assert browser.run("document.activeElement.parentElement.ariaSort") == way
        amounts = browser.run(f"{rows}.map(row => +row.cells[4].querySelector('ins').textContent)")
        assert amounts == sorted(amounts, reverse=is_reversed)


def test_rows_come_in_parts(browser: Chromium, write: Any) -> None:
    browser.open(write(reviews.usual()))
    browser.run("document.querySelector('details.rows').open = true")
    browser.run("new Promise(done => setTimeout(done, 100))")
    count = "document.querySelectorAll('[data-rows] tbody tr').length"
    assert browser.run(count) == 200
    browser.run("document.querySelector('.more').click()")
    assert browser.run(count) == 400
    browser.run("document.querySelector('.more').click()")
    assert browser.run(count) == 412
    assert browser.run("document.querySelector('.more').hidden")


def test_a_link_opens_what_it_leads_to(browser: Chromium, write: Any) -> None:
    browser.open(write(reviews.usual()))
    assert not browser.run("document.getElementById('r-2').open")
    browser.run("document.querySelector('#summary a[href=\"#r-2\"]').click()")
    browser.run("new Promise(done => setTimeout(done, 100))")
    assert browser.run("document.getElementById('r-2').open")


def test_printed_it_shows_every_relation(browser: Chromium, write: Any, tmp_path: Path) -> None:
    browser.open(write(reviews.usual()))
    browser.run(
        "addEventListener('beforeprint', () => { window.was = "
        "[...document.querySelectorAll('details.relation')].filter(part => part.open).length })"
    )
    browser.pdf(tmp_path / "review.pdf")
    assert (tmp_path / "review.pdf").read_bytes().startswith(b"%PDF")
    assert browser.run("window.was") == 4
    assert browser.run("document.querySelectorAll('details.relation[open]').length") == 1


def test_five_hundred_tables_open_at_once(browser: Chromium, write: Any) -> None:
    made = write(reviews.large(500, 2000, 1_000_000))
    assert made.stat().st_size < 12 << 20
    seconds = browser.open(made)
    painted = browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    # What is seen first needs a fraction of a second; the limit leaves room for a busy machine.
    assert painted < 1000 * SECONDS_AT_MOST / 2
    assert seconds < SECONDS_AT_MOST
    assert browser.run("document.querySelectorAll('#summary tbody tr').length") == 500
    # A sample far down is made when its section is opened.
    samples = "document.querySelectorAll('#r-400 [data-rows=\"s-400\"] tbody tr').length"
    assert browser.run(samples) == 0
    browser.run("location.hash = 'r-400'")
    browser.run("new Promise(done => setTimeout(done, 300))")
    assert browser.run(samples) == 20


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_serious_is_in_the_way_of_anyone(
    browser: Chromium, write: Any, axe: str, scheme: str, width: int
) -> None:
    browser.open(write(reviews.usual()), scheme=scheme, width=width)
    browser.run("document.querySelectorAll('details').forEach(part => { part.open = true })")
    browser.run("new Promise(done => setTimeout(done, 200))")
    assert not serious(browser, axe)
