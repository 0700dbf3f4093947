"""From a statement's text to its outcome: finds and calls the handler."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dbt.adapters.vcs.core.errors import InputError, ReadOnlyError, UnsupportedError
from dbt.adapters.vcs.core.model import Origin, RelationName
from dbt.adapters.vcs.core.store.opening import reaches
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.port import Column, Rows
from dbt.adapters.vcs.reuse.attempt import Reusing
from dbt.adapters.vcs.sql import conflict_edits, time_travel
from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.merge_into import Merge
from dbt.adapters.vcs.sql.row_change import Delete, Update
from dbt.adapters.vcs.sql.snapshot_merge import SnapshotMerge
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt, own_place
from dbt.adapters.vcs.sql.syntax.insertion import Insert
from dbt.adapters.vcs.sql.syntax.lexer import edited
from dbt.adapters.vcs.sql.syntax.names import Reference
from dbt.adapters.vcs.sql.syntax.parser import (
    CreateTemporaryView,
    Query,
    SparkCommand,
    Statement,
    for_spark,
    read,
    renames,
    reparsed,
)
from dbt.adapters.vcs.sql.view import AlterViewAs, CreateView
from dbt.adapters.vcs.table.quoting import moved
from dbt.adapters.vcs.workspace.statement_scope import Handler, Outcome, Scope, handler_of

if TYPE_CHECKING:
    import pyarrow as pa


# Statements whose references are offsets into their whole text.
_S = TypeVar("_S", bound=SparkCommand | Insert | Update | Delete | Merge)
_CONDITION: Final = "TABLE_OR_VIEW_NOT_FOUND"
_NAMED: Final = re.compile(r"table or view (`(?:[^`]|``)+`(?:\.`(?:[^`]|``)+`)*) cannot be found")
_PLACE: Final = re.compile(r"line \d+,? pos \d+")
_NEAR: Final = 3


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
    statement, scope.calls = read(scope.text, scope.timestamp)
    # What only changes a session that isn't open waits for it, and starts no engine.
    waits = None if reusing is None else reusing.deferred(scope, statement)
    if waits is not None:
        return waits
    if scope.temporaries.is_about(statement):
        # As in Spark, a temporary view hides a relation of the branch.
        _check_target(statement, scope.schema)
        statement = for_spark(scope.text)
    if read_only and _changes(statement):
        raise ReadOnlyError(
            "This dbt command only reads, and the statement would change the branch: "
            f"`{excerpt(scope.text)}`. Use dbt run-operation or dbt run for it."
        )
    _check_outside(scope, statement, allowed=not (read_only or pinned))
    if statement.writes_rows:
        # Otherwise a query of hours would end at a protected branch.
        before_rows()
    handler = handler_of(statement)
    if handler is None:
        raise UnsupportedError(
            f"Statements such as `{excerpt(scope.text, 40)}` are not supported yet. "
            "See dbt-vcs --help for another way."
        )
    written = _own_text(scope.text, statement, scope.origin)
    with similar_names(scope), _own_positions(written):
        outcome = _outcome_of(scope, statement, handler, reusing)
    if outcome.rows is None:
        return outcome
    # They are computed later.
    return replace(outcome, rows=_OwnRows(outcome.rows, written))


def may_change(text: str) -> bool:
    """Return whether a statement changes its branch, or can't be parsed."""
    try:
        statement, _ = read(text)
    except InputError:
        return True
    return _changes(statement)


def _changes(statement: Statement) -> bool:
    is_dry = isinstance(statement, SnapshotMerge) and statement.dry_run
    return statement.changes and not is_dry


def _outcome_of(
    scope: Scope, statement: Statement, handler: Handler, reusing: Reusing | None
) -> Outcome:
    # Decision 13: on the branch that a merge keeps its conflicts on, statements only resolve them.
    kept = conflict_edits.merge_kept_by(scope) if statement.changes else None

    def carry() -> tuple[Statement, Outcome]:
        # Only where it is carried out: a result that is taken needs no engine.
        settled = _settled(scope, statement)
        if kept is not None:
            return settled, conflict_edits.edit_conflicts(scope, kept, settled)
        return settled, handler(scope, settled)

    if reusing is None or kept is not None:
        return carry()[1]
    return reusing.carried_out(scope, statement, carry)


def _settled(scope: Scope, statement: Statement) -> Statement:
    """Replace versions, diffs and `vcs.*` in a statement by readable relations.

    They are made readable now, and versions are recorded as inputs. The definition of a view
    stays unchanged, since its names are resolved whenever it is read.

    Raises:
        NotFoundError: There is no such version; the message names near matches.
        InputError: The text matches several versions, or names a version of something without
            versions.
    """
    match statement:
        case CreateView() | AlterViewAs():
            return statement
        case Query():
            return time_travel.settled_query(scope, statement)
        case CreateTable(query=Query() as query):
            return replace(statement, query=time_travel.settled_query(scope, query))
        case CreateTemporaryView(query=Query() as query):
            # Later statements read the view, so what its text is replaced by has to stay readable.
            new = time_travel.settled_query(scope, query, keep=True)
            if new is query:
                return statement
            return reparsed(CreateTemporaryView, statement.rewritten(new.text))
        case SparkCommand():
            return _in_text(scope, statement, statement.mentions, statement.diffs)
        case Insert() | Update() | Delete() | Merge():
            return _in_text(scope, statement, statement.reads, statement.diffs)
    return statement


def _in_text(
    scope: Scope, statement: _S, reads: Iterable[Reference], diffs: Iterable[DiffReference]
) -> _S:
    found = time_travel.replacements(scope, reads, diffs)
    if not found:
        return statement
    return reparsed(type(statement), edited(statement.text, renames(found, statement.text)))


def _check_outside(scope: Scope, statement: Statement, *, allowed: bool) -> None:
    """Check that a statement may write where it does.

    Args:
        statement: The statement, as it was read.
        allowed: False on a connection that only reads.

    Raises:
        EngineError: It isn't SQL, where a connection only reads.
        ReadOnlyError: It may write outside of the branch, and the connection only reads.
        UnsupportedError: It names a place of the repository.
    """
    if not isinstance(statement, SparkCommand) or not statement.writes:
        return
    shown = excerpt(scope.text, 60)
    if not allowed:
        # A statement that nobody knows may only be misspelt.
        scope.session.check_syntax(scope.text)
        raise ReadOnlyError(
            f"This connection only reads, and the statement may write files or to another "
            f"catalog: `{shown}`. Use a connection to a branch, or dbt run-operation or dbt run."
        )
    uri = scope.overlay.repository.uri
    # Where a relative place is depends on the session: its working folder or its warehouse.
    for place in statement.places:
        if reaches(place, uri) or reaches(scope.session.place(place), uri):
            raise UnsupportedError(
                f"The statement would write to {place}, and the repository {uri} is there: its "
                f"files would be overwritten or removed (`{shown}`). Nothing was changed. Write "
                "to a folder outside of the repository."
            )


def _check_target(statement: Statement, schema: str) -> None:
    """Check that a statement about a temporary view adds no rows to it.

    Raises:
        UnsupportedError: It does: Spark would write to the files that the view was made of.
    """
    if isinstance(statement, Insert):
        name = statement.target.name
        raise UnsupportedError(
            f"{name} is a temporary view here, and no statement writes rows to one. For a table "
            f"of the branch write its schema: {schema}.{name.identifier}."
        )


@contextmanager
def similar_names(scope: Scope) -> Iterator[None]:
    """Replace Spark's error for an unknown relation by one that suggests similar names.

    Spark's own message has four lines on search paths, which don't apply to a branch.
    """
    try:
        yield
    except StatementError as error:
        # Spark says which name it is in the message only.
        found = _NAMED.search(str(error)) if error.condition == _CONDITION else None
        if found is None:
            raise
        name = _missing_name(found[1], scope.schema)
        place = _PLACE.search(str(error))
        words = f"[{_CONDITION}] There is no table or view {name} here. {_hint(scope, name)}"
        words += f" It is read in {place[0]}." if place else ""
        # Shown with Spark's own error as the cause: the one that is replaced says the same.
        raise StatementError(words, _CONDITION) from error.__cause__


def _missing_name(quoted: str, schema: str) -> RelationName:
    parts = [part.replace("``", "`") for part in quoted[1:-1].split("`.`")]
    return RelationName(parts[-2] if len(parts) > 1 else schema, parts[-1])


def _hint(scope: Scope, name: RelationName) -> str:
    overlay = scope.overlay
    known = {str(external) for external in scope.externals} | {
        f"{schema}.{identifier}"
        for schema in overlay.schema_names()
        for identifier in overlay.entries(schema)
    }
    near = difflib.get_close_matches(str(name).lower(), sorted(known), n=_NEAR)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    if not overlay.has_schema(name.schema.lower()):
        schemas = ", ".join(overlay.schema_names()) or "none yet"
        return f"The schemas are: {schemas}."
    return "Check the spelling, or that it is built first: in dbt, refer to it by ref()."


def _own_text(written: str, statement: object, origin: Origin) -> str:
    """Return the part of a statement that its author wrote.

    In a statement that builds a relation for a dbt node, that is the model's query; the rest
    is dbt's. Any other statement is returned whole.
    """
    if origin.node is None or not isinstance(
        statement, (CreateTable, CreateView, CreateTemporaryView)
    ):
        return written
    query = statement.query
    return query.text if query is not None and query.text in written else written


@contextmanager
def _own_positions(written: str) -> Iterator[None]:
    """Report lines and positions in Spark's errors in terms of the original text.

    An error in text that was added gets no position.
    """
    try:
        yield
    except StatementError as error:
        sent = error.sent
        # Spark read what the author wrote, so its places are right.
        if sent is None or sent == written:
            raise
        message = moved(str(error), sent, written, partial(own_place, written, sent))
        raise StatementError(message, error.condition, written) from error.__cause__


class _OwnRows:
    """`Rows` whose errors give positions in the original text."""

    def __init__(self, rows: Rows, written: str) -> None:
        self._rows = rows
        self._written = written

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._rows.columns

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        with _own_positions(self._written):
            return self._rows.fetch(limit)

    def run(self) -> None:
        with _own_positions(self._written):
            self._rows.run()

    def arrow(self) -> pa.Table:
        with _own_positions(self._written):
            return self._rows.arrow()
