"""Purged history: everything that names reach, and the same again with other files.

A purge has to see more than a collection keeps: as long as an object is in the store, a name in a
log can lead to it. What nothing touched keeps its id, so unrelated tables and older commits stay
as they are, and two branches that had a common ancestor have it still.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeVar

import msgspec

from dbt.adapters.vcs.core.codec import encode
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import CommitId, SegmentId, SnapshotId, TableId, TreeId
from dbt.adapters.vcs.core.maintenance import NOTHING, PINS, named_spaces
from dbt.adapters.vcs.core.model import (
    Entry,
    Forwarding,
    Input,
    NodeRun,
    RelationName,
    Run,
    SchemaTree,
    Segment,
    SegmentRef,
    Snapshot,
    TableEntry,
    Tree,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.snapshot import Consumed
from dbt.adapters.vcs.core.model.tree import Value
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.moves import Ref
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.relations import pieces_and_entries

CONFLICTS: Final = "conflicts"
"""The operation of versions that hold the rows of a merge that waits."""

ID: Final = re.compile(r"[0-9a-f]{64}")
"""An id of an object."""

REDACTED: Final = "[redacted]"
"""What takes the place of a text in messages."""

_NOUNS: Final = {"heads": "branch", "tags": "tag", PINS: "pin"}

_Id = TypeVar("_Id", bound=str)
_Read = TypeVar("_Read", Input, Consumed)


class Named(NamedTuple):
    """The last move of a name that exists.

    Attributes:
        space: `heads`, `tags`, `pins`, or the space of a relation's named snapshots.
    """

    space: str
    ref: Ref

    @property
    def title(self) -> str:
        """What people call it: `branch main`, `snapshot shop.orders base`."""
        if self.space in _NOUNS:
            return f"{_NOUNS[self.space]} {self.ref.name}"
        _, schema, identifier = self.space.split("/")
        return f"snapshot {schema}.{identifier} {self.ref.name}"


@dataclass(frozen=True, slots=True)
class Reached:
    """What names reach.

    Attributes:
        named: The names that exist.
        notes: Free text in logs, and where it is.
        commits: Commits, each behind its parents.
        snapshots: Versions of tables, each behind those that it came from.
        names: The names under which commits show each version.
        texts: Ids of views and functions, with what they are called.
    """

    named: list[Named] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    commits: list[CommitId] = field(default_factory=list)
    snapshots: list[SnapshotId] = field(default_factory=list)
    names: dict[SnapshotId, set[RelationName]] = field(default_factory=dict)
    texts: dict[Entry, RelationName] = field(default_factory=dict)


def reach(repository: Repository) -> Reached:
    """Return everything that the logs of names lead to, as far as it is still in the store.

    Raises:
        DamagedError: What a name shows now can't be read, or a log can't.
    """
    # What names show now must be whole. What only earlier moves name may be collected in part, so
    # each of these commits is tried by itself.
    found = Reached()
    now, before = _starting_ids(repository, found)
    objects = repository.objects
    origins = partial(_origins, objects)
    commits = dict.fromkeys(_in_order(_commits(objects, now), origins))
    for start in _commits(objects, before):
        if start in commits:
            continue
        try:
            more = _in_order([start], origins, commits)
            _check_whole(objects, more)
        except DamagedError:
            # Garbage of a log, which has been collected in part; nobody can be shown it.
            continue
        commits.update(dict.fromkeys(more))
    found.commits.extend(commits)
    for name, entry in _shown_entries(
        objects, dict.fromkeys(objects.commit(id).tree for id in commits)
    ):
        if isinstance(entry, TableEntry):
            found.names.setdefault(entry.snapshot, set()).add(name)
        else:
            found.texts[entry] = name
    versions = [*found.names, *_snapshots(objects, now)]
    for version in _snapshots(objects, before):
        with suppress(DamagedError):
            _check_files(objects, version)
            versions.append(version)
    found.snapshots.extend(_versions(objects, versions))
    return found


def related(
    objects: ObjectStore, reached: Reached, name: RelationName
) -> dict[SnapshotId, Snapshot]:
    """Return all versions of a table and of the tables that share history with it.

    These are the versions that any commit shows under its name, those that they came from or that
    came from them, such as clones, and the rows that waiting merges keep of any of these.
    """
    versions = {id: objects.snapshot(id) for id in reached.snapshots}
    named = {versions[id].table for id, names in reached.names.items() if name in names}
    tables = _sharing(versions, named)
    found = {id for id, snapshot in versions.items() if snapshot.table in tables}
    called = {each for id in found for each in reached.names.get(id, ())}
    for id, snapshot in versions.items():
        # Decision 13: conflicts are tables of their own, with copies of rows of this one.
        if snapshot.operation == CONFLICTS and called & reached.names.get(id, set()):
            found.add(id)
    return {id: snapshot for id, snapshot in versions.items() if id in found}


def _sharing(versions: Mapping[SnapshotId, Snapshot], tables: set[TableId]) -> set[TableId]:
    """Return some tables, and all that share history with them: a version came from another's."""
    shared = {
        frozenset((snapshot.table, versions[parent].table))
        for snapshot in versions.values()
        for parent in snapshot.parents
    }
    # Until nothing is added, since a clone of a clone shares history as well.
    while more := {table for pair in shared if pair & tables for table in pair} - tables:
        tables = tables | more
    return tables


def _starting_ids(repository: Repository, found: Reached) -> tuple[list[str], list[str]]:
    refs = repository.refs
    now: list[str] = []
    before: list[str] = []
    for space in named_spaces(refs):
        for last in refs.read_all(space):
            is_there = last.move.commit is not None
            if is_there:
                found.named.append(Named(space, last))
            title = Named(space, last).title
            for ref in refs.moves(space, last.name):
                written = "\n".join((ref.move.note, *ref.move.state.values()))
                found.notes.append((f"the log of {title}, move {ref.seq}", written))
                into = now if is_there and ref.seq == last.seq else before
                # A state names ids as well: a pin's lists the versions that it holds.
                into += ID.findall(" ".join((ref.move.commit or "", *ref.move.state.values())))
    return now, before


def _commits(objects: ObjectStore, ids: Iterable[str]) -> list[CommitId]:
    # The digits may be the id of something else, or of what has been collected.
    there = dict.fromkeys(id for id in ids if objects.with_prefix("commit", id))
    return [CommitId(id) for id in there]


def _snapshots(objects: ObjectStore, ids: Iterable[str]) -> list[SnapshotId]:
    there = dict.fromkeys(id for id in ids if objects.with_prefix("snapshot", id))
    return [SnapshotId(id) for id in there]


def _origins(objects: ObjectStore, id: CommitId) -> list[CommitId]:
    """Return a commit's parents, and the steps of the run that it publishes, if they are left."""
    commit = objects.commit(id)
    head = commit.run.head if commit.run else None
    steps = _commits(objects, [head]) if head else []
    return [*commit.parents, *steps]


def _versions(objects: ObjectStore, starts: Iterable[SnapshotId]) -> list[SnapshotId]:
    """Return versions and their ancestors, each behind what it came from or was made of."""

    def parents(id: SnapshotId) -> Sequence[SnapshotId]:
        return objects.snapshot(id).parents

    def sources(id: SnapshotId) -> list[SnapshotId]:
        version = objects.snapshot(id)
        named = [item.snapshot for item in version.origin.inputs]
        if version.consumption is not None:
            named += (item.snapshot for item in version.consumption.inputs)
        read = (SnapshotId(item) for item in named if item)
        return [*parents(id), *(item for item in read if item in known)]

    # A version names its inputs by id, so those are rewritten before it. But inputs don't count
    # as reached: one that no name leads to keeps its id.
    every = _in_order(starts, parents)
    known = set(every)
    return _in_order(every, sources)


def _check_whole(objects: ObjectStore, commits: Iterable[CommitId]) -> None:
    """Check that everything which commits show is in the store.

    Raises:
        DamagedError: Something is not.
    """
    for _, entry in _shown_entries(
        objects, dict.fromkeys(objects.commit(id).tree for id in commits)
    ):
        if isinstance(entry, TableEntry):
            _check_files(objects, entry.snapshot)
        elif isinstance(entry, ViewEntry):
            objects.view(entry.view)
        else:
            objects.function(entry.function)


def _check_files(objects: ObjectStore, version: SnapshotId) -> None:
    # Manifests only: they outlive the files, and they are what is rewritten.
    for ref in objects.snapshot(version).segments:
        objects.segment(ref.id)


def _shown_entries(
    objects: ObjectStore, trees: Iterable[TreeId]
) -> Iterator[tuple[RelationName, Entry]]:
    schemas = dict.fromkeys(
        (schema, ref.id) for tree in trees for schema, ref in objects.tree(tree).schemas.items()
    )
    for schema, id in schemas:
        for identifier, entry in objects.relations(id).items():
            yield RelationName(schema, identifier), entry


def _in_order(
    starts: Iterable[_Id], origins: Callable[[_Id], Iterable[_Id]], done: Iterable[_Id] = ()
) -> list[_Id]:
    """Return everything behind some ids, each behind what it comes from, without what is done."""
    # With a stack of its own: a history can be deeper than Python lets functions call each other.
    seen = set(done)
    found: list[_Id] = []
    for start in starts:
        waiting: list[tuple[_Id, bool]] = [(start, False)]
        while waiting:
            id, is_ready = waiting.pop()
            if is_ready:
                found.append(id)
            elif id not in seen:
                seen.add(id)
                waiting.append((id, True))
                waiting += [(origin, False) for origin in origins(id) if origin not in seen]
    return found


@dataclass(slots=True)
class History:
    """Rewrites objects; every object is rewritten after those that it names.

    Attributes:
        segment: Returns a segment with the files that take the place of others.
        redact: Texts to take out of messages.
        names: Names of branches, which stay: a merge that waits says by one where it belongs.
        put: Stores a value and returns its id.
        commits: The new ids found so far, as in the other tables; those that stay are among them.
    """

    objects: ObjectStore
    segment: Callable[[Segment], Segment]
    redact: Sequence[str] = ()
    names: Collection[str] = ()
    # A dry run only computes ids.
    put: Callable[[Value], str] = lambda value: encode(value)[0]
    commits: dict[CommitId, CommitId] = field(default_factory=dict)
    # Of both levels, which are one kind of object.
    trees: dict[TreeId, TreeId] = field(default_factory=dict)
    snapshots: dict[SnapshotId, SnapshotId] = field(default_factory=dict)
    segments: dict[SegmentId, SegmentRef | None] = field(default_factory=dict)

    def changes(self) -> Forwarding:
        """Return the new ids of what has another one now."""
        kept = ((old, None if new is None else new.id) for old, new in self.segments.items())
        return Forwarding(
            commits=_changed_ids(self.commits),
            trees=_changed_ids(self.trees),
            snapshots=_changed_ids(self.snapshots),
            # A forward needs a target, even where nothing is left.
            segments=_changed_ids({old: new or NOTHING for old, new in kept}),
        )

    def of(self, id: str) -> str:
        """Return the new id of a commit or version; its own if it is neither, or stays."""
        return self.commits.get(CommitId(id)) or self.snapshots.get(SnapshotId(id)) or id

    def rewrite_snapshot(self, id: SnapshotId, *, has_files: bool) -> None:
        """Rewrite a version; `has_files` is False if none of its files can change."""
        old = self.objects.snapshot(id)
        refs = old.segments
        if has_files:
            found = (self._segment(ref) for ref in old.segments)
            refs = tuple(ref for ref in found if ref is not None)
        parents = tuple(self.snapshots.get(parent, parent) for parent in old.parents)
        origin = msgspec.structs.replace(old.origin, inputs=self._inputs(old.origin.inputs))
        consumed = old.consumption
        if consumed is not None:
            inputs = self._inputs(consumed.inputs)
            consumed = msgspec.structs.replace(consumed, inputs=inputs)
        new = msgspec.structs.replace(
            old, segments=refs, parents=parents, origin=origin, consumption=consumed
        )
        self.snapshots[id] = id if new == old else SnapshotId(self.put(new))

    def rewrite_commit(self, id: CommitId) -> None:
        """Rewrite a commit."""
        old = self.objects.commit(id)
        new = msgspec.structs.replace(
            old,
            tree=self._tree(old.tree),
            parents=tuple(self.commits.get(parent, parent) for parent in old.parents),
            message=self.redacted(old.message),
            run=None if old.run is None else self._run(old.run),
            metadata={key: self.redacted(value) for key, value in old.metadata.items()},
        )
        self.commits[id] = id if new == old else CommitId(self.put(new))

    def redacted(self, text: str) -> str:
        """Return a text without what is to be redacted; itself if it is the name of a branch.

        Ids of commits and versions stay: digits that are in one by chance are nobody's data, and
        what an id names would be lost.
        """
        if text in self.names or not self.redact:
            return text
        start, parts = 0, list[str]()
        for found in ID.finditer(text):
            if found[0] in self.commits or found[0] in self.snapshots:
                parts += [self._without(text[start : found.start()]), found[0]]
                start = found.end()
        return "".join([*parts, self._without(text[start:])])

    def _without(self, text: str) -> str:
        for part in self.redact:
            text = text.replace(part, REDACTED)
        return text

    def _run(self, old: Run) -> Run:
        head = None if old.head is None else self.commits.get(old.head, old.head)
        nodes = tuple(self._node(node) for node in old.nodes)
        return msgspec.structs.replace(old, head=head, nodes=nodes)

    def _node(self, old: NodeRun) -> NodeRun:
        refused = None if old.refused is None else self.redacted(old.refused)
        return msgspec.structs.replace(old, inputs=self._inputs(old.inputs), refused=refused)

    def _inputs(self, inputs: Sequence[_Read]) -> tuple[_Read, ...]:
        return tuple(
            msgspec.structs.replace(item, snapshot=item.snapshot and self.of(item.snapshot))
            for item in inputs
        )

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
            pieces, entries = pieces_and_entries(old)
            relations = {
                name: TableEntry(snapshot=self.snapshots.get(entry.snapshot, entry.snapshot))
                if isinstance(entry, TableEntry)
                else entry
                for name, entry in entries.items()
            }
            # Names stay, so it is cut where it was.
            below = tuple(
                msgspec.structs.replace(piece, id=self._schema(piece.id)) for piece in pieces
            )
            new = SchemaTree(relations=below or relations, level=old.level)
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
                    deleted=sum(tombstone.rows for tombstone in new.tombstones),
                    bytes=sum(block.bytes for block in new.blocks),
                )
        return self.segments[ref.id]


def _changed_ids(ids: Mapping[_Id, _Id]) -> dict[str, str]:
    return {str(old): str(new) for old, new in ids.items() if old != new}
