"""A repository for the pages of `dbt-vcs ui`, with something of everything."""

from __future__ import annotations

import datetime
import random
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Input, NodeRun, Origin, Run, TableEntry
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.warehouse import START, Clock, Warehouse

CITIES = ("Aarhus", "Bern", "Cork", "Graz", "Turku")


def no_engine(branch: str) -> NoReturn:
    raise AssertionError("No page starts an engine.")


def new(folder: Path) -> Warehouse:
    """Return an empty repository in a folder, whose last hours are of today."""
    clock = Clock()
    now = datetime.datetime.now(datetime.timezone.utc).timestamp()
    clock.now = int(now * 1e6) - 6 * 3_600_000_000
    return Warehouse(open_blobs(str(folder), {"fsync": "false"}), clock)


def orders(count: int, start: int = 1, tax: str = "1.00") -> pa.Table:
    """Return rows of orders, the same each time."""
    chance = random.Random(start)
    ids = range(start, start + count)
    amounts = [Decimal(chance.randrange(500, 20_000)) * Decimal(tax) / 100 for _ in ids]
    day = datetime.date(2026, 1, 1)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "city": [chance.choice(CITIES) for _ in ids],
            "amount": pa.array([round(item, 2) for item in amounts], pa.decimal128(9, 2)),
            "day": [day + datetime.timedelta(days=chance.randrange(300)) for _ in ids],
            "note": [chance.choice(("gift", "express", None)) for _ in ids],
        }
    )


def usual(folder: Path, tables: int = 3) -> Warehouse:
    """Fill a folder with branches of which one conflicts, one failed, and one is ready."""
    shop = new(folder)
    repository, clock = shop.repository, shop.clock

    def on(branch: str, author: str) -> Client:
        clock.now += 600_000_000
        return Client.on(repository, branch, no_engine, schema="shop", author=author)

    main = on("main", "ann")
    main.sql("create schema shop")
    main.sql(
        "create table shop.orders (id bigint primary key, city string comment 'Where it goes', "
        "amount decimal(9,2), day date, note string) comment 'All orders, with tax'"
    )
    main.write("shop.orders", orders(400), message="Load the orders of 2026")
    read = shop.shown()["shop.orders"]
    assert isinstance(read, TableEntry)
    revenue = shop.table("x", rows=5)
    assert isinstance(revenue, TableEntry)
    snapshot = repository.objects.snapshot(revenue.snapshot)
    origin = Origin(
        node="model.shop.revenue", inputs=(Input(relation="shop.orders", snapshot=read.snapshot),)
    )
    made = repository.objects.put(msgspec.structs.replace(snapshot, origin=origin))
    run = Run(
        invocation="0b7d9a6e-4c1f-4d57-9a55-7d1f0c2f8e11",
        command="build",
        started_at=START,
        target="prod",
        dbt_version="1.10.4",
        seconds=41.2,
        nodes=(
            NodeRun(id="model.shop.orders", status="success", seconds=12.4, rows=400),
            NodeRun(id="model.shop.revenue", status="success", seconds=3.1, rows=5),
            NodeRun(id="test.shop.unique_orders_id", status="pass", seconds=0.8),
        ),
    )
    shop.put(
        revenue=TableEntry(snapshot=SnapshotId(made)),
        revenue_view=shop.view("select city, sum(amount) as total from shop.orders group by city"),
        message="dbt build: 3 of 3 nodes",
        run=run,
        **{f"stage_{number:03}": shop.table("s") for number in range(tables - 3)},
    )
    repository.create_tag("2026-q1", repository.branch("main").head, author="ann")
    for branch in ("feature/tax", "fix/late-orders", "try/prices"):
        shop.branch(branch)
    tax = on("feature/tax", "bob")
    tax.write("shop.orders", orders(60, tax="1.19"), "merge", message="Add the tax of Bern")
    tax.write("shop.orders", orders(25, start=401), message="Orders that came late")
    late = on("fix/late-orders", "cem")
    late.write("shop.orders", orders(12, tax="0.90"), "merge", message="Correct twelve orders")
    on("main", "ann").write(
        "shop.orders", orders(30, start=1, tax="1.07"), "merge", message="Round amounts"
    )
    with suppress(ConflictError):
        merge(repository, "fix/late-orders", "main", author="cem")
    repository.protect("main", Protection(("tests", "approval")), author="ann")
    shop.run(
        "4e1c2f70-9f0d-4a52-8f0a-3f3b5cde0a11",
        Status.FAILED,
        target="try/prices",
        note="test.shop.not_null_orders_city failed",
        orders=shop.table("y"),
    )
    on("try/prices", "dee").write("shop.orders", orders(3, start=9_000), message="Three by hand")
    return shop
