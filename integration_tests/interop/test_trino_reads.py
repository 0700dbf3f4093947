"""Trino reads tables of a repository, and runs the statements of the guide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from tests.unit.iceberg.lake import Lake
from tests.unit.serve.server_process import serving
from tests.unit.serve.test_clients import put_view

from .trino import Trino, TrinoError, trino_at

PAGE = Path(__file__).parents[2] / "docs" / "clients" / "trino.md"


@pytest.fixture(scope="module")
def trino(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    """Trino at a repository of its own."""
    folder = tmp_path_factory.mktemp("trino")
    lake = Lake(folder / "ware house")
    columns = "id bigint, name string, at timestamp, d decimal(9,2), a array<int>, day date"
    lake.run(f"create table s.orders ({columns}) partitioned by (day)")
    lake.add("orders", [(1, "a", None, None, [1], date(2026, 11, 1)), (2, *[None] * 5)])
    lake.run("create schema analytics")
    lake.run("create table analytics.orders shallow clone s.orders")
    head = lake.repository.branch("main").head
    lake.repository.create_branch("feature/tax", head, author="ann")
    lake.add("orders", [(3, "c", None, None, [], date(2026, 11, 2))])
    lake.delete("orders", (0, 0))
    lake.run("alter table s.orders rename column name to title")
    put_view(lake, "named", "select id from s.orders")
    with serving(Path(lake.blobs.uri)) as server, trino_at(server.url, folder) as it:
        yield it


OLD = [[1, "a", None, None, [1], "2026-11-01"], [2, None, None, None, None, None]]
NEW = [OLD[1], [3, "c", None, None, [], "2026-11-02"]]


def test_rows_and_filters(trino: Trino) -> None:
    assert sorted(trino.sql("select * from vcs.s.orders")) == NEW
    assert trino.sql("select id from vcs.s.orders where day is null") == [[2]]
    assert trino.sql("select id from vcs.s.orders where title = 'c'") == [[3]]
    assert trino.sql("select count(*), min(id), max(id) from vcs.s.orders") == [[2, 2, 3]]


def test_branches_are_schemas_of_one_catalog(trino: Trino) -> None:
    assert sorted(trino.sql('select * from every."feature/tax.s".orders')) == OLD
    assert sorted(trino.sql('select * from every."main.s".orders')) == NEW


def test_time_travel(trino: Trino) -> None:
    (number,) = trino.sql(
        'select snapshot_id from vcs.s."orders$snapshots"'
        " where summary['total-records'] = '2' order by committed_at limit 1"
    )[0]
    found = trino.sql(f"select id from vcs.s.orders for version as of {number}")
    assert sorted(found) == [[1], [2]]


def test_views_are_of_another_dialect(trino: Trino) -> None:
    with pytest.raises(TrinoError, match="dialect"):
        trino.sql("select * from vcs.s.named")


def test_the_statements_of_the_guide(trino: Trino) -> None:
    blocks = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for statement in re.findall(r"(.+);", "".join(blocks)):
        assert trino.sql(statement), statement
