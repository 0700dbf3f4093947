"""Tables of real rows in a repository of their own, for tests without an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.ids import CommitId, SegmentId, SnapshotId, TableId
from dbt.adapters.vcs.core.model import (
    Block,
    Field,
    Input,
    Origin,
    RelationName,
    Schema,
    Segment,
    SegmentRef,
    Snapshot,
    TableEntry,
    Tombstone,
)
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from tests.unit.warehouse import Warehouse

Rows = Mapping[int, str | None]

SCHEMA = Schema.of(
    [Field(id="", name="id", type="bigint"), Field(id="", name="name", type="string")]
)


class Tables:
    """Ways to write `id bigint, name string` tables into a warehouse."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self._number = 0

    def block(self, rows: Rows) -> Block:
        ids, names = list(rows), list(rows.values())
        table = pa.table({"id": pa.array(ids, pa.int64()), "name": pa.array(names, pa.string())})
        path = self._path()
        return Block(path=path, rows=len(rows), bytes=self._store(path, table))

    def tombstone(self, block: Block, deleted: Mapping[int, tuple[int, str | None]]) -> Tombstone:
        """Delete rows of a block: position -> image."""
        table = pa.table(
            {
                FILE_COLUMN: pa.array([block.path] * len(deleted), pa.string()),
                POSITION_COLUMN: pa.array(list(deleted), pa.int64()),
                "id": pa.array([image[0] for image in deleted.values()], pa.int64()),
                "name": pa.array([image[1] for image in deleted.values()], pa.string()),
            }
        )
        path = self._path()
        size = self._store(path, table)
        return Tombstone(path=path, bytes=size, targets={block.path: len(deleted)})

    def entry(
        self,
        blocks: Sequence[Block],
        tombstones: Sequence[Tombstone] = (),
        *,
        parents: Sequence[TableEntry] = (),
        inputs: Mapping[str, TableEntry] | None = None,
        node: str | None = None,
        key: bool = False,
    ) -> TableEntry:
        objects = self.warehouse.repository.objects
        segments = [Segment(blocks=(block,)) for block in blocks] + [
            Segment(tombstones=(tombstone,)) for tombstone in tombstones
        ]
        refs = tuple(
            SegmentRef(
                id=SegmentId(objects.put(segment)),
                blocks=len(segment.blocks),
                rows=sum(block.rows for block in segment.blocks),
                deleted=sum(tombstone.rows for tombstone in segment.tombstones),
                bytes=sum(block.bytes for block in segment.blocks),
            )
            for segment in segments
        )
        read = tuple(
            Input(relation=name, snapshot=entry.snapshot)
            for name, entry in sorted((inputs or {}).items())
        )
        snapshot = Snapshot(
            table=TableId("t"),
            schema=SCHEMA,
            segments=refs,
            created_at=self.warehouse.clock(),
            operation="append",
            primary_key=("id",) if key else (),
            parents=tuple(parent.snapshot for parent in parents),
            origin=Origin(node=node, invocation="i1" if node else None, inputs=read),
        )
        return TableEntry(snapshot=SnapshotId(objects.put(snapshot)))

    def renamed(self, entry: TableEntry, old: str, new: str) -> TableEntry:
        objects = self.warehouse.repository.objects
        before = objects.snapshot(entry.snapshot)
        after = msgspec.structs.replace(
            before, schema=before.schema.rename(old, new), parents=(entry.snapshot,)
        )
        return TableEntry(snapshot=SnapshotId(objects.put(after)))

    def put(self, branch: str = "main", **relations: TableEntry | None) -> CommitId:
        return self.warehouse.put(branch, **relations)

    def rows(self, name: str, branch: str = "main") -> dict[int, str | None]:
        """The rows of a table by id; deleted ones must have no copy."""
        repository = self.warehouse.repository
        snapshot = repository.objects.snapshot(self.shown(RelationName("shop", name)).snapshot)
        segments = [repository.objects.segment(ref.id) for ref in snapshot.segments]
        found: dict[int, str | None] = {}
        for block in (block for segment in segments for block in segment.blocks):
            rows = self._read(block.path)
            found |= dict(zip(*(rows.column(n).to_pylist() for n in ("id", "name")), strict=True))
        for tombstone in (tombstone for segment in segments for tombstone in segment.tombstones):
            for id in self._read(tombstone.path).column("id").to_pylist():
                del found[id]
        return found

    def shown(self, name: RelationName, branch: str = "main") -> TableEntry:
        entry = self.warehouse.shown(branch)[str(name)]
        assert isinstance(entry, TableEntry)
        return entry

    def _read(self, path: str) -> pa.Table:
        return pq.read_table(pa.BufferReader(self.warehouse.blobs.get(path)))

    def _path(self) -> str:
        self._number += 1
        return f"data/t/w=x{self._number}/part-{self._number}.parquet"

    def _store(self, path: str, table: pa.Table) -> int:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        data = sink.getvalue().to_pybytes()
        assert self.warehouse.blobs.create(path, data)
        return len(data)
