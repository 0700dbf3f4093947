"""Avro files: records that are encoded already, or by a schema, in one block."""

from __future__ import annotations

import importlib
import io
import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from dbt.adapters.vcs.core.errors import DamagedError, InputError

Record = dict[str, Any]

_MAGIC: Final = b"Obj\x01"
# The same content has the same bytes.
_SYNC: Final = b"dbt-vcs manifest"
NULL: Final = b"\0"
SOME: Final = b"\2"
"""What an optional value begins with: the first of two types, null, or the second."""
# Bytes of one unpacked block of a client's file; clients write some 64 KB.
_BLOCK: Final = 16 * 2**20

# Bytes that a record takes here, if fewer in the file.
_RECORD: Final = 256

_PRIMITIVES: Final = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
)
# Nearly all numbers of an entry are smaller than 64: a table saves a loop for each.
_BYTES: Final = tuple(bytes([number]) for number in range(0x80))


def long(value: int) -> bytes:
    """Return a whole number as Avro writes it."""
    # Avro's specification: zigzag, so that small negative numbers are short, too; then seven
    # bits a byte, the lowest first.
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
        self._parsed = iceberg_extra("fastavro").parse_schema(schema)

    def encoded(self, records: Iterable[Record]) -> list[bytes]:
        """Return records as Avro writes them."""
        write = iceberg_extra("fastavro").schemaless_writer
        found = []
        for record in records:
            sink = io.BytesIO()
            write(sink, self._parsed, record)
            found.append(sink.getvalue())
        return found

    def file(self, records: list[bytes], meta: Mapping[str, str]) -> bytes:
        """Return a file of encoded records with further facts in its header."""
        # The header is a map: one block of pairs, and a zero for its end.
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
        # Another release may have written the file with other fields.
        if told.get("avro.schema") != self._text or told.get("avro.codec") != b"deflate":
            return read_avro(data)
        read, found = iceberg_extra("fastavro").schemaless_reader, []
        while place < len(data):
            count, place = _long(data, place)
            body, place = _text(data, place)
            source = io.BytesIO(zlib.decompress(body, -15))
            found += [read(source, self._parsed, None) for _ in range(count)]
            place += len(_SYNC)
        return found


def read_avro(data: bytes) -> list[Record]:
    """Return the records of a file that anybody wrote."""
    return list(iceberg_extra("fastavro").reader(io.BytesIO(data)))


def client_records(data: bytes, wanted: Collection[str]) -> Iterator[tuple[Record, int]]:
    """Yield the records of a file that a client wrote, which may be meant to do harm.

    A few bytes can be packed that expand a thousand times, or that say of a list that it has a
    billion items. So blocks are unpacked one by one up to a bound, only fields of plain types are
    read, and the schema may have no lists of what takes no bytes.

    Args:
        data: The file.
        wanted: Names of the fields to read, at both levels of a manifest's entries; others are
            passed over.

    Yields:
        Each record, with the bytes that it takes unpacked, 256 at least.

    Raises:
        ValueError: The file is none of Avro's, or is one that isn't read; the message says why.
    """
    try:
        file = open_avro(data)
    except DamagedError:
        raise ValueError("it begins otherwise") from None
    written = json.loads(file.meta.get("avro.schema", b"null"))
    read = iceberg_extra("fastavro").schemaless_reader
    schema, projected = (
        iceberg_extra("fastavro").parse_schema(item)
        for item in (written, _wanted_schema(written, wanted))
    )
    # A list of a billion items without bytes is a few bytes long.
    _check_items(schema)
    codec = file.meta.get("avro.codec", b"null")
    place = file.start
    while place < len(data):
        count, place = _long(data, place)
        packed, place = _text(data, place)
        body = _unpacked_block(packed, codec)
        source, place, end = io.BytesIO(body), place + len(_SYNC), 0
        for _ in range(count):
            # By both schemas: the reader skips what is not wanted, and builds nothing of it.
            record = read(source, schema, projected)
            start, end = end, source.tell()
            if start == end:
                raise ValueError("it has records without bytes")
            yield record, max(end - start, _RECORD)


def _unpacked_block(packed: bytes, codec: bytes) -> bytes:
    if codec not in (b"null", b"deflate"):
        raise ValueError(
            f"it is packed as {codec.decode(errors='replace')!r}. Set the table's property "
            "write.avro.compression-codec to gzip or uncompressed"
        )
    body = packed
    if codec == b"deflate":
        try:
            # One byte more than is allowed shows that there is more, and no more is unpacked.
            body = zlib.decompressobj(-15).decompress(packed, _BLOCK + 1)
        except zlib.error as error:
            raise ValueError(str(error)) from None
    if len(body) > _BLOCK:
        raise ValueError(f"it has a block of more than {_BLOCK >> 20} MiB")
    return body


def _wanted_schema(schema: Any, wanted: Collection[str]) -> Record:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(fields, list) or schema.get("type") != "record":
        raise ValueError("its schema is no record")
    kept = [
        {**field, "type": _wanted_schema(field["type"], wanted)}
        if field["name"] == "data_file"
        else field
        for field in fields
        if isinstance(field, dict) and field.get("name") in wanted
    ]
    for field in kept:
        if field["name"] != "data_file" and not _is_plain(field["type"]):
            raise ValueError(f"its field {field['name']} has the type {field['type']!r}")
    return {**schema, "fields": kept}


def _is_plain(type_: Any) -> bool:
    """Return whether values of a type are no larger than a few times their bytes."""
    if isinstance(type_, list):
        return all(map(_is_plain, type_))
    if isinstance(type_, dict):
        items = type_.get("items") if type_.get("type") == "array" else type_.get("type")
        while isinstance(items, dict):
            items = items.get("type")
        return isinstance(items, str) and items in _PRIMITIVES
    # A name stands for a type that was defined before, of whatever size.
    return isinstance(type_, str) and type_ in _PRIMITIVES


def _check_items(type_: Any) -> None:
    """Check that no list in a schema has items that take no bytes."""
    if isinstance(type_, list):
        for item in type_:
            _check_items(item)
    elif isinstance(type_, dict):
        kind = type_.get("type")
        if kind == "array" and not _has_bytes(type_["items"]):
            raise ValueError("it has a list of items without bytes")
        for part in (kind, type_.get("items"), type_.get("values")):
            if isinstance(part, dict | list):
                _check_items(part)
        for field in type_.get("fields", ()):
            _check_items(field["type"])


def _has_bytes(type_: Any) -> bool:
    if isinstance(type_, dict):
        kind = type_.get("type")
        if kind == "record":
            return any(_has_bytes(field["type"]) for field in type_["fields"])
        return bool(type_.get("size")) if kind == "fixed" else _has_bytes(kind)
    # A union says which it is. A name of another type may be that of nothing.
    return isinstance(type_, list) or type_ in _PRIMITIVES - {"null"} | {"array", "map", "enum"}


class AvroFile(NamedTuple):
    """A file whose header was read, and its records were not.

    Attributes:
        meta: What its header says.
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


def iceberg_extra(name: str) -> Any:
    """Return a package of the extra `iceberg`.

    Raises:
        InputError: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            "Writing tables for other engines needs a package that is not installed. "
            "Install it: pip install 'dbt-vcs[iceberg]'"
        ) from error
