"""A step: the changes of one node until it ends, and the results that it took."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from dbt.adapters.vcs.core.model import Input
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.workspace.line_workspace import Workspace
from dbt.adapters.vcs.worktree.overlay import Overlay


class NodeStep:
    """The changes of one node so far; the lock serializes the node's parallel batches.

    Attributes:
        lock: Held while a statement of the node runs.
        reuse: The results that its statements may take.
        said: The statements that it sent.
        did_more: True if it also did what is no statement.
    """

    def __init__(self, reuse: Reuse) -> None:
        self.lock = threading.RLock()
        self.reuse = reuse
        self.said: list[str] = []
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
