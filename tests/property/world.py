"""A small writer of tables: each way in which a version can come from another one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.ids import Micros, SegmentId, SnapshotId, TableId, WriteId
from dbt.adapters.vcs.core.model import (
    Block,
    Derivation,
    Field,
    Replacement,
    Schema,
    Segment,
    SegmentRef,
    Snapshot,
    Tombstone,
)
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.types import arrow_type
from tests.property.oracle import Row, Table

Place = tuple[str, int]
"""Path of a block, position in it."""

TABLE = TableId("t")


class CountingBlobs(MemoryBlobs):
    """Counts the data files that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    def get(self, path: str) -> bytes:
        if path.startswith("data/"):
            self.reads.append(path)
        return super().get(path)


class World:
    """One repository, and snapshots in it that are derived from each other."""

    def __init__(self) -> None:
        self.blobs = CountingBlobs()
        self.repository = Repository.create(self.blobs, author="test")
        self._count = 0
        self._tables: dict[str, pa.Table] = {}

    def create(
        self,
        schema: Schema,
        rows: Table,
        *,
        key: Sequence[str] = (),
        partition_by: Sequence[str] = (),
    ) -> Snapshot:
        empty = Snapshot(
            table=TABLE,
            schema=schema,
            segments=(),
            created_at=Micros(0),
            operation="create",
            primary_key=tuple(key),
            partition_by=tuple(partition_by),
        )
        return self.append(empty, rows)

    def append(self, snapshot: Snapshot, rows: Table) -> Snapshot:
        return self._next(snapshot, "append", added=self._blocks(snapshot, rows))

    def delete(self, snapshot: Snapshot, places: Iterable[Place]) -> Snapshot:
        """Delete rows by a tombstone."""
        tombstone = self._tombstone(snapshot, set(places))
        return self._next(snapshot, "delete", tombstones=tombstone)

    def update(self, snapshot: Snapshot, places: Iterable[Place], rows: Table) -> Snapshot:
        """Delete rows by a tombstone and append others, in one step."""
        tombstone = self._tombstone(snapshot, set(places))
        return self._next(
            snapshot, "update", added=self._blocks(snapshot, rows), tombstones=tombstone
        )

    def replace(
        self, snapshot: Snapshot, rows: Mapping[Place, Row], columns: Sequence[str]
    ) -> Snapshot:
        """Give rows other values in some columns, and record that each replaces its old one."""
        added = self._blocks(snapshot, list(rows.values()))
        tombstones = self._tombstone(snapshot, set(rows))
        told = Replacement(
            blocks=tuple(block.path for block in added),
            tombstones=tuple(tombstone.path for tombstone in tombstones),
            rows=len(rows),
            columns=tuple(columns),
        )
        return self._next(
            snapshot, "update", added=added, tombstones=tombstones, replacements=(told,)
        )

    def rewrite(
        self, snapshot: Snapshot, blocks: Iterable[str], change: Callable[[Table], Table]
    ) -> Snapshot:
        """Rewrite blocks with other rows: copy-on-write."""
        gone = set(blocks)
        rows = [row for place, row in self.located(snapshot) if place[0] in gone]
        return self._next(
            snapshot, "rewrite", added=self._blocks(snapshot, change(rows)), gone=gone
        )

    def compact(self, snapshot: Snapshot, blocks: Iterable[str], *, derive: bool) -> Snapshot:
        """Rewrite blocks with the same rows, and record it if `derive`."""
        gone = set(blocks)
        rows = [row for place, row in self.located(snapshot) if place[0] in gone]
        added = self._blocks(snapshot, rows)
        tombstones = [
            msgspec.structs.replace(tombstone, targets=targets)
            for tombstone in self.tombstones(snapshot)
            if (targets := {path: n for path, n in tombstone.targets.items() if path in gone})
        ]
        derivation = Derivation(
            outputs=tuple(block.path for block in added),
            inputs=tuple(block.path for block in self.blocks(snapshot) if block.path in gone),
            tombstones=tuple(tombstones),
        )
        return self._next(
            snapshot,
            "optimize",
            added=added,
            gone=gone,
            derivations=(derivation,) if derive and added and gone else (),
        )

    def clone(self, snapshot: Snapshot) -> Snapshot:
        return self._made(snapshot, "clone", snapshot.segments)

    def restore(self, snapshot: Snapshot, old: Snapshot) -> Snapshot:
        restored = msgspec.structs.replace(snapshot, schema=old.schema)
        return self._made(restored, "restore", old.segments, parent=snapshot)

    def alter(self, snapshot: Snapshot, **changes: Any) -> Snapshot:
        altered = msgspec.structs.replace(snapshot, **changes)
        return self._made(altered, "alter", altered.segments, parent=snapshot)

    def id(self, snapshot: Snapshot) -> SnapshotId:
        return SnapshotId(self.repository.objects.put(snapshot))

    def write(self) -> WriteId:
        self._count += 1
        return WriteId(f"x{self._count:04}")

    def blocks(self, snapshot: Snapshot) -> list[Block]:
        return [block for segment in self._segments(snapshot) for block in segment.blocks]

    def tombstones(self, snapshot: Snapshot) -> list[Tombstone]:
        return [
            tombstone for segment in self._segments(snapshot) for tombstone in segment.tombstones
        ]

    def rows(self, snapshot: Snapshot | None) -> Table:
        """Read a version as docs/format.md says."""
        return [row for _, row in self.located(snapshot)] if snapshot else []

    def located(self, snapshot: Snapshot) -> list[tuple[Place, Row]]:
        dead: dict[str, set[int]] = {}
        paths = {block.path for block in self.blocks(snapshot)}
        for tombstone in self.tombstones(snapshot):
            assert tombstone.targets.keys() <= paths, "a tombstone has a target outside"
            found = self._read(tombstone.path)
            pairs = list(
                zip(
                    found[FILE_COLUMN].to_pylist(), found[POSITION_COLUMN].to_pylist(), strict=True
                )
            )
            for path, count in tombstone.targets.items():
                positions = {position for file, position in pairs if file == path}
                assert len(positions) == count, "a tombstone's entry miscounts"
                assert not positions & dead.setdefault(path, set()), "a row is deleted twice"
                dead[path] |= positions
        live: list[tuple[Place, Row]] = []
        for block in self.blocks(snapshot):
            rows = self.block_rows(block, snapshot.schema)
            assert len(rows) == block.rows
            live += [
                ((block.path, position), row)
                for position, row in enumerate(rows)
                if position not in dead.get(block.path, ())
            ]
        assert len(live) == snapshot.rows, "a snapshot miscounts its rows"
        return live

    def block_rows(self, block: Block, schema: Schema) -> Table:
        table = self._read(block.path)
        columns = {}
        for field in schema.fields:
            type_ = arrow_type(field.type)
            if field.id in block.partition:
                text = block.partition[field.id]
                column = pa.array([text] * block.rows, pa.string()).cast(type_)
            elif field.id in table.column_names:
                column = table.column(field.id).cast(type_)
            elif field.initial is not None:
                column = pa.array([field.initial] * block.rows, pa.string()).cast(type_)
            else:
                column = pa.nulls(block.rows, type_)
            columns[field.id] = column.to_pylist()
        return [{id: values[n] for id, values in columns.items()} for n in range(block.rows)]

    def images(self, path: str, block: str) -> list[tuple[int, Row]]:
        """Return position and row of what a tombstone deletes from a block."""
        rows = self._read(path).to_pylist()
        return [(row[POSITION_COLUMN], row) for row in rows if row[FILE_COLUMN] == block]

    def _bytes(self, path: str) -> bytes:
        """Return a file's bytes without counting the read."""
        return MemoryBlobs.get(self.blobs, path)

    def _read(self, path: str) -> pa.Table:
        if path not in self._tables:
            data = self._bytes(path)
            self._tables[path] = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
        return self._tables[path]

    def _segments(self, snapshot: Snapshot) -> list[Segment]:
        return [self.repository.objects.segment(ref.id) for ref in snapshot.segments]

    def _blocks(self, snapshot: Snapshot, rows: Table) -> tuple[Block, ...]:
        """Write rows as one block, or one for each partition."""
        write = self.write()
        parts: dict[tuple[Any, ...], Table] = {}
        for row in rows:
            parts.setdefault(tuple(row[id] for id in snapshot.partition_by), []).append(row)
        paths = []
        for values, part in parts.items():
            folders = "".join(
                f"{id}={'__HIVE_DEFAULT_PARTITION__' if value is None else value}/"
                for id, value in zip(snapshot.partition_by, values, strict=True)
            )
            fields = [f for f in snapshot.schema.fields if f.id not in snapshot.partition_by]
            path = f"data/{snapshot.table}/w={write}/{folders}part-{write}.parquet"
            self._store(path, self._arrow(fields, part))
            paths.append(path)
        return read_blocks(self.blobs, paths, snapshot.schema, snapshot.partition_by)

    def _tombstone(self, snapshot: Snapshot, places: set[Place]) -> tuple[Tombstone, ...]:
        found = sorted((place, row) for place, row in self.located(snapshot) if place in places)
        if not found:
            return ()
        images = self._arrow(snapshot.schema.fields, [row for _, row in found])
        table = images.add_column(0, POSITION_COLUMN, [[place[1] for place, _ in found]])
        table = table.add_column(0, FILE_COLUMN, [[place[0] for place, _ in found]])
        write = self.write()
        path = f"data/{snapshot.table}/w={write}/deleted-{write}.parquet"
        size = self._store(path, table)
        targets: dict[str, int] = {}
        for (block, _), _ in found:
            targets[block] = targets.get(block, 0) + 1
        return (Tombstone(path=path, bytes=size, targets=targets),)

    def _arrow(self, fields: Iterable[Field], rows: Table) -> pa.Table:
        return pa.table(
            {f.id: pa.array([row.get(f.id) for row in rows], arrow_type(f.type)) for f in fields}
        )

    def _store(self, path: str, table: pa.Table) -> int:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, store_schema=False)
        data: bytes = sink.getvalue().to_pybytes()
        assert self.blobs.create(path, data)
        return len(data)

    def _next(
        self,
        snapshot: Snapshot,
        operation: str,
        *,
        added: tuple[Block, ...] = (),
        gone: Iterable[str] = (),
        tombstones: tuple[Tombstone, ...] = (),
        derivations: tuple[Derivation, ...] = (),
        replacements: tuple[Replacement, ...] = (),
    ) -> Snapshot:
        gone = set(gone)
        refs: list[SegmentRef] = []
        for ref in snapshot.segments:
            segment = self.repository.objects.segment(ref.id)
            kept = tuple(
                msgspec.structs.replace(tombstone, targets=targets)
                for tombstone in segment.tombstones
                if (targets := {p: n for p, n in tombstone.targets.items() if p not in gone})
            )
            blocks = tuple(block for block in segment.blocks if block.path not in gone)
            if (blocks, kept) == (segment.blocks, segment.tombstones):
                refs.append(ref)
            elif blocks or kept:
                rest = msgspec.structs.replace(segment, blocks=blocks, tombstones=kept)
                refs.append(self._ref(rest))
        if added or tombstones:
            made = Segment(
                blocks=added,
                tombstones=tombstones,
                derivations=derivations,
                replacements=replacements,
            )
            refs.append(self._ref(made))
        return self._made(snapshot, operation, tuple(refs))

    def _made(
        self,
        snapshot: Snapshot,
        operation: str,
        segments: tuple[SegmentRef, ...],
        parent: Snapshot | None = None,
    ) -> Snapshot:
        made = msgspec.structs.replace(
            snapshot,
            segments=segments,
            operation=operation,
            created_at=Micros(snapshot.created_at + 1),
            parents=(self.id(parent or snapshot),),
        )
        self.id(made)
        return made

    def _ref(self, segment: Segment) -> SegmentRef:
        return SegmentRef(
            id=SegmentId(self.repository.objects.put(segment)),
            blocks=len(segment.blocks),
            rows=sum(block.rows for block in segment.blocks),
            deleted=sum(tombstone.rows for tombstone in segment.tombstones),
            bytes=sum(block.bytes for block in segment.blocks),
        )
