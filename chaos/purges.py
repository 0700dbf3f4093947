"""Purges: a batch or a row is erased from all versions, beside a writer and by those that die."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, NoReturn

from pyarrow import BufferReader
from pyarrow.parquet import read_table

from chaos.calendar import HOUR, now
from chaos.copies import EVERYTHING
from chaos.faults import Trouble
from chaos.ground import Ground
from chaos.shop import ROW_TABLE, TABLES, Seen, Shop, is_row, look, row_item
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import PREFIX
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.core.errors import RetryError, VcsError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
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


class Erased(NamedTuple):
    """What a purge is about.

    Attributes:
        name: The batch, or the name of a single row.
        tables: The tables that have it.
    """

    name: str
    tables: Sequence[RelationName]

    @classmethod
    def of(cls, item: str) -> Erased:
        """Return what takes to erase an item that a commit shows."""
        name = item.partition("=")[0]
        return cls(name, (ROW_TABLE,) if is_row(item) else TABLES)

    def purge(self, repository: Repository, *, redact: Sequence[str] = ()) -> int:
        """Purge it; return how many files may belong to a running writer."""
        young = 0
        for table in self.tables:
            where = f"batch = '{self.name}'"
            request = PurgeRequest(relation=str(table), where=where, redact=redact)
            young += purge(repository, request, author="chaos").young
        return young

    def among(self, items: Iterable[str]) -> frozenset[str]:
        """Return what of some items is erased."""
        return frozenset(item for item in items if item.partition("=")[0] == self.name)


def erase(ground: Ground, dice: random.Random) -> Purged:
    """Purge a batch or a row that main shows, and compare every version with what it was before.

    Args:
        ground: The repository, on which nobody else works.
        dice: Chooses what is erased, and when the purge dies or its store fails.
    """
    plain = ground.repository()
    shown = look(plain, plain.branch("main").head).batches
    # A worker's own table has rows on its own branch, too; those of everybody's are enough.
    items = sorted(item for item in shown if not is_row(item) or ".own-" not in item)
    if not items:
        return NOTHING
    erased = Erased.of(dice.choice(items))
    before = versions_of(plain)
    gone = erased.among(item for seen in before.values() for item in seen.batches)
    eraser = _Eraser(ground, erased, dice)
    young = eraser.erase()
    repository = eraser.ground.repository()
    wrong = [
        f"damaged: after the purge of {erased.name}: {problem}"
        for problem in check_repository(repository, data=EVERYTHING).problems
    ]
    after = versions_of(repository)
    wrong += [*_wrong_versions(gone, before, after)]
    left = look(repository, repository.branch("main").head).batches
    lost = sorted((shown - gone | eraser.added) - left)
    wrong += [f"lost: {name} is not there after the purge of {erased.name}" for name in lost]
    if not young:
        # What may belong to a running writer is left to a collection, and the purge says so.
        wrong += [*_left_files(repository, gone)]
    return Purged(1, eraser.deaths, eraser.faults, eraser.publishes, wrong)


class _Eraser:
    """One purge of both tables, repeated until it is done.

    Attributes:
        ground: The repository, later each time that one who held a lease died.
        deaths: How many died at it.
        faults: How many calls of the store failed.
        added: The batches that a writer added to main meanwhile.
        publishes: How often it wrote: batches, and the row that is erased.
    """

    def __init__(self, ground: Ground, erased: Erased, dice: random.Random) -> None:
        self.ground = ground
        self.deaths = 0
        self.faults = 0
        self.publishes = 0
        self.added: frozenset[str] = frozenset()
        self._erased = erased
        self._dice = dice
        self._is_writing = False
        self._names = dice.randrange(10**9)

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
        return self._erased.purge(repository, redact=(self._erased.name,))

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
        if self._is_writing or self.publishes >= _WRITES or self._dice.random() >= _RACES:
            return
        self._is_writing = True
        try:
            repository = self.ground.repository()
            # The purge stands still meanwhile, so there is nothing to wait for.
            repository.maintenance.patience = 0.0
            shop = Shop(repository, "main", "beside")
            # A name of its own: an earlier purge's writer may have added what is erased now.
            name, number = f"beside.{self._names}.{self.publishes}", -1 - self.publishes
            # Who can't land beside a purge waits, or is told so.
            with suppress(RetryError):
                if self._erased.tables is TABLES:
                    shop.insert(name)
                    self.added |= {name}
                else:
                    # What is written while it is erased may be erased, too.
                    shop.write(ROW_TABLE, {self._erased.name: number, name: number}, "merge")
                    self.added |= {row_item(name, number)}
                self.publishes += 1
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
            # An open merge shows conflicts, with both sides of a row, and no rows of tables.
            is_open_merge = space == "heads" and ref.name.startswith(PREFIX)
            if ref.move.commit is not None and not is_open_merge:
                yield ref.move.commit


def _wrong_versions(
    gone: frozenset[str], before: dict[Key, Seen], after: dict[Key, Seen]
) -> Iterator[str]:
    for key, seen in after.items():
        if risen := sorted(gone & seen.batches):
            yield f"risen: the commit of {key} shows {risen} after their purge"
        yield from seen.wrong
    for key, seen in before.items():
        if key not in after:
            yield f"lost: the commit of {key} can't be read after the purge of {sorted(gone)}"
            continue
        lost = sorted(seen.batches - gone - after[key].batches)
        if lost:
            yield f"lost: the commit of {key} lacks {lost} after the purge of {sorted(gone)}"


def _left_files(repository: Repository, gone: frozenset[str]) -> Iterator[str]:
    """Yield the files that still hold what was erased, before-images included."""
    for info in repository.blobs.walk("data"):
        if not info.path.endswith(".parquet"):
            continue
        table = read_table(BufferReader(repository.blobs.get(info.path)))
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        for row in rows:
            texts = {text for text in row if isinstance(text, str)}
            numbers = {number for number in row if isinstance(number, int)}
            if gone & (texts | {row_item(text, n) for text in texts for n in numbers}):
                yield f"silent: {info.path} holds {row} after its purge, and nobody was told"
                break
