"""A DataFrame's rows as Parquet files in a folder of their own, with numbered columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.errors import EngineError, InputError, VcsError
from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN, RESERVED
from dbt.adapters.vcs.core.store.blobs import Blobs, delete_below
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import SHARE
from dbt.adapters.vcs.engines.dataframes.spark_rows import (
    columns_of_schema,
    functions_for,
    observation_for,
    with_metadata,
)
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.port import Destination, Written
from dbt.adapters.vcs.engines.session_settings import COMMIT_PROTOCOL
from dbt.adapters.vcs.table.files.footers import Footer, read_footer
from dbt.adapters.vcs.table.partition_values import (
    NULL_FOLDER,
    check_partition_type,
    copy_of,
    partition_folders,
    refused_text,
)
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.table.types import type_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField

OPTIONS: Final = {
    # Folder names of timestamps are read as UTC whatever the session's time zone.
    "timeZone": "UTC",
    # Keeps bounds and NULL counts of long strings, which the footer would otherwise lack.
    "parquet.statistics.truncate.length": "64",
    # Pages carry checksums, which readers compare with what they find.
    "parquet.page.write-checksum.enabled": "true",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # The files of all tasks appear at the end of the job, or none do. Other committers, and
    # version 2 of this one, expose files of failed tasks.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
}

_COUNT: Final = "counted"

# Over what the session says of files: that is for blocks, whose rows may be split anywhere.
_ONE_FILE_A_TASK: Final = {"maxRecordsPerFile": "0"}

# In files that are read whole a few times, these take longer than they save.
_OF_STAGE: Final = {
    "parquet.enable.dictionary": "false",
    "parquet.column.statistics.enabled": "false",
}

# Most of the time goes into waiting for the store.
_THREADS: Final = 8


def write_frame(
    frame: DataFrame, blobs: Blobs, root: str, destination: Destination, jobs: StatementJobs
) -> Written:
    """Write a DataFrame below `<root>/<folder>` in a running statement.

    `Analysed.write` has the contract.
    """
    functions, observed = functions_for(frame), observation_for(frame)
    folder, ids = destination.folder, destination.ids
    # Decision 2: each write has its own folder, so that whatever is in it belongs to the write.
    if any(True for _ in blobs.walk(folder)):
        raise InputError(f"{folder} holds files already; write to a new folder.")
    names = frame.columns
    if ids is not None:
        frame = frame.toDF(*ids)
    inside = ids or names
    partition_by = [inside[_position(names, name)] for name in destination.partition_by]
    cluster_by = [inside[_position(names, name, "clustering")] for name in destination.cluster_by]
    columns = columns_of_schema(frame.schema)
    # Decision 20: all fields of a file have a number, or none has.
    frame = numbered_frame(frame)
    # Decision 22: partition columns are inside the files, too.
    if partition_by:
        called = [destination.names.get(name, name) for name in destination.partition_by]
        partition_by, frame = _with_copies(frame, partition_by, called)
    frame = _with_ranges(frame, partition_by, cluster_by)
    frame = _by_place(frame, destination.by_place)
    # A statement of the user's may have changed them since the session began.
    _pin_settings(frame)
    # Counted by the writing tasks, whose files may be where nobody else can see them.
    frame = frame.observe(observed, functions.expr(f"count(1) as {_COUNT}"))
    options = {**destination.options, **(_ONE_FILE_A_TASK if destination.by_place else {})}
    if destination.is_stage:
        options |= _OF_STAGE
    writer = frame.write.mode("error").options(**_options(options))
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    try:
        writer.parquet(f"{root}/{folder}")
        footers = _settle(
            blobs, folder, partition_by, rows=observed.get[_COUNT], place=f"{root}/{folder}"
        )
    except BaseException as error:
        # Tasks that still run would write files after these were deleted.
        jobs.wind_down(error)
        discard_files(blobs, folder)
        raise
    return Written(columns=columns, files=tuple(footers), footers=footers)


def _options(options: Mapping[str, str]) -> dict[str, str]:
    # Hadoop's options have names in any case.
    ours = {key.lower() for key in OPTIONS}
    return {**{key: value for key, value in options.items() if key.lower() not in ours}, **OPTIONS}


def _pin_settings(frame: DataFrame) -> None:
    """Set for the session what no writer option sets: the commit protocol, and numbers."""
    conf = frame.sparkSession.conf
    for key, value in (COMMIT_PROTOCOL | NUMBERING).items():
        if conf.get(key, None) != value:
            conf.set(key, value)


def _position(names: Sequence[str], name: str, kind: str = "partition") -> int:
    found = [number for number, known in enumerate(names) if known.lower() == name.lower()]
    if not found:
        raise InputError(
            f"The {kind} column '{name}' is not one of the columns: {', '.join(names)}."
        )
    return found[0]


def _with_ranges(
    frame: DataFrame, partition_by: Sequence[str], cluster_by: Sequence[str]
) -> DataFrame:
    """Return a frame whose files each get their own range of the clustering columns.

    Spark samples the rows for the ranges, and joins ranges until files have a good size.
    Partition columns come first, since the writer would otherwise sort by them again.
    """
    if not cluster_by:
        return frame
    columns = [quoted(name) for name in (*partition_by, *cluster_by)]
    return frame.repartitionByRange(*columns).sortWithinPartitions(*columns)


def _by_place(frame: DataFrame, files: int) -> DataFrame:
    if not files:
        return frame
    # Decision 9: the rows of a block are never split between tombstones.
    return frame.repartitionByRange(files, FILE_COLUMN).sortWithinPartitions(
        FILE_COLUMN, POSITION_COLUMN
    )


def _with_copies(
    frame: DataFrame, partition_by: list[str], names: Sequence[str]
) -> tuple[list[str], DataFrame]:
    """Return the names of copies of the partition columns, and the frame with these.

    `names` are what errors call these columns.

    Spark leaves the columns that it partitions by out of the files. The copies fail for a value
    that a folder name would turn into NULL.
    """
    functions = functions_for(frame)
    types = {field.name: field.dataType for field in frame.schema.fields}
    for inside, name in zip(partition_by, names, strict=True):
        check_partition_type(name, type_text(types[inside]))
    if len(partition_by) == len(types):
        # Spark says in its own words that a column has to be left.
        return partition_by, frame
    copies = []
    for inside, name in zip(partition_by, names, strict=True):
        is_text = type(types[inside]).__name__ == "StringType"
        column = _refusing(functions, inside, name) if is_text else functions.col(quoted(inside))
        copies.append(column.alias(copy_of(inside), metadata={}))
    return [copy_of(inside) for inside in partition_by], frame.select("*", *copies)


def _refusing(functions: Any, inside: str, name: str) -> Column:
    column: Column = functions.col(quoted(inside))
    # Hive, and Spark after it, reads both values back as NULL.
    refused = functions.raise_error(functions.lit(refused_text(name))).cast("string")
    kept: Column = functions.when(column.isin("", NULL_FOLDER), refused).otherwise(column)
    return kept


def discard_files(blobs: Blobs, folder: str) -> None:
    """Delete the files of a failed write or a stage; collection removes any that remain."""
    # Report the error of the write instead.
    with suppress(VcsError):
        delete_below(blobs, folder)
        # A local store also removes the folder, which Spark may have left without a file.
        blobs.delete(f"{folder}/none")


def _settle(
    blobs: Blobs, folder: str, partition_by: Sequence[str], *, rows: int, place: str
) -> Mapping[str, Footer]:
    """Return the footers of the files of a write, sorted by path.

    These files are safe on disk; everything else in the folder is deleted.

    Args:
        folder: `data/<table id>/w=<write id>`.
        partition_by: Names of the columns that give a block its folders.
        rows: How many rows the engine's tasks wrote.
        place: The folder as the engine names it.

    Raises:
        EngineError: The files hold a different number of rows.
        DamagedError: A block is not a Parquet file.
    """
    found = list(blobs.walk(folder))
    blocks = [info for info in found if _is_block(info.path, folder, partition_by)]
    with ThreadPoolExecutor(_THREADS) as pool:
        # What was just written to a disk here is in memory; from a store it would be fetched.
        is_near = place.startswith("file:")
        read = pool.map(
            lambda info: read_footer(blobs, info.path, info.bytes, with_whole=is_near), blocks
        )
        footers = {info.path: footer for info, footer in zip(blocks, read, strict=True)}
        # Spark writes a file without rows for the schema of an empty result.
        kept = {path: footers[path] for path in sorted(footers) if footers[path].rows}
        _check_rows(kept, rows, place)
        list(pool.map(blobs.delete, [info.path for info in found if info.path not in kept]))
    # Before a manifest names them.
    blobs.sync(tuple(kept))
    return kept


def _is_block(path: str, folder: str, partition_by: Sequence[str]) -> bool:
    """Return whether a path is a block's: below the partition folders and no others.

    Committers and Spark keep other files and folders under names that begin with `_` or `.`,
    and a failed task may leave some.
    """
    write, folders = partition_folders(path)
    return (
        write == folder
        and [name for name, _ in folders] == list(partition_by)
        and not path.rpartition("/")[2].startswith(("_", "."))
    )


def _check_rows(files: Mapping[str, Footer], rows: int, place: str) -> None:
    # A task that writes where nobody else looks ends without an error.
    held = sum(footer.rows for footer in files.values())
    if held == rows:
        return
    if held < rows:
        why = SHARE
    else:
        why = (
            "Something else wrote to this folder, or a failed task left files there. Run the "
            "statement again; it writes to a new folder."
        )
    raise EngineError(
        f"Spark wrote {rows} rows to {place}, but {held} rows are there, in {len(files)} files. "
        f"Nothing was changed. {why}"
    )


NUMBERING: Final = {"spark.sql.parquet.fieldId.write.enabled": "true"}
"""The setting with which Spark writes the numbers of a frame's columns."""

# Metadata of a column that Spark stores as the id of the field.
_KEY: Final = "parquet.field.id"


def numbered_frame(frame: DataFrame) -> DataFrame:
    """Return a frame whose columns, named by field id, have their numbers for a Parquet file.

    Either all fields have one or none has: a reader that takes columns by number finds NULL where
    a field has none. Spark can't number the elements of arrays and maps, so a frame with any gets
    no numbers, nor does one with two equal numbers. Our own columns, such as the places of
    deleted rows, stay without.
    """
    fields = frame.schema.fields
    if len({field.name.lower() for field in fields}) < len(fields):
        # Spark says so in its own words when it writes.
        return frame
    numbers: list[int] = []
    new = [_with_numbers(field, (field.name,), numbers) for field in fields]
    can_number = len(set(numbers)) == len(numbers) and not any(
        _holds_elements(field.dataType) for field in fields if not field.name.startswith(RESERVED)
    )
    if not can_number:
        new = list(map(_plain, fields))
    if new == fields:
        return frame
    return frame.select([_column(frame, *pair) for pair in zip(fields, new, strict=True)])


def _column(frame: DataFrame, old: StructField, new: StructField) -> Column:
    column: Column = frame[quoted(old.name)]
    if old.dataType != new.dataType:
        # Only names and types of values are compared when the cast is carried out: it is free.
        column = column.cast(new.dataType)
    return column if old == new else with_metadata(column, new.name, new.metadata)


def _with_numbers(field: StructField, path: tuple[str, ...], numbers: list[int]) -> StructField:
    """Return a field with numbers, which are added to a list."""
    if path[0].startswith(RESERVED):
        return _plain(field)
    number = field_number(*path)
    numbers.append(number)
    inner: Any = field.dataType
    if _is_struct(inner):
        parts = [_with_numbers(part, (*path, part.name), numbers) for part in inner]
        inner = type(inner)(parts)
    return _field_with(field, inner, {**field.metadata, _KEY: number})


def _plain(field: StructField) -> StructField:
    """Return a field without numbers."""
    metadata = {key: value for key, value in field.metadata.items() if key != _KEY}
    return _field_with(field, _plain_type(field.dataType), metadata)


# Types are made by their own classes: to import these would be to load PySpark before it is used.
def _plain_type(type_: Any) -> DataType:
    kind, plain = type_.typeName(), type(type_)
    if kind == "struct":
        type_ = plain(list(map(_plain, type_)))
    elif kind == "array":
        type_ = plain(_plain_type(type_.elementType), type_.containsNull)
    elif kind == "map":
        key, value = _plain_type(type_.keyType), _plain_type(type_.valueType)
        type_ = plain(key, value, type_.valueContainsNull)
    kept: DataType = type_
    return kept


def _holds_elements(type_: Any) -> bool:
    if _is_struct(type_):
        return any(_holds_elements(part.dataType) for part in type_)
    return type_.typeName() in ("array", "map")


def _is_struct(type_: Any) -> bool:
    return bool(type_.typeName() == "struct")


def _field_with(field: StructField, type_: DataType, metadata: dict[str, Any]) -> StructField:
    return type(field)(field.name, type_, field.nullable, metadata)
