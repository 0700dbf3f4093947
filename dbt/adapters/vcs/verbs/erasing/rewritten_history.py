"""Forwarding history: every commit and version again, with other files, each rewritten once.

What nothing touched keeps its id, so unrelated tables and older commits stay as they are, and two
lines that had a common ancestor have it still.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec

from dbt.adapters.vcs.core.codec import encode
from dbt.adapters.vcs.core.ids import CommitId, SegmentId, SnapshotId, TreeId
from dbt.adapters.vcs.core.maintenance import NOTHING
from dbt.adapters.vcs.core.model import (
    Commit,
    Consumption,
    Forwarding,
    Input,
    NodeRun,
    Run,
    SchemaTree,
    Segment,
    SegmentRef,
    TableEntry,
    Tree,
)
from dbt.adapters.vcs.core.model.value import Value
from dbt.adapters.vcs.core.store.objects import ObjectStore

REDACTED: Final = "[redacted]"
"""What takes the place of a text in messages."""

_Id = TypeVar("_Id", bound=str)


@dataclass(slots=True)
class History:
    """Rewrites objects; every object is rewritten after those that it names.

    Attributes:
        objects: Where they are.
        segment: Returns a segment with the files that take the place of others.
        redact: Texts to take out of messages.
        put: Stores a value and returns its id.
        new: The new ids found so far, by kind; those that stay are among them.
    """

    objects: ObjectStore
    segment: Callable[[Segment], Segment]
    redact: Sequence[str] = ()
    put: Callable[[Value], str] = lambda value: encode(value)[0]
    commits: dict[CommitId, CommitId] = field(default_factory=dict)
    trees: dict[TreeId, TreeId] = field(default_factory=dict)
    snapshots: dict[SnapshotId, SnapshotId] = field(default_factory=dict)
    segments: dict[SegmentId, SegmentRef | None] = field(default_factory=dict)

    def changes(self) -> Forwarding:
        """Return the new ids of what has another one now."""
        kept = ((old, None if new is None else new.id) for old, new in self.segments.items())
        return Forwarding(
            commits=_changed(self.commits),
            trees=_changed(self.trees),
            snapshots=_changed(self.snapshots),
            segments=_changed({old: new or NOTHING for old, new in kept}),
        )

    def of(self, id: str) -> str:
        """Return the new id of a commit or version; its own if it is neither, or stays."""
        return self.commits.get(CommitId(id)) or self.snapshots.get(SnapshotId(id)) or id

    def _commit(self, id: CommitId) -> CommitId:
        return CommitId(self.of(id))

    def _snapshot(self, id: SnapshotId) -> SnapshotId:
        return SnapshotId(self.of(id))

    def rewrite_snapshot(self, id: SnapshotId, *, has_files: bool) -> None:
        """Rewrite a version; `has_files` is False if none of its files can change."""
        old = self.objects.snapshot(id)
        refs = old.segments
        if has_files:
            found = (self._segment(ref) for ref in old.segments)
            refs = tuple(ref for ref in found if ref is not None)
        parents = tuple(map(self._snapshot, old.parents))
        origin = msgspec.structs.replace(old.origin, inputs=self._inputs(old.origin.inputs))
        new = msgspec.structs.replace(
            old,
            segments=refs,
            parents=parents,
            origin=origin,
            consumption=self._consumption(old.consumption),
        )
        self.snapshots[id] = id if new == old else SnapshotId(self.put(new))

    def rewrite_commit(self, id: CommitId) -> None:
        """Rewrite a commit."""
        old = self.objects.commit(id)
        new = msgspec.structs.replace(
            old,
            tree=self._tree(old.tree),
            parents=tuple(map(self._commit, old.parents)),
            message=self.redacted(old.message),
            run=None if old.run is None else self._run(old.run),
            metadata={key: self.redacted(value) for key, value in old.metadata.items()},
        )
        self.commits[id] = id if new == old else CommitId(self.put(new))

    def redacted(self, text: str) -> str:
        """Return a text without what is to be redacted."""
        for part in self.redact:
            text = text.replace(part, REDACTED)
        return text

    def _run(self, old: Run) -> Run:
        head = None if old.head is None else self._commit(old.head)
        nodes = tuple(self._node(node) for node in old.nodes)
        return msgspec.structs.replace(old, head=head, nodes=nodes)

    def _node(self, old: NodeRun) -> NodeRun:
        refused = None if old.refused is None else self.redacted(old.refused)
        return msgspec.structs.replace(old, inputs=self._inputs(old.inputs), refused=refused)

    def _inputs(self, inputs: Sequence[Input]) -> tuple[Input, ...]:
        return tuple(
            item
            if item.snapshot is None
            else msgspec.structs.replace(item, snapshot=self.of(item.snapshot))
            for item in inputs
        )

    def _consumption(self, old: Consumption | None) -> Consumption | None:
        if old is None:
            return None
        inputs = tuple(
            item
            if item.snapshot is None
            else msgspec.structs.replace(item, snapshot=self.of(item.snapshot))
            for item in old.inputs
        )
        return msgspec.structs.replace(old, inputs=inputs)

    def _tree(self, id: TreeId) -> TreeId:
        if id not in self.trees:
            old = self.objects.tree(id)
            schemas = {
                name: msgspec.structs.replace(ref, id=self._schema(ref.id))
                for name, ref in old.schemas.items()
            }
            new = Tree(schemas=schemas)
            self.trees[id] = id if new == old else TreeId(self.put(new))
        return self.trees[id]

    def _schema(self, id: TreeId) -> TreeId:
        if id not in self.trees:
            old = self.objects.schema_tree(id)
            relations = {
                name: TableEntry(snapshot=self._snapshot(entry.snapshot))
                if isinstance(entry, TableEntry)
                else entry
                for name, entry in old.relations.items()
            }
            new = SchemaTree(relations=relations)
            self.trees[id] = id if new == old else TreeId(self.put(new))
        return self.trees[id]

    def _segment(self, ref: SegmentRef) -> SegmentRef | None:
        if ref.id not in self.segments:
            old = self.objects.segment(ref.id)
            new = self.segment(old)
            self.segments[ref.id] = ref
            if new == Segment():
                self.segments[ref.id] = None
            elif new != old:
                self.segments[ref.id] = SegmentRef(
                    id=SegmentId(self.put(new)),
                    blocks=len(new.blocks),
                    rows=sum(block.rows for block in new.blocks),
                    deleted=sum(stone.rows for stone in new.tombstones),
                    bytes=sum(block.bytes for block in new.blocks),
                )
        return self.segments[ref.id]


def _changed(ids: Mapping[_Id, _Id]) -> dict[str, str]:
    return {str(old): str(new) for old, new in ids.items() if old != new}


def mentions(commit: Commit, texts: Sequence[str]) -> str | None:
    """Return which part of a commit has one of some texts in it; None if none has."""
    nodes = commit.run.nodes if commit.run is not None else ()
    parts = {
        "message": [commit.message, *commit.metadata.values()],
        "run": [node.refused or "" for node in nodes],
    }
    for name, written in parts.items():
        if any(text in part for text in texts for part in written):
            return name
    return None
