"""Deletions: tombstones as position delete files, or in version 3 as deletion vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.ids import SegmentId
from dbt.adapters.vcs.core.model import Block, Tombstone
from dbt.adapters.vcs.iceberg.avro_files import Record
from dbt.adapters.vcs.iceberg.data_manifests import TableFiles, digest_of, listed
from dbt.adapters.vcs.iceberg.manifest_files import (
    ADDED,
    DELETES,
    EXISTING,
    Spec,
    entry,
    manifest_bytes,
    manifest_schema,
)
from dbt.adapters.vcs.iceberg.puffin_files import VectorPlace, placed, puffin_bytes, vector_bytes
from dbt.adapters.vcs.table.files.block_reader import Files

_FILE: Final = 2147483546
_POSITION: Final = 2147483545
"""Iceberg's own numbers of the two columns."""

_SCHEMA: Final = pa.schema(
    [
        pa.field("file_path", pa.string(), False, {"PARQUET:field_id": str(_FILE)}),
        pa.field("pos", pa.int64(), False, {"PARQUET:field_id": str(_POSITION)}),
    ]
)

Blocks = Callable[[Iterable[str]], Mapping[str, Block]]
"""Finds blocks by path."""

_Part: TypeAlias = tuple[Spec, tuple[Any, ...]]
"""A partition: how its blocks are partitioned, and its values."""


class DeletionEntry(NamedTuple):
    """A file of deletions, or a deletion vector, as a manifest lists it.

    Attributes:
        values: Its partition's values.
        added: The Iceberg snapshot that added it, and its sequence number; None if it is new.
    """

    file: Record
    values: tuple[Any, ...]
    added: tuple[int, int] | None = None


def delete_manifests(
    files: TableFiles, id: SegmentId, tombstones: Sequence[Tombstone], find: Blocks
) -> list[Record]:
    """Write the deletions that a segment lists, and manifests of them.

    A delete file is for one partition, as Iceberg demands.

    Args:
        find: Finds blocks that they delete from, in any segment of the table.
    """
    blocks = find({path for tombstone in tombstones for path in tombstone.targets})
    read = Files(files.blobs, tombstones)
    entries: dict[Spec, list[DeletionEntry]] = {}
    for tombstone in tombstones:
        for part, targets in _by_partition(files, tombstone, blocks).items():
            spec, values = part
            file = _delete_file(files, read, tombstone, targets, values)
            entries.setdefault(spec, []).append(DeletionEntry(file, values))
    written = []
    for spec, found in entries.items():
        shape = files.shape(spec.fields, *spec.ids)
        path = files.path("manifests", f"{id}-{shape}-deletes.avro")
        written.append(deletions_manifest(files, path, spec, found))
    return written


def _by_partition(
    files: TableFiles, tombstone: Tombstone, blocks: Mapping[str, Block]
) -> dict[_Part, list[str]]:
    found: dict[_Part, list[str]] = {}
    # Rows of a position delete file are in the order of path and position.
    for path in sorted(tombstone.targets, key=files.place.uri):
        spec = files.spec_of(blocks[path])
        values = files.values_of(spec, blocks[path])
        # NaN equals nothing: blocks of that partition have a file each, which is allowed.
        found.setdefault((spec, values), []).append(path)
    return found


def _delete_file(
    files: TableFiles,
    read: Files,
    tombstone: Tombstone,
    targets: Sequence[str],
    values: tuple[Any, ...],
) -> Record:
    """Write one position delete file, and return it as a manifest describes it."""
    uris = [files.place.uri(path) for path in targets]
    # Named for what it says, so all versions that have the tombstone share the file.
    name = digest_of([tombstone.path, uris])
    path = files.path("deletes", f"{name}.parquet")

    def make() -> bytes:
        positions = [np.sort(read.deleted(tombstone.path, path, tombstone)[0]) for path in targets]
        numbers = np.repeat(np.arange(len(uris), dtype=np.int32), [len(p) for p in positions])
        paths = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(uris))
        columns = [paths.cast(pa.string()), pa.array(np.concatenate(positions))]
        # Arrow leaves checksums of pages out by default, and readers can't find flipped bits
        # without.
        sink = pa.BufferOutputStream()
        pq.write_table(
            pa.table(columns, schema=_SCHEMA), sink, store_schema=False, write_page_checksum=True
        )
        data: bytes = sink.getvalue().to_pybytes()
        return data

    return {
        "content": 1,
        "file_path": files.place.uri(path),
        "file_format": "PARQUET",
        "partition": {f"p{place}": value for place, value in enumerate(values)},
        "record_count": sum(tombstone.targets[path] for path in targets),
        "file_size_in_bytes": files.put(path, make),
        # Readers leave out files of deletions whose bounds the data file is not within.
        "lower_bounds": [{"key": _FILE, "value": uris[0].encode()}],
        "upper_bounds": [{"key": _FILE, "value": uris[-1].encode()}],
        # Said only if there is one: readers take it for the only file.
        "referenced_data_file": uris[0] if len(uris) == 1 else None,
    }


def deletions_manifest(
    files: TableFiles,
    path: str,
    spec: Spec,
    found: Sequence[DeletionEntry],
) -> Record:
    """Write a manifest of files that delete rows, and return it as manifest lists show it.

    Args:
        path: The manifest; its name is of what it holds.
        spec: What the table is partitioned by there.
        found: The files.
    """

    def make() -> bytes:
        entries = (entry(item.file, item.added) for item in found)
        return manifest_bytes(
            spec,
            manifest_schema(spec, files.version).encoded(entries),
            content=DELETES,
            columns=spec.fields,
            version=files.version,
        )

    counts = {ADDED: [0, 0], EXISTING: [0, 0]}
    for item in found:
        count = counts[ADDED if item.added is None else EXISTING]
        count[0] += 1
        count[1] += item.file["record_count"]
    values = [item.values for item in found]
    record = listed(files, path, files.put(path, make), spec, DELETES, counts, values)
    # A vector that stays is older than a manifest that lists it again.
    old = [item.added[1] for item in found if item.added is not None]
    return {**record, "min_sequence_number": min(old)} if old else record


# Manifests of earlier versions that are listed as they are; the vectors of others move to one.
_MOST: Final = 16


class _Vector(NamedTuple):
    """A vector in a Puffin file.

    Attributes:
        puffin: URI of the file.
        size: Its length.
        added: The Iceberg snapshot that added it, and its sequence number; None if it is new.
    """

    puffin: str
    size: int
    place: VectorPlace
    added: tuple[int, int] | None = None


def vector_manifests(
    files: TableFiles,
    tombstones: Sequence[Tombstone],
    find: Blocks,
    before: Sequence[Tombstone] = (),
    base: Sequence[Record] = (),
) -> list[Record]:
    """Return manifests of a version's deletions as vectors, one for each file; write new ones.

    A vector stays where it is, and as old as it is, until its file loses another row: clients
    leave a vector out by its place, and take one that is new for a change of its file.

    Args:
        tombstones: All tombstones of the version.
        before: The tombstones of the version before.
        base: What the list of that version says of the manifests of its vectors; empty if they
            mean nothing here.
    """
    wanted, had = _tombstones_by_block(tombstones), _tombstones_by_block(before)
    if base and wanted == had:
        return list(base)
    # A block is the same file for ever, so the same tombstones delete the same rows of it.
    same = {path for path, by in wanted.items() if had.get(path) == by}
    kept: list[Record] = []
    again: dict[str, _Vector] = {}
    stay: set[str] = set()
    for manifest in base:
        vectors = _listed_vectors(files, manifest)
        if vectors and vectors.keys() <= same and len(kept) < _MOST:
            kept.append(manifest)
            stay |= vectors.keys()
        else:
            again |= {path: vector for path, vector in vectors.items() if path in same}
    new = sorted(wanted.keys() - stay - again.keys())
    if new:
        again |= _write_vectors(files, tombstones, new)
    return kept + _write_manifests(files, again, find(again))


def _tombstones_by_block(tombstones: Iterable[Tombstone]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for tombstone in sorted(tombstones, key=lambda tombstone: tombstone.path):
        for path in tombstone.targets:
            found.setdefault(path, []).append(tombstone.path)
    return found


def _listed_vectors(files: TableFiles, manifest: Record) -> dict[str, _Vector]:
    found = {}
    for item in files.entries(manifest):
        file = item["data_file"]
        place = VectorPlace(
            str(file["referenced_data_file"]),
            int(file["record_count"]),
            int(file["content_offset"]),
            int(file["content_size_in_bytes"]),
        )
        # NULL is what the manifest has: it was new when it was written.
        snapshot = item["snapshot_id"] or manifest["added_snapshot_id"]
        number = item["sequence_number"] or manifest["sequence_number"]
        found[files.path_of(place.uri)] = _Vector(
            str(file["file_path"]), int(file["file_size_in_bytes"]), place, (snapshot, number)
        )
    return found


def _write_vectors(
    files: TableFiles,
    tombstones: Sequence[Tombstone],
    blocks: Sequence[str],
) -> dict[str, _Vector]:
    """Write one Puffin file with the vectors of blocks, and return them by path.

    The same deletions are one file, whichever version and branch has them.
    """
    read = Files(files.blobs, tombstones).deletions(tombstones, blocks)
    vectors = [vector_bytes(read[path]) for path in blocks]
    parts = zip(blocks, vectors, strict=True)
    places = list(placed((files.place.uri(path), len(read[path]), part) for path, part in parts))
    data = puffin_bytes(places, vectors)
    # Named for its bytes: the places hold in no other file of the same deletions.
    puffin = files.path("deletes", f"{hashlib.sha256(data).hexdigest()[:32]}.puffin")
    size = files.put(puffin, lambda: data)
    uri = files.place.uri(puffin)
    return {path: _Vector(uri, size, at) for path, at in zip(blocks, places, strict=True)}


def _write_manifests(
    files: TableFiles, vectors: Mapping[str, _Vector], blocks: Mapping[str, Block]
) -> list[Record]:
    """Write manifests of vectors, one for each way in which their blocks are partitioned."""
    found: dict[Spec, list[DeletionEntry]] = {}
    ordered = sorted(vectors.items())
    for path, vector in ordered:
        spec = files.spec_of(blocks[path])
        values = files.values_of(spec, blocks[path])
        file = {
            "content": 1,
            "file_path": vector.puffin,
            "file_format": "PUFFIN",
            "partition": {f"p{number}": value for number, value in enumerate(values)},
            "record_count": vector.place.rows,
            "file_size_in_bytes": vector.size,
            "referenced_data_file": vector.place.uri,
            "content_offset": vector.place.offset,
            "content_size_in_bytes": vector.place.bytes,
        }
        found.setdefault(spec, []).append(DeletionEntry(file, values, vector.added))
    written = []
    state = digest_of([(vector.puffin, vector.place, vector.added) for _, vector in ordered])
    for spec, entries in found.items():
        name = f"vectors-{state}-{files.shape(spec.fields, *spec.ids)}.avro"
        written.append(deletions_manifest(files, files.path("manifests", name), spec, entries))
    return written
