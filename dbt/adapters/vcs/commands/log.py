"""`dbt-vcs log`: the commits of a revision, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.commands.layout import Block, Span, age, entry, short
from dbt.adapters.vcs.commands.revisions import names_by_commit, parse_relation
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, rows_limit, verb
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.model import Commit, RelationName
from dbt.adapters.vcs.core.model.tree import reused_nodes
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.run_branch import run_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One commit.

    Attributes:
        id: Its id.
        parents: Its parents; two for a merge.
        names: Branches that point to it, and tags as `tag: <name>`.
        author: Who made it.
        committed_at: When.
        message: The whole message.
        invocation: dbt's invocation id of the run that it publishes, or None.
        nodes: Number of nodes in that run; 0 without one.
        reused: How many of them were taken from what was computed before.
        saved: Seconds that these took when they were computed.
    """

    id: CommitId
    parents: tuple[CommitId, ...]
    names: tuple[str, ...]
    author: str
    committed_at: datetime
    message: str
    invocation: str | None
    nodes: int
    reused: int
    saved: float

    @property
    def summary(self) -> str:
        """First line of the message."""
        return self.message.partition("\n")[0]


def read_log(
    repository: Repository,
    revision: str | None,
    *,
    limit: int | None = None,
    relation: str | None = None,
) -> Iterator[LogEntry]:
    """Yield a revision and its ancestors, newest first, or those of `a..b`: in b and not in a.

    Without a revision: the commits of all branches but those of runs and waiting merges.

    A commit is read when it is yielded. With `relation`, `schema.identifier`, yields only the
    commits that changed it relative to their first parent.

    Raises:
        NotFoundError: There is no such revision, or no commit in its history changed the relation.
        InputError: The revision, the limit or the relation's name is invalid.
    """
    if limit is not None and limit < 1:
        raise InputError(f"The limit of a log is {limit}; expected 1 or more.")
    wanted = None if relation is None else parse_relation(relation)
    found = _commits(repository, revision)
    if wanted is not None:
        found = (pair for pair in found if _is_changed(repository, *pair, wanted))
    names: Mapping[CommitId, tuple[str, ...]] | None = None
    for id, commit in islice(found, limit):
        # Only once there is an entry: names take a listing of the store.
        if names is None:
            names = names_by_commit(repository)
        yield _entry(id, commit, names.get(id, ()))
    if wanted is not None and names is None:
        raise NotFoundError(
            f"No commit of {revision!r} changed {wanted}. Check the name, or the revision."
        )


def _commits(repository: Repository, revision: str | None) -> Iterator[tuple[CommitId, Commit]]:
    if revision is None:
        branches = repository.branches()
        heads = (
            item.head for item in branches if run_of(item) is None and open_merge_of(item) is None
        )
        return repository.log(*heads)
    # A name may contain two dots.
    if ".." not in revision or repository.is_known(revision):
        return repository.log(repository.resolve(revision))
    left, right = repository.resolve_range(revision)
    old = {id for id, _ in repository.log(left)}
    return (pair for pair in repository.log(right) if pair[0] not in old)


def _is_changed(repository: Repository, id: CommitId, commit: Commit, name: RelationName) -> bool:
    now = repository.tree(id).entry(name)
    before = repository.tree(commit.parents[0]).entry(name) if commit.parents else None
    return now != before


def _entry(id: CommitId, commit: Commit, names: tuple[str, ...]) -> LogEntry:
    nodes = commit.run.nodes if commit.run else ()
    reused, total, saved = reused_nodes(nodes)
    return LogEntry(
        id=id,
        parents=commit.parents,
        names=names,
        author=commit.author,
        committed_at=datetime_of(commit.committed_at),
        message=commit.message,
        invocation=commit.run.invocation if commit.run else None,
        nodes=total,
        reused=reused,
        saved=saved,
    )


def _log_text(entries: Iterable[LogEntry], now: datetime) -> Iterator[Block]:
    for item in entries:
        names = Span(f" ({', '.join(item.names)})", "name") if item.names else Span("")
        reused = f", {item.reused:,} of {item.nodes:,} reused" if item.reused else ""
        when = f"  {item.author}, {age(item.committed_at, now)}{reused}"
        yield entry(short(item.id), names, " ", item.summary, Span(when, "faint"), gives=3)


@verb()
def log_command(
    session: CommandSession,
    revision: str | None = None,
    *,
    limit: Annotated[int, rows_limit("Commits to list")] = 20,
    relation: Annotated[
        str | None, Option("Only commits that changed this table or view.", metavar="SCHEMA.TABLE")
    ] = None,
) -> None:
    """List the commits of a revision, newest first.

    REVISION defaults to the branch in the dbt profile, else the default branch; a..b lists the
    commits that b has and a lacks.
    """
    # One more than is shown tells whether there are older ones.
    found = read_log(
        session.repository,
        revision or session.shown,
        limit=limit + 1 if limit else None,
        relation=relation,
    )
    session.show_first(
        found, limit, lambda items: _log_text(items, session.now), "There are older commits"
    )
