"""After a run: tables that suffer are compacted if that was asked for, else named."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.vcs.changes.writes.compaction import put_optimized
from dbt.adapters.vcs.core.plan import compaction
from dbt.adapters.vcs.workspace.lines.line_workspace import Upkeep
from tests.unit.shelf import Shelf


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setattr(compaction, "DUE_BLOCKS", 3)
    shelf = Shelf()
    shelf.run("create table t (id int)")
    shelf.run("create table asks (id int) tblproperties ('vcs.auto_optimize' = 'true')")
    shelf.run("create table stays (id int) tblproperties ('vcs.auto_optimize' = 'false')")
    return shelf


def grow(shelf: Shelf, upkeep: Upkeep, *names: str, blocks: int = 4) -> None:
    overlay = shelf.begin()
    for name in names:
        for number in range(blocks):
            shelf.append(name, overlay, id=[number])
    shelf.line.land(overlay, "grow")
    upkeep.look(overlay)


def test_tables_are_named_when_they_are_due(shelf: Shelf) -> None:
    said: list[str] = []
    upkeep = Upkeep(shelf.workspace, shelf.line, auto=False, warn=said.append)
    grow(shelf, upkeep, "t", "asks", blocks=3)
    upkeep.tell()
    assert said == []
    grow(shelf, upkeep, "t", "asks", blocks=1)
    upkeep.tell()
    assert len(said) == 1 and "slow to read: s.t." in said[0]
    assert (len(shelf.blocks("t")), len(shelf.blocks("asks"))) == (4, 1)
    shelf.run("optimize t")
    grow(shelf, upkeep, "t", blocks=1)
    said.clear()
    upkeep.tell()
    assert said == [], "it is not due any more"


def test_a_table_may_say_otherwise_than_the_profile(shelf: Shelf) -> None:
    said: list[str] = []
    upkeep = Upkeep(shelf.workspace, shelf.line, auto=True, warn=said.append)
    grow(shelf, upkeep, "t", "stays")
    upkeep.tell()
    assert [len(shelf.blocks(name)) for name in ("t", "stays")] == [1, 4]
    assert "slow to read: s.stays." in said[0]


def test_a_compaction_that_fails_is_told_and_fails_nothing(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    upkeep = Upkeep(shelf.workspace, shelf.line, auto=True, warn=said.append)
    rewrite = "dbt.adapters.vcs.workspace.lines.line_workspace.put_optimized"

    def meanwhile(*arguments: Any) -> Any:
        found = put_optimized(*arguments)
        shelf.run("truncate table t")
        return found

    monkeypatch.setattr(rewrite, meanwhile)
    grow(shelf, upkeep, "t")
    assert "s.t was not compacted" in said[0]
    assert shelf.rows("t") == []
