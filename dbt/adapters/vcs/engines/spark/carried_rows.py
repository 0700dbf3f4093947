"""Rows of this process, made readable in a session: many of them as files that Spark scans."""

from __future__ import annotations

import re
import uuid
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.engines.port import TableParts, whole_table
from dbt.adapters.vcs.engines.session_settings import is_local

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

# Up to this many rows Spark has them sooner in memory than from a file.
_FEW: Final = 5_000

# Rows that one task reads at least; a file is divided among tasks.
_ROW_GROUP: Final = 100_000

_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9/_.-]+")
_OPTIONS: Final = {
    "mergeSchema": "false",
    "ignoreMissingFiles": "false",
    # The session may read files of old versions of Spark, which counted days otherwise.
    "datetimeRebaseMode": "CORRECTED",
}
# Types whose values Spark reads from a file as it takes them from Arrow.
_SAME: Final[tuple[Callable[[pa.DataType], bool], ...]] = (
    pa.types.is_boolean,
    pa.types.is_signed_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_decimal128,
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_date32,
    pa.types.is_timestamp,
)


class CarriedRows:
    """The temporary views of a session that have rows of this process.

    A file is deleted once no view has it and no query that read it can run again. It lies in the
    temporary folder of Spark's process, which deletes what is left when it ends, also after this
    process was killed.
    """

    def __init__(self, spark: SparkSession, *, outlived: bool) -> None:
        """Take a session.

        Args:
            outlived: True if the session goes on after this object, with its views.
        """
        self._spark = spark
        self._outlived = outlived
        self._files: dict[str, CarriedFile] = {}

    def show(self, name: str, rows: pa.Table | TableParts, *, lasting: bool) -> None:
        """Make rows readable as a temporary view, replacing what had its name.

        Args:
            name: An identifier.
            rows: The rows; parts are requested one at a time where there are many rows.
            lasting: True if other views may read it for as long as the session lives.
        """
        from pyspark.sql.pandas.types import from_arrow_schema

        # Without it Spark reads timestamp_ntz as timestamp.
        schema = from_arrow_schema(rows.schema, prefer_timestamp_ntz=True)
        file = self._written(rows)
        if file is None:
            self._spark.createDataFrame(whole_table(rows), schema).createOrReplaceTempView(name)
            # The view of that name no longer reads its file.
            self._files.pop(name, None)
            return
        self._scan(file, schema).createOrReplaceTempView(name)
        # The owner of an adopted session may read a view after the connection is closed.
        if lasting and self._outlived:
            file.leave()
        self._files[name] = file

    def files(self) -> tuple[CarriedFile, ...]:
        """Return the files that a query of this moment may read; they stay as long as these do."""
        return tuple(self._files.values())

    def close(self) -> None:
        """Give up the files of all views."""
        self._files.clear()

    def _written(self, rows: pa.Table | TableParts) -> CarriedFile | None:
        """Write rows to a file; None if Spark should have them in memory."""
        folder = _folder(self._spark.sparkContext)
        count = rows.num_rows if isinstance(rows, pa.Table) else rows.count
        if count <= _FEW or folder is None or not all(map(_is_same, rows.schema.types)):
            return None
        file = CarriedFile(folder / f"rows-{uuid.uuid4().hex}.parquet")
        _write(file.path, rows)
        return file

    def _scan(self, file: CarriedFile, schema: Any) -> DataFrame:
        from pyspark.sql.types import StructField, StructType

        # Numbered in the file, where names could not repeat or differ only in case.
        names = schema.names
        numbered = [
            StructField(_column_name(n), field.dataType) for n, field in enumerate(schema.fields)
        ]
        reader = self._spark.read.schema(StructType(numbered)).options(**_OPTIONS)
        return reader.parquet(f"file:{file.path}").toDF(*names)


class CarriedFile:
    """A file that is deleted with this object."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._deleting = weakref.finalize(self, path.unlink, missing_ok=True)

    def leave(self) -> None:
        """Leave the file to Spark's process, which deletes it when it ends."""
        self._deleting.detach()


def _folder(context: SparkContext) -> Path | None:
    """Return the temporary folder of Spark's process; None if its tasks may be elsewhere."""
    known: Any = context
    if not is_local(context.master or "") or known._encryption_enabled:
        return None
    folder = known._temp_dir
    # Spark takes a path for a pattern.
    return Path(folder) if _PLAIN_PATH.fullmatch(folder) else None


def _is_same(type_: pa.DataType) -> bool:
    if type_.num_fields:
        return all(_is_same(type_.field(n).type) for n in range(type_.num_fields))
    return any(is_one(type_) for is_one in _SAME)


def _write(path: Path, rows: pa.Table | TableParts) -> None:
    names = [_column_name(n) for n in range(len(rows.schema))]
    schema = pa.schema([pa.field(n, f.type) for n, f in zip(names, rows.schema, strict=True)])
    with pq.ParquetWriter(
        path,
        schema,
        # Read once, from memory most likely.
        compression="none",
        # Of the other columns, a dictionary costs more than it saves in a file that is read once.
        use_dictionary=[_column_name(0)] if pa.types.is_string(schema.types[0]) else False,
        # Spark would not read it, and columns are read by the view's own types.
        store_schema=False,
        coerce_timestamps="us",
        # As Spark writes them: it reads those without going through bytes.
        store_decimal_as_integer=True,
    ) as writer:
        for part in [rows] if isinstance(rows, pa.Table) else rows.parts():
            columns = part.rename_columns(names).cast(schema)
            writer.write_table(columns, row_group_size=_ROW_GROUP)


def _column_name(number: int) -> str:
    return f"c{number}"
