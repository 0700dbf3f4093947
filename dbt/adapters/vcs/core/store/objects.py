"""The immutable half: content-addressed objects, and the names that collections condemned.

A request to delete may arrive long after it was sent: a client repeats it, a proxy holds it, a
process stands still between its last look and the request. So a name that was condemned must
never again be the only name of something that is needed (decision 37).

| who                         | does, in this order                                              |
|-----------------------------|------------------------------------------------------------------|
| collection                  | marks, writes the list of what it condemns, reads the refs and   |
|                             | the ages of files again, deletes what nobody took up             |
| writer of an object         | stores or renews it, reads the lists, stores it once more under  |
|                             | its next free name if the first one is condemned, moves the ref  |
| whoever brings rows back    | pins them, reads the lists, refuses what is condemned            |
| reader                      | tries the first name, then the others                            |

Either the writer comes first, and the collection sees that the file is young; or the list comes
first, and the writer sees the list. No clock decides which.

Data files have no second name. Their folder belongs to one write, so nobody creates one again,
and to bring one back under another name would mean to write every manifest above it again.
Remembered results have none either: what is lost of them is only computed again.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import threading
import uuid
from array import array
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Final, Generic, TypeVar, cast

import msgspec

from dbt.adapters.vcs.core.codec import (
    decode_record,
    decode_unpacked,
    decoded_size,
    encode,
    encode_record,
    kind_of,
    pack,
    unpack,
)
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.ids import (
    OBJECT_ID,
    CommitId,
    FunctionId,
    Micros,
    SegmentId,
    SnapshotId,
    TreeId,
    ViewId,
)
from dbt.adapters.vcs.core.model.snapshot import Segment, Snapshot
from dbt.adapters.vcs.core.model.tree import Commit, Function, SchemaTree, Tree, Value, View
from dbt.adapters.vcs.core.store.blobs import Blobs, check_write_once, each, next_after
from dbt.adapters.vcs.core.store.relations import SchemaRelations

V = TypeVar("V", bound=Value)
Key = TypeVar("Key", bound=Hashable)
Held = TypeVar("Held")

MAX_BYTES: Final = 512 * 2**20
"""What decoded objects may take: those of a table of 100,000 files with 16 columns are 300 MiB."""


class BoundedCache(Generic[Key, Held]):
    """Evicts the least recently used values once all together are too large.

    Args:
        max_bytes: What the values may take in memory.
        keeps_last: Keep the value that was put last even if it is larger than that by itself,
            and no other one then: for values that are costly to make and used many times.
    """

    def __init__(self, max_bytes: int, *, keeps_last: bool = False) -> None:
        self._max_bytes = max_bytes
        self._keeps_last = keeps_last
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, tuple[Held, int]] = OrderedDict()
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """What the values that are held take."""
        return self._bytes

    def __len__(self) -> int:
        """Return how many values are held."""
        return len(self._values)

    def get(self, key: Key) -> Held | None:
        """Return a value, or None if it is not held."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Key, value: Held, size: int) -> None:
        """Hold a value that takes a number of bytes, in place of another one of the same key."""
        with self._lock:
            old = self._values.pop(key, None)
            if old is not None:
                self._bytes -= old[1]
            # It would drive out everything else for one value.
            if size > self._max_bytes and not self._keeps_last:
                return
            self._values[key] = (value, size)
            self._bytes += size
            while self._bytes > self._max_bytes and len(self._values) > 1:
                self._bytes -= self._values.popitem(last=False)[1][1]


ObjectCache = BoundedCache[tuple[type[Value], str], Value]
"""Decoded objects by type and id."""


_MAX_WAITING: Final = 16 * 2**20


class ObjectStore:
    """Values by the hash of their bytes; safe to share between threads.

    Objects wait in memory until `flush`, since nobody else can see them before a ref names one,
    and writing them together costs little more than one. Objects never change, so the cache is
    never stale.
    """

    def __init__(self, blobs: Blobs, cache: ObjectCache | None = None) -> None:
        self._blobs = blobs
        self._cache = ObjectCache(MAX_BYTES) if cache is None else cache
        self._lock = threading.Lock()
        # Held while the store is asked. `_lock` isn't, so that others can put meanwhile.
        self._flushing = threading.Lock()
        self._waiting: dict[str, bytes] = {}
        # How often each was put: whoever hands one over may not be the only one that needs it.
        self._puts: Counter[str] = Counter()
        self._weight = 0
        self._files: dict[str, None] = {}
        self._synced: set[str] = set()
        self._condemned = Condemned(blobs)
        self._own: dict[str, Collection[str]] = {}

    def put(self, value: Value) -> str:
        """Return the id of a value, which `flush` stores if it is missing.

        Having existed once is not enough: it may have been collected since.
        """
        id, data = encode(value)
        key = (type(value), id)
        path, packed = object_path(kind_of(type(value)), id), pack(data)
        with self._lock:
            # Equal ids mean equal bytes, so one that already waits adds no size.
            self._weight += 0 if path in self._waiting else len(packed)
            self._waiting[path] = packed
            self._puts[path] += 1
            if isinstance(value, Commit):
                # Decision 36: what was made here is checked against purges before it lands.
                self._own.setdefault(id, ())
            if isinstance(value, Segment):
                self._files.update(dict.fromkeys(_files_of(value)))
            much = self._weight > _MAX_WAITING
        self._cache.put(key, value, decoded_size(data))
        if much:
            self.flush()
        return id

    def hand_over(self, values: Collection[Value]) -> None:
        """Prepare values that were put here for somebody else to store, by `take_over`.

        The files that they name are synced. If anything but them waits, all of it is stored, as
        they may need it.

        Raises:
            StorageError: The store failed.
        """
        paths = set(map(_path_of, values))
        with self._lock:
            is_all = self._waiting.keys() <= paths
        if not is_all:
            self.flush()
            return
        with self._flushing:
            self._sync_files()

    def drop(self, values: Iterable[Value]) -> None:
        """Forget values that were handed over: somebody else has stored what is needed of them."""
        for path in map(_path_of, values):
            with self._lock:
                self._puts[path] -= 1
                # Another thread may have put the same, and stores it.
                if self._puts[path] <= 0:
                    del self._puts[path]
                    self._weight -= len(self._waiting.pop(path, b""))

    def take_over(self, values: Iterable[Value]) -> None:
        """Read values that somebody hands over from memory, and don't sync their files again.

        They are not put: whoever needs them as they are does that.
        """
        for value in values:
            id, data = encode(value)
            self._cache.put((type(value), id), value, decoded_size(data))
            if isinstance(value, Segment):
                with self._lock:
                    self._synced.update(_files_of(value))

    def flush(self) -> None:
        """Store what was put; must be called before a ref is moved.

        The files that segments name are synced first, so that no manifest outlives its blocks.

        Raises:
            StorageError: The store failed; objects not yet stored keep waiting.
        """
        with self._flushing:
            with self._lock:
                waiting = dict(self._waiting)
            # Blocks before the manifests that name them: no manifest survives without its rows.
            # What is put from here on waits for the next time, also if its files are synced now.
            self._sync_files()
            self._condemned.store(waiting)
            with self._lock:
                # What was put again meanwhile has the same bytes, which are stored now.
                for path in waiting:
                    self._weight -= len(self._waiting.pop(path, b""))
                    self._puts.pop(path, None)

    def _sync_files(self) -> None:
        with self._lock:
            files = list(self._files)
            new = [path for path in files if path not in self._synced]
        if new:
            self._blobs.sync(new)
        with self._lock:
            for path in files:
                self._files.pop(path, None)
            self._synced.clear()

    def own(self, commit: CommitId) -> Collection[str] | None:
        """Return what a commit was made from; None unless it was made here and has no name yet.

        These are the ids of commits and versions that `note_read` was told.
        """
        return self._own.get(commit)

    def note_read(self, commit: CommitId, read: Collection[str]) -> None:
        """Note the ids of the commits and versions that a commit was made from."""
        self._own[commit] = read

    def note_landed(self, commit: CommitId) -> None:
        """Note that a name leads to a commit."""
        self._own.pop(commit, None)

    def check_write_once(self, value: Value) -> None:
        """Check, with a value that was put, that the store refuses to create an existing blob.

        Raises:
            StorageError: It does not, so two writers could both believe that they won.
        """
        self.flush()
        id, data = encode(value)
        path = self._condemned.free(object_path(kind_of(type(value)), id))
        check_write_once(self._blobs, path, pack(data))

    def get(self, type_: type[V], id: str) -> V:
        """Return the object with an id.

        Raises:
            DamagedError: It is missing, or its bytes hash to another id.
        """
        held = self._cache.get((type_, id))
        if held is not None:
            return cast(V, held)
        kind = kind_of(type_)
        # Before it becomes a path: a damaged object can hold any text as an id.
        if not OBJECT_ID.fullmatch(id):
            raise DamagedError(
                f"{id!r} is no {kind} id; expected 64 hexadecimal digits. The object or ref that "
                "names it is damaged: restore it from a backup of the repository."
            )
        data = unpack(self._read(kind, id), f"{kind} {id}")
        value = decode_unpacked(type_, id, data)
        self._cache.put((type_, id), value, decoded_size(data))
        return value

    def _read(self, kind: str, id: str) -> bytes:
        path = object_path(kind, id)
        with self._lock:
            waiting = self._waiting.get(path)
        if waiting is not None:
            return waiting
        try:
            return read_object(self._blobs, kind, id)
        except NotFoundError as error:
            # Only for the message: what a collection let go of is no damage.
            self._condemned.refresh()
            if path in self._condemned:
                raise DamagedError(
                    f"The {kind} {id} is not in {self._blobs.uri} any more: nothing had named it "
                    "for longer than history is kept, and a collection let go of it. Name a later "
                    f"commit. If a branch or a tag still needs it, restore the file {path} from a "
                    "backup of the repository. To find out: dbt-vcs fsck"
                ) from error
            raise DamagedError(
                f"The {kind} {id} is missing from {self._blobs.uri} (expected the file {path}). "
                "Restore it from a backup of the repository."
            ) from error

    def commit(self, id: CommitId) -> Commit:
        """Return a commit."""
        return self.get(Commit, id)

    def tree(self, id: TreeId) -> Tree:
        """Return a tree of schemas."""
        return self.get(Tree, id)

    def schema_tree(self, id: TreeId) -> SchemaTree:
        """Return one node of the tree of a schema's relations."""
        return self.get(SchemaTree, id)

    def relations(self, id: TreeId | None) -> SchemaRelations:
        """Return the relations of one schema, which are read when they are asked for.

        None is the id of no schema, which has none.
        """
        return SchemaRelations(self.schema_tree, id)

    def snapshot(self, id: SnapshotId) -> Snapshot:
        """Return a version of a table."""
        return self.get(Snapshot, id)

    def segment(self, id: SegmentId) -> Segment:
        """Return a list of blocks."""
        return self.get(Segment, id)

    def segments(self, ids: Iterable[SegmentId]) -> list[Segment]:
        """Return lists of blocks, in order; those that are not at hand are read at once."""
        wanted = list(ids)
        found = {id: self._cache.get((Segment, id)) for id in wanted}
        # Threads cost more than to look.
        missing = [id for id, segment in found.items() if segment is None]
        found.update(zip(missing, each(self.segment, missing), strict=True))
        return [cast(Segment, found[id]) for id in wanted]

    def view(self, id: ViewId) -> View:
        """Return a version of a view."""
        return self.get(View, id)

    def function(self, id: FunctionId) -> Function:
        """Return a version of a function."""
        return self.get(Function, id)

    def with_prefix(self, kind: str, prefix: str) -> list[str]:
        """Return the ids of one kind (`commit`, `tree`, ...) that start with a prefix, sorted.

        The prefix is at least two hexadecimal digits; anything else matches nothing.
        """
        # Objects that wait have ids by which they can be named.
        self.flush()
        if not re.fullmatch(r"[0-9a-f]{2,64}", prefix):
            return []
        if len(prefix) == 64:
            return [prefix] if has_object(self._blobs, kind, prefix) else []
        found = self._blobs.walk(f"objects/{kind}/{prefix[:2]}")
        ids = {object_key(info.path)[1] for info in found}
        return sorted(id for id in ids if id.startswith(prefix) and OBJECT_ID.fullmatch(id))


def _path_of(value: Value) -> str:
    return object_path(kind_of(type(value)), encode(value)[0])


def _files_of(segment: Segment) -> list[str]:
    blocks = [block.path for block in segment.blocks]
    return [*blocks, *(tombstone.path for tombstone in segment.tombstones)]


def object_path(kind: str, id: str) -> str:
    """Return the first name of an object; a condemned one has others."""
    return f"objects/{kind}/{id[:2]}/{id}"


def object_key(path: str) -> tuple[str, str]:
    """Return the kind and id of an object, from any of its names."""
    _, kind, *_, name = path.split("/")
    return kind, name.partition(".")[0]


def read_object(blobs: Blobs, kind: str, id: str) -> bytes:
    """Return the stored bytes of an object under the first of its names that is there.

    Raises:
        NotFoundError: There is none.
    """
    path = object_path(kind, id)
    while True:
        try:
            return blobs.get(path)
        except NotFoundError:
            # Whoever stored it under another name did so before a ref named it.
            later = next_name(blobs, kind, id, path)
            if later is None:
                raise
            path = later


def has_object(blobs: Blobs, kind: str, id: str) -> bool:
    """Return whether an object is there under any of its names."""
    path = object_path(kind, id)
    return blobs.exists(path) or next_name(blobs, kind, id, path) is not None


def next_name(blobs: Blobs, kind: str, id: str, path: str) -> str | None:
    """Return the name under which an object is there after another one; None if there is none."""
    # Ids have one length, so the other names of an object come right after the first.
    later = next_after(blobs, path)
    return later if later is not None and later.startswith(f"{object_path(kind, id)}.") else None


CONDEMNED: Final = "condemned"
"""Where the lists are: each file holds all that are not settled, and the last one counts."""

SETTLED: Final = Micros(30 * 24 * 3_600 * 1_000_000)
"""How old a list is when its names are free again: no request is on its way for a month."""


class CondemnedList(Value, frozen=True, kw_only=True):
    """What one collection condemned.

    Attributes:
        id: Random, to tell two lists apart.
        at: When it was written, by the store's time.
        names: The first 8 bytes of the SHA-256 of each path, sorted and joined, in base64. Another
            path with the same 8 bytes counts as condemned, too, which does no harm.
    """

    id: str
    at: Micros
    names: str


class CondemnedLists(Value, frozen=True, kw_only=True):
    """All lists that are not settled, the oldest first."""

    lists: tuple[CondemnedList, ...] = ()


class Condemned:
    """The lists of a repository, as they were when last read; safe to share between threads."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()
        self._number = 0
        self._lists = CondemnedLists()
        self._names: tuple[array[int], ...] = ()

    def __contains__(self, path: str) -> bool:
        """Return whether a path is on a list that is not settled."""
        # Read once: another thread may take in a newer list meanwhile.
        names = self._names
        if not names:
            return False
        name = _number_of(path)
        return any(_has(each, name) for each in names)

    def refresh(self) -> bool:
        """Read what was condemned since the last look; return whether there is anything new.

        Costs one request if there is not.
        """
        with self._lock:
            is_new = False
            while True:
                later = next_after(self._blobs, _list_path(self._number))
                if later is None:
                    return is_new
                try:
                    data = self._blobs.get(later)
                except NotFoundError:
                    # A later one has taken its place meanwhile.
                    continue
                self._take(
                    int(later.rpartition("/")[2]), decode_record(CondemnedLists, data, later)
                )
                is_new = True

    def free(self, path: str) -> str:
        """Return the first name of a file that is not condemned: `<id>`, `<id>.1`, `<id>.2`."""
        name, number = path, 0
        while name in self:
            number += 1
            folder, _, last = path.rpartition("/")
            stem, dot, rest = last.partition(".")
            name = f"{folder}/{stem}.{number}{dot}{rest}"
        return name

    def is_gone(self, path: str) -> bool:
        """Return whether a file is condemned and hasn't been stored again under a free name."""
        return path in self and not self._blobs.exists(self.free(path))

    def store(self, files: Mapping[str, bytes]) -> set[str]:
        """Store files, or renew those that are there, each under a name that nobody deletes.

        What is young when a collection looks at it is kept. A list that was written before is
        seen here, since it is read after the files were stored.

        Returns:
            The names of those that were there.
        """
        # A view of a store, as a copy checks before it is there, can't be written to.
        if not files:
            return set()
        names = {path: self.free(path) for path in files}
        there = self._blobs.create_all({name: files[path] for path, name in names.items()})
        # Each new list may condemn the names that the last round chose.
        while self.refresh():
            moved = {path: self.free(path) for path in files if names[path] in self}
            there |= self._blobs.create_all({name: files[path] for path, name in moved.items()})
            names |= moved
        return there

    def condemn(self, paths: Collection[str], now: Micros) -> str:
        """Write down what is about to be deleted; must be called before the first request.

        Args:
            paths: What is to be deleted.
            now: The time of the store; lists that are settled by then are left out.

        Returns:
            The id of the list.

        Raises:
            StorageError: The store failed, and nothing may be deleted.
        """
        new = CondemnedList(id=uuid.uuid4().hex, at=now, names=_encoded(map(_number_of, paths)))
        while True:
            self.refresh()
            # Only the last file counts, so it repeats what others have condemned.
            kept = tuple(old for old in self._lists.lists if old.at > now - SETTLED)
            if self._follow(CondemnedLists(lists=(*kept, new))):
                return new.id

    def spare(self, id: str, paths: Collection[str]) -> None:
        """Take paths off a list, for which no request was sent after all.

        Only the collection that wrote the list can know that.
        """
        spared = {_number_of(path) for path in paths}
        while spared:
            self.refresh()
            lists = tuple(
                msgspec.structs.replace(old, names=_encoded(set(_decoded(old.names)) - spared))
                if old.id == id
                else old
                for old in self._lists.lists
            )
            if self._follow(CondemnedLists(lists=lists)):
                return

    def _follow(self, lists: CondemnedLists) -> bool:
        """Write the next file, and delete that before; False if another collection was first."""
        with self._lock:
            last = self._number
            if not self._blobs.create(_list_path(last + 1), encode_record(lists)):
                return False
            self._take(last + 1, lists)
        if last:
            # Numbers only grow, so a request that arrives late finds nothing of the name.
            self._blobs.delete(_list_path(last))
        return True

    def _take(self, number: int, lists: CondemnedLists) -> None:
        self._number, self._lists = number, lists
        self._names = tuple(_decoded(each.names) for each in lists.lists)


def _list_path(number: int) -> str:
    return f"{CONDEMNED}/{number:020d}"


def _number_of(path: str) -> int:
    # Decision 37: with eight bytes a name, a million deletions take 11 MB.
    return int.from_bytes(hashlib.sha256(path.encode()).digest()[:8], "big")


def _has(names: array[int], name: int) -> bool:
    at = bisect_left(names, name)
    return at < len(names) and names[at] == name


def _encoded(names: Iterable[int]) -> str:
    found = array("Q", sorted(set(names)))
    # Big-endian in the file, whatever machine wrote it.
    if sys.byteorder == "little":
        found.byteswap()
    return base64.b64encode(found.tobytes()).decode()


def _decoded(names: str) -> array[int]:
    found = array("Q", base64.b64decode(names))
    if sys.byteorder == "little":
        found.byteswap()
    return found
