"""Deletion vectors: the deleted rows of many files in one, for format version 3."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dbt.adapters.vcs.core.model import Block, Tombstone
from dbt.adapters.vcs.iceberg.avro_files import Record
from dbt.adapters.vcs.iceberg.data_manifests import TableFiles, digest_of
from dbt.adapters.vcs.iceberg.delete_manifests import Blocks, deletions_manifest
from dbt.adapters.vcs.iceberg.manifest_files import Spec
from dbt.adapters.vcs.rows.files.block_reader import Files

_PUFFIN: Final = b"PFA1"
_VECTOR: Final = b"\xd1\xd3\x39\x64"
_COOKIE: Final = 12346
"""What a bitmap without runs begins with, in Roaring's portable format."""

_MOST_LISTED: Final = 4096
_POSITION: Final = 2147483645
"""Iceberg's number of the position of a row."""


class _Vector(NamedTuple):
    uri: str
    block: Block
    rows: int
    bytes: int


def vector_manifests(files: TableFiles, stones: Sequence[Tombstone], find: Blocks) -> list[Record]:
    """Write all deletions of a version as vectors, one for each file, and manifests of them.

    The same deletions are one file, whichever version and branch has them.

    Args:
        files: The table's files.
        stones: All tombstones of the version.
        find: Finds blocks that they delete from.
    """
    blocks = find({path for stone in stones for path in stone.targets})
    state = sorted((stone.path, sorted(stone.targets.items())) for stone in stones)
    name = digest_of([files.place.root, state])
    path = files.path("deletes", f"{name}.puffin")
    rows = {path: sum(stone.targets.get(path, 0) for stone in stones) for path in blocks}
    vectors = [
        _Vector(files.place.uri(path), blocks[path], rows[path], 0) for path in sorted(blocks)
    ]
    read = Files(files.blobs, stones).deletions(stones, blocks)
    parts = [vector_of(read[item.block.path]) for item in vectors]
    vectors = [item._replace(bytes=len(part)) for item, part in zip(vectors, parts, strict=True)]
    size = files.put(path, lambda: _puffin(vectors, parts))
    found: dict[Spec, list[tuple[Record, tuple[Any, ...]]]] = {}
    for item, offset in zip(vectors, _offsets(vectors), strict=True):
        spec = files.spec_of(item.block)
        values = files.values_of(spec, item.block)
        record = {
            "content": 1,
            "file_path": files.place.uri(path),
            "file_format": "PUFFIN",
            "partition": {f"p{place}": value for place, value in enumerate(values)},
            "record_count": item.rows,
            "file_size_in_bytes": size,
            "referenced_data_file": item.uri,
            "content_offset": offset,
            "content_size_in_bytes": item.bytes,
        }
        found.setdefault(spec, []).append((record, values))
    written = []
    for spec, entries in found.items():
        shape = files.shape(spec.fields, *spec.ids)
        manifest = files.path("manifests", f"vectors-{name}-{shape}.avro")
        written.append(deletions_manifest(files, manifest, spec, entries))
    return written


def _offsets(vectors: Iterable[_Vector]) -> Iterator[int]:
    place = len(_PUFFIN)
    for item in vectors:
        yield place
        place += item.bytes


def _puffin(vectors: Sequence[_Vector], parts: Iterable[bytes]) -> bytes:
    """Return a Puffin file of vectors."""
    blobs = [
        {
            "type": "deletion-vector-v1",
            "fields": [_POSITION],
            "snapshot-id": -1,
            "sequence-number": -1,
            "offset": offset,
            "length": item.bytes,
            "properties": {
                "referenced-data-file": item.uri,
                "cardinality": str(item.rows),
            },
        }
        for item, offset in zip(vectors, _offsets(vectors), strict=True)
    ]
    told = {"blobs": blobs, "properties": {"created-by": "dbt-vcs"}}
    footer = json.dumps(told).encode()
    end = footer + struct.pack("<II", len(footer), 0) + _PUFFIN
    return b"".join((_PUFFIN, *parts, _PUFFIN, end))


def vector_of(positions: npt.NDArray[np.int64]) -> bytes:
    """Return a vector of positions, which ascend: length, bitmap of 64 bits, checksum."""
    high = positions >> 32
    body = [_VECTOR, struct.pack("<Q", len(np.unique(high)))]
    for key in np.unique(high):
        low = (positions[high == key] & 0xFFFF_FFFF).astype(np.uint32)
        body += [struct.pack("<I", int(key)), _bitmap(low)]
    data = b"".join(body)
    return struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def _bitmap(values: npt.NDArray[np.uint32]) -> bytes:
    """Return ascending numbers in Roaring's portable format: a container for each 65,536."""
    keys, starts = np.unique(values >> 16, return_index=True)
    groups = np.split((values & 0xFFFF).astype("<u2"), starts[1:])
    bodies = [_container(group) for group in groups]
    heads = [
        struct.pack("<HH", int(key), len(group) - 1)
        for key, group in zip(keys, groups, strict=True)
    ]
    first = 8 + 8 * len(keys)
    offsets = first + np.cumsum([0, *(len(body) for body in bodies[:-1])])
    return b"".join(
        (struct.pack("<II", _COOKIE, len(keys)), *heads, offsets.astype("<u4").tobytes(), *bodies)
    )


def _container(values: npt.NDArray[np.uint16]) -> bytes:
    if len(values) <= _MOST_LISTED:
        return values.tobytes()
    bits = np.zeros(65_536, np.uint8)
    bits[values] = 1
    return np.packbits(bits, bitorder="little").tobytes()
