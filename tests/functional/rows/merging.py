"""Small targets and sources, merged."""

from typing import Any

from .shop import Shop

TARGET = "values (1, 'a'), (2, 'b'), (3, 'c')"


SOURCE = "(values (2, 'B'), (3, 'C'), (4, 'D') as s(k, v))"


def target(shop: Shop, rows: str = TARGET, columns: str = "k int, v string") -> str:
    return shop.clone(columns, rows)


def merged(shop: Shop, clauses: str, source: str = SOURCE, on: str = "t.k = s.k") -> Any:
    """Merge into a fresh table; return rows affected, and the rows that are there."""
    name = target(shop)
    affected = shop.change(f"merge into {name} t using {source} s on {on} {clauses}")
    return affected, shop.rows(name)


UPDATE = "when matched then update set v = s.v"


DELETE = "when matched then delete"


INSERT = "when not matched then insert (k, v) values (s.k, s.v)"
