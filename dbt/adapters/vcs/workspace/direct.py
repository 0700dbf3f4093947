"""Statements that commit one by one, outside of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.statements.syntax.excerpts import excerpt
from dbt.adapters.vcs.workspace.line_workspace import Workspace
from dbt.adapters.vcs.worktree.overlay import Overlay

_T = TypeVar("_T")


def landed(workspace: Workspace, work: Callable[[Overlay], _T], message: str) -> _T:
    """Do work on an overlay of the line's head, and commit its changes.

    If another writer changed the same relation meanwhile, the work is repeated on the new
    head.

    Raises:
        RetryError: Other writers won every time; nothing was changed.
        VcsError: Whatever the work raises.
    """
    branch = workspace.line.branch
    if branch is None:
        return _tried(workspace, work, message)[0]
    with workspace.repository.turns.on(branch) as turn:
        for _ in turn.attempts(f"run the statement on the branch {branch!r}"):
            result, is_done = _tried(workspace, work, message)
            if is_done:
                return result
    raise AssertionError("attempts raises when it ends")


def _tried(workspace: Workspace, work: Callable[[Overlay], _T], message: str) -> tuple[_T, bool]:
    """Do work and commit its changes; False if another writer changed the same meanwhile."""
    overlay = workspace.begin()
    result = work(overlay)
    if not overlay.is_empty:
        try:
            workspace.line.land(overlay, excerpt(message, 200))
        except ConflictError:
            return result, False
    return result, True
