"""Deletion vectors: the deleted rows of many files in one, for format version 3."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.model import Block, Tombstone
from dbt.adapters.vcs.iceberg.avro_files import Record
from dbt.adapters.vcs.iceberg.data_manifests import TableFiles, digest_of
from dbt.adapters.vcs.iceberg.delete_manifests import (
    Blocks,
    DeletionEntry,
    deletions_manifest,
)
from dbt.adapters.vcs.iceberg.manifest_files import Spec
from dbt.adapters.vcs.iceberg.puffin_files import (
    VectorPlace,
    placed,
    puffin_bytes,
    vector_bytes,
)
from dbt.adapters.vcs.table.files.block_reader import Files

_MOST: Final = 16
"""Manifests of earlier versions that are listed as they are; the vectors of others move to one."""


class _Vector(NamedTuple):
    """A vector in a Puffin file.

    Attributes:
        puffin: URI of the file.
        size: Its length.
        place: Where the vector is in it.
        added: The Iceberg snapshot that added it, and its sequence number; None if it is new.
    """

    puffin: str
    size: int
    place: VectorPlace
    added: tuple[int, int] | None = None


def vector_manifests(
    files: TableFiles,
    stones: Sequence[Tombstone],
    find: Blocks,
    before: Sequence[Tombstone] = (),
    base: Sequence[Record] = (),
) -> list[Record]:
    """Return manifests of a version's deletions as vectors, one for each file; write new ones.

    A vector stays where it is, and as old as it is, until its file loses another row: clients
    leave a vector out by its place, and take one that is new for a change of its file.

    Args:
        files: The table's files.
        stones: All tombstones of the version.
        find: Finds blocks that they delete from.
        before: The tombstones of the version before.
        base: What the list of that version says of the manifests of its vectors; empty if they
            mean nothing here.
    """
    wanted, had = _deleting(stones), _deleting(before)
    if base and wanted == had:
        return list(base)
    same = {path for path, by in wanted.items() if had.get(path) == by}
    kept: list[Record] = []
    again: dict[str, _Vector] = {}
    stay: set[str] = set()
    for manifest in base:
        vectors = _listed(files, manifest)
        if vectors and vectors.keys() <= same and len(kept) < _MOST:
            kept.append(manifest)
            stay |= vectors.keys()
        else:
            again |= {path: vector for path, vector in vectors.items() if path in same}
    new = sorted(wanted.keys() - stay - again.keys())
    if new:
        again |= _written(files, stones, new)
    return kept + _manifests(files, again, find(again))


def _deleting(stones: Iterable[Tombstone]) -> dict[str, list[str]]:
    """Return which tombstones delete from each block, by path."""
    found: dict[str, list[str]] = {}
    for stone in sorted(stones, key=lambda stone: stone.path):
        for path in stone.targets:
            found.setdefault(path, []).append(stone.path)
    return found


def _listed(files: TableFiles, manifest: Record) -> dict[str, _Vector]:
    """Return the vectors of a manifest by the path of their data file."""
    found = {}
    for item in files.entries(manifest):
        file = item["data_file"]
        place = VectorPlace(
            str(file["referenced_data_file"]),
            int(file["record_count"]),
            int(file["content_offset"]),
            int(file["content_size_in_bytes"]),
        )
        snapshot = item["snapshot_id"] or manifest["added_snapshot_id"]
        number = item["sequence_number"] or manifest["sequence_number"]
        found[files.path_of(place.uri)] = _Vector(
            str(file["file_path"]), int(file["file_size_in_bytes"]), place, (snapshot, number)
        )
    return found


def _written(
    files: TableFiles,
    stones: Sequence[Tombstone],
    blocks: Sequence[str],
) -> dict[str, _Vector]:
    """Write one Puffin file with the vectors of blocks, and return them by path.

    The same deletions are one file, whichever version and branch has them.
    """
    read = Files(files.blobs, stones).deletions(stones, blocks)
    vectors = [vector_bytes(read[path]) for path in blocks]
    parts = zip(blocks, vectors, strict=True)
    places = list(placed((files.place.uri(path), len(read[path]), part) for path, part in parts))
    data = puffin_bytes(places, vectors)
    # Named for its bytes: the places hold in no other file of the same deletions.
    puffin = files.path("deletes", f"{hashlib.sha256(data).hexdigest()[:32]}.puffin")
    size = files.put(puffin, lambda: data)
    uri = files.place.uri(puffin)
    return {path: _Vector(uri, size, at) for path, at in zip(blocks, places, strict=True)}


def _manifests(
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
