"""Where a benchmark runs, the tables that it branches, and the times of its operations.

The tables have the names and columns of TPC-H that the workloads use. They are computed from row
numbers, so nothing has to be installed or downloaded, and each run has the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import duckdb

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.client.write_rows import WriteMode
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs

SCHEMA = "tpch"
AUTHOR = "benchmark"
# Rows at scale factor 1, as TPC-H has them.
ROWS = {
    "region": 5, "nation": 25, "supplier": 10_000, "customer": 150_000, "part": 200_000,
    "partsupp": 800_000, "orders": 1_500_000, "lineitem": 6_000_000,
}  # fmt: skip
_FIXED = ("region", "nation")

_QUERIES = {
    "region": "select n r_regionkey, 'region ' || n r_name from rows",
    "nation": "select n n_nationkey, 'nation ' || n n_name, n % 5 n_regionkey from rows",
    "supplier": "select n s_suppkey, (hash(n) % 25)::bigint s_nationkey from rows",
    "customer": (
        "select n c_custkey, 'customer ' || n c_name, (hash(n, 1) % 25)::bigint c_nationkey"
        " from rows"
    ),
    "part": "select n p_partkey, (900 + hash(n, 2) % 1000)::decimal(12,2) p_retailprice from rows",
    "partsupp": "select n // 4 ps_partkey, n % 4 ps_suppkey from rows",
    "orders": """
        select n o_orderkey, (hash(n, 3) % {customer})::bigint o_custkey,
            date '1992-01-01' + (hash(n, 4) % 2400)::integer o_orderdate,
            (1 + hash(n, 5) % 5)::integer o_priority
        from rows""",
    "lineitem": """
        select n // 4 l_orderkey, (n % 4)::integer l_linenumber,
            (hash(n, 6) % {part})::bigint l_partkey, (hash(n, 7) % {supplier})::bigint l_suppkey,
            (1 + hash(n, 8) % 50)::integer l_quantity,
            (1000 + hash(n, 9) % 90000)::decimal(12,2) l_extendedprice,
            ((hash(n, 10) % 11)::decimal(12,2) / 100)::decimal(12,2) l_discount,
            ((hash(n, 11) % 9)::decimal(12,2) / 100)::decimal(12,2) l_tax,
            o.o_orderdate + (1 + hash(n, 12) % 121)::integer l_shipdate,
            o.o_orderdate + (30 + hash(n, 13) % 61)::integer l_commitdate,
            o.o_orderdate + (2 + hash(n, 12) % 121 + hash(n, 14) % 30)::integer l_receiptdate
        from rows join tpch.orders o on o.o_orderkey = n // 4""",
}


@dataclass(slots=True)
class Times:
    """Seconds by operation."""

    found: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def of(self, operation: str) -> Iterator[None]:
        """Time what is done inside, also if it fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.found.setdefault(operation, []).append(time.perf_counter() - start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A repository on some store.

    Attributes:
        name: The store, for people.
        uri: The repository.
        storage: Options of the store.
    """

    name: str
    uri: str
    storage: Mapping[str, str] = field(default_factory=dict)

    def repository(self) -> Repository:
        """Open the repository; nothing is cached."""
        return Repository.open(open_blobs(self.uri, self.storage))

    def client(self, branch: str = "main") -> Client:
        """Connect to a branch; nothing is cached."""
        return connect(
            self.uri, branch, SCHEMA, storage_options=self.storage or None, author=AUTHOR
        )


def make_tables(site: Site, scale: float) -> None:
    """Create the repository and the eight tables on `main`."""
    Repository.create(open_blobs(site.uri, site.storage), author=AUTHOR)
    counts = {
        name: rows if name in _FIXED else max(20, round(rows * scale))
        for name, rows in ROWS.items()
    }
    counts["lineitem"] = 4 * counts["orders"]
    with site.client() as client:
        client.sql(f"create schema {SCHEMA}")
        for name, query in _QUERIES.items():
            rows = f"with rows as (select range n from range({counts[name]})) "
            build(client, name, rows + query.format(**counts))


def build(client: Client, table: str, query: str, mode: WriteMode = "overwrite") -> None:
    """Write the rows of a DuckDB query over the branch into one of its tables."""
    with tables_of(client) as duck:
        client.write(table, duck.sql(query).to_arrow_table(), mode)


def value(client: Client, query: str) -> Any:
    """Return the one value of a DuckDB query over the branch."""
    with tables_of(client) as duck:
        found = duck.sql(query).fetchone()
    assert found is not None, query
    return found[0]


@contextmanager
def tables_of(client: Client) -> Iterator[duckdb.DuckDBPyConnection]:
    """Show DuckDB the tables of a branch, in whose schema it then is."""
    with duckdb.connect() as duck:
        duck.execute(f"create schema {SCHEMA}")
        client.register_all(duck)
        duck.execute(f"use {SCHEMA}")
        yield duck
