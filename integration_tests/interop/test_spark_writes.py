"""Spark with Iceberg writes rows through the catalog, and to a plain table beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.commands.fsck import check_repository
from tests.property.test_iceberg_laws import rows_of
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.server_process import serving

from .iceberg_spark import IcebergSpark, SparkError, served
from .write_cases import CHANGES, MODES, REFUSED, WRITES


@pytest.fixture(scope="module")
def spark(shop: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergSpark]:
    """Spark with Iceberg, with the catalog of the branch and one of plain tables."""
    folder = tmp_path_factory.mktemp("plain")
    with serving(Path(shop.blobs.uri)) as server:
        plain = {"type": "hadoop", "warehouse": str(folder), "cache-enabled": "false"}
        with IcebergSpark({"dev": served(server.url, "dev"), "plain": plain}) as session:
            session.sql("create namespace plain.s")
            yield session


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A table of the branch, and a plain one that gets the same statements."""

    dev: Client
    spark: IcebergSpark
    shop: Lake
    name: str

    def run(self, statements: Sequence[str], **settings: str) -> None:
        """Run statements at both, and compare the rows after each."""
        for statement in statements:
            for catalog in ("plain", "dev"):
                self.spark.sql(self.text(statement, catalog, **settings))
            if not statement.startswith("set "):
                self.agree(statement)
        assert rows_of(self.dev.sql(f"select * from {self.name}")) == self.plain()

    def text(self, statement: str, catalog: str, **settings: str) -> str:
        """Fill a statement in."""
        held = {"t": f"{catalog}.s.{self.name}", "s": f"s.{self.name}", "catalog": catalog}
        for key, value in {**held, "modes": "", **settings}.items():
            statement = statement.replace(f"{{{key}}}", value)
        return statement

    def plain(self) -> Any:
        """Return the rows of the plain table."""
        return rows_of(self.spark.sql(f"select * from plain.s.{self.name}"))

    def agree(self, after: str = "") -> None:
        """Check that each reader finds the rows of the plain table."""
        wanted = self.plain()
        lazy = self.dev.table(self.name)
        assert rows_of(self.spark.sql(f"select * from dev.s.{self.name}")) == wanted, after
        assert rows_of(lazy.to_arrow()) == wanted, after
        assert lazy.count() == sum(wanted.values()), after

    def check(self) -> None:
        """Check that the repository is undamaged."""
        assert check_repository(self.shop.repository).problems == ()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CHANGES)
def test_rows_that_are_changed(
    dev: Client, spark: IcebergSpark, shop: Lake, case: str, mode: str
) -> None:
    beside = Beside(dev=dev, spark=spark, shop=shop, name=f"{case}_{mode.replace('-', '_')}")
    modes = ", ".join(f"'write.{word}.mode' = '{mode}'" for word in ("delete", "update", "merge"))
    beside.run(CHANGES[case], modes=f"tblproperties ({modes})")
    beside.check()


@pytest.mark.parametrize("case", WRITES)
def test_rows_that_are_written(dev: Client, spark: IcebergSpark, shop: Lake, case: str) -> None:
    beside = Beside(dev=dev, spark=spark, shop=shop, name=case)
    beside.run(WRITES[case])
    beside.check()


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(
    dev: Client,
    spark: IcebergSpark,
    shop: Lake,
    case: str,
    record_property: Any,
) -> None:
    before, statement, says = REFUSED[case]
    name = "refused_" + "_".join(case.split())
    beside = Beside(dev=dev, spark=spark, shop=shop, name=name)
    beside.run(before) if before else None
    head = shop.repository.branch("dev").head
    between = "2020-01-01 00:00:00"
    text = beside.text(statement, "dev", between=between)
    with pytest.raises(SparkError, match=says) as caught:
        spark.sql(text)
    record_property("refused", f"{statement}\n{caught.value}")
    assert shop.repository.branch("dev").head == head
    if before:
        beside.agree()
    beside.check()


# Tables that this package made, and what clients write there.
OURS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "with_tombstones": (
        (
            "create table {t} partitioned by (part)"
            " as select id, cast(id % 7 as int) as part, concat('v', id) as v from range(2000)",
            "delete from {t} where id % 50 = 3",
            "update {t} set v = 'changed' where id between 1000 and 1500",
            "delete from {t} where part = 4",
        ),
        (
            "delete from {t} where id % 50 = 4",
            "update {t} set v = 'again' where id < 30",
            "insert into {t} values (-1, 'new', null), (-2, 'back', 4)",
            "merge into {t} as t using (select id * 7 as id from range(400)) as s on t.id = s.id"
            " when matched and s.id % 2 = 0 then delete when matched then update set v = 'M'"
            " when not matched then insert (id, part, v) values (s.id, 8, 'N')",
            "insert overwrite {t} partition (part = 5) select 1, 'only'",
        ),
    ),
    "with_a_key": (
        (
            "create table {t} (id bigint, v string) tblproperties ('primary_key' = 'id')",
            "insert into {t} select id, concat('v', id) from range(500)",
            "delete from {t} where id % 10 = 3",
        ),
        (
            "insert into {t} values (3, 'again')",
            "update {t} set v = 'z' where id < 7",
            "delete from {t} where v = 'z' and id > 2",
            "merge into {t} as t using (select id * 2 as id from range(300)) as s on t.id = s.id"
            " when matched then update set v = 'M' when not matched then insert (id, v)"
            " values (s.id, 'N')",
        ),
    ),
    "with_old_columns": (
        (
            "create table {t} as select 1 as id, 'a' as v, cast(1.5 as float) as f",
            "alter table {t} alter column id type bigint",
            "alter table {t} alter column f type double",
            "alter table {t} add columns (more array<int>, gone int)",
            "insert into {t} values (5000000000, 'b', 2.5, array(1), 8)",
            "alter table {t} drop columns (gone)",
        ),
        (
            "insert into {t} values (2, 'c', null, array(null))",
            "update {t} set more = array(9) where id = 1",
            "delete from {t} where id > 100",
        ),
    ),
    "cloned": (
        (
            "create table {t}_source as select id, id % 3 as k from range(100)",
            "delete from {t}_source where id = 50",
            "create table {t} shallow clone {t}_source",
        ),
        (
            "delete from {t} where id < 20",
            "update {t} set k = -1 where id > 90",
            "insert into {t} values (1000, 0)",
        ),
    ),
}


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
    modes = ", ".join(f"'write.{word}.mode' = '{mode}'" for word in ("delete", "update", "merge"))
    spark.sql(f"alter table dev.s.{name} set tblproperties ({modes})")
    parts = "partitioned by (part)" if "partitioned by (part)" in made[0] else ""
    spark.sql(f"create table plain.s.{name} using iceberg {parts} as select * from dev.s.{name}")
    beside.agree("create")
    beside.run(statements)
    beside.check()
