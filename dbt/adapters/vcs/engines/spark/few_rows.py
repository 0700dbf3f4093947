"""Results of few rows: Spark computes them, and this process writes them (decision 54)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from dbt.adapters.vcs.core.model import Field, Schema
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.spark_rows import columns_of_schema
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.engine_errors import CancelledError, StatementError
from dbt.adapters.vcs.engines.port import Column, Destination, Written
from dbt.adapters.vcs.table.files.parquet import arrow_schema, can_write, write_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FEW_ROWS: Final = 10_000

# Bytes that a query may read to be tried here, by Spark's own estimates, and from so many sources.
_LITTLE: Final = 256 * 1024
_SOURCES: Final = 16

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
    types = [column.type for column in columns_of_schema(frame.schema)]
    fields = [Field(id=id, name=id, type=type_) for id, type_ in zip(ids, types, strict=True)]
    schema = Schema(fields=tuple(fields))
    if not (can_write(schema, ()) and all(map(_comes_as_it_is, types))):
        return None
    batches = _few_rows(frame, jobs)
    if batches is None:
        return None
    rows = pa.Table.from_batches(batches) if batches else arrow_schema(schema).empty_table()
    footers = write_table(blobs, rows, folder=destination.folder, schema=schema)
    columns = tuple(Column(name=field.id, type=field.type) for field in fields)
    return Written(columns=columns, files=tuple(sorted(footers)), footers=footers)


def _is_simple(destination: Destination) -> bool:
    """Return whether a write asks for nothing of its files: no places, no options."""
    asked = (destination.partition_by, destination.cluster_by, destination.options)
    return not (any(asked) or destination.by_place)


def _comes_as_it_is(text: str) -> bool:
    """Return whether Arrow has a type's values as a file has them."""
    found = type_of(text)
    return not found.is_nested and found.collation is None and found.kind != "void"


def _few_rows(frame: DataFrame, jobs: StatementJobs) -> list[pa.RecordBatch] | None:
    """Return the rows, None if there are more than few or that can't be told cheaply."""
    conf = frame.sparkSession.conf
    if any(conf.get(key, kept) != kept for key, kept in _OF_FILES.items()):
        return None
    # Spark stops after so many, however wrong the estimate was.
    limited: Any = frame.limit(_FEW_ROWS + 1)
    try:
        with jobs.run():
            if not _reads_little(limited):
                return None
            # As `toArrow`, which asks Java for the frame's schema and settings once more.
            batches: list[pa.RecordBatch] = limited._collect_as_arrow()
    except CancelledError:
        raise
    except StatementError:
        # Of a query that can't be computed Spark tells when it writes, as it does of larger ones.
        return None
    return batches if sum(batch.num_rows for batch in batches) <= _FEW_ROWS else None


def _reads_little(frame: Any) -> bool:
    """Return whether a frame's sources are few and small, by Spark's estimates."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    leaves = [*_items(plan.collectLeaves())]
    # A plan's leaves are without those of the queries in its expressions.
    for query in _items(plan.subqueriesAll()):
        leaves += _items(query.collectLeaves())
    if len(leaves) > _SOURCES:
        return False
    return sum(int(leaf.stats().sizeInBytes()) for leaf in leaves) <= _LITTLE


def _items(found: Any) -> Iterator[Any]:
    """Return the items of a sequence of Scala's."""
    return map(found.apply, range(found.size()))
