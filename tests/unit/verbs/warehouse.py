"""A repository whose tables are manifests alone, for tests without an engine."""

from __future__ import annotations

import itertools
from dataclasses import replace

from dbt.adapters.vcs.core.ids import CommitId, Micros, SegmentId, SnapshotId, TableId, ViewId
from dbt.adapters.vcs.core.model import (
    Absent,
    Block,
    Entry,
    Field,
    RelationName,
    Run,
    Schema,
    Segment,
    SegmentRef,
    Snapshot,
    TableEntry,
    View,
    ViewColumn,
    ViewEntry,
)
from dbt.adapters.vcs.core.repository import Repository, SchemaInfo, TreeChanges
from dbt.adapters.vcs.core.store import Blobs, MemoryBlobs
from dbt.adapters.vcs.workspace.runs import RunBranch, Status

START = 1_795_000_000_000_000
"""2026-11-18 11:06:40 UTC."""

SECOND = 1_000_000

BYTES = 100
"""Size of a block, whatever its rows."""


class Clock:
    """Time that passes one second a look, and as told."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> Micros:
        self.now += SECOND
        return Micros(self.now)


class Warehouse:
    """A repository and short ways to fill it."""

    def __init__(self, blobs: Blobs | None = None, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.blobs = blobs or MemoryBlobs()
        self.repository = Repository.create(self.blobs, author="ann", clock=self.clock)
        self._numbers = itertools.count(1)

    def head(self, branch: str = "main") -> CommitId:
        return self.repository.branch(branch).head

    def branch(self, name: str, at: str = "main") -> None:
        self.repository.create_branch(name, self.repository.resolve(at), author="ann")

    def table(self, *blocks: str, rows: int = 10) -> Entry:
        """A table of the blocks of these names, each with so many rows."""
        segments = []
        for path in blocks:
            segment = Segment(blocks=(Block(path=f"data/{path}", rows=rows, bytes=BYTES),))
            id = SegmentId(self.repository.objects.put(segment))
            segments.append(SegmentRef(id=id, blocks=1, rows=rows, bytes=BYTES))
        snapshot = Snapshot(
            table=TableId("t"),
            schema=Schema.of([Field(id="", name="id", type="bigint")]),
            segments=tuple(segments),
            created_at=Micros(START),
            operation="create",
        )
        return TableEntry(snapshot=SnapshotId(self.repository.objects.put(snapshot)))

    def view(self, text: str) -> Entry:
        view = View(text=text, columns=(ViewColumn(name="id", type="bigint"),))
        return ViewEntry(view=ViewId(self.repository.objects.put(view)))

    def put(
        self,
        branch: str = "main",
        *,
        schema: str = "shop",
        message: str = "",
        run: Run | None = None,
        **relations: Entry | str | None,
    ) -> CommitId:
        """Commit relations: an entry, the name of a table's one block, or None to drop."""
        base = self.head(branch)
        tree = self.repository.tree(base)
        entries = {
            RelationName(schema, name): Absent
            if entry is None
            else (self.table(entry) if isinstance(entry, str) else entry)
            for name, entry in relations.items()
        }
        changes = TreeChanges(
            schemas={} if tree.has_schema(schema) else {schema: SchemaInfo()}, relations=entries
        )
        landed = self.repository.land(
            branch,
            base=base,
            tree=self.repository.edit(tree.id, changes),
            author="ann",
            message=message or f"Put {', '.join(relations)}",
            run=run,
        )
        return landed.commit

    def run(
        self,
        id: str,
        status: Status,
        *,
        target: str = "main",
        note: str = "",
        owner: str = "elsewhere:1",
        **relations: Entry | str | None,
    ) -> RunBranch:
        """A run that put each relation with a step of its own."""
        fork = self.head(target)
        now = self.clock()
        run = RunBranch(
            invocation=id,
            status=status,
            target=target,
            fork=fork,
            head=fork,
            command="build",
            started_at=now,
            alive_until=Micros(now + 900 * SECOND),
            owner=owner,
            note=note,
        )
        self.repository.create_branch(run.name, fork, author="dbt", state=run.state)
        for name, entry in relations.items():
            self.put(run.name, message=f"model.shop.{name} (success)", **{name: entry})
        return replace(run, head=self.head(run.name))

    def shown(self, revision: str = "main") -> dict[str, Entry]:
        tree = self.repository.tree(self.repository.resolve(revision))
        return {
            f"{schema}.{name}": entry
            for schema in tree.schemas()
            for name, entry in tree.relations(schema).items()
        }
