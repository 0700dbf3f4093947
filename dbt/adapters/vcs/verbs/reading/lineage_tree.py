"""Lineage: what a version of a table was built from, and what was built from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, datetime_of
from dbt.adapters.vcs.core.model import Input, RelationName
from dbt.adapters.vcs.core.origins.lineage import Lineage, Made
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.tableversions import find_version
from dbt.adapters.vcs.verbs.reading.log import parse_relation


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
    if item.snapshot is not None:
        return LineageNode(relation=item.relation, kind="table", version=item.snapshot)
    if item.view is not None:
        return LineageNode(relation=item.relation, kind="view", version=item.view)
    if item.function is not None:
        return LineageNode(relation=item.relation, kind="function", version=item.function)
    return LineageNode(relation=item.relation, kind="external", version=None)
