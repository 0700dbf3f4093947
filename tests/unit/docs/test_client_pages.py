"""The examples of the guide's pages on clients run as they are written, at a server that runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import duckdb_connection
from tests.unit.serve.server_process import ServerProcess, serving

CLIENTS = Path(__file__).parents[3] / "docs" / "clients"
PAGES = sorted(path.name for path in CLIENTS.glob("*.md"))
URL = "http://127.0.0.1:8181"


def examples(page: str, language: str) -> list[str]:
    """The blocks of a page in a language, without those that say they weren't tried."""
    text = (CLIENTS / page).read_text()
    return [
        found[1]
        for found in re.finditer(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        if "not tried" not in found[1]
        and not text[: found.start()].rstrip().endswith("(not tried):")
    ]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = Lake(tmp_path_factory.mktemp("clients") / "warehouse")
    lake.run("create schema analytics")
    lake.run("create table s.orders (id bigint, amount decimal(9,2), region string)")
    lake.add("orders", [(1, Decimal("120.00"), "EU"), (2, Decimal("5.00"), "EU")])
    lake.run("create table analytics.orders shallow clone s.orders")
    lake.run("alter table analytics.orders add columns (note string)")
    head = lake.repository.branch("main").head
    lake.repository.create_branch("feature/tax", head, author="ann")
    return Path(lake.blobs.uri)


@pytest.fixture(scope="module")
def server(warehouse: Path) -> Iterator[ServerProcess]:
    with serving(warehouse) as running:
        yield running


@pytest.mark.parametrize("page", ["pyiceberg.md", "pandas-polars.md"])
def test_the_python_of_a_page_runs(
    page: str, warehouse: Path, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(warehouse.parent)
    codes = examples(page, "python")
    assert len(codes) > 1
    names: dict[str, object] = {}
    for code in codes:
        exec(compile(code.replace(URL, server.url), page, "exec"), names)


def test_the_statements_of_the_page_on_duckdb_run(server: ServerProcess) -> None:
    codes = examples("duckdb.md", "sql")
    assert len(codes) == 3
    with duckdb_connection("httpfs") as duck:
        for code in codes:
            rows = duck.execute(code.replace(URL, server.url)).fetchall()
            assert len(rows) == 2


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_was_tried(page: str) -> None:
    assert re.search(r"\b(not )?tried\b|a test runs", (CLIENTS / page).read_text(), re.IGNORECASE)
