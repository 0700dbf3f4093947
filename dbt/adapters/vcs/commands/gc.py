"""`dbt-vcs gc`: delete files that are no longer needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final

import click

from dbt.adapters.vcs.commands.layout import Block, Span, counted, line, size
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, check_only, verb
from dbt.adapters.vcs.core.branches import ROOT
from dbt.adapters.vcs.core.collection import (
    EXPIRED,
    Listed,
    NamedRoots,
    SeenRefs,
    consumed_versions,
    listed_refs,
    names_of,
    roots_of,
)
from dbt.adapters.vcs.core.errors import (
    DamagedError,
    InputError,
    NoSpaceError,
    NotFoundError,
    StorageError,
)
from dbt.adapters.vcs.core.ids import Micros, SnapshotId, datetime_of
from dbt.adapters.vcs.core.maintenance import PINS
from dbt.adapters.vcs.core.origins.results import Result, Results, StoredResult
from dbt.adapters.vcs.core.plan.collect import Needed, needed
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import (
    DAY,
    GRACE,
    Retention,
    change_retention,
    names_in,
    read_retention,
)
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs
from dbt.adapters.vcs.core.store.branch_names import quote, unquote
from dbt.adapters.vcs.core.store.condemned import Condemned
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.core.store.lease import Lease
from dbt.adapters.vcs.core.store.objects import ObjectStore, object_key
from dbt.adapters.vcs.core.store.refs import Space
from dbt.adapters.vcs.iceberg.export_folder import exported_versions
from dbt.adapters.vcs.iceberg.metadata_files import FOLDER
from dbt.adapters.vcs.workspace.run_branch import is_expired, runs

_BATCH: Final = 500
"""Number of deletions between two heartbeats."""

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
    """Delete what is not needed; see `core.collection` for what is kept.

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
            found = Retention(keep=_kept_for(days), horizon=found.horizon)
        now = repository.clock()
        expired = tuple(
            run.name for run in runs(repository) if is_expired(repository, run, now, found.keep)
        )
        return _report(found, expired, _find_garbage(repository, found, now, expired), None)
    repository.check_upgraded("gc")
    lease = Lease(repository.blobs)
    room: list[BlobInfo] = []
    try:
        lease.begin()
    except NoSpaceError:
        # No ref names yet what a purge wrote that died.
        if repository.maintenance.running() is not None:
            raise
        now = repository.clock()
        _discard_unfinished(repository, now)
        room += _make_room(repository, _find_garbage(repository, found, now), lease.begin)
    try:
        repository.maintenance.clear(lease)
        _discard_unfinished(repository, lease.now)
        expired = tuple(_expire(repository, found, author, lease.now))
        garbage = _find_garbage(repository, found, lease.now)
        lease.check()
        is_written = _write_down(repository, garbage, author)
        _forget(repository, garbage, lease)
        condemned, id = Condemned(repository.blobs), ""

        def condemn() -> None:
            nonlocal id
            # Decision 37: written down before the first deletion, so that whoever finds one of
            # these files knows that it may go.
            id = condemned.condemn([info.path for info in garbage.infos], lease.now)

        if garbage.infos:
            room += _make_room(repository, garbage, condemn)
        gone, spared = _sweep(repository, garbage, lease)
        condemned.spare(id, spared)
        report = _report(found, expired, garbage, set(gone), room)
        if not is_written and not _write_down(repository, garbage, author):
            raise NoSpaceError(_FULL.format(report.bytes, repository.uri))
        return report
    finally:
        lease.end()


def _discard_unfinished(repository: Repository, now: Micros) -> None:
    """Delete what writes left that were killed: nobody else knows of these files."""
    for folder in ("data", "objects", "refs"):
        for info in list(repository.blobs.unfinished(folder)):
            if info.modified_at < now - GRACE:
                repository.blobs.delete(info.path)


def _make_room(
    repository: Repository, garbage: _Garbage, write: Callable[[], object]
) -> Iterator[BlobInfo]:
    """Write something; on a full disk delete garbage for it, one file at a time, and yield it.

    These files are deleted before any list names them. Only a disk tells that it is full, and
    its deletions are done when they return.

    Raises:
        NoSpaceError: There is no garbage left, and still no space.
    """
    # As in `_Garbage.infos`: data files go before the manifests that name them.
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
                    "of history (dbt-vcs gc --help), then run gc again."
                ) from error
            seen = check_listings(repository, garbage.seen.listed, repository.clock())
            kept = _find_needed(
                repository, garbage.horizon, _names(repository, garbage.horizon, seen)
            )
            is_kept = info.path in kept.files or _is_kept(info.path, kept)
            if not is_kept and _is_old(repository, info.path, garbage.before):
                repository.blobs.delete(info.path)
                yield info


def _write_down(repository: Repository, garbage: _Garbage, author: str) -> bool:
    """Write down what was seen and what may be gone; False if the disk is full.

    A full disk is what a collection is needed for, and it is safe without: the next one compares
    its listings with an older record, and messages name an older horizon.
    """
    try:
        record(repository, garbage.seen.listed, author=author)
        change_retention(repository, author=author, action="collect", horizon=garbage.horizon)
    except NoSpaceError:
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


@dataclass(frozen=True, slots=True)
class _Garbage:
    """What marking found.

    Attributes:
        horizon: Rows that were last part of a branch before this time are garbage.
        before: Only files written before this time are garbage.
        seen: The refs that were read.
        names: What they named.
        needed: What that needs.
        objects: Manifests and pins that are garbage.
        files: Data files that are garbage.
        metadata: Files for other engines that are garbage.
        results: Remembered results that are garbage.
        young: Number of files that are not needed, but too young.
    """

    horizon: Micros
    before: Micros
    seen: SeenRefs
    names: NamedRoots
    needed: Needed
    objects: tuple[BlobInfo, ...]
    files: tuple[BlobInfo, ...]
    metadata: tuple[BlobInfo, ...]
    results: tuple[StoredResult, ...]
    young: int

    @property
    def infos(self) -> tuple[BlobInfo, ...]:
        """All that is to be deleted but results.

        Data files first: as long as a manifest exists, fsck can report its files.
        """
        return (*self.files, *self.objects, *self.metadata)


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


def _find_garbage(
    repository: Repository, found: Retention, now: Micros, expired: Collection[str] = ()
) -> _Garbage:
    """Return what is garbage: read the names, then what they need, then list the files.

    Branches in `expired` count as deleted.
    """
    # One day more than promised: what was read within the retention period may be committed later.
    horizon = Micros(max(now - found.keep - GRACE, 0))
    before = Micros(now - GRACE)
    seen = check_listings(repository, recorded(repository), now)
    heads = set(seen.listed.get("heads", ())).difference(expired)
    seen = seen._replace(listed={**seen.listed, "heads": heads})
    names = _names(repository, horizon, seen)
    kept = _find_needed(repository, horizon, names)
    # Listed after the names were read: a file that comes in between is too young to be deleted.
    objects = [
        info
        for info in repository.blobs.walk("objects")
        if object_key(info.path) not in kept.objects
    ]
    files = [info for info in repository.blobs.walk("data") if info.path not in kept.files]
    old = [info for info in objects if info.modified_at < before]
    done = [info for info in files if info.modified_at < before]
    pins = _old_pins(repository, before)
    young = len(objects) - len(old) + len(files) - len(done)
    stale = (info for info in repository.blobs.walk(FOLDER) if is_stale(info.path, kept))
    return _Garbage(
        horizon=horizon,
        before=before,
        seen=seen,
        names=names,
        needed=kept,
        objects=(*old, *pins),
        files=tuple(done),
        metadata=tuple(info for info in stale if info.modified_at < before),
        results=tuple(
            old_results(repository.blobs, repository.objects, kept, before=before, horizon=horizon)
        ),
        young=young,
    )


def _old_pins(repository: Repository, before: Micros) -> Iterator[BlobInfo]:
    """Yield the moves of pins of which even the last is old, the last one first.

    A purge moves pins, too, though whoever held them is long gone. A log that lacks its beginning
    can't be read: it goes as a whole, and one of which a part is left has lost its end.
    """
    logs: dict[str, list[BlobInfo]] = {}
    for info in repository.blobs.walk(f"refs/{PINS}"):
        logs.setdefault(info.path.rpartition("/")[0], []).append(info)
    for moves in logs.values():
        if all(info.modified_at < before for info in moves):
            yield from sorted(moves, key=lambda info: info.path, reverse=True)


def _names(repository: Repository, horizon: Micros, seen: SeenRefs) -> NamedRoots:
    """Return the names in use.

    Raises:
        DamagedError: The default branch is not among them, so a log is incomplete.
    """
    found = names_of(repository, horizon, None, seen)
    default = repository.default_branch
    head = repository.refs.read("heads", default)
    if head is None or head.move.commit is None or head.move.commit not in found.lately:
        # A branch that has just moved is in the next reading.
        found = names_of(repository, horizon, None, seen)
        if head is None or head.move.commit not in found.lately:
            raise DamagedError(
                f"The default branch {default} of {repository.uri} is not among the branches that "
                "were read. Nothing more was deleted. Check the store and run: dbt-vcs fsck"
            )
    return found


def _is_known(repository: Repository, id: SnapshotId) -> bool:
    """Return whether a version that an export names is in the repository.

    An export needs nothing that the repository itself has let go of, as after a purge.
    """
    try:
        repository.objects.snapshot(id)
    except DamagedError:
        return False
    return True


def _find_needed(repository: Repository, horizon: Micros, names: NamedRoots) -> Needed:
    """Return what is kept.

    Raises:
        DamagedError: Something in what is kept or in its history is missing or damaged.
    """
    roots = roots_of(repository, horizon, names)
    shown = exported_versions(repository.blobs) - set(roots.versions)
    known = {id for id in shown if _is_known(repository, id)}
    known |= consumed_versions(repository, names)
    try:
        return needed(replace(roots, versions={*roots.versions, *known}), repository.objects)
    except DamagedError as error:
        raise DamagedError(
            f"{error} What it names can't be told from garbage, so nothing more was deleted. What "
            "can be done: dbt-vcs repair"
        ) from error


def _report(
    found: Retention,
    expired: tuple[str, ...],
    garbage: _Garbage,
    gone: set[str] | None,
    room: Sequence[BlobInfo] = (),
) -> GcReport:
    """Return what was deleted, or would be if `gone` is None; `room` was deleted before."""
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


def _forget(repository: Repository, garbage: _Garbage, lease: Lease) -> None:
    """Delete results; whoever is taking one of them computes instead.

    No list names them: one that is stored again and lost to a late request is computed again.
    """
    results = Results(repository.blobs)
    for start in range(0, len(garbage.results), _BATCH):
        lease.check()
        for stored in garbage.results[start : start + _BATCH]:
            results.drop(stored.key)


def _sweep(repository: Repository, garbage: _Garbage, lease: Lease) -> tuple[list[str], list[str]]:
    """Delete what is still garbage, and return the paths; then those that were spared.

    All of them were condemned before. Whoever brings something back either is seen here, where
    refs and ages are read again, or sees that it is condemned.
    """
    seen, names, kept = garbage.seen, garbage.names, garbage.needed
    gone: list[str] = []
    spared: list[str] = []
    for start in range(0, len(garbage.infos), _BATCH):
        lease.check()
        seen = check_listings(repository, seen.listed, lease.now)
        now = _names(repository, garbage.horizon, seen)
        # To follow names is slow, so only if one of them has changed.
        if now != names:
            names, kept = now, _find_needed(repository, garbage.horizon, now)
        for info in garbage.infos[start : start + _BATCH]:
            is_kept = info.path in kept.files or _is_kept(info.path, kept)
            done = not is_kept and _delete(repository, info.path, garbage.before, lease)
            if done is not None:
                (gone if done else spared).append(info.path)
    return gone, spared


def _delete(repository: Repository, path: str, before: Micros, lease: Lease) -> bool | None:
    """Delete a file unless it is young: a writer that found it there has renewed it.

    The client repeats no request to delete. Here the file is looked at again first.

    Returns:
        True if it was deleted, False if no request was sent, None if one may be under way.
    """
    is_sent = False
    for pause in (*_PAUSES, None):
        if not _is_old(repository, path, before):
            return None if is_sent else False
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


def _is_kept(path: str, kept: Needed) -> bool:
    if path.startswith(f"{FOLDER}/"):
        return not is_stale(path, kept)
    return path.startswith("objects/") and object_key(path) in kept.objects


_ID: Final = 64
"""Characters of the id of an object."""


def is_stale(path: str, kept: Needed) -> bool:
    """Return whether a file is metadata that nobody needs as long as only these rows are kept.

    It never is the metadata of a version whose rows are kept, nor anything that such metadata
    names. Files that don't say in their names what they are about are stale with their table.
    What an export or a catalog shows is no matter of this: its versions are kept.
    """
    if not path.startswith(f"{FOLDER}/"):
        return False
    kind, owner, *inner = path.split("/")[1:]
    if kind == "views":
        return ("view", owner) not in kept.objects
    if kind != "tables":
        return False
    if owner not in kept.whole:
        return True
    if inner[0] == "metadata":
        return inner[2] not in kept.whole
    about = inner[-1].partition("-")[0]
    return inner[0] in ("lists", "manifests") and len(about) == _ID and about not in kept.whole


_SPACE: Final = "options"
_NAME: Final = "collected"
_SHOWN: Final = 3


def check_listings(repository: Repository, known: Listed, now: Micros) -> SeenRefs:
    """Return the refs at a time of the store, with those that were known before.

    Raises:
        DamagedError: The store's listings contradict each other, or what was known.
    """
    walked: dict[Space, set[str]] = {}
    written: dict[tuple[Space, str, int], Micros] = {}
    for info in repository.blobs.walk("refs"):
        _, *above, folder, number = info.path.split("/")
        space, name = "/".join(above), unquote(folder)
        walked.setdefault(space, set()).add(name)
        written[space, name, int(number)] = info.modified_at
    # After the other listing, so what was created meanwhile is in this one.
    listed = {space: set(names) for space, names in listed_refs(repository).items()}
    for earlier, who in ((known, "an earlier look showed"), (walked, "another listing shows")):
        for space, names in earlier.items():
            if not _keeps(space):
                continue
            missing = sorted(set(names) - listed.get(space, set()))
            # Pins are deleted when nobody can need them any more.
            if space != PINS and missing:
                raise DamagedError(_warning(repository, space, missing, who))
            listed.setdefault(space, set()).update(names)
    default = repository.default_branch
    if default not in listed.get("heads", ()):
        raise DamagedError(_warning(repository, "heads", [default], "the repository must have"))
    return SeenRefs(listed, written, now)


def recorded(repository: Repository) -> Listed:
    """Return the refs that the last collection wrote down; none if there was none."""
    last = repository.refs.read(_SPACE, _NAME)
    state: Mapping[str, str] = {} if last is None else last.move.state
    return {space: set(map(unquote, names.split())) for space, names in state.items()}


def record(repository: Repository, listed: Listed, *, author: str) -> None:
    """Write down the refs that keep something now, for the next collection.

    If another collection does so at the same time, one of the two records is enough.
    """
    refs = repository.refs
    there = {
        space: [ref.name for ref in refs.read_all(space, None, names) if ref.move.commit]
        for space, names in listed.items()
        if space != PINS
    }
    state = {space: " ".join(map(quote, names)) for space, names in there.items() if names}
    last = refs.read(_SPACE, _NAME)
    if last is None or last.move.state != state:
        names_in(repository, _SPACE).follow(
            last, _NAME, None, author=author, action="collect", state=state
        )


def _keeps(space: Space) -> bool:
    return space in ("heads", "tags", PINS) or space.startswith(f"{ROOT}/")


def _warning(repository: Repository, space: Space, missing: list[str], who: str) -> str:
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    names = ", ".join(missing[:_SHOWN])
    return (
        f"The listing of refs/{space} in {repository.uri} lacks {names}{more}, which {who}: the "
        "store lists too little, or files were removed, and what is needed could be deleted. "
        "Nothing more was deleted. Check the store and run: dbt-vcs fsck"
    )


def old_results(
    blobs: Blobs, objects: ObjectStore, kept: Needed, *, before: Micros, horizon: Micros
) -> Sequence[StoredResult]:
    """Return the results that a collection deletes.

    They keep nothing, so what is deleted too early is only computed again.

    | result                         | deleted once                                        |
    |--------------------------------|-----------------------------------------------------|
    | a version of a table           | its manifest or its rows are not kept               |
    | a view or a function           | its text is not kept                                |
    | the same version once more     | it is older than the retention period, and another  |
    |                                | result of the node has the version                  |
    | an answer, columns, "nothing"  | it is older than the retention period               |
    | one that can't be read         | it is no file of a running writer                   |

    A result that is taken is stored again every other day, so one that is in use is young.

    Args:
        blobs: The repository's store.
        objects: Its manifests.
        kept: What the collection keeps.
        before: Results that are younger stay.
        horizon: Where the retention period begins.
    """
    results = Results(blobs)

    stored = sorted(results.all(), key=lambda item: item.modified_at, reverse=True)
    found = each(lambda item: results.find(item.key), stored)
    seen: set[tuple[str | None, ...]] = set()
    old: list[StoredResult] = []
    for item, result in zip(stored, found, strict=True):
        if result is None:
            is_old = True
        elif not result.version:
            is_old = item.modified_at < horizon
        else:
            same = (result.node, result.kind, result.target, result.version)
            is_again = same in seen and item.modified_at < horizon
            seen.add(same)
            is_old = is_again or not _is_held(result, objects, kept)
        if is_old and item.modified_at < before:
            old.append(item)
    return old


def _is_held(result: Result, objects: ObjectStore, kept: Needed) -> bool:
    """Return whether the version of a result can be taken after the collection.

    The rows of a table's version may be kept by another version that has the same segments: one
    that was made from it in the same node, or that was taken from it on another branch.
    """
    if result.kind != "table":
        return (result.kind, result.version) in kept.objects
    if result.version in kept.whole:
        return True
    if ("snapshot", result.version) not in kept.objects:
        return False
    segments = objects.snapshot(SnapshotId(result.version)).segments
    return all(ref.id in kept.whole for ref in segments)


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


def shorter_text(before: float, days: float) -> str:
    """Return what a shorter retention does, both in days, and how to see it first."""
    return (
        f"{days:g} days are shorter than the retention of now, {before:g} days: what only history "
        "between the two keeps can no longer be restored after the next gc. To see how much that "
        f"is: dbt-vcs gc --dry-run --retention {days:g}. To keep something, give it a name first: "
        "dbt-vcs tag create NAME REVISION."
    )


def retention_text(days: float) -> Iterator[Block]:
    """Yield the line for a retention that was set."""
    yield line(f"Unnamed history is kept for {days:g} days.")


@verb()
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
        check_only("--retention", "retention", "force")
        _confirm(session, retention, force)
        found = set_retention(session.repository, retention, author=session.author)
        session.show(found, retention_text(found.keep / DAY))
        return
    if force:
        raise click.UsageError("--force can only be used with --retention, without --dry-run.")
    report = collect(session.repository, author=session.author, dry_run=dry_run, days=retention)
    session.show(report, gc_text(report))


def _confirm(session: CommandSession, days: float, force: bool) -> None:
    """Ask before the retention is shortened.

    Raises:
        InputError: It was not confirmed, or there is nobody to ask.
    """
    before = read_retention(session.repository).keep / DAY
    if force or days >= before:
        return
    told = shorter_text(before, days)
    session.progress.end()
    if session.can_ask:
        session.warn([told])
        if click.confirm("Shorten it?", err=True):
            return
        told = ""
    raise InputError(
        f"{told} Nothing was changed. To do it anyway: {session.spelled('--force')}".lstrip()
    )
