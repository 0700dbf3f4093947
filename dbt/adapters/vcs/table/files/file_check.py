"""File check: whether a file of rows is the one that its entry describes, byte for byte."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError, StorageError
from dbt.adapters.vcs.core.plan.collect import NeededFile
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs
from dbt.adapters.vcs.table.files.block_reader import BlobFile
from dbt.adapters.vcs.table.files.footers import (
    MAGIC,
    digest,
    digest_of_file,
    footer_bytes,
    footer_of,
)
from dbt.adapters.vcs.table.files.parquet import owner_of

_AT_ONCE: Final = 4 * 2**20
"""A file up to this size is read at once, a larger one in parts."""

_PART: Final = 2**20
_ROWS: Final = 64 * 1024


class _WrongError(Exception):
    """What is wrong with a file, as the end of a sentence about it."""


def wrong_size(file: NeededFile, found: int | None) -> str | None:
    """Return what is wrong with a file of a size, None for a missing one; None if nothing is."""
    if found is None:
        return "is missing"
    if found != file.bytes:
        return f"has {found:,} bytes, expected {file.bytes:,}"
    return None


def size_of(blobs: Blobs, path: str) -> int | None:
    """Return the size of a file; None if there is none."""
    try:
        return blobs.size(path)
    except NotFoundError:
        return None


def wrong_bytes(blobs: Blobs, file: NeededFile) -> str | None:
    """Read a file, and return what is wrong with it, as the end of a sentence; None if nothing is.

    A digest of the whole file is all that has to hold. Without one, the footer must have its
    digest, each page its checksum, and each column as many rows as the entry says.
    """
    try:
        size = size_of(blobs, file.path)
        wrong = wrong_size(file, size)
        if wrong is None:
            _check(blobs, file)
    except _WrongError as error:
        return str(error)
    except NotFoundError:
        return "is missing"
    except DamagedError as error:
        return f"is damaged ({str(error).removesuffix('.')})"
    except StorageError as error:
        return f"can't be read ({str(error).removesuffix('.')})"
    return wrong


def whole_bytes(blobs: Blobs, file: NeededFile) -> bytes | None:
    """Return the bytes of a file; None if it is missing or damaged."""
    try:
        data = blobs.get(file.path)
    except NotFoundError:
        return None
    # The bytes that are returned are those that are checked.
    taken = MemoryBlobs()
    taken.create(file.path, data)
    return data if wrong_bytes(taken, file) is None else None


def _check(blobs: Blobs, file: NeededFile) -> None:
    """Check the bytes of a file of the right size.

    Raises:
        _WrongError: It is damaged, or another file.
        StorageError: It can't be read.
    """
    data = blobs.get(file.path) if file.bytes <= _AT_ONCE else None
    whole = _whole(blobs, file, data) if file.whole else ""
    footer = footer_bytes(blobs, file.path, file.bytes) if data is None else footer_of(data)
    found = digest(footer) if footer else "none"
    metadata = _metadata(footer)
    if file.footer and found != file.footer:
        raise _WrongError(_other(file, metadata, f"footer is {found}, expected {file.footer}"))
    if whole != file.whole:
        raise _WrongError(_other(file, metadata, f"bytes is {whole}, expected {file.whole}"))
    if metadata is None:
        raise _WrongError("is damaged: it has no footer of a Parquet file that can be read")
    # An entry from before there were digests: the file itself says whose it is.
    if not file.footer and (owner := _foreign(file, metadata)):
        raise _WrongError(f"is another file: it was written as one of {owner}")
    _check_rows(file, metadata.num_rows)
    if not file.whole:
        _check_pages(blobs, file, data, metadata)


def _whole(blobs: Blobs, file: NeededFile, data: bytes | None) -> str:
    return digest(data) if data is not None else digest_of_file(blobs, file.path, file.bytes)


def _metadata(footer: bytes | None) -> Any:
    """Return pyarrow's `FileMetaData`; None if the footer can't be read."""
    try:
        return pq.read_metadata(pa.BufferReader(MAGIC + footer)) if footer else None
    except (pa.ArrowException, OSError, ValueError):
        return None


def _other(file: NeededFile, metadata: Any, digests: str) -> str:
    owner = _foreign(file, metadata)
    told = f"it was written as one of {owner}" if owner else f"the digest of its {digests}"
    return f"is not the file that was written: {told}"


def _foreign(file: NeededFile, metadata: Any) -> str | None:
    """Return the write that a file says it belongs to, if that is not the one of its path."""
    said = {} if metadata is None else metadata.metadata or {}
    table, write = (said.get(key, b"").decode("utf-8", "replace") for key in _OWNER)
    if not table or owner_of(file.path) == dict(zip(_OWNER_KEYS, (table, write), strict=True)):
        return None
    return f"data/{table}/w={write}"


_OWNER_KEYS: Final = tuple(owner_of("data//w="))
_OWNER: Final = tuple(key.encode() for key in _OWNER_KEYS)


def _check_rows(file: NeededFile, found: int) -> None:
    # Decision 9: of a tombstone's rows those of blocks that left the table aren't counted.
    if found != file.rows and not (file.is_tombstone and found > file.rows):
        raise _WrongError(f"has {found:,} rows, expected {file.rows:,}")


def _check_pages(blobs: Blobs, file: NeededFile, data: bytes | None, metadata: Any) -> None:
    """Read all pages, a column at a time, so that little of a large file is in memory."""
    whole = BlobFile(blobs, file.path, file.bytes)
    source = pa.PythonFile(whole, mode="r") if data is None else pa.BufferReader(data)
    try:
        opened = pq.ParquetFile(
            source,
            metadata=metadata,
            page_checksum_verification=True,
            # Arrow would fetch whole column chunks ahead.
            pre_buffer=False,
            buffer_size=_PART,
        )
        for number in range(metadata.num_columns):
            column = metadata.schema.column(number).path
            batches = opened.iter_batches(batch_size=_ROWS, columns=[column])
            _check_rows(file, sum(batch.num_rows for batch in batches))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _WrongError(f"is damaged: {error}") from error
