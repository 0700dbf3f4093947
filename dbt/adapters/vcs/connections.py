"""dbt's connections: each is a view of the environment's workspace, opened on first use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import SparkConnectionManager
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.vcs.core.errors import EngineError, VcsError
from dbt.adapters.vcs.engines.engine_errors import trace_of
from dbt.adapters.vcs.sql.syntax.parser import split
from dbt.adapters.vcs.workspace.lines import line_workspace as vcs
from dbt.adapters.vcs.workspace.statement_scope import Outcome

if TYPE_CHECKING:
    import agate

logger = AdapterLogger("Vcs")


class StatementRunner(Protocol):
    """What a connection needs of `project.environment.Environment`."""

    @property
    def workspace(self) -> vcs.Workspace:
        """The branch as the invocation sees it."""
        ...

    def execute(self, connection: vcs.Connection, name: str, text: str) -> Outcome:
        """Execute a statement that dbt sends over the named connection."""
        ...

    def typed(self, text: str) -> str:
        """Return a message whose commands have the options that this one was called with."""
        ...


class Cursor:
    """The result of one statement, in the shape of the Python database API."""

    def __init__(self, handle: Handle) -> None:
        """Create a cursor that executes statements on the handle's connection."""
        self._handle = handle
        self._outcome = Outcome()
        self._rows: list[tuple[Any, ...]] | None = None
        self._position = 0

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Execute a statement; bindings replace its `%s` as literals."""
        if bindings:
            sql = sql % tuple(_literal(value) for value in bindings)
        self._rows, self._position = None, 0
        self._outcome = self._handle.execute(sql)

    @property
    def outcome(self) -> Outcome:
        """What the statement did."""
        return self._outcome

    @property
    def description(self) -> list[tuple[Any, ...]]:
        """Name and type of each column, followed by five unused values."""
        if self._outcome.rows is None:
            return []
        return [
            (column.name, column.type, None, None, None, None, column.nullable)
            for column in self._outcome.rows.columns
        ]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that have not been fetched yet."""
        rows = self._all()[self._position :]
        self._position += len(rows)
        return rows

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        """Return up to `size` rows not fetched yet; the first call computes only these."""
        if self._rows is None and self._position == 0 and self._outcome.rows is not None:
            rows = [_shown(row) for row in self._outcome.rows.fetch(size)]
            # These are all, and needn't be computed a second time.
            if len(rows) < size:
                self._rows = rows
            self._position = len(rows)
            return rows
        rows = self._all()[self._position : self._position + size]
        self._position += len(rows)
        return rows

    def finish(self) -> None:
        """Run a query whose rows are not fetched, such as a hook that checks something."""
        if self._rows is None and self._outcome.rows is not None:
            self._outcome.rows.run()

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None after the last."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def _all(self) -> list[tuple[Any, ...]]:
        if self._rows is None:
            rows = self._outcome.rows
            self._rows = [] if rows is None else [_shown(row) for row in rows.fetch()]
        return self._rows


class Handle:
    """dbt's handle of an open connection."""

    def __init__(self, environment: StatementRunner, connection: Connection) -> None:
        """Keeps dbt's connection, whose name says which node sends a statement."""
        self._environment = environment
        # dbt renames a thread's connection from node to node, so its name is read at each
        # statement.
        self._connection = connection
        self.inner: vcs.Connection = environment.workspace.connect(connection.name or "master")

    @property
    def name(self) -> str:
        """Name of dbt's connection: a node's unique id, `master`, `macro_...`."""
        return self._connection.name or "master"

    def cursor(self) -> Cursor:
        """Return a cursor."""
        return Cursor(self)

    def execute(self, sql: str) -> Outcome:
        """Execute one or more statements, such as a `sql_header` and what follows."""
        # Reading a text takes longer than looking for the only character that can part it.
        *first, last = (split(sql) if ";" in sql else []) or [sql]
        for statement in first:
            self._execute(statement)
        return self._execute(last)

    def _execute(self, statement: str) -> Outcome:
        outcome = self._environment.execute(self.inner, self.name, statement)
        for warning in outcome.warnings:
            logger.warning(self._environment.typed(warning))
        return outcome

    def cancel(self) -> None:
        """Stop what is running, and refuse what the node would send next."""
        self.inner.stop()

    def close(self) -> None:
        """Close the engine's session."""
        self.inner.close()

    def rollback(self) -> None:
        """Do nothing: the changes of a failed node are dropped when it ends."""


class VcsConnectionManager(SparkConnectionManager):
    """Opens connections on the adapter's environment."""

    TYPE = "vcs"
    environment: StatementRunner

    # A class method in dbt. This one needs the environment of its adapter.
    def open(self, connection: Connection) -> Connection:  # type: ignore[override]
        """Open a connection; this doesn't start an engine."""
        if connection.state == ConnectionState.OPEN:
            return connection
        with self.exception_handler("open"):
            connection.handle = Handle(self.environment, connection)
        connection.state = ConnectionState.OPEN
        return connection

    def handle(self) -> Handle:
        """Return the handle of this thread's connection."""
        handle = self.get_thread_connection().handle
        assert isinstance(handle, Handle)
        return handle

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Turn our errors into dbt's, with one readable message each; the log has the stack."""
        try:
            yield
        except VcsError as error:
            logger.debug(f"Error while running:\n{sql}\n{trace_of(error)}")
            kind = DbtDatabaseError if isinstance(error, EngineError) else DbtRuntimeError
            raise kind(self.environment.typed(str(error))) from error

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        """Execute a statement and compute its rows here, where errors are turned into dbt's."""
        import agate

        sql = self._add_query_comment(sql)
        _, cursor = self.add_query(sql, auto_begin)
        response = self.get_response(cursor)
        with self.exception_handler(sql):
            if fetch:
                return response, self.get_result_from_cursor(cursor, limit)
            cursor.finish()
        # Without columns, agate doesn't set up its type guessing.
        return response, agate.Table([], [], [])

    def cancel(self, connection: Connection) -> None:
        """Stop what a connection is running."""
        connection.handle.cancel()

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:
        """Return the response for a finished statement, with its row count if known."""
        return _response(cursor.outcome if isinstance(cursor, Cursor) else Outcome())

    @classmethod
    def response_of(cls, outcome: Outcome) -> AdapterResponse:
        """Return the response for finished work, as `get_response` does, and log its warnings."""
        for warning in outcome.warnings:
            logger.warning(warning)
        return _response(outcome)


@dataclass
class VcsAdapterResponse(AdapterResponse):
    """dbt's response, which `run_results.json` holds, and how many rows changed in which way.

    Fields that are None are left out there.

    Attributes:
        rows_inserted: Rows that are new.
        rows_updated: Rows that a statement updated; one that was set to what it was counts, too.
        rows_deleted: Rows that are gone.
    """

    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None


def _response(outcome: Outcome) -> VcsAdapterResponse:
    affected = outcome.affected
    known = "OK" if outcome.reused is None else f"REUSED {outcome.reused}"
    is_counted = outcome.reused is None and affected is not None
    inserted, updated, deleted = outcome.counts or (None, None, None)
    return VcsAdapterResponse(
        _message=f"{known} {affected}" if is_counted else known,
        rows_affected=affected,
        rows_inserted=inserted,
        rows_updated=updated,
        rows_deleted=deleted,
    )


def _shown(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row in the form that dbt's tables accept."""
    return tuple(map(_plain, row))


def _plain(value: Any) -> Any:
    """Return a value that dbt can turn into JSON: binary as hex digits, map keys as text."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    return value


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, datetime):
        return f"timestamp '{value.isoformat(sep=' ')}'"
    # A backslash in a literal of Spark's begins an escape.
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
