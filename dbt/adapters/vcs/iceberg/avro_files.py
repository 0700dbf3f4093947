"""Avro files: records that are encoded already, or by a schema, in one block."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from dbt.adapters.vcs.core.errors import DamagedError, InputError

Record = dict[str, Any]

_MAGIC: Final = b"Obj\x01"
# The same content has the same bytes.
_SYNC: Final = b"dbt-vcs manifest"
NULL: Final = b"\0"
SOME: Final = b"\2"
"""What an optional value begins with: the first of two types, null, or the second."""
_BYTES: Final = tuple(bytes([number]) for number in range(0x80))


def long(value: int) -> bytes:
    """Return a whole number as Avro writes it."""
    rest = (value << 1) ^ (value >> 63)
    if rest <= 0x7F:
        return _BYTES[rest]
    found = bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def text(value: bytes) -> bytes:
    """Return bytes, or a text in UTF-8, as Avro writes them."""
    return long(len(value)) + value


class AvroSchema:
    """The schema of a file's records, compiled once."""

    def __init__(self, schema: Record) -> None:
        self._text = json.dumps(schema).encode()
        self._parsed = fastavro().parse_schema(schema)

    def encoded(self, records: Iterable[Record]) -> list[bytes]:
        """Return records as Avro writes them."""
        write = fastavro().schemaless_writer
        found = []
        for record in records:
            sink = io.BytesIO()
            write(sink, self._parsed, record)
            found.append(sink.getvalue())
        return found

    def file(self, records: list[bytes], meta: Mapping[str, str]) -> bytes:
        """Return a file of encoded records with further facts in its header."""
        told = {key: value.encode() for key, value in meta.items()}
        told |= {"avro.codec": b"deflate", "avro.schema": self._text}
        header = b"".join(text(key.encode()) + text(value) for key, value in told.items())
        parts = [_MAGIC, long(len(told)), header, NULL, _SYNC]
        if records:
            # Raw, without the header of zlib.
            deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
            body = deflate.compress(b"".join(records)) + deflate.flush()
            parts += [long(len(records)), text(body), _SYNC]
        return b"".join(parts)

    def records(self, data: bytes) -> list[Record]:
        """Return the records of a file, whoever wrote it by whichever schema."""
        told, place = _header(data)
        if told.get("avro.schema") != self._text or told.get("avro.codec") != b"deflate":
            return read_avro(data)
        read, found = fastavro().schemaless_reader, []
        while place < len(data):
            count, place = _long(data, place)
            body, place = _text(data, place)
            source = io.BytesIO(zlib.decompress(body, -15))
            found += [read(source, self._parsed, None) for _ in range(count)]
            place += len(_SYNC)
        return found


def read_avro(data: bytes) -> list[Record]:
    """Return the records of a file that anybody wrote."""
    return list(fastavro().reader(io.BytesIO(data)))


def read_header(data: bytes) -> dict[str, bytes]:
    """Return what a file's header says."""
    return _header(data)[0]


def _header(data: bytes) -> tuple[dict[str, bytes], int]:
    """Return what a header says, and where it ends.

    Raises:
        DamagedError: The file doesn't begin as one of Avro's.
    """
    found: dict[str, bytes] = {}
    try:
        if data[: len(_MAGIC)] != _MAGIC:
            raise ValueError("it begins otherwise")
        count, place = _long(data, len(_MAGIC))
        while count:
            if count < 0:
                # A writer may tell the size of the block, so that readers can skip it.
                count, (_, place) = -count, _long(data, place)
            for _ in range(count):
                key, place = _text(data, place)
                found[key.decode()], place = _text(data, place)
            count, place = _long(data, place)
    except (IndexError, ValueError) as error:
        raise DamagedError(
            f"Found metadata for other engines that is none of Avro's files: {error}. Nothing of "
            "the repository needs it: delete the folder iceberg, and it is made again."
        ) from error
    return found, place + len(_SYNC)


def _long(data: bytes, place: int) -> tuple[int, int]:
    """Return a whole number, and where it ends."""
    first = data[place]
    if first < 0x80:
        return (first >> 1) ^ -(first & 1), place + 1
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), place
        shift += 7


def _text(data: bytes, place: int) -> tuple[bytes, int]:
    length, start = _long(data, place)
    if not 0 <= length <= len(data) - start:
        raise ValueError("it ends too early")
    return data[start : start + length], start + length


def fastavro() -> Any:
    """Return the package.

    Raises:
        InputError: It is not installed.
    """
    try:
        import fastavro
    except ImportError as error:
        raise InputError(
            "Writing tables for other engines needs a package that is not installed. "
            "Install it: pip install 'dbt-vcs[iceberg]'"
        ) from error
    return fastavro
