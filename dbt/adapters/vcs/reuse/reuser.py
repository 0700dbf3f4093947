"""Reuse: statements whose results are known are not carried out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from msgspec.structs import replace

from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.origins.results import Result, ResultColumn, Results
from dbt.adapters.vcs.engines.port import Column, Rows
from dbt.adapters.vcs.reuse.answer_rows import KeptRows, decoded_rows
from dbt.adapters.vcs.reuse.cache_key import CacheKey
from dbt.adapters.vcs.reuse.taken_versions import GoneError, put_taken
from dbt.adapters.vcs.sql.syntax.canonical import without_margins
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope

# How long a result stays as it is, though it is taken: two days.
_REFRESHED: Final = Micros(2 * 86_400_000_000)

ReuseMode: TypeAlias = Literal["auto", "always", "never", "verify"]
"""Whether results are looked up: where they are repeatable, in any case, not at all, or only to
compare them with what is computed."""


@dataclass(slots=True)
class Tally:
    """What was taken and computed for one node, in order.

    Attributes:
        taken: Results that were taken.
        refused: Why results could not be looked up, by the statement's first words.
        pending: Results that were computed, and what is to be remembered of them.
        computed: How many statements were carried out.
    """

    taken: list[Result] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    pending: list[tuple[str, Result, bool]] = field(default_factory=list)
    computed: int = 0

    @property
    def seconds_saved(self) -> float:
        """Seconds that the taken results took when they were computed."""
        return sum(item.seconds for item in self.taken)


class Reuse:
    """The results that one node, or what runs outside of nodes, may take.

    What it computes is remembered only by `remember`, once its commit has landed: a result whose
    version nobody can see would not be held.

    Attributes:
        mode: Whether results are looked up.
        tally: What was taken and computed.
        own_text: The text of the node to search for moments; None for the statements' own.
        is_declared: True if a person says that the node gives the same rows each time.
    """

    def __init__(
        self,
        results: Results,
        *,
        is_purged: Callable[[], bool],
        mode: ReuseMode = "auto",
        own_text: str | None = None,
        branch: str = "",
        refusal: str | None = None,
        is_declared: bool = False,
    ) -> None:
        """Take the repository's results and the branch that is worked for.

        `refusal` says why nothing is taken; None if results are. `is_purged` returns whether a
        purge has begun since before anything was read.
        """
        self.mode: ReuseMode = mode
        self.tally = Tally(refused=[] if refusal is None else [refusal])
        self.own_text = own_text
        self.is_declared = is_declared or mode == "always"
        self._results = results
        self._branch = branch
        self._is_purged = is_purged
        self._lock = threading.Lock()

    @property
    def is_always(self) -> bool:
        """True if what depends on the moment or on chance is taken, too."""
        return self.mode == "always"

    def find(self, key: CacheKey) -> Result | None:
        """Return the result of a key; None if there is none or none may be taken."""
        return None if self.mode == "never" else self._results.find(key.id)

    def known(self, key: CacheKey) -> Result | None:
        """Return the result of a key, whatever the mode."""
        return self._results.find(key.id)

    def take(self, scope: Scope, key: CacheKey, again: Callable[[], Rows]) -> Outcome | None:
        """Take the result of a key, if there is one; return the statement's outcome.

        `again` computes the rows of an answer, for those who need more than they show.
        """
        result = self.find(key)
        if result is None or self.mode == "verify":
            return None
        # Lineage and the check of stale inputs need what the statement would have read.
        for item in key.inputs:
            scope.note(item)
        try:
            outcome = self._outcome(scope, key, result, again)
        except GoneError:
            # It was collected; what is computed now takes its place.
            return None
        with self._lock:
            self.tally.taken.append(result)
        self.refresh(scope.now, key.id, result)
        return outcome

    def refresh(self, now: Micros, key: str, result: Result) -> None:
        """Store a result again that is in use, so that no collection takes it for an old one."""
        # Each use would be a write otherwise.
        if now - max(result.made_at, result.used_at) < _REFRESHED:
            return
        with self._lock:
            self.tally.pending.append((key, replace(result, used_at=now), True))

    def refuse(self, why: str) -> None:
        """Write down why a statement's result could not be looked up."""
        with self._lock:
            self.tally.refused.append(why)

    def computed(self) -> None:
        """Count a statement that was carried out."""
        with self._lock:
            self.tally.computed += 1

    def note(self, scope: Scope, key: CacheKey, **facts: Any) -> None:
        """Keep what a statement gave, to be remembered once it has landed."""
        result = Result(
            kind=key.kind,
            made_at=Micros(scope.now),
            node=scope.origin.node,
            invocation=scope.origin.invocation,
            branch=self._branch,
            statement=without_margins(scope.text),
            schema=scope.schema,
            target=str(key.target) if key.target is not None else "",
            inputs=key.inputs,
            ingredients=dict(key.ingredients),
            **facts,
        )
        with self._lock:
            self.tally.pending.append((key.id, result, self._results.find(key.id) is not None))

    def remember(self) -> None:
        """Store what was computed, unless a purge came between: it may have erased these rows.

        Raises:
            StorageError: The store failed.
        """
        with self._lock:
            # The store is slow, and other threads go on.
            pending, self.tally.pending = self.tally.pending, []
        if not pending or self._is_purged():
            return
        for key, result, is_gone in pending:
            self._results.put(key, result, replace=is_gone)
        # Decision 36: a purge drops all results once it has begun. One that has begun since may
        # have looked before these were there.
        if self._is_purged():
            for key, _, _ in pending:
                self._results.drop(key)

    def _outcome(
        self, scope: Scope, key: CacheKey, result: Result, again: Callable[[], Rows]
    ) -> Outcome:
        if key.kind == "answer":
            columns = columns_of_result(result)
            rows = None if result.rows is None else decoded_rows(result.rows)
            return Outcome(rows=KeptRows(columns, rows, again), reused=_source_text(scope, result))
        if key.kind == "columns":
            return Outcome(reused=_source_text(scope, result))
        # So that the version says what it follows from, as if it had been computed here.
        scope.derivation = key.id
        put_taken(scope, key, result)
        return Outcome(
            affected=result.affected, counts=result.counts, reused=_source_text(scope, result)
        )


def told_source(result: Result, invocation: str | None) -> str:
    """Return where an invocation took a result from: itself, or a branch that was built for.

    That branch may not show it yet: a run leaves results before it is published, or if it fails.
    """
    # By a node of the same text, or by this one before it is carried out again.
    if invocation and result.invocation == invocation:
        return "this run"
    return result.branch or "an earlier statement"


def _source_text(scope: Scope, result: Result) -> str:
    """Return where a result comes from, and what it saves."""
    where = told_source(result, scope.origin.invocation)
    if where == result.branch:
        where = f"a run for {where}"
    return f"from {where}, {result.seconds:.1f} s saved"


def columns_of_result(result: Result) -> tuple[Column, ...]:
    """Return the columns of an answer."""
    return tuple(
        Column(name=c.name, type=c.type, nullable=c.nullable, comment=c.comment)
        for c in result.columns
    )


def result_columns(columns: Sequence[Column]) -> tuple[ResultColumn, ...]:
    """Return columns as a result stores them."""
    return tuple(
        ResultColumn(name=c.name, type=c.type, nullable=c.nullable, comment=c.comment)
        for c in columns
    )
