"""Results of few rows: Spark computes them, and this process writes them (decision 54)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.model import Field, Schema
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.spark_rows import columns_of_schema
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.port import Column, Destination, Written
from dbt.adapters.vcs.table.files.parquet import write_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_FEW_ROWS: Final = 10_000

# Bytes that a query may read to be tried here, by Spark's own estimates, and from so many sources.
_LITTLE: Final = 256 * 1024
_SOURCES: Final = 16

# Types whose values come by Arrow as they are.
_KINDS: Final = frozenset(
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "decimal",
        "date",
        "timestamp",
        "timestamp_ntz",
        "string",
        "char",
        "varchar",
        "binary",
    ]
)

# What a session may ask of the files, and what those that are written here are like.
_OF_FILES: Final = {
    "spark.sql.parquet.compression.codec": "snappy",
    "spark.sql.files.maxRecordsPerFile": "0",
}


def write_few(
    frame: DataFrame, blobs: Blobs, destination: Destination, jobs: StatementJobs
) -> Written | None:
    """Write a DataFrame in a running statement if it has few rows, else do nothing.

    `Analysed.write` has the contract.
    """
    ids = destination.ids
    if ids is None or not _is_simple(destination):
        return None
    columns = columns_of_schema(frame.schema)
    if not all(map(_comes_as_it_is, columns)):
        return None
    rows = _few_rows(frame, jobs)
    if rows is None:
        return None
    fields = [Field(id=i, name=i, type=c.type) for i, c in zip(ids, columns, strict=True)]
    schema = Schema(fields=tuple(fields))
    footers = write_table(blobs, rows, folder=destination.folder, schema=schema)
    inside = tuple(Column(name=field.id, type=field.type) for field in fields)
    return Written(columns=inside, files=tuple(sorted(footers)), footers=footers)


def _is_simple(destination: Destination) -> bool:
    """Return whether a write asks for nothing of its files: no places, no options."""
    asked = (destination.partition_by, destination.cluster_by, destination.options)
    return not (any(asked) or destination.by_place)


def _comes_as_it_is(column: Column) -> bool:
    found = type_of(column.type)
    return found.kind in _KINDS and found.collation is None


def _few_rows(frame: DataFrame, jobs: StatementJobs) -> pa.Table | None:
    """Return the rows, None if there are more than few or that can't be told cheaply."""
    conf = frame.sparkSession.conf
    if any(conf.get(key, kept) != kept for key, kept in _OF_FILES.items()):
        return None
    # Spark stops after so many, however wrong the estimate was.
    limited = frame.limit(_FEW_ROWS + 1)
    try:
        with jobs.run():
            if not _reads_little(limited):
                return None
            rows = limited.toArrow()
    except StatementError:
        # Of a query that can't be computed Spark tells when it writes, as it does of larger ones.
        jobs.require_running()
        return None
    return rows if rows.num_rows <= _FEW_ROWS else None


def _reads_little(frame: Any) -> bool:
    """Return whether a frame's sources are few and small, by Spark's estimates."""
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    count = leaves.size()
    if count > _SOURCES:
        return False
    sizes = (int(leaves.apply(n).stats().sizeInBytes()) for n in range(count))
    return sum(sizes) <= _LITTLE
