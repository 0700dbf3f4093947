"""`dbt-vcs copy`: copy a repository, or bring a copy up to date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, Final, cast

from dbt.adapters.vcs.commands.fsck import DataCheck, batches, check_repository, needed_now
from dbt.adapters.vcs.commands.layout import Block, counted, line, size
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import (
    DamagedError,
    InputError,
    NotFoundError,
    RetryError,
    listed,
)
from dbt.adapters.vcs.core.ids import Clock, system_clock
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import read_retention
from dbt.adapters.vcs.core.store.blobs import (
    BlobInfo,
    Blobs,
    FolderEnd,
    MemoryBlobs,
    each,
    folder_ends,
    write_new,
)
from dbt.adapters.vcs.core.store.lease import FOLDER, seems_running
from dbt.adapters.vcs.core.store.moves import FORWARDS
from dbt.adapters.vcs.core.store.opening import HEADER_PATH, check_vacant, open_blobs, read_header
from dbt.adapters.vcs.table.files.file_check import whole_bytes

# Without pins, which keep what is being restored at the source.
_LOGS: Final = ("refs/heads", "refs/tags", "refs/snapshots", "refs/options")
_AT_ONCE: Final = 64 * 2**20
"""Bytes that are in memory at the same time."""

_COPIED: Final = ("objects", "data", FORWARDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """What a copy did.

    Attributes:
        source: Where the repository is.
        files: Number of objects and data files that were copied; those already there don't count.
        bytes: Their size.
        moves: Number of moves of refs that were copied.
    """

    source: str
    target: str
    files: int
    bytes: int
    moves: int


def copy_repository(source: Blobs, target: Blobs, *, clock: Clock = system_clock) -> CopyReport:
    """Make a copy of a repository, or bring one up to date.

    The refs are read first, then everything else is copied, then what they need is checked in the
    copy, and only then they are written, each log in its order. So whatever others write
    meanwhile, and wherever the copy is stopped, the target shows a whole state, or is no
    repository yet. Another call goes on where one was stopped.

    Raises:
        NotFoundError: There is no repository at the source.
        InputError: The target is another repository, or has moves of its own, or other files.
        RetryError: A garbage collection runs, or ran meanwhile.
        DamagedError: Something is missing or damaged; the target's refs did not move.
    """
    repository = Repository.open(source, clock=clock)
    if source.uri == target.uri:
        raise InputError(f"{source.uri} can't be copied to itself. Name another location.")
    header = source.get(HEADER_PATH)
    is_new = _check_target(repository, target)
    # Read before anything is copied, and compared afterwards: a collection meanwhile could have
    # deleted what was still to come.
    before, leases = read_retention(repository), set(source.walk(FOLDER))
    if seems_running(source, repository.clock()):
        raise RetryError(
            f"A garbage collection of {source.uri} is running. Copy when it has ended."
        )
    refs = _new_moves(source, target)
    copied = [info for folder in _COPIED for info in _copy_folder(source, target, folder)]
    future = CopyView(target, {**refs, HEADER_PATH: header})
    view = Repository.open(cast("Blobs", future), clock=clock)
    # Checked as it will be, while the target's own refs still show what they did.
    problems = _problems(source, target, view, is_new=is_new)
    # Each collection has a lease of its own, and renews it.
    if read_retention(repository) != before or set(source.walk(FOLDER)) - leases:
        raise RetryError(
            f"A garbage collection of {source.uri} ran meanwhile, and the copy may lack what it "
            "deleted. The copy's branches were not moved: copy again."
        )
    if problems:
        raise DamagedError(
            f"The copy in {target.uri} would be damaged, so its branches were not moved: "
            f"{listed(problems, 3, ' ')}"
        )
    if not is_new and read_header(target).format < repository.header.format:
        # An older reader would not find all that the moves name.
        target.replace_all({HEADER_PATH: header})
    # Moves last, each log in its order: wherever this stops, the target shows a whole state.
    for path in sorted(refs):
        write_new(target, path, refs[path])
    if is_new:
        # The header makes a folder a repository, so it comes last.
        write_new(target, HEADER_PATH, header)
    return CopyReport(
        source=source.uri,
        target=target.uri,
        files=len(copied),
        bytes=sum(info.bytes for info in copied),
        moves=len(refs),
    )


def _check_target(repository: Repository, target: Blobs) -> bool:
    """Return whether the target is no repository yet."""
    if not target.exists(HEADER_PATH):
        check_vacant(target)
        return True
    if read_header(target).id != repository.id:
        raise InputError(
            f"{target.uri} is another repository, which a copy would mix with this one. Name "
            "another location, or an empty folder."
        )
    return False


def _new_moves(source: Blobs, target: Blobs) -> dict[str, bytes]:
    """Return the moves that the target lacks, by path; each log without gaps."""
    paths = [info.path for folder in _LOGS for info in source.walk(folder)]
    there = {info.path for folder in _LOGS for info in target.walk(folder)}
    for path in sorted(there):
        if target.get(path) != _bytes_of(source, path):
            raise InputError(
                f"{target.uri} has moves of its own, such as {path}: it was written to since it "
                "was copied. Copy to another location, or write only to one of the two."
            )
    new: list[str] = []
    # Numbers of moves have 20 digits, so they sort as numbers do.
    for folder, log in groupby(sorted(paths), lambda path: path.rpartition("/")[0]):
        for number, path in enumerate(log, 1):
            # A listing is no moment: a later move may be in it without an earlier one.
            expected = f"{folder}/{number:020d}"
            if path != expected:
                if not source.exists(expected):
                    raise DamagedError(
                        f"The file {expected} is missing from {source.uri}, and {path} is there. "
                        "See dbt-vcs fsck."
                    )
                break
            if path not in there:
                new.append(path)
    return dict(zip(new, each(source.get, new), strict=True))


def _bytes_of(blobs: Blobs, path: str) -> bytes | None:
    try:
        return blobs.get(path)
    except NotFoundError:
        return None


def _copy_folder(source: Blobs, target: Blobs, folder: str) -> Iterator[BlobInfo]:
    there = {info.path for info in target.walk(folder)}

    def copy(info: BlobInfo) -> BlobInfo | None:
        data = _bytes_of(source, info.path)
        if data is None:
            return None  # Collected since it was listed; what needs it is checked later.
        write_new(target, info.path, data)
        return info

    # What is there is checked later, by its hash or its digests.
    lacking = (info for info in source.walk(folder) if info.path not in there)
    for some in batches(lacking, _AT_ONCE):
        yield from (info for info in each(copy, some) if info is not None)


def _problems(source: Blobs, target: Blobs, view: Repository, *, is_new: bool) -> tuple[str, ...]:
    """Check the copy as it will be, and return what is wrong.

    All files that the copy did not need before are read, whoever wrote them there. Those that are
    damaged are copied again, if they are whole at the source.
    """
    # What is damaged is left to the check that follows.
    known = {} if is_new else needed_now(Repository.open(target, clock=view.clock)).files
    needed = needed_now(view).files
    new = DataCheck(paths=frozenset(needed.keys() - known.keys()))
    report = check_repository(view, data=new)
    is_mended = False
    for wrong in report.wrong_files:
        file = needed[wrong.path]
        # Files that the copy needed before may have been damaged there: fsck and repair are for
        # these.
        data = None if wrong.path in known else whole_bytes(source, file)
        if data is not None:
            target.replace_all({wrong.path: data})
            is_mended = True
    return check_repository(view, data=new).problems if is_mended else report.problems


class CopyView:
    """A store as it will be: reads some files from memory, all others from a store; see `Blobs`.

    It has no method that writes.
    """

    def __init__(self, target: Blobs, files: Mapping[str, bytes]) -> None:
        self.uri, self.is_near = target.uri, target.is_near
        self._target = target
        self._new = MemoryBlobs()
        self._new.create_all(files)

    def __getattr__(self, name: str) -> Any:
        if name not in ("get", "range", "size", "exists", "modified_at"):
            raise AttributeError(name)

        def call(path: str, *given: Any) -> Any:
            blobs = self._new if self._new.exists(path) else self._target
            return getattr(blobs, name)(path, *given)

        return call

    def folders(self, folder: str) -> list[str]:
        """Return the names of the direct sub-folders."""
        return sorted({*self._new.folders(folder), *self._target.folders(folder)})

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield every blob below a folder."""
        new = {info.path: info for info in self._new.walk(folder)}
        yield from new.values()
        yield from (info for info in self._target.walk(folder) if info.path not in new)

    def later(self, path: str) -> list[str]:
        """Return the first blobs in the path's folder with later names."""
        return sorted({*self._new.later(path), *self._target.later(path)})

    def ends(self, folder: str) -> list[FolderEnd]:
        """Return the end of each direct sub-folder."""
        return folder_ends(folder, self.walk(folder))


def _copy_text(report: CopyReport) -> Iterator[Block]:
    if not (report.files or report.moves):
        yield line(f"{report.target} is up to date with {report.source}.")
        return
    yield line(
        f"Copied {counted(report.files, 'file')} ({size(report.bytes)}) and "
        f"{counted(report.moves, 'move')} from {report.source} to {report.target}."
    )


@verb()
def copy_command(
    session: CommandSession,
    source: Annotated[str, Option(metavar="FROM")],
    target: Annotated[str, Option(metavar="TO")],
) -> None:
    """Copy a repository, or bring a copy up to date.

    FROM and TO are folders or URIs; --storage-option applies to both if they are object stores.
    Others may write meanwhile. A copy that was stopped goes on when it is called again.
    """
    options = dict(session.settings.storage_options)
    stores = [
        session.watched(open_blobs(place, options if "://" in place else {}))
        for place in (source, target)
    ]
    report = copy_repository(*stores)
    session.show(report, _copy_text(report))
