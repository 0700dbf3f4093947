"""`dbt-vcs log`: the commits of a revision, newest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

import click
from click.core import ParameterSource

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.commands.layout import Block, Span, age, entry, short
from dbt.adapters.vcs.commands.options import current_settings
from dbt.adapters.vcs.commands.output import changes_text
from dbt.adapters.vcs.commands.revisions import (
    is_range,
    is_relation,
    names_by_commit,
    parse_relation,
)
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, rows_limit, verb
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.graph import ancestors
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.model import Commit, RelationName
from dbt.adapters.vcs.core.model.tree import reused_nodes
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.run_branch import run_of

if TYPE_CHECKING:
    from dbt.adapters.vcs.changes.diffs.summaries import ChangeSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One commit.

    Attributes:
        parents: Its parents; two for a merge.
        names: Branches that point to it, and tags as `tag: <name>`.
        invocation: dbt's invocation id of the run that it publishes, or None.
        nodes: Number of nodes in that run; 0 without one.
        reused: How many of them were taken from what was computed before.
        saved: Seconds that these took when they were computed.
        changes: What it changed, relative to its first parent; None if that was not asked for.
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
    changes: tuple[ChangeSummary, ...] | None = None

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
    first_parent: bool = False,
    stat: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[LogEntry]:
    """Yield a revision and its ancestors, newest first, or those of `a..b`: in b and not in a.

    Without a revision: the commits of all branches but those of runs and waiting merges.

    A commit is read when it is yielded. With `relation`, `schema.identifier`, yields only the
    commits that changed it relative to their first parent. With `first_parent`, follows only the
    first parent of a merge. With `stat`, entries have their changes. `tell` is told if most names
    are left out, as there are too many (`names_by_commit`).

    Raises:
        NotFoundError: There is no such revision, or no commit in its history changed the relation.
        InputError: The revision, the limit or the relation's name is invalid.
    """
    if limit is not None and limit < 1:
        raise InputError(f"The limit of a log is {limit}; expected 1 or more.")
    wanted = None if relation is None else parse_relation(relation)
    found = _commits(repository, revision, first_parent=first_parent)
    if wanted is not None:
        found = (pair for pair in found if _is_changed(repository, *pair, wanted))
    names: Mapping[CommitId, tuple[str, ...]] | None = None
    for id, commit in islice(found, limit):
        # Only once there is an entry: names take a listing of the store.
        if names is None:
            names = names_by_commit(repository, revision, tell)
        item = _entry(id, commit, names.get(id, ()))
        yield replace(item, changes=_changes(repository, id, commit, wanted)) if stat else item
    if wanted is not None and names is None:
        raise NotFoundError(
            f"No commit of {repr(revision) if revision else 'any branch'} changed {wanted}. Check "
            "the name, or the revision."
        )


def _commits(
    repository: Repository, revision: str | None, *, first_parent: bool
) -> Iterator[tuple[CommitId, Commit]]:
    old: set[CommitId] = set()
    if revision is None:
        branches = repository.branches()
        tips = [
            item.head for item in branches if run_of(item) is None and open_merge_of(item) is None
        ]
    elif is_range(repository, revision):
        left, right = repository.resolve_range(revision)
        old, tips = {id for id, _ in repository.log(left)}, [right]
    else:
        tips = [repository.resolve(revision)]
    if not first_parent:
        return (pair for pair in repository.log(*tips) if pair[0] not in old)
    read = repository.objects.commit
    found = ancestors(tips, lambda id: read(id).parents[:1], lambda id: read(id).committed_at)
    return ((id, read(id)) for id in found if id not in old)


def _is_changed(repository: Repository, id: CommitId, commit: Commit, name: RelationName) -> bool:
    now = repository.tree(id).entry(name)
    before = repository.tree(commit.parents[0]).entry(name) if commit.parents else None
    return now != before


def _changes(
    repository: Repository, id: CommitId, commit: Commit, wanted: RelationName | None
) -> tuple[ChangeSummary, ...]:
    # To count rows takes Parquet, and a log without numbers reads none.
    from dbt.adapters.vcs.changes.diffs.summaries import list_changes, summarize

    parent = next(iter(commit.parents), None)
    if wanted is None or parent is None:
        found = list_changes(repository, parent, id)
        return tuple(item for item in found if wanted is None or item.name == str(wanted))
    changes = repository.diff(parent, id).relations
    return summarize(repository, (), [item for item in changes if item.name == wanted])


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


class Lanes:
    """Draws a history beside its commits, newest first, as `git log --graph` does.

    A lane leads to a commit that is expected further down. Where a commit has several children,
    their lanes meet above it.
    """

    def __init__(self) -> None:
        self._lanes: list[CommitId | None] = []
        self._at = 0

    def row(self, id: CommitId) -> str:
        """Return the lanes beside a commit, which has a `*` in its own."""
        if id not in self._lanes:
            self._lanes[self._free(0)] = id
        self._at = self._lanes.index(id)
        drawn = self._drawn()
        drawn[2 * self._at] = "*"
        return _joined(drawn)

    def below(self, parents: Sequence[CommitId]) -> Iterator[str]:
        """Yield the lines from the commit to the lanes of its parents that are drawn."""
        at, lanes = self._at, self._lanes
        for parent in parents[1:]:
            # The lane is taken once the line has reached it.
            to = lanes.index(parent) if parent in lanes else self._free(at + 1)
            yield from self._line(at, to)
            lanes[to] = parent
        first = parents[0] if parents else None
        if first in lanes and first is not None:
            # The line of the commits further left goes on.
            left, right = sorted((at, lanes.index(first)))
            lanes[left], lanes[right] = first, None
            yield from self._line(right, left)
        else:
            lanes[at] = first
        while lanes and lanes[-1] is None:
            lanes.pop()

    def beside(self, parents: Sequence[CommitId]) -> str:
        """Return the lanes beside what is said of the commit below its own line."""
        drawn = self._drawn()
        if not parents:
            drawn[2 * self._at] = " "
        return "".join(drawn)

    def _free(self, first: int) -> int:
        """Return the first lane from a number on that leads nowhere; there is always one."""
        self._lanes += [None] * (first + 1 - len(self._lanes))
        if None not in self._lanes[first:]:
            self._lanes.append(None)
        return self._lanes.index(None, first)

    def _line(self, start: int, end: int) -> Iterator[str]:
        """Yield the parts of a line from a lane to another one, each beside one lane."""
        step, mark = (1, "\\") if start < end else (-1, "/")
        for lane in range(start, end, step):
            drawn = self._drawn()
            drawn[2 * lane + step] = mark
            yield _joined(drawn)

    def _drawn(self) -> list[str]:
        return [mark for lane in self._lanes for mark in (" " if lane is None else "|", " ")]


def _joined(drawn: Sequence[str]) -> str:
    return "".join(drawn).rstrip()


def _log_text(
    entries: Iterable[LogEntry], now: datetime, *, oneline: bool, lanes: Lanes | None
) -> Iterator[Block]:
    for item in entries:
        names = Span(f" ({', '.join(item.names)})", "name") if item.names else Span("")
        reused = f", {item.reused:,} of {item.nodes:,} reused" if item.reused else ""
        when = "" if oneline else f"  {item.author}, {age(item.committed_at, now)}{reused}"
        drawn = "" if lanes is None else f"{lanes.row(item.id)} "
        parts = short(item.id), names, " ", item.summary, Span(when, "faint")
        yield entry(Span(drawn, "faint"), *parts, gives=4)
        beside = "" if lanes is None else lanes.beside(item.parents)
        for block in changes_text(item.changes or ()):
            yield entry(Span(beside, "faint"), *block.spans)
        if lanes is not None:
            for text in lanes.below(item.parents):
                yield entry(Span(text, "faint"))


def _drawable(
    entries: Iterable[LogEntry], *, first_parent: bool, is_between: bool
) -> Iterator[LogEntry]:
    """Yield entries with those parents that lines lead to; of a range, they are listed, too."""
    ids: set[CommitId] = set()
    if is_between:
        entries = tuple(entries)
        ids = {item.id for item in entries}
    for item in entries:
        parents = item.parents[:1] if first_parent else item.parents
        yield replace(
            item, parents=tuple(id for id in parents if id in ids) if is_between else parents
        )


def _check_log(
    *,
    revision: str | None,
    table: str | None,
    relation: str | None,
    all: bool,
    oneline: bool,
    graph: bool,
    **_: object,
) -> None:
    if table and relation:
        raise click.UsageError("Give the table once: as the second argument, or with --relation.")
    if all and (table or (revision and relation)):
        raise click.UsageError(_NO_REVISION)
    settings = current_settings(click.get_current_context())
    for option in ("--oneline",) * oneline + ("--graph",) * graph:
        if settings.json or settings.jsonl:
            raise click.UsageError(f"{option} is about lines of text. Leave it out for JSON.")
    if graph and (table or relation):
        raise click.UsageError(_NO_GRAPH)


_NO_REVISION: Final = "Give either a revision or --all."
_NO_GRAPH: Final = (
    "--graph can't draw the commits of one table, as their parents are left out. Leave it out."
)


@verb(pages=True, check=_check_log)
def log_command(
    session: CommandSession,
    revision: str | None = None,
    table: str | None = None,
    *,
    limit: Annotated[int, rows_limit("Commits to list")] = 20,
    relation: Annotated[
        str | None, Option("Only commits that changed this table or view.", metavar="SCHEMA.TABLE")
    ] = None,
    all: Annotated[bool, Option("The commits of all branches.", "-a")] = False,
    oneline: Annotated[bool, "Leave out authors and ages."] = False,
    graph: Annotated[bool, "Draw which commits follow which."] = False,
    stat: Annotated[bool, "List what each commit changed, with numbers of rows."] = False,
    first_parent: Annotated[bool, "Leave out the commits that merges brought."] = False,
) -> None:
    """List the commits of a revision, newest first.

    REVISION defaults to the branch in the dbt profile, else the default branch; a..b lists the
    commits that b has and a lacks. With TABLE, schema.table, lists only those that changed it;
    it can be given without a revision.
    """
    relation, repository = relation or table, session.repository
    if revision is not None and relation is None and is_relation(repository, revision):
        revision, relation = None, revision
        if graph:
            raise click.UsageError(session.spelled(_NO_GRAPH))
    if all and revision is not None:
        raise click.UsageError(session.spelled(_NO_REVISION))
    wanted = None if all else revision or session.shown
    is_between = wanted is not None and is_range(repository, wanted)
    source = click.get_current_context().get_parameter_source("limit")
    # One more than is shown tells whether there are older ones; who gave a limit knows.
    more = 1 if source is ParameterSource.DEFAULT else 0
    told: list[str] = []
    found = read_log(
        repository,
        wanted,
        limit=limit + more if limit else None,
        relation=relation,
        first_parent=first_parent,
        stat=stat,
        tell=told.append,
    )

    def text(items: Iterator[LogEntry]) -> Iterator[Block]:
        drawn = _drawable(items, first_parent=first_parent, is_between=is_between)
        lanes = Lanes() if graph else None
        return _log_text(drawn if graph else items, session.now, oneline=oneline, lanes=lanes)

    session.show_first(found, limit, text, "There are older commits")
    session.warn(told)
