"""Revisions that commands take: names of commits, free names, sources of merges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from shlex import quote
from typing import Final, Literal, NamedTuple

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import PREFIX as MERGES
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.commands.layout import Block, Span, line, short
from dbt.adapters.vcs.core.branches import Branch, Tag
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.branch_names import is_name
from dbt.adapters.vcs.workspace.run_branch import PREFIX as RUNS
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status, check_mergeable, run_of, runs

_BETWEEN: Final = re.compile(r"\.{2,3}")
_RESERVED: Final = ((RUNS, "dbt runs"), (MERGES, "merges with conflicts"))


MOST_NAMES: Final = 1_000
"""Branches and tags up to which all of them are read to show their names beside commits."""


def names_by_commit(
    repository: Repository,
    revision: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Mapping[CommitId, tuple[str, ...]]:
    """Return the names of each commit that has some: branches, then tags as `tag: <name>`.

    To read a name takes requests. So with more than `MOST_NAMES`, they are those of the default
    branch and of the revision only, and `tell` is told.
    """
    found: dict[CommitId, list[str]] = {}
    if repository.count_names() > MOST_NAMES:
        tell(
            f"There are more than {MOST_NAMES:,} branches and tags, so only the names of the "
            "default branch and of the revision stand beside commits."
        )
        ends = (repository.default_branch, *_BETWEEN.split(revision or ""))
        named = list(filter(is_name, dict.fromkeys(ends)))
        branches, tags = repository.branches(names=named), repository.tags(names=named)
    else:
        branches, tags = repository.branches(), repository.tags()
    for branch in branches:
        found.setdefault(branch.head, []).append(branch.name)
    for tag in tags:
        found.setdefault(tag.commit, []).append(f"tag: {tag.name}")
    return {id: tuple(names) for id, names in found.items()}


def named_branch(repository: Repository, revision: str) -> Branch | None:
    """Return the branch whose exact name the revision is; None if it is another revision."""
    found = repository.find_ref(revision)
    return found if isinstance(found, Branch) else None


def check_free(repository: Repository, word: Literal["branch", "tag"], name: str) -> None:
    """Raise if a name is reserved, or is already the name of a tag or branch.

    Raises:
        InputError: It is.
    """
    check_unreserved(word, name)
    # Creating it fails, and says what is wrong with the name.
    if not is_name(name):
        return
    if word == "branch" and repository.find_tag(name) is not None:
        raise InputError(
            f"There is a tag {name!r}, which would hide a branch of the same name. "
            "Give the branch another name, or delete the tag."
        )
    if word == "tag" and repository.find_branch(name) is not None:
        raise InputError(
            f"There is a branch {name!r}, and a tag of the same name would hide it. Give "
            "the tag another name."
        )


def check_unreserved(word: str, name: str) -> None:
    """Raise if a name is reserved for runs or merges.

    Raises:
        InputError: It is.
    """
    for prefix, what in _RESERVED:
        if name.startswith(prefix):
            raise InputError(
                f"The {word} name {name!r} can't be used or changed: {prefix} is where {what} "
                "keep their branches. Choose another name."
            )


def renamed_line(word: str, old: str, new: str, head: CommitId) -> Block:
    """Return the line that says that a branch or tag has another name."""
    names = Span(old, "name"), " to ", Span(new, "name")
    return line(f"Renamed {word} ", *names, ", at ", short(head), ".")


_GOOD = (Status.PASSED, Status.PUBLISHED)


class Source(NamedTuple):
    """The commit of a revision, and the branch or tag that the revision is the name of."""

    commit: CommitId
    ref: Branch | Tag | None

    @property
    def run(self) -> RunBranch | None:
        """The run whose branch it is."""
        return run_of(self.ref) if isinstance(self.ref, Branch) else None


def resolve_source(repository: Repository, revision: str, *, force: bool = False) -> Source:
    """Return the commit of a revision to merge or start from, as one look shows it.

    The commits of a run that failed or is still running are refused under any name: its branch,
    `<branch>~1`, a tag, a hash. They are accepted once an ordinary branch contains them, which
    requires force.

    Raises:
        NotFoundError: There is no such revision.
        ConflictError: It belongs to a run that did not succeed, and `force` is not set.
    """
    source = Source(*repository.resolve_ref(revision))
    if force:
        return source
    if isinstance(source.ref, Branch):
        _check_no_conflicts(source.ref)
        if source.run is None:
            return source
        check_mergeable(repository, source.run)
    # Decision 6: a run's steps are states that nobody should see, under any name.
    for run in runs(repository):
        if run.status in _GOOD or source.commit not in _steps(repository, run):
            continue
        if not _is_taken(repository, source.commit):
            check_mergeable(repository, run)
    return source


def _check_no_conflicts(branch: Branch) -> None:
    merge = open_merge_of(branch)
    if merge is not None:
        raise ConflictError(
            f"{branch.name!r} holds the conflicts of a merge, and can't be merged or branched "
            f"from. Resolve them, then: dbt-vcs merge --continue {quote(merge.target)}"
        )


def _steps(repository: Repository, run: RunBranch) -> Iterator[CommitId]:
    """Yield the commits of a run, newest first."""
    # A run's commits are a line of first parents, as it makes one for each node (decision 5).
    commit = run.head
    while commit != run.fork:
        yield commit
        parents = repository.objects.commit(commit).parents
        if not parents:
            return
        commit = parents[0]


def _is_taken(repository: Repository, commit: CommitId) -> bool:
    # Somebody has merged it with `force`, so it is history that others build on.
    return any(
        run_of(branch) is None and repository.merge_base(commit, branch.head) == commit
        for branch in repository.branches()
    )


_UNPUBLISHED: Final = (Status.FAILED, Status.INTERRUPTED, Status.PASSED)


def unpublished_lines(repository: Repository, *names: str) -> Iterator[str]:
    """Yield a line for each branch whose last run did not land on it: its work is elsewhere."""
    found: dict[str, RunBranch] = {}
    for run in runs(repository):
        found.setdefault(run.target, run)
    now = repository.clock()
    for run in (found[name] for name in dict.fromkeys(names) if name in found):
        status = "abandoned" if run.is_abandoned(now) else run.status
        if status == "abandoned" or status in _UNPUBLISHED:
            note = f" ({run.note})" if run.note else ""
            yield (
                f"The last run for {run.target!r}, dbt {run.command}, is {status}{note}, and what "
                f"it did is not on the branch: dbt-vcs show {quote(run.name)}"
            )


def is_range(repository: Repository, text: str) -> bool:
    """Return whether a text is `a..b` or `a...b`; a name may contain two dots."""
    return ".." in text and not repository.is_known(text)


def is_relation(repository: Repository, text: str) -> bool:
    """Return whether a text that is a revision or a relation is `schema.identifier`."""
    parts = text.replace("`", "").split(".")
    return len(parts) == 2 and all(parts) and not repository.is_known(text)


def parse_relation(text: str) -> RelationName:
    """Return the relation named by `schema.identifier`, in lower case.

    Raises:
        InputError: The text has another form.
    """
    parts = text.lower().replace("`", "").split(".")
    if len(parts) != 2 or not all(parts):
        raise InputError(
            f"Expected schema.table, found {text!r}. Name the table with its schema; only a dbt "
            "profile gives one."
        )
    return RelationName(*parts)
