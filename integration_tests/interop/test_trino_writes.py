"""Trino writes rows through the catalog, and this package sees what was meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.client.lazy_table import open_table
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.core.model import RelationName
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.server_process import serving

from .trino import Trino, TrinoError, trino_at

Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(tmp_path_factory.mktemp("trino_writes") / "ware house")


@pytest.fixture(scope="module")
def trino(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    """Trino at a repository that it changes."""
    folder = tmp_path_factory.mktemp("trino")
    with serving(Path(lake.blobs.uri)) as server, trino_at(server.url, folder) as it:
        yield it


def agree(trino: Trino, lake: Lake, table: str, wanted: list[Row]) -> None:
    """Check that Trino and this package find the rows, and that the repository is undamaged."""
    assert Counter(map(tuple, trino.sql(f"select * from vcs.s.{table}"))) == Counter(wanted)
    head = lake.repository.branch("main").head
    found = open_table(lake.repository, RelationName("s", table), head, None).to_arrow()
    assert Counter(tuple(row.values()) for row in found.to_pylist()) == Counter(wanted)
    assert check_repository(lake.repository).problems == ()


def numbered(wanted: dict[int, Row]) -> list[Row]:
    return [(id, *row) for id, row in wanted.items()]


@pytest.mark.parametrize("by", ["", "with (partitioning = array['part'])"])
def test_rows_that_are_inserted_updated_deleted_and_merged(
    trino: Trino, lake: Lake, by: str
) -> None:
    name = "parted" if by else "whole"
    table = f"vcs.s.{name}"
    trino.sql(f"create table {table} (id bigint, part varchar, v integer) {by}")
    trino.sql(
        f"insert into {table} select n, 'p' || cast(n % 3 as varchar), cast(n * 10 as integer)"
        " from unnest(sequence(0, 29)) as t(n)"
    )
    wanted: dict[int, Row] = {n: (f"p{n % 3}", n * 10) for n in range(30)}
    agree(trino, lake, name, numbered(wanted))
    trino.sql(f"insert into {table} values (100, null, null), (101, 'a/b=%', 1)")
    wanted |= {100: (None, None), 101: ("a/b=%", 1)}
    agree(trino, lake, name, numbered(wanted))
    trino.sql(f"update {table} set v = v + 1 where id < 5")
    wanted |= {n: (wanted[n][0], n * 10 + 1) for n in range(5)}
    agree(trino, lake, name, numbered(wanted))
    trino.sql(f"update {table} set part = 'moved' where id in (5, 100)")
    wanted |= {n: ("moved", wanted[n][1]) for n in (5, 100)}
    agree(trino, lake, name, numbered(wanted))
    trino.sql(f"delete from {table} where id between 10 and 14")
    wanted = {id: row for id, row in wanted.items() if not 10 <= id <= 14}
    agree(trino, lake, name, numbered(wanted))
    trino.sql(f"delete from {table} where part = 'p2'")
    wanted = {id: row for id, row in wanted.items() if row[0] != "p2"}
    agree(trino, lake, name, numbered(wanted))
    trino.sql(
        f"merge into {table} as t using (values (0), (1), (500)) as s(id) on t.id = s.id"
        " when matched and s.id = 0 then delete when matched then update set v = -1"
        " when not matched then insert (id, part) values (s.id, 'new')"
    )
    del wanted[0]
    wanted |= {1: (wanted[1][0], -1), 500: ("new", None)}
    agree(trino, lake, name, numbered(wanted))
    trino.sql(f"delete from {table}")
    agree(trino, lake, name, [])


def test_tables_that_are_created_with_rows(trino: Trino, lake: Lake) -> None:
    trino.sql(
        "create table vcs.s.made with (partitioning = array['part']) as"
        " select * from (values (1, 'a', 'x'), (2, null, 'y')) as t(id, part, other)"
    )
    agree(trino, lake, "made", [(1, "a", "x"), (2, None, "y")])
    trino.sql("alter table vcs.s.made add column more bigint")
    trino.sql("insert into vcs.s.made values (3, 'b', 'z', 5)")
    trino.sql("alter table vcs.s.made drop column other")
    trino.sql("insert into vcs.s.made values (4, 'c', 6)")
    rows = [(1, "a", None), (2, None, None), (3, "b", 5), (4, "c", 6)]
    agree(trino, lake, "made", rows)


def test_a_key_holds_for_trino(trino: Trino, lake: Lake) -> None:
    lake.run("create table s.keyed (id bigint, v string) tblproperties ('primary_key' = 'id')")
    trino.sql("insert into vcs.s.keyed values (1, 'a'), (2, 'b')")
    with pytest.raises(TrinoError, match="primary key"):
        trino.sql("insert into vcs.s.keyed values (1, 'again')")
    trino.sql("update vcs.s.keyed set v = 'z' where id = 1")
    agree(trino, lake, "keyed", [(1, "z"), (2, "b")])


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("create table vcs.s.no (d date) with (partitioning = array['month(d)'])", "values of"),
        ("create table vcs.s.no (i int) with (sorted_by = array['i'])", "sort order"),
        ("create table vcs.s.no (i int) with (format = 'ORC')", "write.format.default"),
    ],
)
def test_what_is_refused(
    trino: Trino, lake: Lake, statement: str, says: str, record_property: Any
) -> None:
    head = lake.repository.branch("main").head
    with pytest.raises(TrinoError, match=says) as caught:
        trino.sql(statement)
    record_property("refused", f"{statement}\n{caught.value}")
    assert lake.repository.branch("main").head == head
