"""The pages of `dbt-vcs ui`: what they show, of hostile and of damaged repositories too."""

from __future__ import annotations

import html
import re
from collections import deque
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from starlette.testclient import TestClient

from dbt.adapters.vcs.commands.snapshot import create_snapshot
from dbt.adapters.vcs.core.ids import FunctionId, SnapshotId, ViewId
from dbt.adapters.vcs.core.model import (
    Field,
    Function,
    FunctionEntry,
    NodeRun,
    Origin,
    Run,
    Schema,
    TableEntry,
    View,
    ViewColumn,
    ViewEntry,
)
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.cli.conftest import Call
from tests.unit.tables import Tables
from tests.unit.ui.conftest import Get
from tests.unit.warehouse import START, Warehouse

HOSTILE = "</script><b>x</b>'\"\u202e"
BRANCH = "a&b=<u>'\"#%2e+é"


def text_of(page: str) -> str:
    """Return what a page shows, in one line."""
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", page).split()))


@pytest.fixture
def tables(warehouse: Warehouse) -> Tables:
    return Tables(warehouse)


def made(tables: Tables, text: str) -> TableEntry:
    """A table in which everything that takes a text has this one."""
    objects = tables.warehouse.repository.objects
    plain = tables.entry([tables.block({1: text, 2: None, 3: text})], key=True, node=text)
    snapshot = objects.snapshot(plain.snapshot)
    first, second = snapshot.schema.fields
    fields = [first, Field(id=second.id, name=text[:5_000], type=second.type, comment=text)]
    return TableEntry(
        snapshot=SnapshotId(
            objects.put(
                msgspec.structs.replace(
                    snapshot,
                    schema=Schema(fields=tuple(fields)),
                    comment=text,
                    properties={text: text},
                    operation=text,
                    origin=Origin(node=text, invocation=text),
                )
            )
        )
    )


def hostile(warehouse: Warehouse, tables: Tables, text: str) -> None:
    """Put a text into every place that pages read from."""
    objects = warehouse.repository.objects
    view = View(
        text=text, columns=(ViewColumn(name=text, type="bigint"),), comment=text, reads=("shop.a",)
    )
    run = Run(
        invocation=text,
        command=text,
        started_at=START,
        target=text,
        nodes=(NodeRun(id=text, status=text, reused=text),),
    )
    warehouse.put(
        a=made(tables, text),
        v=ViewEntry(view=ViewId(objects.put(view))),
        f=FunctionEntry(function=FunctionId(objects.put(Function(text=text, comment=text)))),
        message=text,
        run=run,
    )
    warehouse.branch(BRANCH)
    warehouse.put(
        BRANCH,
        a=tables.entry([tables.block({1: f"{text}!", 4: text})], key=True, node=text),
        message=text,
    )
    warehouse.repository.create_tag("v'1\"<u>", warehouse.head(), author=text)
    warehouse.run("r<u>1", Status.FAILED, target=BRANCH, note=text, owner=text)
    warehouse.branch("late")
    warehouse.put("late", a=tables.entry([tables.block({1: f"{text}?"})], key=True))


class Markup(HTMLParser):
    """The names of a page's elements and of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def addresses(page: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(r'href="(/[^"]*)"', page)]


def test_every_link_of_every_page_leads_to_a_page_in_which_no_value_is_markup(
    browser: TestClient, warehouse: Warehouse, tables: Tables, call: Call
) -> None:
    hostile(warehouse, tables, HOSTILE)
    call("-r", "warehouse", "merge", "late", BRANCH, code=1)
    create_snapshot(warehouse.repository, "shop.a", "s1", at="main", author="ann")
    todo = deque(["/"])
    seen = set(todo)
    while todo:
        address = todo.popleft()
        found = browser.get(address)
        assert found.status_code == 200, (address, text_of(found.text))
        if address.startswith("/static/"):
            continue
        assert "\u202e" not in found.text, address
        markup = Markup()
        markup.feed(found.text)
        assert not markup.names & {"b", "u", "img"}, address
        # A value that ended an attribute would begin others, of such signs.
        assert all(map(re.compile("[a-z-]+").fullmatch, markup.attributes)), address
        new = [item for item in addresses(found.text) if item not in seen]
        seen.update(new)
        todo.extend(new)
    kinds = {urlsplit(item).path for item in seen}
    assert kinds >= {
        *("/", "/log", "/commit", "/tables", "/table", "/rows", "/figures", "/blame", "/review")
    }
    # Through the list of named snapshots.
    assert "/rows?name=shop.a&at=s1" in seen
    branches = {parse_qs(urlsplit(item).query).get("head", [""])[0] for item in seen}
    assert BRANCH in branches


def test_a_text_of_ten_megabytes_is_cut_on_each_page(
    browser: TestClient, warehouse: Warehouse, tables: Tables
) -> None:
    text = "x" * 10_000_000
    hostile(warehouse, tables, text)
    for address in (
        *("/", "/log", f"/commit?at={warehouse.head()}", "/tables", "/table?name=shop.a"),
        *("/table?name=shop.v", "/table?name=shop.f", "/rows?name=shop.a", "/figures?name=shop.a"),
        *(f"/rows?name=shop.a&where={text[:20_000]}", "/blame?name=shop.a&column=id&value=1"),
    ):
        found = browser.get(address)
        assert found.status_code in (200, 400), (address[:80], found.status_code)
        assert len(found.text) < 300_000, address[:80]
    assert "(10,000,000 characters)" in browser.get("/log").text
    found = browser.get("/review", params={"head": BRANCH})
    assert found.status_code == 200 and len(found.text) < 300_000


def test_the_log_draws_every_branch_and_where_they_part(get: Get, warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    warehouse.put("dev", a="2")
    warehouse.put(b="1")
    page = get("/log").text
    assert page.count('class="graph"') == 4 and '<circle class="c1"' in page
    assert "Put b" in text_of(page) and "dev" in text_of(page)
    page = get("/log", at="dev").text
    assert page.count('class="graph"') == 3 and "Put b" not in text_of(page)
    assert "Put a" in text_of(get("/log", at="main..dev").text)


def test_tables_are_filtered_and_say_why_they_are_stale(
    get: Get, warehouse: Warehouse, tables: Tables
) -> None:
    orders = tables.entry([tables.block({1: "a"})], key=True)
    warehouse.put(orders=orders, revenue=tables.entry([], inputs={"shop.orders": orders}))
    warehouse.put(orders=tables.entry([tables.block({2: "b"})], key=True))
    said = text_of(get("/tables").text)
    assert "stale shop.orders moved on" in said and "2 relations" in said
    said = text_of(get("/tables", words="SHOP rev").text)
    assert "1 relation" in said and "revenue" in said and ">orders" not in said
    assert "stale" not in text_of(get("/tables", at="main~1").text)


def test_many_tables_come_in_pages(get: Get, warehouse: Warehouse) -> None:
    entry = warehouse.table("1")
    warehouse.put(**{f"t{number:03}": entry for number in range(502)})
    first, second = get("/tables").text, get("/tables", skip="500").text
    assert "shop.t499<" in first and "shop.t500<" not in first and "Further names" in first
    assert "shop.t501<" in second and "Earlier names" in second


def test_rows_of_any_version_are_filtered_and_paged(
    get: Get, warehouse: Warehouse, tables: Tables
) -> None:
    first = tables.block({number: f"n{number}" for number in range(150)})
    entry = tables.entry([first], key=True)
    warehouse.put(a=entry)
    create_snapshot(warehouse.repository, "shop.a", "s1", at="main", author="ann")
    gone = tables.tombstone(first, {0: (0, "n0")})
    warehouse.put(a=tables.entry([first], [gone], parents=[entry], key=True))
    page = text_of(get("/rows", name="shop.a").text)
    assert "149 rows" in page and "Rows 1 to 100," in page and " n0 " not in page
    assert "Rows 101 to 149," in text_of(get("/rows", name="shop.a", skip="100").text)
    assert "No further row" in text_of(get("/rows", name="shop.a", skip="149").text)
    for at in ("main~1", "s1", entry.snapshot[:16]):
        assert " n0 " in text_of(get("/rows", name="shop.a", at=at).text)
    page = text_of(get("/rows", name="shop.a", where="id >= 140 and name <> 'n141'").text)
    assert "Rows 1 to 9 that meet the condition" in page and " n141 " not in page
    assert "No row meets" in text_of(get("/rows", name="shop.a", where="id < 0").text)
    page = get("/rows", name="shop.a", columns="name", where="id = 7").text
    assert text_of(page).endswith("name n7") and "blame" not in page


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"where": "id = (select 1)"}, "select"),
        ({"where": "nix = 1"}, "nix"),
        ({"where": "id = 1; drop table x"}, "condition"),
        ({"where": HOSTILE}, "is not closed"),
        ({"columns": "nix"}, "nix"),
    ],
)
def test_a_condition_is_checked_as_that_of_cat(
    get: Get, warehouse: Warehouse, tables: Tables, call: Call, given: dict[str, str], said: str
) -> None:
    warehouse.put(a=tables.entry([tables.block({1: "a"})], key=True))
    page = get("/rows", 400, name="shop.a", **given).text
    [(option, value)] = given.items()
    told = call("-r", "warehouse", "cat", "shop.a", f"--{option}", value, code=2).output
    assert said in told.lower()
    message = told.removeprefix("Error: ").strip()
    assert " ".join(message.split()) in text_of(page)
    # It stays in the form, to be mended.
    assert (
        html.escape(value, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
        in page
    )


@pytest.mark.parametrize(
    ("path", "given", "code", "said"),
    [
        ("/log", {"at": "nix"}, 404, "nix"),
        ("/log", {"at": "main~99"}, 404, "main"),
        ("/commit", {}, 400, "lacks at"),
        ("/commit", {"at": "nix"}, 404, "nix"),
        ("/tables", {"at": HOSTILE}, 404, "There is no branch"),
        ("/table", {}, 400, "lacks name"),
        ("/table", {"name": "a.b.c"}, 400, "Expected schema.table"),
        ("/table", {"name": "shop.nix"}, 404, "shop.nix"),
        ("/table", {"name": "shop.a", "at": "nix"}, 404, "nix"),
        ("/rows", {"name": "shop.nix"}, 404, "shop.nix"),
        ("/rows", {"name": "shop.v"}, 400, "is a view"),
        ("/rows", {"name": "shop.a", "skip": "-1"}, 400, "Expected skip"),
        ("/figures", {"name": "shop.v"}, 400, "view"),
        ("/blame", {"name": "shop.a"}, 400, "needs a key"),
        ("/blame", {"name": "shop.a", "column": "id"}, 400, "one value for each column"),
        ("/blame", {"name": "shop.a", "column": "id", "value": "99"}, 404, "id=99"),
        ("/blame", {"name": "shop.a", "column": "id", "value": "x"}, 400, "id"),
        ("/review", {}, 400, "lacks head"),
        ("/review", {"head": "nix"}, 404, "nix"),
        ("/review", {"base": "nix", "head": "main"}, 404, "nix"),
        ("/approve", {}, 405, "can't be asked like that"),
        ("/nix", {}, 404, "no such page"),
    ],
)
def test_what_is_not_there_is_a_page_with_the_next_step(
    get: Get,
    warehouse: Warehouse,
    tables: Tables,
    path: str,
    given: dict[str, str],
    code: int,
    said: str,
) -> None:
    entry = tables.entry([tables.block({1: "a"})], key=True)
    warehouse.put(a=entry, v=warehouse.view("select 1"))
    found = text_of(get(path, code, **given).text)
    assert said in found and "Branches" in found


@pytest.mark.parametrize("path", ["/", "/log", "/tables", "/review"])
def test_an_empty_repository_has_all_pages(get: Get, warehouse: Warehouse, path: str) -> None:
    get(path, **({"head": "main"} if path == "/review" else {}))


def test_figures_are_of_the_version_that_is_asked_for(
    get: Get, warehouse: Warehouse, tables: Tables
) -> None:
    warehouse.put(a=tables.entry([tables.block({1: "a", 2: None, 3: "c"})], key=True))
    warehouse.put(a=tables.entry([tables.block({1: "a", 99: "b"})], key=True))
    now, before = (
        text_of(get("/figures", name="shop.a", at=at).text) for at in ("main", "main~1")
    )
    assert "id bigint 0 0% 1 1 99 100 name string 0 0%" in now
    assert "id bigint 0 0% 1 2 3 6 name string 1 33%" in before


def test_a_row_leads_to_who_changed_it(get: Get, warehouse: Warehouse, tables: Tables) -> None:
    first = tables.block({1: "a", 2: "b"})
    one = tables.entry([first], key=True)
    warehouse.put(a=one)
    gone, come = tables.tombstone(first, {1: (2, "b")}), tables.block({2: HOSTILE})
    warehouse.put(a=tables.entry([first, come], [gone], parents=[one], key=True), message="Mend")
    page = get("/rows", name="shop.a", where="id = 2").text
    [link] = [item for item in addresses(page) if item.startswith("/blame")]
    said = text_of(get(link).text)
    assert "Modified by ann" in said and "Mend" in said and "name b </script>" in said


def test_a_branch_that_is_deleted_meanwhile_is_said_so(get: Get, warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    links = [item for item in addresses(get("/").text) if "dev" in item]
    assert len(links) == 3
    warehouse.repository.delete_branch("dev", author="ann")
    for link in links:
        assert "dev" in text_of(get(link, 404).text)
    assert "dev" not in text_of(get("/").text)


def test_rows_that_are_purged_meanwhile_are_not_shown(
    get: Get, warehouse: Warehouse, tables: Tables, call: Call
) -> None:
    first = tables.block({1: "ann", 2: "zz-jane"})
    one = tables.entry([first], key=True)
    old = warehouse.put(a=one)
    warehouse.put(a=tables.entry([first, tables.block({3: "bob"})], parents=[one], key=True))
    link = f"/rows?name=shop.a&at={old}"
    assert "zz-jane" in get(link).text
    call("-r", "warehouse", "purge", "shop.a", "--where", "name = 'zz-jane'")
    for path, code in (("/rows?name=shop.a", 200), ("/figures?name=shop.a", 200), ("/log", 200)):
        assert "zz-jane" not in get(path, code).text
    assert "zz-jane" not in get(link, 404).text


def test_a_damaged_table_leaves_the_others_shown(
    get: Get, warehouse: Warehouse, tables: Tables
) -> None:
    lost = TableEntry(snapshot=SnapshotId("a" * 64))
    warehouse.put(a=tables.entry([tables.block({1: "a"})]))
    warehouse.put(lost=lost)
    said = text_of(get("/tables").text)
    assert "shop.lost damaged" in said and "shop.a" in said
    assert "staleness not known" in text_of(get("/").text)
    assert "damaged" in text_of(get("/table", 500, name="shop.lost").text).lower()
