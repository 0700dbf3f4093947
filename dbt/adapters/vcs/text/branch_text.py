"""Text about branches."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from dbt.adapters.vcs.layout.styled import Grid, Span, age, line, short

if TYPE_CHECKING:
    from dbt.adapters.vcs.core.ids import CommitId
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.refs.branch import BranchSummary


def branches_text(branches: Iterable[BranchSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of branches; `*` marks the default one, `!` a protected one."""
    yield Grid(
        heads=("", "BRANCH", "HEAD", "AGE", "AHEAD", "BEHIND", "LAST COMMIT"),
        rows=(
            (
                Span(("*" if branch.is_default else "") + ("!" if branch.is_protected else "")),
                Span(branch.name, "faint" if branch.is_run else "name"),
                short(branch.head),
                Span(age(branch.committed_at, now), "faint"),
                Span("many" if branch.ahead is None else str(branch.ahead)),
                Span("many" if branch.behind is None else str(branch.behind)),
                Span(branch.summary),
            )
            for branch in branches
        ),
        right=frozenset({"AHEAD", "BEHIND"}),
        whole=frozenset({"BRANCH", "HEAD"}),
        first=("", "BRANCH", "HEAD"),
    )


def branch_created_text(branch: BranchSummary) -> Iterator[Block]:
    """Yield the line for a branch that was created."""
    yield line("Created branch ", Span(branch.name, "name"), " at ", short(branch.head), ".")


def branch_protected_text(branch: BranchSummary) -> Iterator[Block]:
    """Yield the line that says which changes a branch accepts now."""
    name = Span(branch.name, "name")
    if not branch.is_protected:
        yield line(name, " accepts any change again.")
        return
    what = f" on which {' and '.join(branch.require)} passed" if branch.require else ""
    yield line(name, f" is protected: it accepts only promotions{what}.")


def branch_deleted_text(name: str, head: CommitId) -> Iterator[Block]:
    """Yield the lines for a deleted branch, with the command that restores it."""
    yield line("Deleted branch ", Span(name, "name"), ", which was at ", short(head), ".")
    yield line(f"To restore it: dbt-vcs branch undelete {shlex.quote(name)}")


def branch_renamed_text(old: str, branch: BranchSummary) -> Iterator[Block]:
    """Yield the line for a renamed branch."""
    new = Span(branch.name, "name")
    yield line("Renamed branch ", Span(old, "name"), " to ", new, ", at ", short(branch.head), ".")
