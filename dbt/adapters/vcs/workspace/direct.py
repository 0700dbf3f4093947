"""Statements that commit one by one, outside of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from dbt.adapters.vcs.core.errors import ConflictError, RetryError
from dbt.adapters.vcs.statements.syntax.excerpts import excerpt
from dbt.adapters.vcs.workspace.line_workspace import Workspace
from dbt.adapters.vcs.worktree.overlay import Overlay

_ATTEMPTS: Final = 5
_T = TypeVar("_T")


def landed(workspace: Workspace, work: Callable[[Overlay], _T], message: str) -> _T:
    """Do work on an overlay of the line's head, and commit its changes.

    If another writer changed the same relation meanwhile, the work is repeated on the new
    head.

    Raises:
        RetryError: Other writers won every time; nothing was changed.
        VcsError: Whatever the work raises.
    """
    for _ in range(_ATTEMPTS):
        overlay = workspace.begin()
        result = work(overlay)
        if overlay.is_empty:
            return result
        try:
            workspace.line.land(overlay, excerpt(message, 200))
        except ConflictError as error:
            last = error
        else:
            return result
    raise RetryError(
        f"Other writers changed the same relation {_ATTEMPTS} times while this statement ran: "
        f"{last} Nothing was changed; run it again."
    )
