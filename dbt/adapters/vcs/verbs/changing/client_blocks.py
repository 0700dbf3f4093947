"""Client blocks: Parquet files that another engine wrote, checked and described as ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field, Schema, Snapshot
from dbt.adapters.vcs.core.model.field_number import field_number
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.client_manifests import holds_client_rows
from dbt.adapters.vcs.rows.files.block_reader import Files
from dbt.adapters.vcs.rows.files.footers import Footer, read_blocks, read_footer
from dbt.adapters.vcs.rows.partition_values import is_spelled, partition_text
from dbt.adapters.vcs.rows.types import arrow_type

_NUMBER: Final = b"PARQUET:field_id"


def client_blocks(
    repository: Repository, version: Snapshot, paths: Sequence[str]
) -> tuple[Block, ...]:
    """Return new files of a client as blocks, where they lie. Each footer is read.

    Args:
        repository: The repository.
        version: The table as the files are to fit it.
        paths: The files, relative to the repository.

    Raises:
        InputError: A file isn't there, is no Parquet file, lies outside of the folders that the
            table's clients were given, or has other columns than the table.
        UnsupportedError: The table can't take files of clients.
    """
    if not paths:
        return ()
    _check_table(version)
    for path in paths:
        if not holds_client_rows(path, version.table):
            raise InputError(
                f"{path} is outside of the folders that the table's clients were given. Nothing "
                "was changed. Write it to the table's property write.data.path; load the table "
                "again to see it."
            )
    footers: dict[str, Footer | None] = {}
    for path in paths:
        footer = _footer(repository, path)
        _check_columns(path, footer.metadata.schema.to_arrow_schema(), version.schema)
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
        if field.id in version.partition_by and not is_spelled(field.type):
            raise UnsupportedError(
                f"The table is partitioned by {field.name}, and only Spark knows how values of "
                f"type {field.type} are called. Write its rows with dbt or with `dbt-vcs sql`."
            )
        if "char(" in field.type:
            raise UnsupportedError(
                f"The column {field.name} is {field.type}, whose length clients don't check. "
                "Write the table's rows with dbt or with `dbt-vcs sql`, or make it a string."
            )


def _partition(repository: Repository, path: str, version: Snapshot) -> dict[str, str | None]:
    """Return the partition of a file's rows, by its own columns, whatever its manifest says."""
    if not version.partition_by:
        return {}
    fields = [field for field in version.schema.fields if field.id in version.partition_by]
    table = Files(repository.blobs).columns(path, fields)
    found: dict[str, str | None] = {}
    for field in fields:
        values = table.column(field.id).unique().to_pylist()
        if len(values) != 1:
            raise InputError(
                f"{path} has rows of {len(values)} partitions: {field.name} has several values. "
                "Nothing was changed; write a file for each partition."
            )
        found[field.id] = partition_text(field.name, values[0])
    return {id: found[id] for id in version.partition_by}


def _check_columns(path: str, found: pa.Schema, schema: Schema) -> None:
    """Refuse a file that readers, who find columns by their ids, would read otherwise."""
    columns = {column.name: column for column in found}
    if len(columns) < len(found.names):
        raise InputError(f"{path} has several columns of one name. Nothing was changed.")
    for field in schema.fields:
        column = columns.pop(field.id, None)
        if column is None:
            _refuse_missing(path, field)
        _check_column(path, column, field)
    if columns:
        raise InputError(
            f"{path} has columns that the table lacks: {', '.join(columns)}. Nothing was changed; "
            "load the table again."
        )


def _refuse_missing(path: str, field: Field) -> None:
    if field.id != field.name:
        raise UnsupportedError(
            f"The column {field.name} was renamed: it is {field.id} in the table's files, and "
            f"{path} has no such column. Write the rows with dbt or with `dbt-vcs sql`, or "
            "rebuild the table, which gives it new columns."
        )
    raise InputError(
        f"{path} lacks the column {field.name}. Nothing was changed; load the table again, and "
        "write all its columns."
    )


def _check_column(path: str, column: Any, field: Field) -> None:
    number = number_of(column)
    if number is not None and number != field_number(field.id):
        raise InputError(
            f"The column {field.name} of {path} has the field id {number}; expected "
            f"{field_number(field.id)}. Nothing was changed; load the table again."
        )
    check_type(path, column, field)


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
