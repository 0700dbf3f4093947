"""Statements that commit one by one, outside of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.landing import Landed
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.overlay import Overlay

_T = TypeVar("_T")


def landed(workspace: Workspace, work: Callable[[Overlay], _T], message: str) -> _T:
    """Do what `landed_commit` does, and return the work's result alone."""
    return landed_commit(workspace, work, message)[0]


def landed_commit(
    workspace: Workspace, work: Callable[[Overlay], _T], message: str
) -> tuple[_T, Landed | None]:
    """Do work on an overlay of the line's head, and commit its changes.

    If another writer changed the same relation meanwhile, the work is repeated on the new
    head.

    Returns:
        The work's result, and the landing; None if nothing changed.

    Raises:
        RetryError: Other writers won every time; nothing was changed.
        VcsError: Whatever the work raises.
    """
    branch = workspace.line.branch
    if branch is None:
        result, landing, _ = _tried(workspace, work, message)
        return result, landing
    with workspace.repository.turns.on(branch) as turn:
        for _ in turn.attempts(f"run the statement on the branch {branch!r}"):
            result, landing, is_done = _tried(workspace, work, message)
            if is_done:
                return result, landing
    raise AssertionError("attempts raises when it ends")


def _tried(
    workspace: Workspace, work: Callable[[Overlay], _T], message: str
) -> tuple[_T, Landed | None, bool]:
    """Do work and commit its changes; False if another writer changed the same meanwhile."""
    overlay = workspace.begin()
    result = work(overlay)
    if overlay.is_empty:
        return result, None, True
    try:
        return result, workspace.line.land(overlay, excerpt(message, 200)), True
    except ConflictError:
        return result, None, False
