"""Tables that no longer follow from what the branch shows, after statements."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.api import Client

from .conftest import Sql

pytestmark = pytest.mark.spark

REVENUE = "table revenue as select name, sum(amount) amount from named group by name"


@pytest.fixture
def shop(sql: Sql) -> Sql:
    sql("create table orders as select 1 id, 10 amount")
    sql("create table customers as select 1 id, 'ann' name")
    sql("create view named as select o.id, name, amount from orders o join customers using (id)")
    sql(f"create {REVENUE}")
    sql("create table by_hand as select 1 id")
    return sql


def stale(sql: Sql) -> dict[str, list[str]]:
    """Return the inputs that make tables stale, by table."""
    found: dict[str, list[str]] = {}
    for table, read in sql("select relation, input_relation from vcs.stale order by 1, 2"):
        found.setdefault(table, []).append(read)
    return found


def test_what_a_query_read_through_a_view_counts(shop: Sql) -> None:
    assert stale(shop) == {}
    shop("insert into orders values (2, 20)")
    assert stale(shop) == {"shop.revenue": ["shop.orders"]}
    shop("update customers set name = 'bob'")
    assert stale(shop) == {"shop.revenue": ["shop.customers", "shop.orders"]}
    shop("create table top as select max(amount) amount from revenue")
    assert stale(shop)["shop.top"] == ["shop.revenue"]
    shop(f"create or replace {REVENUE}")
    assert stale(shop) == {"shop.top": ["shop.revenue"]}


def test_a_view_that_is_another_counts(shop: Sql) -> None:
    shop("create or replace view named as select id, 'x' name, amount from orders")
    assert stale(shop) == {"shop.revenue": ["shop.named"]}


def test_a_change_that_reads_nothing_leaves_it_as_it_was(shop: Sql) -> None:
    shop("delete from revenue where name = 'nobody'")
    shop("update revenue set amount = 11 where name = 'ann'")
    assert stale(shop) == {}
    shop("update orders set amount = 12")
    shop("insert into revenue values ('bob', 1)")
    assert stale(shop) == {"shop.revenue": ["shop.orders"]}
    shop("insert into revenue select name, sum(amount) from named group by name")
    assert stale(shop) == {}


def test_what_does_not_change_rows_or_names_its_version_does_not_count(
    client: Client, shop: Sql
) -> None:
    client.repository.create_tag("v1", client.repository.resolve("main"), author="ann")
    shop("create table before as select count(*) n from orders version as of 'v1'")
    shop("create table copied clone orders")
    shop("insert into orders values (2, 20)")
    assert stale(shop) == {"shop.revenue": ["shop.orders"]}
    shop(f"create or replace {REVENUE}")
    shop("optimize orders")
    assert stale(shop) == {}


def test_write_skew_is_seen(client: Client, shop: Sql) -> None:
    feature = client.create("feature")
    shop("update orders set amount = 11")
    shop(f"create or replace {REVENUE}")
    feature.sql("update customers set name = 'bob'")
    feature.sql("create table cards as select name from customers")
    client.merge("feature")
    assert stale(shop) == {"shop.revenue": ["shop.customers"]}
