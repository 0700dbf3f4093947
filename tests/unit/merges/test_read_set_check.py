"""The write skew of two runs, published one after the other, under each setting."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale
from dbt.adapters.vcs.commands.merge import MergeReport, MergeRequest, merge
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status, find_run
from tests.unit.tables import Tables
from tests.unit.warehouse import Clock, Warehouse

WARN, FAIL, HEAL = OnStale.WARN, OnStale.FAIL, OnStale.HEAL


@pytest.fixture
def tables() -> Tables:
    clock = Clock()
    tables = Tables(Warehouse(MemoryBlobs(clock), clock))
    orders, customers = (
        tables.entry([tables.block({1: "o"})]),
        tables.entry([tables.block({1: "c"})]),
    )
    tables.put(orders=orders, customers=customers)
    return tables


def row(tables: Tables, text: str) -> TableEntry:
    return tables.entry([tables.block({1: text})])


def revenue(tables: Tables, orders: TableEntry, customers: TableEntry) -> TableEntry:
    inputs = {"shop.orders": orders, "shop.customers": customers}
    return tables.entry([tables.block({1: "r"})], inputs=inputs)


def shown(tables: Tables, name: str) -> TableEntry:
    entry = tables.warehouse.shown()[f"shop.{name}"]
    assert isinstance(entry, TableEntry)
    return entry


def skewed(tables: Tables) -> RunBranch:
    """A run changed orders, another customers and made revenue from both as they were."""
    orders, customers = row(tables, "o2"), row(tables, "c2")
    made = revenue(tables, shown(tables, "orders"), customers)
    waiting = tables.warehouse.run("late", Status.PASSED, customers=customers, revenue=made)
    tables.put(orders=orders)
    return waiting


def published(tables: Tables, run: RunBranch, on_stale: OnStale, **more: bool) -> MergeReport:
    request = MergeRequest(on_stale=on_stale, **more)
    return merge(tables.warehouse.repository, run.name, "main", request, author="ann")


def test_warn_publishes_and_records_it(tables: Tables) -> None:
    run = skewed(tables)
    report = published(tables, run, WARN)
    assert report.stale == ("shop.revenue",)
    commit = tables.warehouse.repository.objects.commit(tables.warehouse.head())
    assert commit.metadata == {"stale": "shop.revenue (shop.orders)"}


@pytest.mark.parametrize("on_stale", [FAIL, HEAL])
def test_fail_keeps_the_run_and_so_does_heal_without_what_computes(
    tables: Tables, on_stale: OnStale
) -> None:
    run, head = skewed(tables), tables.warehouse.head()
    for dry_run in (True, False):
        with pytest.raises(ConflictError, match=r"shop\.revenue \(shop\.orders\)") as caught:
            published(tables, run, on_stale, dry_run=dry_run)
        assert f"(on_stale: {on_stale})" in str(caught.value)
    assert tables.warehouse.head() == head
    assert find_run(tables.warehouse.repository, "late").status is Status.PASSED
    assert published(tables, run, on_stale, force=True).stale == ("shop.revenue",)


@pytest.mark.parametrize("on_stale", [WARN, FAIL])
def test_what_would_be_the_same_after_the_others_is_published(
    tables: Tables, on_stale: OnStale
) -> None:
    """The other run read what this one changes: it came first, and its table is older."""
    run = tables.warehouse.run("late", Status.PASSED, customers=row(tables, "c2"))
    tables.put(revenue=revenue(tables, shown(tables, "orders"), shown(tables, "customers")))
    assert published(tables, run, on_stale).stale == ("shop.revenue",)
    commit = tables.warehouse.repository.objects.commit(tables.warehouse.head())
    assert commit.metadata == {"stale": "shop.revenue (shop.customers)"}


def test_nothing_is_checked_where_the_target_has_not_moved(tables: Tables) -> None:
    """The run itself chose to show an older table."""
    made = revenue(tables, shown(tables, "orders"), row(tables, "c1"))
    run = tables.warehouse.run("only", Status.PASSED, revenue=made)
    assert published(tables, run, FAIL).stale == ("shop.revenue",)
    assert tables.warehouse.repository.objects.commit(tables.warehouse.head()).metadata == {}
