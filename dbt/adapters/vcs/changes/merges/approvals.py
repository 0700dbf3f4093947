"""Approvals: somebody looked at what a branch shows, and agreed.

An approval is a move in the branch's log that leaves it at its commit, so it is bound to that
commit, shows in the reflog, and is over with the branch's next commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import Final

from dbt.adapters.vcs.core.errors import ConflictError, RetryError
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.repository import Repository

_APPROVE: Final = "approve"
_WITHDRAW: Final = "withdraw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One person's approval of a commit."""

    author: str
    at: datetime
    note: str = ""


def approvals_of(repository: Repository, name: str, commit: CommitId) -> tuple[Approval, ...]:
    """Return the approvals of a commit as a branch's head, one a person, the newest first.

    There are none if there is no such branch, or it has moved on.
    """
    found: dict[str, Approval] = {}
    withdrawn: set[str] = set()
    if repository.find_branch(name) is None:
        return ()
    for ref in repository.refs.moves("heads", name):
        move = ref.move
        if move.commit != commit:
            break
        # The newest word of a person counts.
        if move.action == _WITHDRAW and move.by not in found:
            withdrawn.add(move.by)
        elif move.action == _APPROVE and move.by not in withdrawn:
            at = datetime_of(move.at)
            found.setdefault(move.by, Approval(author=move.by, at=at, note=move.note))
    return tuple(found.values())


def approve(
    repository: Repository,
    name: str,
    *,
    author: str,
    at: CommitId | None = None,
    note: str = "",
    withdraw: bool = False,
) -> CommitId:
    """Approve what a branch shows, or withdraw one's approval; return the commit.

    Args:
        at: The commit that was looked at; None for the present head.

    Raises:
        NotFoundError: There is no such branch.
        ConflictError: It does not show that commit, or there is no approval to withdraw.
        RetryError: It moved meanwhile.
    """
    branch = repository.branch(name)
    if at is not None and at != branch.head:
        raise ConflictError(
            f"{name!r} is at {branch.head[:12]} by now, not at {at[:12]}. Look at it again: "
            f"dbt-vcs review {quote(repository.default_branch)}...{quote(name)}"
        )
    mine = [item for item in approvals_of(repository, name, branch.head) if item.author == author]
    if withdraw and not mine:
        raise ConflictError(
            f"{author} has not approved {name!r} at {branch.head[:12]}, so there is nothing to "
            "withdraw."
        )
    moved = repository.move_branch(
        branch,
        branch.head,
        author=author,
        action=_WITHDRAW if withdraw else _APPROVE,
        note=note,
        # Nothing that a protected branch shows is changed by it.
        promotes=True,
    )
    if moved is None:
        raise RetryError(
            f"{name!r} moved while it was approved. Look at it again: "
            f"dbt-vcs review {quote(repository.default_branch)}...{quote(name)}"
        )
    return branch.head


def check_approved(repository: Repository, source: str, commit: CommitId, target: str) -> None:
    """Check that somebody approved what is to be published.

    Raises:
        ConflictError: Nobody did; the message says how to.
    """
    if approvals_of(repository, source, commit):
        return
    if repository.find_branch(source) is None:
        raise ConflictError(
            f"{target!r} requires an approval, and only branches are approved: {source!r} is "
            "none. Nothing was changed. Promote the branch by its name."
        )
    raise ConflictError(
        f"{target!r} requires an approval, and nobody has approved {source!r} at {commit[:12]}. "
        f"Nothing was changed. Look at it: dbt-vcs review {quote(target)}...{quote(source)}. Then "
        f"approve it: dbt-vcs approve {quote(source)} --at {commit[:12]}"
    )
