"""What the contenders on Spark share: a session, and queries whose answers are compared."""

from abc import abstractmethod
from pathlib import Path

from contender import CHECKSUM, KEY, Readable
from pyspark.sql import DataFrame, SparkSession


class OnSpark(Readable):
    """A contender that sends SQL to its own Spark session."""

    settings: dict[str, str]

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        builder = SparkSession.builder.master("local[2]").appName(self.name)
        for key, value in self.settings.items():
            builder = builder.config(key, value.format(work=work))
        self.spark = (
            builder.config("spark.driver.memory", "8g")
            .config("spark.sql.shuffle.partitions", "8")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.warehouse.dir", str(work / "warehouse"))
            .getOrCreate()
        )
        self.spark.sparkContext.setLogLevel("ERROR")

    def sql(self, text: str) -> DataFrame:
        """Run a statement; a query runs when its rows are asked for."""
        return self.spark.sql(text)

    def counted(self, relation: str) -> tuple[int, str]:
        """Return rows and checksum of the quantities of a relation or subquery."""
        (row,) = self.sql(
            f"select count(*), {CHECKSUM.format('l_quantity')} from {relation}"
        ).collect()
        return row[0], str(row[1])

    def overwrite(self, rows: str, target: str) -> None:
        """Put rows on a side, whatever it made of rows of the same keys."""
        on = " and ".join(f"t.{name} = s.{name}" for name in KEY)
        self.sql(
            f"merge into {self.table(target)} t using {rows} s on {on} "
            "when matched then update set *"
        )

    @abstractmethod
    def table(self, side: str | None) -> str:
        """Return what a query names to read a side, or the loaded table."""

    def rows(self, query: str, side: str | None) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self.sql(query.format(self.table(side))).collect()]

    def content(self, side: str) -> str:
        sums = [CHECKSUM.format(name) for name in ("l_quantity", "l_extendedprice")]
        (row,) = self.sql(f"select count(*), {', '.join(sums)} from {self.table(side)}").collect()
        return " ".join(map(str, row))
