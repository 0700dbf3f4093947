"""`dbt-vcs status`: the status of the repository and a branch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import PREFIX as MERGES
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.commands.conflicts import OpenMergeReport, list_open_merges
from dbt.adapters.vcs.commands.layout import Block, Span, age, counted, entry, line, short, size
from dbt.adapters.vcs.commands.revisions import MOST_NAMES
from dbt.adapters.vcs.commands.runs import RunSummary, list_runs, runs_text
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import verb
from dbt.adapters.vcs.core.branches import Branch, Protection
from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, datetime_of
from dbt.adapters.vcs.core.model import Commit, FunctionEntry, Snapshot, TableEntry, ViewEntry
from dbt.adapters.vcs.core.origins.staleness import stale_tables
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import each
from dbt.adapters.vcs.core.tree_changes import TreeEntries, TreeReader
from dbt.adapters.vcs.workspace.run_branch import PREFIX as RUNS
from dbt.adapters.vcs.workspace.run_branch import run_of

if TYPE_CHECKING:
    from dbt.adapters.vcs.changes.merges.project_rules import Rules

DONE_WITH: Final = frozenset({"published", "resumed"})
"""States of runs that need no further action."""

MOST_TABLES: Final = 10_000
"""Tables up to which their versions are read, to count rows and find stale ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitContents:
    """The contents of a commit, counted from manifests only.

    Attributes:
        rows: Rows of all tables; None if there are more than `MOST_TABLES`.
        bytes: Size of the tables' files; None if there are more.
    """

    schemas: int
    tables: int
    views: int
    functions: int
    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryStatus:
    """The status of a repository.

    Attributes:
        default_branch: The branch that others start from.
        branches: How many, without those of runs and waiting merges.
        with_deleted: True if both numbers count names that were deleted, too: with more than
            `MOST_NAMES` they come from a listing, and the names aren't read.
        branch: The branch that is shown.
        head: The commit that it points to; None if the branch doesn't exist yet.
        author: Who made that commit.
        summary: First line of its message.
        contents: Its contents; None if the branch doesn't exist yet.
        stale: Tables that were made from other versions than the branch shows; none if there are
            more than `MOST_TABLES`; of damaged ones
            that isn't known.
        runs: Runs that are neither published nor resumed, newest first.
        merges: Merges that are waiting for their conflicts to be resolved, by target.
        damaged: What is damaged of branches, tags, waiting merges and the tables, a sentence each.
        requires: What a promotion to the branch requires, such as `tests`; None if the branch is
            not protected.
        rules: What is wrong with the project's `vcs.yml`, a sentence each: that it can't be read,
            or names what doesn't exist.
        hooks: Events of the branch that the project's hooks are called for.
    """

    repository: str
    default_branch: str
    branches: int
    tags: int
    branch: str
    head: CommitId | None
    author: str | None
    committed_at: datetime | None
    summary: str | None
    contents: CommitContents | None
    runs: tuple[RunSummary, ...]
    merges: tuple[OpenMergeReport, ...]
    stale: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    requires: tuple[str, ...] | None = None
    rules: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    with_deleted: bool = False


def read_status(
    repository: Repository, branch: str, rules: Callable[[], Rules] | None = None
) -> RepositoryStatus:
    """Return the status of a repository; a branch that doesn't exist yet is not an error.

    `rules` reads the project's rules, if there is a project; that it can't is part of the status.
    """
    found = repository.find_branch(branch)
    commit = repository.objects.commit(found.head) if found else None
    damaged: list[str] = []

    def tell(error: DamagedError) -> None:
        damaged.append(str(error))

    names, branches, tags, with_deleted = _existing_names(repository, tell)
    merges = list_open_merges(repository, tell)
    # Damage is told in the report: a status must come out of a damaged repository, too.
    contents = _count_contents(repository, commit, tell) if commit else None
    is_looked_at = contents is not None and contents.rows is not None
    protection, told, hooks = _ruled(repository, found, branch, names, rules)
    return RepositoryStatus(
        repository=repository.uri,
        default_branch=repository.default_branch,
        branches=branches,
        tags=tags,
        with_deleted=with_deleted,
        branch=branch,
        head=found.head if found else None,
        author=commit.author if commit else None,
        committed_at=datetime_of(commit.committed_at) if commit else None,
        summary=commit.summary if commit else None,
        contents=contents,
        runs=tuple(run for run in list_runs(repository) if run.status not in DONE_WITH),
        merges=merges,
        stale=_stale(repository, found.head) if found and is_looked_at else (),
        damaged=tuple(damaged),
        requires=None if protection is None else protection.require,
        rules=told,
        hooks=hooks,
    )


def _existing_names(
    repository: Repository, tell: Callable[[DamagedError], None]
) -> tuple[Sequence[str], int, int, bool]:
    """Return the names of all branches, and what `RepositoryStatus` counts.

    These are the numbers of branches and tags, and whether deleted ones are among them: if there
    are many names, they are those that a listing shows.
    """
    listed = repository.branch_names()
    tags = repository.refs.count("tags")
    if len(listed) + tags > MOST_NAMES:
        own = sum(1 for name in listed if not name.startswith((RUNS, MERGES)))
        return listed, own, tags, True
    found = repository.branches(tell, listed)
    own = sum(1 for item in found if run_of(item) is None and open_merge_of(item) is None)
    return [item.name for item in found], own, len(repository.tags(tell)), False


def _ruled(
    repository: Repository,
    found: Branch | None,
    name: str,
    names: Sequence[str],
    rules: Callable[[], Rules] | None,
) -> tuple[Protection | None, tuple[str, ...], tuple[str, ...]]:
    protection = found.protection if found else None
    if rules is None:
        return protection, (), ()
    try:
        known = rules()
    except InputError as error:
        return protection, (str(error),), ()
    tree = TreeEntries(repository.tree(found.head)) if found else {}
    vain = known.unmatched(names, [str(name) for name in tree])
    return known.protection_of(name) or protection, tuple(vain), known.hooks.events_of(name)


def _stale(repository: Repository, head: CommitId) -> tuple[str, ...]:
    tree = repository.tree(head)
    # `_count_contents` has told what is damaged.
    found = stale_tables(repository, tree, lambda _name, _error: None)
    return tuple(str(item.relation) for item in found)


def _count_contents(
    repository: Repository, commit: Commit, on_damage: Callable[[DamagedError], None]
) -> CommitContents:
    """Count the contents of a commit; damaged tables are reported, and have no rows."""
    objects = repository.objects
    tree = TreeReader(objects, commit.tree)
    shown = TreeEntries(tree)
    kinds = Counter(type(entry) for entry in shown.values())
    # To tell a table's rows its version is read.
    is_looked_at = kinds[TableEntry] <= MOST_TABLES
    ids = [
        entry.snapshot
        for entry in (shown.values() if is_looked_at else ())
        if isinstance(entry, TableEntry)
    ]

    def read(id: SnapshotId) -> Snapshot | None:
        try:
            return objects.snapshot(id)
        except DamagedError as error:
            on_damage(error)
            return None

    snapshots = [found for found in each(read, ids) if found is not None]
    return CommitContents(
        schemas=len(tree.schemas()),
        tables=kinds[TableEntry],
        views=kinds[ViewEntry],
        functions=kinds[FunctionEntry],
        rows=sum(snapshot.rows for snapshot in snapshots) if is_looked_at else None,
        bytes=sum(snapshot.bytes for snapshot in snapshots) if is_looked_at else None,
    )


@verb()
def status_command(session: CommandSession, branch: str | None = None) -> None:
    """Show the status of the repository and a branch.

    BRANCH defaults to the one in the dbt profile, else the default branch. Rows and bytes are
    counted from manifests, of at most 10,000 tables.
    """
    # Without a project there are no rules, and no reason to load what reads them.
    rules = (lambda: session.rules) if session.target else None
    found = read_status(session.repository, branch or session.branch, rules)
    session.show(found, _status_text(found, session.now))
    session.warn((*found.damaged, *found.rules))


def _contents_text(branch: str, held: CommitContents) -> Block:
    parts = [
        counted(held.schemas, "schema"),
        counted(held.tables, "table"),
        counted(held.views, "view"),
    ]
    if held.functions:
        parts.append(counted(held.functions, "function"))
    if held.rows is None or held.bytes is None:
        parts.append(
            f"rows of more than {MOST_TABLES:,} tables and stale ones are not looked for: "
            f"dbt-vcs du {quote(branch)}, dbt-vcs stale {quote(branch)}"
        )
    else:
        parts += [counted(held.rows, "row"), size(held.bytes)]
    return entry(Span("            ", "heading"), ", ".join(parts))


def _status_text(status: RepositoryStatus, now: datetime) -> Iterator[Block]:
    yield line(Span("Repository  ", "heading"), status.repository)
    yield line(
        Span("            ", "heading"),
        f"{counted(status.branches, 'branch', 'branches')}, "
        f"{counted(status.tags, 'tag')}{' (with deleted ones)' if status.with_deleted else ''}, "
        f"the default branch is {status.default_branch}",
    )
    if status.head is None or status.contents is None or status.committed_at is None:
        yield line(
            Span("Branch      ", "heading"),
            Span(status.branch, "name"),
            " does not exist yet: the first dbt run on it, or dbt-vcs branch create, creates it",
        )
    else:
        yield entry(
            Span("Branch      ", "heading"),
            Span(status.branch, "name"),
            " @ ",
            short(status.head),
            f" {status.summary or ''}",
            Span(f"  {status.author}, {age(status.committed_at, now)}", "faint"),
            gives=4,
        )
        yield _contents_text(status.branch, status.contents)
    if status.requires is not None:
        needs = f"; each needs: {', '.join(status.requires)}" if status.requires else ""
        yield line(Span("Protected   ", "heading"), f"takes promotions only{needs}")
    if status.hooks:
        yield line(Span("Hooks       ", "heading"), f"called on {', '.join(status.hooks)}")
    if status.stale:
        what = "table was" if len(status.stale) == 1 else "tables were"
        yield line(
            Span("Stale       ", "heading"),
            f"{len(status.stale)} {what} made from other versions than are shown: dbt-vcs stale "
            f"{quote(status.branch)}",
        )
    for merge in status.merges:
        left = f"{merge.left} of {counted(merge.conflicts, 'conflict')} not resolved"
        yield line(
            Span("Merge       ", "heading"),
            Span(str(merge.source), "name"),
            " into ",
            Span(merge.target, "name"),
            f" is waiting, {left}: dbt-vcs conflicts {quote(merge.target)}"
            if merge.left
            else f" is waiting, all resolved: dbt-vcs merge --continue {quote(merge.target)}",
        )
    if status.runs:
        yield line(Span("Runs", "heading"), " that are not finished")
        yield from runs_text(status.runs, now)
    else:
        yield line(Span("Runs        ", "heading"), "none is running, failed or waiting")
