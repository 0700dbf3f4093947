"""What plain dbt-spark can't do itself: make the raw tables, and hand the results out.

Run in the folder of a copy of the project, whose metastore and warehouse it shares with dbt.
"""

import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import yaml
from pyspark.sql import SparkSession


def prepare(spark: SparkSession, sources: Path) -> None:
    """Declare the project's external sources as external tables.

    Args:
        spark: a session with a Hive metastore.
        sources: the YAML file that says where each table lies.
    """
    (source,) = yaml.safe_load(sources.read_text(encoding="utf-8"))["sources"]
    spark.sql(f"create schema if not exists {source['schema']}")
    for table in source["tables"]:
        meta = {**source.get("meta", {}), **table.get("meta", {})}
        path = Path(meta["external_location"].format(name=table["name"])).resolve()
        options = {**meta.get("options", {}), "path": str(path)}
        listed = ", ".join(f"'{key}' '{value}'" for key, value in options.items())
        spark.sql(
            f"create table {source['schema']}.{table['name']} "
            f"using {meta.get('format', 'parquet')} options ({listed})"
        )


def results(spark: SparkSession, tables: list[str]) -> None:
    """Write each ``<schema>.<table>`` as a file of that name and ``.parquet``."""
    for table in tables:
        pyarrow.parquet.write_table(spark.table(table).toArrow(), f"{table}.parquet")


def queries(spark: SparkSession, path: str, texts: list[str]) -> None:
    """Write the rows of all queries, which have the same columns, into one file."""
    rows = pyarrow.concat_tables([spark.sql(text).toArrow() for text in texts])
    pyarrow.parquet.write_table(rows, path)


def main() -> None:
    """Do what the first argument names."""
    verb, *arguments = sys.argv[1:]
    spark = (
        SparkSession.builder.enableHiveSupport()
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    if verb == "prepare":
        prepare(spark, Path("models/staging/_sources.yml"))
    elif verb == "queries":
        queries(spark, arguments[0], arguments[1:])
    else:
        results(spark, arguments)
    spark.stop()


if __name__ == "__main__":
    main()
