"""Apache Iceberg: branches of a table, and the changelog view as a diff.

The changelog doesn't read delete files. So where rows are changed by such (merge-on-read), the
diff is a query over both branches; where files are rewritten, it is the changelog.

Nothing in it merges two branches that both moved: what one changed is read from its changelog
and put on the other by `merge into`, without a look at what the other changed.
"""

import sys
from importlib.metadata import version
from pathlib import Path

from contender import KEY, Change, run
from on_spark import OnSpark

PACKAGE = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
TABLE = "lake.bench.lineitem"
COPY_ON_WRITE = "--copy-on-write"
MERGING = {
    "three-way merge": "fast_forward needs an unmoved target; a MERGE overwrites what both sides "
    "changed; no conflict is found",
}


class Iceberg(OnSpark):
    """Iceberg with deletion vectors (format 3)."""

    name = "Iceberg, merge-on-read"
    mode = "merge-on-read"
    lacks = {
        **MERGING,
        "changelog of delete files": "the diff is an EXCEPT of two branches instead",
    }
    settings = {
        "spark.jars.packages": PACKAGE,
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": "{work}/lake",
    }

    def versions(self) -> dict[str, str]:
        return {"Spark": version("pyspark"), "Iceberg": PACKAGE.rsplit(":", 1)[1]}

    def load(self, parquet: Path) -> None:
        modes = ", ".join(f"'write.{verb}.mode' = '{self.mode}'" for verb in ("update", "merge"))
        self.sql(
            f"create table {TABLE} using iceberg "
            f"tblproperties ('format-version' = '3', {modes}) as select * from parquet.`{parquet}`"
        )
        self.base = self._head("main")

    def clone(self, side: str) -> None:
        self.sql(f"alter table {TABLE} create branch {side}")

    def update(self, side: str, change: Change) -> None:
        self.sql(f"update {self.table(side)} {change.update}")

    def diff(self, side: str) -> tuple[int, str]:
        return self.counted(self._changed(side))

    def merge(self, source: str, target: str) -> None:
        self.overwrite(self._changed(source), target)

    def table(self, side: str | None) -> str:
        return f"{TABLE}.branch_{side}" if side else TABLE

    def _head(self, branch: str) -> int:
        (row,) = self.sql(
            f"select snapshot_id from {TABLE}.refs where name = '{branch}'"
        ).collect()
        return int(row[0])

    def _changed(self, side: str) -> str:
        return f"(select * from {self.table(side)} except select * from {TABLE})"


class CopyOnWrite(Iceberg):
    """Iceberg that rewrites every file with a changed row."""

    name = "Iceberg, copy-on-write"
    mode = "copy-on-write"
    lacks = {
        **MERGING,
        "MERGE from a changelog": "it can't be planned, so its rows are written first",
    }

    def merge(self, source: str, target: str) -> None:
        rows = f"changed_by_{source}"
        self.sql(f"create table {rows} using parquet as select * from {self._changed(source)}")
        self.overwrite(rows, target)

    def _changed(self, side: str) -> str:
        view = f"changes_of_{side}"
        keys = ", ".join(f"'{name}'" for name in KEY)
        self.sql(
            "call lake.system.create_changelog_view("
            f"table => 'bench.lineitem', changelog_view => '{view}', options => map("
            f"'start-snapshot-id', '{self.base}', 'end-snapshot-id', '{self._head(side)}'), "
            f"identifier_columns => array({keys}))"
        )
        return (
            "(select * except (_change_type, _change_ordinal, _commit_snapshot_id) "
            f"from {view} where _change_type = 'UPDATE_AFTER')"
        )


if __name__ == "__main__":
    chosen = CopyOnWrite if COPY_ON_WRITE in sys.argv else Iceberg
    sys.argv = [argument for argument in sys.argv if argument != COPY_ON_WRITE]
    run(chosen)
