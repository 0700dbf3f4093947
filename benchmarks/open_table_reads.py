"""Reads of one table by other engines and by this package, with rows deleted and without."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from lineitem import chosen, load, open_branch
from pyiceberg.table import StaticTable
from report import seconds
from rounds import take_turns

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.iceberg.exports import export

COLUMNS = ("l_orderkey", "l_quantity", "l_shipmode")
"""What is read: a whole number, a decimal and a text."""
SUMS = "select count(*) n, sum(l_orderkey) k, sum(l_quantity) q, max(l_shipmode) m from {}"
INTEROP = Path(__file__).resolve().parents[1] / "integration_tests" / "interop"

Answer = tuple[int, int, float, str]
Reader = Callable[[], Answer]


def measure_reads(
    folder: Path, scale: float, deletions: tuple[int, ...], repeat: int
) -> dict[int, dict[str, list[float]]]:
    """Return the seconds that each reader needs, by the number of deleted rows.

    Raises:
        AssertionError: A reader found other rows than the others.
    """
    names = {}
    with open_branch(folder) as client, ExitStack() as stack:
        for count in deletions:
            name = names[count] = f"deleted_{count}"
            total = load(client, scale, name=f"bench.{name}")
            assert count < total, f"At SF {scale:g} there are {total:,} rows: use a larger scale."
            if count:
                client.sql(f"delete from bench.{name} where {chosen(count, total)}")
        location = export(client.repository, "main").location
        duck = stack.enter_context(duckdb_with_iceberg())
        spark = stack.enter_context(spark_with_iceberg(location))
        found = {}
        for count, name in names.items():
            readers = readers_of(client, location, name, duck, spark)
            check_same(readers)
            works = {reader: partial(seconds, read) for reader, read in readers.items()}
            found[count] = take_turns(f"{count:,} deleted rows", works, repeat)
    return found


def readers_of(
    client: Client,
    location: str,
    name: str,
    duck: duckdb.DuckDBPyConnection,
    spark: Callable[[str], pa.Table] | None,
) -> Mapping[str, Reader]:
    """Return what each reader does, by the reader's name."""
    path = f"{location}/bench/{name}"

    def arrow() -> Answer:
        return sums(client.table(f"bench.{name}").scan(COLUMNS).to_arrow())

    def pyiceberg() -> Answer:
        table = StaticTable.from_metadata(path)
        return sums(table.scan(selected_fields=COLUMNS).to_arrow())

    def by_duckdb() -> Answer:
        query = SUMS.format(f"iceberg_scan('{path}')")
        return answer(duck.execute(query).fetch_arrow_table())

    def mount() -> Answer:
        return answer(client.sql(SUMS.format(f"bench.{name}")))

    found = {
        "Spark, mount": mount,
        "Arrow, `table`": arrow,
        "DuckDB, Iceberg": by_duckdb,
        "PyIceberg": pyiceberg,
    }
    if spark is not None:
        found["Spark, Iceberg"] = lambda: answer(spark(SUMS.format(f"lake.bench.{name}")))
    return found


def check_same(readers: Mapping[str, Reader]) -> None:
    """Check that all readers find the same rows."""
    answers = {name: read() for name, read in readers.items()}
    assert len(set(answers.values())) == 1, answers


def sums(table: pa.Table) -> Answer:
    """Return the sums of a table's columns."""
    key, quantity, mode = (table.column(name) for name in COLUMNS)
    return (
        table.num_rows,
        pc.sum(key).as_py(),
        float(pc.sum(quantity).as_py()),
        pc.max(mode).as_py(),
    )


def answer(row: pa.Table) -> Answer:
    """Return the sums that an engine computed."""
    count, key, quantity, mode = (column[0].as_py() for column in row.columns)
    return int(count), int(key), float(quantity), str(mode)


@contextmanager
def duckdb_with_iceberg() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB with the extension that PyPI has."""
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        for name in ("avro", "iceberg"):
            spec = find_spec(f"duckdb_extension_{name}")
            if spec is None or spec.origin is None:
                raise SystemExit(f"Install duckdb-extension-{name}, of DuckDB's version.")
            (file,) = Path(spec.origin).parent.rglob(f"{name}.duckdb_extension")
            connection.execute(f"load '{file}'")
        yield connection


@contextmanager
def spark_with_iceberg(location: str) -> Iterator[Callable[[str], pa.Table] | None]:
    """Start Spark with Iceberg over an export, if `make interop` has fetched it; else None."""
    root = INTEROP.parents[1] / ".interop"
    if not list((root / "jars").glob("iceberg-spark-runtime-*.jar")):
        yield None
        return
    from interop.iceberg_spark import IcebergSpark

    catalog = {"type": "hadoop", "warehouse": location, "cache-enabled": "false"}
    with IcebergSpark({"lake": catalog}) as spark:
        yield spark.sql
