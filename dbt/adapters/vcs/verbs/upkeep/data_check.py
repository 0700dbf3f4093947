"""Data check: read files of rows, all or a sample, and tell which ones are damaged."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.plan.collect import NeededFile
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.rows.files.file_check import wrong_bytes

_FILES: Final = 64
_BYTES: Final = 512 * 2**20
"""What is read between two reports of progress, at most, unless one file is larger."""


class DataProgress(NamedTuple):
    """How far a check is.

    Attributes:
        files: Files read so far.
        of: Files to read.
        bytes: Size of the files read so far.
        of_bytes: Size of the files to read.
    """

    files: int
    of: int
    bytes: int
    of_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCheck:
    """Which files to read.

    Attributes:
        percent: The share of the files, in percent.
        seed: Chooses the files; the same files of the same repository for the same seed.
        paths: The only files to read; None for any.
        progress: Called now and then.
    """

    percent: float = 100
    seed: int = 0
    paths: frozenset[str] | None = None
    progress: Callable[[DataProgress], None] | None = None

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
    """

    path: str
    relation: str
    what: str

    @classmethod
    def of(cls, file: NeededFile, what: str) -> WrongFile:
        """Return what is wrong with a file."""
        return cls(file.path, file.relation, what)

    @property
    def sentence(self) -> str:
        """What is wrong, the table, and the next step."""
        owner = self.relation or f"the table with the id {self.path.split('/')[1]}"
        return (
            f"The data file {self.path} {self.what}. It belongs to {owner}. Restore it from a "
            "backup of the repository: dbt-vcs repair shows how, and what else can be done."
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
    order = sorted(
        files, key=lambda path: hashlib.sha256(f"{check.seed} {path}".encode()).digest()
    )
    return [files[path] for path in sorted(order[:count])]


def read_files(
    blobs: Blobs,
    files: Sequence[NeededFile],
    progress: Callable[[DataProgress], None] | None = None,
) -> Iterator[WrongFile]:
    """Read files, several at a time, and yield each that is damaged, in order of the files."""
    total = sum(file.bytes for file in files)
    done = size = 0

    def look(file: NeededFile) -> WrongFile | None:
        wrong = wrong_bytes(blobs, file)
        return None if wrong is None else WrongFile.of(file, wrong)

    for batch in _batches(files):
        if progress is not None:
            progress(DataProgress(done, len(files), size, total))
        yield from (wrong for wrong in each(look, batch) if wrong is not None)
        done += len(batch)
        size += sum(file.bytes for file in batch)
    if progress is not None:
        progress(DataProgress(done, len(files), size, total))


def _batches(files: Iterable[NeededFile]) -> Iterator[list[NeededFile]]:
    batch: list[NeededFile] = []
    size = 0
    for file in files:
        if batch and (len(batch) == _FILES or size + file.bytes > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.bytes
    if batch:
        yield batch
