"""`dbt-vcs gc`: delete files that are no longer needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import Annotated, Final

import click

from dbt.adapters.vcs.commands.garbage import (
    Garbage,
    check_listings,
    find_garbage,
    find_names,
    find_needed,
    is_kept,
    record,
)
from dbt.adapters.vcs.commands.layout import Block, Span, counted, line, size
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, check_only, verb
from dbt.adapters.vcs.core.errors import InputError, NoSpaceError, NotFoundError, StorageError
from dbt.adapters.vcs.core.ids import Micros, datetime_of
from dbt.adapters.vcs.core.origins.results import Results
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import (
    DAY,
    EXPIRED,
    GRACE,
    Retention,
    change_retention,
    read_retention,
)
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs
from dbt.adapters.vcs.core.store.lease import Lease
from dbt.adapters.vcs.core.store.objects import Condemned
from dbt.adapters.vcs.core.store.opening import HEADER_PATH, PACKS
from dbt.adapters.vcs.iceberg.metadata_files import FOLDER
from dbt.adapters.vcs.workspace.run_branch import is_expired, runs

_BATCH: Final = 500
"""Deletions between two looks at the lease and the refs, if there are no more refs than that."""

_PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds to wait before a file is looked at and deleted again after the store failed."""

_FULL: Final = (
    "Deleted {} bytes of data files, but there is still no space left in {} to write down what "
    "was collected: on a disk that may also mean no inode. Nothing that is needed was deleted. "
    "Free some space, then run gc again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GcReport:
    """What a garbage collection did, or would do.

    Attributes:
        dry_run: True if nothing was deleted.
        keep_days: How many days unnamed history is kept.
        horizon: Rows that were last part of a branch before this time are deleted.
        runs: Branches of runs older than the retention period, which are deleted.
        objects: Number of manifests deleted.
        files: Number of data files deleted.
        metadata: Number of files deleted that were made for other engines.
        results: Number of remembered results deleted.
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
    metadata: int
    results: int
    bytes: int
    young: int
    kept_objects: int
    kept_files: int
    kept_bytes: int


def collect(
    repository: Repository, *, author: str, dry_run: bool = False, days: float | None = None
) -> GcReport:
    """Delete what is not needed; see `core.retention` for what is kept.

    It can be stopped at any time and run again, and others can write at the same time: files
    younger than a day are kept, because their writer may not have committed yet. All ages are by
    the store's time; a dry run, which writes nothing, takes this machine's.

    Args:
        repository: The repository.
        author: Who collects.
        dry_run: True to delete nothing.
        days: The retention that a dry run supposes; None for that of the repository.

    Raises:
        InputError: The number of days is out of range.
        FormatError: The repository has an older format.
        RetryError: Another garbage collection is running.
        DamagedError: A manifest that is needed is missing or damaged, or listings of refs
            contradict each other; nothing more was deleted.
        NoSpaceError: The disk is full, even after the deletion.
    """
    found = read_retention(repository)
    if dry_run:
        if days is not None:
            # The horizon stays: what was released before is not kept again by a longer retention.
            found = Retention(keep=_kept_for(days), horizon=found.horizon)
        # The store's time is read from a file that is written, and a dry run writes none.
        now = repository.clock()
        expired = tuple(
            run.name for run in runs(repository) if is_expired(repository, run, now, found.keep)
        )
        return _report(found, expired, find_garbage(repository, found, now, expired), None)
    # Decision 37: writers of an older format don't read the lists of what is condemned.
    repository.check_upgraded("gc")
    lease = Lease(repository.blobs)
    room: list[BlobInfo] = []
    try:
        # Even an empty file takes an inode, and a full disk may have none left.
        lease.begin()
    except NoSpaceError:
        # No ref names yet what a purge wrote that died.
        if repository.maintenance.running() is not None:
            raise
        now = _time_of(repository.blobs)
        _discard_unfinished(repository, now)
        room += _make_room(repository, find_garbage(repository, found, now), lease.begin)
    try:
        # No ref names what a purge wrote that died, so it would look like garbage.
        repository.maintenance.clear(lease)
        _discard_unfinished(repository, lease.now)
        expired = tuple(_expire(repository, found, author, lease.now))
        garbage = find_garbage(repository, found, lease.now)
        lease.check()
        # Before the first deletion, so that whoever misses rows learns that they were collected.
        is_written = _write_down(repository, garbage, author)
        _forget(repository, garbage, lease)
        condemned, id = Condemned(repository.blobs), ""

        # A function, since it is tried again until the list fits on the disk.
        def condemn() -> None:
            nonlocal id
            # Decision 37: written down before the first deletion, so that whoever finds one of
            # these files knows that it may go.
            id = condemned.condemn([info.path for info in garbage.infos], lease.now)

        if garbage.infos:
            room += _make_room(repository, garbage, condemn)
        gone, spared = _sweep(repository, garbage, lease)
        # Decision 37: no request was sent for these, so their names are as good as before.
        condemned.spare(id, spared)
        _pack_refs(repository)
        report = _report(found, expired, garbage, set(gone), room)
        # The disk was full before; what was deleted since may have made room.
        if not is_written and not _write_down(repository, garbage, author):
            raise NoSpaceError(_FULL.format(report.bytes, repository.uri))
        return report
    finally:
        lease.end()


def _time_of(blobs: Blobs) -> Micros:
    """Return the time of a store that is full: the age of a file is told by its clock only.

    Raises:
        StorageError: It has no space even for that, so nothing can be dated and deleted.
    """
    # To renew a file that is there takes neither space nor an inode.
    blobs.create_all({HEADER_PATH: blobs.get(HEADER_PATH)})
    return blobs.modified_at(HEADER_PATH) or Micros(0)


def _discard_unfinished(repository: Repository, now: Micros) -> None:
    """Delete what writes left that were killed: nobody else knows of these files."""
    for folder in ("data", "objects", "refs"):
        for info in list(repository.blobs.unfinished(folder)):
            # A younger one may belong to a write that is under way.
            if info.modified_at < now - GRACE:
                repository.blobs.delete(info.path)


def _make_room(
    repository: Repository, garbage: Garbage, write: Callable[[], object]
) -> Iterator[BlobInfo]:
    """Write something; on a full disk delete garbage for it, one file at a time, and yield it.

    Raises:
        NoSpaceError: There is no garbage left, and still no space.
    """
    # As in `Garbage.infos`: data files go before the manifests that name them.
    waiting = iter((*garbage.files, *garbage.metadata, *garbage.objects))
    while True:
        try:
            write()
            return
        except NoSpaceError as error:
            info = next(waiting, None)
            if info is None:
                raise NoSpaceError(
                    f"{error} Nothing more can be deleted: all that is left is needed, or "
                    "younger than a day. Free some space or some inodes on the disk, or let go "
                    "of history (`dbt-vcs gc --help`), then run gc again."
                ) from error
            # Before each file, since no list tells writers yet that it may go.
            seen = check_listings(repository, garbage.seen.listed, garbage.seen.now)
            kept = find_needed(
                repository, garbage.horizon, find_names(repository, garbage.horizon, seen)
            )
            # Its age last, since it takes a request to know.
            if not is_kept(info.path, kept) and _is_old(repository, info.path, garbage.before):
                # On no list yet: only a disk tells that it is full, and its deletions are done
                # when they return.
                repository.blobs.delete(info.path)
                yield info


def _write_down(repository: Repository, garbage: Garbage, author: str) -> bool:
    """Write down what was seen and what may be gone; False if the disk is full."""
    try:
        record(repository, garbage.seen.listed, author=author)
        change_retention(repository, author=author, action="collect", horizon=garbage.horizon)
    except NoSpaceError:
        # A full disk is what a collection is needed for, and it is safe without: the next one
        # compares its listings with an older record, and messages name an older horizon.
        return False
    return True


def set_retention(repository: Repository, days: float, *, author: str) -> Retention:
    """Set how many days unnamed history is kept.

    Raises:
        InputError: The number of days is out of range.
    """
    return change_retention(repository, author=author, action="set", keep=_kept_for(days))


def _kept_for(days: float) -> Micros:
    if not 0 <= days <= 36_500:
        raise InputError(f"Found a retention of {days:g} days; expected 0 to 36500.")
    return Micros(int(days * DAY))


def _expire(repository: Repository, found: Retention, author: str, now: Micros) -> Iterator[str]:
    """Delete the branches of runs older than the retention period, and yield their names."""
    for run in runs(repository):
        if not is_expired(repository, run, now, found.keep):
            continue
        try:
            repository.delete_branch(run.name, author=author, note=EXPIRED)
        except NotFoundError:
            # Another process discarded it in the meantime.
            continue
        except NoSpaceError:
            # The next collection does it.
            return
        yield run.name


def _pack_refs(repository: Repository) -> None:
    """Write packs of the refs that were read, so that whoever lists them needs few requests."""
    # Decision 52: a purge of an older version would not delete them.
    if repository.header.format < PACKS:
        return
    # The next collection does it, when there is space again.
    with suppress(NoSpaceError):
        for space in ("heads", "tags"):
            repository.refs.pack(space)


def _report(
    found: Retention,
    expired: tuple[str, ...],
    garbage: Garbage,
    gone: set[str] | None,
    room: Sequence[BlobInfo] = (),
) -> GcReport:
    """Return what was deleted, or would be if `gone` is None; `room` was deleted before."""
    # What was deleted to make room is gone when the sweep comes to it, so it counts by itself.
    files, objects, metadata = (
        [info for info in infos if gone is None or info.path in gone]
        + [info for info in room if info.path.startswith(folders)]
        for infos, folders in (
            (garbage.files, "data/"),
            (garbage.objects, ("objects/", "refs/")),
            (garbage.metadata, f"{FOLDER}/"),
        )
    )
    return GcReport(
        dry_run=gone is None,
        keep_days=found.keep / DAY,
        horizon=datetime_of(garbage.horizon),
        runs=expired,
        objects=len(objects),
        files=len(files),
        metadata=len(metadata),
        results=len(garbage.results),
        bytes=sum(info.bytes for info in (*files, *objects, *metadata))
        + sum(stored.bytes for stored in garbage.results),
        young=garbage.young,
        kept_objects=len(garbage.needed.objects),
        kept_files=len(garbage.needed.files),
        kept_bytes=garbage.needed.bytes,
    )


def _forget(repository: Repository, garbage: Garbage, lease: Lease) -> None:
    """Delete results; whoever is taking one of them computes instead."""
    # No list names them: one that is stored again and lost to a late request is computed again.
    results = Results(repository.blobs)
    for start in range(0, len(garbage.results), _BATCH):
        lease.check()
        for stored in garbage.results[start : start + _BATCH]:
            results.drop(stored.key)


def _sweep(repository: Repository, garbage: Garbage, lease: Lease) -> tuple[list[str], list[str]]:
    """Delete what is still garbage, and return the paths; then those that were spared.

    All of them were condemned before. Whoever brings something back either is seen here, where
    refs and ages are read again, or sees that it is condemned.
    """
    seen, names, kept = garbage.seen, garbage.names, garbage.needed
    gone: list[str] = []
    spared: list[str] = []
    # A look reads all refs, so in proportion to them it is no more work than the deletions.
    batch = max(_BATCH, sum(map(len, seen.listed.values())))
    for start in range(0, len(garbage.infos), batch):
        # Decision 37: once a batch is enough, since whoever brings something back after this look
        # finds it on the list.
        lease.check()
        seen = check_listings(repository, seen.listed, lease.now)
        now = find_names(repository, garbage.horizon, seen)
        # To follow names is slow, so only if one of them has changed.
        if now != names:
            names, kept = now, find_needed(repository, garbage.horizon, now)
        for info in garbage.infos[start : start + batch]:
            done = not is_kept(info.path, kept) and _delete(
                repository, info.path, garbage.before, lease
            )
            if done is not None:
                (gone if done else spared).append(info.path)
    return gone, spared


def _delete(repository: Repository, path: str, before: Micros, lease: Lease) -> bool | None:
    """Delete a file unless it is young: a writer that found it there has renewed it.

    Returns:
        True if it was deleted, False if no request was sent, None if one may be under way.
    """
    is_sent = False
    # The client repeats no request to delete, since the age of the file is looked at again before
    # each.
    for pause in (*_PAUSES, None):
        if not _is_old(repository, path, before):
            return None if is_sent else False
        # The pause may have outlasted the lease, and another collection may be at work.
        lease.check()
        try:
            is_sent = True
            repository.blobs.delete(path)
            return True
        except StorageError:
            if pause is None:
                raise
            time.sleep(pause)
    raise AssertionError("the last attempt raises")


def _is_old(repository: Repository, path: str, before: Micros) -> bool:
    """Return whether a file is there and nobody has renewed it since."""
    modified = repository.blobs.modified_at(path)
    return modified is not None and modified < before


def gc_text(report: GcReport) -> Iterator[Block]:
    """Yield what a garbage collection did."""
    for name in report.runs:
        yield line(
            "Would discard " if report.dry_run else "Discarded ",
            Span(name, "name"),
            ", which is older than the retention period.",
        )
    verb = "Would delete" if report.dry_run else "Deleted"
    more = f", {counted(report.metadata, 'file')} for other engines" if report.metadata else ""
    if report.results:
        more += f", {counted(report.results, 'remembered result')}"
    yield line(
        f"{verb} {counted(report.files, 'data file')} and "
        f"{counted(report.objects, 'manifest')}{more}, {size(report.bytes)}."
    )
    yield line(
        f"Kept {counted(report.kept_files, 'data file')} ({size(report.kept_bytes)}) and "
        f"{counted(report.kept_objects, 'manifest')}; unnamed history is kept for "
        f"{report.keep_days:g} days."
    )
    if report.young:
        yield line(
            f"Left {counted(report.young, 'unused file')} alone that may belong to a running "
            "writer; a later gc checks again."
        )


def _check_gc(*, dry_run: bool, retention: float | None, force: bool) -> None:
    if retention is not None and not dry_run:
        check_only("--retention", "retention", "force")
    elif force:
        raise click.UsageError("--force can only be used with --retention, without --dry-run.")


@verb(check=_check_gc)
def gc_command(
    session: CommandSession,
    *,
    dry_run: Annotated[bool, "Show what would be deleted, and delete nothing."] = False,
    retention: Annotated[
        float | None,
        Option("Set how long unnamed history is kept, and delete nothing yet.", metavar="DAYS"),
    ] = None,
    force: Annotated[bool, "Shorten the retention without confirmation."] = False,
) -> None:
    """Delete files that are no longer needed.

    Keeps the rows of branches, tags, named snapshots, merge bases, and all history younger than
    the retention period. Commits and manifests are kept for as long as they are in the history of
    anything. --retention asks before it shortens the retention; with --dry-run, it shows what
    that would delete, and sets nothing.
    """
    if retention is not None and not dry_run:
        _confirm(session, retention, force)
        found = set_retention(session.repository, retention, author=session.author)
        days = f"{found.keep / DAY:g}"
        session.show(found, [line(f"Unnamed history is kept for {days} days.")])
        return
    report = collect(session.repository, author=session.author, dry_run=dry_run, days=retention)
    session.show(report, gc_text(report))


def _confirm(session: CommandSession, days: float, force: bool) -> None:
    """Ask before the retention is shortened; refuse if nobody confirms it."""
    # First, since one out of range can be neither shown nor forced.
    _kept_for(days)
    before = read_retention(session.repository).keep / DAY
    if force or days >= before:
        return
    told = (
        f"{days:g} days are shorter than the retention of now, {before:g} days: what only history "
        "between the two keeps can no longer be restored after the next gc. To see how much that "
        f"is: dbt-vcs gc --dry-run --retention {quote(f'{days:g}')}. To keep something, give it "
        "a name first: dbt-vcs tag create NAME REVISION."
    )
    # It would be drawn over the question.
    session.progress.end()
    if session.can_ask:
        session.warn([told])
        if click.confirm("Shorten it?", err=True):
            return
        told = ""
    raise InputError(
        f"{told} Nothing was changed. To do it anyway: {session.spelled('--force')}".lstrip()
    )
