"""Plain Parquet tables on the Spark that the versioned tables use, too: the other side."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from dbt.adapters.vcs.engines.session_settings import process_settings


class ParquetTables:
    """Tables that Spark writes and reads as Parquet, in a folder; with no version of anything."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        """Start Spark with the settings that versioned tables have."""
        self._folder = folder
        builder = SparkSession.builder
        warehouse = {"spark.sql.warehouse.dir": str(folder)}
        for name, value in {**process_settings(settings), **warehouse}.items():
            builder = builder.config(name, value)
        self._spark = builder.getOrCreate()

    def sql(self, text: str) -> pa.Table:
        """Run a statement and return its rows."""
        return self._spark.sql(text).toArrow()

    def write(self, name: str, query: str) -> None:
        """Make a table of a query; an existing one is dropped first."""
        self.drop(name)
        self._spark.sql(f"create table {name} using parquet as {query}")

    def drop(self, *names: str) -> None:
        """Take tables away, where there are such, and their files."""
        for name in names:
            self._spark.sql(f"drop table if exists {name}")
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def rows(self, name: str) -> pa.Table:
        """Read a table without Spark."""
        return pq.read_table(self._folder / name)

    def bytes(self, name: str) -> int:
        """Return the size of a table's files."""
        return size_of(self._folder / name)

    def columns(self, name: str) -> list[str]:
        """Return the names of a table's columns."""
        return list(self._spark.table(name).columns)

    def jobs(self) -> int:
        """Return how many jobs have been started in this Spark, by whomever."""
        return int(self._spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())

    def close(self) -> None:
        """Stop Spark."""
        self._spark.stop()


def size_of(folder: Path) -> int:
    """Return the size of all files in a folder, however deep."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
