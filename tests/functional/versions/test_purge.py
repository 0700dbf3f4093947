"""A purge of tables that Spark wrote, with conditions that need SQL."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.commands.purge import PurgeReport, PurgeRequest, purge
from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.factory import make_engine
from tests.functional.clients import SPARK, Sql, client, rows_of, sql

__all__ = ["client", "sql"]

pytestmark = pytest.mark.spark


def erase(client: Client, where: str) -> PurgeReport:
    repository = Repository.open(client.repository.blobs)
    return purge(
        repository,
        PurgeRequest(relation="shop.people", where=where),
        author="bob",
        engine=lambda: make_engine(repository.blobs, settings=SPARK),
    )


def stored(client: Client) -> set[str]:
    """Every text in a column of any data file of the repository."""
    root = Path(client.repository.uri)
    found: set[str] = set()
    for path in root.joinpath("data").rglob("*.parquet"):
        table = pq.ParquetFile(path).read()
        for name in table.column_names:
            found |= {str(value) for value in table.column(name).to_pylist()}
    return found


def people(sql: Sql) -> None:
    sql(
        "create table people (id bigint, email string, seen timestamp, tags array<string>, "
        "part int) partitioned by (part) tblproperties ('vcs.write_mode' = 'merge_on_read')"
    )
    sql(
        "insert into people select id, if(id % 10 = 7, 'Jane' || id || '@Example.org', 'x' || id),"
        " timestamp'2026-11-20 10:00:00', array('t' || id), int(id % 3) from range(60)"
    )
    sql("delete from people where id in (17, 18, 19)")
    sql("update people set seen = timestamp'2026-11-21 10:00:00' where id in (27, 28)")


def test_a_condition_of_sql_erases_rows_of_partitions_and_their_images(
    client: Client, sql: Sql
) -> None:
    people(sql)
    versions = [f"main~{number}" for number in range(3)]
    before = [sql(f"select * from people version as of '{v}' order by id") for v in versions]
    assert any(text.startswith("Jane") for text in stored(client))
    root = Path(client.repository.uri, "data")
    report = erase(client, "lower(email) like 'jane%@example.org' and part >= 0")
    assert report.rows >= 6 and report.before_images >= 1
    assert not any(text.startswith("Jane") for text in stored(client))
    # Names of folders hold values of partitions.
    assert all(any(path.rglob("*.parquet")) for path in root.rglob("*") if path.is_dir())
    with connect(client.repository.uri, schema="shop", spark=SPARK) as another:
        for version, rows in zip(versions, before, strict=True):
            query = f"select * from people version as of '{version}' order by id"
            left = [row for row in rows if row[0] % 10 != 7]
            assert rows_of(another.sql(query)) == left
        changes = another.sql("snapshot diff people{snapshot = 'main~1'} and people")
        assert changes.num_rows == 2
        another.sql("update people set email = 'y' where id = 1")
        assert rows_of(another.sql("select email from people where id = 1")) == [("y",)]


@pytest.mark.parametrize(
    ("where", "kind"),
    [("rand() < id", InputError), ("lower(email) = nope(id)", EngineError)],
)
def test_a_condition_that_is_not_always_the_same_or_no_sql_is_refused(
    client: Client, sql: Sql, where: str, kind: type[Exception]
) -> None:
    people(sql)
    head = client.repository.branch("main").head
    with pytest.raises(kind):
        erase(client, where)
    assert Repository.open(client.repository.blobs).branch("main").head == head
