"""The pages that resolve conflicts: they decide as the command does, and nobody else may."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.commands.conflicts import list_conflicts
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError
from tests.unit.commands.test_resolve_values import BASE as ROWS
from tests.unit.commands.test_resolve_values import OURS, THEIRS, rows, table
from tests.unit.tables import Tables
from tests.unit.ui.conftest import BASE, Get
from tests.unit.warehouse import Warehouse

Post = Callable[..., Response]


@pytest.fixture
def forked(warehouse: Warehouse) -> Warehouse:
    """Two branches that changed five rows of `a` and the view `v` differently."""
    warehouse.put(a=table(warehouse, ROWS), v=warehouse.view("select 1"))
    warehouse.branch("dev")
    warehouse.put("dev", a=table(warehouse, THEIRS), v=warehouse.view("select 2"))
    warehouse.put(a=table(warehouse, OURS), v=warehouse.view("select 3"))
    return warehouse


@pytest.fixture
def waiting(forked: Warehouse) -> Warehouse:
    """The merge of them."""
    with pytest.raises(ConflictError):
        merge(forked.repository, "dev", "main", author="ann")
    return forked


@pytest.fixture
def post(browser: TestClient) -> Post:
    """Send a form; `code` is the status to expect, 303 for a page to go on with."""

    def sent(path: str, code: int = 303, **fields: str) -> Response:
        found = browser.post(path, data=fields, headers={"origin": BASE})
        assert found.status_code == code, found.text[-900:]
        assert "Traceback" not in found.text
        return found

    return sent


def forms(page: str, action: str = "/conflicts/decide") -> list[dict[str, str]]:
    """Return what each form sends if nothing is chosen besides what is."""
    found = []
    for form in re.findall(rf'<form[^>]*action="{action}".*?</form>', page, re.S):
        fields = re.findall(r'<input type="hidden" name="([\w-]+)" value="([^"]*)">', form)
        fields += re.findall(r'<input type="radio" name="([\w-]+)" value="(\w+)" checked>', form)
        found.append({name: html.unescape(value) for name, value in fields})
    return found


def rows_of(page: str) -> list[dict[str, str]]:
    """Return the forms of the rows of a page."""
    return [form for form in forms(page) if "place" in form]


def left(warehouse: Warehouse) -> int:
    return list_conflicts(warehouse.repository, "main").left


HERE = {"into": "main", "name": "shop.a"}


def about(warehouse: Warehouse) -> dict[str, str]:
    """Return what a form of the waiting merge says that its page showed."""
    return {"into": "main", "seen": warehouse.head("merges/main")}


def test_a_new_user_s_session_from_two_branches_to_what_main_holds(
    forked: Warehouse, get: Get, post: Post
) -> None:
    """Review, begin the merge, resolve in the page by row, cell, rule and value, finish."""
    assert "shop.a" in get("/review", head="dev").text
    [begin] = forms(get("/review", head="dev").text, "/merge/begin")
    assert post("/merge/begin", **begin).headers["location"] == "/merge?into=main"
    page = get("/merge", into="main").text
    assert "6 of 6 conflicts left to decide" in page
    assert re.search(r"disabled>Continue the merge as bob", page)
    # The view as a whole, then the table.
    [view, _] = forms(page)
    assert view["name"] == "shop.v"
    post("/conflicts/decide", **view, take="side", side="theirs")

    page = get("/conflicts", **HERE).text
    assert "5 of 5 left here" in page
    one, two, three, *_ = rows_of(page)
    assert post("/conflicts/decide", **one, take="ours").headers["location"] == (
        "/conflicts?into=main&name=shop.a&skip=0"
    )
    # Both changed the credit and the note of row 2: the credit of theirs, and a note of our own.
    post(
        "/conflicts/decide",
        **{**two, "cell-1": "theirs", "cell-2": "own", "value-2": "agreed"},
        take="cells",
    )
    # A side is chosen already where only one changed the cell; what is typed counts instead.
    assert three["cell-2"] == "theirs" and three["cell-3"] == "ours"
    post("/conflicts/decide", **three, **{"null-1": "on", "value-2": ""}, take="cells")
    post("/conflicts/undo", **forms(get("/conflicts", **HERE).text, "/conflicts/undo")[0])
    typed = {"cell-1": "base", "null-1": "on", "value-3": "typed"}
    post("/conflicts/decide", **three, **typed, take="cells")
    # Row 4 is gone in ours, so no rule by value decides it.
    said = post(
        "/conflicts/decide",
        200,
        **{**about(forked), **HERE},
        skip="0",
        take="order",
        order="larger",
        by="credit",
    )
    assert "Decided 1. Some are left open." in said.text and "id=4" in said.text
    assert left(forked) == 1
    [four] = rows_of(get("/conflicts", **HERE).text)
    post("/conflicts/decide", **four, take="delete")

    page = get("/merge", into="main").text
    assert "Each of 6 conflicts is decided." in page
    assert "the last decision: Resolve 1 of shop.a with delete, by bob" in page
    [undo] = forms(page, "/conflicts/undo")
    post("/conflicts/undo", **undo)
    assert left(forked) == 1
    [four] = rows_of(get("/conflicts", **HERE).text)
    post("/conflicts/decide", **four, take="theirs")
    [finish] = forms(get("/merge", into="main").text, "/merge/continue")
    done = post("/merge/continue", **finish)
    assert done.headers["location"] == f"/commit?at={forked.head()}"
    assert rows(forked) == {
        0: ("1.00", "old", "n0"),
        1: ("2.00", "old", "n1"),
        2: ("3.00", "agreed", "n2"),
        3: ("None", "their", "typed"),
        4: ("3.00", "old", "n4"),
        5: ("1.00", "old", "n5"),
        7: ("8.00", "same", "their"),
    }
    assert forked.shown()["shop.v"] == forked.shown("dev")["shop.v"]
    assert forked.repository.objects.commit(forked.head()).author == "bob"
    assert "No merge into" in get("/merge", into="main").text


def test_sides_are_side_by_side_with_what_changed_marked(waiting: Warehouse, get: Get) -> None:
    page = get("/conflicts", **HERE).text
    for side in ("Base", "Ours", "Theirs"):
        assert f'<th scope="col">{side}</th>' in page
    assert page.count('<tr class="clash">') == 6
    assert page.count('<span class="null">no row</span>') > 0
    assert "2 columns that nobody changed" in page


def test_what_is_refused_is_said_where_it_was_typed(
    waiting: Warehouse, get: Get, post: Post
) -> None:
    one = rows_of(get("/conflicts", **HERE).text)[0]
    typed = {**one, "cell-1": "own", "value-1": "1.505 </textarea><b>"}
    found = post("/conflicts/decide", 400, **typed, take="cells")
    assert "is not a value of the column credit of shop.a" in found.text
    assert "1.505 &lt;/textarea&gt;&lt;b&gt;</textarea>" in found.text
    assert left(waiting) == 6
    for fields, words in (
        ({"take": "cells"}, "No cell of the row is chosen"),
        ({"take": "custom"}, "expected one of ours"),
        ({"take": ""}, "expected one of ours"),
        ({"take": "cells", "cell-0": "ours"}, "in the primary key"),
        ({"take": "cells", "cell-1": "evil"}, "expected one of ours"),
    ):
        bare = {name: one[name] for name in ("into", "name", "skip", "place", "mark")}
        assert words in post("/conflicts/decide", 400, **{**bare, **fields}).text
    rule = {**about(waiting), **HERE, "skip": "0"}
    for fields, words in (
        ({"take": "order", "order": "newest", "by": "credit"}, "expected one of larger"),
        ({"take": "order", "order": "larger", "by": "x"}, "has no column x"),
        ({"take": "column", "column": "credit", "cell": "mine"}, "expected one of ours"),
    ):
        assert words in post("/conflicts/decide", 400, **rule, **fields).text
    assert left(waiting) == 6
    post("/conflicts/decide", 400, **about(waiting), name="shop.a", skip="-1", take="ours")
    post("/conflicts/decide", 400, take="ours")
    assert "no rows in conflict" in get("/conflicts", 404, into="main", name="shop.v").text


def test_a_row_that_somebody_else_decided_is_shown_again(
    waiting: Warehouse, get: Get, post: Post
) -> None:
    one, two, *_ = rows_of(get("/conflicts", **HERE).text)
    [undo] = forms(get("/merge", into="main").text, "/conflicts/undo") or [{}]
    assert undo == {}
    chosen = RowChoice(choice=Choice.THEIRS, key={"id": "1"})
    resolve(waiting.repository, "main", "shop.a", chosen, author="ann")
    assert "by somebody else meanwhile" in post("/conflicts/decide", 409, **one, take="ours").text
    assert left(waiting) == 5
    post("/conflicts/decide", **two, take="ours")
    [undo] = forms(get("/merge", into="main").text, "/conflicts/undo")
    resolve(waiting.repository, "main", None, RowChoice(choice=Choice.OURS), author="ann")
    assert "Nothing was undone" in post("/conflicts/undo", 409, **undo).text
    post("/merge/abort", **about(waiting))
    assert "No merge into" in post("/conflicts/decide", 404, **two, take="ours").text


def test_decided_rows_can_be_decided_again(waiting: Warehouse, get: Get, post: Post) -> None:
    post("/conflicts/decide", **about(waiting), name="", take="side", side="ours")
    assert rows_of(get("/conflicts", **HERE).text) == []
    page = get("/conflicts", **HERE, all="1").text
    assert page.count('<span class="tag good">ours</span>') == 5
    again = post("/conflicts/decide", **rows_of(page)[0], take="theirs")
    assert again.headers["location"].endswith("&skip=0&all=1")
    assert get("/conflicts", **HERE, all="1").text.count('<span class="tag good">theirs<') == 1


def test_the_same_rules_hold_as_for_the_command(waiting: Warehouse, get: Get, post: Post) -> None:
    head = waiting.head()
    post("/conflicts/decide", **about(waiting), name="", take="side", side="ours")
    waiting.repository.protect("main", Protection(), author="ann")
    assert "protected" in post("/merge/continue", 409, **about(waiting)).text
    waiting.repository.protect("main", None, author="ann")
    [undo] = forms(get("/merge", into="main").text, "/conflicts/undo")
    post("/conflicts/undo", **undo)
    assert "Not resolved yet: shop.v" in post("/merge/continue", 409, **about(waiting)).text
    assert waiting.head() == head


def test_a_protected_branch_is_promoted_to(forked: Warehouse, get: Get, post: Post) -> None:
    forked.repository.protect("main", Protection(("approval",)), author="ann")
    page = get("/review", head="dev").text
    # It could never be finished, so the page leads to the other direction.
    assert not forms(page, "/merge/begin") and 'href="/review?base=dev&amp;head=main"' in page
    begin = {"base": "main", "head": "dev", "at": forked.head("dev"), "promote": "1"}
    assert "requires an approval" in post("/merge/begin", 409, **begin).text
    assert list_conflicts(forked.repository, "main").source is None
    [approve] = forms(page, "/approve")
    post("/approve", **approve)
    post("/merge/begin", **begin)
    # Which could not be continued, so its page leads to the other direction, too.
    link = '<a href="/review?base=dev&amp;head=main">Merge main into dev</a>'
    page = get("/merge", into="main").text
    assert "main requires approval, and nothing has seen" in page and link in page
    # Refused, it doesn't hide behind the merge that waits by now.
    post("/approve", **approve, withdraw="1")
    assert "requires an approval" in post("/merge/begin", 409, **begin).text


@pytest.mark.parametrize("path", ["/conflicts/decide", "/merge/continue", "/merge/abort"])
@pytest.mark.parametrize("is_other", [False, True])
def test_what_a_page_did_not_show_is_not_decided(
    waiting: Warehouse, get: Get, post: Post, path: str, is_other: bool
) -> None:
    """Somebody decides after the page was made, or has another merge by then."""
    shown = next(form for form in forms(get("/merge", into="main").text, path))
    if is_other:
        waiting.put("dev", b="1")
        with pytest.raises(ConflictError):
            merge(waiting.repository, "dev", "main", author="ann")
    resolve(waiting.repository, "main", None, RowChoice(choice=Choice.OURS), author="ann")
    head, kept = waiting.head(), waiting.head("merges/main")
    found = post(path, 409, **shown, take="side", side="theirs")
    assert "by somebody else meanwhile" in found.text
    assert (waiting.head(), waiting.head("merges/main")) == (head, kept)
    post(path, 400, into="main", name="")


def test_what_moved_since_the_review_is_not_merged(
    forked: Warehouse, get: Get, post: Post
) -> None:
    [begin] = forms(get("/review", head="dev").text, "/merge/begin")
    forked.put("dev", b="1")
    assert "moved after the review" in post("/merge/begin", 409, **begin).text
    assert list_conflicts(forked.repository, "main").source is None
    post("/merge/begin", 400)


def test_a_merge_without_conflicts_lands(warehouse: Warehouse, get: Get, post: Post) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    warehouse.put("dev", b="1")
    [begin] = forms(get("/review", head="dev").text, "/merge/begin")
    post("/merge/begin", **begin)
    assert warehouse.head() == warehouse.head("dev")


def test_a_merge_that_can_be_continued_leads_nowhere_else(waiting: Warehouse, get: Get) -> None:
    assert 'href="/review?base=dev' not in get("/merge", into="main").text


def test_many_rows_come_in_pages(warehouse: Warehouse, get: Get, post: Post) -> None:
    tables = Tables(warehouse)
    base = tables.entry([tables.block(dict.fromkeys(range(50), "a"))], key=True)
    tables.put(a=base)
    warehouse.branch("dev")
    for branch in ("main", "dev"):
        block = tables.block(dict.fromkeys(range(50), branch))
        tables.put(branch, a=tables.entry([block], parents=[base], key=True))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    assert len(rows_of(get("/conflicts", **HERE).text)) == 20
    last = get("/conflicts", **HERE, skip="40").text
    assert len(rows_of(last)) == 10 and "Further conflicts" not in last
    # Deciding rows of the last page makes the list shorter: no page is empty.
    for _ in range(10):
        post(
            "/conflicts/decide",
            **rows_of(get("/conflicts", **HERE, skip="40").text)[0],
            take="ours",
        )
    assert len(rows_of(get("/conflicts", **HERE, skip="40").text)) == 20


def test_copies_are_taken_from_a_side(warehouse: Warehouse, get: Get, post: Post) -> None:
    tables = Tables(warehouse)
    base = tables.entry([tables.block({1: "a"})])
    tables.put(a=base)
    warehouse.branch("dev")
    tables.put("dev", a=tables.entry([], parents=[base]))
    more = [tables.block({1: "a"}), tables.block({1: "a"})]
    tables.put(a=tables.entry(more, parents=[base]))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    page = get("/conflicts", **HERE).text
    assert "ours +1, theirs -1" in page
    assert "Take the chosen cells" not in page and "Delete the row" not in page
    post("/conflicts/decide", **rows_of(page)[0], take="theirs")
    post("/merge/continue", **about(warehouse))
    assert warehouse.rows("a") == []


HOSTILE = "</script><img src=x onerror=alert(1)>\u202e'\"&"


def test_hostile_values_are_shown_and_sent_back_as_they_are(
    warehouse: Warehouse, get: Get, post: Post
) -> None:
    tables = Tables(warehouse)
    base = tables.entry([tables.block({1: "a"})], key=True)
    tables.put(a=base)
    warehouse.branch("de'v<b>")
    values = {"main": HOSTILE, "de'v<b>": "x" * 200_000}
    for branch, value in values.items():
        block = tables.block({1: value})
        tables.put(branch, a=tables.entry([block], parents=[base], key=True))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "de'v<b>", "main", author="ann")
    for page in (get("/merge", into="main").text, get("/conflicts", **HERE).text):
        assert "<img" not in page and "<b>" not in page and "\u202e" not in page
    page = get("/conflicts", **HERE).text
    assert "[U+202E]" in page and len(page) < 100_000
    [row] = rows_of(page)
    typed = {**row, "cell-1": "own", "value-1": f"{HOSTILE}\r\nnext"}
    post("/conflicts/decide", **typed, take="cells")
    assert "<img" not in get("/conflicts", **HERE, all="1").text
    post("/merge/continue", **about(warehouse))
    assert [item["name"] for item in warehouse.rows("a")] == [f"{HOSTILE}\nnext"]


def test_nobody_else_decides(waiting: Warehouse, stranger: TestClient, browser: Any) -> None:
    for path, fields in (
        ("/conflicts/decide", {**about(waiting), **HERE, "skip": "0", "take": "ours"}),
        ("/conflicts/undo", about(waiting)),
        ("/merge/abort", about(waiting)),
        ("/merge/continue", about(waiting)),
    ):
        found = browser.post(path, data=fields, headers={"origin": "http://evil.test"})
        assert found.status_code == 403
        assert browser.get(path).status_code == 405
    assert left(waiting) == 6


def test_merges_that_wait_are_listed(waiting: Warehouse, get: Get) -> None:
    assert '/merge?into=main"' in get("/").text
    assert "6 of 6 conflicts left" in get("/merge").text
    assert "No merge into" in get("/merge", into="dev").text
    assert "no branch" in get("/merge", 404, into="nope").text
