"""Staged actions: what a large merge does to rows, computed once and kept in files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

from dbt.adapters.vcs.changes.merges.by_engine.row_decisions import (
    CHANGED,
    CONFLICT,
    COUNTS,
    DELETE,
    GIVEN,
    INSERT,
    MADE,
    OPEN,
    SEVERAL,
    UNIT,
    RowDecisions,
)
from dbt.adapters.vcs.changes.writes.stage import unlimited
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.engines.port import Destination, RowSession, TableMount
from dbt.adapters.vcs.table.quoting import sql_type

_OWN: Final[Mapping[str, str]] = {
    "action": "int",
    "f": "string",
    "p": "bigint",
    **dict.fromkeys("bot", "int"),
    **dict.fromkeys(COUNTS, "bigint"),
    UNIT: "bigint",
}


class Totals(NamedTuple):
    """How many rows there are of each kind of action."""

    open: int
    inserted: int
    made: int
    conflicts: int
    changed: int
    given: int
    several: int


class StagedActions:
    """The rows of `RowDecisions.query`, in files below a folder of their own."""

    def __init__(
        self, session: RowSession, decisions: RowDecisions, query: str, folder: str
    ) -> None:
        """Run a query and write its rows.

        Args:
            session: The engine's session.
            decisions: What made the query.
            query: The query.
            folder: A new folder, which the caller deletes.
        """
        self.session = session
        self.fields = tuple(decisions.fields)
        self.by = decisions.by
        self.keyed = bool(decisions.key)
        self._folder = folder
        self._files = session.write(query, Destination(folder=folder)).files

    @cached_property
    def relation(self) -> str:
        """SQL for the rows, to put after `from`."""
        columns = {
            **_OWN,
            **{f"c{n}": unlimited(field.type) for n, field in enumerate(self.fields)},
        }
        if not self._files:
            nulls = (f"cast(null as {sql_type(type_)}) {name}" for name, type_ in columns.items())
            return f"(select {', '.join(nulls)} limit 0)"
        mount = TableMount(
            id=f"ra_{hashlib.sha256(self._folder.encode()).hexdigest()[:32]}",
            folder=self._folder,
            files=self._files,
            fields=tuple(Field(id=name, name=name, type=t) for name, t in columns.items()),
        )
        return self.session.mount_physical(mount)

    @cached_property
    def totals(self) -> Totals:
        """How many rows there are of each kind."""
        counted = ", ".join(
            f"count_if(action = {action})"
            for action in (OPEN, INSERT, MADE, CONFLICT, CHANGED, GIVEN, SEVERAL)
        )
        return Totals(*self.session.query(f"select {counted} from {self.relation}").fetch()[0])

    @cached_property
    def deletions(self) -> Mapping[str, int]:
        """How many rows each block loses, by its path."""
        text = f"select f, count(*) from {self.relation} where action = {DELETE} group by f"
        return dict(self.session.query(text).fetch())
