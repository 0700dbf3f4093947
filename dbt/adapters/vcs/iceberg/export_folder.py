"""The folder of an exported branch: what lies in it, and which versions it names."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.store.blobs import Blobs, each
from dbt.adapters.vcs.core.store.branch_names import quote
from dbt.adapters.vcs.iceberg.metadata_files import FOLDER

EXPORTS: Final = f"{FOLDER}/export"
HINT: Final = "version-hint.text"
STATES: Final = "_exported"
REGISTERED: Final = "_registered"
"""No schema's name begins so."""

T = TypeVar("T")

# As in Iceberg's Hadoop tables, which engines find in a folder without a catalog.
_VERSION: Final = re.compile(r"v([1-9][0-9]*)\.metadata\.json")
# How many metadata files of a table are kept: somebody may have read the hint a moment ago.
_KEPT: Final = 5

_FEW: Final = 20
"""Tables whose folders are listed one by one."""


class ExportState(msgspec.Struct, frozen=True, kw_only=True):
    """What was exported last, all of it.

    Attributes:
        commit: Where the branch pointed.
        refused: The tables of the commit that can't be exported, and why.
        format_version: Version of Iceberg's format.
        views: The paths of the views' metadata files, by `schema.view`.
    """

    commit: CommitId
    refused: dict[str, str]
    format_version: int
    views: dict[str, str]


class NumberedFile(NamedTuple):
    """A metadata file to write."""

    number: int
    data: bytes


class Showing(NamedTuple):
    """The number of the metadata file that readers are to find, and the paths of those before."""

    number: int
    versions: Mapping[int, str]


class _Properties(msgspec.Struct):
    """What is decoded of a metadata file where the rest is only compared."""

    properties: dict[str, str]


class ExportFolder:
    """The exported tables of one branch."""

    def __init__(self, blobs: Blobs, path: str) -> None:
        self._blobs = blobs
        self.path = path

    def state(self) -> ExportState | None:
        """Return what was exported last; None if that is unknown."""
        # Twenty digits: the order of names is that of moves.
        states = sorted(info.path for info in self._blobs.walk(f"{self.path}/{STATES}"))
        if not states:
            return None
        data = self._blobs.get(states[-1])
        try:
            return msgspec.json.decode(data, type=ExportState)
        except msgspec.ValidationError:
            # An export of an earlier release knew less.
            return None
        except ValueError as error:
            raise _unreadable(states[-1], error) from error

    def finish(self, move: int, state: ExportState) -> None:
        """Write down what was exported at a move of the branch, and forget what was before."""
        path = f"{self.path}/{STATES}/{move:020}.json"
        # Written first: a process that dies now leaves two, of which the later counts.
        self._blobs.replace_all({path: msgspec.json.encode(state)})
        for info in list(self._blobs.walk(f"{self.path}/{STATES}")):
            if info.path < path:
                self._blobs.delete(info.path)

    def relations(self) -> set[RelationName]:
        """Return the tables that are exported."""
        return {
            RelationName(schema, table)
            for schema in self._blobs.folders(self.path)
            if schema not in (STATES, REGISTERED)
            for table in self._blobs.folders(f"{self.path}/{schema}")
            if self.versions(RelationName(schema, table))
        }

    def registered(self, catalog: str, digest: str) -> dict[RelationName, str]:
        """Return the URIs of the metadata files that a catalog was told of, by table."""
        try:
            found = _read(self._blobs, self._record(catalog, digest))
        except NotFoundError:
            return {}
        return {RelationName(*name.split(".", 1)): uri for name, uri in found.items()}

    def note_registered(
        self, catalog: str, digest: str, locations: Mapping[RelationName, str]
    ) -> None:
        """Write down which metadata files a catalog was told of."""
        told = {str(relation): uri for relation, uri in sorted(locations.items())}
        path = self._record(catalog, digest)
        self._blobs.replace_all({path: json.dumps(told).encode()})

    def _record(self, catalog: str, digest: str) -> str:
        # With the digest of its settings: a name may mean another catalog by now.
        return f"{self.path}/{REGISTERED}/{catalog}-{digest}.json"

    def _in_catalogs(self) -> set[str]:
        """Return the paths of the metadata files that any catalog was told of."""
        infos = list(self._blobs.walk(f"{self.path}/{REGISTERED}"))
        uris = (uri for info in infos for uri in _read(self._blobs, info.path).values())
        return {f"{self.path}/{uri.rpartition(f'/{self.path}/')[2]}" for uri in uris}

    def folder_of(self, relation: RelationName) -> str:
        """Return the folder of a table's metadata, relative to the repository."""
        return f"{self.path}/{relation.schema}/{relation.identifier}/metadata"

    def _path_of(self, relation: RelationName, number: int) -> str:
        return f"{self.folder_of(relation)}/v{number}.metadata.json"

    def versions(self, relation: RelationName) -> dict[int, str]:
        """Return the paths of a table's metadata files by number, in ascending order."""
        return self.versions_of([relation])[relation]

    def versions_of(
        self, relations: Collection[RelationName]
    ) -> dict[RelationName, dict[int, str]]:
        """Return the paths of tables' metadata files; see `versions`."""
        folders = {self.folder_of(relation): relation for relation in relations}
        found: dict[RelationName, dict[int, str]] = {relation: {} for relation in relations}
        # A listing of everything takes fewer requests than one for each of many tables.
        walked = folders if len(folders) <= _FEW else [self.path]
        for info in (info for folder in walked for info in self._blobs.walk(folder)):
            folder, _, name = info.path.rpartition("/")
            matched = _VERSION.fullmatch(name)
            if matched and folder in folders:
                found[folders[folder]][int(matched[1])] = info.path
        return {relation: dict(sorted(paths.items())) for relation, paths in found.items()}

    def metadata(self, path: str) -> dict[str, Any] | None:
        """Return a metadata file; None if it is gone meanwhile."""
        try:
            return _read(self._blobs, path)
        except NotFoundError:
            return None

    def last(self, versions: Mapping[int, str]) -> tuple[bytes, dict[str, str]]:
        """Return the metadata file with the highest number, and the properties in it.

        Both are empty if there is none.
        """
        if not versions:
            return b"", {}
        path = versions[max(versions)]
        try:
            data = self._blobs.get(path)
        except NotFoundError:
            return b"", {}
        return data, _decoded(data, path, _Properties).properties

    def add(self, files: Mapping[RelationName, NumberedFile]) -> set[RelationName]:
        """Write metadata files, and return the tables that have one with the number already."""
        paths = {
            self._path_of(relation, file.number): relation for relation, file in files.items()
        }
        datas = {path: files[relation].data for path, relation in paths.items()}
        return {paths[path] for path in self._blobs.create_all(datas)}

    def show(self, shown: Mapping[RelationName, Showing]) -> None:
        """Let readers find metadata files, and delete those long before."""
        hints = {
            f"{self.folder_of(relation)}/{HINT}": str(showing.number).encode()
            for relation, showing in shown.items()
            if showing.number not in showing.versions or self._hint(relation) != showing.number
        }
        self._blobs.replace_all(hints)
        # Catalogs name files by path, and may be behind the hint.
        kept = self._in_catalogs()
        old = [
            path
            for showing in shown.values()
            for number, path in showing.versions.items()
            if number <= showing.number - _KEPT and path not in kept
        ]
        each(self._blobs.delete, old)

    def remove(self, relation: RelationName) -> bool:
        """Delete a table from the export; return whether it was there."""
        folder = self.folder_of(relation)
        versions = self.versions(relation)
        # Without the hint readers take the highest number: so until the end they see the last
        # version or none, and never one of before.
        self._blobs.delete(f"{folder}/{HINT}")
        for path in versions.values():
            self._blobs.delete(path)
        return bool(versions)

    def take_back(self, files: Collection[tuple[RelationName, int]]) -> None:
        """Delete metadata files by their numbers, and before them the hints that name them."""
        hinted = {relation for relation, number in files if self._hint(relation) == number}
        # The same order as in `remove`: no reader is led to a file that is gone.
        each(self._blobs.delete, [f"{self.folder_of(name)}/{HINT}" for name in sorted(hinted)])
        each(self._blobs.delete, [self._path_of(*file) for file in sorted(files)])

    def named(self) -> Iterator[SnapshotId]:
        """Yield the versions of tables that readers of the export may ask for.

        Raises:
            DamagedError: A metadata file can't be read.
        """
        registered = self._in_catalogs()
        for relation in self.relations():
            versions = self.versions(relation)
            hint = self._hint(relation)
            shown = {n for n, at in versions.items() if n == hint or at in registered}
            # Readers that find no hint take the highest number.
            shown |= {*list(versions)[-1:]}
            for number in shown:
                for snapshot in (self.metadata(versions[number]) or {}).get("snapshots", ()):
                    yield SnapshotId(snapshot["summary"]["vcs.snapshot"])

    def _hint(self, relation: RelationName) -> int | None:
        try:
            text = self._blobs.get(f"{self.folder_of(relation)}/{HINT}")
        except NotFoundError:
            return None
        return int(text) if text.isdigit() else None


def export_folder(blobs: Blobs, branch: str) -> ExportFolder:
    """Return the folder of a branch's exported tables."""
    return ExportFolder(blobs, f"{EXPORTS}/{quote(branch)}")


def exported_versions(blobs: Blobs) -> set[SnapshotId]:
    """Return the versions of tables that exports of any branch name: a collection keeps them.

    Raises:
        DamagedError: A metadata file can't be read.
    """
    found: set[SnapshotId] = set()
    for folder in blobs.folders(EXPORTS):
        found.update(ExportFolder(blobs, f"{EXPORTS}/{folder}").named())
    return found


def _read(blobs: Blobs, path: str) -> dict[str, Any]:
    return _decoded(blobs.get(path), path, dict[str, Any])


def _decoded(data: bytes, path: str, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=type_)
    except ValueError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: ValueError) -> DamagedError:
    return DamagedError(
        f"The exported file {path} can't be read: {error}. Nothing of the repository needs "
        f"it. Delete the folder {EXPORTS}, then: dbt-vcs export"
    )
