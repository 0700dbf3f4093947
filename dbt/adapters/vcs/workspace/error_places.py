"""Error positions, counted in the statement as its author wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.port import Column, Rows
from dbt.adapters.vcs.rows.positions import moved
from dbt.adapters.vcs.scope.answer import Outcome
from dbt.adapters.vcs.statements.families.table import CreateTable, CreateTemporaryView, CreateView
from dbt.adapters.vcs.statements.syntax.text_places import own_place

if TYPE_CHECKING:
    import pyarrow as pa


def own_text(written: str, statement: object, origin: Origin) -> str:
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
def counted_in(written: str) -> Iterator[None]:
    """Report lines and positions in Spark's errors in terms of the original text.

    An error in text that was added gets no position.
    """
    try:
        yield
    except StatementError as error:
        sent = error.sent
        if sent is None or sent == written:
            raise
        message = moved(str(error), sent, written, partial(own_place, written, sent))
        raise StatementError(message, error.condition, written) from error.__cause__


def with_places(outcome: Outcome, written: str) -> Outcome:
    """Apply `counted_in` to the rows of an outcome, which are computed later."""
    if outcome.rows is None:
        return outcome
    return replace(outcome, rows=_OwnRows(outcome.rows, written))


class _OwnRows:
    """`Rows` whose errors give positions in the original text."""

    def __init__(self, rows: Rows, written: str) -> None:
        self._rows = rows
        self._written = written

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._rows.columns

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        with counted_in(self._written):
            return self._rows.fetch(limit)

    def run(self) -> None:
        with counted_in(self._written):
            self._rows.run()

    def arrow(self) -> pa.Table:
        with counted_in(self._written):
            return self._rows.arrow()
