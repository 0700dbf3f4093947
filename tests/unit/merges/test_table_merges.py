"""A merge that lost a race merges again only the tables that the winner changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.merges import table_merge
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.repository import Repository
from tests.unit.warehouse import Warehouse

TABLES = ("a", "b", "c", "d", "e")
Race = Sequence[str]
"""The tables that another writer changes before an attempt lands."""


def both_changed() -> Warehouse:
    """`dev` added rows to all tables, and `main` changed others of their rows."""
    warehouse = Warehouse()
    warehouse.put(**dict.fromkeys(TABLES, "1"))
    warehouse.branch("dev")
    warehouse.put("dev", **{name: warehouse.table("1", "new") for name in TABLES})
    warehouse.put(**{name: warehouse.table(f"{name}0") for name in TABLES})
    return warehouse


def intrude(warehouse: Warehouse, race: Race, number: int) -> None:
    """Change all rows of some tables, as another writer."""
    if race:
        warehouse.put(**{name: warehouse.table(f"{name}{number}") for name in race})


def overtaken(warehouse: Warehouse, races: Sequence[Race]) -> None:
    """Let another writer land before each of the next attempts."""
    repository: Any = warehouse.repository
    land, waiting = repository.land, list(enumerate(races, 1))

    def landed(proposal: Any) -> Any:
        repository.land = land
        if waiting:
            number, race = waiting.pop(0)
            intrude(warehouse, race, number)
        if waiting:
            repository.land = landed
        return land(proposal)

    repository.land = landed


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the name of each table that is merged."""
    merged: list[str] = []
    plain: Callable[..., Any] = table_merge.merge_tables

    def merge_tables(repository: Any, work: Any, sessions: Any) -> Any:
        merged.append(work.name.identifier)
        return plain(repository, work, sessions)

    monkeypatch.setattr(table_merge, "merge_tables", merge_tables)
    return merged


def rows(warehouse: Warehouse) -> dict[str, list[tuple[Any, ...]]]:
    return {name: sorted(tuple(row.values()) for row in warehouse.rows(name)) for name in TABLES}


def test_only_what_moved_is_merged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = both_changed()
    merged = counted(monkeypatch)
    overtaken(warehouse, [["c"]])
    report = merge(warehouse.repository, "dev", "main", author="ann")
    assert sorted(merged) == ["a", "b", "c", "c", "d", "e"]
    assert len(report.relations) == len(TABLES)


def test_what_an_earlier_plan_stored_is_stored_again(monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = both_changed()
    merged: list[str] = []
    plain: Callable[..., Any] = table_merge.merge_tables

    def merge_tables(*arguments: Any) -> Any:
        found = plain(*arguments)
        merged.append(found[0])
        return found

    monkeypatch.setattr(table_merge, "merge_tables", merge_tables)
    repository: Any = warehouse.repository
    land = repository.land

    def landed(proposal: Any) -> Any:
        repository.land = land
        intrude(warehouse, ["c"], 1)
        # The first plan was stored, and is gone as if a collection had taken it.
        repository.objects.flush()
        assert len(merged) == len(TABLES)
        for info in list(warehouse.blobs.walk("objects")):
            if any(info.path.endswith(id) for id in merged):
                warehouse.blobs.delete(info.path)
        return land(proposal)

    repository.land = landed
    merge(warehouse.repository, "dev", "main", author="ann")
    fresh = Repository.open(warehouse.blobs)
    for entry in fresh.tree(fresh.branch("main").head).relations("shop").values():
        assert isinstance(entry, TableEntry)
        assert fresh.objects.snapshot(entry.snapshot).rows == 20


@settings(max_examples=max(1, settings().max_examples // 10))
@given(races=st.lists(st.sets(st.sampled_from(TABLES), min_size=1).map(sorted), max_size=3))
def test_a_merge_that_lost_races_gives_what_it_gives_after_the_winners(
    races: list[list[str]],
) -> None:
    beside, after = both_changed(), both_changed()
    overtaken(beside, races)
    merge(beside.repository, "dev", "main", author="ann")
    for number, race in enumerate(races, 1):
        intrude(after, race, number)
    merge(after.repository, "dev", "main", author="ann")
    assert rows(beside) == rows(after)
