"""Statements about versions: named snapshots, clones, restores, undrops."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.model import RelationName, TableEntry

from .conftest import Sql

pytestmark = pytest.mark.spark


def snapshot(client: Client, name: str, revision: str = "main") -> str:
    repository = client.repository
    entry = repository.tree(repository.resolve(revision)).entry(RelationName("shop", name))
    assert isinstance(entry, TableEntry)
    return entry.snapshot


def test_the_statements_of_the_paper(client: Client, sql: Sql) -> None:
    sql("create table t as select id, 'a' v from range(3)")
    sql("create snapshot sn1 for table t")
    sql("create snapshot if not exists sn1 for table t")
    with pytest.raises(InputError, match=r"already a snapshot 'sn1' of shop\.t"):
        sql("create snapshot sn1 for table t")
    sql("insert into t values (7, 'b')")
    assert [row[:2] for row in sql("show snapshots")] == [("shop.t", "sn1")]
    assert [row[5] for row in sql("show snapshots for table t")] == ["ann"]
    assert sql("show snapshots in other") == []
    sql("create table c from snapshot t{snapshot='sn1'}")
    assert sql("select count(*) from c") == [(3,)]
    made = client.repository.objects.snapshot(snapshot(client, "c"))
    assert made.parents == (snapshot(client, "t", "main~2"),)
    sql("create table d clone t version as of 'main~1'")
    assert sql("select count(*) from d") == [(4,)]
    assert sql("restore table t from snapshot t{snapshot='sn1'}")[0][0] == "shop.t"
    assert sql("select count(*) from t") == [(3,)]
    read = client.repository.objects.snapshot
    assert read(snapshot(client, "t")).parents == (snapshot(client, "t", "main~1"),)
    sql("restore table t to version as of 'main~1'")
    assert sql("select count(*) from t") == [(4,)]
    sql("drop snapshot sn1 for table t")
    sql("drop snapshot if exists sn1 for table t")
    with pytest.raises(NotFoundError, match="was deleted"):
        sql("drop snapshot sn1 for table t")
    with pytest.raises(NotFoundError, match="no snapshot of it"):
        sql("create table e from snapshot t{snapshot='sn1'}")


def test_undrop(client: Client, sql: Sql) -> None:
    sql("create table t as select 1 id")
    with pytest.raises(InputError, match=r"exists\. Only"):
        sql("undrop table t")
    sql("drop table t")
    sql("undrop table t")
    assert sql("select * from t") == [(1,)]
    with pytest.raises(NotFoundError, match=r"shop\.nix never existed"):
        sql("undrop table nix")


def test_a_snapshot_of_a_version(client: Client, sql: Sql) -> None:
    sql("create table t as select 1 id")
    sql("create snapshot sn1 for table t version as of 'main'")
    with pytest.raises(NotFoundError, match=r"no table|is not a version"):
        sql("create snapshot sn2 for table nix version as of 'main'")
