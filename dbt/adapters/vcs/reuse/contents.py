"""Contents: digests of what names mean on a branch, without an engine.

Equal digests give equal rows. A table's is that of its columns and manifests, so a clone, a
restored version or one that only another branch made counts as the same. A view's covers its text
and everything below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

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
from dbt.adapters.vcs.engines.port import PRIVATE
from dbt.adapters.vcs.reuse.circumstances import machine_zone
from dbt.adapters.vcs.reuse.outside_files import UnknownFilesError, files_digest
from dbt.adapters.vcs.sql.syntax.names import At, Reference
from dbt.adapters.vcs.workspace.mounts import External, Externals, relation_of
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.pins import pinned, query_of_body, query_of_view


class UnknownContentsError(Exception):
    """What a name means is not known without an engine; the text says why."""


def entry_digest(overlay: Overlay, entry: Entry | None) -> str:
    """Return a digest of what a statement about one relation can depend on."""
    if entry is None:
        return "nothing"
    if isinstance(entry, TableEntry):
        return table_digest(overlay.snapshot(entry.snapshot))
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
            UnknownContentsError: There is no such relation, or it can't be looked at from here.
        """
        if name not in self._done:
            if name in self._path:
                raise UnknownContentsError(f"{name} reads itself")
            self._path.append(name)
            self._done[name] = self._found(name)
            self._path.pop()
        return self._done[name]

    def pinned(self, read: Reference, schema: str) -> str:
        """Return the digest of a version that a text names.

        Raises:
            UnknownContentsError: There is no such version, or it can't be resolved from here.
        """
        assert read.at is not None
        return self._version(read.name.relation(schema), read.at)

    def files(self, location: str) -> str:
        """Return the digest of files that a query names, as `format.path`.

        Raises:
            UnknownContentsError: They can't be looked at from here.
        """
        path = location.partition(".")[2].strip("`")
        self.inputs[location] = Input(relation=location, external=location)
        return self._listed(path or location)

    def _found(self, name: RelationName) -> str:
        entry = self._overlay.entry(name)
        if isinstance(entry, TableEntry):
            return self._table(name, entry.snapshot)
        if isinstance(entry, ViewEntry):
            return self._view(name, entry.view)
        if isinstance(entry, FunctionEntry):
            return self._function(name, entry.function)
        external = self._externals.get(name)
        if external is None or name.schema == PRIVATE:
            raise UnknownContentsError(f"{name} is not a relation of the branch")
        return self._external(name, external)

    def _table(self, name: RelationName, id: SnapshotId) -> str:
        self.inputs[str(name)] = Input(relation=str(name), snapshot=id)
        if self._shapes:
            return digest_of_values("shape", schema_text(self._overlay.snapshot(id).schema))
        return self._rows(id)

    def _rows(self, id: SnapshotId) -> str:
        """Return the digest of a version's rows, however they were compacted since."""
        snapshot = self._overlay.snapshot(id)
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
        if query.diffs or query.files:
            raise UnknownContentsError(f"{name} reads a difference or files")
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
                raise UnknownContentsError(f"{name} reads a difference or files")
            pins = self._pins(body.reads)
        below = self._below((*function.reads, *function.calls))
        plain = msgspec.structs.replace(function, comment=None)
        zone = () if function.language == "sql" else (machine_zone(),)
        return digest_of_values("function", encode_record(plain), below, pins, *zone)

    def _below(self, names: Iterable[str]) -> list[tuple[str, str]]:
        return [(name, self.of(relation_of(name))) for name in names]

    def _pins(self, reads: Iterable[Reference]) -> list[str]:
        return [self._version(read.name.relation(""), read.at) for read in reads if read.at]

    def _version(self, relation: RelationName, at: At) -> str:
        try:
            found = pinned(self._overlay, self._no_engine, relation, at)
        except VcsError as error:
            raise UnknownContentsError(str(error)) from error
        id = found.snapshot
        self.inputs[f"{relation}@{id}"] = Input(relation=str(relation), snapshot=id, pinned=True)
        return self._rows(id)

    def _no_engine(self) -> Any:
        return _Zone(self._zone)

    def _external(self, name: RelationName, external: External) -> str:
        self.inputs[str(name)] = Input(relation=str(name), external=external.location)
        options = sorted(external.options.items())
        return digest_of_values("files", external.format, options, self._listed(external.location))

    def _listed(self, location: str) -> str:
        try:
            return files_digest(location, self._options)
        except UnknownFilesError as error:
            raise UnknownContentsError(str(error)) from error


class _Zone:
    """What a time without an offset needs of an engine: the session's time zone."""

    def __init__(self, zone: Callable[[], str]) -> None:
        self._zone = zone

    def setting(self, key: str, default: str | None = None) -> str | None:
        return self._zone()
