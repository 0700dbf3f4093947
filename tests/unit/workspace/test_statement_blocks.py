"""A connection tells the engine where a statement begins and ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.workspace.lines import line_workspace
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection, Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope
from tests.unit.fake_engine import FakeEngine, FakeRows, FakeSession


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the engine hears, in order."""
    heard: list[str] = []

    @contextmanager
    def statement(self: FakeSession) -> Iterator[None]:
        heard.append("begin")
        try:
            yield
        finally:
            heard.append("end")

    def query(self: FakeSession, text: str) -> FakeRows:
        heard.append(text)
        return FakeRows(None)

    monkeypatch.setattr(FakeSession, "statement", statement)
    monkeypatch.setattr(FakeSession, "query", query)
    monkeypatch.setattr(FakeSession, "use", lambda self, schema: heard.append(f"use {schema}"))
    return heard


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    repository = Repository.create(LocalBlobs(tmp_path / "wh"), author="ann")
    line = BranchLine(repository, "main", "ann")
    return Workspace(
        repository, line, lambda: FakeEngine(repository.blobs), schema="shop"
    ).connect("test")


def carry_out(connection: Connection, monkeypatch: pytest.MonkeyPatch, work: Any) -> Outcome:
    """Execute a statement whose handler is `work`."""
    monkeypatch.setattr(line_workspace, "execute", lambda scope, **options: work(scope))
    return connection.execute("select 1", connection.workspace.begin(), origin=Origin())


def test_a_statement_begins_with_the_first_call_and_ends(
    connection: Connection, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice(scope: Scope) -> Outcome:
        scope.session.query("one")
        scope.session.query("two")
        return Outcome()

    carry_out(connection, monkeypatch, lambda scope: Outcome())
    assert told == []
    carry_out(connection, monkeypatch, twice)
    assert told == ["begin", "use shop", "one", "two", "end"]
    carry_out(connection, monkeypatch, twice)
    assert told[5:] == ["begin", "one", "two", "end"]


def test_a_statement_that_fails_ends(
    connection: Connection, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(scope: Scope) -> Outcome:
        scope.session.query("one")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        carry_out(connection, monkeypatch, fails)
    assert told == ["begin", "use shop", "one", "end"]


@pytest.mark.parametrize("asked", [0, 1])
def test_what_is_asked_after_a_statement_is_no_part_of_it(
    connection: Connection, told: list[str], monkeypatch: pytest.MonkeyPatch, asked: int
) -> None:
    # As rows that are computed when they are fetched: nothing would end the statement.
    scopes: list[Scope] = []

    def later(scope: Scope) -> Outcome:
        scopes.append(scope)
        for _ in range(asked):
            scope.session.query("now")
        return Outcome()

    carry_out(connection, monkeypatch, later)
    told.clear()
    scopes[0].session.query("later")
    assert told == (["later"] if asked else ["use shop", "later"])
