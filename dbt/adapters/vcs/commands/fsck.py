"""`dbt-vcs fsck`: check for missing or damaged files."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Final, TypeVar

import click

from dbt.adapters.vcs.commands.failure import ShownFailure
from dbt.adapters.vcs.commands.layout import Block, Span, counted, line, size
from dbt.adapters.vcs.commands.options import Percent
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.branches import ROOT
from dbt.adapters.vcs.core.codec import decode
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import Micros, SnapshotId
from dbt.adapters.vcs.core.maintenance import PINS
from dbt.adapters.vcs.core.model import Commit, Function, Segment, Snapshot, Tree, View
from dbt.adapters.vcs.core.model.tree import Value
from dbt.adapters.vcs.core.plan.collect import Needed, NeededFile, Roots, needed
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import GRACE, names_of, read_retention, roots_of
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs, each
from dbt.adapters.vcs.core.store.objects import ObjectStore, object_key, object_path, read_object
from dbt.adapters.vcs.table.files.file_check import wrong_bytes, wrong_size

SPACES: Final = ("heads", "tags", "options", PINS)
"""Spaces of refs that every repository has, besides those of named snapshots."""

# Both levels of trees are of one kind.
KINDS: Final[Mapping[str, type[Value]]] = {
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
        # One damage is met in several ways, by names, objects and files.
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
    # One listing in place of a request for each file.
    sizes = {info.path: info.bytes for info in repository.blobs.walk("data")}
    wrong_files = [*_wrong_sizes(kept, sizes)]
    for wrong in wrong_files:
        note(wrong.sentence)
    read = None
    if data is not None:
        # What is missing or has another size is told already, and not read.
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


def needed_now(repository: Repository, note: Callable[[str], None] = lambda _: None) -> Needed:
    """Return what is needed, as far as it can be followed; `note` is told what is damaged."""
    found = read_retention(repository)
    # What is older than the last collection looked at may be gone, and rightly so.
    cutoff = Micros(max(repository.clock() - found.keep - GRACE, found.horizon))
    return needed_since(repository, cutoff, note)


def needed_since(
    repository: Repository, cutoff: Micros, note: Callable[[str], None] = lambda _: None
) -> Needed:
    """Return what is needed of history since a time; see `needed_now`."""
    try:
        roots = roots_of(repository, cutoff)
    except DamagedError as error:
        note(str(error))
        # Without the damaged names, so that all the rest is still checked.
        names = names_of(repository, cutoff, lambda error: note(str(error)))
        # What only merges need is found when the history is whole again.
        commits = names.lately | names.origins
        roots = Roots(commits=commits, whole=names.lately, versions=names.versions)
    # Caches of this process are not used.
    store = ObjectStore(repository.blobs)
    return needed(roots, store, lambda error: note(str(error)))


def _orphans(repository: Repository, kept: Needed, sizes: Mapping[str, int]) -> Iterator[int]:
    yield from (size for path, size in sizes.items() if path not in kept.files)
    for info in repository.blobs.walk("objects"):
        if object_key(info.path) not in kept.objects:
            yield info.bytes


def _wrong_names(repository: Repository) -> Iterator[str]:
    refs = repository.refs
    for space in (*SPACES, *refs.spaces(ROOT)):
        yield from refs.check(space)
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
        decode(KINDS[kind], id, read_object(repository.blobs, kind, id))
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

    def wrong(id: str) -> list[str]:
        # What can't be read has been told.
        try:
            return list(_targets_beside(store, SnapshotId(id)))
        except DamagedError:
            return []

    snapshots = sorted(id for kind, id in kept.objects if kind == "snapshot")
    # A remote store answers many requests at once.
    yield from chain.from_iterable(each(wrong, snapshots))


def _targets_beside(store: ObjectStore, id: SnapshotId) -> Iterator[str]:
    segments = [store.segment(ref.id) for ref in store.snapshot(id).segments]
    blocks = {block.path for segment in segments for block in segment.blocks}
    for tombstone in (tombstone for segment in segments for tombstone in segment.tombstones):
        for target in sorted(tombstone.targets.keys() - blocks):
            yield (
                f"The tombstone {tombstone.path} of the version {id} deletes rows of "
                f"{target}, which is no block of the version: rows that were deleted may "
                "be shown. "
                "Restore the version from a backup of the repository."
            )


def _wrong_sizes(kept: Needed, sizes: Mapping[str, int]) -> Iterator[WrongFile]:
    for path, file in sorted(kept.files.items()):
        wrong = wrong_size(file, sizes.get(path))
        if wrong is not None:
            yield WrongFile(file.path, file.relation, wrong)


_Sized = TypeVar("_Sized", NeededFile, BlobInfo)

_FILES: Final = 64
_BYTES: Final = 512 * 2**20
"""What is read between two reports of progress, at most, unless one file is larger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCheck:
    """Which files to read.

    Attributes:
        percent: The share of the files, in percent.
        seed: Chooses the files; the same files of the same repository for the same seed.
        paths: The only files to read; None for any.
        progress: Called now and then with how far the check is, as one line.
    """

    percent: float = 100
    seed: int = 0
    paths: frozenset[str] | None = None
    progress: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.percent <= 100:
            raise InputError(
                f"A sample of {self.percent:g}% is no share of the files: expected more than 0% "
                "and at most 100%."
            )


@dataclass(frozen=True, slots=True)
class WrongFile:
    """A file of rows that is missing or damaged.

    Attributes:
        path: Relative to the repository.
        relation: A table that shows it, as `schema.table`; empty if only a named snapshot of a
            dropped table does.
        what: What is wrong, as the end of a sentence.
        inside: True if only reading it shows that.
    """

    path: str
    relation: str
    what: str
    inside: bool = False

    @property
    def sentence(self) -> str:
        """What is wrong, the table, and the next step."""
        owner = self.relation or f"the table with the id {self.path.split('/')[1]}"
        found = f"The data file {self.path} {self.what}. It belongs to {owner}. Restore it from"
        if self.inside:
            # Without the option repair looks at sizes, and finds nothing.
            return f"{found} a backup of the repository: dbt-vcs repair --data shows how."
        return (
            f"{found} a backup of the repository: dbt-vcs repair shows how, and what else can be "
            "done."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRead:
    """Which files were read.

    Attributes:
        files: Their number, without those that are missing or have another size.
        bytes: Their size.
        percent: The share of all files that was asked for.
        seed: The seed of the choice; None if all were read.
    """

    files: int
    bytes: int
    percent: float
    seed: int | None

    @classmethod
    def of(cls, files: Sequence[NeededFile], check: DataCheck) -> DataRead:
        """Return what was read for a check."""
        return cls(
            files=len(files),
            bytes=sum(file.bytes for file in files),
            percent=check.percent,
            seed=check.seed if check.percent < 100 else None,
        )


def chosen(files: Mapping[str, NeededFile], check: DataCheck) -> list[NeededFile]:
    """Return the files to read, in order of their paths; at least one, if there are any."""
    if check.paths is not None:
        files = {path: file for path, file in files.items() if path in check.paths}
    if check.percent >= 100:
        return [files[path] for path in sorted(files)]
    count = math.ceil(len(files) * check.percent / 100)
    # By a hash of seed and path: the same sample, however the store lists the files.
    order = sorted(
        files, key=lambda path: hashlib.sha256(f"{check.seed} {path}".encode()).digest()
    )
    return [files[path] for path in sorted(order[:count])]


def read_files(
    blobs: Blobs,
    files: Sequence[NeededFile],
    progress: Callable[[str], None] | None = None,
) -> Iterator[WrongFile]:
    """Read files, several at a time, and yield each that is damaged, in order of the files."""
    total = sum(file.bytes for file in files)
    done = read = 0

    def wrong_file(file: NeededFile) -> WrongFile | None:
        wrong = wrong_bytes(blobs, file)
        return None if wrong is None else WrongFile(file.path, file.relation, wrong, True)

    # The empty batch is there to report the end.
    for batch in (*batches(files, _BYTES, _FILES), []):
        if progress is not None:
            progress(
                f"Read {done:,} of {counted(len(files), 'data file')}, {size(read)} of "
                f"{size(total)}"
            )
        yield from (wrong for wrong in each(wrong_file, batch) if wrong is not None)
        done += len(batch)
        read += sum(file.bytes for file in batch)


def batches(
    items: Iterable[_Sized], most_bytes: int, most: int | None = None
) -> Iterator[list[_Sized]]:
    """Yield files in lots of so many bytes and items at most; a larger file is a lot by itself."""
    batch: list[_Sized] = []
    total = 0
    for item in items:
        if batch and (len(batch) == most or total + item.bytes > most_bytes):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += item.bytes
    if batch:
        yield batch


def _fsck_text(report: FsckReport) -> Iterator[Block]:
    """Yield the summary of a check, without the problems that were already shown."""
    yield line(
        f"Checked {counted(report.commits, 'commit')}, {counted(report.objects, 'manifest')} and "
        f"the sizes of {counted(report.files, 'data file')} ({size(report.bytes)})."
    )
    if report.read is not None:
        yield line(_read_text(report.read))
    if report.orphans:
        they = ("is", "it", "it is") if report.orphans == 1 else ("are", "them", "they are")
        yield line(
            f"{counted(report.orphans, 'file')} ({size(report.orphan_bytes)}) {they[0]} not "
            f"needed; dbt-vcs gc deletes {they[1]} once {they[2]} a day old."
        )
    if report.problems:
        yield line(Span(f"{counted(len(report.problems), 'problem')}.", "bad"))
    else:
        yield line(Span("No problems found.", "good"))


def _read_text(read: DataRead) -> str:
    if read.seed is None:
        return f"Read all bytes of {counted(read.files, 'data file')} ({size(read.bytes)})."
    return (
        f"Read all bytes of {counted(read.files, 'data file')} ({size(read.bytes)}), a sample of "
        f"{read.percent:g}% with the seed {read.seed}."
    )


_SEEDS = 1_000_000


def _check_fsck(*, data: bool, sample: float | None, seed: int | None) -> None:
    if sample is not None and not data:
        raise click.UsageError("--sample can only be used with --data.")
    if seed is not None and sample is None:
        raise click.UsageError("--seed can only be used with --sample.")


@verb(check=_check_fsck)
def fsck_command(
    session: CommandSession,
    *,
    data: Annotated[bool, "Also read data files, and check every byte of them."] = False,
    sample: Annotated[
        float | None,
        Option(
            "With --data: read only a share of the files, such as 1%, chosen at random.",
            type=Percent(),
            metavar="PERCENT",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        Option(
            "With --sample: read the files that the check with this seed read.",
            type=click.IntRange(min=0),
            metavar="N",
        ),
    ] = None,
) -> None:
    """Check for missing or damaged files.

    Checks that everything that commits need exists and is undamaged: reads every manifest and
    checks that every data file exists and has its size. With --data it also reads data files and
    tombstones. The exit code is 2 if anything is wrong.
    """

    def tell(problem: str) -> None:
        if not session.prints_json:
            session.say([line(Span(problem, "bad"))])

    wanted = DataCheck(
        percent=100.0 if sample is None else sample,
        # Another sample each time, so that nightly samples read about everything in the end.
        seed=random.randrange(_SEEDS) if seed is None else seed,
        progress=session.progress.show,
    )
    report = check_repository(session.repository, tell, data=wanted if data else None)
    session.show(report, _fsck_text(report), report.problems)
    if report.problems:
        raise ShownFailure(DamagedError)
