"""Seeds: checks of a CSV file, and its rows as Arrow; an unchanged seed changes nothing."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.changes.writes.append import append_arrow, append_query
from dbt.adapters.vcs.core.errors import EngineError, InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, Origin, RelationName, Schema, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.origins.results import RowCounts
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.table.quoting import quoted, sql_type
from dbt.adapters.vcs.table.types import arrow_type
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope

if TYPE_CHECKING:
    import agate


# The module keeps the limit in C's long, which has 32 bits on Windows.
_LONGEST_VALUE: Final = 2**31 - 1
_MOUNTED: Final = "__vcs_seed"


def allow_long_values() -> None:
    """Allow values of any length in seeds: dbt reads them with Python's csv module.

    The module's limit of 128 KiB applies to the whole process; a larger one is kept.
    """
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_VALUE))


def check_seed_file(path: Path, delimiter: str) -> str | None:
    """Check the header of a seed's file, for which dbt has no clear messages.

    Returns:
        A warning if dbt renames the second of two equal columns, else None.

    Raises:
        InputError: There is no header, or two columns differ only in case.
    """
    if len(delimiter) != 1 or not path.is_file():
        return None  # dbt says what is wrong.
    # Excel writes a byte order mark, which is no part of the first name.
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        header = next(csv.reader(lines, delimiter=delimiter), None)
    if not header:
        raise InputError(
            f"{path.name} has no header: its first line is empty. Write the names of the columns "
            "there, or delete the file."
        )
    known: dict[str, str] = {}
    for name in dict.fromkeys(filter(None, header)):
        first = known.setdefault(name.lower(), name)
        if first != name:
            raise InputError(
                f"The header of {path.name} has the columns {first} and {name}, which are one "
                f"name to Spark: {delimiter.join(header)}. Rename one of them."
            )
    doubled = sorted({name for name in header if name and header.count(name) > 1})
    if not doubled:
        return None
    return (
        f"The header of {path.name} has columns twice: {', '.join(doubled)}. dbt calls the second "
        f"{doubled[0]}_2. Rename it in the file to choose its name."
    )


def load_seed(
    connection: Connection,
    overlay: Overlay,
    origin: Origin,
    name: RelationName,
    table: agate.Table,
    *,
    time_zone: str,
    reuse: Reuse | None = None,
) -> Outcome:
    """Write a seed's rows into its table, which dbt just created empty.

    The rows' digest is stored as the snapshot's `sql_sha256`. If the table that the seed replaces
    has the same columns and digest, it is kept, with the column comments that dbt adds after
    loading a seed. Rows that were loaded before, on any branch, are not written again.

    Raises:
        InputError: A value doesn't fit its column's type.
        UnsupportedError: It is partitioned by a column of a type that only Spark writes.
    """
    snapshot = overlay.require_table(name)
    rows = seed_rows(table, snapshot.schema, time_zone)
    texts = [
        field
        for field in snapshot.schema.fields
        if rows.schema.field(field.name).type == pa.string() and not type_of(field.type).is_text
    ]
    # What Arrow read is in the rows. What Spark is to read depends on the session's zone, too.
    digest = _digest(rows, time_zone if texts else "")
    before = overlay.before(name)
    # dbt has put an empty table in its place. What was there comes back if nothing differs.
    if isinstance(before, TableEntry):
        old = overlay.snapshot(before.snapshot)
        same_table = _definition(old) == _definition(snapshot)
        same_rows = old.origin.sql_sha256 == digest if rows.num_rows else not old.segments
        if same_table and same_rows:
            overlay.put(name, before)
            return Outcome(affected=0, counts=RowCounts())
    origin = msgspec.structs.replace(origin, sql_sha256=digest)
    scope = connection.scope("", overlay, origin)
    reusing = connection.reusing(reuse)

    def written() -> Outcome:
        return _cast(scope, name, rows, texts) if texts else append_arrow(scope, name, rows)

    return written() if reusing is None else reusing.made(scope, name, ("seed", digest), written)


def _cast(scope: Scope, name: RelationName, rows: pa.Table, texts: list[Field]) -> Outcome:
    """Write rows of which Spark casts some columns from text, as it does for dbt-spark."""
    view = scope.session.mount_arrow(_MOUNTED, rows)
    sql = {field.name: f"cast({quoted(field.name)} as {sql_type(field.type)})" for field in texts}
    for field in texts:
        # Without ANSI mode, `cast` turns what it can't read into NULL.
        lost = f"min(if({sql[field.name]} is null, {quoted(field.name)}, null))"
        try:
            ((value,),) = scope.session.query(f"select {lost} from {view}").fetch()
        except EngineError as error:
            raise misfit(field, str(error)) from error
        if value is not None:
            raise misfit(field, f"'{value}'")
    columns = (f"{sql.get(n, quoted(n))} as {quoted(n)}" for n in rows.column_names)
    return append_query(scope, name, f"select {', '.join(columns)} from {view}")


def _definition(snapshot: Snapshot) -> tuple[Any, ...]:
    # dbt adds the comments of columns after it has loaded a seed.
    fields = [msgspec.structs.replace(field, comment=None) for field in snapshot.schema.fields]
    return fields, snapshot.comment, snapshot.properties, snapshot.partition_by


def _digest(rows: pa.Table, zone: str) -> str:
    """Return the digest of a seed's rows; `zone` is that of texts that become times."""
    sink = pa.BufferOutputStream()
    sink.write(zone.encode())
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        # How rows are parted into chunks would show in the bytes.
        stream.write_table(rows.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


# A timestamp with a time zone, as Arrow reads it.
_ZONED: Final = r":\d\d\S*(Z|[+-]\d\d(:?\d\d)?)$"

# What Spark ignores when it reads a date.
_TIME_OF_DAY: Final = r"^(\S+?)[ T].*$"

_LENGTH: Final = re.compile(r"(?:var)?char\((\d+)\)")


def seed_rows(table: agate.Table, schema: Schema, time_zone: str) -> pa.Table:
    """Return a seed's rows with the columns and types of its table, in the seed's order.

    Text with another column type (`column_types`) is cast by Arrow where Arrow reads it as Spark
    does: a date's time of day is dropped, and timestamps without a zone are in `time_zone`. A
    column with a text that Arrow doesn't read stays text, for Spark to cast.

    Raises:
        InputError: A value doesn't fit its column's type.
    """
    arrays = []
    names = []
    for name in table.column_names:
        field = schema.field(name)
        values = list(table.columns[name].values())
        arrays.append(_array(values, field, time_zone))
        names.append(field.name)
    return pa.table(arrays, names=names)


def _array(values: Sequence[Any], field: Field, time_zone: str) -> pa.Array:
    is_text = any(isinstance(value, str) for value in values)
    if is_text and not type_of(field.type).is_text:
        texts = pa.array(values, pa.string())
        # Spark reads many more spellings than Arrow: 12.0 as an int, Y, 2026-1-5, Europe/Berlin.
        try:
            return _of_text(texts, arrow_type(field.type), time_zone)
        except (pa.ArrowException, ValueError, UnsupportedError):
            return texts
    try:
        return _of_values(values, field, time_zone)
    except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
        raise misfit(field, str(error)) from error


def _of_values(values: Sequence[Any], field: Field, time_zone: str) -> pa.Array:
    type = arrow_type(field.type)
    if pa.types.is_string(type):
        texts = pa.array([None if v is None else str(v) for v in values], type)
        return _of_length(texts, field)
    if pa.types.is_floating(type):
        return pa.array([None if v is None else float(v) for v in values], type)
    if pa.types.is_integer(type):
        return pa.array([None if v is None else _whole(v, type) for v in values], type)
    if pa.types.is_timestamp(type):
        return _of_times(values, type, time_zone)
    return pa.array(values).cast(type)


def misfit(field: Field, found: str) -> InputError:
    """Return the error for a column with a value that isn't one of its type."""
    return InputError(
        f"The column {field.name} of the seed has a value that is not a valid {field.type}: "
        f"{found}. Fix the file, or give the column another type: column_types in the seed's "
        "config."
    )


def _whole(value: Any, type: pa.DataType) -> int:
    # Values are decimals here, and a float would lose digits of a bigint.
    number = int(value)
    if number != value:
        raise ValueError(f"{value} is not a whole number")
    if number.bit_length() >= type.bit_width and number != -(2 ** (type.bit_width - 1)):
        raise ValueError(f"{value} is too large")
    return number


def _of_times(values: Sequence[Any], type: pa.DataType, time_zone: str) -> pa.Array:
    is_zoned = [isinstance(value, datetime) and value.tzinfo is not None for value in values]
    if not any(is_zoned):
        return _zoned(pa.array(values, pa.timestamp("us")), type, time_zone).cast(type)
    pairs = list(zip(values, is_zoned, strict=True))
    zoned = pa.array([v if z else None for v, z in pairs], pa.timestamp("us", "UTC"))
    plain = pa.array([None if z else v for v, z in pairs], pa.timestamp("us"))
    if type.tz is None:
        raise ValueError(f"{next(v for v, z in pairs if z)} has a time zone")
    return pc.coalesce(zoned, _zoned(plain, type, time_zone).cast(zoned.type)).cast(type)


def _of_text(array: pa.Array, type: pa.DataType, time_zone: str) -> pa.Array:
    if pa.types.is_binary(type):
        return array.cast(type)
    # Spark's casts ignore white space around a value.
    trimmed = pc.utf8_trim_whitespace(array)
    if pa.types.is_date(type):
        return pc.replace_substring_regex(trimmed, _TIME_OF_DAY, r"\1").cast(type)
    if not pa.types.is_timestamp(type) or type.tz is None:
        return trimmed.cast(type)
    is_zoned = pc.match_substring_regex(trimmed, _ZONED)
    nothing = pa.scalar(None, pa.string())
    zoned = pc.if_else(is_zoned, trimmed, nothing).cast(pa.timestamp("us", "UTC"))
    plain = pc.if_else(is_zoned, nothing, trimmed).cast(pa.timestamp("us"))
    return pc.coalesce(zoned, _zoned(plain, type, time_zone).cast(zoned.type)).cast(type)


def _of_length(array: pa.Array, field: Field) -> pa.Array:
    """Return text of a `varchar(n)` or `char(n)` column, which is plain text in Arrow."""
    match = _LENGTH.fullmatch(field.type)
    longest = pc.max(pc.utf8_length(array)).as_py()
    if match is not None and longest is not None and longest > int(match[1]):
        raise ValueError(f"a value has {longest} characters")
    return array


def _zoned(array: pa.Array, type: pa.DataType, time_zone: str) -> pa.Array:
    """Add the session's zone to timestamps without one, if the column's type has a zone."""
    if type.tz is None:
        return array
    # If the clock shows an hour twice, use the first one, as Spark does.
    return pc.assume_timezone(array, time_zone, ambiguous="earliest")
