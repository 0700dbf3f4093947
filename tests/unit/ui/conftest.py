from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from dbt.adapters.vcs.commands.options import Settings
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.ui_pages import ReadingPages
from dbt.adapters.vcs.commands.ui_site import UiSite, ui_app
from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.unit.cli.conftest import OUTSIDE
from tests.unit.warehouse import Clock, Warehouse

TOKEN = "right-token"
BASE = "http://127.0.0.1:8182"

Get = Callable[..., Response]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder; no settings come from outside."""
    for name in OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DBT_VCS_AUTHOR", "bob")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def warehouse(folder: Path) -> Warehouse:
    return Warehouse(open_blobs(str(folder / "warehouse"), {"fsync": "false"}), Clock())


@pytest.fixture
def site(warehouse: Warehouse) -> UiSite:
    session = CommandSession(Settings(repository="warehouse"))
    # With its clock, so that ages are the same each time.
    session.repository = warehouse.repository
    return UiSite(session, token=TOKEN, port=8182)


@pytest.fixture
def stranger(site: UiSite) -> TestClient:
    """A browser that has no cookie yet."""
    app = ui_app(site, ReadingPages(site).routes())
    return TestClient(app, base_url=BASE, follow_redirects=False)


@pytest.fixture
def browser(stranger: TestClient) -> TestClient:
    """A browser that opened the address that was printed."""
    assert stranger.get("/", params={"token": TOKEN}).status_code == 303
    return stranger


@pytest.fixture
def get(browser: TestClient) -> Get:
    """Open a page by its path and parameters; `code` is the status to expect."""

    def got(path: str, code: int = 200, **parameters: str) -> Response:
        found = browser.get(path, params=parameters)
        assert found.status_code == code, found.text
        assert "Traceback" not in found.text
        return found

    return got
