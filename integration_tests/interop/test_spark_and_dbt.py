"""A client of Iceberg and a dbt run change one branch: what both did is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.functional.life.shop import Shop, make_shop
from tests.unit.serve.server_process import ServerProcess, serving

from .iceberg_spark import IcebergSpark, served
from .write_cases import MODES

# The first build makes orders 0 to 99. Later ones change 0 to 9, and add one.
ORDERS = """
{{ config(materialized='incremental', unique_key='id', primary_key='id') }}
{% if is_incremental() %}
select id, 'dbt' as who, {{ var('n') }} as n from range(10)
union all select 1000 + {{ var('n') }}, 'dbt', 0
{% else %}
select id, 'first' as who, 0 as n from range(100)
{% endif %}
"""
FILES = {
    "models/orders.sql": ORDERS,
    "models/last.sql": "{{ config(materialized='table') }} select 1 as n from {{ ref('orders') }}",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A dbt project whose tables are there."""
    shop = make_shop(tmp_path_factory.mktemp("both"), FILES)
    assert shop.dbt("run", n=0).success
    return shop


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[ServerProcess]:
    with serving(Path(shop.warehouse)) as running:
        yield running


@pytest.fixture(scope="module")
def spark(server: ServerProcess) -> Iterator[IcebergSpark]:
    with IcebergSpark({"vcs": served(server.url, "main")}) as session:
        yield session


def meanwhile(run: Callable[[], None]) -> Callable[[Any], None]:
    """Return a listener of dbt that does something once: when the orders are built."""
    done = []

    def hear(event: Any) -> None:
        orders = "model.shop.orders"
        ended = event.info.name == "NodeFinished" and event.data.node_info.unique_id == orders
        if ended and not done:
            done.append(orders)
            run()

    return hear


def rows(shop: Shop, spark: IcebergSpark) -> dict[int, tuple[str, int]]:
    """Return the orders, which this package and the client must agree on."""
    with shop.connect() as main:
        found = main.sql("select id, who, n from orders").to_pylist()
        lazy = main.table("orders").to_arrow().select(["id", "who", "n"]).to_pylist()
    there = spark.sql("select id, who, n from vcs.analytics.orders").to_pylist()
    key = lambda row: row["id"]  # noqa: E731
    assert sorted(found, key=key) == sorted(lazy, key=key) == sorted(there, key=key)
    held = {row["id"]: (row["who"], row["n"]) for row in found}
    assert len(held) == len(found)
    return held


@pytest.mark.parametrize("mode", MODES)
def test_a_commit_within_a_run_and_the_run_end_merged(
    shop: Shop, spark: IcebergSpark, mode: str
) -> None:
    modes = ", ".join(f"'write.{word}.mode' = '{mode}'" for word in ("delete", "update", "merge"))
    spark.sql(f"alter table vcs.analytics.orders set tblproperties ({modes})")
    number = MODES.index(mode) + 1
    before = rows(shop, spark)
    low = 40 * number - 20
    new = 5000 + number

    def change() -> None:
        table = "vcs.analytics.orders"
        spark.sql(f"update {table} set who = 'client' where id between {low} and {low + 9}")
        spark.sql(f"delete from {table} where id between {low + 10} and {low + 19}")
        spark.sql(f"insert into {table} values ({new}, 'client', 1)")

    assert shop.dbt("run", callbacks=[meanwhile(change)], n=number).success

    wanted = dict(before)
    wanted |= dict.fromkeys(range(10), ("dbt", number)) | {1000 + number: ("dbt", 0)}
    wanted |= {id: ("client", wanted[id][1]) for id in range(low, low + 10)}
    wanted |= {new: ("client", 1)}
    for id in range(low + 10, low + 20):
        del wanted[id]
    assert rows(shop, spark) == wanted
    commit = shop.repository.objects.commit(shop.head())
    assert commit.run is not None
    messages = [c.message for _, c in shop.repository.log(shop.head())]
    assert any("through the catalog" in message for message in messages[1:5])
    assert check_repository(shop.repository).problems == ()


def test_a_run_that_changes_the_same_row_is_not_published(shop: Shop, spark: IcebergSpark) -> None:
    before = rows(shop, spark)

    def change() -> None:
        spark.sql("update vcs.analytics.orders set who = 'client', n = -1 where id = 5")

    assert not shop.dbt("run", callbacks=[meanwhile(change)], n=77).success

    assert rows(shop, spark) == before | {5: ("client", -1)}
    run = next(run for run in shop.runs() if run.status is Status.FAILED)
    assert "conflict" in run.note
    assert check_repository(shop.repository).problems == ()


@pytest.mark.parametrize("mode", MODES)
def test_a_branch_that_a_client_wrote_is_merged_by_row(
    shop: Shop, spark: IcebergSpark, server: ServerProcess, mode: str
) -> None:
    branch = f"feature/{mode}"
    shop.repository.create_branch(branch, shop.head(), author="ann")
    before = rows(shop, spark)
    options = {"type": "rest", "uri": server.url, "warehouse": branch, "cache-enabled": "false"}
    modes = ", ".join(f"'write.{word}.mode' = '{mode}'" for word in ("delete", "update", "merge"))
    kept = sorted(id for id in before if 10 <= id < 100)
    mine, theirs, gone = kept[0], kept[1], kept[2]
    with IcebergSpark({"feature": options}) as other:
        table = "feature.analytics.orders"
        other.sql(f"alter table {table} set tblproperties ({modes})")
        other.sql(f"update {table} set who = '{mode}' where id = {theirs}")
        other.sql(f"delete from {table} where id = {gone}")
    spark.sql(f"update vcs.analytics.orders set who = 'main' where id = {mine}")
    with shop.connect() as main:
        main.merge(branch)
    wanted = before | {mine: ("main", before[mine][1]), theirs: (mode, before[theirs][1])}
    del wanted[gone]
    assert rows(shop, spark) == wanted
