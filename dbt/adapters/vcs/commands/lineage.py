"""`dbt-vcs lineage`: what a version was built from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import click

from dbt.adapters.vcs.commands.layout import Block, Span, age, counted, entry, line, short
from dbt.adapters.vcs.commands.revisions import parse_relation
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, datetime_of, short_sha
from dbt.adapters.vcs.core.model import Input, RelationName
from dbt.adapters.vcs.core.origins.lineage import Lineage, Made
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.points import find_version


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageNode:
    """One version of a relation in a lineage.

    Attributes:
        relation: `schema.identifier`, or the location of files.
        kind: `table`, `view` or `external`.
        version: Id of the version; None for files that are not versioned.
        commit: The first commit in the history that contains it; None if there is none, as for a
            step of a run that a later step replaced.
        committed_at: Time of that commit.
        operation: The operation that created it: `create`, `append`, `rebuild`, `clone`, ...
        rows: Its row count; None if it is not a table.
        node: dbt's unique id of the node that built it, or None.
        invocation: dbt's invocation id of the run that built it, or None.
        sql_sha256: SHA-256 of the compiled SQL, or None.
        git_sha: Commit of the project's git repository at that run, or None.
        next: What it was built from; going forward, what was built from it.
    """

    relation: str
    kind: str
    version: str | None
    commit: CommitId | None = None
    committed_at: datetime | None = None
    operation: str | None = None
    rows: int | None = None
    node: str | None = None
    invocation: str | None = None
    sql_sha256: str | None = None
    git_sha: str | None = None
    next: tuple[LineageNode, ...] = ()


def read_lineage(
    repository: Repository,
    target: str,
    *,
    branch: str,
    forward: bool = False,
    depth: int | None = None,
) -> LineageNode:
    """Return the lineage of a version, `schema.table` or `schema.table@revision`.

    Backward, it follows what each version read; forward, the versions of the branch that read it.
    Views are followed both ways. `depth` is the number of levels, None for all.

    Raises:
        NotFoundError: There is no such table or revision.
        InputError: The target's name is invalid, or the depth is negative.
    """
    if depth is not None and depth < 0:
        raise InputError(f"The depth of a lineage is {depth}; expected 0 or more.")
    relation, _, revision = target.partition("@")
    name = parse_relation(relation)
    found = find_version(repository, name, revision or branch)
    history = repository.branch(branch).head if forward else found.commit
    # A version that is named by its id was found through no commit.
    lineage = Lineage(repository, history or repository.branch(branch).head)
    if forward:
        return _forward(lineage, name, found.snapshot, depth)
    return _backward(lineage.made(name, found.snapshot, depth))


def _backward(made: Made) -> LineageNode:
    inputs = tuple(
        _backward(item) if isinstance(item, Made) else _leaf(item) for item in made.inputs
    )
    return _node(made, inputs)


def _forward(
    lineage: Lineage, relation: RelationName, id: SnapshotId, depth: int | None
) -> LineageNode:
    below = None if depth is None else depth - 1
    readers = [] if depth == 0 else lineage.readers(id)
    return _node(
        # Without what it read: forward, only what read it is of interest.
        lineage.made(relation, id, 0),
        tuple(_forward(lineage, item.relation, item.snapshot, below) for item in readers),
    )


def _node(made: Made, next: tuple[LineageNode, ...]) -> LineageNode:
    origin = made.snapshot.origin
    run = made.run.run if made.run else None
    return LineageNode(
        relation=str(made.relation),
        kind="table",
        version=made.id,
        commit=made.commit,
        committed_at=datetime_of(made.run.committed_at) if made.run else None,
        operation=made.snapshot.operation,
        rows=made.snapshot.rows,
        node=origin.node,
        invocation=origin.invocation,
        sql_sha256=origin.sql_sha256,
        git_sha=run.git_sha if run else None,
        next=next,
    )


def _leaf(item: Input) -> LineageNode:
    # A table beyond the depth that was asked for: only its id is known here.
    if item.snapshot is not None:
        return LineageNode(relation=item.relation, kind="table", version=item.snapshot)
    if item.view is not None:
        return LineageNode(relation=item.relation, kind="view", version=item.view)
    if item.function is not None:
        return LineageNode(relation=item.relation, kind="function", version=item.function)
    return LineageNode(relation=item.relation, kind="external", version=None)


def _lineage_text(node: LineageNode, now: datetime, *, forward: bool) -> Iterator[Block]:
    yield from _node_text(node, now, "")
    if not node.next:
        what = "No version on this branch was built from it." if forward else "It read nothing."
        yield line(f"  {what}")


def _node_text(node: LineageNode, now: datetime, indent: str) -> Iterator[Block]:
    facts = (
        node.node,
        f"sql {node.sql_sha256[:12]}" if node.sql_sha256 else "",
        f"git {short_sha(node.git_sha)}" if node.git_sha else "",
        f"run {node.invocation}" if node.invocation else "",
    )
    when = f"  {age(node.committed_at, now)}" if node.committed_at else ""
    version = f" {node.version[:12]}" if node.version else ""
    rows = f", {counted(node.rows, 'row')}" if node.rows is not None else ""
    kind = f" ({node.operation or node.kind}{rows})"
    commit = (" in ", short(node.commit)) if node.commit else ()
    yield entry(
        indent,
        Span(node.relation, "name"),
        Span(version, "commit"),
        kind,
        *commit,
        Span(when, "faint"),
    )
    if any(facts):
        yield entry(f"{indent}  {', '.join(filter(None, facts))}")
    for below in node.next:
        yield from _node_text(below, now, f"{indent}    ")


def _check_lineage(*, relation: str, forward: bool, branch: str | None, **_: object) -> None:
    if branch and not forward and "@" in relation:
        raise click.UsageError(
            f"--branch can't be used with {relation}, which says the version. Leave out --branch, "
            "or the part from the @ on."
        )


@verb(check=_check_lineage)
def lineage_command(
    session: CommandSession,
    relation: Annotated[str, Option(metavar="RELATION[@REVISION]")],
    *,
    forward: Annotated[bool, Option("Show what was built from it, on the branch.", "-f")] = False,
    depth: Annotated[
        int | None, Option("Number of levels.", type=click.IntRange(min=0), metavar="N")
    ] = None,
    branch: Annotated[str | None, Option("The branch.", "-b", metavar="NAME")] = None,
) -> None:
    """Show what a version was built from.

    For each version: commit, run, node, SQL, git, inputs. RELATION is schema.table; REVISION is
    any revision or a named snapshot of the table. The branch defaults to the one in the dbt
    profile, else the default branch.
    """
    found = read_lineage(
        session.repository, relation, branch=branch or session.shown, forward=forward, depth=depth
    )
    session.show(found, _lineage_text(found, session.now, forward=forward))
