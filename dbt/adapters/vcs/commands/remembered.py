"""Remembered results: what the repository holds of them, and what they saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import (
    FunctionId,
    Micros,
    SnapshotId,
    ViewId,
    datetime_of,
    node_name,
)
from dbt.adapters.vcs.core.model import Commit, NodeRun
from dbt.adapters.vcs.core.model.tree import reused_nodes
from dbt.adapters.vcs.core.origins.results import Result, ResultKind, Results, StoredResult
from dbt.adapters.vcs.core.plan.collect import files_of_versions, missing_file
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import each
from dbt.adapters.vcs.reuse.answer_rows import count_rows
from dbt.adapters.vcs.workspace.run_branch import PENDING, commits_of, runs

_SHORTEST: Final = 4
"""Digits of the shortest start of a key that is taken for it."""


class Known(NamedTuple):
    """A result that can be read, and how it is stored."""

    stored: StoredResult
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedResult:
    """A result that a repository remembers.

    Attributes:
        key: Its key, 64 hexadecimal digits.
        kind: `table`, `view` or `function`: a version of one; `columns`, of a relation; `answer`,
            the rows of a query.
        node: dbt's unique id of the node that computed it; None if no node did.
        relation: `schema.identifier` of what it made or changed; empty for columns and answers.
        rows: Rows of the version or the answer; None for what has no rows, or is no longer held.
        is_held: False if its version was collected: such a result is computed again.
        seconds: How long it took to compute.
        made_at: When it was computed.
        branch: The branch that it was computed for; empty if none is known.
        invocation: dbt's invocation id, or None.
    """

    key: str
    kind: ResultKind
    node: str | None
    relation: str
    rows: int | None
    is_held: bool
    seconds: float
    made_at: datetime
    branch: str
    invocation: str | None
    bytes: int
    statement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropReport:
    """What was forgotten.

    Attributes:
        nodes: The nodes whose results they were, by name.
        bytes: Their size.
    """

    results: int
    nodes: tuple[str, ...]
    bytes: int


def list_remembered(repository: Repository, node: str | None = None) -> list[RememberedResult]:
    """Return the results of a repository, or those of a node, newest first.

    Args:
        node: A node's unique id or name, or `schema.identifier` of what it makes.

    Raises:
        NotFoundError: Nothing is remembered of the node.
    """
    found = list(known_results(repository))
    if node is not None:
        found = _of_node(found, node)
    found.sort(key=lambda item: item.result.made_at, reverse=True)
    return each(lambda item: _summary(repository, item), found)


def drop_remembered(
    repository: Repository, *, node: str | None = None, key: str | None = None
) -> DropReport:
    """Forget the results of a node, the one with a key, or all; no table loses anything.

    Args:
        node: A node's unique id or name, or `schema.identifier` of what it makes.
        key: A key, or its first digits.

    Raises:
        NotFoundError: There is no such result.
        InputError: Several keys begin with the digits.
    """
    results = Results(repository.blobs)
    if node is None and key is None:
        # Those that can't be read as well.
        stored = list(results.all())
        nodes = {known.result.node for known in known_results(repository)}
        results.drop_all()
    else:
        known = list(known_results(repository))
        found = _of_node(known, node) if node is not None else [_of_key(known, key or "")]
        stored = [item.stored for item in found]
        nodes = {item.result.node for item in found}
        each(lambda item: results.drop(item.key), stored)
    return DropReport(
        results=len(stored),
        nodes=tuple(sorted(filter(None, nodes))),
        bytes=sum(item.bytes for item in stored),
    )


def known_results(repository: Repository) -> Iterator[Known]:
    """Yield the results that can be read; nothing for a repository that remembers none."""
    results = Results(repository.blobs)
    stored = list(results.all())
    found = each(lambda item: results.find(item.key), stored)
    for item, result in zip(stored, found, strict=True):
        if result is not None:
            yield Known(item, result)


def is_node(id: str, asked: str) -> bool:
    """Return whether a person means a node by a name: its unique id, or its name alone."""
    return asked in (id, node_name(id))


def _of_node(known: Iterable[Known], asked: str) -> list[Known]:
    items = [item for item in known if _is_of(item.result, asked)]
    if not items:
        raise NotFoundError(
            f"Nothing is remembered of {asked!r}. Expected a node's name or unique id, or "
            "schema.table of what it makes. To see what is remembered: dbt-vcs reuse list"
        )
    return items


def _is_of(result: Result, asked: str) -> bool:
    return asked.lower() == result.target or (
        result.node is not None and is_node(result.node, asked)
    )


def _of_key(known: Iterable[Known], digits: str) -> Known:
    digits = digits.lower()
    items = [item for item in known if item.stored.key.startswith(digits)]
    if len(digits) < _SHORTEST or not items:
        raise NotFoundError(
            f"No result has the key {digits!r}. Expected a key or its first {_SHORTEST} digits or "
            "more, as dbt-vcs reuse list shows it."
        )
    if len(items) > 1:
        raise InputError(f"{len(items)} keys begin with {digits!r}. Give more of its digits.")
    return items[0]


def _summary(repository: Repository, known: Known) -> RememberedResult:
    result = known.result
    rows, is_held = _rows(repository, result)
    return RememberedResult(
        key=known.stored.key,
        kind=result.kind,
        node=result.node,
        relation=result.target,
        rows=rows,
        is_held=is_held,
        seconds=result.seconds,
        made_at=datetime_of(result.made_at),
        branch=result.branch,
        invocation=result.invocation,
        bytes=known.stored.bytes,
        statement=result.statement,
    )


def _rows(repository: Repository, result: Result) -> tuple[int | None, bool]:
    """Return the number of rows, and whether the version is still held."""
    if result.rows is not None:
        # An answer has its rows in itself.
        return count_rows(result.rows), True
    # Columns, and a statement that changed nothing, have no version that could be collected.
    if not result.version:
        return None, True
    objects = repository.objects
    try:
        if result.kind == "table":
            id = SnapshotId(result.version)
            # Manifests are kept for longer than rows.
            if missing_file(repository.blobs, files_of_versions(objects, [id])) is None:
                return objects.snapshot(id).rows, True
            return None, False
        if result.kind == "view":
            objects.view(ViewId(result.version))
        else:
            objects.function(FunctionId(result.version))
    except DamagedError:
        return None, False
    return None, True


_DAY: Final = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseFigures:
    """What a repository remembers, and what it saved.

    Attributes:
        kinds: How many of each kind, by `table`, `view`, `function`, `columns` and `answer`.
        nodes: Number of nodes that have results.
        bytes: The size of all results.
        seconds: How long it took to compute them.
        oldest: When the oldest was computed; None without any.
        days: The days that the following cover.
        runs: Runs on record: those that changed something or ran a test.
        ended: Nodes that ended in them, each once a run.
        reused: Nodes of which nothing was computed.
        saved: Seconds that their results took when they were computed.
    """

    results: int
    kinds: Mapping[str, int]
    nodes: int
    bytes: int
    seconds: float
    oldest: datetime | None
    days: float
    runs: int
    ended: int
    reused: int
    saved: float


def reuse_figures(repository: Repository, branch: str, *, days: float) -> ReuseFigures:
    """Return the figures of a repository, and of the runs of the last days.

    Args:
        branch: The branch whose history has the runs, besides the branches of runs.
        days: How far back runs are counted.

    Raises:
        NotFoundError: There is no such branch.
        InputError: The number of days is negative, or no finite number.
    """
    if not 0 <= days < inf:
        raise InputError(f"Expected 0 or more days, found {days:g}.")
    known = [item.result for item in known_results(repository)]
    # Those that can't be read count as well, since they take up space.
    stored = list(Results(repository.blobs).all())
    since = Micros(repository.clock() - round(days * _DAY))
    ended = list(recorded_nodes(repository, branch, since=since))
    reused, total, saved = reused_nodes(item.node for item in ended)
    oldest = min((result.made_at for result in known), default=None)
    return ReuseFigures(
        results=len(stored),
        kinds=dict(sorted(Counter(result.kind for result in known).items())),
        nodes=len({result.node for result in known if result.node is not None}),
        bytes=sum(item.bytes for item in stored),
        seconds=round(sum(result.seconds for result in known), 3),
        oldest=None if oldest is None else datetime_of(oldest),
        days=days,
        runs=len({item.invocation for item in ended}),
        ended=total,
        reused=reused,
        saved=saved,
    )


_EVER: Final = Micros(0)


class RecordedNode(NamedTuple):
    """How one node ended in one run.

    Attributes:
        invocation: dbt's invocation id.
        command: dbt's sub-command.
        branch: The branch that the run was for.
        at: When it was committed.
    """

    node: NodeRun
    invocation: str
    command: str
    branch: str
    at: Micros


def recorded_nodes(
    repository: Repository, branch: str, *, since: Micros = _EVER
) -> Iterator[RecordedNode]:
    """Yield the nodes in the history of a branch and in the branches of runs, each once a run.

    A run leaves a record if it changed something or ran a test. Those of runs on other branches
    come first, otherwise the newest does.

    Args:
        since: What is older is left out.

    Raises:
        NotFoundError: There is no such branch.
    """
    seen: set[tuple[str, str]] = set()
    for commit, target in _commits(repository, branch, since):
        if (run := commit.run) is None:
            continue
        for node in run.nodes:
            if node.status == PENDING:
                continue
            # Decision 6: steps name their node, and the commit that publishes them names all
            # nodes again.
            if (run.invocation, node.id) not in seen:
                seen.add((run.invocation, node.id))
                yield RecordedNode(node, run.invocation, run.command, target, commit.committed_at)


def _commits(repository: Repository, branch: str, since: Micros) -> Iterator[tuple[Commit, str]]:
    """Yield the commits that may record a run, each with the branch that the run was for."""
    # A run that isn't published is on its own branch only.
    for run in runs(repository):
        for commit in commits_of(repository, run):
            if commit.committed_at >= since:
                yield commit, run.target
    for _, commit in repository.log(repository.resolve(branch)):
        if commit.committed_at < since:
            return
        yield commit, branch
