"""Garbage: what a collection may delete, what it must keep, and which refs it has seen."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dbt.adapters.vcs.core.branches import ROOT
from dbt.adapters.vcs.core.errors import DamagedError, listed
from dbt.adapters.vcs.core.ids import Micros, SnapshotId
from dbt.adapters.vcs.core.maintenance import PINS
from dbt.adapters.vcs.core.origins.results import Result, Results, StoredResult
from dbt.adapters.vcs.core.plan.collect import Needed
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import (
    GRACE,
    OPTIONS,
    Listed,
    NamedRoots,
    Retention,
    SeenRefs,
    consumed_versions,
    listed_refs,
    names_in,
    names_of,
    needed_by_names,
)
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs, each
from dbt.adapters.vcs.core.store.branch_names import quote, unquote
from dbt.adapters.vcs.core.store.moves import Space
from dbt.adapters.vcs.core.store.objects import ObjectStore, object_key
from dbt.adapters.vcs.iceberg.export_folder import exported_versions
from dbt.adapters.vcs.iceberg.metadata_files import FOLDER


@dataclass(frozen=True, slots=True)
class Garbage:
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


def find_garbage(
    repository: Repository, found: Retention, now: Micros, expired: Collection[str] = ()
) -> Garbage:
    """Return what is garbage: read the names, then what they need, then list the files.

    Branches in `expired` count as deleted.
    """
    # One day more than promised: what was read within the retention period may be committed later.
    horizon = Micros(max(now - found.keep - GRACE, 0))
    before = Micros(now - GRACE)
    seen = check_listings(repository, recorded(repository), now)
    # Only a dry run has such branches: a collection has deleted them before it looks.
    heads = set(seen.listed.get("heads", ())).difference(expired)
    seen = seen._replace(listed={**seen.listed, "heads": heads})
    names = find_names(repository, horizon, seen)
    kept = find_needed(repository, horizon, names)
    # Listed after the names were read: a file that comes in between is too young to be deleted.
    objects = [
        info
        for info in repository.blobs.walk("objects")
        if object_key(info.path) not in kept.objects
    ]
    files = [info for info in repository.blobs.walk("data") if info.path not in kept.files]
    old = [info for info in objects if info.modified_at < before]
    done = [info for info in files if info.modified_at < before]
    # A pin holds for a day: whoever wrote it has named the versions by then, or has died.
    pins = _old_pins(repository, before)
    young = len(objects) - len(old) + len(files) - len(done)
    stale = (info for info in repository.blobs.walk(FOLDER) if is_stale(info.path, kept))
    return Garbage(
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
    """Yield the moves of pins of which even the last is old, the last one first."""
    logs: dict[str, list[BlobInfo]] = {}
    for info in repository.blobs.walk(f"refs/{PINS}"):
        logs.setdefault(info.path.rpartition("/")[0], []).append(info)
    for moves in logs.values():
        # A purge moves pins, too, though whoever held them is long gone. A log that lacks its
        # beginning can't be read, so a log is deleted as a whole, and from its end.
        if all(info.modified_at < before for info in moves):
            yield from sorted(moves, key=lambda info: info.path, reverse=True)


def find_names(repository: Repository, horizon: Micros, seen: SeenRefs) -> NamedRoots:
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
    """Return whether a version that an export names is in the repository."""
    try:
        repository.objects.snapshot(id)
    except DamagedError:
        # An export needs nothing that the repository itself has let go of, as after a purge.
        return False
    return True


def find_needed(repository: Repository, horizon: Micros, names: NamedRoots) -> Needed:
    """Return what is kept.

    Raises:
        DamagedError: Something in what is kept or in its history is missing or damaged.
    """
    # Other engines read an export whatever its branch shows by now.
    others = {id for id in exported_versions(repository.blobs) if _is_known(repository, id)}
    # Decision 32: the next build of a table reads what changed since the versions that it
    # consumed.
    others |= consumed_versions(repository, names)
    try:
        return needed_by_names(repository, horizon, names, others)
    except DamagedError as error:
        raise DamagedError(
            f"{error} What it names can't be told from garbage, so nothing more was deleted. What "
            "can be done: dbt-vcs repair"
        ) from error


def is_kept(path: str, kept: Needed) -> bool:
    """Return whether a file has to stay: of rows, a manifest, or metadata of rows that stay."""
    if path.startswith(f"{FOLDER}/"):
        return not is_stale(path, kept)
    return path in kept.files or (path.startswith("objects/") and object_key(path) in kept.objects)


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


_NAME: Final = "collected"


def check_listings(repository: Repository, known: Listed, now: Micros) -> SeenRefs:
    """Return the refs at a time of the store, with those that were known before.

    Raises:
        DamagedError: The store's listings contradict each other, or what was known.
    """
    # The same names in two ways, folder by folder and as one listing: what either of them lacks
    # shows that the store can't be trusted.
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
            # Logs are never deleted, so the names of refs only become more.
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
    last = repository.refs.read(OPTIONS, _NAME)
    state: Mapping[str, str] = {} if last is None else last.move.state
    return {space: set(map(unquote, names.split())) for space, names in state.items()}


def record(repository: Repository, listed: Listed, *, author: str) -> None:
    """Write down the refs that keep something now, for the next collection.

    If another collection does so at the same time, one of the two records is enough.
    """
    refs = repository.refs
    there = {
        space: [ref.name for ref in refs.read_listed(space, None, names) if ref.move.commit]
        for space, names in listed.items()
        if space != PINS
    }
    state = {space: " ".join(map(quote, names)) for space, names in there.items() if names}
    last = refs.read(OPTIONS, _NAME)
    # Else each collection would make the log longer.
    if last is None or last.move.state != state:
        names_in(repository, OPTIONS).follow(
            last, _NAME, None, author=author, action="collect", state=state
        )


def _keeps(space: Space) -> bool:
    return space in ("heads", "tags", PINS) or space.startswith(f"{ROOT}/")


def _warning(repository: Repository, space: Space, missing: list[str], who: str) -> str:
    return (
        f"The listing of refs/{space} in {repository.uri} lacks {listed(missing, 3)}, which "
        f"{who}: the store lists too little, or files were removed, and what is needed could be "
        "deleted. Nothing more was deleted. Check the store and run: dbt-vcs fsck"
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

    # Newest first: of equal results the first one seen stays.
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
    """Return whether the version of a result can be taken after the collection."""
    if result.kind != "table":
        return (result.kind, result.version) in kept.objects
    if result.version in kept.whole:
        return True
    if ("snapshot", result.version) not in kept.objects:
        return False
    # Another version may keep the rows, which has the same segments: one that was made from it in
    # the same node, or that was taken from it on another branch.
    segments = objects.snapshot(SnapshotId(result.version)).segments
    return all(ref.id in kept.whole for ref in segments)
