"""Puffin files: containers of deletion vectors, each the deleted rows of one data file.

https://iceberg.apache.org/puffin-spec.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.iceberg.avro_files import iceberg_extra

_PUFFIN: Final = b"PFA1"
_VECTOR: Final = b"\xd1\xd3\x39\x64"
_TYPE: Final = "deletion-vector-v1"
_POSITION: Final = 2147483645
"""Iceberg's number of the position of a row."""

# Bitmaps hold unsigned numbers, and positions are signed here.
_LAST_ROW: Final = 2**63 - 1

_TAIL: Final = 12
"""Bytes after the description: its length, flags, and the file's magic bytes."""

_COMPRESSED: Final = 1
"""The flag of a description that is compressed."""


class VectorPlace(NamedTuple):
    """Where a deletion vector is in a Puffin file, and what it is about.

    Attributes:
        uri: URI of the data file.
        rows: How many of its rows are deleted.
        offset: Where the vector begins.
        bytes: Its length.
    """

    uri: str
    rows: int
    offset: int
    bytes: int


def placed(parts: Iterable[tuple[str, int, bytes]]) -> Iterator[VectorPlace]:
    """Yield the places of vectors in a file that has them in this order.

    Args:
        parts: URI of the data file, number of rows, and vector.
    """
    # The file begins with its magic bytes, and vectors follow each other.
    offset = len(_PUFFIN)
    for uri, rows, vector in parts:
        yield VectorPlace(uri, rows, offset, len(vector))
        offset += len(vector)


def puffin_bytes(places: Sequence[VectorPlace], vectors: Iterable[bytes]) -> bytes:
    """Return a Puffin file of vectors at their places."""
    blobs = [
        {
            "type": _TYPE,
            "fields": [_POSITION],
            # Not known when the file is written: the specification wants -1.
            "snapshot-id": -1,
            "sequence-number": -1,
            "offset": item.offset,
            "length": item.bytes,
            "properties": {"referenced-data-file": item.uri, "cardinality": str(item.rows)},
        }
        for item in places
    ]
    footer = json.dumps({"blobs": blobs, "properties": {"created-by": "dbt-vcs"}}).encode()
    end = footer + struct.pack("<II", len(footer), 0) + _PUFFIN
    return b"".join((_PUFFIN, *vectors, _PUFFIN, end))


def vector_bytes(positions: npt.NDArray[np.int64]) -> bytes:
    """Return a vector of positions, which ascend: length, bitmap, checksum."""
    bitmap = iceberg_extra("pyroaring").BitMap64(positions)
    # A range of rows takes a few bytes, as where Iceberg itself writes it.
    bitmap.run_optimize()
    # Specification: length and checksum are big-endian, the bitmap between them little-endian.
    data: bytes = _VECTOR + bitmap.serialize()
    return struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def vector_positions(vector: bytes, rows: int) -> npt.NDArray[np.int64]:
    """Return the positions of a vector, ascending, each once.

    Raises:
        ValueError: It is damaged, or has another number of positions.
    """
    if len(vector) < 12:
        raise ValueError(f"its {len(vector)} bytes are too few")
    data = vector[4:-4]
    length, checksum = (int.from_bytes(part, "big") for part in (vector[:4], vector[-4:]))
    if length != len(data):
        raise ValueError(f"it says that it has {length} bytes, and has {len(data)}")
    if not data.startswith(_VECTOR):
        raise ValueError("it has other magic bytes")
    if checksum != zlib.crc32(data):
        raise ValueError("its checksum is wrong")
    # In Roaring's portable format of 64 bits.
    packed = data[len(_VECTOR) :]
    try:
        bitmap = iceberg_extra("pyroaring").BitMap64.deserialize(packed)
    except IndexError:
        raise ValueError("its bitmap has no bytes") from None
    # Counted while it is packed: a few kilobytes can stand for billions of rows.
    if len(bitmap) != rows:
        raise ValueError(f"it has {len(bitmap)} positions, and should have {rows}")
    if len(bitmap.serialize()) != len(packed):
        raise ValueError("it goes on after the end of its bitmap")
    if rows and bitmap.max() > _LAST_ROW:
        raise ValueError(f"it has the position {bitmap.max()}, and a file has fewer rows")
    return np.frombuffer(bitmap.to_array(), np.uint64).astype(np.int64)


class PuffinFile:
    """A Puffin file that anybody wrote."""

    def __init__(self, path: str, data: bytes) -> None:
        """Read what the file says of its vectors.

        Args:
            path: Its path, for messages.

        Raises:
            InputError: It is no Puffin file.
        """
        self._path = path
        self._data = data
        try:
            parts = _blobs(data)
            self._blobs = {(item.get("offset"), item.get("length")): item for item in parts}
        except (ValueError, TypeError, pa.ArrowException, OSError) as error:
            raise InputError(
                f"{path} is not a Puffin file: {error}. Nothing was changed; write it again."
            ) from error

    def positions(self, place: VectorPlace) -> npt.NDArray[np.int64]:
        """Return the positions of a vector, ascending, each once.

        Raises:
            InputError: There is none at the place, it is about another file, or it is damaged.
        """
        try:
            self._check(place)
            return vector_positions(
                self._data[place.offset : place.offset + place.bytes], place.rows
            )
        except ValueError as error:
            raise InputError(
                f"The deletion vector of {place.uri} in {self._path} can't be used: {error}. "
                "Nothing was changed; write it again."
            ) from error

    def _check(self, place: VectorPlace) -> None:
        blob = self._blobs.get((place.offset, place.bytes))
        if blob is None:
            raise ValueError(
                f"the file says nothing of {place.bytes} bytes from {place.offset} on"
            )
        given = blob.get("properties")
        told = given if isinstance(given, dict) else {}
        if blob.get("type") != _TYPE or blob.get("compression-codec") is not None:
            raise ValueError(
                f"it is of type {blob.get('type')} and compressed by "
                f"{blob.get('compression-codec')}; expected {_TYPE}, not compressed"
            )
        # No row tells afterwards that it was deleted by mistake (decision 23).
        if told.get("referenced-data-file") != place.uri:
            raise ValueError(f"it is about {told.get('referenced-data-file')}")
        if told.get("cardinality") != str(place.rows):
            raise ValueError(
                f"it says that it has {told.get('cardinality')} positions, and the manifest "
                f"says {place.rows}"
            )


def _blobs(data: bytes) -> Iterable[Mapping[str, Any]]:
    """Return what the end of a file says of its parts."""
    if data[:4] != _PUFFIN or data[-4:] != _PUFFIN or len(data) < 2 * len(_PUFFIN) + _TAIL:
        raise ValueError("it has other magic bytes")
    length, flags = struct.unpack("<iI", data[-_TAIL:-4])
    start = len(data) - _TAIL - length
    if length < 0 or start < 2 * len(_PUFFIN) or data[start - 4 : start] != _PUFFIN:
        raise ValueError("its description has another length than it says")
    footer = data[start:-_TAIL]
    # As one frame of LZ4, the only compression that a description may have.
    if flags & _COMPRESSED:
        footer = pa.CompressedInputStream(pa.BufferReader(footer), "lz4").read()
    found = msgspec.json.decode(footer, type=dict[str, Any]).get("blobs")
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise ValueError("it lists no parts")
    return found
