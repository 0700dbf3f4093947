"""Tables on a branch, changed by statements and by Arrow rows, without an engine."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dbt.adapters.vcs.changes.writes.append import append_arrow
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.model import Block, Origin, RelationName, Snapshot
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.compaction import contents_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.parquet import write_tombstone
from dbt.adapters.vcs.table.manifests import folder_of, put_segments
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.statement_scope import Outcome


class Shelf:
    """A repository in memory whose branch `main` has the schema `s`."""

    def __init__(self, blobs: Blobs | None = None) -> None:
        self._open(Repository.create(blobs or MemoryBlobs(), author="ann"), "main")
        self.run("create schema s")

    @classmethod
    def of(cls, repository: Repository, branch: str) -> Shelf:
        """Return a branch of the same repository."""
        new = cls.__new__(cls)
        new._open(repository, branch)
        return new

    def _open(self, repository: Repository, branch: str) -> None:
        self.repository = repository
        self.line = BranchLine(repository, branch, "ann")
        self.workspace = Workspace(repository, self.line, _no_engine, schema="s")
        self.connection = self.workspace.connect("test")

    def begin(self) -> Overlay:
        return self.workspace.begin()

    def run(self, text: str, overlay: Overlay | None = None) -> Outcome:
        """Carry a statement out, and commit it unless an overlay takes it."""
        into = overlay or self.begin()
        outcome = self.connection.execute(text, into, origin=Origin())
        if overlay is None and not into.is_empty:
            self.line.land(into, text)
        return outcome

    def append(
        self, name: str, overlay: Overlay | None = None, /, **columns: list[Any] | pa.Array
    ) -> list[str]:
        """Add rows, given by column, and commit them; return the warnings."""
        into = overlay or self.begin()
        scope = self.connection.scope("", into, Origin())
        append_arrow(scope, RelationName("s", name), pa.table(columns))
        if overlay is None:
            self.line.land(into, "append")
        return scope.warnings

    def delete(self, name: str, *rows: tuple[int, int], overlay: Overlay | None = None) -> None:
        """Delete rows, each given by the number of its block and its position there."""
        into = overlay or self.begin()
        scope = self.connection.scope("", into, Origin())
        relation = RelationName("s", name)
        snapshot = into.require_table(relation)
        blocks, fields = self.blocks(name), snapshot.schema.fields
        images = []
        for number, position in rows:
            block = blocks[number]
            table = Files(self.blobs).columns(block.path, fields, partition=block.partition)
            image = table.slice(position, 1)
            image = image.append_column(FILE_COLUMN, [pa.array([block.path])])
            images.append(image.append_column(POSITION_COLUMN, [pa.array([position])]))
        folder = folder_of(snapshot.table)
        tombstone = write_tombstone(self.blobs, pa.concat_tables(images), folder=folder)
        added = put_segments(self.repository.objects, (), [tombstone])
        changed(
            scope, relation, snapshot, operation="delete", segments=(*snapshot.segments, *added)
        )
        if overlay is None:
            self.line.land(into, "delete")

    def rows(self, name: str, snapshot: Snapshot | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a table, or of a version of it, in the order of its blocks."""
        version = snapshot or self.snapshot(name)
        read = self.repository.objects.segment
        held = contents_of(read(ref.id) for ref in version.segments)
        files = Files(self.blobs)
        gone = files.deletions(held.tombstones, held.deleted)
        return [
            tuple(row.values())
            for block in held.blocks
            for batch in files.batches(block, version.schema.fields, gone.get(block.path))
            for row in batch.to_pylist()
        ]

    @property
    def blobs(self) -> Blobs:
        return self.repository.blobs

    def snapshot(self, name: str) -> Snapshot:
        return self.begin().require_table(RelationName("s", name))

    def blocks(self, name: str) -> list[Block]:
        objects = self.repository.objects
        refs = self.snapshot(name).segments
        return [block for ref in refs for block in objects.segment(ref.id).blocks]


def _no_engine() -> Engine:
    raise AssertionError("no engine is needed here")
