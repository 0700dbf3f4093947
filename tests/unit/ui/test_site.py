"""Who `dbt-vcs ui` answers, and what each answer has."""

from __future__ import annotations

import re

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from dbt.adapters.vcs.commands.ui_site import MAX_FORM, Form, UiSite, posting, ui_app
from tests.unit.ui.conftest import BASE, TOKEN, Get
from tests.unit.warehouse import Warehouse

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


@pytest.fixture
def said() -> list[Form]:
    """The forms that came through."""
    return []


@pytest.fixture
def writer(site: UiSite, said: list[Form]) -> TestClient:
    """A browser with the token, at a page that may change something."""

    def answer(_: Request, form: Form) -> Response:
        said.append(form)
        return PlainTextResponse("done")

    def broken(_: Request) -> Response:
        raise RuntimeError("a fault")

    routes = [
        Route("/change", posting(answer), methods=["POST"]),
        Route("/broken", broken),
    ]
    client = TestClient(ui_app(site, routes), base_url=BASE, raise_server_exceptions=False)
    client.cookies.set(site.cookie, TOKEN)
    return client


def test_the_printed_address_is_kept_in_a_cookie_and_left_by_a_redirect(
    stranger: TestClient,
) -> None:
    found = stranger.get("/", params={"token": TOKEN, "skip": "0"})
    assert (found.status_code, found.headers["location"]) == (303, "/?skip=0")
    cookie = found.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie and "path=/" in cookie
    assert stranger.get("/").status_code == 200


@pytest.mark.parametrize("path", ["//x.test/", "/\\x.test/"])
def test_a_redirect_never_leaves_the_server(stranger: TestClient, path: str) -> None:
    found = stranger.get(f"{BASE}{path}?token={TOKEN}")
    assert re.match(r"/[^/\\]", found.headers["location"])


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "é"])
def test_without_the_token_nothing_is_answered(
    stranger: TestClient, warehouse: Warehouse, token: str | None
) -> None:
    found = stranger.get("/", params={} if token is None else {"token": token})
    assert found.status_code == 403
    assert "Open the whole address that it printed" in found.text
    # Not even where the repository is.
    assert warehouse.blobs.uri not in found.text
    assert "set-cookie" not in found.headers


def test_a_post_without_the_cookie_changes_nothing(writer: TestClient, said: list[Form]) -> None:
    writer.cookies.clear()
    for path in ("/change", f"/change?token={TOKEN}"):
        assert writer.post(path, data={"a": "1"}).status_code == 403
    assert not said


def test_every_page_that_changes_something_needs_token_and_origin(
    stranger: TestClient, site: UiSite, warehouse: Warehouse
) -> None:
    paths = [
        route.path
        for route in stranger.app._app.routes  # type: ignore[union-attr]
        if "POST" in (route.methods or ())
    ]
    assert len(paths) >= 6
    for path in paths:
        assert stranger.post(path, headers={"origin": BASE}).status_code == 403, path
        # Nor is it a page to look at: a link or a picture must change nothing.
        assert stranger.get(path, params={"token": TOKEN}).status_code == 303
        stranger.cookies.set(site.cookie, TOKEN)
        assert stranger.get(path).status_code == 405, path
        assert stranger.post(path, headers={"origin": "http://evil.test"}).status_code == 403
        assert stranger.post(path, headers={"origin": BASE}).status_code in (400, 404), path
        stranger.cookies.clear()


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:8182", "127.0.0.1", "127.0.0.1:80", "localhost:9", ""]
)
def test_another_host_is_turned_away_even_with_the_token(browser: TestClient, host: str) -> None:
    found = browser.get("/", headers={"host": host})
    assert found.status_code == 403 and "was asked as" in found.text
    assert browser.get("/static/review.css", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost:8182", "LocalHost:8182", "[::1]:8182"])
def test_each_name_of_this_machine_is_answered(browser: TestClient, host: str) -> None:
    assert browser.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        (BASE, 200),
        ("null", 403),
        ("http://127.0.0.1:9999", 403),
        ("https://127.0.0.1:8182", 403),
        ("http://evil.test", 403),
    ],
)
def test_only_pages_of_the_server_may_ask_for_a_change(
    writer: TestClient, said: list[Form], origin: str | None, status: int
) -> None:
    headers = {} if origin is None else {"origin": origin}
    assert writer.post("/change", data={"a": "1"}, headers=headers).status_code == status
    assert len(said) == (status == 200)


def test_a_form_comes_whole_and_bounded(writer: TestClient, said: list[Form]) -> None:
    writer.post("/change", data={"v": ["1", HOSTILE], "empty": ""})
    assert said[0].getlist("v") == ["1", HOSTILE] and said[0]["empty"] == ""
    found = writer.post("/change", content=b"a=" + b"x" * MAX_FORM)
    assert found.status_code == 413 and "at most 1,048,576 bytes" in found.text
    assert len(said) == 1


def test_each_answer_has_the_policy_and_lets_no_other_site_read(
    stranger: TestClient, get: Get
) -> None:
    answers = [get("/"), get("/none", 404), get("/static/ui/ui.css")]
    stranger.cookies.clear()
    for found in [*answers, stranger.get("/")]:
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["cache-control"] == "no-store"
        assert not [name for name in found.headers if name.startswith("access-control")]
        assert "<style" not in found.text and " onclick" not in found.text


def test_a_fault_is_a_page_with_a_sentence(writer: TestClient) -> None:
    found = writer.get("/broken")
    assert found.status_code == 500 and "That is a fault of dbt-vcs" in found.text
    assert "a fault<" not in found.text and "Traceback" not in found.text


def test_only_files_of_the_site_are_static(get: Get) -> None:
    for name in ("ui/htmx-4.0.1.min.js", "review.js", "review.css"):
        assert get(f"/static/{name}").text
    for name in ("review.html.j2", "../commands/ui.py", "%2e%2e/cli.py", "ui"):
        get(f"/static/{name}", 404)
