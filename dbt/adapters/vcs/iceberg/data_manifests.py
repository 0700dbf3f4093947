"""Data manifests: a segment's blocks as Iceberg lists them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.ids import SegmentId, field_number
from dbt.adapters.vcs.core.model import Block, Field, Snapshot
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.iceberg.avro_files import (
    NULL,
    SOME,
    AvroSchema,
    Record,
    long,
    read_avro,
    text,
)
from dbt.adapters.vcs.iceberg.iceberg_types import (
    Encoder,
    lower_encoder_of,
    partition_value,
    upper_encoder_of,
    value_bytes,
)
from dbt.adapters.vcs.iceberg.manifest_files import (
    ADDED,
    DATA,
    DATA_SEQUENCE,
    DELETED,
    DELETES,
    EXISTING,
    Spec,
    manifest_bytes,
    part_schema,
)
from dbt.adapters.vcs.iceberg.metadata_files import MetadataPlace, PendingFiles, folder_of_table

# Stands for the Iceberg snapshot that first lists a manifest, until it is known.
_INHERITED: Final = -1


class TableFiles:
    """The metadata files of one table: names them, writes them once, describes them.

    Attributes:
        blobs: The store, to read the table's rows.
        place: Where they lie.
        version: Format version of the table.
        fields: The table's columns by field id.
    """

    def __init__(
        self, files: PendingFiles, place: MetadataPlace, snapshot: Snapshot, version: int
    ) -> None:
        self.place = place
        self.version = version
        self.fields = {field.id: field for field in snapshot.schema.fields}
        self.blobs = files.stored
        self._files = files
        self._folder = folder_of_table(snapshot.table)
        self._specs: dict[tuple[str, ...], Spec] = {}

    def entries(self, manifest: Record) -> list[Record]:
        """Return the entries of a manifest, given what a list says of it.

        There is none if a collection that was stopped has deleted the manifest before its list.
        """
        try:
            data = self._files.get(self.path_of(str(manifest["manifest_path"])))
        except NotFoundError:
            return []
        return read_avro(data)

    def path_of(self, uri: str) -> str:
        """Return the path of a file of the repository, relative to it."""
        return uri.removeprefix(self.place.uri(""))

    def path(self, kind: str, name: str) -> str:
        """Return the path of a file in the table's folder."""
        # Decision 37: a name that a collection condemned gets a second one.
        return self._files.condemned.free(f"{self._folder}/{kind}/{name}")

    def is_free(self, manifest: Record) -> bool:
        """Return whether no collection has condemned a manifest that a list names."""
        return self.path_of(str(manifest["manifest_path"])) not in self._files.condemned

    def spec_of(self, block: Block) -> Spec:
        """Return how a block is partitioned, as far as the table has the columns."""
        # A column that was dropped is in no schema, so nothing can be partitioned by it.
        # Sorted, since the number of a spec is a hash of its columns (decision 21).
        ids = tuple(sorted(id for id in block.partition if id in self.fields))
        found = self._specs.get(ids)
        if found is None:
            found = self._specs[ids] = Spec(tuple(self.fields[id] for id in ids))
        return found

    @property
    def specs(self) -> Iterable[Spec]:
        """All ways in which the blocks seen so far are partitioned."""
        return self._specs.values()

    def values_of(self, spec: Spec, block: Block) -> tuple[Any, ...]:
        """Return a block's partition values as Avro has them."""
        return tuple(partition_value(field, block.partition[field.id]) for field in spec.fields)

    def shape(self, columns: Iterable[Field], *more: str) -> str:
        """Return a digest of all that a manifest's bytes depend on besides its segment."""
        types = [(field.id, field.type) for field in columns]
        return digest_of([self.place.root, self.version, types, *more])

    def put(self, path: str, make: Callable[[], bytes]) -> int:
        """Let a file be written unless it is there, and return its size."""
        try:
            return self._files.use(path)
        # Nothing is encoded where the file is there: its name says what is in it.
        except NotFoundError:
            data = make()
        self._files.add(path, data)
        return len(data)


def digest_of(value: Any) -> str:
    """Return a short digest of a JSON value."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:16]


def data_manifests(
    files: TableFiles,
    id: SegmentId,
    blocks: Sequence[Block],
    *,
    kept: Collection[str] = (),
    before: int | None = None,
    rows: Mapping[str, int] = MappingProxyType({}),
) -> list[Record]:
    """Write a segment's manifests, one for each way in which its blocks are partitioned.

    They belong to no version, since everything that lists them says which one added them, except
    those of a segment some of whose blocks were in other segments before.

    Args:
        kept: Paths of the blocks that were there before.
        before: The Iceberg snapshot before; None unless `kept` has some.
        rows: Numbers of first rows by path, which these keep in format version 3.
    """
    found = []
    for spec, part in _by_spec(files, blocks).items():
        columns = _columns(files, part)
        old = sorted(block.path for block in part if block.path in kept)
        # The rest of what the bytes depend on: versions that say the same of these blocks share a
        # file.
        more = [] if before is None else [str(before), *old, *_numbers(rows, old)]
        shape = files.shape(columns, *spec.ids, *more)
        path = files.path("manifests", f"{id}-{shape}.avro")
        marked = [(block, EXISTING if block.path in kept else ADDED) for block in part]
        found.append(_write_manifest(files, path, spec, columns, marked, before, rows))
    return found


def first_rows(files: TableFiles, manifests: Iterable[Record]) -> dict[str, int]:
    """Return the numbers of the first rows of blocks by path, in format version 3.

    A block without a number has that of its manifest, after the rows of those before it.

    Args:
        manifests: What a manifest list says of data manifests.
    """
    found: dict[str, int] = {}
    for manifest in manifests:
        # Specification, "First Row ID Inheritance".
        next_row = int(manifest["first_row_id"])
        for item in files.entries(manifest):
            file = item["data_file"]
            row = file["first_row_id"]
            if row is None and item["status"] != DELETED:
                row, next_row = next_row, next_row + int(file["record_count"])
            if row is not None:
                found[files.path_of(str(file["file_path"]))] = int(row)
    return found


def removed_manifests(
    files: TableFiles, blocks: Sequence[Block], after: int, rows: Mapping[str, int]
) -> list[Record]:
    """Write manifests that tell which blocks a version no longer has; see `data_manifests`."""
    found = []
    for spec, part in _by_spec(files, blocks).items():
        columns = _columns(files, part)
        paths = [block.path for block in part]
        gone = digest_of([after, *paths, *_numbers(rows, paths)])
        path = files.path("manifests", f"removed-{gone}-{files.shape(columns, *spec.ids)}.avro")
        marked = [(block, DELETED) for block in part]
        found.append(_write_manifest(files, path, spec, columns, marked, after, rows))
    return found


def _numbers(rows: Mapping[str, int], paths: Iterable[str]) -> list[str]:
    return [str(rows[path]) for path in paths if path in rows]


def _by_spec(files: TableFiles, blocks: Iterable[Block]) -> dict[Spec, list[Block]]:
    found: dict[Spec, list[Block]] = {}
    for block in blocks:
        found.setdefault(files.spec_of(block), []).append(block)
    return found


def _columns(files: TableFiles, blocks: Iterable[Block]) -> list[Field]:
    """Return the columns that some of the blocks say something about."""
    # A manifest depends on no other columns, so it stays when one is added.
    ids = {id for block in blocks for part in (block.stats, block.partition) for id in part}
    return [field for id, field in files.fields.items() if id in ids]


def _write_manifest(
    files: TableFiles,
    path: str,
    spec: Spec,
    columns: Sequence[Field],
    blocks: Sequence[tuple[Block, int]],
    snapshot: int | None,
    rows: Mapping[str, int],
) -> Record:
    """Write a manifest, and return what a manifest list says of it."""
    values = [files.values_of(spec, block) for block, _ in blocks]

    def make() -> bytes:
        encode = DataEntries(files.place.root, spec, columns, files.version).of
        entries = [
            # What is added inherits its snapshot and rows: other versions list the manifest, too.
            encode(block, part, status, None, None)
            if status == ADDED
            else encode(block, part, status, snapshot, rows.get(block.path))
            for (block, status), part in zip(blocks, values, strict=True)
        ]
        return manifest_bytes(spec, entries, content=DATA, columns=columns, version=files.version)

    counts = {status: [0, 0] for status in (ADDED, EXISTING, DELETED)}
    for block, status in blocks:
        counts[status][0] += 1
        counts[status][1] += block.rows
    return listed(files, path, files.put(path, make), spec, DATA, counts, values)


def listed(
    files: TableFiles,
    path: str,
    size: int,
    spec: Spec,
    content: int,
    counts: Mapping[int, Sequence[int]],
    values: Sequence[tuple[Any, ...]],
) -> Record:
    """Return what a manifest list says of a manifest, but for who added it and when."""
    # Deletions inherit the number of the version that adds them; they apply to all files.
    found: Record = {
        "manifest_path": files.place.uri(path),
        "manifest_length": size,
        "partition_spec_id": spec.number,
        "content": content,
        "sequence_number": _INHERITED if content == DELETES else DATA_SEQUENCE,
        "min_sequence_number": _INHERITED if content == DELETES else DATA_SEQUENCE,
        "added_snapshot_id": _INHERITED,
        "partitions": [
            _summary(field, [value[place] for value in values])
            for place, field in enumerate(spec.fields)
        ],
    }
    for status, word in ((ADDED, "added"), (EXISTING, "existing"), (DELETED, "deleted")):
        files_count, rows = counts.get(status, (0, 0))
        found |= {f"{word}_files_count": files_count, f"{word}_rows_count": rows}
    return found


def stamped(manifest: Record, snapshot: int, sequence: int) -> Record:
    """Return what a list says of a manifest that a version adds."""
    numbers = {key: sequence if manifest[key] == _INHERITED else manifest[key] for key in _NUMBERS}
    return {**manifest, **numbers, "added_snapshot_id": snapshot}


_NUMBERS: Final = ("sequence_number", "min_sequence_number")


def _summary(field: Field, values: Sequence[Any]) -> Record:
    present = [value for value in values if value is not None]
    numbers = [value for value in present if isinstance(value, float)]
    # NaN has no place in an order, so partitions of floating-point numbers have no bounds.
    low, high = (min(present), max(present)) if present and not numbers else (None, None)
    return {
        "contains_null": len(present) < len(values),
        "contains_nan": any(map(math.isnan, numbers)),
        "lower_bound": value_bytes(field, low),
        "upper_bound": value_bytes(field, high),
    }


_DATA_FILE: Final = long(0)
_PARQUET: Final = text(b"PARQUET")
_SHORT: Final = tuple(long(length) for length in range(256))
_END: Final = b"\0"
"""What an array ends with."""


class DataEntries:
    """Encodes entries of data manifests with one partition spec.

    A manifest of a thousand blocks has tens of thousands of counts and bounds, so they are put
    together here, one by one, as `entry_schema` orders them. `AvroSchema.encoded` writes the same.

    Args:
        root: URI of the repository, as the readers of the manifest reach it.
        columns: The columns that the entries are about.
        version: Format version of the table.
    """

    def __init__(self, root: str, spec: Spec, columns: Sequence[Field], version: int) -> None:
        self._root = f"{root}/".encode()
        self._parts = AvroSchema(part_schema(spec)) if spec.fields else None
        self._partitions: dict[str, bytes] = {}
        self._version = version
        self._columns: dict[str, tuple[bytes, Encoder | None, Encoder | None]] = {
            field.id: (
                long(field_number(field.id)),
                lower_encoder_of(field),
                upper_encoder_of(field),
            )
            for field in columns
            # Iceberg has counts and bounds of primitive fields only.
            if not type_of(field.type).is_nested
        }

    def of(
        self,
        block: Block,
        values: tuple[Any, ...],
        status: int,
        snapshot: int | None,
        row: int | None = None,
    ) -> bytes:
        """Return the entry of a block.

        Args:
            values: Its partition values as Avro has them.
            status: What is said of it.
            snapshot: The Iceberg snapshot that this is said of; None inherits the manifest's.
            row: Number of the block's first row, in format version 3; None inherits it.
        """
        # Decision 21: data files have the sequence number 1 in all versions.
        sequence = NULL if status == ADDED else SOME + long(DATA_SEQUENCE)
        rows = long(block.rows)
        return b"".join(
            (
                long(status),
                NULL if snapshot is None else SOME + long(snapshot),
                sequence,
                sequence,
                _DATA_FILE,
                text(self._root + block.path.encode()),
                _PARQUET,
                self._partition(values),
                rows,
                long(block.bytes),
                *self._measures(block, rows),
                self._rest(row),
            )
        )

    def _rest(self, row: int | None) -> bytes:
        """Return the file that the block refers to, its first row, and its place in a file."""
        if self._version < 3:
            return NULL
        return NULL + (NULL if row is None else SOME + long(row)) + NULL * 2

    def _partition(self, values: tuple[Any, ...]) -> bytes:
        if self._parts is None:
            return b""
        # Zero equals negative zero, and is written otherwise.
        key = repr(values)
        found = self._partitions.get(key)
        if found is None:
            record = {f"p{place}": value for place, value in enumerate(values)}
            found = self._partitions[key] = self._parts.encoded([record])[0]
        return found

    def _measures(self, block: Block, rows: bytes) -> list[bytes]:
        # Avro's maps have texts as keys, so Iceberg has maps of numbers as arrays of pairs.
        counts: list[bytes] = []
        nulls: list[bytes] = []
        lows: list[bytes] = []
        highs: list[bytes] = []
        columns = self._columns
        for id, (low, high, missing) in block.stats.items():
            known = columns.get(id)
            if known is None:
                continue
            key, lower, upper = known
            # -1 stands for a number that is not known.
            if missing >= 0:
                counts.append(key + rows)
                nulls.append(key + (_SHORT[missing] if missing < 256 else long(missing)))
            if low is not None and lower is not None:
                value = lower(low)
                length = len(value)
                lows.append(key + (_SHORT[length] if length < 256 else long(length)) + value)
            if high is not None and upper is not None:
                value = upper(high)
                length = len(value)
                highs.append(key + (_SHORT[length] if length < 256 else long(length)) + value)
        return [_map(pairs) for pairs in (counts, nulls, lows, highs)]


def _map(pairs: list[bytes]) -> bytes:
    if not pairs:
        return NULL
    return b"".join((SOME, long(len(pairs)), *pairs, _END))
