"""Texts as they are sent to a server: names replaced by position, and nothing else."""

import pytest
import sqlglot
from sqlglot import exp

from dbt.adapters.vcs.engines.dataframes.name_registry import rewritten
from dbt.adapters.vcs.sql.syntax.names import Name
from dbt.adapters.vcs.sql.syntax.parser import Query, parse

MADE = {"shop.orders": "`v1`", "other.orders": "`v2`", "shop.Upper Case": "`v3`"}


def relation(name: Name) -> str | None:
    found = {key.lower(): made for key, made in MADE.items()}
    return found.get(f"{name.schema or 'shop'}.{name.identifier}".lower())


def function(name: Name) -> str | None:
    return "`f1`" if (name.schema or "shop", name.identifier.lower()) == ("shop", "f") else None


def sent(text: str) -> str:
    query = parse(text)
    assert isinstance(query, Query)
    return rewritten(query.text, query.reads, relation, function)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from shop.orders", "select * from `v1` as `orders`"),
        ("select orders.amount from orders", "select orders.amount from `v1` as `orders`"),
        (
            "select shop.orders.amount from shop.orders",
            "select `orders`.amount from `v1` as `orders`",
        ),
        (
            "select spark_catalog.shop.orders.* from spark_catalog.shop.orders",
            "select `orders`.* from `v1` as `orders`",
        ),
        ("select o.amount from SHOP.Orders o", "select o.amount from `v1` o"),
        ("select o.amount from shop.orders as o", "select o.amount from `v1` as o"),
        ("table shop.orders", "table `v1`"),
        (
            "with orders as (select 1 a) select * from orders",
            "with orders as (select 1 a) select * from orders",
        ),
        (
            "with orders as (select * from orders) select * from orders",
            "with orders as (select * from `v1` as `orders`) select * from orders",
        ),
        (
            "select (select max(orders.id) from shop.orders) m, 'shop.orders' -- shop.orders",
            "select (select max(orders.id) from `v1` as `orders`) m, 'shop.orders'",
        ),
        ("select * from shop.`Upper Case`", "select * from `v3` as `Upper Case`"),
        ("select * from nowhere.t", "select * from nowhere.t"),
        ("select shop.f(a), g(a) from orders", "select `f1`(a), g(a) from `v1` as `orders`"),
        (
            "select shop.orders.a, other.orders.b from shop.orders join other.orders using (id)",
            "select `shop.orders`.a, `other.orders`.b from `v1` as `shop.orders` "
            "join `v2` as `other.orders` using (id)",
        ),
        (
            "select orders.a from shop.orders union select orders.b from other.orders",
            "select orders.a from `v1` as `orders` union select orders.b from `v2` as `orders`",
        ),
    ],
)
def test_names_are_replaced(text: str, expected: str) -> None:
    assert sent(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "select * from shop.orders where id in (select id from other.orders)",
        "select a.x from shop.orders a left join other.orders b on a.id = b.id",
        "select * from (select * from shop.orders) orders",
        "select * from shop.orders lateral view explode(orders.items) t as item",
        "from shop.orders select id",
        "select exists(select 1 from other.orders where orders.id = 1) from shop.orders",
    ],
)
def test_a_parser_of_somebody_else_finds_no_name_of_the_branch(text: str) -> None:
    made = sqlglot.parse_one(sent(text), dialect="spark")
    names = {table.name for table in made.find_all(exp.Table)}
    before = sqlglot.parse_one(text, dialect="spark")
    assert names == {f"v{1 if t.db == 'shop' else 2}" for t in before.find_all(exp.Table)}
