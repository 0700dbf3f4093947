"""Carrying out: recorded statements on a connection of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Input, Origin
from dbt.adapters.vcs.project.building.node_step import Sent
from dbt.adapters.vcs.project.healing.replay_plan import Columns
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.sql.parser import read
from dbt.adapters.vcs.sql.table import CreateTemporaryView
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.overlay import Overlay


class Carried(NamedTuple):
    """What statements gave.

    Attributes:
        inputs: What they read.
        rows: The rows of the last one; none if it has no result.
    """

    inputs: tuple[Input, ...]
    rows: tuple[tuple[Any, ...], ...]


class Carry(Protocol):
    """Carries out statements on an overlay; raises a `VcsError` if one fails."""

    def __call__(
        self,
        overlay: Overlay,
        origin: Origin,
        statements: Sequence[Sent],
        label: str,
        columns: Columns | None,
    ) -> Carried:
        """Carry them out, one after the other; `label` says whose they are.

        With `columns`, they make a temporary view with just these.
        """


class WorkspaceCarry:
    """Carries statements out in a run's workspace, and takes results that are known."""

    def __init__(self, workspace: Workspace, reuse: Callable[[str], Reuse]) -> None:
        """`reuse` returns what the node of an id may take."""
        self._workspace = workspace
        self._reuse = reuse
        self._reuses: list[Reuse] = []

    def __call__(
        self,
        overlay: Overlay,
        origin: Origin,
        statements: Sequence[Sent],
        label: str,
        columns: Columns | None,
    ) -> Carried:
        """Carry statements out; see `Carry`."""
        reuse = self._reuse(label)
        self._reuses.append(reuse)
        connection = self._workspace.connect(f"{label} again")
        inputs: dict[tuple[str, str], Input] = {}
        rows: tuple[tuple[Any, ...], ...] = ()
        fits = columns is None
        try:
            for text, schema, work in statements:
                if work is not None:
                    outcome = work(connection, overlay, origin)
                else:
                    if schema and schema != connection.schema:
                        connection.execute(f"use {quoted(schema)}", overlay, origin=origin)
                    outcome = connection.execute(text, overlay, origin=origin, reuse=reuse)
                inputs.update(((item.relation, item.version), item) for item in outcome.inputs)
                rows = () if outcome.rows is None else tuple(outcome.rows.fetch())
                if columns is not None and (view := _temporary_view(text)) is not None:
                    shown = connection.execute(
                        f"select * from {view} limit 0", overlay, origin=origin
                    )
                    assert shown.rows is not None
                    found = shown.rows.columns
                    _check_columns({(item.name.lower(), item.type) for item in found}, columns)
                    fits = True
        finally:
            connection.close()
        if not fits:
            raise InputError("what it reads has other columns now, and it makes no new rows first")
        return Carried(tuple(inputs[key] for key in sorted(inputs)), rows)

    def remember(self) -> None:
        """Remember what was computed, now that it has landed.

        Raises:
            StorageError: The store failed; it is computed again where it is needed.
        """
        while self._reuses:
            self._reuses.pop().remember()


def _temporary_view(text: str) -> str | None:
    """Return the name of the temporary view that a statement makes, quoted; None for others."""
    statement, _ = read(text)
    if not isinstance(statement, CreateTemporaryView):
        return None
    return quoted(statement.target.name.identifier)


def _check_columns(found: set[tuple[str, str]], wanted: Columns) -> None:
    """Check that new rows have the columns that dbt saw, whose names are in its statements."""
    other = sorted({name for name, _ in found.symmetric_difference(wanted)})
    if other:
        raise InputError(
            f"its new rows have other columns than its table by now: {', '.join(other)}"
        )
