"""Delta Lake: shallow clones, deletion vectors, and the change data feed as a diff.

Nothing in it merges two clones: what one changed is read from its feed and put on the other by
`merge into`, without a look at what the other changed.
"""

from importlib.metadata import version
from pathlib import Path

from contender import Change, Feeding, run
from on_spark import OnSpark

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"


class Delta(OnSpark, Feeding):
    """Delta Lake with deletion vectors and change data feed."""

    name = "Delta Lake"
    settings = {
        "spark.jars.packages": PACKAGE,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    lacks = {
        "three-way merge": "a MERGE overwrites what both sides changed; no conflict is found",
    }

    def versions(self) -> dict[str, str]:
        return {"Spark": version("pyspark"), "Delta Lake": PACKAGE.rsplit(":", 1)[1]}

    def load(self, parquet: Path) -> None:
        self.sql(
            "create table lineitem using delta tblproperties "
            "('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true') "
            f"as select * from parquet.`{parquet}`"
        )

    def clone(self, side: str) -> None:
        self.sql(f"create table {side} shallow clone lineitem")

    def update(self, side: str, change: Change) -> None:
        self.sql(f"update {side} {change.update}")

    def diff(self, side: str) -> tuple[int, str]:
        return self.counted(self._changed(side))

    def merge(self, source: str, target: str) -> None:
        self.overwrite(self._changed(source), target)

    def table(self, side: str | None) -> str:
        return side or "lineitem"

    def changes(self, side: str) -> str:
        # Version 0 of a clone is the clone.
        return f"table_changes('{side}', 1)"

    def ask(self, query: str) -> str:
        return " ".join(str(value) for row in self.sql(query).collect() for value in row)

    def _changed(self, side: str) -> str:
        return (
            "(select * except (_change_type, _commit_version, _commit_timestamp) "
            f"from {self.changes(side)} where _change_type = 'update_postimage')"
        )


if __name__ == "__main__":
    run(Delta)
