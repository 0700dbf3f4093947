"""Client blocks: Parquet files that another engine wrote, checked and described as ours.

A file becomes a block where it lies. But columns are found in files by their ids, which are their
first names, and texts of char(n) are padded. So a file with the new name of a renamed column, or
with texts of a limited length, is written again beside the client's, with the same rows in the
same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field, Schema, Snapshot
from dbt.adapters.vcs.core.model.field_number import field_number
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.rows.files.block_reader import Files
from dbt.adapters.vcs.rows.files.footers import Footer, read_blocks, read_footer
from dbt.adapters.vcs.rows.files.parquet import parquet_bytes
from dbt.adapters.vcs.rows.fitted_rows import limited
from dbt.adapters.vcs.rows.partition_values import is_told, partition_text
from dbt.adapters.vcs.rows.types import arrow_type

_NUMBER: Final = b"PARQUET:field_id"
_NO_NUMBERS: Final[Mapping[str, int]] = {}
_LINEAGE: Final = frozenset({2147483540, 2147483539})
"""Iceberg's numbers of `_row_id` and `_last_updated_sequence_number`, which its writers put into
files of format version 3. They stay in the file for readers that know them, and are no columns."""

_FITTED: Final = "-fitted.parquet"
"""What the path of a block ends with that was made from a client's file."""


def client_blocks(
    repository: Repository,
    version: Snapshot,
    paths: Sequence[str],
    folder: str,
    numbers: Mapping[str, int] = _NO_NUMBERS,
) -> tuple[Block, ...]:
    """Return new files of a client as blocks. Each footer is read.

    Args:
        repository: The repository.
        version: The table as the files are to fit it.
        paths: The files, relative to the repository.
        folder: The folder that the client was given.
        numbers: The files' numbers of columns that have others in the table, by field id.

    Returns:
        A block for each file with rows; `client_path` gives the client's file of each.

    Raises:
        InputError: A file isn't there, is no Parquet file, lies outside of the folder, has other
            columns than the table, or longer texts.
        UnsupportedError: The table can't take files of clients.
    """
    if not paths:
        return ()
    _check_table(version)
    for path in paths:
        if not path.startswith(f"{folder}/"):
            raise InputError(
                f"{path} is outside of the folder that the branch's clients were given. Nothing "
                "was changed. Write it to the table's property write.data.path; load the table "
                "again to see it."
            )
    footers: dict[str, Footer | None] = {}
    for path in paths:
        footer = _footer(repository, path)
        found = footer.metadata.schema.to_arrow_schema()
        names = _columns(path, found, version.schema, numbers)
        if footer.rows and (numbers or _differs(names, version.schema)):
            path = _fitted(repository, path, names, version)
            footer = _footer(repository, path)
        footers[path] = footer
    partitions = {
        path: _partition(repository, path, version)
        for path, footer in footers.items()
        if footer is not None and footer.rows
    }
    by = version.partition_by
    return read_blocks(repository.blobs, list(partitions), version.schema, by, footers, partitions)


def _footer(repository: Repository, path: str) -> Footer:
    try:
        return read_footer(repository.blobs, path)
    except (NotFoundError, DamagedError) as error:
        raise InputError(f"Nothing was changed: {error}") from error


def _check_table(version: Snapshot) -> None:
    for field in version.schema.fields:
        if field.id in version.partition_by and not is_told(field.type):
            raise UnsupportedError(
                f"The table is partitioned by {field.name}, and only Spark knows how values of "
                f"type {field.type} are called. Write its rows with dbt or with `dbt-vcs sql`."
            )


def client_path(path: str) -> str:
    """Return the client's file of a block: the block itself, or what it was made from."""
    return path.removesuffix(_FITTED)


def _differs(names: Mapping[str, str], schema: Schema) -> bool:
    """Return whether readers would find other columns in a file, or texts that don't fit."""
    return any(names[field.id] != field.id or "char(" in field.type for field in schema.fields)


def _fitted(repository: Repository, path: str, names: Mapping[str, str], version: Snapshot) -> str:
    """Write a file again with its columns named by id and its texts fitted; return its path.

    A commit that arrives again writes the same file.
    """
    blobs, fields = repository.blobs, version.schema.fields
    stored = pq.ParquetFile(pa.BufferReader(blobs.get(path)))
    table = stored.read().select([names[field.id] for field in fields])
    columns = [
        limited(path, column.cast(arrow_type(field.type)), field)
        for column, field in zip(table.columns, fields, strict=True)
    ]
    made = pa.table(columns, names=[field.id for field in fields])
    fitted = f"{path}{_FITTED}"
    data = parquet_bytes(made, path)
    if not blobs.create(fitted, data) and blobs.get(fitted) != data:
        raise InputError(f"{fitted} is there, and is not what {path} has. Write another file.")
    return fitted


def _partition(repository: Repository, path: str, version: Snapshot) -> dict[str, str | None]:
    """Return the partition of a file's rows, by its own columns, whatever its manifest says."""
    if not version.partition_by:
        return {}
    fields = [field for field in version.schema.fields if field.id in version.partition_by]
    table = Files(repository.blobs).columns(path, fields)
    found: dict[str, str | None] = {}
    for field in fields:
        values = _distinct(path, table.column(field.id), field)
        if len(values) != 1:
            raise InputError(
                f"{path} has rows of {len(values)} partitions: {field.name} has several values. "
                "Nothing was changed; write a file for each partition."
            )
        found[field.id] = partition_text(field.name, values[0])
    return {id: found[id] for id in version.partition_by}


def _distinct(path: str, column: pa.ChunkedArray, field: Field) -> list[Any]:
    """Return the different values of a column.

    Raises:
        InputError: Python can't hold one: the years 1 to 9999 have a text.
    """
    try:
        found: list[Any] = column.unique().to_pylist()
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{path} has a partition of {field.name} that can't be read ({error}). Nothing was "
            "changed; write such rows with dbt or with `dbt-vcs sql`."
        ) from error
    return found


def _columns(
    path: str, found: pa.Schema, schema: Schema, numbers: Mapping[str, int]
) -> dict[str, str]:
    """Return a file's names of the table's columns, by field id.

    Columns with numbers are found by these; a column without is found by its name.

    Raises:
        InputError: A column is missing, is there twice, has another type or isn't the table's.
    """
    if len(set(found.names)) < len(found.names):
        raise InputError(f"{path} has several columns of one name. Nothing was changed.")
    columns = [column for column in found if number_of(column) not in _LINEAGE]
    by_number = {number_of(column): column for column in columns}
    by_name = {column.name: column for column in columns}
    names: dict[str, str] = {}
    for field in schema.fields:
        wanted = numbers.get(field.id, field_number(field.id))
        column = by_number.get(wanted) or by_name.get(field.name)
        if column is None:
            raise InputError(
                f"{path} lacks the column {field.name}. Nothing was changed; load the table "
                "again, and write all its columns."
            )
        number = number_of(column)
        if number is not None and number != wanted:
            raise InputError(
                f"The column {field.name} of {path} has the field id {number}; expected "
                f"{wanted}. Nothing was changed; load the table again."
            )
        check_type(path, column, field)
        names[field.id] = column.name
    more = by_name.keys() - set(names.values())
    if more:
        raise InputError(
            f"{path} has columns that the table lacks: {', '.join(sorted(more))}. Nothing was "
            "changed; load the table again."
        )
    return names


def number_of(column: Any) -> int | None:
    """Return the number that a Parquet file gives a column, or None."""
    number = (column.metadata or {}).get(_NUMBER)
    return None if number is None else int(number)


def check_type(path: str, column: Any, field: Field) -> None:
    """Check that a column of a client's file has the type of the table's.

    Raises:
        InputError: It has another one.
    """
    if _plain(column.type) != _plain(arrow_type(field.type)):
        raise InputError(
            f"The column {field.name} of {path} is {column.type}; expected {field.type}. Nothing "
            "was changed; load the table again, and write that type."
        )


def _plain(type_: Any) -> pa.DataType:
    """Return a type without what makes no difference to its values."""
    if pa.types.is_large_string(type_):
        return pa.string()
    if pa.types.is_large_binary(type_):
        return pa.binary()
    if pa.types.is_map(type_):
        return pa.map_(_plain(type_.key_type), _plain(type_.item_type))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(pa.field("element", _plain(type_.value_type)))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(part.name, _plain(part.type)) for part in type_])
    return type_
