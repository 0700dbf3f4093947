"""Mounts: relation versions made readable by name when a statement needs them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from dbt.adapters.vcs.core.codec import encode_record
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import FunctionId, SnapshotId, ViewId
from dbt.adapters.vcs.core.model import (
    FunctionEntry,
    Input,
    RelationName,
    TableEntry,
    View,
    ViewEntry,
)
from dbt.adapters.vcs.engines.port import NamedMounts, Session, Showcase, Sign
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.names import Reference
from dbt.adapters.vcs.sql.syntax.statement import Query
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace import shown_signs
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.pins import pinned, query_of_body, query_of_view
from dbt.adapters.vcs.workspace.table_version import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """Files outside the repository that can be read by a relation name.

    Attributes:
        location: Path or URI, globs allowed.
        format: Spark's name of the format: `parquet`, `csv`, `json`, ...
        options: Spark's reader options.
    """

    location: str
    format: str
    options: Mapping[str, str]


Externals = Mapping[RelationName, External]

InView: TypeAlias = Callable[[Overlay, Session, DiffReference], tuple[str, tuple[Input, ...]]]
"""Returns the relation for a difference in a view's text, and the versions that it compares."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a name shows now: `version` identifies the contents, `shape` the columns."""

    version: str
    shape: str


class Mounts:
    """What the catalog of one engine shows under each name.

    A table is an immutable mount below a view with the logical name, so one statement switches
    versions. A view is recreated when the shape of anything below it changes.
    """

    def __init__(self, in_view: InView) -> None:
        """Take what computes the differences that views select from."""
        self._in_view = in_view
        self._lock = threading.RLock()
        self._shown: dict[RelationName, _Shown] = {}
        self._functions: set[RelationName] = set()

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Keep every name unchanged while a statement is analysed."""
        with self._lock:
            yield

    def show(
        self,
        names: Iterable[RelationName],
        *,
        overlay: Overlay,
        session: Session,
        externals: Externals,
    ) -> tuple[Input, ...]:
        """Make names readable and return what they refer to.

        A name that refers to nothing is removed from the catalog, so that Spark's own error
        names it. The result lists every table, view and external location that reading the
        names reads, with views followed down to their tables, sorted by name.
        """
        showing = _Showing(
            self._shown, self._functions, overlay, session, externals, self._in_view
        )
        with self._lock:
            for name in names:
                showing.show(name)
        return tuple(sorted(showing.inputs.values(), key=lambda item: item.relation))

    def hide(self, name: RelationName, session: NamedMounts) -> None:
        """Remove a name from the catalog."""
        with self._lock:
            if self._shown.pop(name, None) is not None:
                session.unmount(name)

    def post(self, overlay: Overlay, session: Session) -> None:
        """Leave nothing stale in a catalog that others read as well."""
        if not session.is_shared:
            return
        with self._lock:
            self._shown.clear()
            self._functions.clear()
            for schema in overlay.schema_names():
                session.ensure_schema(schema)
            session.post(
                shown_signs.versions(overlay), lambda name: shown_signs.sign(overlay, name)
            )

    @contextmanager
    def signed(self, answers: Mapping[RelationName, Sign], session: Showcase) -> Iterator[None]:
        """Show signs under names within a block, then make them readable again."""
        with self._lock:
            for name in answers:
                self._shown.pop(name, None)
            with session.signed(answers):
                yield

    def is_shown(self, name: RelationName) -> bool:
        """Return whether the catalog shows anything under a name."""
        return name in self._shown

    def has_function(self, name: RelationName) -> bool:
        """Return whether a session may know a function of that name, even a dropped one."""
        return name in self._functions


class _Showing:
    """One call of `Mounts.show`."""

    def __init__(
        self,
        shown: dict[RelationName, _Shown],
        functions: set[RelationName],
        overlay: Overlay,
        session: Session,
        externals: Externals,
        in_view: InView,
    ) -> None:
        self._in_view = in_view
        self._shown = shown
        self._functions = functions
        self._overlay = overlay
        self._session = session
        self._externals = externals
        self._done: dict[RelationName, str] = {}
        self._path: list[RelationName] = []
        self.inputs: dict[RelationName | str, Input] = {}

    def show(self, name: RelationName) -> str:
        """Mount one name and return its shape; empty if the name refers to nothing."""
        if name in self._done:
            return self._done[name]
        if name in self._path:
            cycle = " -> ".join(str(step) for step in [*self._path, name])
            raise InputError(f"{name} reads itself: {cycle}. Change one of these.")
        self._path.append(name)
        self._done[name] = self._mount(name)
        self._path.pop()
        return self._done[name]

    def _mount(self, name: RelationName) -> str:
        entry = self._overlay.entry(name)
        if isinstance(entry, FunctionEntry):
            return self._mount_function(name, entry.function)
        if name in self._functions:
            # Each session caches the functions that it called, so each must be updated.
            self._session.unmount_function(name)
        if isinstance(entry, TableEntry):
            return self._mount_table(name, entry.snapshot)
        if isinstance(entry, ViewEntry):
            return self._mount_view(name, entry.view)
        external = self._externals.get(name)
        if external is not None:
            return self._mount_files(name, external)
        if self._shown.pop(name, None) is not None:
            self._session.unmount(name)
        return ""

    def _mount_table(self, name: RelationName, id: SnapshotId) -> str:
        self.inputs[name] = Input(relation=str(name), snapshot=id)
        snapshot = self._overlay.snapshot(id)
        shape = _digest(encode_record(snapshot.schema))
        shown = _Shown(id, shape)
        if self._shown.get(name) != shown:
            self._session.ensure_schema(name.schema)
            version = Version.of(self._overlay.repository, snapshot)
            self._session.mount_table(name, version.mount())
            self._shown[name] = shown
        return shape

    def _mount_view(self, name: RelationName, id: ViewId) -> str:
        self.inputs[name] = Input(relation=str(name), view=id)
        view = self._overlay.view(id)
        shapes = [self.show(relation_of(read)) for read in (*view.reads, *view.calls)]
        text, pins = self._with_pins(query_of_view(view.text))
        shape = _digest("\n".join([id, *shapes, *pins]).encode())
        shown = _Shown(id, shape)
        if self._shown.get(name) != shown:
            self._session.ensure_schema(name.schema)
            columns = [(column.name, column.comment) for column in view.columns]
            self._session.mount_view(name, _text_of(view, text), columns)
            self._shown[name] = shown
        return shape

    def _mount_function(self, name: RelationName, id: FunctionId) -> str:
        self.inputs[name] = Input(relation=str(name), function=id)
        function = self._overlay.function(id)
        shapes = [self.show(relation_of(read)) for read in (*function.reads, *function.calls)]
        text, pins = function.text, list[SnapshotId]()
        if function.language == "sql":
            text, pins = self._with_pins(query_of_body(text))
        shape = _digest("\n".join([id, *shapes, *pins]).encode())
        self._functions.add(name)
        self._session.mount_function(name, shape, msgspec.structs.replace(function, text=text))
        return shape

    def _with_pins(self, query: Query) -> tuple[str, list[SnapshotId]]:
        """Resolve the versions that a query names now; return its new text and their ids."""
        mounted: dict[Reference | DiffReference, str] = {}
        ids: list[SnapshotId] = []
        for read in query.reads:
            if read.at is None:
                continue
            relation = read.name.relation("")
            id = pinned(self._overlay, lambda: self._session, relation, read.at).snapshot
            version = Version.of(self._overlay.repository, self._overlay.snapshot(id))
            mounted[read] = self._session.mount_version(version.mount())
            self.inputs[f"{relation}@{id}"] = Input(
                relation=str(relation), snapshot=id, pinned=True
            )
            ids.append(id)
        for diff in query.diffs:
            mounted[diff], read_by_diff = self._in_view(self._overlay, self._session, diff)
            for item in read_by_diff:
                self.inputs[f"{item.relation}@{item.snapshot}"] = item
                ids.append(SnapshotId(str(item.snapshot)))
        return query.rewritten(mounted), ids

    def _mount_files(self, name: RelationName, external: External) -> str:
        self.inputs[name] = Input(relation=str(name), external=external.location)
        settings = sorted(external.options.items())
        version = _digest(f"{external.format}\n{external.location}\n{settings}".encode())
        shown = _Shown(version, version)
        if self._shown.get(name) != shown:
            self._session.ensure_schema(name.schema)
            self._session.mount_files(
                name,
                location=external.location,
                format=external.format,
                options=external.options,
            )
            self._shown[name] = shown
        return version


def relation_of(text: str) -> RelationName:
    """Parse `schema.identifier`; neither part contains a dot."""
    schema, _, identifier = text.partition(".")
    return RelationName(schema, identifier)


def _text_of(view: View, text: str) -> str:
    """Return the query to mount; as in Spark, a view keeps the columns of its creation."""
    if view.aliased:
        return text
    names = ", ".join(quoted(column.name) for column in view.columns)
    return f"select {names} from (\n{text}\n)"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
