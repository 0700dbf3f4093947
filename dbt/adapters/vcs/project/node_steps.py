"""Steps: what each node of a run read, changed, sent and took; and the log of all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Entry, Input, NodeRun, Origin, RelationName
from dbt.adapters.vcs.core.model.tree import AbsentType, reused_nodes
from dbt.adapters.vcs.reuse.reuser import Reuse, Tally, told_source
from dbt.adapters.vcs.sql.syntax.canonical import asks_for_columns
from dbt.adapters.vcs.sql.syntax.diff_call import DIFF_FUNCTION
from dbt.adapters.vcs.sql.syntax.parser import read
from dbt.adapters.vcs.sql.syntax.statement import Query
from dbt.adapters.vcs.workspace.increments import record
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection, Workspace
from dbt.adapters.vcs.workspace.mounts import relation_of
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.statement_scope import Outcome

UNDONE: Final = frozenset({"error", "runtime error"})
"""Statuses of nodes whose changes are dropped."""

FAILED: Final = UNDONE | {"fail", "partial success"}
"""Statuses of nodes that make dbt report a failure."""

Work: TypeAlias = Callable[[Connection, Overlay, Origin], Outcome]
"""Work that is not a statement, such as loading a seed."""


class Sent(NamedTuple):
    """A statement, or work that can be done again on another state of the branch.

    Attributes:
        text: Its text; a name, if it is work.
        schema: The schema of unqualified names; empty for the profile's.
        work: The work; None for a statement.
    """

    text: str
    schema: str = ""
    work: Work | None = None


class NodeStep:
    """The changes of one node so far; the lock serializes the node's parallel batches.

    Attributes:
        lock: Held while a statement of the node runs.
        reuse: The results that its statements may take.
        said: The statements that it sent, and other work that can be done again.
        did_more: True if it also did what can't be done again.
    """

    def __init__(self, reuse: Reuse) -> None:
        self.lock = threading.RLock()
        self.reuse = reuse
        self.said: list[Sent] = []
        self.did_more = False
        self._inputs: dict[tuple[str, str], Input] = {}
        self._overlay: Overlay | None = None

    def overlay(self, workspace: Workspace) -> Overlay:
        """Return what the node sees, beginning with its first statement."""
        with self.lock:
            if self._overlay is None:
                self._overlay = workspace.begin()
            return self._overlay

    def note(self, inputs: Iterable[Input]) -> None:
        """Record what it read: a diff reads two versions of one relation."""
        for item in inputs:
            self._inputs[item.relation, item.version] = item

    def read(self) -> tuple[Input, ...]:
        """Return the versions that it read, by relation name."""
        return tuple(self._inputs[key] for key in sorted(self._inputs))

    def take(self) -> Overlay | None:
        """Return its changes, and forget them; None if it sent no statement."""
        overlay, self._overlay = self._overlay, None
        return overlay


def with_savings(node: NodeRun, tally: Tally, invocation: str) -> NodeRun:
    """Return a node of an invocation with where its results came from, or why none did."""
    if not tally.taken or tally.computed or tally.refused:
        why = "; ".join(dict.fromkeys(tally.refused)) or None
        return msgspec.structs.replace(node, refused=why)
    where = told_source(tally.taken[-1].result, invocation)
    return msgspec.structs.replace(node, reused=where, saved=round(tally.seconds_saved, 3))


def savings_line(nodes: Iterable[NodeRun]) -> str | None:
    """Return a line for the end of the run; None if nothing was taken."""
    reused, total, seconds = reused_nodes(nodes)
    if not reused:
        return None
    noun = "node" if total == 1 else "nodes"
    return f"Reused: {reused} of {total} {noun}, {seconds:.1f} s of work saved."


def record_consumed(
    overlay: Overlay, node: Any, relation: str | None, origin: Origin, *, zone: str, is_empty: bool
) -> None:
    """Record in an incremental model's table which changes of its inputs it accounts for.

    Not in its materialization: dbt runs Python models only from one that calls `statement` itself.

    Args:
        overlay: What the node made; it has not landed.
        node: dbt's node, or None.
        relation: `schema.identifier` of what it built, or None.
        origin: Who built it.
        zone: The time zone of times without one.
        is_empty: True if the build was to read no row.
    """
    config = getattr(node, "config", None)
    if relation is None or str(getattr(config, "materialized", "")) != "incremental":
        return
    code = str(getattr(node, "compiled_code", None) or "")
    reads = str(node.language) == "sql" and DIFF_FUNCTION in code.lower()
    text = code if reads else ""
    record(overlay, relation_of(relation), text, origin, lambda: zone, advance=not is_empty)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedStep:
    """A node of the run, or a statement outside of nodes, that has ended and was kept.

    Attributes:
        id: dbt's unique id, or the name of dbt's connection.
        origin: Who ran it.
        reads: What its statements read.
        writes: What the relations that it changed became, and the one that it built and found to
            be as it should be.
        statements: What it sent, in order.
        did_more: True if it also did what can't be done again, such as running a Python model.
    """

    id: str
    origin: Origin
    reads: tuple[Input, ...] = ()
    writes: Mapping[RelationName, Entry | AbsentType] = field(default_factory=dict)
    statements: tuple[Sent, ...] = ()
    did_more: bool = False

    @property
    def is_test(self) -> bool:
        """True for a test of data."""
        return self.id.startswith("test.")

    def why_not_again(self) -> str | None:
        """Return why its statements don't say all of what it did; None if they do."""
        if not self.statements and not self.did_more:
            return "it sent no statement"
        if self.did_more:
            return "it ran Python, and its config does not say reuse: true"
        for sent in self.statements:
            if DIFF_FUNCTION in sent.text.lower():
                return "it reads differences"
            if not self.is_test and sent.work is None and _asks(sent.text):
                return "it ran queries while it was rendered"
        return None


class RunLog:
    """The steps of a run, in the order in which they ended; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: list[LoggedStep] = []

    def add(self, step: LoggedStep) -> None:
        """Add a step, unless nothing depends on it."""
        if step.writes or step.is_test:
            with self._lock:
                self._steps.append(step)

    def add_node(self, node: NodeRun, step: NodeStep, overlay: Overlay, origin: Origin) -> None:
        """Add what a node did that is kept; of tests, those that passed."""
        if node.status in FAILED:
            return
        writes = dict(overlay.relations)
        built = relation_of(node.relation) if node.relation else None
        if built is not None and (found := overlay.entry(built)) is not None:
            writes[built] = found
        self.add(
            LoggedStep(
                id=node.id,
                origin=origin,
                reads=step.read(),
                writes=writes,
                statements=tuple(step.said),
                did_more=step.did_more,
            )
        )

    @property
    def steps(self) -> tuple[LoggedStep, ...]:
        """The steps so far."""
        with self._lock:
            return tuple(self._steps)


def _asks(text: str) -> bool:
    """Return whether a statement gave rows that what followed may depend on."""
    try:
        statement, _ = read(text)
    except InputError:
        return True
    return isinstance(statement, Query) and not asks_for_columns(text)
