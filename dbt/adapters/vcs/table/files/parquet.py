"""Parquet files of the repository, written from Arrow without Spark: blocks and tombstones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import Schema, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN, RESERVED
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.files.footers import Footer, write_file
from dbt.adapters.vcs.table.partition_values import is_spelled, partition_folder
from dbt.adapters.vcs.table.python_values import python_values
from dbt.adapters.vcs.table.types import arrow_type

_ROW_GROUP: Final = 1_000_000
_MIN_ROW_GROUP: Final = 16_384
"""Rows of a row group, but for the last."""

# In a file of many rows. Changed rows are in the order of the table: bounds tell groups apart.
_ROW_GROUPS: Final = 8

_TOMBSTONE_ROW_GROUP: Final = 100_000

_MAX_ROWS: Final = 1_000_000
# In memory; a file on disk is smaller as a rule.
_MAX_BYTES: Final = 256 * 1024 * 1024


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return a table's columns as Arrow's, named by field id.

    Raises:
        UnsupportedError: Arrow lacks one of the types (intervals, VARIANT).
    """
    return pa.schema(
        [pa.field(field.id, arrow_type(field.type), field.nullable) for field in schema.fields]
    )


def write_table(
    blobs: Blobs,
    table: pa.Table,
    *,
    folder: str,
    schema: Schema,
    max_rows_per_file: int = _MAX_ROWS,
) -> dict[str, Footer]:
    """Write the rows of an Arrow table, as Spark would write them.

    Args:
        blobs: The store to write to.
        table: Columns in the order of the schema, whatever their names; cast without loss.
        folder: `data/<table id>/w=<write id>`, new.
        schema: The table's columns.
        max_rows_per_file: Rows after which to start another file.

    Returns:
        Footers of the files by path, relative to the repository; empty if there are no rows.

    Raises:
        InputError: The columns don't fit the schema, or the folder is not new.
    """
    wanted = arrow_schema(schema)
    write = folder.rpartition("=")[2]
    if table.num_columns != len(wanted):
        raise InputError(
            f"The table has {len(wanted)} columns ({', '.join(schema.names)}); "
            f"{table.num_columns} were given."
        )
    table = _cast(table, wanted)
    files: dict[str, Footer] = {}
    for number, start in enumerate(range(0, table.num_rows, max_rows_per_file)):
        path = f"{folder}/part-{number:05}-{write}.parquet"
        data = parquet_bytes(table.slice(start, max_rows_per_file), folder)
        files[path] = write_file(blobs, path, data)
    return files


def _cast(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    columns = []
    for field, column in zip(wanted, table.columns, strict=True):
        try:
            columns.append(column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"The values of column '{field.name}' don't fit its type ({error}). "
                "Give the column another type, or mend the values."
            ) from error
    # NOT NULL is checked by the counts in the footer, which Arrow would refuse to write.
    return pa.table(columns, schema=pa.schema([field.with_nullable(True) for field in wanted]))


def can_write(schema: Schema, partition_by: Sequence[str]) -> bool:
    """Return whether Arrow has the table's types and its partition folders can be named here."""
    try:
        arrow_schema(schema)
    except UnsupportedError:
        return False
    fields = {field.id: field.type for field in schema.fields}
    return all(is_spelled(fields[id]) for id in partition_by)


def write_rows(
    blobs: Blobs,
    rows: pa.Table,
    *,
    folder: str,
    partition_by: Sequence[str] = (),
    names: Mapping[str, str] = MappingProxyType({}),
    first: int = 0,
) -> dict[str, Footer]:
    """Write rows as blocks of a table, as Spark would.

    Args:
        blobs: The store to write to.
        rows: The table's columns, named by field id, in the types of `arrow_schema`.
        folder: `data/<table id>/w=<write id>`, new but for files of a lower number.
        partition_by: Field ids of the partition columns, outermost first; see `can_write`.
        names: What errors call columns, by field id; those that are left out by their id.
        first: The number of the first file: how many there are in the folder.

    Returns:
        Footers of the files by path, relative to the repository; empty if there are no rows.

    Raises:
        InputError: A folder's name can't hold a partition value, or the folder is not new.
    """
    write = folder.rpartition("=")[2]
    files: dict[str, Footer] = {}
    for inside, part in _partitions(rows, partition_by, names):
        for piece in _pieces(part):
            path = f"{folder}/{inside}part-{first + len(files):05}-{write}.parquet"
            row_group = max(_MIN_ROW_GROUP, -(-len(piece) // _ROW_GROUPS))
            data = parquet_bytes(piece, folder, row_group=row_group)
            files[path] = write_file(blobs, path, data)
    return files


def _partitions(
    rows: pa.Table, by: Sequence[str], names: Mapping[str, str]
) -> Iterator[tuple[str, pa.Table]]:
    """Yield each partition's rows in order, and its folders.

    The columns stay in the rows (decision 22).
    """
    if not by:
        yield "", rows
        return
    folders = pc.binary_join_element_wise(
        *(_folder_names(rows.column(id), id, names.get(id, id)) for id in by),
        pa.scalar(""),
        "/",
    )
    # Arrow's sort is stable, so rows of one partition stay in their order.
    order = pc.sort_indices(folders)
    folders = folders.take(order)
    rows = rows.take(order)
    start = 0
    # Folders are sorted, so the counts are in the order of the rows.
    for item in pc.value_counts(folders).to_pylist():
        yield item["values"], rows.slice(start, item["counts"])
        start += item["counts"]


def _folder_names(column: pa.ChunkedArray, id: str, name: str) -> pa.Array:
    # NULL has a folder of its own.
    # Encoded, so that each distinct value is spelled once.
    codes = column.combine_chunks().dictionary_encode(null_encoding="encode")
    names = [partition_folder(id, value, name) for value in python_values(codes.dictionary)]
    return pa.array(names, pa.string()).take(codes.indices)


def _pieces(rows: pa.Table) -> Iterator[pa.Table]:
    if not rows.num_rows:
        return
    each = max(1, min(_MAX_ROWS, rows.num_rows * _MAX_BYTES // max(1, rows.nbytes)))
    for start in range(0, rows.num_rows, each):
        yield rows.slice(start, each)


def write_tombstone(
    blobs: Blobs, rows: pa.Table, *, folder: str, number: int | None = None
) -> Tombstone:
    """Write deleted rows as one file, which `block_reader` reads.

    Args:
        blobs: The store to write to.
        rows: `__vcs_file`, `__vcs_pos`, then the before-images by field id; at least one row, in
            any order.
        folder: `data/<table id>/w=<write id>`.
        number: Tells it from others of the folder; None if there are none.

    Raises:
        InputError: The folder already holds a tombstone.
    """
    rows = _by_place(rows)
    several = "" if number is None else f"{number:05}-"
    path = f"{folder}/deleted-{several}{folder.rpartition('=')[2]}.parquet"
    footer = write_file(blobs, path, parquet_bytes(rows, folder, row_group=_TOMBSTONE_ROW_GROUP))
    counts = pc.value_counts(rows.column(FILE_COLUMN)).to_pylist()
    return Tombstone(
        path=path,
        bytes=footer.bytes,
        # Decision 9: a block that leaves the table takes its count along, and the file stays.
        targets={item["values"]: item["counts"] for item in counts},
        footer=footer.digest,
        whole=footer.whole,
    )


def _by_place(rows: pa.Table) -> pa.Table:
    """Sort rows by file and position; paths are long and few, so each is compared once."""
    paths = rows.column(FILE_COLUMN).combine_chunks().dictionary_encode()
    # The inverse of a sorting permutation gives each path its rank.
    place = np.argsort(np.argsort(paths.dictionary.to_numpy(zero_copy_only=False)))
    file = place[paths.indices.to_numpy()]
    position = rows.column(POSITION_COLUMN).to_numpy()
    order = np.lexsort((position, file))
    if (np.diff(order) == 1).all():
        # Most changes come in order, and a copy would double the memory.
        return rows
    return rows.take(pa.array(order))


def parquet_bytes(table: pa.Table, folder: str, *, row_group: int = _ROW_GROUP) -> bytes:
    """Return the Parquet file that holds a table, as Spark reads it best.

    Args:
        table: The rows.
        folder: `data/<table id>/w=<write id>`, which the file's metadata repeats.
        row_group: Rows of a row group.
    """
    sink = pa.BufferOutputStream()
    with open_writer(
        sink,
        numbered(table.schema),
        folder,
        measured_columns(table),
        dictionaries=_repeating_columns(table),
    ) as writer:
        writer.write_table(table, row_group_size=row_group)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def open_writer(
    sink: Any,
    schema: pa.Schema,
    folder: str,
    measured: Collection[str],
    *,
    dictionaries: Collection[str] | None = None,
) -> pq.ParquetWriter:
    """Open a Parquet file of the repository for writing.

    Args:
        sink: Takes the bytes.
        schema: The columns, as `numbered` returns them.
        folder: `data/<table id>/w=<write id>`, or a path in it, which the file's metadata repeats.
        measured: The columns that get bounds, as `measured_columns` returns them.
        dictionaries: The columns that get a dictionary; None for all.
    """
    writer = pq.ParquetWriter(
        sink,
        schema,
        # Spark's default.
        compression="snappy",
        # Spark's times have microseconds.
        coerce_timestamps="us",
        # Readers take types from manifests, so Arrow's form of them would only lengthen footers.
        store_schema=False,
        # Decision 19: nothing checks an index, and damage to it would make a filter skip rows.
        write_page_index=False,
        write_page_checksum=True,
        write_statistics=sorted(measured),
        use_dictionary=True if dictionaries is None else sorted(dictionaries),
    )
    # Decision 19: so equal rows of two tables have different footers.
    writer.add_key_value_metadata(owner_of(folder))
    return writer


def owner_of(folder: str) -> dict[str, str]:
    """Return the metadata of a file: the table and the write that it belongs to."""
    _, table, write, *_ = f"{folder}///".split("/")
    return {"vcs.table": table, "vcs.write": write.partition("=")[2]}


_SAMPLES: Final = 20
_SAMPLE: Final = 1_000
"""How many pieces of a table are looked at, and the rows of each: neighbours may be alike."""

_MOST: Final = 0.5
"""The most different values, as a part of those looked at."""


def _repeating_columns(rows: pa.Table) -> frozenset[str]:
    """Return the paths of the leaf columns that get a dictionary.

    These are all columns but those not nested of which a sample has mostly different values. A
    dictionary of values that hardly repeat is filled, found too large and given up, in each row
    group, which takes longer than to write the values, and leaves a larger file.
    """
    return frozenset(
        path
        for field, column in zip(rows.schema, rows.columns, strict=True)
        for path, _ in _leaves(field.name, field.type)
        if path != field.name or _repeats(column)
    )


def _repeats(column: pa.ChunkedArray) -> bool:
    count = len(column)
    if count <= _SAMPLES * _SAMPLE:
        return True
    starts = range(0, count - _SAMPLE, count // _SAMPLES)
    chunks = [chunk for start in starts for chunk in column.slice(start, _SAMPLE).chunks]
    sample = pa.chunked_array(chunks, column.type)
    return len(sample.unique()) <= _MOST * len(sample)


def measured_columns(rows: pa.Table) -> frozenset[str]:
    """Return the paths of the leaf columns whose bounds hold every value of these rows.

    These are all columns but floating-point ones that mix NaN with numbers or are nested. Arrow
    ignores NaN in a column's bounds. Spark, which sorts NaN above all other numbers, then skips
    row groups with NaN when it looks for NaN or for large numbers.
    """
    return frozenset(
        path
        for field, column in zip(rows.schema, rows.columns, strict=True)
        for path, type_ in _leaves(field.name, field.type)
        if not pa.types.is_floating(type_) or (path == field.name and not _leaves_out(column))
    )


def _leaves_out(column: pa.ChunkedArray) -> bool:
    """Return whether bounds would omit values; a column of only NaN has none, which is safe."""
    found = pc.unique(pc.is_nan(column.drop_null()))
    return len(found) > 1


def _leaves(path: str, type_: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Yield path and type of each leaf column that Parquet keeps for a value."""
    if pa.types.is_struct(type_):
        for field in type_:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_map(type_):
        yield from _leaves(f"{path}.key_value.key", type_.key_type)
        yield from _leaves(f"{path}.key_value.value", type_.item_type)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        yield from _leaves(f"{path}.list.element", type_.value_type)
    else:
        yield path, type_


_KEY: Final = b"PARQUET:field_id"
"""Metadata of an Arrow field that its Parquet writer stores as the field's id."""

_VARIANT: Final = ({"metadata", "value"}, {"metadata", "value", "typed_value"})
"""Names of the parts in which a file keeps a VARIANT; these have no numbers."""


def numbered(schema: pa.Schema, *, is_stored: bool = False) -> pa.Schema:
    """Return the schema with which to write a file: with numbers, or without any.

    Other engines know columns by number (decision 20). A reader that takes columns by number finds
    NULL where a field has none. So either all fields of a file have a number or none has; without
    any, readers match columns by name.

    Args:
        schema: Columns named by field id. Our own, such as the places of deleted rows, stay
            without a number.
        is_stored: True for the schema of a file, where a VARIANT looks like a struct. It is told
            by its parts, which have no numbers where others have; in a file without numbers it
            can't be told, so the new file has none either.
    """
    numbers: list[int] = []
    fields = [_with_number(field, (field.name,), numbers, is_stored) for field in schema]
    unclear = (
        is_stored
        and not any(_KEY in (field.metadata or {}) for field in schema)
        and any(_may_hold_variant(field.type) for field in schema)
    )
    # Numbers are hashes, so two may be equal.
    if unclear or len(set(numbers)) < len(numbers):
        fields = [_without_number(field) for field in schema]
    return pa.schema(fields, schema.metadata)


def _with_number(
    field: pa.Field, path: tuple[str, ...], numbers: list[int], is_stored: bool
) -> pa.Field:
    """Return a field with numbers, which are added to a list."""
    if path[0].startswith(RESERVED):
        return _without_number(field)
    number = field_number(*path)
    numbers.append(number)
    metadata = {**(field.metadata or {}), _KEY: str(number).encode()}
    type_ = field.type
    if pa.types.is_struct(type_):
        bare = is_stored and _looks_like_variant(type_)
        # Decision 20: a struct of the user's with parts of these names has numbers in them.
        bare = bare and not any(_KEY in (part.metadata or {}) for part in type_)
        if not bare:
            type_ = pa.struct(
                [_with_number(part, (*path, part.name), numbers, is_stored) for part in type_]
            )
    elif pa.types.is_map(type_):
        type_ = pa.map_(
            _with_number(type_.key_field, (*path, "key"), numbers, is_stored),
            _with_number(type_.item_field, (*path, "value"), numbers, is_stored),
        )
    elif pa.types.is_list(type_):
        type_ = pa.list_(_with_number(type_.value_field, (*path, "element"), numbers, is_stored))
    return pa.field(field.name, type_, field.nullable, metadata)


def _without_number(field: pa.Field) -> pa.Field:
    metadata = {key: value for key, value in (field.metadata or {}).items() if key != _KEY}
    type_ = field.type
    if pa.types.is_struct(type_):
        type_ = pa.struct(list(map(_without_number, type_)))
    elif pa.types.is_map(type_):
        type_ = pa.map_(_without_number(type_.key_field), _without_number(type_.item_field))
    elif pa.types.is_list(type_):
        type_ = pa.list_(_without_number(type_.value_field))
    return pa.field(field.name, type_, field.nullable, metadata or None)


def _may_hold_variant(type_: pa.DataType) -> bool:
    if pa.types.is_struct(type_):
        return _looks_like_variant(type_) or any(_may_hold_variant(part.type) for part in type_)
    if pa.types.is_map(type_):
        return _may_hold_variant(type_.key_type) or _may_hold_variant(type_.item_type)
    return pa.types.is_list(type_) and _may_hold_variant(type_.value_type)


def _looks_like_variant(type_: pa.StructType) -> bool:
    return {part.name for part in type_} in _VARIANT
