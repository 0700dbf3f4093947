"""Versions of tables read in SQL: by snapshot, revision and time."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.model import RelationName, TableEntry

from .conftest import Sql

pytestmark = pytest.mark.spark

T = RelationName("shop", "t")


def versions(client: Client, sql: Sql) -> str:
    """Make shop.t with two versions; return a time between them."""
    sql("create table t as select 1 id, 'a' name")
    repository = client.repository
    entry = repository.tree(repository.resolve("main")).entry(T)
    assert isinstance(entry, TableEntry)
    head = repository.resolve("main")
    repository.snapshots.create(T, "sn1", entry.snapshot, at=head, author="ann")
    repository.create_tag("v1", head, author="ann")
    time.sleep(0.01)
    between = datetime.now(tz=timezone.utc).isoformat(sep=" ")
    time.sleep(0.01)
    sql("insert into t values (2, 'b')")
    return between


def snapshot_at(client: Client, revision: str) -> str:
    repository = client.repository
    entry = repository.tree(repository.resolve(revision)).entry(T)
    assert isinstance(entry, TableEntry)
    return entry.snapshot


def test_each_way_to_name_a_version(client: Client, sql: Sql) -> None:
    between = versions(client, sql)
    old = snapshot_at(client, "v1")
    assert len(sql("select * from t")) == 2
    for version in (
        "t{snapshot='sn1'}",
        "shop.t version as of 'sn1'",
        "t version as of 'v1'",
        "t version as of 'main~1'",
        "t version as of 'main@{1}'",
        f"t version as of '{old[:10]}'",
        f"t{{timestamp='{between}'}}",
        f"t timestamp as of '{between}'",
        f"t for timestamp as of timestamp '{between}'",
    ):
        assert sql(f"select id, t.name from {version} order by id") == [(1, "a")], version
    assert sql("select count(*) from t a join t version as of 'sn1' b on a.id = b.id") == [(1,)]
    assert sql("with c as (select * from t{snapshot='sn1'}) select c.id from c") == [(1,)]
    assert "Parquet" in str(sql("explain select * from t version as of 'sn1'"))


def test_writes_from_a_version_say_what_they_read(client: Client, sql: Sql) -> None:
    versions(client, sql)
    old, new = snapshot_at(client, "v1"), snapshot_at(client, "main")
    sql("create table u as select * from t version as of 'v1' union all select * from t")
    sql("insert into u select id + 10, name from t{snapshot='sn1'}")
    assert sorted(sql("select id from u")) == [(1,), (1,), (2,), (11,)]
    repository = client.repository
    entry = repository.tree(repository.resolve("main~1")).entry(RelationName("shop", "u"))
    assert isinstance(entry, TableEntry)
    made = repository.objects.snapshot(entry.snapshot)
    assert [(item.relation, item.snapshot) for item in made.origin.inputs] == sorted(
        [("shop.t", old), ("shop.t", new)]
    )


def test_a_view_looks_its_version_up_when_it_is_read(client: Client, sql: Sql) -> None:
    versions(client, sql)
    client.repository.create_branch("stable", client.repository.resolve("v1"), author="ann")
    sql("create view w as select id, name from t version as of 'stable'")
    sql("create view both as select w.id from w join t on w.id = t.id")
    assert sql("select * from w") == [(1, "a")]
    branch = client.repository.branch("stable")
    client.repository.move_branch(
        branch, client.repository.resolve("main"), author="ann", action="merge"
    )
    assert len(sql("select * from w")) == 2
    assert len(sql("select * from both")) == 2
    assert client.sql("describe w").num_rows == 2


def test_columns_of_a_version_are_those_of_its_time(client: Client, sql: Sql) -> None:
    versions(client, sql)
    sql("alter table t add columns (more int)")
    sql("alter table t rename column name to title")
    assert client.sql("select * from t version as of 'v1'").column_names == ["id", "name"]
    assert client.sql("select * from t").column_names == ["id", "title", "more"]


@pytest.mark.parametrize(
    ("version", "error", "words"),
    [
        ("version as of 'sn2'", NotFoundError, "Did you mean 'sn1'"),
        ("{snapshot='nothing'}", NotFoundError, "no snapshot of it, no branch"),
        ("version as of 'main~3'", NotFoundError, r"There is no table shop\.t at 'main~3'"),
        ("version as of 'main~9'", InputError, "goes past the first commit"),
        ("timestamp as of '1999-01-01'", NotFoundError, "begins after 1999-01-01"),
        ("timestamp as of 'soon'", InputError, "'soon' is no time"),
    ],
)
def test_no_such_version(
    client: Client, sql: Sql, version: str, error: type[Exception], words: str
) -> None:
    versions(client, sql)
    with pytest.raises(error, match=words):
        sql(f"select * from t {version}")
    assert len(sql("select * from t")) == 2


def test_a_version_of_a_view_is_refused(client: Client, sql: Sql) -> None:
    versions(client, sql)
    sql("create view w as select * from t")
    with pytest.raises(InputError, match="is a view"):
        sql("select * from w version as of 'main'")


def test_metadata_are_relations(client: Client, sql: Sql) -> None:
    versions(client, sql)
    head = client.repository.resolve("main")
    assert sql("select author, message from vcs.log where commit = '" + head + "'") == [
        ("ann", "insert into t values (2, 'b')")
    ]
    assert sql("select name, is_default from vcs.branches") == [("main", True)]
    assert sql("select name from vcs.tags t") == [("v1",)]
    assert sql(
        "select s.rows, array_join(names, ',') from vcs.snapshots s "
        "join vcs.log l on s.commit = l.commit order by l.committed_at"
    ) == [(1, "sn1"), (2, "")]
    assert sql("select count(*), sum(rows) from vcs.blocks") == [(2, 2)]
    sql("create table u as select id from t")
    assert sql("select input_relation from vcs.lineage where relation = 'shop.u'") == [("shop.t",)]
    assert sql("select * from vcs.runs") == []
    sql("create table kept as select count(*) n from vcs.log")
    assert sql("select n from kept") == [(5,)]
    assert sql("select count(*) from vcs.log") == [(6,)]


def test_metadata_that_are_not_there(client: Client, sql: Sql) -> None:
    with pytest.raises(NotFoundError, match=r"Did you mean vcs\.log"):
        sql("select * from vcs.logs")
    with pytest.raises(InputError, match="no versions"):
        sql("select * from vcs.log version as of 'main'")
    with pytest.raises(InputError, match="A view can't read"):
        sql("create view w as select * from vcs.log")
    sql("create schema vcs")
    sql("create table vcs.log as select 7 n")
    assert sql("select * from vcs.log") == [(7,)]
