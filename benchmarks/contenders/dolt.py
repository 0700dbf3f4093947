"""Dolt: a versioned database with git's verbs; the `dolt` command has to be on the PATH.

Each step is a process of the command, whose start (some 50 ms) is part of what is measured.
"""

import subprocess
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
from contender import CHECKSUM, KEY, Change, Contender, run

BATCH = 200_000
TYPES = """l_orderkey bigint not null, l_partkey bigint, l_suppkey bigint,
    l_linenumber int not null, l_quantity decimal(15,2), l_extendedprice decimal(15,2),
    l_discount decimal(15,2), l_tax decimal(15,2), l_returnflag varchar(1),
    l_linestatus varchar(1), l_shipdate date, l_commitdate date, l_receiptdate date,
    l_shipinstruct varchar(25), l_shipmode varchar(10), l_comment varchar(44)"""
CHECK = CHECKSUM.replace("decimal(38,2)", "char")


class Dolt(Contender):
    """Dolt, its branches as sides."""

    name = "Dolt"
    lacks = {"reads": "it marks no row as deleted, so there is nothing to read through"}

    def versions(self) -> dict[str, str]:
        return {"Dolt": self._dolt("version").splitlines()[0].split()[-1]}

    def load(self, parquet: Path) -> None:
        self._dolt("init", "--name", "benchmark", "--email", "benchmark@example.com")
        self._sql(f"create table lineitem ({TYPES}, primary key ({', '.join(KEY)}))")
        path = self.work / "lineitem.csv"
        file = pyarrow.parquet.ParquetFile(parquet)
        with pyarrow.csv.CSVWriter(path, file.schema_arrow) as writer:
            for batch in file.iter_batches(BATCH):
                writer.write_batch(batch)
        self._dolt("table", "import", "--update-table", "lineitem", str(path))
        path.unlink()
        self._commit("Load lineitem")

    def clone(self, side: str) -> None:
        self._dolt("branch", side, "main")

    def update(self, side: str, change: Change) -> None:
        self._dolt("checkout", side)
        self._sql(f"update lineitem {change.update}")
        self._commit("Update rows")

    def diff(self, side: str) -> tuple[int, str]:
        checked = CHECK
        for column in ("l_quantity", *KEY):
            checked = checked.replace(column, f"to_{column}")
        count, checksum = self._row(
            f"select count(*), {checked.format('to_l_quantity')} "
            f"from dolt_diff('main', '{side}', 'lineitem')"
        )
        return int(count), checksum

    def merge(self, source: str, target: str) -> None:
        self._dolt("checkout", target)
        self._dolt("merge", source, "-m", "Merge")

    def content(self, side: str) -> str:
        self._dolt("checkout", side)
        sums = [CHECK.format(name) for name in ("l_quantity", "l_extendedprice")]
        return " ".join(self._row(f"select count(*), {', '.join(sums)} from lineitem"))

    def _commit(self, message: str) -> None:
        self._dolt("commit", "--all", "--message", message)

    def _sql(self, text: str) -> str:
        return self._dolt("sql", "--result-format", "csv", "--query", text)

    def _row(self, query: str) -> list[str]:
        return self._sql(query).splitlines()[1].split(",")

    def _dolt(self, *arguments: str) -> str:
        done = subprocess.run(
            ["dolt", *arguments], cwd=self.work, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"dolt {arguments[0]} failed: {done.stderr or done.stdout}")
        return done.stdout


if __name__ == "__main__":
    run(Dolt)
