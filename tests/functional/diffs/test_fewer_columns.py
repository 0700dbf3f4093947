"""A query on a difference gets the columns that it names, and the same rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.engines.port import TableParts
from dbt.adapters.vcs.engines.spark.session import SparkView
from dbt.adapters.vcs.sql import diff

from .conftest import SPARK

pytestmark = pytest.mark.spark

QUERIES = (
    "select count(*) from {d}",
    "select count(*), max(id) from {d} where name is not null",
    "select price from {d}",
    "select d.Price, d.id from {d} d order by all",
    "select distinct * from {d}",
    "select id from {d} where id in (select id from {d} where price > 1)",
    "select name, count(*) from {d} group by all",
    "with c as (select name as n from {d}) select n from c",
    "select a.id from {d} a join {d} b using (name)",
    "select count(*) from {d} a natural join {d} b",
    "select a, b from {d} pivot (count(1) for name in ('a' as a, 'b' as b))",
    "from {d} |> aggregate count(*) group by price",
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("fewer")
    with connect(
        str(folder / "warehouse"), schema="shop", create=True, spark=SPARK, author="ann"
    ) as client:
        client.sql("create schema shop")
        client.sql("create table t (id int, name string, price decimal(8,2), more string)")
        client.sql("insert into t values (1, 'a', 1, 'x'), (2, 'b', 2, 'y'), (3, null, 3, 'z')")
        client.sql("create snapshot one for table t")
        client.sql("update t set more = 'w' where id = 1")
        client.sql("update t set price = 9, name = 'a' where id = 2")
        client.sql("insert into t values (4, 'b', 4, 'q'), (4, 'b', 4, 'q')")
        yield client


def counted(client: Client, query: str) -> Counter[str]:
    return Counter(repr(tuple(row.values())) for row in client.sql(query).to_pylist())


@pytest.mark.parametrize("shape", ["changes", "signed", "wide"])
@pytest.mark.parametrize("text", QUERIES)
def test_columns_that_a_query_does_not_name_change_nothing(
    shared: Client, text: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shape == "wide":
        for column in ("id", "name", "price"):
            text = re.sub(rf"\b{column}\b", f"to_{column}", text, flags=re.IGNORECASE)
    for condition in ("1 = 1", "to_price > 2" if shape == "wide" else "price > 2"):
        difference = f"snapshot_diff('t@one', 't', shape => '{shape}', where => '{condition}')"
        query = text.format(d=difference)
        fewer = counted(shared, query)
        with monkeypatch.context() as patched:
            patched.setattr(diff, "named_columns", lambda *_: None)
            assert fewer == counted(shared, query)


def test_columns_that_nobody_asks_for_are_not_read(
    shared: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted: list[list[str]] = []
    real = SparkView.mount_arrow

    def mount(self: SparkView, name: str, rows: TableParts, **named: Any) -> Any:
        mounted.append(rows.schema.names)
        return real(self, name, rows, **named)

    monkeypatch.setattr(SparkView, "mount_arrow", mount)
    shared.sql("select from_name, diff_type from snapshot_diff('t@one', 't')")
    shared.sql("select count(*) from snapshot_diff('t@one', 't', shape => 'changes')")
    assert mounted == [["diff_type", "from_name", "to_name"], ["_change_type", "id"]]
