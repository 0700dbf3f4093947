"""A new user's session: only links of the pages are followed, and only their buttons pressed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ProtectedError
from tests.unit.commands.test_resolve_values import BASE as ROWS
from tests.unit.commands.test_resolve_values import OURS, THEIRS, rows, table
from tests.unit.ui.conftest import BASE, TOKEN
from tests.unit.warehouse import Warehouse


@dataclass
class ShownForm:
    """A form of a page.

    Attributes:
        action: Where it is sent to.
        fields: What it sends if nothing is chosen besides what is.
        names: The fields that it has.
        buttons: What each button that can be pressed sends besides, by its text.
        text: All that it says.
    """

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    buttons: dict[str, dict[str, str]] = field(default_factory=dict)
    text: str = ""


class ShownPage(HTMLParser):
    """The links and forms of a page, as a browser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.forms: list[ShownForm] = []
        self.said = ""
        self._form: ShownForm | None = None
        self._href: str | None = None
        self._button: dict[str, str | None] | None = None
        self._area: str | None = None
        self._text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name"), given.get("value") or ""
        if tag == "a":
            self._href, self._text = given.get("href"), ""
        elif tag == "form":
            self._form = ShownForm(given.get("action") or "")
            self.forms.append(self._form)
        elif tag == "button":
            self._button, self._text = given, ""
        if self._form is None or not name or tag not in ("input", "select", "textarea"):
            return
        self._form.names.add(name)
        if tag == "textarea":
            self._area = name
        elif given.get("type") not in ("radio", "checkbox") or "checked" in given:
            self._form.fields[name] = value

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._href is not None:
            self.links.append((" ".join(self._text.split()), self._href))
            self._href = None
        elif tag == "form":
            self._form = None
        elif tag == "textarea":
            self._area = None
        elif tag == "button" and self._button is not None:
            if self._form is not None and "disabled" not in self._button:
                name = self._button.get("name")
                sent = {name: self._button.get("value") or ""} if name else {}
                self._form.buttons[" ".join(self._text.split())] = sent
            self._button = None

    def handle_data(self, data: str) -> None:
        self.said += data
        self._text += data
        if self._form is not None:
            self._form.text += data
            if self._area is not None:
                self._form.fields[self._area] = self._form.fields.get(self._area, "") + data


class Visitor:
    """Somebody in front of a page."""

    def __init__(self, client: TestClient, address: str) -> None:
        self._client = client
        self.address = ""
        self.open(address)

    def open(self, address: str) -> None:
        """Open an address, as a browser does when a link is clicked."""
        self._show(address, self._client.get(address))

    def _show(self, address: str, found: Response) -> None:
        while found.status_code == 303:
            address = found.headers["location"]
            found = self._client.get(address)
        assert found.status_code == 200, found.text[-900:]
        self.address = address
        self.page = ShownPage(found.text)

    def follow(self, text: str, having: str = "") -> None:
        """Follow the only link of a text that leads to an address with a part."""
        found = {href for said, href in self.page.links if said == text and having in href}
        assert len(found) == 1, (text, self.page.links)
        self.open(found.pop())

    def press(self, button: str, having: str = "", **fields: str) -> None:
        """Press the first button of a text, in a form that says something, with what is typed."""
        forms = [f for f in self.page.forms if button in f.buttons and having in f.text]
        assert forms, (button, [(f.action, f.buttons, f.text) for f in self.page.forms])
        form = forms[0]
        assert fields.keys() <= form.names, form.names
        sent = {**form.fields, **form.buttons[button], **fields}
        self._show("", self._client.post(form.action, data=sent, headers={"origin": BASE}))

    def buttons(self) -> set[str]:
        return {text for form in self.page.forms for text in form.buttons}


@pytest.fixture
def forked(warehouse: Warehouse) -> Warehouse:
    """Two branches that changed five rows of `a` and the view `v` differently."""
    warehouse.put(a=table(warehouse, ROWS), v=warehouse.view("select 1"))
    warehouse.branch("dev")
    warehouse.put("dev", a=table(warehouse, THEIRS), v=warehouse.view("select 2"))
    warehouse.put(a=table(warehouse, OURS), v=warehouse.view("select 3"))
    warehouse.repository.protect("main", Protection(("approval",)), author="ann")
    return warehouse


def test_a_conflict_is_resolved_on_the_branch_and_then_promoted_to_a_protected_main(
    forked: Warehouse, stranger: TestClient
) -> None:
    main, view = forked.head(), forked.shown()["shop.v"]
    user = Visitor(stranger, f"/?token={TOKEN}")
    user.follow("review", "head=dev")
    user.press(f"Approve {forked.head('dev')[:12]} as bob", note="looks fine")
    assert "Can’t be merged" in user.page.said and "2 conflicts foretold" in user.page.said
    # Nobody can have approved rows that are chosen by hand, so they are chosen on the branch.
    assert "Promote to main as bob" not in user.buttons()
    user.follow("Merge main into dev")
    assert user.address == "/review?base=dev&head=main"
    user.press("Merge into dev as bob")
    assert user.address == "/merge?into=dev"
    assert "main into dev" in user.page.said and "6 of 6 conflicts left" in user.page.said
    assert "Continue the merge as bob" not in user.buttons()

    user.follow("shop.a")
    # By now `dev` is ours, and `main` theirs.
    user.press("Take the chosen cells", "id=2", **{"cell-1": "theirs", "value-2": "agreed"})
    user.press("Take theirs", "id=1")
    assert "3 of 5 left here" in user.page.said
    user.press("Undo", "with theirs")
    assert "4 of 5 left here" in user.page.said
    user.press("Take ours", "id=1")
    user.press("Take it", "Take the row of", side="ours")
    user.follow("Decide the others")
    user.press("Decide", "What becomes of shop.v", side="theirs")
    assert "Each of 6 conflicts is decided." in user.page.said
    user.press("Continue the merge as bob")
    assert user.address == f"/commit?at={forked.head('dev')}"
    assert forked.head() == main

    user.follow("Branches")
    user.follow("review", "head=dev")
    assert "approval" in user.page.said and "Can’t be merged" in user.page.said
    user.press(f"Approve {forked.head('dev')[:12]} as bob")
    assert "Can be merged" in user.page.said
    user.press("Promote to main as bob")
    assert user.address == f"/commit?at={forked.head()}"
    assert rows(forked) == {
        0: ("1.00", "old", "n0"),
        1: ("3.00", "old", "n1"),
        2: ("2.00", "agreed", "n2"),
        3: ("3.00", "their", "n3"),
        4: ("3.00", "old", "n4"),
        5: ("1.00", "old", "n5"),
        7: ("8.00", "same", "their"),
    }
    assert forked.shown()["shop.v"] == view
    assert forked.shown() == forked.shown("dev")
    with pytest.raises(ProtectedError):
        merge(forked.repository, "dev~1", "main", author="ann")
