"""Files that a client of Iceberg wrote, as blocks and tombstones of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dbt.adapters.vcs.changes.writes import pruning
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import Block, Field, Schema, Snapshot, Tombstone
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.objects import Condemned
from dbt.adapters.vcs.iceberg.client_manifests import ClientPaths, DeleteFile, EqualityFile
from dbt.adapters.vcs.iceberg.puffin_files import PuffinFile, VectorPlace
from dbt.adapters.vcs.table.equality import group_ids, plain
from dbt.adapters.vcs.table.exact_values import limited
from dbt.adapters.vcs.table.files.block_reader import Files, Positions
from dbt.adapters.vcs.table.files.footers import Footer, read_blocks, read_footer
from dbt.adapters.vcs.table.files.parquet import parquet_bytes, write_tombstone
from dbt.adapters.vcs.table.limits import MERGE_LIMITS, Limits
from dbt.adapters.vcs.table.manifests import folder_of
from dbt.adapters.vcs.table.partition_values import is_told, partition_text
from dbt.adapters.vcs.table.python_values import python_value
from dbt.adapters.vcs.table.row_numbers import distinct
from dbt.adapters.vcs.table.types import arrow_type
from dbt.adapters.vcs.workspace.table_version import Version

_NUMBER: Final = b"PARQUET:field_id"
_NO_NUMBERS: Final[Mapping[str, int]] = {}
# Iceberg's numbers of `_row_id` and `_last_updated_sequence_number`, which its writers put into
# files of format version 3. They stay in the file for readers that know them, and are no columns.
_LINEAGE: Final = frozenset({2147483540, 2147483539})

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
        version: The table as the files are to fit it.
        paths: The files, relative to the repository.
        folder: The folder that the client was given.
        numbers: The files' numbers of columns that have others in the table, by field id.

    Returns:
        A block for each file with rows; `client_path` gives the client's file of each.

    Raises:
        InputError: A file isn't there, or a collection has condemned it; is no Parquet file, lies
            outside of the folder, has other columns than the table, or longer texts.
        UnsupportedError: The table can't take files of clients.
    """
    if not paths:
        return ()
    _check_table(version)
    for path in paths:
        # Each branch has a folder of its own, so nobody makes rows of the files of another branch.
        if not path.startswith(f"{folder}/"):
            raise InputError(
                f"{path} is outside of the folder that the branch's clients were given. Nothing "
                "was changed. Write it to the table's property write.data.path; load the table "
                "again to see it."
            )
    condemned = Condemned(repository.blobs)
    condemned.refresh()
    footers: dict[str, Footer] = {}
    for path in paths:
        _check_stays(condemned, path)
        footer = _footer(repository, path)
        found = footer.metadata.schema.to_arrow_schema()
        names = _columns(path, found, version.schema, numbers)
        if footer.rows and (numbers or _differs(names, version.schema)):
            # Decision 1: columns are found in our files by the field id, which is their name
            # there.
            _check_stays(condemned, f"{path}{_FITTED}")
            path = _write_fitted_file(repository, path, names, version)
            footer = _footer(repository, path)
        footers[path] = footer
    # By the rows and not by the manifest, which a client can get wrong; decision 22 has the
    # columns inside the files.
    partitions = {
        path: _partition(repository, path, version)
        for path, footer in footers.items()
        if footer.rows
    }
    by = version.partition_by
    return read_blocks(repository.blobs, list(partitions), version.schema, by, footers, partitions)


def _check_stays(condemned: Condemned, path: str) -> None:
    # Decision 37: the request to delete it may still arrive. Data files have no second name.
    if path in condemned:
        raise InputError(
            f"{path} was in no table for a day or longer, and a collection has let go of it. "
            "Nothing was changed. Write the rows to another file."
        )


def _footer(repository: Repository, path: str) -> Footer:
    try:
        return read_footer(repository.blobs, path)
    except (NotFoundError, DamagedError) as error:
        raise InputError(f"Nothing was changed: {error}") from error


def _check_table(version: Snapshot) -> None:
    for field in version.schema.fields:
        # Partitions are found by comparing Spark's texts of values. Other types have texts that
        # only Spark knows (decision 23).
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
    # This finds `varchar(n)`, too, and both inside of nested types.
    return any(names[field.id] != field.id or "char(" in field.type for field in schema.fields)


def _write_fitted_file(
    repository: Repository, path: str, names: Mapping[str, str], version: Snapshot
) -> str:
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
    # Named after the client's file, with its rows in the same order: deleted positions and a
    # second arrival still fit (decision 23).
    fitted = f"{path}{_FITTED}"
    data = parquet_bytes(made, path)
    # A commit that is sent again after a lost answer writes the same bytes.
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
        # A block has one value of each partition column, by which readers leave it out as a whole.
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
    # The dictionaries below would keep one of them, in silence.
    if len(set(found.names)) < len(found.names):
        raise InputError(f"{path} has several columns of one name. Nothing was changed.")
    columns = [column for column in found if number_of(column) not in _LINEAGE]
    by_number = {number_of(column): column for column in columns}
    by_name = {column.name: column for column in columns}
    names: dict[str, str] = {}
    for field in schema.fields:
        # The client numbered columns that this commit adds. The catalog gives them other numbers.
        wanted = numbers.get(field.id, field_number(field.id))
        column = by_number.get(wanted) or by_name.get(field.name)
        if column is None:
            raise InputError(
                f"{path} lacks the column {field.name}. Nothing was changed; load the table "
                "again, and write all its columns."
            )
        number = number_of(column)
        # The same name and another number is another column, such as one that was dropped since.
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
    if _plain_type(column.type) != _plain_type(arrow_type(field.type)):
        raise InputError(
            f"The column {field.name} of {path} is {column.type}; expected {field.type}. Nothing "
            "was changed; load the table again, and write that type."
        )


def _plain_type(type_: Any) -> pa.DataType:
    """Return a type without what makes no difference to its values."""
    if pa.types.is_large_string(type_):
        return pa.string()
    if pa.types.is_large_binary(type_):
        return pa.binary()
    if pa.types.is_map(type_):
        return pa.map_(_plain_type(type_.key_type), _plain_type(type_.item_type))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        # Writers choose what the element is called, and whether it may be NULL.
        return pa.list_(pa.field("element", _plain_type(type_.value_type)))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(part.name, _plain_type(part.type)) for part in type_])
    return type_


_PATH: Final = "file_path"
_PLACE: Final = "pos"
_NONE: Final = np.empty(0, np.int64)
Deletions = dict[str, Positions]
"""Positions of deleted rows by the path of their block, ascending, each once, never empty."""


def client_deletions(repository: Repository, files: Iterable[DeleteFile]) -> Deletions:
    """Read deletion vectors, and position delete files: columns `file_path` and `pos`.

    A data file that has a vector has all its deletions there; then files of positions say
    nothing of it, as Iceberg's specification has it.

    Raises:
        InputError: One isn't there or isn't such a file, or a row's file is outside of the
            repository.
    """
    paths = ClientPaths(repository)
    found: dict[str, list[Positions]] = {}
    vectors: dict[str, list[VectorPlace]] = {}
    for file, vector in files:
        if vector is not None:
            vectors.setdefault(file, []).append(vector)
            continue
        table = _read_rows(repository, file)
        # A path is repeated for each of its rows: as a dictionary it is turned into ours once.
        uris = table.column(_PATH).combine_chunks().dictionary_encode()
        places = table.column(_PLACE).to_numpy().astype(np.int64)
        codes = uris.indices.to_numpy()
        for code, uri in enumerate(uris.dictionary.to_pylist()):
            found.setdefault(paths.path(uri), []).append(places[codes == code])
    for file, items in vectors.items():
        puffin = PuffinFile(file, _bytes(repository, file))
        # Iceberg: a vector has all deletions of its file, so it replaces what position files say.
        found |= {paths.path(vector.uri): [puffin.positions(vector)] for vector in items}
    deletions = {path: distinct(np.concatenate(parts)) for path, parts in found.items()}
    return {path: rows for path, rows in deletions.items() if len(rows)}


def _bytes(repository: Repository, file: str) -> bytes:
    try:
        return repository.blobs.get(file)
    except NotFoundError:
        raise InputError(f"{file} is not there. Nothing was changed; write it again.") from None


def _read_rows(repository: Repository, file: str) -> pa.Table:
    data = _bytes(repository, file)
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read(columns=[_PATH, _PLACE])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{file} is not a file of deleted positions: {error}.") from error
    types = [field.type for field in table.schema]
    nulls = sum(column.null_count for column in table.columns)
    if table.column_names != [_PATH, _PLACE] or types != [pa.string(), pa.int64()] or nulls:
        raise InputError(
            f"{file} is not a file of deleted positions: expected the columns {_PATH} (string) "
            f"and {_PLACE} (bigint) without NULL, found {table.schema.to_string()}."
        )
    return table


def deleted_in(repository: Repository, version: Version, blocks: Iterable[str]) -> Deletions:
    """Return which rows of some blocks a version deletes."""
    tombstones = version.tombstones
    return Files(repository.blobs, tombstones).deletions(tombstones, blocks)


def without(deletions: Deletions, others: Mapping[str, Positions]) -> Deletions:
    """Return deletions without those that others have, too."""
    left = {
        path: np.setdiff1d(rows, others.get(path, _NONE), assume_unique=True)
        for path, rows in deletions.items()
    }
    return {path: rows for path, rows in left.items() if len(rows)}


def joined(deletions: Deletions, others: Deletions) -> Deletions:
    """Return the deletions of both."""
    return {
        path: distinct(np.concatenate([deletions.get(path, _NONE), others.get(path, _NONE)]))
        for path in deletions.keys() | others.keys()
    }


def tombstone_of(
    repository: Repository, version: Snapshot, blocks: Sequence[Block], deletions: Deletions
) -> Tombstone:
    """Write a tombstone of rows, with their before-images, each of which is read once.

    Args:
        version: The table.
        blocks: All blocks that lose rows, and maybe others.
        deletions: The rows; at least one.

    Raises:
        InputError: A block has no row at a position.
        UnsupportedError: Arrow can't read the rows.
    """
    files, fields = Files(repository.blobs), version.schema.fields
    empty = deletions.keys() - {block.path for block in blocks}
    if empty:
        raise InputError(f"The snapshot deletes rows of {min(empty)}, which has none.")
    parts: list[pa.Table] = []
    for block in blocks:
        rows = deletions.get(block.path, _NONE)
        if not len(rows):
            continue
        if rows[0] < 0 or rows[-1] >= block.rows:
            # Ascending, so the first or the last is the one outside.
            wrong = rows[0] if rows[0] < 0 else rows[-1]
            raise InputError(
                f"The snapshot deletes the row {wrong} of {block.path}, which has the rows 0 to "
                f"{block.rows - 1}. Nothing was changed."
            )
        images = files.columns(
            block.path, fields, rows=rows, partition=block.partition, entry=block
        )
        places = [pa.array([block.path] * len(rows), pa.string()), pa.array(rows)]
        names = [FILE_COLUMN, POSITION_COLUMN, *images.column_names]
        parts.append(pa.table([*places, *images.columns], names=names))
    return write_tombstone(
        repository.blobs, pa.concat_tables(parts), folder=folder_of(version.table)
    )


def equality_deletions(
    repository: Repository,
    version: Snapshot,
    blocks: Sequence[Block],
    files: Iterable[EqualityFile],
    sequences: Mapping[str, int],
    *,
    limits: Limits = MERGE_LIMITS,
) -> Deletions:
    """Find the rows that files of values delete. NULL is equal to NULL, as Iceberg has it.

    Of the blocks whose bounds reach the values, the columns compared are read.

    Args:
        version: The table.
        blocks: Where rows may be.
        files: The files of values.
        sequences: Sequence numbers of new blocks by path. They lose rows to files of a higher
            number only; all other blocks are older than any file.
        limits: The most to read.

    Returns:
        Their positions, even of those that are deleted already.

    Raises:
        InputError: A file isn't there, or has other columns than the table.
        UnsupportedError: It says nothing of the columns that partition the table, its values
            can't be compared here, or more would have to be read than the limits allow.
    """
    found: Deletions = {}
    grouped: dict[tuple[tuple[Field, ...], int], list[pa.Table]] = {}
    for file in files:
        fields = _fields(file, version)
        grouped.setdefault((fields, file.sequence), []).append(_values(repository, file, fields))
    # Files that compare the same columns at the same age are taken together, so that a block is
    # read once for all of them.
    for (fields, sequence), tables in grouped.items():
        values = pa.concat_tables(tables)
        # Iceberg: values delete rows of older files only, not those of the same commit.
        older = [block for block in blocks if sequences.get(block.path, -1) < sequence]
        # No values have no bounds to look for.
        older = older if values.num_rows else []
        near = _near_blocks(older, fields, values)
        _check_size(near, limits)
        reader = Files(repository.blobs)
        met = {block.path: _matching_rows(reader, block, fields, values) for block in near}
        found = joined(found, {path: rows for path, rows in met.items() if len(rows)})
    return found


def _fields(file: EqualityFile, version: Snapshot) -> tuple[Field, ...]:
    by_number = {field_number(field.id): field for field in version.schema.fields}
    unknown = [number for number in file.columns if number not in by_number]
    if unknown or not file.columns:
        raise InputError(
            f"{file.path} deletes rows by columns that the table lacks: "
            f"{', '.join(map(str, unknown)) or 'none is named'}. Nothing was changed; load the "
            "table again."
        )
    fields = tuple(by_number[number] for number in file.columns)
    for field in fields:
        if type_of(field.type).is_nested or type_of(field.type).collation:
            raise UnsupportedError(
                f"{file.path} deletes rows by {field.name}, whose type {field.type} can't be "
                "compared here. Nothing was changed; delete by columns of plain types."
            )
    # Iceberg applies such a file to its own partition only. With the partition's columns among the
    # values, a comparison of values comes to the same.
    missing = set(version.partition_by) - {field.id for field in fields}
    if missing:
        named = sorted(field.name for field in version.schema.fields if field.id in missing)
        raise UnsupportedError(
            f"{file.path} deletes rows without naming {', '.join(named)}, by which the table is "
            "partitioned. Nothing was changed; have the client put the columns of the partitions "
            "among those that it deletes by."
        )
    return fields


def _values(repository: Repository, file: EqualityFile, fields: Sequence[Field]) -> pa.Table:
    try:
        stored = pq.ParquetFile(pa.BufferReader(_bytes(repository, file.path)))
        schema = stored.schema_arrow
        names = {number_of(column): column.name for column in schema}
        columns = []
        for field in fields:
            name = names.get(field_number(field.id), field.name)
            if schema.get_field_index(name) < 0:
                raise InputError(
                    f"{file.path} lacks the column {field.name} that it deletes rows by. Nothing "
                    "was changed; write it again."
                )
            check_type(file.path, schema.field(name), field)
            columns.append(name)
        table = stored.read(columns=columns).select(columns)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{file.path} is not a Parquet file: {error}.") from error
    return table.rename_columns([field.id for field in fields])


def _near_blocks(
    blocks: Sequence[Block], fields: Sequence[Field], values: pa.Table
) -> Sequence[Block]:
    for field in fields:
        column = values.column(field.id)
        # NULL equals NULL here, and the bounds of a block say nothing of its NULLs.
        if pruning.is_ordered(field.type) and not column.null_count:
            span = python_value(pc.min_max(column))
            blocks = pruning.within(blocks, field, span["min"], span["max"])
    return blocks


def _check_size(blocks: Sequence[Block], limits: Limits) -> None:
    rows, size = sum(block.rows for block in blocks), sum(block.bytes for block in blocks)
    if rows > limits.rows or size > limits.bytes:
        raise UnsupportedError(
            f"To find the rows that the client deletes by value, {rows:,} rows of {size:,} bytes "
            f"would have to be read, and at most {limits.rows:,} rows of {limits.bytes:,} bytes "
            "are. Nothing was changed. Delete them with dbt or with `dbt-vcs sql`, or cluster the "
            "table by these columns."
        )


def _matching_rows(
    files: Files, block: Block, fields: Sequence[Field], values: pa.Table
) -> Positions:
    old = files.columns(block.path, fields, partition=block.partition, entry=block)
    # By the first column only: few rows are left for the comparison of all columns.
    first = pc.unique(plain(values.column(fields[0].id).cast(old.column(0).type)))
    near = np.flatnonzero(
        np.asarray(pc.is_in(plain(old.column(0)), value_set=first), dtype=np.bool_)
    )
    if not len(near):
        return near
    both = pa.concat_tables([values.cast(old.schema), old.take(pa.array(near))])
    # Equal rows get equal codes, NULL included, which a join would never match.
    codes = group_ids(both.columns, both.num_rows)
    return near[np.isin(codes[values.num_rows :], codes[: values.num_rows])]
