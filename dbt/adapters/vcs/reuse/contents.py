"""Contents: digests of what names mean on a branch, without an engine.

Equal digests give equal rows. A table's is that of its columns and manifests, so a clone, a
restored version or one that only another branch made counts as the same. A view's covers its text
and everything below it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from dbt.adapters.vcs.core.codec import (
    digest_of_values,
    encode_record,
    rows_digest,
    schema_text,
    table_digest,
)
from dbt.adapters.vcs.core.errors import DamagedError, VcsError
from dbt.adapters.vcs.core.ids import FunctionId, SnapshotId, ViewId
from dbt.adapters.vcs.core.model import (
    Entry,
    FunctionEntry,
    Input,
    RelationName,
    TableEntry,
    ViewEntry,
)
from dbt.adapters.vcs.core.store.opening import CLOUD_SCHEMES, open_blobs
from dbt.adapters.vcs.engines.port import PRIVATE
from dbt.adapters.vcs.reuse.engine_context import machine_zone
from dbt.adapters.vcs.sql.syntax.names import At, Reference
from dbt.adapters.vcs.sql.syntax.parser import query_of_body, query_of_view
from dbt.adapters.vcs.workspace.mounts import External, Externals
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import pinned


class NotReusableError(Exception):
    """A statement's result must be computed; the text says why."""


def entry_digest(overlay: Overlay, entry: Entry | None) -> str:
    """Return a digest of what a statement about one relation can depend on."""
    if entry is None:
        return "nothing"
    if isinstance(entry, TableEntry):
        return table_digest(overlay.snapshot(entry.snapshot))
    # The id of a view or function is a digest of its text already.
    return f"{entry.noun} {entry.version}"


class NameContents:
    """The digests of relations and functions on one branch.

    Attributes:
        inputs: What was read on the way, as an engine's mounts would record it.
        texts: Texts of the views and functions on the way.
        varying: What says that functions on the way may vary.
    """

    def __init__(
        self,
        overlay: Overlay,
        externals: Externals,
        storage_options: Mapping[str, str],
        zone: Callable[[], str],
        *,
        shapes: bool = False,
    ) -> None:
        """With `shapes`, tables count by their columns only: what a definition depends on."""
        self._overlay = overlay
        self._externals = externals
        self._options = storage_options
        self._zone = zone
        self._shapes = shapes
        self._done: dict[RelationName, str] = {}
        self._path: list[RelationName] = []
        self.inputs: dict[str, Input] = {}
        self.texts: list[str] = []
        self.varying: list[str] = []

    def of(self, name: RelationName) -> str:
        """Return the digest of a relation or function.

        Raises:
            NotReusableError: There is no such relation, or it can't be looked at from here.
        """
        if name not in self._done:
            # Views can be made to read each other, by merges.
            if name in self._path:
                raise NotReusableError(f"{name} reads itself")
            self._path.append(name)
            self._done[name] = self._digest_of(name)
            self._path.pop()
        return self._done[name]

    def pinned(self, relation: RelationName, at: At) -> str:
        """Return the digest of a version that a text names.

        Raises:
            NotReusableError: There is no such version, or it can't be resolved from here.
        """
        try:
            found = pinned(self._overlay, self._zone, relation, at)
        except VcsError as error:
            raise NotReusableError(str(error)) from error
        id = found.snapshot
        self.inputs[f"{relation}@{id}"] = Input(relation=str(relation), snapshot=id, pinned=True)
        return self._rows(id)

    def files(self, location: str) -> str:
        """Return the digest of files that a query names, as `format.path`.

        Raises:
            NotReusableError: They can't be looked at from here.
        """
        path = location.partition(".")[2].strip("`")
        self.inputs[location] = Input(relation=location, external=location)
        return files_digest(path or location, self._options)

    def _digest_of(self, name: RelationName) -> str:
        entry = self._overlay.entry(name)
        if isinstance(entry, TableEntry):
            return self._table(name, entry.snapshot)
        if isinstance(entry, ViewEntry):
            return self._view(name, entry.view)
        if isinstance(entry, FunctionEntry):
            return self._function(name, entry.function)
        external = self._externals.get(name)
        if external is None or name.schema == PRIVATE:
            raise NotReusableError(f"{name} is not a relation of the branch")
        return self._external(name, external)

    def _table(self, name: RelationName, id: SnapshotId) -> str:
        self.inputs[str(name)] = Input(relation=str(name), snapshot=id)
        if self._shapes:
            return digest_of_values("shape", schema_text(self._overlay.snapshot(id).schema))
        return self._rows(id)

    def _rows(self, id: SnapshotId) -> str:
        """Return the digest of a version's rows, however they were compacted since."""
        snapshot = self._overlay.snapshot(id)
        # Compaction changes files and no row.
        while snapshot.operation == "optimize" and snapshot.parents:
            try:
                snapshot = self._overlay.snapshot(snapshot.parents[0])
            except DamagedError:
                break
        return rows_digest(snapshot)

    def _view(self, name: RelationName, id: ViewId) -> str:
        self.inputs[str(name)] = Input(relation=str(name), view=id)
        view = self._overlay.view(id)
        self.texts.append(view.text)
        query = query_of_view(view.text)
        # Both depend on more than the names in a text.
        if query.diffs or query.files:
            raise NotReusableError(f"{name} reads a difference or files")
        # Names only: comments on columns change no row.
        columns = [column.name for column in view.columns]
        return digest_of_values(
            "view",
            view.text,
            columns,
            view.aliased,
            self._below((*view.reads, *view.calls)),
            self._pins(query.reads),
        )

    def _function(self, name: RelationName, id: FunctionId) -> str:
        self.inputs[str(name)] = Input(relation=str(name), function=id)
        function = self._overlay.function(id)
        pins: list[str] = []
        # Of SQL the text shows it; a program can do anything.
        if not (
            function.language == "sql"
            if function.deterministic is None
            else function.deterministic
        ):
            self.varying.append(f"the function {name} isn't declared deterministic")
        if function.language == "sql":
            self.texts.append(function.text)
            body = query_of_body(function.text)
            if body.diffs or body.files:
                raise NotReusableError(f"{name} reads a difference or files")
            pins = self._pins(body.reads)
        below = self._below((*function.reads, *function.calls))
        # What a function is said to do does not change what it does.
        plain = msgspec.structs.replace(function, comment=None)
        # Python reads a time without an offset in the zone of the machine.
        zone = () if function.language == "sql" else (machine_zone(),)
        return digest_of_values("function", encode_record(plain), below, pins, *zone)

    def _below(self, names: Iterable[str]) -> list[tuple[str, str]]:
        return [(name, self.of(RelationName.of(name))) for name in names]

    def _pins(self, reads: Iterable[Reference]) -> list[str]:
        return [self.pinned(read.name.relation(""), read.at) for read in reads if read.at]

    def _external(self, name: RelationName, external: External) -> str:
        self.inputs[str(name)] = Input(relation=str(name), external=external.location)
        options = sorted(external.options.items())
        files = files_digest(external.location, self._options)
        return digest_of_values("files", external.format, options, files)


_SCHEME: Final = re.compile(r"[A-Za-z][\w+.-]*:")
_PATTERN: Final = re.compile(r"[*?\[{\\]")
_WILD: Final = re.compile(r"[*?]")
_OF_HADOOP: Final = re.compile(r"[\[{\\]")
# Bytes up to which a file is read to know whether it changed.
_WHOLE: Final = 1 << 20

_END: Final = 1 << 16
# Files from which on looking at each would take longer than it is worth.
_MANY: Final = 100_000


def files_digest(location: str, options: Mapping[str, str]) -> str:
    """Return a digest of the files at a location: their paths and contents.

    It may cover more files than Spark reads there, never fewer. Of a file beyond a megabyte the
    size, the time and both ends count; in an object store the tag that it gives each object.

    Args:
        location: A path or URI, with Hadoop's patterns.
        options: Options of the object store, as for the repository's.

    Raises:
        NotReusableError: They can't be listed from here, or there are none.
    """
    scheme = _SCHEME.match(location)
    if scheme is None or scheme[0].lower() == "file:":
        found = sorted(_local(_local_path(location)))
    elif scheme[0].rstrip(":").lower() in CLOUD_SCHEMES:
        found = sorted(_in_store(location, options))
    else:
        raise NotReusableError(f"files at {location} can't be listed without Spark")
    if not found:
        raise NotReusableError(f"there are no files at {location}")
    return hashlib.sha256(repr(found).encode()).hexdigest()[:32]


def _local_path(location: str) -> str:
    return unquote(urlsplit(location).path) if location.startswith("file:") else location


def _local(pattern: str) -> Iterator[tuple[str, int, str]]:
    """Return path, size and contents of at least the files that Spark reads."""
    count = 0
    try:
        for file in _below(_places(pattern)):
            if isinstance(file, _Link):
                yield str(file.path), -1, str(file.target)
                continue
            count += 1
            if count > _MANY:
                raise NotReusableError(f"there are more than {_MANY} files at {pattern}")
            yield str(file), file.stat().st_size, _contents(file)
    except OSError as error:
        raise NotReusableError(f"{pattern} can't be listed: {error}") from error


def _places(pattern: str) -> Iterable[Path]:
    """Return files and folders that have all that Hadoop finds by a pattern, or more.

    From a part with a class, alternatives or an escape on, everything is taken: Hadoop has rules
    of its own there, such as `[^x]` and `{a/b,c}`.
    """
    first, *parts = Path(os.path.abspath(pattern)).parts
    places = [Path(first)]
    for part in parts:
        if _OF_HADOOP.search(part):
            break
        if _WILD.search(part):
            inside = (child for place in places if place.is_dir() for child in place.iterdir())
            places = [child for child in inside if fnmatchcase(child.name, part)]
        else:
            places = [place / part for place in places]
    return places


class _Link(NamedTuple):
    path: Path
    target: Path


def _below(places: Iterable[Path]) -> Iterator[Path | _Link]:
    """Return files, also in linked folders, which Spark follows; each folder's only once.

    A link to a folder comes as itself as well, since folders' names are partitions.
    """
    seen: set[Path] = set()
    waiting = list(places)
    while waiting:
        path = waiting.pop()
        if path.is_file():
            yield path
        elif path.is_dir():
            target = path.resolve()
            # Spark reads through the link, and takes its name for a partition.
            if path.is_symlink():
                yield _Link(path, target)
            if target not in seen:
                seen.add(target)
                waiting += path.iterdir()


def _contents(file: Path) -> str:
    """Return a digest of a file's contents; of a large one the ends and the time count."""
    found = file.stat()
    with file.open("rb") as opened:
        if found.st_size <= _WHOLE:
            return hashlib.sha256(opened.read()).hexdigest()
        first = opened.read(_END)
        # A Parquet file has its footer at the end, and rows are appended to a text there.
        opened.seek(-_END, os.SEEK_END)
        return hashlib.sha256(repr((first, opened.read(), found.st_mtime_ns)).encode()).hexdigest()


def _in_store(location: str, options: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    # Everything below the last folder before the pattern.
    match = _PATTERN.search(location)
    fixed = location if match is None else location[: match.start()].rpartition("/")[0]
    base, _, last = fixed.rstrip("/").rpartition("/")
    if "://" not in base or base.endswith(":/"):
        raise NotReusableError(f"{location} names no folder of a bucket")
    try:
        blobs = open_blobs(base, options)
        for count, info in enumerate(blobs.walk(last)):
            if count > _MANY:
                raise NotReusableError(f"there are more than {_MANY} files at {location}")
            # A tag changes with each write; a time may be equal within a second.
            yield info.path, info.bytes, info.tag or str(info.modified_at)
    except VcsError as error:
        raise NotReusableError(f"{location} can't be listed: {error}") from error
