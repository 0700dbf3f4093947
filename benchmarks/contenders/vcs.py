"""dbt-vcs: clones of a table, row by row three-way merge."""

from importlib.metadata import version
from pathlib import Path

from contender import CHECKSUM, KEY, Change, Feeding, Readable, run

from dbt.adapters.vcs.api import connect


class Vcs(Readable, Feeding):
    """dbt-vcs on clones of one table."""

    name = "dbt-vcs"

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        settings = {
            "spark.master": "local[2]",
            "spark.driver.memory": "8g",
            "spark.sql.shuffle.partitions": "8",
            "spark.ui.enabled": "false",
        }
        self.client = connect(
            str(work / "repository"), "main", "bench", create=True, spark=settings
        )

    def versions(self) -> dict[str, str]:
        return {"Spark": version("pyspark"), "dbt-vcs": version("dbt-vcs")}

    def load(self, parquet: Path) -> None:
        self.client.sql("create schema if not exists bench")
        self.client.sql(
            "create table lineitem tblproperties "
            f"('vcs.enforce_primary_key' = 'false', 'primary_key' = '{', '.join(KEY)}') "
            f"as select * from parquet.`{parquet}`"
        )

    def clone(self, side: str) -> None:
        self.client.sql(f"create table {side} clone lineitem")

    def update(self, side: str, change: Change) -> None:
        self.client.sql(f"update {side} {change.update}")

    def diff(self, side: str) -> tuple[int, str]:
        count, checksum = self._row(
            f"select count(*), {CHECKSUM.format('l_quantity')} from {self.changes(side)} "
            "where _change_type = 'update_postimage'"
        )
        return int(count), checksum

    def merge(self, source: str, target: str) -> None:
        self.client.sql(f"snapshot merge table {target} from {source}")

    def content(self, side: str) -> str:
        sums = [CHECKSUM.format(name) for name in ("l_quantity", "l_extendedprice")]
        return " ".join(self._row(f"select count(*), {', '.join(sums)} from {side}"))

    def rows(self, query: str, side: str | None) -> list[tuple[object, ...]]:
        found = self.client.sql(query.format(side or "lineitem"))
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def check_key(self) -> None:
        self.client.sql(
            "alter table lineitem set tblproperties ('vcs.enforce_primary_key' = 'true')"
        )

    def changes(self, side: str) -> str:
        return f"snapshot_diff('bench.lineitem', 'bench.{side}', shape => 'changes')"

    def ask(self, query: str) -> str:
        rows = self.client.sql(query).to_pylist()
        return " ".join(str(value) for row in rows for value in row.values())

    def _row(self, query: str) -> list[str]:
        return [str(column[0].as_py()) for column in self.client.sql(query).columns]


if __name__ == "__main__":
    run(Vcs)
