"""From a statement's text to its outcome: finds and calls the handler."""

from __future__ import annotations

from collections.abc import Callable

from dbt.adapters.vcs.core.errors import InputError, ReadOnlyError, UnsupportedError
from dbt.adapters.vcs.handlers.catalog import missing
from dbt.adapters.vcs.handlers.contents import conflict_edits
from dbt.adapters.vcs.handlers.handler_registry import Handler, handler_of
from dbt.adapters.vcs.handlers.versions import time_travel
from dbt.adapters.vcs.reuse.attempt import Reusing
from dbt.adapters.vcs.scope.answer import Outcome
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.families.versioning import SnapshotMerge, SnapshotPick
from dbt.adapters.vcs.statements.parser import for_spark, read
from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.excerpts import excerpt
from dbt.adapters.vcs.workspace import error_places, outside_writes


def execute(
    scope: Scope,
    *,
    read_only: bool,
    before_rows: Callable[[], None],
    pinned: bool = False,
    reusing: Reusing | None = None,
) -> Outcome:
    """Carry out the statement of a scope, and put its changes into the overlay.

    Args:
        scope: The statement's scope.
        read_only: True to refuse statements that change something.
        before_rows: Called before rows are computed and written; raises if they can't land.
        pinned: True if nothing can land, so that statements that write elsewhere are refused, too.
        reusing: Takes results that are known instead of computing them; None to compute.

    Raises:
        InputError: The statement can't be carried out as written.
        ReadOnlyError: It would change something and `read_only` is set, or write files here.
        EngineError: Spark refused or failed.
    """
    statement: Statement
    statement, scope.calls = read(scope.text)
    waits = None if reusing is None else reusing.deferred(scope, statement)
    if waits is not None:
        return waits
    if scope.temporaries.is_about(statement):
        outside_writes.check_target(statement, scope.schema)
        statement = for_spark(scope.text)
    if read_only and _changes(statement):
        raise ReadOnlyError(
            "This dbt command only reads, and the statement would change the branch: "
            f"`{excerpt(scope.text)}`. Use dbt run-operation or dbt run for it."
        )
    outside_writes.check_outside(scope, statement, allowed=not (read_only or pinned))
    if statement.writes_rows:
        before_rows()
    handler = handler_of(statement)
    if handler is None:
        raise UnsupportedError(
            f"Statements such as `{excerpt(scope.text, 40)}` are not supported yet. "
            "See dbt-vcs --help for another way."
        )
    written = error_places.own_text(scope.text, statement, scope.origin)
    with missing.named(scope), error_places.counted_in(written):
        outcome = _handled(scope, statement, handler, reusing)
    return error_places.with_places(outcome, written)


def may_change(text: str) -> bool:
    """Return whether a statement changes its branch, or can't be parsed."""
    try:
        statement, _ = read(text)
    except InputError:
        return True
    return _changes(statement)


def _changes(statement: Statement) -> bool:
    is_dry = isinstance(statement, SnapshotMerge | SnapshotPick) and statement.dry_run
    return statement.changes and not is_dry


def _handled(
    scope: Scope, statement: Statement, handler: Handler, reusing: Reusing | None
) -> Outcome:
    kept = conflict_edits.merge_kept_by(scope) if statement.changes else None

    def carry() -> tuple[Statement, Outcome]:
        settled = time_travel.settled(scope, statement)
        if kept is not None:
            return settled, conflict_edits.edit_conflicts(scope, kept, settled)
        return settled, handler(scope, settled)

    if reusing is None or kept is not None:
        return carry()[1]
    return reusing.carried_out(scope, statement, carry)
