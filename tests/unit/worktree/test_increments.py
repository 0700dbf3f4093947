"""What a table has consumed: found, recorded, kept from collection, purged and rebased."""

from __future__ import annotations

import msgspec
import pytest

from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.gc import collect, set_retention
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import (
    Consumed,
    Consumption,
    Origin,
    RelationName,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.origins.staleness import stale_tables
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.sql.syntax.parser import Query, parse
from dbt.adapters.vcs.workspace.increments import (
    Increment,
    check_reader,
    increment_of,
    record,
)
from dbt.adapters.vcs.workspace.lines.lines import rebased
from dbt.adapters.vcs.workspace.overlay import Overlay
from tests.unit.tables import Rows, Tables
from tests.unit.warehouse import Clock, Warehouse

ORDERS, MODEL = RelationName("shop", "orders"), RelationName("shop", "model")


@pytest.fixture
def tables() -> Tables:
    clock = Clock()
    return Tables(Warehouse(MemoryBlobs(clock), clock))


def begin(tables: Tables) -> Overlay:
    repository, head = tables.warehouse.repository, tables.warehouse.head()
    return Overlay(
        repository=repository, base=head, tree=repository.tree(head), branch="main", author="ann"
    )


def write(tables: Tables, rows: Rows, name: str = "orders") -> SnapshotId:
    """Replace a table's rows."""
    before = begin(tables).entry(RelationName("shop", name))
    parents = [before] if isinstance(before, TableEntry) else []
    entry = tables.entry([tables.block(rows)], parents=parents)
    tables.put(**{name: entry})
    return entry.snapshot


def built(
    tables: Tables, name: str = "model", *, advance: bool = True, whole: bool = False
) -> Snapshot:
    """Record that a model has read what the branch shows, and commit it."""
    overlay, reader = begin(tables), RelationName("shop", name)
    step = increment_of(overlay, reader, ORDERS, whole=whole)
    before = f"shop.orders@{step.before}" if step.before else ""
    points = f"'{before}', 'shop.orders@{step.after}'"
    text = f"select * from snapshot_diff({points}, reader => '{reader}')"
    record(overlay, reader, text, Origin(node="model.m"), lambda: "UTC", advance=advance)
    entry = overlay.entry(reader)
    assert isinstance(entry, TableEntry)
    tables.put(**{name: entry})
    return overlay.snapshot(entry.snapshot)


def increment(tables: Tables, name: str = "model") -> Increment:
    return increment_of(begin(tables), RelationName("shop", name), ORDERS, whole=False)


def test_what_was_read_is_not_read_again(tables: Tables) -> None:
    first = write(tables, {1: "ann"})
    model = write(tables, {1: "ann"}, "model")
    with pytest.raises(InputError, match=r"doesn't record which version of shop\.orders"):
        increment(tables)
    version = built(tables, whole=True)
    assert (version.operation, version.parents) == ("consume", (model,))
    assert [item.snapshot for item in version.origin.inputs] == [first]
    assert increment(tables) == Increment(ORDERS, first, first)
    second = write(tables, {1: "ann", 2: "bob"})
    assert increment(tables) == Increment(ORDERS, first, second)
    built(tables, advance=False)
    assert increment(tables) == Increment(ORDERS, first, second)
    built(tables)
    assert increment(tables) == Increment(ORDERS, second, second)


def test_a_build_that_changes_no_row_records_what_else_it_read(tables: Tables) -> None:
    write(tables, {1: "ann"})
    write(tables, {5: "eur"}, "rates")
    rates = begin(tables).entry(RelationName("shop", "rates"))
    assert isinstance(rates, TableEntry)
    made = tables.entry([tables.block({1: "ann"})], inputs={"shop.rates": rates})
    tables.put(model=made)
    built(tables, whole=True)
    latest = write(tables, {5: "usd"}, "rates"), write(tables, {2: "bob"})
    read = built(tables).origin.inputs
    assert {item.snapshot for item in read} == set(latest)
    assert stale_tables(tables.warehouse.repository, begin(tables).tree) == []
    report = tables.entry([], inputs={"shop.model": tables.shown(MODEL)})
    tables.put(report=report)
    write(tables, {3: "cid"})
    built(tables)
    # No row of the model is another one, so what was made from it follows from it still.
    assert stale_tables(tables.warehouse.repository, begin(tables).tree) == []
    write(tables, {5: "gbp"}, "rates")
    stale = stale_tables(tables.warehouse.repository, begin(tables).tree)
    assert [item.relation.identifier for item in stale] == ["model", "report"]


def test_a_table_that_reads_no_changes_has_no_record(tables: Tables) -> None:
    write(tables, {1: "ann"})
    write(tables, {1: "ann"}, "model")
    built(tables, whole=True)
    overlay = begin(tables)
    record(overlay, MODEL, "select * from shop.orders", Origin(), lambda: "UTC")
    assert overlay.require_table(MODEL).consumption is None
    with pytest.raises(InputError, match="--full-refresh --select model"):
        increment_of(overlay, MODEL, ORDERS, whole=False)


def test_changes_are_between_two_versions_of_one_table(tables: Tables) -> None:
    tables.warehouse.branch("old")
    first = write(tables, {1: "ann"})
    write(tables, {1: "ann"}, "rates")
    write(tables, {1: "ann"}, "model")
    for points in (f"'shop.rates', 'shop.orders@{first}'", "'', 'shop.orders@old...'"):
        query = parse(f"select * from snapshot_diff({points}, reader => 'shop.model')")
        assert isinstance(query, Query)
        with pytest.raises(InputError, match=r"Expected .* two versions of one table, found"):
            check_reader(begin(tables), query.diffs[0], lambda: "UTC")


def test_a_renamed_table_knows_its_input_by_lineage(tables: Tables) -> None:
    first = write(tables, {1: "ann"})
    write(tables, {1: "ann"}, "model")
    built(tables, whole=True)
    names = {"copy": begin(tables).entry(MODEL), "sold": begin(tables).entry(ORDERS)}
    tables.put(**{name: entry for name, entry in names.items() if isinstance(entry, TableEntry)})
    sold = RelationName("shop", "sold")
    copied = increment_of(begin(tables), RelationName("shop", "copy"), sold, whole=False)
    assert copied == Increment(sold, first, first)
    with pytest.raises(InputError, match=r"doesn't record which version of shop\.sold"):
        increment_of(begin(tables), MODEL, sold, whole=False)


def test_a_collection_keeps_what_was_consumed(tables: Tables) -> None:
    first = write(tables, {1: "ann"})
    write(tables, {1: "ann"}, "model")
    old = built(tables, whole=True)
    write(tables, {2: "bob"})
    repository = tables.warehouse.repository
    set_retention(repository, 0, author="ann")
    tables.warehouse.clock.now += 3 * 24 * 3_600 * 1_000_000
    collect(repository, author="ann")
    assert increment(tables).before == first
    built(tables)
    tables.warehouse.clock.now += 3 * 24 * 3_600 * 1_000_000
    collect(repository, author="ann")
    tables.put(model=TableEntry(snapshot=SnapshotId(repository.objects.put(old))))
    with pytest.raises(NotFoundError, match="whose rows have been collected"):
        increment(tables)
    assert check_repository(repository).problems == ()


def test_a_purge_keeps_the_record(tables: Tables) -> None:
    write(tables, {1: "ann", 2: "bob"})
    write(tables, {1: "ann"}, "model")
    built(tables, whole=True)
    write(tables, {1: "ann", 2: "bob", 3: "cid"})
    repository = tables.warehouse.repository
    purge(repository, PurgeRequest(relation="shop.orders", where="name = 'bob'"), author="ann")
    step = increment(tables)
    assert step.before is not None
    assert repository.objects.snapshot(step.before).rows == 1
    assert repository.objects.snapshot(step.after).rows == 2


@pytest.mark.parametrize("is_built", [False, True])
def test_appended_rows_are_only_kept_together_with_a_record(
    tables: Tables, is_built: bool
) -> None:
    """Of two builds, one is taken; what was appended by hand follows a build."""
    first = write(tables, {1: "ann"})
    write(tables, {1: "ann"}, "model")
    ours = begin(tables)
    entry = ours.require(MODEL)
    assert isinstance(entry, TableEntry)

    def appended(consumption: Consumption | None) -> TableEntry:
        old = ours.snapshot(entry.snapshot)
        new = ours.snapshot(tables.entry([tables.block({2: "bob"})]).snapshot)
        made = msgspec.structs.replace(
            old,
            segments=(*old.segments, *new.segments),
            parents=(entry.snapshot,),
            operation="append",
            consumption=consumption,
        )
        return TableEntry(snapshot=SnapshotId(ours.repository.objects.put(made)))

    consumed = (Consumed(relation="shop.orders", snapshot=first),)
    made = Consumption(reader="shop.model", inputs=consumed)
    base = appended(Consumption(reader="shop.model"))
    tables.put(model=base)
    ours, entry = begin(tables), base
    ours.put(MODEL, appended(made))
    tables.put(model=appended(made if is_built else Consumption(reader="shop.model")))
    after = rebased(ours, tables.warehouse.head())
    if is_built:
        assert after is ours
    else:
        assert after.require_table(MODEL).consumption == made
