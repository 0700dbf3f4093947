"""Mounts: relation versions made readable by name, and what a catalog describes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import msgspec

from dbt.adapters.vcs.core.codec import encode_record
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import FunctionId, SnapshotId, ViewId
from dbt.adapters.vcs.core.model import (
    FunctionEntry,
    Input,
    RelationName,
    Snapshot,
    TableEntry,
    View,
    ViewEntry,
)
from dbt.adapters.vcs.engines.port import Column, NamedMounts, Placeholder, Placeholders, Session
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.names import Reference
from dbt.adapters.vcs.sql.syntax.parser import Query, query_of_body, query_of_view
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import pinned, zone_of
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


class Mounts:
    """What the catalog of one engine shows under each name.

    A table is an immutable mount below a view with the logical name, so one statement switches
    versions. A view is recreated when the shape of anything below it changes.
    """

    def __init__(self, in_view: InView) -> None:
        """Take what computes the differences that views select from."""
        self._in_view = in_view
        # Reentrant: a scope shows names while it keeps all names steady.
        self._lock = threading.RLock()
        self._uses = _Uses()
        # What the catalog shows under each name: the id of its contents.
        self._shown: dict[RelationName, str] = {}
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
        shown = self.analysing(names, overlay=overlay, session=session, externals=externals)
        with shown as inputs:
            return inputs

    @contextmanager
    def analysing(
        self,
        names: Iterable[RelationName],
        *,
        overlay: Overlay,
        session: Session,
        externals: Externals,
    ) -> Iterator[tuple[Input, ...]]:
        """Do what `show` does, and keep these names unchanged within a block.

        Others may analyse meanwhile, or change other names. So no name may be shown within the
        block: two threads could wait for each other.
        """
        showing = _Showing(
            shown=self._shown,
            functions=self._functions,
            uses=self._uses,
            in_view=self._in_view,
            overlay=overlay,
            session=session,
            externals=externals,
        )
        with ExitStack() as stack:
            with self._lock:
                for name in names:
                    showing.show(name)
                # Functions are mounted each time, and nothing tells who else uses one.
                calls = not showing.names.isdisjoint(self._functions)
                stack.enter_context(self._lock if calls else self._uses.of(showing.names))
            yield tuple(sorted(showing.inputs.values(), key=lambda item: item.relation))

    def hide(self, name: RelationName, session: NamedMounts) -> None:
        """Remove a name from the catalog."""
        with self._lock:
            self._uses.wait_for_end(name)
            if self._shown.pop(name, None) is not None:
                session.unmount(name)

    @contextmanager
    def with_placeholders(
        self, answers: Mapping[RelationName, Placeholder], session: Placeholders
    ) -> Iterator[None]:
        """Show placeholders under names within a block, then make them readable again."""
        with self._lock:
            # Forgotten, so that the next statement mounts them again.
            for name in answers:
                self._uses.wait_for_end(name)
                self._shown.pop(name, None)
            with session.with_placeholders(answers):
                yield

    def is_shown(self, name: RelationName) -> bool:
        """Return whether the catalog shows anything under a name."""
        return name in self._shown

    def has_function(self, name: RelationName) -> bool:
        """Return whether a session may know a function of that name, even a dropped one."""
        return name in self._functions


class _Uses:
    """The names with which statements are being analysed, by thread."""

    def __init__(self) -> None:
        self._ended = threading.Condition()
        self._threads: dict[RelationName, list[int]] = {}

    @contextmanager
    def of(self, names: Collection[RelationName]) -> Iterator[None]:
        thread = threading.get_ident()
        with self._ended:
            for name in names:
                self._threads.setdefault(name, []).append(thread)
        try:
            yield
        finally:
            with self._ended:
                for name in names:
                    self._threads[name].remove(thread)
                    if not self._threads[name]:
                        del self._threads[name]
                self._ended.notify_all()

    def wait_for_end(self, name: RelationName) -> None:
        """Wait until no other thread uses a name."""
        thread = threading.get_ident()
        with self._ended:
            self._ended.wait_for(lambda: set(self._threads.get(name, ())) <= {thread})


@dataclass(kw_only=True)
class _Showing:
    """One call of `Mounts.analysing`."""

    shown: dict[RelationName, str]
    functions: set[RelationName]
    uses: _Uses
    in_view: InView
    overlay: Overlay
    session: Session
    externals: Externals
    inputs: dict[RelationName | str, Input] = field(default_factory=dict)
    _shapes: dict[RelationName, str] = field(default_factory=dict)
    _path: list[RelationName] = field(default_factory=list)

    @property
    def names(self) -> Set[RelationName]:
        """All names that were shown, with what is below views and functions."""
        return self._shapes.keys()

    def show(self, name: RelationName) -> str:
        """Mount one name and return its shape; empty if the name refers to nothing.

        The shape identifies the columns, and what a view or function stands on. Another version
        of a table has the same shape, so views of it stay as they are.
        """
        if name in self._shapes:
            return self._shapes[name]
        if name in self._path:
            cycle = " -> ".join(str(step) for step in [*self._path, name])
            raise InputError(f"{name} reads itself: {cycle}. Change one of these.")
        self._path.append(name)
        self._shapes[name] = self._mount(name)
        self._path.pop()
        return self._shapes[name]

    def _mount(self, name: RelationName) -> str:
        entry = self.overlay.entry(name)
        if isinstance(entry, FunctionEntry):
            return self._mount_function(name, entry.function)
        if name in self.functions:
            # Each session caches the functions that it called (decision 15), so each is updated.
            self.session.unmount_function(name)
        if isinstance(entry, TableEntry):
            return self._mount_table(name, entry.snapshot)
        if isinstance(entry, ViewEntry):
            return self._mount_view(name, entry.view)
        external = self.externals.get(name)
        if external is not None:
            return self._mount_files(name, external)
        if name in self.shown:
            self.uses.wait_for_end(name)
            del self.shown[name]
            self.session.unmount(name)
        return ""

    def _update(self, name: RelationName, version: str, mount: Callable[[], None]) -> None:
        if self.shown.get(name) != version:
            self.uses.wait_for_end(name)
            self.session.ensure_schema(name.schema)
            mount()
            self.shown[name] = version

    def _mount_table(self, name: RelationName, id: SnapshotId) -> str:
        self.inputs[name] = Input(relation=str(name), snapshot=id)
        snapshot = self.overlay.snapshot(id)
        version = Version.of(self.overlay.repository, snapshot)
        # A lambda: manifests are only read if the catalog shows another version.
        self._update(name, id, lambda: self.session.mount_table(name, version.mount()))
        return _digest(encode_record(snapshot.schema))

    def _mount_view(self, name: RelationName, id: ViewId) -> str:
        self.inputs[name] = Input(relation=str(name), view=id)
        view = self.overlay.view(id)
        # What it reads comes first, as Spark resolves a view's query when the view is made.
        shapes = [self.show(RelationName.of(read)) for read in (*view.reads, *view.calls)]
        text, pins = self._with_pins(query_of_view(view.text))
        shape = _digest("\n".join([id, *shapes, *pins]).encode())
        columns = [(column.name, column.comment) for column in view.columns]
        text = _text_of(view, text)
        self._update(name, shape, lambda: self.session.mount_view(name, text, columns))
        return shape

    def _mount_function(self, name: RelationName, id: FunctionId) -> str:
        self.inputs[name] = Input(relation=str(name), function=id)
        function = self.overlay.function(id)
        shapes = [self.show(RelationName.of(read)) for read in (*function.reads, *function.calls)]
        text, pins = function.text, list[SnapshotId]()
        if function.language == "sql":
            text, pins = self._with_pins(query_of_body(text))
        shape = _digest("\n".join([id, *shapes, *pins]).encode())
        # Each session registers functions for itself (decision 15), and knows which it has.
        self.functions.add(name)
        self.session.mount_function(name, shape, msgspec.structs.replace(function, text=text))
        return shape

    def _mount_files(self, name: RelationName, external: External) -> str:
        self.inputs[name] = Input(relation=str(name), external=external.location)
        settings = sorted(external.options.items())
        version = _digest(f"{external.format}\n{external.location}\n{settings}".encode())
        self._update(
            name,
            version,
            lambda: self.session.mount_files(
                name,
                location=external.location,
                format=external.format,
                options=external.options,
            ),
        )
        return version

    def _with_pins(self, query: Query) -> tuple[str, list[SnapshotId]]:
        """Resolve the versions that a query names now; return its new text and their ids."""
        mounted: dict[Reference | DiffReference, str] = {}
        ids: list[SnapshotId] = []
        for read in query.reads:
            if read.at is None:
                continue
            # The text may name a branch or a time, which means another version later.
            relation = read.name.relation("")
            id = pinned(self.overlay, lambda: zone_of(self.session), relation, read.at).snapshot
            version = Version.of(self.overlay.repository, self.overlay.snapshot(id))
            mounted[read] = self.session.mount_version(version.mount())
            # Not under the name alone, as the query may also read what the branch shows.
            self.inputs[f"{relation}@{id}"] = Input(
                relation=str(relation), snapshot=id, pinned=True
            )
            ids.append(id)
        for diff in query.diffs:
            mounted[diff], read_by_diff = self.in_view(self.overlay, self.session, diff)
            for item in read_by_diff:
                self.inputs[f"{item.relation}@{item.snapshot}"] = item
                ids.append(SnapshotId(str(item.snapshot)))
        return query.rewritten(mounted), ids


def _text_of(view: View, text: str) -> str:
    """Return the query to mount; as in Spark, a view keeps the columns of its creation."""
    if view.aliased:
        return text
    names = ", ".join(quoted(column.name) for column in view.columns)
    # On lines of its own, as the text may end in a comment.
    return f"select {names} from (\n{text}\n)"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def answering(
    overlay: Overlay, name: RelationName, columns: tuple[Column, ...] = ()
) -> Placeholder:
    """Return the placeholder of a table or view with everything that the engine reports on it.

    Args:
        overlay: The branch.
        columns: The current columns of a view.

    Raises:
        NotFoundError: There is no such relation.
    """
    entry = overlay.require(name)
    if isinstance(entry, TableEntry):
        snapshot = overlay.snapshot(entry.snapshot)
        return replace(
            table_placeholder(snapshot),
            properties=snapshot.properties,
            created_at=snapshot.created_at,
        )
    view = overlay.view(entry.view)
    return Placeholder(
        kind="view",
        columns=columns,
        comment=view.comment,
        properties=view.properties,
        text=view.text,
    )


def table_placeholder(snapshot: Snapshot) -> Placeholder:
    """Return the placeholder of a version of a table."""
    schema = snapshot.schema
    names = schema.names_by_id
    # Spark lists partition columns last, in the order of the partitioning.
    last = [field for id in snapshot.partition_by if (field := schema.by_id(id))]
    fields = [field for field in schema.fields if field not in last]
    return Placeholder(
        kind="table",
        columns=tuple(
            Column(
                name=field.name,
                type=field.type,
                nullable=field.nullable,
                comment=field.comment,
                default=field.default,
            )
            for field in (*fields, *last)
        ),
        comment=snapshot.comment,
        partition_by=tuple(names[id] for id in snapshot.partition_by),
        cluster_by=tuple(names[id] for id in snapshot.cluster_by if id in names),
    )
