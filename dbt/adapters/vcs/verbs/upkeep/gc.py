"""Garbage collection: delete files that are no longer needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dbt.adapters.vcs.core.collection import EXPIRED, roots_of
from dbt.adapters.vcs.core.errors import InputError, NotFoundError, RetryError
from dbt.adapters.vcs.core.ids import Micros, datetime_of
from dbt.adapters.vcs.core.plan.collect import Needed, needed
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import (
    DAY,
    GRACE,
    LEASE,
    PINS,
    Retention,
    change_retention,
    read_retention,
)
from dbt.adapters.vcs.core.store.blobs import BlobInfo
from dbt.adapters.vcs.runs.run_branch import RunBranch, Status, runs

_BATCH: Final = 500
"""Number of deletions between two heartbeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GcReport:
    """What a garbage collection did, or would do.

    Attributes:
        dry_run: True if nothing was deleted.
        keep_days: How many days unnamed history is kept.
        horizon: Rows that were last part of a branch before this time are deleted.
        runs: Branches of runs older than the retention period.
        objects: Number of manifests deleted.
        files: Number of data files deleted.
        bytes: Their total size.
        young: Number of files that are not needed, but too young to be deleted.
        kept_objects: Number of manifests kept.
        kept_files: Number of data files kept.
        kept_bytes: Size of these data files.
    """

    dry_run: bool
    keep_days: float
    horizon: datetime
    runs: tuple[str, ...]
    objects: int
    files: int
    bytes: int
    young: int
    kept_objects: int
    kept_files: int
    kept_bytes: int


def collect(repository: Repository, *, author: str, dry_run: bool = False) -> GcReport:
    """Delete what is not needed; see `core.collection` for what is kept.

    It can be stopped at any time and run again, and others can write at the same time: files
    younger than a day are kept, because their writer may not have committed yet.

    Raises:
        RetryError: Another garbage collection is running.
        DamagedError: A manifest that is needed is missing or damaged; nothing was deleted.
    """
    found = read_retention(repository)
    now = repository.clock()
    # One day more than promised: what was read within the retention period may be committed later.
    horizon = Micros(max(now - found.keep - GRACE, 0))
    if dry_run:
        return _swept(repository, found, horizon, (), _garbage(repository, horizon), author=None)
    _begin(repository, found, author)
    try:
        expired = tuple(_expire(repository, found, author))
        sweep = _garbage(repository, horizon)
        change_retention(repository, author=author, action="collect", horizon=horizon)
        return _swept(repository, found, horizon, expired, sweep, author=author)
    finally:
        change_retention(repository, author=author, action="end", at_work_until=Micros(0))


def set_retention(repository: Repository, days: float, *, author: str) -> Retention:
    """Set how many days unnamed history is kept.

    Raises:
        InputError: The number of days is out of range.
    """
    check_days(days)
    return change_retention(repository, author=author, action="set", keep=Micros(int(days * DAY)))


def check_days(days: float) -> None:
    """Raise unless a retention is in range.

    Raises:
        InputError: It is out of range.
    """
    if not 0 <= days <= 36_500:
        raise InputError(f"Found a retention of {days:g} days; expected 0 to 36500.")


@dataclass(frozen=True, slots=True)
class _Garbage:
    needed: Needed
    objects: tuple[BlobInfo, ...]
    files: tuple[BlobInfo, ...]
    young: int


def _begin(repository: Repository, found: Retention, author: str) -> None:
    now = repository.clock()
    if found.at_work_until > now:
        raise RetryError(
            f"A garbage collection is running in {repository.uri}. Wait for it to end; one that "
            f"was killed counts as running until {datetime_of(found.at_work_until):%H:%M} UTC."
        )
    _stay(repository, author)


def _stay(repository: Repository, author: str) -> None:
    until = Micros(repository.clock() + LEASE)
    change_retention(repository, author=author, action="begin", at_work_until=until)


def _expire(repository: Repository, found: Retention, author: str) -> Iterator[str]:
    """Delete the branches of runs older than the retention period, and yield their names."""
    for run in runs(repository):
        if not _is_expired(run, found, repository.clock()):
            continue
        try:
            repository.delete_branch(run.name, author=author, note=EXPIRED)
        except NotFoundError:
            # Another process discarded it in the meantime.
            continue
        yield run.name


def _is_expired(run: RunBranch, found: Retention, now: Micros) -> bool:
    if run.status is Status.OPEN and not run.is_abandoned(now):
        return False
    return now > run.alive_until + found.keep


def _garbage(repository: Repository, horizon: Micros) -> _Garbage:
    before = repository.clock() - GRACE
    kept = needed(roots_of(repository, horizon), repository.objects)
    objects = [
        info for info in repository.blobs.walk("objects") if _key(info.path) not in kept.objects
    ]
    files = [info for info in repository.blobs.walk("data") if info.path not in kept.files]
    old = [info for info in objects if info.modified_at < before]
    done = [info for info in files if info.modified_at < before]
    pins = [i for i in repository.blobs.walk(f"refs/{PINS}") if i.modified_at < before]
    young = len(objects) - len(old) + len(files) - len(done)
    return _Garbage(kept, (*old, *pins), tuple(done), young)


def _key(path: str) -> tuple[str, str]:
    """Return the kind and id of an object, from its path."""
    _, kind, *_, id = path.split("/")
    return kind, id


def _swept(
    repository: Repository,
    found: Retention,
    horizon: Micros,
    expired: tuple[str, ...],
    garbage: _Garbage,
    *,
    author: str | None,
) -> GcReport:
    """Delete garbage, unless `author` is None, as in a dry run."""
    # Data files first: as long as a manifest exists, fsck can report its files.
    for number, info in enumerate((*garbage.files, *garbage.objects)):
        if author is None:
            break
        if number % _BATCH == _BATCH - 1:
            _stay(repository, author)
        repository.blobs.delete(info.path)
    return GcReport(
        dry_run=author is None,
        keep_days=found.keep / DAY,
        horizon=datetime_of(horizon),
        runs=expired,
        objects=len(garbage.objects),
        files=len(garbage.files),
        bytes=sum(info.bytes for info in (*garbage.files, *garbage.objects)),
        young=garbage.young,
        kept_objects=len(garbage.needed.objects),
        kept_files=len(garbage.needed.files),
        kept_bytes=garbage.needed.bytes,
    )
