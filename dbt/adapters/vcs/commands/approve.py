"""`dbt-vcs approve`: agree to what a branch shows, for a target that requires it."""

from __future__ import annotations

from typing import Annotated

from dbt.adapters.vcs.changes.merges.approvals import approvals_of, approve
from dbt.adapters.vcs.commands.layout import Span, counted, line, short
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Note, Option, verb


@verb()
def approve_command(
    session: CommandSession,
    branch: str,
    *,
    at: Annotated[
        str | None,
        Option("The commit that was reviewed; refused if the branch has moved on.", metavar="ID"),
    ] = None,
    note: Note = "",
    withdraw: Annotated[bool, "Withdraw your approval."] = False,
) -> None:
    """Approve what BRANCH shows, so that it can be promoted.

    An approval is bound to the branch's commit: the next commit needs another one. It counts for
    branches that are protected with `require: [approval]`.
    """
    repository = session.repository
    commit = approve(
        repository,
        branch,
        author=session.author,
        at=None if at is None else repository.resolve(at),
        note=note,
        withdraw=withdraw,
    )
    found = approvals_of(repository, branch, commit)
    did = "Withdrew the approval of " if withdraw else "Approved "
    left = counted(len(found), "approval")
    session.show(
        found, [line(did, Span(branch, "name"), " at ", short(commit), f", which has {left}.")]
    )
