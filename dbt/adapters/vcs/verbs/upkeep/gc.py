"""Garbage collection: delete files that are no longer needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dbt.adapters.vcs.core.collection import EXPIRED, Listed, NamedRoots, names_of, roots_of
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError, RetryError
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
from dbt.adapters.vcs.verbs.upkeep.sighting import record, recorded, sight

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
        DamagedError: A manifest that is needed is missing or damaged, or listings of refs
            contradict each other; nothing more was deleted.
    """
    found = read_retention(repository)
    now = repository.clock()
    # One day more than promised: what was read within the retention period may be committed later.
    horizon = Micros(max(now - found.keep - GRACE, 0))
    if dry_run:
        return _swept(repository, found, horizon, (), _garbage(repository, horizon), None)
    lease = _begin(repository, found, author)
    try:
        expired = tuple(_expire(repository, found, author))
        sweep = _garbage(repository, horizon)
        lease.renew()
        record(repository, sweep.listed, author=author)
        change_retention(repository, author=author, action="collect", horizon=horizon)
        return _swept(repository, found, horizon, expired, sweep, lease)
    finally:
        lease.end()


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
    listed: Listed
    names: NamedRoots
    needed: Needed
    objects: tuple[BlobInfo, ...]
    files: tuple[BlobInfo, ...]
    young: int
    before: Micros


def _begin(repository: Repository, found: Retention, author: str) -> _Lease:
    now = repository.clock()
    if found.at_work_until > now:
        raise RetryError(
            f"A garbage collection is running in {repository.uri}. Wait for it to end; one that "
            f"was killed counts as running until {datetime_of(found.at_work_until):%H:%M} UTC."
        )
    lease = _Lease(repository, author, found.at_work_until)
    lease.renew()
    return lease


class _Lease:
    """The right to delete: only who still holds it can renew it."""

    def __init__(self, repository: Repository, author: str, until: Micros) -> None:
        self._repository = repository
        self._author = author
        self._until = until

    def renew(self) -> None:
        """Announce that the collection is at work; RetryError if another one took over."""
        self._change("begin", Micros(self._repository.clock() + LEASE))

    def end(self) -> None:
        """Let others start, unless another collection took over: then it is theirs."""
        if read_retention(self._repository).at_work_until == self._until:
            self._change("end", Micros(0))

    def _change(self, action: str, until: Micros) -> None:
        change_retention(
            self._repository,
            author=self._author,
            action=action,
            at_work_until=until,
            held_until=self._until,
        )
        self._until = until


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
    listed = sight(repository, recorded(repository))
    names = _names(repository, horizon, listed)
    kept = needed(roots_of(repository, horizon, names), repository.objects)
    objects = [
        info for info in repository.blobs.walk("objects") if _key(info.path) not in kept.objects
    ]
    files = [info for info in repository.blobs.walk("data") if info.path not in kept.files]
    old = [info for info in objects if info.modified_at < before]
    done = [info for info in files if info.modified_at < before]
    pins = [i for i in repository.blobs.walk(f"refs/{PINS}") if i.modified_at < before]
    young = len(objects) - len(old) + len(files) - len(done)
    return _Garbage(listed, names, kept, (*old, *pins), tuple(done), young, Micros(before))


def _names(repository: Repository, horizon: Micros, listed: Listed) -> NamedRoots:
    """Return the names in use.

    Raises:
        DamagedError: The default branch is not among them, so a log is incomplete.
    """
    found = names_of(repository, horizon, None, listed)
    default = repository.default_branch
    head = repository.refs.read("heads", default)
    if head is None or head.move.commit is None or head.move.commit not in found.lately:
        # A branch that has just moved is in the next reading.
        found = names_of(repository, horizon, None, listed)
        if head is None or head.move.commit not in found.lately:
            raise DamagedError(
                f"The default branch {default} of {repository.uri} is not among the branches that "
                "were read. Nothing more was deleted. Check the store and run: dbt-vcs fsck"
            )
    return found


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
    lease: _Lease | None,
) -> GcReport:
    """Delete garbage, unless there is no lease, as in a dry run."""
    # Data files first: as long as a manifest exists, fsck can report its files.
    files, objects = list(garbage.files), list(garbage.objects)
    if lease is not None:
        gone = set(_delete(repository, horizon, garbage, lease))
        files = [info for info in files if info.path in gone]
        objects = [info for info in objects if info.path in gone]
    return GcReport(
        dry_run=lease is None,
        keep_days=found.keep / DAY,
        horizon=datetime_of(horizon),
        runs=expired,
        objects=len(objects),
        files=len(files),
        bytes=sum(info.bytes for info in (*files, *objects)),
        young=garbage.young,
        kept_objects=len(garbage.needed.objects),
        kept_files=len(garbage.needed.files),
        kept_bytes=garbage.needed.bytes,
    )


def _delete(
    repository: Repository, horizon: Micros, garbage: _Garbage, lease: _Lease
) -> Iterator[str]:
    """Delete what is still garbage, and yield the paths.

    Each batch first renews the lease, then reads the names again: whoever brings something back
    either is seen here, or sees the lease.
    """
    listed, names, kept = garbage.listed, garbage.names, garbage.needed
    garbage_infos = (*garbage.files, *garbage.objects)
    for start in range(0, len(garbage_infos), _BATCH):
        lease.renew()
        listed = sight(repository, listed)
        now = _names(repository, horizon, listed)
        if now != names:
            names, kept = now, needed(roots_of(repository, horizon, now), repository.objects)
        for info in garbage_infos[start : start + _BATCH]:
            if info.path in kept.files or _is_kept(info.path, kept):
                continue
            # A writer that found it there has renewed it.
            modified = repository.blobs.modified_at(info.path)
            if modified is not None and modified < garbage.before:
                repository.blobs.delete(info.path)
                yield info.path


def _is_kept(path: str, kept: Needed) -> bool:
    return path.startswith("objects/") and _key(path) in kept.objects
