"""The log of a run: what each node read, wrote and sent, so that it can be carried out again."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Entry, Input, NodeRun, Origin, RelationName
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.project.advice import FAILED
from dbt.adapters.vcs.project.building.node_step import NodeStep, Sent
from dbt.adapters.vcs.sql.parser import read
from dbt.adapters.vcs.sql.syntax.canonical import asks_for_columns
from dbt.adapters.vcs.sql.syntax.diff_call import DIFF_FUNCTION
from dbt.adapters.vcs.sql.syntax.query import Query
from dbt.adapters.vcs.workspace.mounts import relation_of
from dbt.adapters.vcs.workspace.overlay import Overlay


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
