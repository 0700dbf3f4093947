"""Answers: the rows of a small query as text, and back without loss."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from dbt.adapters.vcs.core.origins.results import MAX_ANSWER
from dbt.adapters.vcs.engines.port import Column, Rows

_MAX_ROWS: Final = 10_000

_FROM_TEXT: Final[dict[str, Callable[[Any], Any]]] = {
    "bytes": base64.b64decode,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "decimal": Decimal,
    "float": float,
    "folded": lambda text: _decoded(text).replace(fold=1),
    "list": lambda items: [_decoded(item) for item in items],
    "map": lambda pairs: {_hashable(_decoded(key)): _decoded(item) for key, item in pairs},
    "time": time.fromisoformat,
    "timedelta": lambda parts: timedelta(*parts),
    "tuple": lambda items: tuple(_decoded(item) for item in items),
}


def encoded_rows(rows: Sequence[tuple[Any, ...]]) -> str | None:
    """Return rows as text; None if they are too long to keep, or of a type that has no text."""
    if len(rows) > _MAX_ROWS:
        return None
    try:
        text = json.dumps([[_encoded(value) for value in row] for row in rows], allow_nan=False)
    except TypeError:
        return None
    return text if len(text.encode()) <= MAX_ANSWER else None


def decoded_rows(text: str) -> list[tuple[Any, ...]]:
    """Return the rows of a text from `encoded_rows`."""
    return [tuple(_decoded(value) for value in row) for row in json.loads(text)]


def count_rows(text: str) -> int:
    """Return the number of rows of a text from `encoded_rows`."""
    return len(json.loads(text))


def _encoded(value: Any) -> Any:
    """Return a value as JSON: plain ones as they are, others as a list of a type and a text."""
    # The exact type: a subclass would come back as something else.
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        # `repr` gives the shortest text that comes back as the same number; JSON has no NaN.
        return ["float", repr(value)]
    if kind is Decimal:
        return ["decimal", str(value)]
    if kind is bytes:
        return ["bytes", base64.b64encode(value).decode()]
    # `isoformat` leaves the second of two equal hours out.
    if kind in (datetime, time) and value.fold:
        return ["folded", _encoded(value.replace(fold=0))]
    if kind in (date, datetime, time):
        return [kind.__name__, value.isoformat()]
    if kind is timedelta:
        return ["timedelta", [value.days, value.seconds, value.microseconds]]
    if kind in (list, tuple):
        return [kind.__name__, [_encoded(item) for item in value]]
    if kind is dict:
        return ["map", [[_encoded(key), _encoded(item)] for key, item in value.items()]]
    raise TypeError(f"No text for {kind.__name__}.")


def _decoded(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    kind, text = value
    return _FROM_TEXT[kind](text)


def _hashable(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key


class KeptRows:
    """Rows that were computed before, or of a query that ran to its end and nobody fetched."""

    def __init__(
        self,
        columns: tuple[Column, ...],
        rows: Sequence[tuple[Any, ...]] | None,
        again: Callable[[], Rows],
    ) -> None:
        """Take rows, None if nobody fetched them; `again` computes them.

        That is for those who fetch rows that aren't known, or need an Arrow table.
        """
        self.columns = columns
        self._rows = rows
        self._again = again

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows, or only the first `limit` of them."""
        if self._rows is None:
            return self._again().fetch(limit)
        return list(self._rows if limit is None else self._rows[:limit])

    def run(self) -> None:
        """Do nothing: the rows are already computed, and would come to their end again."""

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table, with the types that only the engine knows."""
        return self._again().arrow()


class WatchedRows:
    """The rows of a query; somebody is told when all were fetched, or it ran to its end."""

    def __init__(
        self, rows: Rows, tell: Callable[[Sequence[tuple[Any, ...]] | None], None]
    ) -> None:
        """Take the rows of an engine; `tell` gets the rows, None if nobody fetched them."""
        self.columns = rows.columns
        self._rows = rows
        self._tell = tell

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows, or only the first `limit` of them."""
        found = self._rows.fetch(limit)
        # Fewer than were asked for are all of them.
        if limit is None or len(found) < limit:
            self._tell(found)
        return found

    def run(self) -> None:
        """Run the query to its end and discard the rows."""
        self._rows.run()
        self._tell(None)

    def arrow(self) -> pa.Table:
        """Return all rows as one table."""
        return self._rows.arrow()
