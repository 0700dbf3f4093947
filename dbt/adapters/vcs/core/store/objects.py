"""The immutable half: content-addressed objects, verified when read."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Hashable
from typing import Final, Generic, TypeVar, cast

from dbt.adapters.vcs.core.codec import (
    decode_unpacked,
    decoded_size,
    encode,
    kind_of,
    pack,
    unpack,
)
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, FunctionId, SegmentId, SnapshotId, TreeId, ViewId
from dbt.adapters.vcs.core.model import (
    Commit,
    Function,
    SchemaTree,
    Segment,
    Snapshot,
    Tree,
    View,
)
from dbt.adapters.vcs.core.model.tree import Value
from dbt.adapters.vcs.core.store.blobs import Blobs, check_write_once
from dbt.adapters.vcs.core.store.condemned import Condemned

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
            if size > self._max_bytes and not self._keeps_last:
                return
            self._values[key] = (value, size)
            self._bytes += size
            while self._bytes > self._max_bytes and len(self._values) > 1:
                self._bytes -= self._values.popitem(last=False)[1][1]


ObjectCache = BoundedCache[tuple[type[Value], str], Value]
"""Decoded objects by type and id."""

_ID = re.compile(r"[0-9a-f]{64}")


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
        self._flushing = threading.Lock()
        self._waiting: dict[str, bytes] = {}
        self._weight = 0
        self._files: dict[str, None] = {}
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
            if isinstance(value, Commit):
                self._own.setdefault(id, ())
            if isinstance(value, Segment):
                self._files.update(dict.fromkeys(block.path for block in value.blocks))
                self._files.update(dict.fromkeys(file.path for file in value.tombstones))
            much = self._weight > _MAX_WAITING
        self._cache.put(key, value, decoded_size(data))
        if much:
            self.flush()
        return id

    def flush(self) -> None:
        """Store what was put; must be called before a ref is moved.

        The files that segments name are synced first, so that no manifest outlives its blocks.

        Raises:
            StorageError: The store failed; objects not yet stored keep waiting.
        """
        with self._flushing:
            with self._lock:
                waiting, files = dict(self._waiting), list(self._files)
            if files:
                self._blobs.sync(files)
            self._condemned.store(waiting)
            with self._lock:
                for path in waiting:
                    self._weight -= len(self._waiting.pop(path, b""))
                for path in files:
                    self._files.pop(path, None)

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
        if not _ID.fullmatch(id):
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
            self._condemned.refresh()
            if path in self._condemned:
                raise DamagedError(
                    f"The {kind} {id} is not in {self._blobs.uri} any more: nothing had named it "
                    "for longer than history is kept, and a collection let go of it. Name a later "
                    "commit. If a branch or a tag still needs it, which dbt-vcs fsck tells, "
                    f"restore the file {path} from a backup of the repository."
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
        """Return the relations of one schema."""
        return self.get(SchemaTree, id)

    def snapshot(self, id: SnapshotId) -> Snapshot:
        """Return a version of a table."""
        return self.get(Snapshot, id)

    def segment(self, id: SegmentId) -> Segment:
        """Return a list of blocks."""
        return self.get(Segment, id)

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
        self.flush()
        if not re.fullmatch(r"[0-9a-f]{2,64}", prefix):
            return []
        if len(prefix) == 64:
            return [prefix] if has_object(self._blobs, kind, prefix) else []
        found = self._blobs.walk(f"objects/{kind}/{prefix[:2]}")
        ids = {object_key(info.path)[1] for info in found}
        return sorted(id for id in ids if id.startswith(prefix) and _ID.fullmatch(id))


def object_path(kind: str, id: str) -> str:
    """Return the first name of an object; `condemned` says when it has others."""
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
    later = blobs.next_after(path)
    return later if later is not None and later.startswith(f"{object_path(kind, id)}.") else None
