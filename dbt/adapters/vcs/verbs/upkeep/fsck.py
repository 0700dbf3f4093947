"""Fsck: check that everything that commits need exists and is undamaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from dbt.adapters.vcs.core.codec import decode
from dbt.adapters.vcs.core.collection import names_of, roots_of
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.ids import Micros, SnapshotId
from dbt.adapters.vcs.core.model import Commit, Function, Segment, Snapshot, Tree, View
from dbt.adapters.vcs.core.model.value import Value
from dbt.adapters.vcs.core.plan.collect import Needed, Roots, needed
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import GRACE, PINS, read_retention
from dbt.adapters.vcs.core.snapshotnames import ROOT
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.core.store.objects import (
    ObjectStore,
    object_key,
    object_path,
    read_object,
)
from dbt.adapters.vcs.core.store.refs import RefStore
from dbt.adapters.vcs.rows.files.file_check import wrong_size
from dbt.adapters.vcs.verbs.upkeep.data_check import (
    DataCheck,
    DataRead,
    WrongFile,
    chosen,
    read_files,
)

_SPACES: Final = ("heads", "tags", "options", PINS)
_KINDS: Final[Mapping[str, type[Value]]] = {
    "commit": Commit,
    "tree": Tree,
    "snapshot": Snapshot,
    "segment": Segment,
    "view": View,
    "function": Function,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FsckReport:
    """The result of checking a repository.

    Attributes:
        commits: Number of reachable commits.
        objects: Number of manifests needed, including commits.
        files: Number of data files needed.
        bytes: Size of these data files.
        problems: What is missing or damaged, one sentence each; empty if there are no problems.
        orphans: Number of files that are not needed; gc deletes them when they are old enough.
        orphan_bytes: Their size.
        wrong_files: The data files among the problems.
        read: Which data files were read; None if only their sizes were checked.
    """

    commits: int
    objects: int
    files: int
    bytes: int
    problems: tuple[str, ...]
    orphans: int
    orphan_bytes: int
    wrong_files: tuple[WrongFile, ...] = ()
    read: DataRead | None = None


def check_repository(
    repository: Repository,
    tell: Callable[[str], None] | None = None,
    *,
    data: DataCheck | None = None,
) -> FsckReport:
    """Read every manifest that is needed, and check that every data file exists.

    A manifest's bytes must hash to its id. A tombstone must delete from blocks of its version. A
    data file must have the recorded size, and those that are read must have the digests and
    checksums that were recorded when they were written.

    Args:
        repository: The repository.
        tell: Called with each problem when it is found.
        data: Which data files and tombstones to read; None for none of them.
    """
    problems: dict[str, None] = {}

    def note(problem: str) -> None:
        if problem not in problems:
            problems[problem] = None
            if tell is not None:
                tell(problem)

    for damaged in _wrong_names(repository):
        note(damaged)
    kept = needed_now(repository, note)
    objects = each(lambda key: _wrong_object(repository, *key), sorted(kept.objects))
    for problem in (*objects, *_wrong_targets(repository, kept)):
        if problem is not None:
            note(problem)
    sizes = {info.path: info.bytes for info in repository.blobs.walk("data")}
    wrong_files = [*_wrong_sizes(kept, sizes)]
    for wrong in wrong_files:
        note(wrong.sentence)
    read = None
    if data is not None:
        known = {wrong.path for wrong in wrong_files}
        some = [file for file in chosen(kept.files, data) if file.path not in known]
        read = DataRead.of(some, data)
        for wrong in read_files(repository.blobs, some, data.progress):
            wrong_files.append(wrong)
            note(wrong.sentence)
    orphans = [*_orphans(repository, kept, sizes)]
    return FsckReport(
        commits=sum(1 for kind, _ in kept.objects if kind == "commit"),
        objects=len(kept.objects),
        files=len(kept.files),
        bytes=kept.bytes,
        problems=tuple(problems),
        orphans=len(orphans),
        orphan_bytes=sum(orphans),
        wrong_files=tuple(wrong_files),
        read=read,
    )


def needed_now(repository: Repository, note: Callable[[str], None]) -> Needed:
    """Return what is needed, as far as it can be followed; `note` is told what is damaged."""
    found = read_retention(repository)
    cutoff = Micros(max(repository.clock() - found.keep - GRACE, found.horizon))
    try:
        roots = roots_of(repository, cutoff)
    except DamagedError as error:
        note(str(error))
        names = names_of(repository, cutoff, lambda error: note(str(error)))
        roots = Roots(commits=names.lately, whole=names.lately, versions=names.versions)
    # Caches of this process are not used.
    store = ObjectStore(repository.blobs)
    return needed(roots, store, lambda error: note(str(error)))


def _orphans(repository: Repository, kept: Needed, sizes: Mapping[str, int]) -> Iterator[int]:
    """Yield the sizes of files that are not needed."""
    yield from (size for path, size in sizes.items() if path not in kept.files)
    for info in repository.blobs.walk("objects"):
        if object_key(info.path) not in kept.objects:
            yield info.bytes


def _wrong_names(repository: Repository) -> Iterator[str]:
    refs = RefStore(repository.blobs)
    for space in (*_SPACES, *refs.spaces(ROOT)):
        for name in refs.names(space):
            yield from refs.check(space, name)
    name = repository.default_branch
    # Nobody can delete it. One whose log is damaged was told with the others.
    with suppress(DamagedError):
        if repository.find_branch(name) is None:
            yield (
                f"The default branch {name!r} is missing from {repository.uri}: every repository "
                "has it, and nothing deletes it. Restore the folder refs from a backup of the "
                "repository, before gc."
            )


def _wrong_object(repository: Repository, kind: str, id: str) -> str | None:
    try:
        decode(_KINDS[kind], id, read_object(repository.blobs, kind, id))
    except NotFoundError:
        return (
            f"The {kind} {id} is missing from {repository.uri} (expected the file "
            f"{object_path(kind, id)}). "
            "Restore it from a backup of the repository."
        )
    except DamagedError as error:
        return str(error)
    return None


def _wrong_targets(repository: Repository, kept: Needed) -> Iterator[str]:
    """Yield the tombstones that delete rows of a block which their version doesn't have."""
    store = ObjectStore(repository.blobs)
    for kind, id in sorted(kept.objects):
        if kind != "snapshot":
            continue
        # What can't be read has been told.
        with suppress(DamagedError):
            refs = store.snapshot(SnapshotId(id)).segments
            segments = [store.segment(ref.id) for ref in refs]
            blocks = {block.path for segment in segments for block in segment.blocks}
            for stone in (stone for segment in segments for stone in segment.tombstones):
                for target in sorted(stone.targets.keys() - blocks):
                    yield (
                        f"The tombstone {stone.path} of the version {id} deletes rows of "
                        f"{target}, which is no block of the version: rows that were deleted may "
                        "be shown. "
                        "Restore the version from a backup of the repository."
                    )


def _wrong_sizes(kept: Needed, sizes: Mapping[str, int]) -> Iterator[WrongFile]:
    for path, file in sorted(kept.files.items()):
        wrong = wrong_size(file, sizes.get(path))
        if wrong is not None:
            yield WrongFile.of(file, wrong)
