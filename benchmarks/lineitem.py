"""TPC-H's lineitem, written once a scale factor, and a branch of a repository that holds it."""

import subprocess
import sys
from pathlib import Path

from dbt.adapters.vcs.api import Client, connect

DATA = Path(__file__).resolve().parent / "data"
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "8g",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
}
KEY = ("l_orderkey", "l_linenumber")
TABLE = "bench.lineitem"


def settings(scale: float) -> dict[str, str]:
    """Return the Spark settings for tables of a scale, the same for all that is compared.

    More partitions let the sums over all rows of large tables stay in memory.
    """
    return {**SETTINGS, "spark.sql.shuffle.partitions": str(max(8, round(8 * scale)))}


def lineitem(scale: float) -> Path:
    """Return the folder of lineitem at a scale factor; it is made if it isn't there."""
    folder = DATA / f"sf{scale:g}"
    if not (folder / ".complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = Path(sys.executable).with_name("tpchgen-cli")
        subprocess.run(
            [command, "parquet", "-s", f"{scale:g}", "--tables", "lineitem", "-o", folder],
            check=True,
        )
        (folder / ".complete").touch()
    return folder


def open_branch(repository: Path, branch: str = "main") -> Client:
    """Connect to a branch of a repository, which is made if it isn't there."""
    return connect(str(repository), branch, "bench", create=True, spark=SETTINGS)


def load(client: Client, scale: float, *, key: bool = True, name: str = TABLE) -> int:
    """Make the table of the data, with or without its key, and return its rows.

    The rows are known to have a key, so it is not checked again.
    """
    client.sql("create schema if not exists bench")
    properties = "'vcs.enforce_primary_key' = 'false'"
    if key:
        properties += f", 'primary_key' = '{', '.join(KEY)}'"
    client.sql(
        f"create table {name} tblproperties ({properties}) as "
        f"select * from parquet.`{lineitem(scale)}/lineitem.parquet`"
    )
    return scalar(client, f"select count(*) from {name}")


def scalar(client: Client, query: str) -> int:
    """Return the one value of a query."""
    return int(client.sql(query).column(0)[0].as_py())


def chosen(rows: int, total: int, salt: int = 0, *, first: int = 0) -> str:
    """Return a predicate that is true for about so many rows, picked at random by their key.

    Args:
        rows: How many.
        total: The rows of the table.
        salt: Another one numbers the rows in another order.
        first: Where the range of numbers starts; ranges of one salt that don't meet share no row.
    """
    number = f"pmod(xxhash64({', '.join(KEY)}, {salt}), {total})"
    return f"{number} >= {first} and {number} < {first + rows}"
