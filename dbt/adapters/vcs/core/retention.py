"""Retention: how long unnamed history can be read, and how to hold it while it is in use.

A collection and a reader that restores old versions could miss each other: the collection may read
names just before the reader creates one. So each announces itself before it looks. The collection
writes down what it condemns, then reads names again; the reader writes a pin, then reads what is
condemned. Whatever the order, one of them sees the other.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.branches import Names
from dbt.adapters.vcs.core.errors import (
    DamagedError,
    InputError,
    NotFoundError,
    RetryError,
    VcsError,
)
from dbt.adapters.vcs.core.ids import CommitId, Micros, SnapshotId, TreeId, datetime_of
from dbt.adapters.vcs.core.maintenance import PINS as PINS
from dbt.adapters.vcs.core.plan.collect import (
    files_of_versions,
    missing_file,
    newly_named,
    versions_of,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.branch_names import is_name
from dbt.adapters.vcs.core.store.condemned import Condemned
from dbt.adapters.vcs.core.store.lease import is_running, seems_running
from dbt.adapters.vcs.core.store.objects import object_path
from dbt.adapters.vcs.core.store.refs import Ref
from dbt.adapters.vcs.core.turns import attempts

DAY: Final = 24 * 3_600 * 1_000_000
"""Microseconds."""

KEEP: Final = Micros(7 * DAY)
"""How long history without a name is kept unless told."""

GRACE: Final = Micros(DAY)
"""How old a file must be before it can be garbage: a younger one's writer may still land."""

_SPACE: Final = "options"
_NAME: Final = "retention"


class Retention(NamedTuple):
    """How long a repository keeps unnamed history.

    Attributes:
        keep: How long unnamed history is kept.
        horizon: Unnamed history before this time has been released; 0 if none has.
    """

    keep: Micros = KEEP
    horizon: Micros = Micros(0)


def read_retention(repository: Repository) -> Retention:
    """Return a repository's retention."""
    return _retention(repository.refs.read(_SPACE, _NAME))


def change_retention(
    repository: Repository,
    *,
    author: str,
    action: str,
    keep: Micros | None = None,
    horizon: Micros | None = None,
) -> Retention:
    """Replace the given settings, and return the new retention.

    Raises:
        InputError: The time to keep history is negative.
    """
    if keep is not None and keep < 0:
        raise InputError("A retention can't be negative; 0 keeps what has a name alone.")
    names = names_in(repository, _SPACE)
    for _ in attempts("change the retention"):
        last = repository.refs.read(_SPACE, _NAME)
        old = _retention(last)
        new = Retention(
            keep=old.keep if keep is None else keep,
            horizon=old.horizon if horizon is None else horizon,
        )
        state = {field: str(value) for field, value in new._asdict().items()}
        if names.follow(last, _NAME, None, author=author, action=action, state=state):
            return new
    raise AssertionError("attempts raises when it ends")


def hold(
    repository: Repository,
    commit: CommitId | None,
    snapshots: Collection[SnapshotId],
    *,
    author: str,
    known: CommitId,
    dry_run: bool = False,
) -> None:
    """Keep versions of a commit from being collected until they are named again, or for a day.

    Nothing is written if they are kept anyway, because the commit is younger than the retention
    and in the history of `known` or of a branch. None is an unknown commit. A dry run only checks.

    Raises:
        NotFoundError: Some of their files have been collected.
        RetryError: A collection is at work.
    """
    if commit is not None and _is_kept(repository, commit, known):
        return
    if dry_run:
        is_at_work = seems_running(repository.blobs, repository.clock())
        _check(repository, commit, snapshots, is_at_work)
        return
    names = names_in(repository, PINS)
    state = {"snapshots": " ".join(snapshots)}
    pin = names.create(
        uuid.uuid4().hex, commit or known, author=author, note="", state=state, check=False
    )
    try:
        # When the store wrote the pin is its time now.
        now = repository.refs.written_at(PINS, pin)
        _check(repository, commit, snapshots, is_running(repository.blobs, now))
    except VcsError:
        names.follow(pin, pin.name, None, author=author, action="delete")
        raise


def hold_commit(repository: Repository, commit: CommitId, *, author: str) -> None:
    """Do what `hold` does for everything that a commit shows.

    Raises:
        NotFoundError: Some of its files have been collected.
        RetryError: A collection is at work.
    """
    known = repository.branch(repository.default_branch).head
    versions = list(versions_of(repository.objects, repository.objects.commit(commit).tree))
    hold(repository, commit, versions, author=author, known=known)


def hold_work(
    repository: Repository, source: str, commit: CommitId, *, onto: CommitId, author: str
) -> None:
    """Do what `hold` does for what a commit shows and `onto` doesn't, before a merge reads it.

    Nothing is done for the head of a branch or a tag: those are kept whatever their age. `source`
    is the revision that named the commit, and asked first: other names are many.

    Raises:
        NotFoundError: Some of its files have been collected.
        RetryError: A collection is at work.
    """
    branch = repository.find_branch(source) if is_name(source) else None
    if branch is not None and branch.head == commit:
        return
    named = {branch.head for branch in repository.branches()}
    named.update(tag.commit for tag in repository.tags())
    if commit in named:
        return
    read = repository.objects
    shown = set(versions_of(read, read.commit(onto).tree))
    versions = [id for id in versions_of(read, read.commit(commit).tree) if id not in shown]
    hold(repository, commit, versions, author=author, known=onto)


def check_present(repository: Repository, before: TreeId, after: TreeId) -> None:
    """Check that every file that one tree's tables name, and another one's don't, is there.

    Raises:
        NotFoundError: One is missing.
    """
    missing = missing_file(repository.blobs, newly_named(repository.objects, before, after))
    if missing is not None:
        raise NotFoundError(
            f"The data file {missing} is needed and not in {repository.uri}. Nothing was changed. "
            "Restore it from a backup of the repository; dbt-vcs fsck lists all that is missing."
        )


def _check(
    repository: Repository,
    commit: CommitId | None,
    snapshots: Collection[SnapshotId],
    is_at_work: bool,
) -> None:
    if is_at_work:
        raise RetryError(
            f"A garbage collection or a purge is running in {repository.uri}, and may delete what "
            "is to be restored. Nothing was changed; try again when it has ended. One that was "
            "killed counts as running for a minute."
        )
    condemned = Condemned(repository.blobs)
    condemned.refresh()
    if commit is not None and condemned.is_gone(object_path("commit", commit)):
        raise NotFoundError(
            f"The commit {commit[:12]} was on no branch for longer than the retention, and a "
            "collection has let go of it. Nothing was changed."
        )
    for id in snapshots:
        version = repository.objects.snapshot(id)
        manifests = [object_path("segment", ref.id) for ref in version.segments]
        manifests.append(object_path("snapshot", id))
        files = files_of_versions(repository.objects, [id])
        # A file counts as gone while a request to delete it may be on its way.
        gone = next(filter(condemned.is_gone, (*manifests, *sorted(files))), None)
        gone = gone or missing_file(repository.blobs, files)
        if gone is not None:
            raise NotFoundError(_gone(repository, id, gone))


def _is_kept(repository: Repository, commit: CommitId, known: CommitId) -> bool:
    """Return whether a commit is young and in the history of a known commit or any branch."""
    if commit == known:
        return True
    made = repository.objects.commit(commit).committed_at
    if made < repository.clock() - read_retention(repository).keep:
        return False
    if repository.is_ancestor(commit, known):
        return True
    heads = {branch.head for branch in repository.branches()}
    return any(_is_in_history(repository, commit, head) for head in heads)


def _is_in_history(repository: Repository, commit: CommitId, head: CommitId) -> bool:
    try:
        return repository.is_ancestor(commit, head)
    except DamagedError:
        # The branch doesn't keep it surely, so something else has to.
        return False


def _gone(repository: Repository, id: SnapshotId, path: str) -> str:
    found = read_retention(repository)
    horizon = f"{datetime_of(found.horizon):%Y-%m-%d %H:%M} UTC"
    made = f"{datetime_of(repository.objects.snapshot(id).created_at):%Y-%m-%d %H:%M} UTC"
    return (
        f"The rows of the version {id[:12]}, of {made}, have been let go of: history without a "
        f"name is kept for {found.keep / DAY:g} days, and what came before {horizon} was "
        f"collected ({path} is gone). Nothing was changed. Tags and named snapshots keep rows."
    )


def names_in(repository: Repository, space: str) -> Names:
    """Return the records of a space that people neither name nor read."""
    return Names(
        repository.objects,
        repository.refs,
        repository.clock,
        space,
        word="record",
        of=space,
        gate=repository.maintenance if space == PINS else None,
    )


def _retention(last: Ref | None) -> Retention:
    if last is None:
        return Retention()
    state = last.move.state
    usual = Retention()
    return Retention(
        keep=Micros(int(state.get("keep", usual.keep))),
        horizon=Micros(int(state.get("horizon", usual.horizon))),
    )
