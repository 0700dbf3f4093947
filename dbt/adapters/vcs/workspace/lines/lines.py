"""Lines: where a workspace reads and where its changes land."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dbt.adapters.vcs.core.errors import ReadOnlyError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.landing import Landed, Proposal
from dbt.adapters.vcs.core.model import Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import check_present
from dbt.adapters.vcs.workspace.lines.rebase import rebased
from dbt.adapters.vcs.workspace.overlay import Overlay


class Line(Protocol):
    """A position in the history that moves as changes land on it."""

    @property
    def branch(self) -> str | None:
        """The branch whose log resolves times; None for the history of the head."""

    @property
    def author(self) -> str:
        """The author of changes; empty if nothing can land."""

    def head(self) -> CommitId:
        """Return the commit to read now."""

    def check_open(self) -> None:
        """Raise if nothing can land, before rows are computed."""

    def land(self, overlay: Overlay, message: str, run: Run | None = None) -> Landed:
        """Commit an overlay's changes."""


class BranchLine:
    """A branch: each statement reads its current head, and changes are committed to it."""

    def __init__(self, repository: Repository, branch: str, author: str) -> None:
        """Take an existing branch."""
        self._repository = repository
        self._branch = branch
        self._author = author

    @property
    def branch(self) -> str:
        """The branch."""
        return self._branch

    @property
    def author(self) -> str:
        """The author of commits."""
        return self._author

    def head(self) -> CommitId:
        """Return the branch's head."""
        return self._repository.branch(self._branch).head

    def check_open(self) -> None:
        """Refuse before doing work that can't land.

        Raises:
            ProtectedError: The branch accepts only promotions.
        """
        self._repository.branch(self._branch).check_open(promotes=False)

    def land(self, overlay: Overlay, message: str, run: Run | None = None) -> Landed:
        """Commit to the branch.

        Rows inserted into a table follow those that others inserted meanwhile.

        Raises:
            ConflictError: Both sides changed a relation other than by inserts.
            NotFoundError: A file of the overlay's tables is missing.
            ReplacedError: A purge deleted what it was made from; nothing was changed.
        """
        with self._repository.maintenance.told(overlay.base):
            moved = rebased(overlay, self.head())
            tree = self._repository.edit(moved.tree.id, moved.changes)
            check_present(self._repository, moved.tree.id, tree)
        return self._repository.land(
            Proposal(
                branch=self._branch,
                base=moved.base,
                tree=tree,
                author=self._author,
                message=message,
                run=run,
                read=overlay.read_versions,
            )
        )


class PinnedLine:
    """A fixed commit; nothing lands on it."""

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
        """Refuse before doing work that can't land.

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
