"""Presence: whether the data files that a version names are still in the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import SegmentId, SnapshotId, TreeId
from dbt.adapters.vcs.core.model import Entry, TableEntry
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.plan.collect import files_of
from dbt.adapters.vcs.core.plan.tree_merge import diff_trees
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.core.store.objects import ObjectStore

_MANY: Final = 16
"""Files of one folder from which on listing it costs less than asking for each."""


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
    changed = diff_trees(objects.tree(before), objects.tree(after), objects.schema_tree).relations
    new = _segments(objects, _versions(change.new for change in changed))
    whole = _Readable(objects)
    old = {
        id
        for version in _versions(change.old for change in changed)
        for id in whole.named(version)
    }
    known = {path for id in old - new for path in whole.files(id)}
    return _files(objects, new - old) - known


class _Readable:
    """Reads versions that may be damaged: what is damaged names nothing."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def named(self, version: SnapshotId) -> list[SegmentId]:
        """Return the segments of a version."""
        try:
            return [ref.id for ref in self._objects.snapshot(version).segments]
        except DamagedError:
            return []

    def files(self, segment: SegmentId) -> Collection[str]:
        """Return the files that a segment names."""
        try:
            return files_of(self._objects.segment(segment))
        except DamagedError:
            return ()


def _versions(entries: Iterable[Entry | AbsentType]) -> list[SnapshotId]:
    return [entry.snapshot for entry in entries if isinstance(entry, TableEntry)]


def _segments(objects: ObjectStore, versions: Collection[SnapshotId]) -> set[SegmentId]:
    return {ref.id for id in versions for ref in objects.snapshot(id).segments}


def _files(objects: ObjectStore, segments: Collection[SegmentId]) -> set[str]:
    return {path for id in segments for path in files_of(objects.segment(id))}
