"""Spark with Iceberg on tables of format version 3: deletion vectors, and numbers of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.commands.fsck import check_repository
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.server_process import serving

from .iceberg_spark import IcebergSpark, SparkError, served
from .test_spark_writes import OURS, Beside
from .write_cases import CHANGES, MODES, WRITES


@pytest.fixture(scope="module")
def spark(shop: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergSpark]:
    """Spark with Iceberg, with two catalogs whose tables are of format version 3."""
    folder = tmp_path_factory.mktemp("plain")
    with serving(Path(shop.blobs.uri), "--format-version", "3") as server:
        plain = {"type": "hadoop", "warehouse": str(folder), "cache-enabled": "false"}
        plain["table-default.format-version"] = "3"
        with IcebergSpark({"dev": served(server.url, "dev"), "plain": plain}) as session:
            session.sql("create namespace plain.s")
            yield session


def modes_of(mode: str) -> str:
    return ", ".join(f"'write.{word}.mode' = '{mode}'" for word in ("delete", "update", "merge"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CHANGES)
def test_rows_that_are_changed(
    dev: Client, spark: IcebergSpark, shop: Lake, case: str, mode: str
) -> None:
    beside = Beside(dev=dev, spark=spark, shop=shop, name=f"{case}_{mode.replace('-', '_')}")
    beside.run(CHANGES[case], modes=f"tblproperties ({modes_of(mode)})")
    beside.check()


@pytest.mark.parametrize("case", WRITES)
def test_rows_that_are_written(dev: Client, spark: IcebergSpark, shop: Lake, case: str) -> None:
    beside = Beside(dev=dev, spark=spark, shop=shop, name=case)
    beside.run(WRITES[case])
    beside.check()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", OURS)
def test_tables_that_this_package_made(
    dev: Client, spark: IcebergSpark, shop: Lake, case: str, mode: str
) -> None:
    name = f"{case}_{mode.replace('-', '_')}"
    beside = Beside(dev=dev, spark=spark, shop=shop, name=name)
    made, statements = OURS[case]
    for statement in made:
        dev.sql(statement.replace("{t}", name))
    spark.sql(f"alter table dev.s.{name} set tblproperties ({modes_of(mode)})")
    parts = "partitioned by (part)" if "partitioned by (part)" in made[0] else ""
    spark.sql(f"create table plain.s.{name} using iceberg {parts} as select * from dev.s.{name}")
    beside.agree("create")
    beside.run(statements)
    beside.check()


@pytest.mark.parametrize("mode", MODES)
def test_rows_keep_their_numbers(dev: Client, spark: IcebergSpark, shop: Lake, mode: str) -> None:
    name = f"numbered_{mode.replace('-', '_')}"
    beside = Beside(dev=dev, spark=spark, shop=shop, name=name)

    def numbers(catalog: str) -> dict[int, int]:
        found = spark.sql(f"select id, _row_id from {catalog}.s.{name}").to_pydict()
        shown = dict(zip(found["id"], found["_row_id"], strict=True))
        assert len(set(shown.values())) == len(found["id"])
        return shown

    beside.run(
        ("create table {t} (id bigint, v int) using iceberg {modes}",),
        modes=f"tblproperties ({modes_of(mode)})",
    )
    before: dict[int, int] = {}
    for statement in (
        "insert into {t} select id, 0 from range(20)",
        "delete from {t} where id in (3, 4)",
        "update {t} set v = 1 where id % 5 = 0",
        "insert into {t} select id, 0 from range(20, 30)",
        "merge into {t} as t using (select id * 3 as id from range(15)) as s on t.id = s.id"
        " when matched and s.id % 2 = 0 then delete when matched then update set v = 2"
        " when not matched then insert (id, v) values (s.id, 3)",
        "update {t} set v = 4",
    ):
        beside.run((statement,))
        # Those of new rows depend on the order of files, which is nobody's promise.
        shown = numbers("dev")
        assert {id: number for id, number in shown.items() if id in before} == {
            id: number for id, number in before.items() if id in shown
        }
        before = shown
    assert numbers("plain").keys() == before.keys()
    # The Spark of this package may write files again, whose rows have new numbers.
    dev.sql(f"delete from {name} where id = 7")
    assert numbers("dev").keys() == before.keys() - {7}
    beside.check()


def test_deletions_from_different_files_at_once_all_land(
    dev: Client, spark: IcebergSpark, shop: Lake
) -> None:
    modes = f"{modes_of('merge-on-read')}, 'commit.retry.num-retries' = '20'"
    spark.sql(
        "create table dev.s.at_once (id bigint, part int) using iceberg partitioned by (part)"
        f" tblproperties ({modes})"
    )
    spark.sql("insert into dev.s.at_once select id, cast(id % 4 as int) from range(80)")
    left = set(range(80))
    for number in range(3):
        gone = range(4 * number, 4 * number + 4)
        found = spark.at_once(
            *(f"delete from dev.s.at_once where part = {id % 4} and id = {id}" for id in gone)
        )
        assert [item for item in found if isinstance(item, SparkError)] == []
        left -= set(gone)
        assert set(spark.sql("select id from dev.s.at_once")["id"].to_pylist()) == left
    assert set(dev.table("at_once").to_arrow()["id"].to_pylist()) == left
    assert check_repository(shop.repository).problems == ()
