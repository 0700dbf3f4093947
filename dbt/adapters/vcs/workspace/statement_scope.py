"""A scope, all that a handler needs for one statement; its outcome; handlers by type."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.core.ids import Micros, SnapshotId
from dbt.adapters.vcs.core.model import FunctionEntry, Input, Origin, RelationName
from dbt.adapters.vcs.core.origins.results import RowCounts
from dbt.adapters.vcs.engines.engine_errors import UnfitError
from dbt.adapters.vcs.engines.port import Column, Rows, Session
from dbt.adapters.vcs.sql.syntax.names import Name, Reference
from dbt.adapters.vcs.sql.syntax.parser import Query, Statement, load_families
from dbt.adapters.vcs.table.types import plain_type_text
from dbt.adapters.vcs.workspace.mounts import Externals, Mounts
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import zone_of
from dbt.adapters.vcs.workspace.temporary_names import (
    Followed,
    Temporaries,
    is_plain,
    relation_of_view,
)


@dataclass(slots=True, kw_only=True)
class Scope:
    """One statement's view of a branch.

    Attributes:
        overlay: The branch with the changes made so far.
        engine: Gives the engine's session; the first call may start the engine.
        mounts: The names in the engine's catalog.
        externals: Names of files outside the repository.
        schema: The schema of unqualified names, lower case.
        temporaries: The session's temporary views and functions.
        origin: Who runs the statement; `inputs` are filled in as it reads.
        timestamp: Returns the type that the session means by `timestamp`.
        calls: Names in the statement that may be function calls.
        warnings: What the user should know although the statement succeeded.
        derivation: The key of what the statement computes; None if nobody can know it.
        is_repeatable: Tells whether the statement's query, as the engine has analysed it, gives
            the same rows each time; None before that.
    """

    overlay: Overlay
    engine: Callable[[], Session]
    mounts: Mounts
    externals: Externals
    schema: str
    temporaries: Temporaries
    origin: Origin
    text: str
    timestamp: Callable[[], str]
    calls: tuple[Name, ...] = ()
    inputs: dict[str, Input] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    derivation: str | None = None
    is_repeatable: Callable[[], bool] | None = None

    @property
    def session(self) -> Session:
        """The engine's session."""
        return self.engine()

    def zone(self) -> str:
        """Return the time zone for times without one; only the session knows it."""
        return zone_of(self.session)

    @property
    def now(self) -> Micros:
        """The current instant."""
        return self.overlay.repository.clock()

    def name(self, name: Name) -> RelationName:
        """Return the qualified, lower-case name for a name in the statement."""
        return name.relation(self.schema)

    def is_temporary(self, name: Name) -> bool:
        """Return whether a name means one of the session's temporary views."""
        return self.temporaries.view(name) is not None

    def reads(self, references: Iterable[Reference]) -> tuple[RelationName, ...]:
        """Return the relations that references lead to, with temporary views followed.

        References to versions and to the engine's own relations are left out.
        """
        # Each view once: asking a session for its definition is a call to the engine.
        plain = [reference.name for reference in references if is_plain(reference)]
        temporary = {name: self.temporaries.view(name) for name in dict.fromkeys(plain)}
        found = [self.name(name) for name, view in temporary.items() if view is None]
        views = [view for view in temporary.values() if view is not None]
        if views:
            found += self.temporary_reads(views)
        return tuple(dict.fromkeys(found))

    def temporary_reads(self, views: Iterable[str]) -> list[RelationName]:
        """Return what temporary views read and call; views are named as by `Temporaries.view`."""
        return self._followed(self.temporaries.followed(views))

    def _followed(self, found: Followed) -> list[RelationName]:
        """Return the relations and branch functions that temporary names lead to."""
        return [*found.relations, *(name for name in found.calls if self._has_function(name))]

    def function(self, name: Name) -> RelationName | None:
        """Return the branch function that a call refers to, or None.

        As in Spark, a name without a schema refers first to Spark's own and temporary
        functions. A name that once referred to a branch function is included too, since the
        engine keeps the old function until `show` updates it.
        """
        found = self.name(name)
        if not self._has_function(found) or self.temporaries.function(name) is not None:
            return None
        # Asked last, as this may start the engine.
        if name.schema is None and self.session.has_function(name.identifier):
            return None
        return found

    def _has_function(self, name: RelationName) -> bool:
        entry = self.overlay.entry(name)
        return isinstance(entry, FunctionEntry) or self.mounts.has_function(name)

    def called(self) -> tuple[RelationName, ...]:
        """Return the branch functions that the statement calls, temporary ones followed."""
        names: dict[RelationName, None] = {}
        functions: list[str] = []
        for call in self.calls:
            temporary = self.temporaries.function(call)
            if temporary is not None:
                functions.append(temporary)
            elif (found := self.function(call)) is not None:
                names[found] = None
        if functions:
            followed = self._followed(self.temporaries.followed(functions=functions))
            names.update(dict.fromkeys(followed))
        return tuple(names)

    def show(self, names: Iterable[RelationName]) -> None:
        """Make relations and the functions called readable, and record them as inputs."""
        names = self._with_calls(names)
        # The session is an argument below, and asking for it may start the engine.
        if not names:
            return
        inputs = self.mounts.show(
            names, overlay=self.overlay, session=self.session, externals=self.externals
        )
        for item in inputs:
            self.note(item)

    def _with_calls(self, names: Iterable[RelationName]) -> tuple[RelationName, ...]:
        return tuple(dict.fromkeys((*names, *self.called())))

    def note(self, item: Input) -> None:
        """Record an input; several versions of one relation are several inputs."""
        # An insert that read its own table can't follow others' inserts (`rebased`).
        self.overlay.read.add(item.relation)
        if item.snapshot is not None:
            # Decision 36: a landing checks that no purge has replaced these.
            self.overlay.read_versions.add(item.snapshot)
        for read in self._made_on_the_way(item):
            key = f"{read.relation}@{read.version}"
            # Of one version, what the branch shows counts before what a text pinned.
            if not read.pinned or key not in self.inputs:
                self.inputs[key] = read

    def _made_on_the_way(self, item: Input) -> tuple[Input, ...]:
        """Return the inputs of a table that the same node made and no commit will show."""
        if item.snapshot is None or self.origin.node is None:
            return (item,)
        if self.overlay.before(RelationName.of(item.relation)) is not None:
            return (item,)
        # Decision 5: states on the way are in no commit, so what they were made from counts.
        origin = self.overlay.snapshot(SnapshotId(item.snapshot)).origin
        same = (origin.node, origin.invocation) == (self.origin.node, self.origin.invocation)
        return origin.inputs if same else (item,)

    @contextmanager
    def shown(self, names: Iterable[RelationName]) -> Iterator[None]:
        """Make relations readable within the block, and record them as inputs.

        Another connection may need another version under the same name, so a statement must be
        analysed inside the block. It may run outside.
        """
        with self.mounts.steady():
            self.show(names)
            yield

    @contextmanager
    def reading(self, query: Query) -> Iterator[None]:
        """Do what `shown` does, for everything that a query reads."""
        self._note_files(query)
        with self.shown(self.reads(query.reads)):
            yield

    @contextmanager
    def analysing(self, query: Query) -> Iterator[None]:
        """Do what `reading` does, for a block that does nothing but analyse the query.

        Others may analyse theirs meanwhile. No name may be shown within the block.
        """
        self._note_files(query)
        inputs = self.mounts.analysing(
            self._with_calls(self.reads(query.reads)),
            overlay=self.overlay,
            session=self.session,
            externals=self.externals,
        )
        with inputs as found:
            for item in found:
                self.note(item)
            yield

    def _note_files(self, query: Query) -> None:
        # Files outside have no versions, but lineage and reuse must know that they were read.
        for location in query.files:
            self.note(Input(relation=location, external=location))

    def columns_of_temporary(self, view: str) -> list[tuple[str, str, str | None]]:
        """Return (name, type, comment) of the columns of one of the session's temporary views.

        `view` is a name from `Temporaries.view`.
        """
        deferred = self.temporaries.deferred(view)
        if deferred is not None:
            return list(deferred.columns)
        name = relation_of_view(view)
        with self.shown(self.temporary_reads([view])):
            return [(c.name, c.type, c.comment) for c in self.session.relation_columns(name)]

    def made_by(self) -> Origin:
        """Return the origin of a snapshot that this statement makes."""
        # Sorted: ids cover inputs, and must not depend on the order of reading.
        inputs = tuple(self.inputs[key] for key in sorted(self.inputs))
        digest = self.origin.sql_sha256 or hashlib.sha256(self.text.encode()).hexdigest()
        return msgspec.structs.replace(
            self.origin, inputs=inputs, sql_sha256=digest, derivation=self.derivation
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a statement did.

    Attributes:
        rows: The rows of its result; None if it has no result.
        affected: Rows that it wrote, or None if it wrote none or the number isn't known.
        counts: The same by what happened to them, or None if that isn't known.
        warnings: What the user should know although the statement succeeded.
        inputs: The versions that it read, by relation name.
        reused: Where its result was computed before, and the time saved; None if it was
            computed.
    """

    rows: Rows | None = None
    affected: int | None = None
    counts: RowCounts | None = None
    warnings: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    reused: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows computed without an engine; every column is text or a boolean."""

    columns: tuple[Column, ...]
    values: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, names: Sequence[str], values: Sequence[Sequence[Any]]) -> Listing:
        """Return rows under column names; a column is boolean if its name starts with `is`."""
        columns = tuple(
            Column(name=name, type="boolean" if name.startswith("is") else "string")
            for name in names
        )
        return cls(columns, tuple(tuple(row) for row in values))

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows, or only the first `limit` of them."""
        return list(self.values if limit is None else self.values[:limit])

    def run(self) -> None:
        """Do nothing: the rows are already computed."""

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        types = [pa.bool_() if c.type == "boolean" else pa.string() for c in self.columns]
        arrays = [
            pa.array([row[index] for row in self.values], type) for index, type in enumerate(types)
        ]
        return pa.table(arrays, names=[column.name for column in self.columns])


class ArrowRows:
    """Rows computed without an engine, as a table of plain values."""

    def __init__(self, table: pa.Table) -> None:
        """Take a table for which `are_plain` holds."""
        self._table = table
        self.columns = tuple(
            Column(name=field.name, type=plain_type_text(field.type) or "")
            for field in table.schema
        )

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows, or only the first `limit` of them."""
        table = self._table if limit is None else self._table.slice(0, limit)
        try:
            # Python has no dates before the year 1 or after 9999.
            values = [column.to_pylist() for column in table.columns]
        except (ValueError, OverflowError) as error:
            raise UnfitError(error) from error
        return list(zip(*values, strict=True))

    def run(self) -> None:
        """Do nothing: the rows are already computed."""

    def arrow(self) -> pa.Table:
        """Return the table."""
        return self._table


def are_plain(table: pa.Table) -> bool:
    """Return whether all readers interpret the values alike, so no engine is needed."""
    return all(plain_type_text(field.type) is not None for field in table.schema)


Handler: TypeAlias = Callable[[Scope, Any], Outcome]
"""Carries out a statement in its scope."""

_S = TypeVar("_S", bound=Statement)
_HANDLERS: Final[dict[type[Statement], Handler]] = {}


def handles(
    kind: type[_S],
) -> Callable[[Callable[[Scope, _S], Outcome]], Callable[[Scope, _S], Outcome]]:
    """Register a function as the handler of one type of statement."""

    def register(handler: Callable[[Scope, _S], Outcome]) -> Callable[[Scope, _S], Outcome]:
        if kind in _HANDLERS:
            raise ValueError(f"Two handlers for {kind.__name__}.")
        _HANDLERS[kind] = handler
        return handler

    return register


def handler_of(statement: Statement) -> Handler | None:
    """Return the handler of a statement; None if there is none."""
    # Handlers register when their modules are imported.
    load_families()
    return _HANDLERS.get(type(statement))
