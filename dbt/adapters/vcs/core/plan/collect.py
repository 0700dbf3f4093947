"""Marking: the objects and files still needed, and whether the files are in the store.

| what                                         | objects | files |
|----------------------------------------------|---------|-------|
| a commit in the history of a root            | yes     | no    |
| a commit that is kept whole                  | yes     | yes   |
| a version that is kept whole                 | yes     | yes   |
| ancestors of any version                     | yes     | no    |

So history, lineage and merge bases are kept, however old; rows are not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, NamedTuple, TypeVar

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import CommitId, SegmentId, SnapshotId, TableId, TreeId
from dbt.adapters.vcs.core.model import Block, Entry, Segment, TableEntry, Tombstone
from dbt.adapters.vcs.core.model.tree import AbsentType, TreePiece
from dbt.adapters.vcs.core.store.blobs import Blobs, caught, each
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.relations import pieces_and_entries
from dbt.adapters.vcs.core.tree_changes import diff_trees

Id = TypeVar("Id")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """The starting points of marking.

    Attributes:
        commits: Commits whose history is kept.
        whole: Commits whose rows are kept.
        versions: Versions of tables whose rows are kept.
    """

    commits: Collection[CommitId]
    whole: Collection[CommitId] = ()
    versions: Collection[SnapshotId] = ()


class NeededFile(NamedTuple):
    """A file of rows, as its entry in a segment describes it.

    Attributes:
        path: Relative to the repository.
        bytes: Its size.
        rows: Its rows; of a tombstone those that the entry makes use of.
        is_tombstone: True for a tombstone, whose file may hold more rows.
        footer: Digest of its footer; empty if the entry has none.
        whole: Digest of the whole file; empty if the entry has none.
        relation: A table that shows it, as `schema.table`; empty if no commit that is kept does.
    """

    path: str
    bytes: int
    rows: int
    is_tombstone: bool = False
    footer: str = ""
    whole: str = ""
    relation: str = ""


@dataclass(frozen=True, slots=True)
class Needed:
    """The objects and files to keep.

    Attributes:
        objects: Kind and id of each object.
        files: Data files and tombstones by path.
        whole: Ids of the versions whose rows are kept, and of their tables and segments.
    """

    objects: set[tuple[str, str]] = field(default_factory=set)
    files: dict[str, NeededFile] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)

    @property
    def bytes(self) -> int:
        """Size of the files."""
        return sum(file.bytes for file in self.files.values())


def needed(
    roots: Roots, read: ObjectStore, on_damage: Callable[[DamagedError], None] | None = None
) -> Needed:
    """Return everything that the roots need.

    With `on_damage`, missing or damaged objects are reported to it and skipped.

    Raises:
        DamagedError: An object is missing or damaged, and there is no `on_damage`.
    """
    marking = Marking(read, on_damage)
    # First, so that each tree is walked once: what comes later leaves out what was seen.
    for ids in lots(roots.whole):
        commits = (commit for _, commit in marking.all(read.commit, ids) if commit is not None)
        marking.files(marking.tables(commit.tree for commit in commits))
    return marking.rest((*roots.commits, *roots.whole), roots.versions)


_SMALL: Final = 500
_LARGE: Final = 32
"""Objects that are read together, as a remote store answers many requests at once; and those that
may be large, as trees and segments."""


def lots(items: Iterable[Id], size: int = _SMALL) -> Iterator[list[Id]]:
    """Yield items in lots of a size."""
    reader = iter(items)
    while some := list(islice(reader, size)):
        yield some


def versions_of(read: ObjectStore, trees: Iterable[TreeId]) -> Iterator[SnapshotId]:
    """Yield the versions of the tables that some trees show; what trees share is read once."""
    marking = Marking(read)
    schemas = {ref.id: name for id in trees for name, ref in read.tree(id).schemas.items()}
    for _, entries in marking.nodes(schemas, marking.is_first):
        for entry in entries.values():
            if isinstance(entry, TableEntry):
                yield entry.snapshot


def files_of(segment: Segment, relation: str = "") -> dict[str, NeededFile]:
    """Return the files that a segment of a relation names.

    They include tombstones applied by a compaction: a diff from an earlier version reads the rows
    they hold.
    """
    applied = (item.tombstones for item in segment.derivations)
    entries: Iterable[Block | Tombstone] = chain(segment.blocks, *applied, segment.tombstones)
    return {
        entry.path: NeededFile(
            path=entry.path,
            bytes=entry.bytes,
            rows=entry.rows,
            is_tombstone=isinstance(entry, Tombstone),
            footer=entry.footer,
            whole=entry.whole,
            relation=relation,
        )
        for entry in entries
    }


class Marking:
    """What was marked so far: each object is read once.

    Attributes:
        found: The marked objects and files.
    """

    def __init__(
        self, read: ObjectStore, on_damage: Callable[[DamagedError], None] | None = None
    ) -> None:
        """Begin; `on_damage` is told of missing or damaged objects, which raise without it."""
        self.found = Needed()
        self._read = read
        self._on_damage = on_damage
        self._done: set[str] = set()
        self._relations: dict[TableId, str] = {}

    def all(
        self, fetch: Callable[[Id], V], ids: Iterable[Id], size: int = _SMALL
    ) -> Iterator[tuple[Id, V | None]]:
        """Yield objects by id, lot by lot; None for those that are damaged, which was reported."""
        for some in lots(ids, size):
            # Damage is reported by one thread, in the order of the ids.
            for id, value in zip(some, each(caught(fetch), some), strict=True):
                if not isinstance(value, DamagedError):
                    yield id, value
                elif self._on_damage is None:
                    raise value
                else:
                    self._on_damage(value)
                    yield id, None

    def is_new(self, kind: str, id: str) -> bool:
        """Mark an object; return whether it was unmarked."""
        if (kind, id) in self.found.objects:
            return False
        self.found.objects.add((kind, id))
        return True

    def history(self, commits: Iterable[CommitId]) -> Iterator[TreeId]:
        """Mark commits and those that they came from, and yield their trees."""
        waiting = list(commits)
        while waiting:
            new = [id for id in waiting if self.is_new("commit", id)]
            waiting = []
            for _, commit in self.all(self._read.commit, new):
                if commit is not None:
                    waiting += commit.parents
                    yield commit.tree

    def tables(self, ids: Iterable[TreeId]) -> list[tuple[str, SnapshotId]]:
        """Mark trees and what they show; return the names and versions of tables seen first."""
        # The empty tree is one object at both levels.
        new = [id for id in ids if self.is_first(f"upper {id}")]
        self.found.objects.update(("tree", id) for id in new)
        trees = (tree for _, tree in self.all(self._read.tree, new) if tree is not None)
        schemas = {ref.id: name for tree in trees for name, ref in tree.schemas.items()}
        found = []
        for name, entries in self.nodes(schemas, lambda each: self.is_first(f"lower {each}")):
            for relation, entry in entries.items():
                if isinstance(entry, TableEntry):
                    found.append((f"{name}.{relation}", entry.snapshot))
                else:
                    self.is_new(entry.noun, entry.version)
        self.versions(version for _, version in found)
        return found

    def versions(self, ids: Iterable[SnapshotId]) -> None:
        """Mark versions and those that they came from."""
        # Not by recursion: histories are longer than Python's stack allows.
        waiting = list(ids)
        while waiting:
            new = [id for id in waiting if self.is_new("snapshot", id)]
            waiting = []
            for _, snapshot in self.all(self._read.snapshot, new):
                if snapshot is not None:
                    for ref in snapshot.segments:
                        self.is_new("segment", ref.id)
                    waiting += snapshot.parents

    def files(self, versions: Iterable[tuple[str, SnapshotId]]) -> None:
        """Mark the files that hold versions' rows; each comes after what shows it, if known."""
        relations = {id: name for name, id in versions if self.is_first(f"files {id}")}
        owners: dict[SegmentId, str] = {}
        for id, snapshot in self.all(self._read.snapshot, relations):
            if snapshot is None:
                continue
            self.found.whole.update((id, snapshot.table), (ref.id for ref in snapshot.segments))
            relation = relations[id]
            if relation:
                self._relations.setdefault(snapshot.table, relation)
            # A version that no kept commit shows is named by the relation of its table.
            owner = relation or self._relations.get(snapshot.table, "")
            for ref in snapshot.segments:
                if self.is_first(f"segment {ref.id}"):
                    owners[ref.id] = owner
        for part, segment in self.all(self._read.segment, owners, _LARGE):
            for path, file in (files_of(segment, owners[part]) if segment else {}).items():
                self.found.files.setdefault(path, file)

    def rest(self, commits: Iterable[CommitId], versions: Collection[SnapshotId]) -> Needed:
        """Mark the history of commits, and versions with their rows; return all that is marked."""
        for trees in lots(self.history(commits)):
            self.tables(trees)
        self.versions(versions)
        self.files(("", version) for version in versions)
        return self.found

    def nodes(
        self, schemas: Mapping[TreeId, str], is_wanted: Callable[[TreeId], bool]
    ) -> Iterator[tuple[str, Mapping[str, Entry]]]:
        """Mark the wanted nodes of schemas' trees; yield the schema and the relations of each."""

        def read(id: TreeId) -> tuple[Sequence[TreePiece], Mapping[str, Entry]]:
            return pieces_and_entries(self._read.schema_tree(id))

        names = dict(schemas)
        waiting = list(names)
        while waiting:
            # What is below a node that isn't wanted was seen with it.
            new = [id for id in waiting if is_wanted(id)]
            self.found.objects.update(("tree", id) for id in new)
            waiting = []
            for id, found in self.all(read, new, _LARGE):
                if found is not None:
                    below = [piece.id for piece in found[0]]
                    names.update(dict.fromkeys(below, names[id]))
                    waiting += below
                    yield names[id], found[1]

    def is_first(self, key: str) -> bool:
        """Return whether this is asked for the first time."""
        if key in self._done:
            return False
        self._done.add(key)
        return True


# Files of one folder from which on listing it costs less than asking for each.
_MANY: Final = 16


def missing_file(blobs: Blobs, paths: Iterable[str]) -> str | None:
    """Return a file that is missing; None if all exist.

    A folder is listed if many of the files are in it: one listing covers a thousand files.
    """
    folders: dict[str, list[str]] = {}
    for path in paths:
        # `data/<table>/w=<write>` or `data/<table>/_tombstones`, partitions below.
        folders.setdefault("/".join(path.split("/", 3)[:3]), []).append(path)

    def missing(folder: str) -> str | None:
        files = folders[folder]
        # A listing also shows files of other versions, so it has to be worth it.
        if len(files) < _MANY:
            return next((path for path in files if not blobs.exists(path)), None)
        there = {info.path for info in blobs.walk(folder)}
        return next((path for path in files if path not in there), None)

    return next((path for path in each(missing, folders) if path is not None), None)


def files_of_versions(objects: ObjectStore, versions: Collection[SnapshotId]) -> set[str]:
    """Return the files that hold the rows of some versions."""
    return _files(objects, _segments(objects, versions))


def newly_named(objects: ObjectStore, before: TreeId, after: TreeId) -> set[str]:
    """Return the files that the tables of one tree name, and those of another one don't.

    Only relations that differ are looked at, and segments that both have are left out. What can't
    be read of the first tree's versions names nothing: a damaged version may be replaced.
    """
    changed = diff_trees(objects.tree(before), objects.tree(after), objects.relations).relations
    new = _segments(objects, _versions(change.new for change in changed))
    old: set[SegmentId] = set()
    known: set[str] = set()
    for version in _versions(change.old for change in changed):
        with suppress(DamagedError):
            old.update(ref.id for ref in objects.snapshot(version).segments)
    for id in old - new:
        with suppress(DamagedError):
            known.update(files_of(objects.segment(id)))
    # A write that replaces some blocks of a segment names the others in a new segment.
    return _files(objects, new - old) - known


def _versions(entries: Iterable[Entry | AbsentType]) -> list[SnapshotId]:
    return [entry.snapshot for entry in entries if isinstance(entry, TableEntry)]


def _segments(objects: ObjectStore, versions: Collection[SnapshotId]) -> set[SegmentId]:
    return {ref.id for id in versions for ref in objects.snapshot(id).segments}


def _files(objects: ObjectStore, segments: Collection[SegmentId]) -> set[str]:
    return {path for id in segments for path in files_of(objects.segment(id))}
