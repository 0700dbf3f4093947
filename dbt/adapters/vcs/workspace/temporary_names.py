"""Temporary names: views and functions of a session, also of one that is not open yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.model import Origin, RelationName
from dbt.adapters.vcs.engines.port import (
    GLOBAL_TEMPORARY,
    PRIVATE,
    SessionTemporaries,
    TemporaryDefinition,
)
from dbt.adapters.vcs.sql.syntax.mentions import calls_of
from dbt.adapters.vcs.sql.syntax.names import SESSION, Name, Reference
from dbt.adapters.vcs.sql.syntax.parser import OnRelation, Statement, query_of_body
from dbt.adapters.vcs.workspace.overlay import Overlay

_LOCAL: Final = (None, "session", SESSION)
"""Schemas that may qualify a view or a function of the session."""

Frames = Mapping[str, tuple[RelationName, ...]]
"""Temporary views not made by SQL, by lower-case name, and what each was made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredView:
    """One view.

    Attributes:
        definition: Its query, and what its names refer to.
        columns: Name, type and comment of its columns.
    """

    definition: TemporaryDefinition
    columns: tuple[tuple[str, str, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredStatement:
    """A statement that a session has not been sent."""

    text: str
    overlay: Overlay
    origin: Origin


@dataclass(slots=True)
class Deferred:
    """What a session that is not open has not been sent yet; answers for its temporary names.

    A view whose columns are known needs no engine until something reads its rows. What came before
    the session's start is then carried out in order, on what the branch shows at that time, as
    Spark resolves the names in a temporary view each time.

    Attributes:
        views: Temporary views, by lower-case name.
        statements: The statements that make them, and settings, in order.
    """

    views: dict[str, DeferredView] = field(default_factory=dict)
    statements: list[DeferredStatement] = field(default_factory=list)

    def put(self, statement: DeferredStatement, view: tuple[str, DeferredView] | None) -> None:
        """Defer a statement, which makes a view or changes a setting."""
        self.statements.append(statement)
        if view is not None:
            self.views[view[0]] = view[1]

    def drop(self, name: str, statement: DeferredStatement) -> None:
        """Defer the statement that drops a view."""
        self.views.pop(name, None)
        self.statements.append(statement)

    def take(self) -> list[DeferredStatement]:
        """Return the statements, and forget everything: the session is about to have it."""
        taken, self.statements = self.statements, []
        self.views.clear()
        return taken

    def temporary_views(self) -> frozenset[str]:
        """Return the names of the views."""
        return frozenset(self.views)

    def temporary_view(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a view; None if there is none."""
        view = self.views.get(name)
        return None if view is None else view.definition

    def temporary_functions(self) -> frozenset[str]:
        """Return nothing: a function is not deferred."""
        return frozenset()

    def temporary_function(self, name: str) -> TemporaryDefinition | None:
        """Return None: a function is not deferred."""
        return None


class Temporaries:
    """The temporary views and functions of one connection.

    The session is asked each time: anything that runs in it may replace, rename or drop a
    name, which changes the meaning of everything that refers to it.
    """

    def __init__(
        self,
        session: Callable[[], SessionTemporaries],
        has_session: Callable[[], bool],
        frames: Frames,
        deferred: Deferred,
    ) -> None:
        """Take functions that open the session and report whether it may have temporary names.

        `deferred` has the views of a session that is not open.
        """
        self._session = session
        self._has_session = has_session
        self._frames = frames
        self._deferred = deferred

    def _names(self) -> SessionTemporaries:
        # A session that isn't open has no temporary names but those that wait for it.
        return self._session() if self._has_session() else self._deferred

    def views(self) -> frozenset[str]:
        """Return the temporary views, lower case, global ones as `global_temp.v`."""
        return self._names().temporary_views()

    def deferred(self, view: str) -> DeferredView | None:
        """Return a view of a session that is not open yet; None for any other."""
        return None if self._has_session() else self._deferred.views.get(view)

    def definition(self, view: str) -> TemporaryDefinition | None:
        """Return the definition of a view; None if there is none, or SQL didn't make it."""
        return None if view in self._frames else self._names().temporary_view(view)

    def has_functions(self) -> bool:
        """Return whether the session has temporary functions."""
        return bool(self._names().temporary_functions())

    def view(self, name: Name) -> str | None:
        """Return the temporary view that a name in a statement refers to, or None."""
        key = _view_key(name)
        if key is None:
            return None
        # A global view may be another session's, so this one has to be open to know of it.
        known = self._session().temporary_views() if is_global(key) else self.views()
        return key if key in known else None

    def is_about(self, statement: Statement) -> bool:
        """Return whether the single relation that a statement names is a temporary view."""
        return isinstance(statement, OnRelation) and self.view(statement.target.name) is not None

    def function(self, name: Name) -> str | None:
        """Return the temporary function that a call refers to, or None."""
        key = _function_key(name)
        if key is None:
            return None
        return key if key in self._names().temporary_functions() else None

    def followed(self, views: Iterable[str] = (), functions: Iterable[str] = ()) -> Followed:
        """Return what temporary views and functions read and call, followed recursively."""
        walk = _Walk(self._names(), self._frames)
        for view in views:
            walk.view(view)
        for function in functions:
            walk.function(function)
        return Followed(tuple(walk.relations), tuple(walk.calls))


class Followed(NamedTuple):
    """Where temporary names lead.

    Attributes:
        relations: Relations that are read, each once.
        calls: Names that are called, each once; the caller decides which of them are functions
            of the branch.
    """

    relations: tuple[RelationName, ...]
    calls: tuple[RelationName, ...]


class _Walk:
    """A walk from temporary names down to names in the catalog."""

    def __init__(self, session: SessionTemporaries, frames: Frames) -> None:
        self._session = session
        self._frames = frames
        self._seen: set[tuple[str, str]] = set()
        # Once for the whole walk: each is a call to the engine.
        self._views = session.temporary_views()
        self._functions = session.temporary_functions()
        self.relations: dict[RelationName, None] = {}
        self.calls: dict[RelationName, None] = {}

    def view(self, name: str) -> None:
        # A frame's view has no text to follow: what it reads was noted when it was made.
        self.relations.update(dict.fromkeys(self._frames.get(name, ())))
        if self._is_new("view", name):
            self._read(self._session.temporary_view(name))

    def function(self, name: str) -> None:
        if self._is_new("function", name):
            self._read(self._session.temporary_function(name))

    def _is_new(self, kind: str, name: str) -> bool:
        before = len(self._seen)
        self._seen.add((kind, name))
        return len(self._seen) > before

    def _read(self, definition: TemporaryDefinition | None) -> None:
        """Follow a definition; names in it are temporary only if they were at its creation."""
        if definition is None:
            return
        for read in query_of_body(definition.text).reads:
            key = _view_key(read.name)
            # Spark keeps with a view which names in it were temporary when it was made. Any other
            # name is the catalog's, even if it is a temporary view by now.
            if key in definition.views and key in self._views:
                self.view(key)
            elif is_plain(read):
                self.relations[read.name.relation(definition.schema)] = None
        for call in calls_of(definition.text):
            key = _function_key(call.name)
            if key in definition.functions and key in self._functions:
                self.function(key)
            else:
                self.calls[call.name.relation(definition.schema)] = None


def relation_of_view(view: str) -> RelationName | str:
    """Return the engine's name of a view from `Temporaries.view`."""
    return RelationName.of(view) if is_global(view) else view


def is_global(view: str) -> bool:
    """Return whether a view from `Temporaries.view` is shared by all sessions."""
    return view.startswith(f"{GLOBAL_TEMPORARY}.")


def is_plain(read: Reference) -> bool:
    """Return whether a reference reads the branch, not a version or an engine's relation."""
    return read.at is None and read.name.schema != PRIVATE


def _view_key(name: Name) -> str | None:
    if not name.in_catalog and (name.schema or "").lower() == GLOBAL_TEMPORARY:
        return f"{GLOBAL_TEMPORARY}.{name.identifier.lower()}"
    return _function_key(name)


def _function_key(name: Name) -> str | None:
    if name.in_catalog:
        return None
    schema = None if name.schema is None else name.schema.lower()
    return name.identifier.lower() if schema in _LOCAL else None
