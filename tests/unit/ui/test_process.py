"""`dbt-vcs ui` as a process: its address, its end, and the catalog beside it."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from dbt.adapters.vcs.commands import serve, ui
from tests.unit.cli.conftest import Call
from tests.unit.serve.server_process import ServerProcess
from tests.unit.warehouse import Warehouse


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_an_address_that_works_and_ends_with_one_line(
    warehouse: Warehouse, folder: Path, number: int
) -> None:
    server = ServerProcess(folder / "warehouse", verb="ui", says="Showing ")
    try:
        with httpx2.Client(follow_redirects=True) as browser:
            assert "main" in browser.get(server.url).text
            home = str(urlsplit(server.url)._replace(query="").geturl())
            assert browser.get(home).status_code == 200
            # Unless it is asked for, there is no catalog.
            assert browser.get(f"{home}v1/config").status_code == 404
        assert httpx2.get(home).status_code == 403
    finally:
        code = server.stop(number)
    assert code == 0
    assert server.lines[1:] == ["Ctrl-C stops it.\n", "Stopped.\n"]


def test_the_catalog_is_served_by_the_same_process(warehouse: Warehouse, folder: Path) -> None:
    server = ServerProcess(folder / "warehouse", "--serve", verb="ui", says="Showing ")
    try:
        home = server.url.partition("?")[0]
        assert "defaults" in httpx2.get(f"{home}v1/config").json()
        assert httpx2.get(f"{home}health").text == "ok\n"
        assert httpx2.get(home).status_code == 403
        evil = {"host": "evil.test"}
        assert httpx2.get(f"{home}v1/config", headers=evil).status_code == 403
    finally:
        assert server.stop(signal.SIGINT) == 0
    assert "Serving Iceberg's clients at http://127.0.0.1:" in server.lines[1]


def test_a_port_in_use_is_an_error_with_a_next_step(warehouse: Warehouse, call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = call("-r", "warehouse", "ui", "--port", port, code=2).output
    assert f"port {port}: Address already in use" in said and "--port 0 picks a free one" in said
    assert "token" not in said


def test_without_its_packages_it_says_what_to_install(
    warehouse: Warehouse, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "uvicorn" else object())
    said = call("-r", "warehouse", "ui", code=2).output
    assert "Error: ui needs packages" in said and "pip install 'dbt-vcs[serve]'" in said


def test_the_browser_is_opened_only_if_it_is_asked_for(
    warehouse: Warehouse, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(ui.click, "launch", opened.append)
    monkeypatch.setattr("dbt.adapters.vcs.iceberg.serve.http_server.run", lambda *_, **__: None)
    call("-r", "warehouse", "ui")
    assert not opened
    call("-r", "warehouse", "ui", "--open")
    assert len(opened) == 1 and "/?token=" in opened[0]


def test_the_command_line_of_the_browser_has_no_token(
    warehouse: Warehouse, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    answers: list[int] = []

    def visit(app: ASGIApp, *_: object, **__: object) -> None:
        base, _, path = opened[0].partition("/?")
        for _ in range(2):
            browser = TestClient(app, base_url=base)
            answers.extend(browser.get(each).status_code for each in (f"/?{path}", "/"))

    monkeypatch.setattr(ui.click, "launch", opened.append)
    monkeypatch.setattr("dbt.adapters.vcs.iceberg.serve.http_server.run", visit)
    said = call("-r", "warehouse", "ui", "--open").output
    assert opened[0] not in said
    # Whoever reads it later is a stranger.
    assert answers == [200, 200, 403, 403]
