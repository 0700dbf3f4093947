"""Codec: values as canonical JSON, with a content hash that covers kind and version."""

from __future__ import annotations

import gc
import hashlib
from typing import Any, Final, TypeVar, cast

import msgspec
import zstandard

from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.model.snapshot import Schema, Segment, Snapshot
from dbt.adapters.vcs.core.model.tree import (
    EARLIEST,
    LATEST,
    Commit,
    Function,
    SchemaTree,
    Tree,
    Value,
    View,
)

_TIMES: Final = ("at", "committed_at", "created_at")

OBJECT_VERSION: Final = 1
"""Version of the encoding of objects, which is part of every id."""

COMPRESS_ABOVE: Final = 4_096
"""Objects longer than this many bytes are stored zstd-compressed."""

MAX_BYTES: Final = 256 * 2**20
"""Length of an object, uncompressed: nobody writes longer ones, and none are read."""

# Bytes of JSON from which on Python's garbage collector is kept from walking what it becomes.
_LARGE: Final = 64 * 1024

UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What JSON raises that does not parse, is not UTF-8, or is nested too deeply."""

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_KINDS: Final[dict[type[Value], str]] = {
    Commit: "commit",
    # Both levels are trees in the store; the empty one is a single object.
    Tree: "tree",
    SchemaTree: "tree",
    Snapshot: "snapshot",
    Segment: "segment",
    View: "view",
    Function: "function",
}
_PARTS: Final = 16
# Bytes of each of the parts that stand for the whole of many bytes.
_PART: Final = 4096

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_DECODERS: Final[dict[type[Value], msgspec.json.Decoder[Any]]] = {
    kind: msgspec.json.Decoder(kind) for kind in _KINDS
}

V = TypeVar("V", bound=Value)


def kind_of(type_: type[Value]) -> str:
    """Return the folder name of a type of object: `commit`, `tree`, `snapshot`, ..."""
    return _KINDS[type_]


def encode(value: Value) -> tuple[str, bytes]:
    """Return an object's id and its canonical bytes, uncompressed.

    Canonical: UTF-8 JSON, sorted keys, no white space, without fields at their default.

    Raises:
        InputError: Its time is not in the years 1 to 9999, so nobody could read it.
    """
    _check_time(value)
    data = _ENCODER.encode(value)
    return _hash(_KINDS[type(value)], data), data


def decode(type_: type[V], id: str, stored: bytes) -> V:
    """Decode an object from stored bytes; see `decode_unpacked`."""
    return decode_unpacked(type_, id, unpack(stored, f"{_KINDS[type_]} {id}"))


def decode_unpacked(type_: type[V], id: str, data: bytes) -> V:
    """Decode an object from its canonical bytes.

    Raises:
        DamagedError: The bytes don't hash to `id`, or don't parse.
    """
    kind = _KINDS[type_]
    # The hash is of unpacked bytes, so an object keeps its id however it is compressed.
    if _hash(kind, data) != id:
        raise DamagedError(
            f"The {kind} {id} is damaged: its bytes hash to another id. "
            "Restore the object from a backup of the repository."
        )
    try:
        return cast(V, _parsed(_DECODERS[type_], data))
    except UNREADABLE as error:
        raise DamagedError(f"The {kind} {id} does not parse: {error}.") from error


def decoded_size(data: bytes) -> int:
    """Estimate what the value of some uncompressed bytes takes in memory, in bytes.

    It counts the marks of JSON, each of which stands for an object of Python: 0.9 to 2 times what
    was measured, from 2.5 times the bytes for paths alone to 7 times for bounds of small numbers.
    Of many bytes it counts some parts, since counting all takes as long as parsing.
    """
    seen = data
    if len(data) > 2 * _PARTS * _PART:
        step = len(data) // _PARTS
        seen = b"".join(data[n * step : n * step + _PART] for n in range(_PARTS))
    marks = 24 * seen.count(b",") + 56 * seen.count(b":")
    marks += 64 * (seen.count(b"[") + seen.count(b"{"))
    return len(data) + marks * len(data) // max(1, len(seen))


def _parsed(decoder: msgspec.json.Decoder[Any], data: bytes) -> Any:
    # Garbage collection would scan the many new blocks again and again.
    if len(data) < _LARGE or not gc.isenabled():
        return decoder.decode(data)
    gc.disable()
    try:
        return decoder.decode(data)
    finally:
        gc.enable()


def pack(data: bytes) -> bytes:
    """Return the bytes to store, compressed if that is worth it.

    Raises:
        InputError: The object is too large to be read again.
    """
    if len(data) <= COMPRESS_ABOVE:
        return data
    if len(data) > MAX_BYTES:
        raise InputError(
            f"An object of {len(data):,} bytes can't be stored, at most {MAX_BYTES:,} are "
            "allowed. Shorten comments and texts, or store fewer relations in one schema."
        )
    # Most of it is digests and numbers: higher levels take longer and don't find more.
    return zstandard.ZstdCompressor(level=1).compress(data)


def unpack(stored: bytes, name: str) -> bytes:
    """Undo `pack`; `name` is for the error message.

    Raises:
        DamagedError: The bytes are a broken zstd frame, or more than one, or one that does not
            tell how long its content is, or that is longer than any object.
    """
    if not stored.startswith(_ZSTD_MAGIC):
        return stored
    try:
        # Whoever decompresses first and looks then has lost the memory already.
        size = zstandard.frame_content_size(stored)
        if not 0 <= size <= MAX_BYTES:
            told = "does not tell its length" if size < 0 else f"holds {size:,} bytes"
            raise DamagedError(
                f"The {name} is damaged: its compressed form {told}, and an object has at most "
                f"{MAX_BYTES:,} bytes. Restore it from a backup of the repository."
            )
        return zstandard.ZstdDecompressor().decompress(stored, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise DamagedError(
            f"The {name} is damaged: {error}. Restore it from a backup of the repository."
        ) from error


def encode_record(record: Value) -> bytes:
    """Return the canonical bytes of a value that has no id, such as a ref move.

    Raises:
        InputError: Its time is not in the years 1 to 9999, so nobody could read it.
    """
    _check_time(record)
    return _ENCODER.encode(record)


def decode_record(type_: type[V], data: bytes, name: str) -> V:
    """Return the value of a record; `name` is for the error message.

    Raises:
        DamagedError: The bytes don't parse.
    """
    try:
        return msgspec.json.decode(data, type=type_)
    except UNREADABLE as error:
        raise DamagedError(
            f"The file {name} does not parse: {error}. Restore it from a backup of the repository."
        ) from error


def _check_time(value: Value) -> None:
    # msgspec checks bounds only when it decodes.
    for name in _TIMES:
        time = getattr(value, name, EARLIEST)
        if isinstance(time, int) and not EARLIEST <= time <= LATEST:
            raise InputError(
                f"A {type(value).__name__} would be stored with the time {time} (microseconds "
                "since 1970), and times are in the years 1 to 9999. Nothing was changed. Set this "
                "machine's clock, and check what was committed last: dbt-vcs reflog."
            )


def _hash(kind: str, data: bytes) -> str:
    # Kind and version first, as in git: no bytes are objects of two kinds.
    return hashlib.sha256(b"vcs%d %s\n" % (OBJECT_VERSION, kind.encode()) + data).hexdigest()


def rows_digest(snapshot: Snapshot) -> str:
    """Return a digest of the columns and rows of a table's version.

    It covers columns, partitioning and the ids of the segments. Versions with the same rows in
    other files have other digests.
    """
    # Decision 30: not the version's id, which also says when it was made and by whom.
    refs = [ref.id for ref in snapshot.segments]
    return digest_of_values(schema_text(snapshot.schema), refs, snapshot.partition_by)


def table_digest(snapshot: Snapshot) -> str:
    """Return a digest of everything that a statement that changes a table can depend on."""
    return digest_of_values(
        rows_digest(snapshot),
        snapshot.primary_key,
        snapshot.cluster_by,
        snapshot.comment,
        sorted(snapshot.properties.items()),
    )


def is_same_table(one: Snapshot, other: Snapshot) -> bool:
    """Return whether two versions differ in nothing but their past and who made them."""
    return one.consumption == other.consumption and table_digest(one) == table_digest(other)


def digest_of_values(*parts: Any) -> str:
    """Return a digest of plain values."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def schema_text(schema: Schema) -> str:
    """Return a table's columns as one text."""
    return encode_record(schema).decode()
