"""Deletions: tombstones as Iceberg's position delete files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

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


class DeletionEntry(NamedTuple):
    """A file of deletions, or a deletion vector, as a manifest lists it.

    Attributes:
        file: What the manifest says of it.
        values: Its partition's values.
        added: The Iceberg snapshot that added it, and its sequence number; None if it is new.
    """

    file: Record
    values: tuple[Any, ...]
    added: tuple[int, int] | None = None


class _Part(NamedTuple):
    """The blocks of one partition that a tombstone deletes from."""

    spec: Spec
    values: tuple[Any, ...]


def delete_manifests(
    files: TableFiles, id: SegmentId, stones: Sequence[Tombstone], find: Blocks
) -> list[Record]:
    """Write the deletions that a segment lists, and manifests of them.

    A delete file is for one partition, as Iceberg demands.

    Args:
        files: The table's files.
        id: The segment.
        stones: Its tombstones.
        find: Finds blocks that they delete from, in any segment of the table.
    """
    blocks = find({path for stone in stones for path in stone.targets})
    read = Files(files.blobs, stones)
    entries: dict[Spec, list[DeletionEntry]] = {}
    for stone in stones:
        for part, targets in _by_partition(files, stone, blocks).items():
            file = _delete_file(files, read, stone, targets, part)
            entries.setdefault(part.spec, []).append(DeletionEntry(file, part.values))
    written = []
    for spec, found in entries.items():
        shape = files.shape(spec.fields, *spec.ids)
        path = files.path("manifests", f"{id}-{shape}-deletes.avro")
        written.append(deletions_manifest(files, path, spec, found))
    return written


def _by_partition(
    files: TableFiles, stone: Tombstone, blocks: Mapping[str, Block]
) -> dict[_Part, list[str]]:
    found: dict[_Part, list[str]] = {}
    for path in sorted(stone.targets, key=files.place.uri):
        spec = files.spec_of(blocks[path])
        # NaN equals nothing, so partitions are told apart by what is written of them.
        found.setdefault(_Part(spec, files.values_of(spec, blocks[path])), []).append(path)
    return found


def _delete_file(
    files: TableFiles, read: Files, stone: Tombstone, targets: Sequence[str], part: _Part
) -> Record:
    """Write one position delete file, and return it as a manifest describes it."""
    uris = [files.place.uri(path) for path in targets]
    name = digest_of([stone.path, uris])
    path = files.path("deletes", f"{name}.parquet")

    def make() -> bytes:
        positions = [np.sort(read.deleted(stone.path, path, stone)[0]) for path in targets]
        numbers = np.repeat(np.arange(len(uris), dtype=np.int32), [len(p) for p in positions])
        paths = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(uris))
        columns = [paths.cast(pa.string()), pa.array(np.concatenate(positions))]
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
        "partition": {f"p{place}": value for place, value in enumerate(part.values)},
        "record_count": sum(stone.targets[path] for path in targets),
        "file_size_in_bytes": files.put(path, make),
        "lower_bounds": [{"key": _FILE, "value": uris[0].encode()}],
        "upper_bounds": [{"key": _FILE, "value": uris[-1].encode()}],
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
        files: The table's files.
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
    old = [item.added[1] for item in found if item.added is not None]
    return {**record, "min_sequence_number": min(old)} if old else record
