"""Lines: where a workspace reads from, and where its changes land."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dbt.adapters.vcs.core.errors import ReadOnlyError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.landing import Proposal
from dbt.adapters.vcs.core.model import Run
from dbt.adapters.vcs.core.repository import Landed, Repository
from dbt.adapters.vcs.workspace.rebase import rebased
from dbt.adapters.vcs.worktree.overlay import Overlay


class Line(Protocol):
    """A place in the history that moves as changes land on it."""

    @property
    def branch(self) -> str | None:
        """The branch that readers of a time mean; None for the history of the head."""

    @property
    def author(self) -> str:
        """Who changes things; empty where nothing lands."""

    def head(self) -> CommitId:
        """Return the commit to read now."""

    def check_open(self) -> None:
        """Raise if nothing can land, before rows are computed."""

    def land(self, overlay: Overlay, message: str, run: Run | None = None) -> Landed:
        """Commit an overlay's changes."""


class BranchLine:
    """A branch, read as it is at every statement, and committed to."""

    def __init__(self, repository: Repository, branch: str, author: str) -> None:
        """Take a branch that is there."""
        self._repository = repository
        self._branch = branch
        self._author = author

    @property
    def branch(self) -> str:
        """The branch."""
        return self._branch

    @property
    def author(self) -> str:
        """Who commits."""
        return self._author

    def head(self) -> CommitId:
        """Return the branch's head."""
        return self._repository.branch(self._branch).head

    def check_open(self) -> None:
        """Refuse before work is done that can't land.

        Raises:
            ProtectedError: The branch takes promotions alone.
        """
        self._repository.branch(self._branch).check_open(promotes=False)

    def land(self, overlay: Overlay, message: str, run: Run | None = None) -> Landed:
        """Commit on the branch.

        Inserts into a table that others inserted into meanwhile follow theirs.

        Raises:
            ConflictError: A relation was changed on both sides in another way.
        """
        moved = rebased(overlay, self.head())
        return self._repository.land(
            Proposal(
                branch=self._branch,
                base=moved.base,
                tree=self._repository.edit(moved.tree.id, moved.changes),
                author=self._author,
                message=message,
                run=run,
            )
        )


class PinnedLine:
    """One commit; nothing lands on it."""

    def __init__(
        self, commit: Callable[[], CommitId], why: str, *, branch: str | None = None
    ) -> None:
        """Take a function that finds the commit, why nothing lands (a clause), and the branch."""
        self._commit = commit
        self._why = why
        self._branch = branch

    @property
    def branch(self) -> str | None:
        """The branch that the commit was read from, or None."""
        return self._branch

    @property
    def author(self) -> str:
        """Nobody."""
        return ""

    def head(self) -> CommitId:
        """Return the commit."""
        return self._commit()

    def check_open(self) -> None:
        """Refuse before work is done that can't land.

        Raises:
            ReadOnlyError: Always.
        """
        raise self._refusal()

    def land(self, overlay: Overlay, message: str, run: Run | None = None) -> Landed:
        """Refuse.

        Raises:
            ReadOnlyError: Always.
        """
        raise self._refusal()

    def _refusal(self) -> ReadOnlyError:
        return ReadOnlyError(f"Nothing can be changed here: {self._why}.")
