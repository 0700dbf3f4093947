"""Old history: what a purge replaced, deleted at once instead of after the retention."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, Micros, SegmentId, SnapshotId, TreeId, datetime_of
from dbt.adapters.vcs.core.model import Snapshot, Tree
from dbt.adapters.vcs.core.plan.collect import Roots, files_of, needed
from dbt.adapters.vcs.core.presence import files_of_versions
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import GRACE, check_present
from dbt.adapters.vcs.core.store.blobs import BlobInfo
from dbt.adapters.vcs.core.store.forwards import Forwards
from dbt.adapters.vcs.core.store.objects import object_key
from dbt.adapters.vcs.core.store.set_aside import ASIDE
from dbt.adapters.vcs.iceberg.export_folder import EXPORTS
from dbt.adapters.vcs.iceberg.metadata_place import FOLDER
from dbt.adapters.vcs.verbs.erasing.reached import Reached, ordered, reach

_ORDER: Final = ("commit", "snapshot", "", "tree", "view", "function", "segment")
"""Kinds in the order in which they are deleted, data files between them.

What earlier moves of logs name goes first, since the new history counts once it is gone. Segments
go last: they tell which files belong to the old history if this process dies.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What was deleted.

    Attributes:
        files: Number of data files.
        objects: Number of manifests.
        young: Number of files that nothing refers to and that may belong to a running writer.
        young_until: When the last of these is old enough to be collected.
    """

    files: int = 0
    objects: int = 0
    young: int = 0
    young_until: datetime | None = None


def sweep(
    repository: Repository,
    reached: Reached,
    versions: Mapping[SnapshotId, Snapshot],
    forwards: Forwards,
) -> Swept:
    """Delete what was replaced, and garbage of the same tables that is old enough.

    Args:
        repository: The repository.
        reached: The new history.
        versions: The versions of the purged tables in it.
        forwards: What was replaced.

    Raises:
        DamagedError: Another writer took up an old version in the meantime.
    """
    loose, old_files, folders = _loose(repository, reached, versions, forwards)
    _forget_metadata(repository, folders)
    before = repository.clock() - GRACE
    gone: list[BlobInfo] = []
    replaced: set[str] = set()
    young: list[BlobInfo] = []
    for info in loose:
        is_old = info.path in old_files or _key(info)[1] in forwards.old(_key(info)[0])
        if is_old:
            replaced.add(info.path)
        (gone if is_old or info.modified_at < before else young).append(info)
    aside = list(_aside(repository, folders))
    replaced.update(aside)
    for path in (*_in_order(repository, gone), *aside):
        # What a writer found there, it has renewed.
        if (modified := repository.blobs.modified_at(path)) is not None and (
            path in replaced or modified < before
        ):
            repository.blobs.delete(path)
    _check(repository, reached, forwards)
    last = max((info.modified_at for info in young), default=None)
    return Swept(
        files=sum(info.path.startswith("data/") for info in gone),
        objects=sum(info.path.startswith("objects/") for info in gone),
        young=len(young),
        young_until=None if last is None else datetime_of(Micros(last + GRACE)),
    )


def _loose(
    repository: Repository,
    reached: Reached,
    versions: Mapping[SnapshotId, Snapshot],
    forwards: Forwards,
) -> tuple[list[BlobInfo], set[str], set[str]]:
    """Return what the new history doesn't need, the old files in it, and the tables' folders."""
    objects = list(repository.blobs.walk("objects"))
    files = files_of_versions(repository.objects, list(versions))
    old_files = _old_files(repository, objects, forwards)
    folders = {"/".join(path.split("/")[:2]) for path in (*files, *old_files)}
    folders |= {f"data/{snapshot.table}" for snapshot in versions.values()}
    kept = _kept(repository, reached)
    loose = [info for info in objects if _key(info) not in kept]
    for folder in sorted(folders):
        loose += [info for info in repository.blobs.walk(folder) if info.path not in files]
    return loose, old_files, folders


def _forget_metadata(repository: Repository, folders: Collection[str]) -> None:
    """Delete what was made for other engines and has bounds of old rows, or names old versions."""
    tables = {folder.rpartition("/")[2] for folder in folders}
    for folder in (*(f"{FOLDER}/tables/{table}" for table in sorted(tables)), EXPORTS):
        for info in list(repository.blobs.walk(folder)):
            repository.blobs.delete(info.path)


def _key(info: BlobInfo) -> tuple[str, str]:
    """Return the kind and id of an object, from its path."""
    return object_key(info.path) if info.path.startswith("objects/") else ("", "")


def _kept(repository: Repository, reached: Reached) -> set[tuple[str, str]]:
    """Return the kind and id of every object in the new history."""
    found = needed(Roots(commits=reached.commits), repository.objects).objects
    for id in reached.snapshots:
        found.add(("snapshot", id))
        found |= {("segment", ref.id) for ref in repository.objects.snapshot(id).segments}
    return found


def _old_files(
    repository: Repository, objects: Collection[BlobInfo], forwards: Forwards
) -> set[str]:
    """Return the files that only the old history can name, of the segments that are left of it."""
    found: set[str] = set()
    replaced = forwards.old("segment")
    for kind, id in map(_key, objects):
        if kind == "segment" and id in replaced:
            try:
                found.update(files_of(repository.objects.segment(SegmentId(id))))
            except DamagedError:
                # It names nothing that can be found by it; collection sees to its files.
                continue
    return found


def _in_order(repository: Repository, gone: Iterable[BlobInfo]) -> Iterator[str]:
    """Yield paths in an order in which this process may die: nothing names what is gone."""
    by_kind: dict[str, dict[str, list[str]]] = {kind: {} for kind in _ORDER}
    for info in gone:
        kind, id = _key(info)
        by_kind[kind].setdefault(id or info.path, []).append(info.path)
    for kind, paths in by_kind.items():
        parents = _parents_in(repository, kind, paths)
        # Whatever comes from others goes before them.
        for id in reversed(ordered(paths, parents)):
            yield from paths[id]


def _parents_in(
    repository: Repository, kind: str, known: Collection[str]
) -> Callable[[str], Sequence[str]]:
    """Return what gives the known parents of an object of a kind; none of one that is damaged."""
    objects = repository.objects

    def parents(id: str) -> Sequence[str]:
        found: Sequence[str] = ()
        try:
            if kind == "commit":
                found = objects.commit(CommitId(id)).parents
            elif kind == "snapshot":
                found = objects.snapshot(SnapshotId(id)).parents
        except DamagedError:
            return ()
        return [parent for parent in found if parent in known]

    return parents


def _aside(repository: Repository, folders: Collection[str]) -> Iterator[str]:
    """Yield files of these tables that repairs took away, and manifests, which have bounds."""
    for info in list(repository.blobs.walk(ASIDE)):
        original = info.path.split("/", 2)[2]
        is_data = "/".join(original.split("/")[:2]) in folders
        if is_data or original.startswith("objects/segment/"):
            yield info.path


def _check(repository: Repository, before: Reached, forwards: Forwards) -> None:
    """Check that nobody moved a name to an old version while its files were deleted."""
    known = {(named.space, named.ref.name, named.ref.seq) for named in before.named}
    nothing = TreeId(repository.objects.put(Tree()))
    for named in reach(repository, forwards).named:
        commit = named.ref.move.commit
        if commit is None or (named.space, named.ref.name, named.ref.seq) in known:
            continue
        try:
            check_present(repository, nothing, repository.objects.commit(commit).tree)
        except NotFoundError as error:
            raise DamagedError(
                f"While old files were deleted, another writer moved the {named.title} to a "
                "version that names some of them. Move it back: dbt-vcs repair --to-last-whole "
                f"{named.ref.name}"
            ) from error
