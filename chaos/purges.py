"""Purges: a batch is erased from all versions, by processes that die and beside a writer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple, NoReturn

from pyarrow import BufferReader
from pyarrow.parquet import read_table

from chaos.calendar import HOUR, now
from chaos.copies import EVERYTHING
from chaos.faults import Trouble
from chaos.ground import Ground
from chaos.shop import TABLES, Seen, Shop, look
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.core.errors import RetryError, VcsError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository

_TRIES: Final = 3
_RATE: Final = 0.002
_RACES: Final = 0.2
_WRITES: Final = 5
"""What the writer beside a purge adds at most."""

Key = tuple[str, int]
"""A commit before and after a purge: its author and when it was made."""


class _Killed(BaseException):
    """Stands for the end of a process."""


class Purged(NamedTuple):
    """What a purge met, and what is wrong after it."""

    purges: int
    deaths: int
    faults: int
    publishes: int
    wrong: list[str]

    def added_to(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return counts with what was done here."""
        own = self._asdict()
        names = ("purges", "deaths", "faults", "publishes")
        return {**counts, **{name: counts.get(name, 0) + own[name] for name in names}}


NOTHING: Final = Purged(0, 0, 0, 0, [])


def erase(ground: Ground, dice: random.Random) -> Purged:
    """Purge a batch that main shows, and compare every version with what it was before.

    Args:
        ground: The repository, on which nobody else works.
        dice: Chooses the batch, and when the purge dies or its store fails.
    """
    plain = ground.repository()
    batches = sorted(look(plain, plain.branch("main").head).batches)
    if not batches:
        return NOTHING
    batch = dice.choice(batches)
    before = versions_of(plain)
    eraser = _Eraser(ground, batch, dice)
    young = eraser.erase()
    repository = eraser.ground.repository()
    wrong = [
        f"damaged: after the purge of {batch}: {problem}"
        for problem in check_repository(repository, data=EVERYTHING).problems
    ]
    after = versions_of(repository)
    wrong += [*_wrong_versions(batch, before, after)]
    shown = look(repository, repository.branch("main").head).batches
    lost = sorted((frozenset(batches) - {batch} | eraser.added) - shown)
    wrong += [f"lost: {name} is not there after the purge of {batch}" for name in lost]
    if not young:
        # What may belong to a running writer is left to a collection, and the purge says so.
        wrong += [*_left_files(repository, batch)]
    return Purged(1, eraser.deaths, eraser.faults, len(eraser.added), wrong)


class _Eraser:
    """One purge of both tables, repeated until it is done.

    Attributes:
        ground: The repository, later each time that one who held a lease died.
        deaths: How many died at it.
        faults: How many calls of the store failed.
        added: The batches that a writer added to main meanwhile.
    """

    def __init__(self, ground: Ground, batch: str, dice: random.Random) -> None:
        self.ground = ground
        self.deaths = 0
        self.faults = 0
        self.added: frozenset[str] = frozenset()
        self._batch = batch
        self._dice = dice
        self._is_writing = False

    def erase(self) -> int:
        """Purge both tables; return how many files may belong to a running writer."""
        for _ in range(_TRIES):
            try:
                return self._purged(self._troubled())
            except _Killed:
                self.deaths += 1
            except VcsError:
                pass  # The next one does what this one left.
            # A lease of one that died counts for a minute.
            self.ground = self.ground.later((now(), HOUR))
        return self._purged(self.ground.repository())

    def _purged(self, repository: Repository) -> int:
        young = 0
        for name in TABLES:
            request = PurgeRequest(
                relation=str(name), where=f"batch = '{self._batch}'", redact=(self._batch,)
            )
            young += purge(repository, request, author="chaos").young
        return young

    def _troubled(self) -> Repository:
        dice = self._dice
        trouble = Trouble(
            random.Random(dice.random()),
            kill_at=dice.randrange(10, 1500) if dice.random() < 0.7 else 0,
            die=_die,
            between=self._write,
            tell=self._tell,
        )
        repository = self.ground.repository(trouble)
        trouble.rate = _RATE
        return repository

    def _tell(self, kind: str, call: str, path: str) -> None:
        self.faults += 1

    def _write(self) -> None:
        if self._is_writing or len(self.added) >= _WRITES or self._dice.random() >= _RACES:
            return
        self._is_writing = True
        try:
            name = f"beside.{len(self.added)}"
            # Who can't land beside a purge waits, or is told so.
            with suppress(RetryError):
                Shop(self.ground.repository(), "main", "beside").insert(name)
                self.added |= {name}
        finally:
            self._is_writing = False


def _die() -> NoReturn:
    raise _Killed


def versions_of(repository: Repository) -> dict[Key, Seen]:
    """Return what each commit shows of which the rows are still held."""
    found: dict[Key, Seen] = {}
    waiting = [*_heads(repository)]
    met: set[CommitId] = set()
    while waiting:
        id = waiting.pop()
        if id in met:
            continue
        met.add(id)
        commit = repository.objects.commit(id)
        waiting += commit.parents
        try:
            found[commit.author, commit.committed_at] = look(repository, id, None)
        except VcsError:
            continue  # Collected: `fsck` tells if it should not have been.
    return found


def _heads(repository: Repository) -> Iterator[CommitId]:
    for space in ("heads", "tags"):
        for ref in repository.refs.read_all(space):
            if ref.move.commit is not None:
                yield ref.move.commit


def _wrong_versions(batch: str, before: dict[Key, Seen], after: dict[Key, Seen]) -> Iterator[str]:
    for key, seen in after.items():
        if batch in seen.batches:
            yield f"risen: the commit of {key} shows {batch} after its purge"
        yield from seen.wrong
    for key, seen in before.items():
        if key not in after:
            yield f"lost: the commit of {key} can't be read after the purge of {batch}"
            continue
        lost = sorted(seen.batches - {batch} - after[key].batches)
        if lost:
            yield f"lost: the commit of {key} lacks {lost} after the purge of {batch}"


def _left_files(repository: Repository, batch: str) -> Iterator[str]:
    """Yield the files that still hold rows of a batch, before-images included."""
    for info in repository.blobs.walk("data"):
        if not info.path.endswith(".parquet"):
            continue
        table = read_table(BufferReader(repository.blobs.get(info.path)))
        columns = [column.to_pylist() for column in table.columns]
        if any(batch in column for column in columns):
            yield f"silent: {info.path} holds {batch} after its purge, and the purge didn't say so"
