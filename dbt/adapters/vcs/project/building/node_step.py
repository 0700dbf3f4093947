"""A step: the changes of one node until it ends, and the results that it took."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from dbt.adapters.vcs.core.model import Input, Origin
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.scope.answer import Outcome
from dbt.adapters.vcs.workspace.line_workspace import Connection, Workspace
from dbt.adapters.vcs.worktree.overlay import Overlay

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
