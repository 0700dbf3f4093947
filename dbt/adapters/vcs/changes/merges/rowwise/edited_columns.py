"""Which columns, of those that one side of a merge dropped, the other side changed values in.

An update of a column that is gone would vanish without a word. With a key, which may be one that
only one side declares, a value is changed if a row with the same key has another one. Without a
key an update can't be told from a deletion beside an insertion, unless all that it changed is the
column: then fewer rows differ without the column than with it.

If the side that dropped a column has another one of its name, as after a rebuild with another
type, new rows count as well: they would be NULL there, although they were given a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.writes.keys import shown
from dbt.adapters.vcs.core.model import Field, Snapshot
from dbt.adapters.vcs.core.plan.schema_merge import Side
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Rewriter, Rewriters
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.limits import Limits, in_process_first
from dbt.adapters.vcs.table.quoting import quoted

_NAMED: Final = 3
"""Rows that a conflict names."""

_T = TypeVar("_T")


def edited_columns(
    repository: Repository,
    base: Snapshot | None,
    ours: Snapshot,
    theirs: Snapshot,
    *,
    prefer: Side | None,
    limits: Limits,
    sessions: Rewriters | None,
) -> dict[str, str]:
    """Return the columns that one side dropped and in which the other changed values.

    By id, with the rows in words: how many, and the keys of the first ones if there is a key.

    Reads the rows that a side changed, and only if the other dropped a column that it has. Nothing
    is asked of a column that the preferred side dropped: it is dropped, edited or not.

    Raises:
        TooLargeError: There are too many rows to compare, and there is no engine.
        UnsupportedError: Arrow can't read a column, and there is no engine.
    """
    found: dict[str, str] = {}
    decided = {"ours": ours, "theirs": theirs, None: None}[prefer]
    for side, other in ((ours, theirs), (theirs, ours)):
        if base is None or other is decided or side.segments == base.segments:
            continue
        edits = _Edits(repository, limits, sessions)
        for field in base.schema.fields:
            kept = side.schema.by_id(field.id)
            if kept is None or other.schema.by_id(field.id) is not None:
                continue
            new = other.schema.find(kept.name)
            is_replaced = new is not None and base.schema.by_id(new.id) is None
            keys = [version.primary_key for version in (side, other, base)]
            key = next(filter(None, keys), ())
            before, after = _by(key, base), _by(key, side)
            rows = (is_replaced and edits.new(base, side)) or edits.of(before, after, kept)
            if rows:
                found[field.id] = rows
    return found


def _by(key: tuple[str, ...], version: Snapshot) -> Snapshot:
    """Return a version whose rows are paired by a key, if it has its columns."""
    has_all = all(version.schema.by_id(id) for id in key)
    return msgspec.structs.replace(version, primary_key=key if has_all else ())


class _Edits(NamedTuple):
    """Looks for edited rows, and names them; '' stands for none."""

    repository: Repository
    limits: Limits
    sessions: Rewriters | None

    def new(self, base: Snapshot, side: Snapshot) -> str:
        """Return which rows a side added."""
        compared = Difference(repository=self.repository, before=base, after=side)
        return self._told(compared, self._counts(compared).added, "insert")

    def of(self, base: Snapshot, side: Snapshot, column: Field) -> str:
        """Return which rows a side gave another value of a column."""

        def compared(*names: str) -> Difference:
            return Difference(repository=self.repository, before=base, after=side, columns=names)

        if side.primary_key and side.primary_key == base.primary_key:
            if column.id in side.primary_key:
                return ""
            changes = compared(column.name)
            rows = self._told(changes, self._counts(changes).modified, "update_postimage")
            if rows:
                return rows
        # Rows whose key is not unique aren't paired by it.
        side, base = _by((), side), _by((), base)
        rest = [field.name for field in side.schema.fields if field.id != column.id]
        if not rest:
            return ""
        changes, others = compared(), compared(*rest)
        return self._told(changes, self._counts(changes).added - self._counts(others).added, "")

    def _told(self, compared: Difference, count: int, kind: str) -> str:
        """Return a number of rows, with the keys of the first ones of a kind of change."""
        if count <= 0:
            return ""
        side = compared.after
        rows = f"{count} row{'s'[: count > 1]}"
        if side is None or not side.primary_key or not kind:
            return rows
        names = [field.name for field in side.schema.fields if field.id in side.primary_key]
        keys = self._somewhere(
            lambda: _first(compared.table("changes", limits=self.limits), kind, names),
            lambda session: _first_by_engine(session, compared, kind, names),
        )
        told = [
            ", ".join(f"{name} = {shown(value)}" for name, value in zip(names, key, strict=True))
            for key in keys
        ]
        more = [f"and {count - len(told)} more"] if count > len(told) else []
        return f"{rows}: {'; '.join([*told, *more])}"

    def _counts(self, compared: Difference) -> Counts:
        return self._somewhere(
            lambda: compared.counts(limits=self.limits), compared.counts_by_engine
        )

    def _somewhere(self, here: Callable[[], _T], by_engine: Callable[[Rewriter], _T]) -> _T:
        sessions = self.sessions
        if sessions is None:
            return here()
        return in_process_first(here, lambda: by_engine(sessions()))


def _first(rows: pa.Table, kind: str, names: Sequence[str]) -> list[tuple[object, ...]]:
    wanted = rows.filter(pc.field("_change_type") == kind).select(names)
    # Arrow can't sort by some types; any of the rows will do.
    with suppress(pa.ArrowException):
        wanted = wanted.sort_by([(name, "ascending") for name in names])
    return [tuple(row.values()) for row in wanted.slice(0, _NAMED).to_pylist()]


def _first_by_engine(
    session: Rewriter, compared: Difference, kind: str, names: Sequence[str]
) -> list[tuple[object, ...]]:
    listed = ", ".join(map(quoted, names))
    changes = compared.by_engine(session, "changes")
    query = f"select {listed} from ({changes}) where _change_type = '{kind}' order by {listed}"
    return session.query(f"{query} limit {_NAMED}").fetch()
