"""Cache keys: what the result of a statement was computed from, as one digest.

| ingredient           | what counts                                                    |
|----------------------|----------------------------------------------------------------|
| text                 | its tokens; names of relations stand for what they mean        |
| what it reads        | columns and rows of tables, texts of views and what they read, |
|                      | functions                                                      |
| its target           | where it changes one: its rows, columns, keys and properties   |
| files                | path and content of each                                       |
| settings             | those that change answers, and the versions of Spark and ours  |
| user, current schema | only where a text may ask for them                             |
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from dbt.adapters.vcs.core.codec import digest_of_values
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.model import FunctionEntry, Input, RelationName, TableEntry
from dbt.adapters.vcs.core.origins.results import ResultKind
from dbt.adapters.vcs.engines.port import GLOBAL_TEMPORARY
from dbt.adapters.vcs.reuse.contents import NameContents, NotReusableError, entry_digest
from dbt.adapters.vcs.reuse.engine_context import EngineContext, SessionFacts
from dbt.adapters.vcs.sql.syntax.canonical import (
    Meant,
    canonical,
    filled_in,
    moment_in,
    names_place,
    names_user,
    variation_in,
)
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.mentions import calls_of
from dbt.adapters.vcs.sql.syntax.names import Name, Reference, TableAt, Target
from dbt.adapters.vcs.sql.syntax.parser import query_of_body
from dbt.adapters.vcs.variables import user_name
from dbt.adapters.vcs.workspace.increments import check_reader
from dbt.adapters.vcs.workspace.points import TableText, find_points
from dbt.adapters.vcs.workspace.statement_scope import Scope

_ZONE: Final = "spark.sql.session.timeZone"

SETTING: Final = "setting "
"""What the names of ingredients that are one setting begin with; their values may be secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """The key of one statement.

    Attributes:
        id: 64 hexadecimal digits.
        kind: What it gives.
        target: The relation that it makes or changes; None if it only reads.
        ingredients: What the key was made of, by name.
        inputs: What it reads, as an engine's mounts would record it.
        moment: A word that depends on the moment, where the node's own text has none.
    """

    id: str
    kind: ResultKind
    target: RelationName | None
    ingredients: Mapping[str, str]
    inputs: tuple[Input, ...]
    moment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyContext:
    """What a key depends on besides a statement and its branch.

    Attributes:
        engine: The engine's settings.
        facts: What earlier statements did to the session.
        storage_options: Options of object stores, to look at files there.
        is_always: True if what depends on the moment or on chance counts as one result.
        own_text: The text to search for moments, if that is not the statement's own.
    """

    engine: EngineContext
    facts: SessionFacts = field(default_factory=SessionFacts)
    storage_options: Mapping[str, str] = field(default_factory=dict)
    is_always: bool = False
    own_text: str | None = None


class KeyMaker:
    """Collects what one statement's result depends on."""

    def __init__(self, scope: Scope, context: KeyContext, *, shapes: bool = False) -> None:
        """With `shapes`, what is read counts by its columns only, as for a definition.

        Raises:
            NotReusableError: The session is in a state that nobody knows.
        """
        if context.facts.doubt is not None:
            raise NotReusableError(context.facts.doubt)
        # They hide functions of the branch and of Spark, and may do anything.
        if scope.temporaries.has_functions():
            raise NotReusableError("the session has temporary functions")
        self._scope = scope
        self._context = context
        self._is_definition = shapes
        self._contents = NameContents(
            scope.overlay, scope.externals, context.storage_options, self._zone, shapes=shapes
        )
        self._parts: list[Any] = []
        self._texts: list[str] = []
        self._starts: dict[str, set[int]] = {}
        self._shown: dict[str, str] = {}
        self._plain: list[str] = []

    def text(
        self,
        text: str,
        reads: Iterable[Reference] = (),
        diffs: Iterable[DiffReference] = (),
        *,
        target: Target | None = None,
        shift: int = 0,
    ) -> None:
        """Add a text, with the places where it names relations.

        `target` is a name that stands for nothing, and `shift` is added to the offsets of the
        other places.

        Raises:
            NotReusableError: It reads something whose contents aren't known.
        """
        places = [self._place(read, shift) for read in reads]
        places += [self._diff(diff, shift) for diff in diffs]
        if target is not None:
            # The name stands for what the statement makes, not for what it was.
            places.append(Meant(target.start, target.end, target.name, "target"))
        self._texts.append(text)
        self._starts[text] = {place.start for place in places}
        # Names of relations are replaced by digests, so a clone under another name has the same
        # key.
        self._parts.append(canonical(text, {place.start: place for place in places}))
        # What is shown to people as the text: it stays the same while versions move on.
        blank = {place.start: place._replace(meaning="") for place in places}
        self._plain.append(canonical(text, blank))

    def fact(self, *values: Any) -> None:
        """Add plain values of a statement."""
        self._parts.append(values)
        self._plain.append(repr(values))

    def files(self, locations: Iterable[str]) -> None:
        """Add files that a query names.

        Raises:
            NotReusableError: They can't be looked at from here.
        """
        for location in locations:
            found = self._contents.files(location)
            self._add(f"reads {location}", found)

    def calls(self, calls: Iterable[Name], schema: str | None = None) -> None:
        """Add the functions of the branch among names that may be called.

        Raises:
            NotReusableError: A function reads something whose contents aren't known.
        """
        names = {call.relation(schema or self._scope.schema) for call in calls}
        # Sorted, as the order of parts is part of the key.
        for name in sorted(names):
            if isinstance(self._scope.overlay.entry(name), FunctionEntry):
                self._read(name)

    def relation(self, name: RelationName) -> None:
        """Add a relation that is read as a whole.

        Raises:
            NotReusableError: Its contents aren't known.
        """
        self._add("meaning", self._read(name))

    def present(self, name: RelationName) -> None:
        """Add what a relation is before the statement changes it."""
        self._add("target", entry_digest(self._scope.overlay, self._scope.overlay.entry(name)))

    def defaults(self, name: RelationName) -> None:
        """Add the defaults of a table's columns, which rows without a value get."""
        entry = self._scope.overlay.entry(name)
        if isinstance(entry, TableEntry):
            fields = self._scope.overlay.snapshot(entry.snapshot).schema.fields
            # A default may depend on the moment, without being in the text.
            self._texts += [field.default for field in fields if field.default is not None]

    def schema(self) -> None:
        """Add the schema of unqualified names."""
        self._add("schema", self._scope.schema)

    def made(self, kind: ResultKind, target: RelationName | None = None) -> CacheKey:
        """Return the key of everything that was added.

        Raises:
            NotReusableError: The result depends on the moment, on chance, or on what Spark fills
                in.
        """
        texts = [*self._texts, *self._contents.texts]
        if self._context.is_always:
            # A result that was taken for what it is not must not be found without being asked for.
            self._add("always", "true")
        else:
            self._refuse_filled_in(texts)
            if not self._is_definition:
                self._refuse_moments()
        moment = next(filter(None, map(moment_in, texts)), None)
        # Only where it is asked for: people share results otherwise.
        if any(map(names_user, texts)):
            self._add("user", user_name())
        if any(map(names_place, texts)):
            self.schema()
        changed = self._context.facts.changed
        self._add("settings", self._context.engine.digest(changed))
        for name, value in self._context.engine.counted(changed):
            # Their values may be secret, and this is stored.
            self._shown[SETTING + name] = digest_of_values(value)[:12]
        told = repr((kind, self._parts)).encode()
        return CacheKey(
            id=hashlib.sha256(told).hexdigest(),
            kind=kind,
            target=target,
            ingredients={"text": digest_of_values(self._plain), **self._shown},
            inputs=tuple(self._contents.inputs.values()),
            moment=moment,
        )

    def _refuse_filled_in(self, texts: Iterable[str]) -> None:
        word = next(filter(None, map(filled_in, texts)), None)
        if word is not None:
            raise NotReusableError(f"Spark fills in {word}")

    def _refuse_moments(self) -> None:
        # A node's own text decides, not what dbt writes around it.
        own = self._context.own_text
        texts: Sequence[str] = self._texts if own is None else [own]
        for text in (*texts, *self._contents.texts):
            word = moment_in(text)
            if word is not None:
                raise NotReusableError(f"it depends on the moment: {word}")
            word = variation_in(text, self._is_function, self._starts.get(text, ()))
            if word is not None:
                raise NotReusableError(f"it may give another result each time: {word}")
        for word in self._contents.varying:
            raise NotReusableError(f"it may give another result each time: {word}")

    def _is_function(self, name: Name) -> bool:
        """Return whether a name is a function of the branch, which `calls` adds."""
        entry = self._scope.overlay.entry(name.relation(self._scope.schema))
        return isinstance(entry, FunctionEntry)

    def _place(self, read: Reference, shift: int) -> Meant:
        return Meant(read.start + shift, read.end + shift, read.name, self._meaning(read))

    def _meaning(self, read: Reference) -> str:
        if (read.name.schema or "").lower() == GLOBAL_TEMPORARY:
            raise NotReusableError(f"{read.name} belongs to all sessions")
        if read.at is not None:
            found = self._contents.pinned(read.name.relation(self._scope.schema), read.at)
            self._shown[f"reads {read.name}@{read.at.value}"] = found
            return found
        temporary = self._scope.temporaries.view(read.name)
        if temporary is not None:
            return self._temporary(temporary)
        return self._read(self._scope.name(read.name))

    def _read(self, name: RelationName) -> str:
        found = self._contents.of(name)
        self._add(f"reads {name}", found)
        return found

    def _temporary(self, view: str) -> str:
        definition = self._scope.temporaries.definition(view)
        if definition is None or definition.functions:
            raise NotReusableError(f"nobody knows what the temporary view {view} was made from")
        query = query_of_body(definition.text)
        if query.diffs or query.files:
            raise NotReusableError(f"the temporary view {view} reads a difference or files")
        self._texts.append(definition.text)
        places: dict[int, Meant] = {}
        for read in query.reads:
            name = read.name
            if read.at is not None:
                raise NotReusableError(f"the temporary view {view} names a version")
            is_temporary = name.schema is None and name.identifier.lower() in definition.views
            if is_temporary:
                meaning = self._temporary(name.identifier.lower())
            else:
                meaning = self._read(name.relation(definition.schema))
            places[read.start] = Meant(read.start, read.end, name, meaning)
        self.calls((call.name for call in calls_of(definition.text)), definition.schema)
        return digest_of_values("temporary", canonical(definition.text, places))

    def _diff(self, diff: DiffReference, shift: int) -> Meant:
        """Return a difference; of three versions, the third depends on history, so ids count."""
        try:
            check_reader(self._scope.overlay, diff, self._zone)
            before = None if diff.before is None else self._at(diff.before)
            points = find_points(self._scope.overlay, before, self._at(diff.after), self._zone)
        except VcsError as error:
            raise NotReusableError(str(error)) from error
        if diff.where is not None:
            self._texts.append(diff.where)
        for point in points:
            if (item := point.input()) is not None:
                self._contents.inputs[f"{item.relation}@{item.version}"] = item
        ids = [point.id for point in points]
        meaning = digest_of_values("difference", ids, diff.shape, diff.columns, diff.where)
        self._shown[f"difference {points[0].relation}, {points[1].relation}"] = meaning
        return Meant(diff.start + shift, diff.end + shift, diff.after.name, meaning)

    def _at(self, table: TableAt) -> TableText:
        return TableText(self._scope.name(table.name), table.at)

    def _add(self, name: str, value: str) -> None:
        self._shown[name] = value
        # Not the name: it stands for its contents.
        self._parts.append((name.partition(" ")[0], value))

    def _zone(self) -> str:
        facts, settings = self._context.facts, self._context.engine
        return facts.changed.get(_ZONE) or settings.setting(_ZONE) or "UTC"


def facts_of(statement: Any, without: frozenset[str]) -> list[tuple[str, Any]]:
    """Return the fields of a statement but some, in a form whose `repr` is canonical."""
    return [
        (item.name, _plain(getattr(statement, item.name)))
        for item in fields(statement)
        if item.name not in without
    ]


def _plain(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, Mapping) else value
