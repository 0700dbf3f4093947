"""Attempts: one statement, taken from what is known or else carried out and remembered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.model import Entry, RelationName
from dbt.adapters.vcs.engines.port import Column, Rows, TemporaryDefinition
from dbt.adapters.vcs.reuse.answer_rows import WatchedRows, encoded_rows
from dbt.adapters.vcs.reuse.audit import check_answer, check_table
from dbt.adapters.vcs.reuse.cache_key import CacheKey, KeyContext, KeyMaker
from dbt.adapters.vcs.reuse.contents import NotReusableError
from dbt.adapters.vcs.reuse.engine_context import SessionFacts, setting_of
from dbt.adapters.vcs.reuse.reuser import Reuse, result_columns
from dbt.adapters.vcs.reuse.statement_keys import columns_key, statement_key, written_table
from dbt.adapters.vcs.reuse.taken_versions import keep_same_rows
from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.merge_into import Merge
from dbt.adapters.vcs.sql.syntax.canonical import asks_for_columns, without_margins
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt
from dbt.adapters.vcs.sql.syntax.insertion import Insert
from dbt.adapters.vcs.sql.syntax.names import Reference
from dbt.adapters.vcs.sql.syntax.parser import CreateTemporaryView, Query, Statement, parse
from dbt.adapters.vcs.sql.table import DropRelation
from dbt.adapters.vcs.workspace.statement_scope import Listing, Outcome, Scope
from dbt.adapters.vcs.workspace.temporary_names import (
    Deferred,
    DeferredStatement,
    DeferredView,
    relation_of_view,
)

_ColumnText = tuple[str, str, str | None]

Carry = Callable[[], tuple[Statement, Outcome]]
"""Carries a statement out; returns it with versions resolved, and its outcome."""


@dataclass(slots=True)
class SessionState:
    """What a connection knows of its session.

    Attributes:
        facts: What statements did to it.
        deferred: What it has not been sent yet.
    """

    facts: SessionFacts = field(default_factory=SessionFacts)
    deferred: Deferred = field(default_factory=Deferred)

    def clear(self) -> None:
        """Forget everything: the session is closed."""
        self.facts.clear()
        self.deferred.take()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reusing:
    """Reuse on one connection.

    Attributes:
        reuse: The results that may be taken.
        state: What the connection knows of its session.
        context: What keys depend on.
        has_session: Returns whether the session is open.
    """

    reuse: Reuse
    state: SessionState
    context: KeyContext
    has_session: Callable[[], bool]

    def carried_out(self, scope: Scope, statement: Statement, carry: Carry) -> Outcome:
        """Take a statement's result, or carry it out and note what it gave."""
        key = self._key(scope, statement)
        if key is None:
            self.state.facts.follow(statement)
            return _carry_out(scope, written_table(scope, statement), carry)
        is_temporary = isinstance(statement, CreateTemporaryView)
        # A temporary view is state of a session: an open one needs it, whatever is known.
        if not (is_temporary and self.has_session()):
            taken = self.reuse.take(scope, key, lambda: _rows(self._compute(scope, key, carry)))
            if taken is not None and (not is_temporary or self._defers(scope, statement, key)):
                return taken
        return self._compute(scope, key, carry)

    def made(
        self,
        scope: Scope,
        name: RelationName,
        told: tuple[str, ...],
        compute: Callable[[], Outcome],
        *,
        reads: Iterable[RelationName] = (),
        depends_on_target: bool = True,
    ) -> Outcome:
        """Take a table that no statement makes, such as a seed's, or compute and note it.

        Args:
            scope: The scope that computes it.
            name: The table.
            told: Texts that decide what it becomes.
            compute: Makes it.
            depends_on_target: False if it replaces what the table was.
        """
        try:
            maker = KeyMaker(scope, self.context)
            maker.fact(*told)
            maker.calls(scope.calls)
            for read in reads:
                maker.relation(read)
            if depends_on_target:
                maker.present(name)
            key = maker.made("table", name)
        except NotReusableError as error:
            return self.anew(scope, name, compute, why=f"{told[0]}: {error}")
        taken = self.reuse.take(scope, key, lambda: _rows(compute()))
        if taken is not None:
            return taken
        return self._compute(scope, key, lambda: (Statement(), compute()))

    def anew(
        self, scope: Scope, name: RelationName, compute: Callable[[], Outcome], *, why: str
    ) -> Outcome:
        """Compute a table that can't be known, and tell `why`; the same rows keep its version."""
        self.reuse.refuse(why)
        return _carry_out(scope, name, lambda: (Statement(), compute()))

    def columns(
        self, scope: Scope, name: RelationName, compute: Callable[[], list[_ColumnText]]
    ) -> list[_ColumnText]:
        """Return name, type and comment of a relation's columns, computed only if unknown."""
        try:
            key = columns_key(scope, name, self.context)
        except NotReusableError:
            return compute()
        result = self.reuse.find(key)
        if result is None or self.reuse.mode == "verify":
            found = compute()
            columns = [Column(name=name, type=type, comment=note) for name, type, note in found]
            self.reuse.note(scope, key, columns=result_columns(columns))
            return found
        self.reuse.refresh(scope.now, key.id, result)
        return [(column.name, column.type, column.comment) for column in result.columns]

    def deferred(self, scope: Scope, statement: Statement) -> Outcome | None:
        """Defer a statement that only changes the state of a session that isn't open."""
        # An open session is told at once; without reuse, one is opened sooner or later.
        if self.has_session() or self.reuse.mode == "never":
            return None
        waiting = DeferredStatement(text=scope.text, overlay=scope.overlay, origin=scope.origin)
        setting = setting_of(statement)
        if setting is not None:
            self.state.facts.follow(statement)
            self.state.deferred.put(waiting, None)
            return Outcome(rows=Listing.of(("key", "value"), [setting]))
        if isinstance(statement, DropRelation):
            view = scope.temporaries.view(statement.target.name)
            if view is not None and scope.temporaries.deferred(view) is not None:
                self.state.deferred.drop(view, waiting)
                return Outcome()
        return None

    def _key(self, scope: Scope, statement: Statement) -> CacheKey | None:
        try:
            return statement_key(scope, statement, self.context)
        except NotReusableError as error:
            self.reuse.refuse(f"`{excerpt(without_margins(scope.text), 40)}`: {error}")
            return None

    def _defers(self, scope: Scope, statement: Statement, key: CacheKey) -> bool:
        """Let a temporary view wait for a session; return False if what is known of it is gone."""
        assert isinstance(statement, CreateTemporaryView) and statement.query is not None
        result = self.reuse.find(key)
        # A purge or `reuse drop` may have come since it was taken.
        if result is None:
            return False
        # It may name views that wait as well.
        known = frozenset(self.state.deferred.views)
        view = DeferredView(
            definition=TemporaryDefinition(
                text=statement.query.text,
                schema=scope.schema,
                views=known,
                functions=frozenset(),
            ),
            columns=tuple((c.name, c.type, c.comment) for c in result.columns),
        )
        self.state.deferred.put(
            DeferredStatement(text=scope.text, overlay=scope.overlay, origin=scope.origin),
            (statement.target.name.identifier.lower(), view),
        )
        return True

    def _compute(self, scope: Scope, key: CacheKey, carry: Carry) -> Outcome:
        # The version to come records what it follows from (decision 30).
        scope.derivation = key.id
        started = time.perf_counter()
        # Asked before: afterwards the overlay has the new version.
        shown = None if key.target is None else scope.overlay.entry(key.target)
        settled, outcome = carry()
        self.reuse.computed()
        run = _Run(self, scope, key, settled, started)
        if key.kind == "answer":
            return run.answered(outcome)
        if key.kind == "columns":
            run.made_temporary()
        else:
            run.changed(outcome, shown)
        return outcome


def _carry_out(scope: Scope, target: RelationName | None, carry: Carry) -> Outcome:
    """Carry out what has no key: other statements may still know its target's rows."""
    if target is None:
        return carry()[1]
    shown = scope.overlay.entry(target)
    settled, outcome = carry()
    _keep_same_rows(scope, target, shown, settled)
    return outcome


def _keep_same_rows(
    scope: Scope, target: RelationName, shown: Entry | None, settled: Statement
) -> None:
    # A node may have dropped what it makes again.
    before = shown or scope.overlay.before(target)
    keep_same_rows(scope, target, before, is_rebuild=isinstance(settled, CreateTable))


@dataclass(frozen=True, slots=True)
class _Run:
    """A statement that was carried out."""

    using: Reusing
    scope: Scope
    key: CacheKey
    settled: Statement
    started: float

    def answered(self, outcome: Outcome) -> Outcome:
        """Watch the rows of a query, which are computed when they are fetched."""
        if outcome.rows is None:
            return outcome
        columns = result_columns(outcome.rows.columns)

        def tell(found: Sequence[tuple[Any, ...]] | None) -> None:
            text = None if found is None else encoded_rows(found)
            if text is not None and self.using.reuse.mode == "verify":
                check_answer(self.using.reuse.known(self.key), text)
            # Rows without a text aren't kept. A result with rows says more than one without.
            if text is None and (found is not None or self.using.reuse.known(self.key)):
                return
            if self._is_repeatable():
                self.using.reuse.note(
                    self.scope, self.key, columns=columns, rows=text, seconds=self._seconds()
                )

        if isinstance(self.settled, Query) and asks_for_columns(self.settled.text):
            # Whoever asks for columns may fetch no rows.
            tell([])
            return outcome
        return Outcome(rows=WatchedRows(outcome.rows, tell), warnings=outcome.warnings)

    def made_temporary(self) -> None:
        """Note the columns of a temporary view."""
        assert isinstance(self.settled, CreateTemporaryView)
        name = self.settled.target.name.identifier.lower()
        if self.using.reuse.find(self.key) is None:
            columns = self.scope.session.relation_columns(relation_of_view(name))
            self.using.reuse.note(self.scope, self.key, columns=result_columns(columns))

    def changed(self, outcome: Outcome, shown: Entry | None) -> None:
        """Note the version that a statement made, if another run of it would make the same.

        `shown` is what its target was right before it.
        """
        assert self.key.target is not None
        seconds = self._seconds()
        _keep_same_rows(self.scope, self.key.target, shown, self.settled)
        entry = self.scope.overlay.entry(self.key.target)
        if entry is None:
            return
        if self.using.reuse.mode == "verify":
            check_table(self.scope, self.using.reuse.known(self.key), entry)
        is_same = entry == shown
        # Where nothing was changed, the moment made no difference.
        if self.key.moment is not None and not is_same and not self.using.reuse.is_always:
            self._refuse(f"it depends on the moment: {self.key.moment}")
        elif self._is_repeatable():
            # "Nothing" is a result only for the table that it was computed for.
            version = "" if is_same and "target" in self.key.ingredients else entry.version
            self.using.reuse.note(
                self.scope,
                self.key,
                version=version,
                affected=outcome.affected,
                counts=outcome.counts,
                seconds=seconds,
            )

    def _is_repeatable(self) -> bool:
        if self.using.reuse.is_always:
            return True
        try:
            if _is_repeatable(self.scope, self.settled, self.using.context.own_text):
                return True
        except VcsError:
            # The engine can't tell, so nobody can.
            pass
        self._refuse("Spark does not say that it gives the same rows each time")
        return False

    def _refuse(self, why: str) -> None:
        text = excerpt(without_margins(self.scope.text), 40)
        self.using.reuse.refuse(f"`{text}`: {why}")

    def _seconds(self) -> float:
        return round(time.perf_counter() - self.started, 3)


def _rows(outcome: Outcome) -> Rows:
    assert outcome.rows is not None
    return outcome.rows


def _is_repeatable(scope: Scope, settled: Statement, own_text: str | None) -> bool:
    """Return whether a statement that was carried out would do the same again.

    The engine's analysis decides on its query. What depends on the moment was refused before.

    Args:
        scope: The statement's scope.
        settled: The statement, with versions resolved.
        own_text: The query to look at instead of the statement's own, if any.

    Raises:
        EngineError: The engine can't analyse the query.
    """
    if own_text is not None:
        own = parse(own_text)
        return isinstance(own, Query) and _is_query_repeatable(scope, own.text, own.reads)
    match settled:
        case Query():
            if asks_for_columns(settled.text):
                return True
            text, reads = settled.text, settled.reads
        case CreateTable(query=Query() as query):
            text, reads = query.text, query.reads
        case Insert():
            # Its values were searched for functions, as the whole text was.
            if settled.query.text.lstrip().lower().startswith("values"):
                return True
            text, reads = settled.query.text, settled.query.reads
        case Merge():
            text, reads = settled.source_query(), settled.reads
        case _:
            # A definition, or a change whose text was searched.
            return True
    if scope.is_repeatable is not None:
        return scope.is_repeatable()
    return _is_query_repeatable(scope, text, reads)


def _is_query_repeatable(scope: Scope, text: str, reads: tuple[Reference, ...]) -> bool:
    with scope.shown(scope.reads(reads)):
        return scope.session.analysed(text).is_repeatable()
