"""Tables of any shape on a local disk, written without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.ids import ViewId
from dbt.adapters.vcs.core.model import (
    Entry,
    Origin,
    RelationName,
    TableEntry,
    View,
    ViewColumn,
    ViewEntry,
)
from dbt.adapters.vcs.core.plan.compaction import contents_of
from dbt.adapters.vcs.core.repository import Proposal
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.core.tree_changes import TreeChanges
from dbt.adapters.vcs.iceberg.manifest_lists import number_of
from dbt.adapters.vcs.iceberg.metadata_files import MetadataFile, MetadataPlace, place_of
from dbt.adapters.vcs.iceberg.table_metadata import named_commits, table_metadata
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import arrow_schema, write_rows
from dbt.adapters.vcs.table.manifests import folder_of, put_segments
from tests.unit.shelf import Shelf


class Lake(Shelf):
    """A repository in a folder whose branch `main` has the schema `s`."""

    def __init__(self, root: Path) -> None:
        super().__init__(LocalBlobs(root, fsync=False))

    @property
    def place(self) -> MetadataPlace:
        return place_of(self.repository)

    def add(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        """Append rows to a table, partitioned or not, and commit them."""
        into = self.begin()
        scope = self.connection.scope("", into, Origin())
        relation = RelationName("s", name)
        snapshot = into.require_table(relation)
        schema = arrow_schema(snapshot.schema)
        columns = zip(*rows, strict=True) if rows else [() for _ in schema]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        table = pa.table(arrays, schema=pa.schema([f.with_nullable(True) for f in schema]))
        files = write_rows(
            self.blobs,
            table,
            folder=folder_of(snapshot.table),
            partition_by=snapshot.partition_by,
        )
        blocks = read_blocks(self.blobs, files, snapshot.schema, snapshot.partition_by, files)
        segments = (*snapshot.segments, *put_segments(self.repository.objects, blocks))
        changed(scope, relation, snapshot, operation="append", segments=segments)
        self.line.land(into, "append")

    def show(self, name: str, revision: str) -> None:
        """Commit the version of a table that a revision shows, the same once more."""
        old = self.repository.tree(self.repository.resolve(revision)).entry(
            RelationName("s", name)
        )
        assert old is not None
        self._put(name, old)

    def view(self, name: str, text: str, calls: tuple[str, ...] = ()) -> None:
        """Commit a view with the column `id`, in the place of what has the name."""
        columns = (ViewColumn(name="id", type="bigint"),)
        view = View(text=text, columns=columns, calls=calls)
        self._put(name, ViewEntry(view=ViewId(self.repository.objects.put(view))))

    def _put(self, name: str, entry: Entry) -> None:
        repository = self.repository
        base = repository.branch("main").head
        changes = TreeChanges(relations={RelationName("s", name): entry})
        tree = repository.edit(repository.objects.commit(base).tree, changes)
        repository.land(
            Proposal(branch="main", base=base, tree=tree, author="ann", message="again")
        )

    def partition(self, name: str, ids: tuple[str, ...]) -> None:
        """Let new files be partitioned by other columns, and commit that."""
        into = self.begin()
        scope = self.connection.scope("", into, Origin())
        relation = RelationName("s", name)
        snapshot = into.require_table(relation)
        changed(scope, relation, snapshot, operation="alter", partition_by=ids)
        self.line.land(into, "partition")

    def deleted(self, name: str) -> dict[str, set[int]]:
        """Return the positions of the deleted rows by block."""
        read = self.repository.objects.segment
        held = contents_of(read(ref.id) for ref in self.snapshot(name).segments)
        found = Files(self.blobs).deletions(held.tombstones, held.deleted)
        return {path: set(positions.tolist()) for path, positions in found.items()}

    def version(self, name: str) -> int:
        """Return the Iceberg snapshot that a table shows."""
        entry = self.begin().entry(RelationName("s", name))
        assert isinstance(entry, TableEntry)
        return number_of(entry.snapshot)

    def document(self, name: str, revision: str = "main", **options: Any) -> MetadataFile:
        return table_metadata(
            self.repository,
            self.repository.resolve(revision),
            RelationName("s", name),
            place=options.pop("place", self.place),
            names=named_commits(self.repository),
            **options,
        )
