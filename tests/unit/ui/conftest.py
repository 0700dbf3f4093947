from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from dbt.adapters.vcs.commands.options import Settings
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.ui import site_app
from dbt.adapters.vcs.commands.ui_site import UiSite
from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.unit.cli.conftest import OUTSIDE
from tests.unit.cli.conftest import call as call
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
def session(warehouse: Warehouse) -> CommandSession:
    found = CommandSession(Settings(repository="warehouse"))
    # With its clock, so that ages are the same each time.
    found.repository = warehouse.repository
    return found


@pytest.fixture
def site(session: CommandSession) -> UiSite:
    return UiSite(session, token=TOKEN, port=8182)


@pytest.fixture
def stranger(session: CommandSession) -> TestClient:
    """A browser that has no cookie yet."""
    app = site_app(session, token=TOKEN, port=8182)
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
        found = browser.get(path, params=parameters or None)
        assert found.status_code == code, found.text[-900:]
        assert "Traceback" not in found.text
        return found

    return got
