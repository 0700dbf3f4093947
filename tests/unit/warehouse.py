"""A repository of small tables, for tests without an engine."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.changes.diffs.difference import diff
from dbt.adapters.vcs.commands.merge import MergeReport, MergeRequest, merge
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
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status

START = 1_795_000_000_000_000
"""2026-11-18 11:06:40 UTC."""

SECOND = 1_000_000

BYTES = 100
"""Size of a block, whatever its rows."""


def promote(
    repository: Repository,
    source: str,
    target: str,
    request: MergeRequest | None = None,
    **more: Any,
) -> MergeReport:
    """Merge as `dbt-vcs promote` does."""
    request = request or MergeRequest()
    promotes = replace(request, terms=replace(request.terms, promotes=True))
    return merge(repository, source, target, promotes, **more)


class Clock:
    """A clock that advances one second per reading, and on request."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> Micros:
        self.now += SECOND
        return Micros(self.now)


class Warehouse:
    """A repository and short ways to fill it."""

    def __init__(self, blobs: Blobs | None = None, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        # The store's time is the same, and looking at it moves nothing.
        self.blobs = blobs or MemoryBlobs(lambda: Micros(self.clock.now))
        self.repository = Repository.create(self.blobs, author="ann", clock=self.clock)
        self._numbers = itertools.count(1)

    def head(self, branch: str = "main") -> CommitId:
        return self.repository.branch(branch).head

    def branch(self, name: str, at: str = "main") -> None:
        self.repository.create_branch(name, self.repository.resolve(at), author="ann")

    def table(self, *blocks: str, rows: int = 10) -> Entry:
        """A table of the blocks of these names, each with so many rows.

        The keys go from 0 over all blocks, the rows of a block hold its name: so tables of other
        blocks have the same keys with other values.
        """
        segments = []
        for number, name in enumerate(blocks):
            path = f"data/t/w=x{name}-{number}-{rows}/{name}.parquet"
            self.blobs.create(path, _parquet(range(number * rows, (number + 1) * rows), name))
            segment = Segment(blocks=(Block(path=path, rows=rows, bytes=BYTES),))
            id = SegmentId(self.repository.objects.put(segment))
            segments.append(SegmentRef(id=id, blocks=1, rows=rows, bytes=BYTES))
        snapshot = Snapshot(
            table=TableId("t"),
            schema=Schema.of(
                [Field(id="", name="id", type="bigint"), Field(id="", name="v", type="string")]
            ),
            segments=tuple(segments),
            created_at=Micros(START),
            operation="create",
            primary_key=("id",),
        )
        return TableEntry(snapshot=SnapshotId(self.repository.objects.put(snapshot)))

    def rows(self, name: str, revision: str = "main") -> list[dict[str, Any]]:
        """The rows of a table of the schema shop."""
        entry = self.shown(revision)[f"shop.{name}"]
        assert isinstance(entry, TableEntry)
        snapshot = self.repository.objects.snapshot(entry.snapshot)
        return list(diff(self.repository, None, snapshot).rows.to_pylist())

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
            Proposal(
                branch=branch,
                base=base,
                tree=self.repository.edit(tree.id, changes),
                author="ann",
                message=message or f"Put {', '.join(relations)}",
                run=run,
            )
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
        """A run that stored each relation in its own step."""
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


def _parquet(ids: Sequence[int], value: str) -> bytes:
    sink = pa.BufferOutputStream()
    rows = {"id": pa.array(ids, pa.int64()), "v": pa.array([value] * len(ids), pa.string())}
    pq.write_table(pa.table(rows), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data
