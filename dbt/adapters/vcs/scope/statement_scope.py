"""A scope: everything that the handler of one statement works with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from dbt.adapters.vcs.core.ids import Micros, SnapshotId
from dbt.adapters.vcs.core.model import FunctionEntry, Input, Origin, RelationName
from dbt.adapters.vcs.engines.port import Session
from dbt.adapters.vcs.scope.mounts import Externals, Mounts
from dbt.adapters.vcs.scope.temporary_names import Followed, Temporaries, is_plain
from dbt.adapters.vcs.statements.syntax.names import Name, Reference
from dbt.adapters.vcs.statements.syntax.query import Query
from dbt.adapters.vcs.worktree.overlay import Overlay


@dataclass(slots=True, kw_only=True)
class Scope:
    """One statement's view of a branch.

    Attributes:
        overlay: The branch, and the changes made so far.
        engine: Gives the engine's session; the first call may start the engine.
        mounts: What the engine's catalog shows.
        externals: Names that stand for files outside the repository.
        schema: The schema of unqualified names, lower case.
        temporaries: The session's temporary views and functions.
        origin: Who runs the statement; `inputs` are filled in as it reads.
        text: The statement.
        calls: Names in the statement that may be a function's.
        warnings: What the sender should know of, though the statement is carried out.
    """

    overlay: Overlay
    engine: Callable[[], Session]
    mounts: Mounts
    externals: Externals
    schema: str
    temporaries: Temporaries
    origin: Origin
    text: str
    calls: tuple[Name, ...] = ()
    inputs: dict[str, Input] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def session(self) -> Session:
        """The engine's session."""
        return self.engine()

    @property
    def now(self) -> Micros:
        """The current instant."""
        return self.overlay.repository.clock()

    def name(self, name: Name) -> RelationName:
        """Return the full, lower-case name that a name in the statement stands for."""
        return name.relation(self.schema)

    def is_temporary(self, name: Name) -> bool:
        """Return whether a name means one of the session's temporary views."""
        return self.temporaries.view(name) is not None

    def reads(self, references: Iterable[Reference]) -> tuple[RelationName, ...]:
        """Return the relations that references lead to, temporary views followed.

        What a version is named of, and the engine's own relations, are none of the branch's.
        """
        plain = [reference.name for reference in references if is_plain(reference)]
        temporary = {name: self.temporaries.view(name) for name in dict.fromkeys(plain)}
        found = [self.name(name) for name, view in temporary.items() if view is None]
        views = [view for view in temporary.values() if view is not None]
        if views:
            found += self.temporary_reads(views)
        return tuple(dict.fromkeys(found))

    def temporary_reads(self, views: Iterable[str]) -> list[RelationName]:
        """Return what temporary views read and call, named as `Temporaries.view` does it."""
        return self._followed(self.temporaries.followed(views))

    def _followed(self, found: Followed) -> list[RelationName]:
        """Return what temporary names lead to: relations, and functions of the branch."""
        return [*found.relations, *(name for name in found.calls if self._has_function(name))]

    def function(self, name: Name) -> RelationName | None:
        """Return the function of the branch that a call of a name means, or None.

        A name without a schema means Spark's own functions and temporary ones first, as in Spark.
        One that meant a function of the branch before may still mean it to the engine, unless
        `show` is told of it: so it counts, too.
        """
        found = self.name(name)
        if not self._has_function(found) or self.temporaries.function(name) is not None:
            return None
        if name.schema is None and self.session.has_function(name.identifier):
            return None
        return found

    def _has_function(self, name: RelationName) -> bool:
        entry = self.overlay.entry(name)
        return isinstance(entry, FunctionEntry) or self.mounts.has_function(name)

    def called(self) -> tuple[RelationName, ...]:
        """Return the functions of the branch that the statement calls, temporary ones followed."""
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
        """Make relations readable, functions that the statement calls too; note all as inputs."""
        names = tuple(dict.fromkeys((*names, *self.called())))
        if not names:
            return
        inputs = self.mounts.show(
            names, overlay=self.overlay, session=self.session, externals=self.externals
        )
        for item in inputs:
            self.note(item)

    def note(self, item: Input) -> None:
        """Note what was read; several versions of one relation are several inputs."""
        self.overlay.read.add(item.relation)
        for read in self._made_on_the_way(item):
            self.inputs[f"{read.relation}@{read.version}"] = read

    def _made_on_the_way(self, item: Input) -> tuple[Input, ...]:
        """Return what a table was made from that the same node made, which no commit will show."""
        if item.snapshot is None or self.origin.node is None:
            return (item,)
        schema, _, identifier = item.relation.partition(".")
        if self.overlay.before(RelationName(schema, identifier)) is not None:
            return (item,)
        origin = self.overlay.snapshot(SnapshotId(item.snapshot)).origin
        same = (origin.node, origin.invocation) == (self.origin.node, self.origin.invocation)
        return origin.inputs if same else (item,)

    @contextmanager
    def shown(self, names: Iterable[RelationName]) -> Iterator[None]:
        """Make relations readable, note them as inputs, and keep them so within the block.

        Another connection may need another version under the same name meanwhile; so a statement
        is analysed inside the block, and may run outside.
        """
        with self.mounts.steady():
            self.show(names)
            yield

    @contextmanager
    def reading(self, query: Query) -> Iterator[None]:
        """Do what `shown` does for everything that a query reads."""
        for location in query.files:
            self.note(Input(relation=location, external=location))
        with self.shown(self.reads(query.reads)):
            yield

    def made_by(self) -> Origin:
        """Return the origin of a snapshot that this statement makes."""
        inputs = tuple(self.inputs[key] for key in sorted(self.inputs))
        digest = self.origin.sql_sha256 or hashlib.sha256(self.text.encode()).hexdigest()
        return msgspec.structs.replace(self.origin, inputs=inputs, sql_sha256=digest)
