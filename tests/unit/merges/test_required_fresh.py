"""`require: [fresh]`: nothing on a protected branch becomes stale by a promotion."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.commands.merge import MergeReport, MergeRequest, continue_merge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.tables import Tables
from tests.unit.warehouse import Clock, Warehouse, promote


@pytest.fixture
def tables() -> Tables:
    """`main` requires fresh tables, and shows `daily`, made from `raw`, and `total` from it."""
    clock = Clock()
    tables = Tables(Warehouse(MemoryBlobs(clock), clock))
    raw = row(tables, "raw")
    daily = row(tables, "daily", raw=raw)
    tables.put(raw=raw, daily=daily, total=row(tables, "total", daily=daily))
    tables.warehouse.repository.protect("main", Protection(("fresh",)), author="ann")
    tables.warehouse.branch("dev")
    return tables


def row(tables: Tables, text: str, **inputs: TableEntry) -> TableEntry:
    read = {f"shop.{name}": entry for name, entry in inputs.items()}
    return tables.entry([tables.block({1: text})], inputs=read)


def promoted(tables: Tables, source: str = "dev", *, dry_run: bool = False) -> MergeReport:
    request = MergeRequest(dry_run=dry_run)
    return promote(tables.warehouse.repository, source, "main", request, author="ann")


def test_what_a_promotion_makes_stale_is_refused_until_it_is_built(tables: Tables) -> None:
    raw = row(tables, "raw2")
    tables.put("dev", raw=raw)
    head = tables.warehouse.head()
    for dry_run in (True, False):
        with pytest.raises(ConflictError, match=r"shop\.daily, shop\.total.*stale dev --select"):
            promoted(tables, dry_run=dry_run)
    assert tables.warehouse.head() == head
    daily = row(tables, "daily2", raw=raw)
    tables.put("dev", daily=daily)
    with pytest.raises(ConflictError, match=r"be stale there: shop\.total\. "):
        promoted(tables)
    tables.put("dev", total=row(tables, "total2", daily=daily))
    assert promoted(tables).stale == ()


def shown(tables: Tables, branch: str, name: str) -> TableEntry:
    return tables.shown(RelationName("shop", name), branch)


def test_what_only_both_sides_together_make_stale_is_refused(tables: Tables) -> None:
    tables.put("dev", late=row(tables, "late", total=shown(tables, "dev", "total")))
    tables.warehouse.branch("fix")
    tables.put("fix", total=row(tables, "total2", daily=shown(tables, "fix", "daily")))
    promoted(tables, "fix")
    with pytest.raises(ConflictError, match=r"be stale there: shop\.late\. "):
        promoted(tables)


def test_what_was_stale_before_does_not_count(tables: Tables) -> None:
    repository = tables.warehouse.repository
    repository.protect("main", None, author="ann")
    tables.put(raw=row(tables, "raw2"))
    repository.protect("main", Protection(("fresh",)), author="ann")
    tables.put("dev", other=row(tables, "other"))
    assert promoted(tables).stale == ()


def test_a_run_is_built_again(tables: Tables) -> None:
    run = tables.warehouse.run("r1", Status.PASSED, raw=row(tables, "raw2"))
    with pytest.raises(ConflictError, match="Run dbt build again on what 'main' has now"):
        promoted(tables, run.name)


def test_rows_that_are_chosen_by_hand_have_to_meet_it_too(tables: Tables) -> None:
    for branch, text in (("dev", "x"), ("other", "y")):
        if branch == "other":
            tables.warehouse.branch("other")
        tables.put(branch, new=tables.entry([tables.block({1: text})], key=True))
    tables.put("dev", late=row(tables, "late", new=shown(tables, "dev", "new")))
    promoted(tables, "other")
    with pytest.raises(ConflictError, match="conflicts are kept"):
        promoted(tables)
    repository = tables.warehouse.repository
    resolve(repository, "main", None, RowChoice(choice=Choice.OURS), author="bob")
    with pytest.raises(ConflictError, match=r"be stale there: shop\.late\. "):
        continue_merge(repository, "main", author="bob")
