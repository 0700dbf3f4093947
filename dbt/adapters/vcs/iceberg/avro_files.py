"""Avro files: records that are encoded already, or by a schema, in one block."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

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
        own = {b"avro.codec": b"deflate", b"avro.schema": self._text}
        self._own = b"".join(text(key) + text(value) for key, value in own.items())
        self._facts = len(own)
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
        told = [text(part.encode()) for fact in meta.items() for part in fact]
        parts = [_MAGIC, long(len(meta) + self._facts), *told, self._own, NULL, _SYNC]
        if records:
            # Raw, without the header of zlib.
            deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
            body = deflate.compress(b"".join(records)) + deflate.flush()
            parts += [long(len(records)), text(body), _SYNC]
        return b"".join(parts)

    def records(self, file: AvroFile) -> list[Record]:
        """Return the records of a file, whoever wrote it by whichever schema."""
        data, told, place = file
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


class AvroFile(NamedTuple):
    """A file whose header was read, and its records were not.

    Attributes:
        data: The file.
        meta: What its header says.
        start: Where the records begin.
    """

    data: bytes
    meta: dict[str, bytes]
    start: int


def open_avro(data: bytes) -> AvroFile:
    """Return a file with what its header says.

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
    return AvroFile(data, found, place + len(_SYNC))


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
