"""Where Iceberg metadata lies, and files of it that wait to be stored together."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from dbt.adapters.vcs.core.ids import TableId
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs, next_after
from dbt.adapters.vcs.core.store.objects import Condemned

FOLDER: Final = "iceberg"
"""Everything made for other engines lies below it, and can be deleted and made again."""

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataPlace:
    """A place for metadata in a repository.

    Attributes:
        root: URI of the repository, as the engines that read the metadata reach it:
            `file:///…`, `s3://…`.
    """

    root: str

    def uri(self, path: str) -> str:
        """Return the URI of a file, given its path in the repository.

        Nothing is escaped: what looks like an escape is part of the file's name.
        """
        return f"{self.root}/{path}"


def place_of(repository: Repository) -> MetadataPlace:
    """Return the place in a repository that engines reach under the location it was opened at."""
    location = repository.uri.rstrip("/")
    if not _SCHEME.match(location):
        return MetadataPlace(root=f"file://{location}")
    # Hadoop calls a bucket s3a, and Iceberg's readers call it s3.
    return MetadataPlace(root=re.sub("^s3a://", "s3://", location))


def folder_of_table(table: TableId) -> str:
    """Return the folder of a table's metadata, relative to the repository."""
    return f"{FOLDER}/tables/{table}"


_HELD: Final = 32 * 2**20
"""Bytes of manifests that wait before they are stored, and the same of lists."""


class PendingFiles:
    """Files that wait to be stored together, seen as if they were in the store already.

    Storing many at once costs about as much as storing one: a local disk is synced once, and
    requests to an object store are made at the same time. Whatever a list names is in the store
    before it is, so a process that dies leaves no list of files that are missing.

    What is used again is stored again: a collection may have found that nobody needs it. Files
    that collections condemned are made again under other names, since others name them by paths.

    Attributes:
        condemned: What collections had condemned when this was made or last stored.
    """

    def __init__(self, stored: Blobs) -> None:
        self.stored = stored
        self.condemned = Condemned(stored)
        self.condemned.refresh()
        self._named: dict[str, bytes] = {}
        self._lists: dict[str, bytes] = {}
        self._weight = 0
        self._list_weight = 0
        self._is_overtaken = False

    def add(self, path: str, data: bytes) -> None:
        """Let a manifest, or a file that one names, wait; many that wait may be stored now."""
        self._named[path] = data
        self._weight += len(data)
        if self._weight > _HELD:
            self._store_named()

    def add_list(self, path: str, data: bytes) -> None:
        """Let a list of manifests wait; many that wait may be stored now, after what they name.

        They wait on if none of them is to be stored: see `store`.
        """
        self._lists[path] = data
        self._list_weight += len(data)
        if self._list_weight > _HELD and not self._is_overtaken:
            self._store_named()
            if not self._is_overtaken:
                self._is_overtaken = not self._store_lists()

    def get(self, path: str) -> bytes:
        """Return a file, waiting or stored; NotFoundError if there is none."""
        for waiting in (self._lists, self._named):
            if path in waiting:
                return waiting[path]
        return self.stored.get(path)

    def use(self, path: str) -> int:
        """Return the size of a manifest, or of a file that one names, which a list is to name.

        Raises:
            NotFoundError: There is none, neither waiting nor stored.
        """
        found = self._named.get(path)
        if found is None:
            # Stored again, and so younger: a collection takes what is old and unnamed.
            found = self.stored.get(path)
            self.add(path, found)
        return len(found)

    def any_list(self, prefix: str) -> str | None:
        """Return a list whose path begins so, waiting or stored."""
        # One name after the prefix is cheaper than a listing of all that begin so.
        stored = next_after(self.stored, prefix)
        while stored is not None and stored.startswith(prefix):
            if stored not in self.condemned:
                return stored
            stored = next_after(self.stored, stored)
        return next((path for path in self._lists if path.startswith(prefix)), None)

    def store(self) -> bool:
        """Store what waits; return whether it is what was made here.

        Another process may have been first with other bytes, as another version of a package
        writes them. Then lists say something else of a file than what is true, and none of them is
        stored: whoever made them makes them again, from what is there. The same holds if a
        collection has condemned something meanwhile.
        """
        self._store_named()
        is_overtaken, self._is_overtaken = self._is_overtaken, False
        if is_overtaken:
            self._lists, self._list_weight = {}, 0
            return False
        return self._store_lists()

    def put_last(self, path: str, data: bytes) -> str:
        """Store a file that nothing but a catalog names, at once; return the path it has."""
        while True:
            free = self.condemned.free(path)
            if not self.stored.exists(free):
                self.stored.create(free, data)
            # Looked at after the write: a collection may have condemned the name meanwhile
            # (decision 37).
            if not self.condemned.refresh() or free not in self.condemned:
                return free

    def _store_lists(self) -> bool:
        lists, self._lists, self._list_weight = self._lists, {}, 0
        return self._stored(lists)

    def _store_named(self) -> None:
        named, self._named, self._weight = self._named, {}, 0
        if not self._stored(named):
            self._is_overtaken = True

    def _stored(self, files: dict[str, bytes]) -> bool:
        # Never replaced: readers may have a file open, and lists know its length.
        there = self.stored.create_all(files)
        # After they were stored: see `core.store.objects`.
        is_new = bool(files) and self.condemned.refresh()
        if is_new and any(path in self.condemned for path in files):
            return False
        return all(self.stored.get(path) == files[path] for path in there)


class MetadataFile(NamedTuple):
    """A metadata.json in the store, of a table or a view.

    Attributes:
        metadata: What it holds.
        location: Its URI.
        path: The same relative to the repository.
        version: The version of the table or view that it shows.
    """

    metadata: dict[str, Any]
    location: str
    path: str
    version: str


def put_metadata(
    files: PendingFiles,
    place: MetadataPlace,
    folder: str,
    metadata: dict[str, Any],
    version: str,
) -> MetadataFile:
    """Store a metadata.json under a name that its content gives it."""
    data = encoded(metadata)
    path = f"{folder}/{hashlib.sha256(data).hexdigest()[:32]}.metadata.json"
    path = files.put_last(path, data)
    return MetadataFile(metadata, place.uri(path), path, version)


def encoded(metadata: Mapping[str, Any]) -> bytes:
    """Return the bytes of a metadata.json."""
    return msgspec.json.encode(metadata)
