"""`dbt-vcs clone`: create a table from a version of another table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from dbt.adapters.vcs.commands.layout import Block, Span, counted, line, short
from dbt.adapters.vcs.commands.restore import head_of
from dbt.adapters.vcs.commands.revisions import parse_relation
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Input, Origin
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.sql.table import put_clone
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import find_version


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneReport:
    """What a clone did.

    Attributes:
        target: The new table.
        at: The requested version; None for the branch's current one.
        snapshot: Id of the version that was cloned.
        before: The branch's head before.
        after: Its head now.
    """

    branch: str
    source: str
    target: str
    at: str | None
    snapshot: SnapshotId
    rows: int
    before: CommitId
    after: CommitId


def clone_from_snapshot(
    repository: Repository,
    source: str,
    target: str,
    at: str | None = None,
    *,
    branch: str,
    author: str,
    replace: bool = False,
) -> CloneReport:
    """Create a table from a version of another table (MatrixOne paper, section 4.2).

    The two share their history. The schema of the new table is created if it doesn't exist.

    Raises:
        NotFoundError: There is no such source or version, or its rows have been collected.
        InputError: The target exists and `replace` is not set, or it is a view.
        ConflictError: Somebody else created the target in the meantime.
    """
    head = head_of(repository, branch)
    old, new = parse_relation(source), parse_relation(target)
    overlay = Overlay(repository=repository, base=head, tree=repository.tree(head))
    if overlay.entry(new) is not None:
        if not replace:
            raise InputError(
                f"{new} already exists on {branch!r}. Drop it first, use another name, or "
                "use --replace."
            )
        # Raises for a view: only a table is replaced by a table.
        overlay.require_table(new)
    version, commit = find_version(repository, old, branch if at is None else at)
    # Before the commit names it: a collection that is under way spares what is held.
    hold(repository, commit, [version], author=author, known=head)
    if not overlay.has_schema(new.schema):
        overlay.put_schema(new.schema, comment=None, properties={})
    origin = Origin(inputs=(Input(relation=str(old), snapshot=version),))
    put_clone(overlay, new, version, origin=origin)
    landed = repository.land(
        Proposal(
            branch=branch,
            base=head,
            tree=repository.edit(overlay.tree.id, overlay.changes),
            author=author,
            message=f"Clone {old} at {at or branch} to {new}",
            action="clone",
        )
    )
    return CloneReport(
        branch=branch,
        source=str(old),
        target=str(new),
        at=at,
        snapshot=version,
        rows=repository.objects.snapshot(version).rows,
        before=landed.before,
        after=landed.commit,
    )


def _clone_text(report: CloneReport) -> Iterator[Block]:
    at = f" at {report.at}" if report.at else ""
    yield line(
        "Cloned ",
        Span(report.source, "name"),
        f"{at} to ",
        Span(report.target, "name"),
        f" on {report.branch}: {counted(report.rows, 'row')}, nothing copied. ",
        short(report.before),
        " -> ",
        short(report.after),
    )


@verb()
def clone_command(
    session: CommandSession,
    source: str,
    target: str,
    at: str | None = None,
    *,
    branch: Annotated[
        str | None, Option("The branch for the new table.", "-b", metavar="NAME")
    ] = None,
    replace: Annotated[bool, "Replace an existing table."] = False,
) -> None:
    """Create a table from a version of another table.

    TARGET gets the content of SOURCE at AT; no rows are copied. AT is a named snapshot of SOURCE
    or any revision; the default is the branch itself. The branch defaults to the one in the dbt
    profile, else the default branch.
    """
    report = clone_from_snapshot(
        session.repository,
        source,
        target,
        at,
        branch=session.bound(branch or session.branch),
        author=session.author,
        replace=replace,
    )
    session.show(report, _clone_text(report))
