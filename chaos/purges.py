"""Purges: a batch is erased from all versions, by processes that die and beside writers."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple, NoReturn

from pyarrow import BufferReader
from pyarrow.parquet import read_table

from chaos.calendar import HOUR, now
from chaos.copies import EVERYTHING
from chaos.faults import Trouble
from chaos.ground import Ground
from chaos.shop import TABLES, Seen, Shop, look
from dbt.adapters.vcs.core.errors import RetryError, VcsError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.verbs.changing.clone import clone_from_snapshot
from dbt.adapters.vcs.verbs.changing.merge import merge
from dbt.adapters.vcs.verbs.erasing.purge import PurgeRequest, purge
from dbt.adapters.vcs.verbs.refs.branch import create_branch
from dbt.adapters.vcs.verbs.upkeep.export import export
from dbt.adapters.vcs.verbs.upkeep.fsck import check_repository

_TRIES: Final = 3
_RATE: Final = 0.002
_RACES: Final = 0.2
_WRITES: Final = 5
"""What the writer beside a purge adds at most."""

_PAUSE: Final = 0.1
"""Seconds between a writer's look for a purge and its move, at most."""

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
    before = _versions(plain)
    eraser = _Eraser(ground, batch, dice)
    young = eraser.erase()
    repository = eraser.ground.repository()
    wrong = [
        f"damaged: after the purge of {batch}: {problem}"
        for problem in check_repository(repository, data=EVERYTHING).problems
    ]
    after = _versions(repository)
    wrong += [*_wrong_versions(batch, before, after)]
    shown = look(repository, repository.branch("main").head).batches
    lost = sorted((frozenset(batches) - {batch} | eraser.added) - shown)
    wrong += [f"lost: {name} is not there after the purge of {batch}" for name in lost]
    if not young:
        # What may belong to a running writer is left to a collection, and the purge says so.
        wrong += [*_left_files(repository, batch)]
    return Purged(1, eraser.deaths, eraser.faults, len(eraser.added), wrong)


def storm(ground: Ground, dice: random.Random, *, purges: int, writers: int = 3) -> Purged:
    """Purge batches that main shows while threads write, and check what all branches show.

    Each thread opens the repository for itself, as a process would. The first one waits for a
    purge, and the others give up at once.

    Args:
        ground: The repository, on which nobody else works.
        dice: Chooses the batches, and what each thread does.
        purges: How many batches are purged.
        writers: How many threads write.
    """
    stop = threading.Event()
    threads = [_Beside(ground, f"s{number}", dice.random(), stop) for number in range(writers)]
    threads[0].repository.maintenance.patience = 60.0
    purging: set[str] = set()
    wrong: list[str] = []
    for thread in threads:
        thread.start()
    try:
        while len(purging) < purges and not wrong and any(map(threading.Thread.is_alive, threads)):
            time.sleep(dice.random() * _PAUSE)
            wrong += _purge_one(ground, dice, purging)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    wrong += [text for thread in threads for text in thread.raw]
    wrong += _after_storm(ground.repository(), threads, purging)
    return Purged(len(purging), 0, 0, sum(thread.landed for thread in threads), wrong)


def _purge_one(ground: Ground, dice: random.Random, purging: set[str]) -> Iterator[str]:
    """Purge a batch from both tables, and yield what the purger finds damaged."""
    repository = ground.repository()
    try:
        batches = look(repository, repository.branch("main").head).batches
        if not batches:
            return
        batch = dice.choice(sorted(batches))
        purging.add(batch)
        for name in TABLES:
            purge(
                ground.repository(),
                PurgeRequest(relation=str(name), where=f"batch = '{batch}'"),
                author="chaos",
            )
    except VcsError as error:
        # A purge is alone: nothing that others do may stop it.
        yield f"damaged: a purge beside writers: {error}"


def _after_storm(
    repository: Repository, threads: Iterable[_Beside], purging: set[str]
) -> list[str]:
    try:
        wrong = [f"damaged: {text}" for text in _problems(repository)]
        seen = look(repository, repository.branch("main").head)
        heads = [branch.head for branch in repository.branches()]
        clones = [look(repository, id, None, [thread.clone]) for id in heads for thread in threads]
        versions = [*_versions(repository).values(), *clones]
    except VcsError as error:
        return [f"damaged: {error}"]
    wrong += [text for shown in (seen, *clones) for text in shown.wrong]
    wrong += [
        f"risen: {name} is shown after its purge"
        for name in sorted(purging & frozenset().union(*(shown.batches for shown in versions)))
    ]
    for thread in threads:
        lost = thread.added - thread.deleting - purging - seen.batches
        wrong += [f"lost: {name} was added to main" for name in sorted(lost)]
        back = thread.deleted & seen.batches
        wrong += [f"risen: {name} was deleted from main" for name in sorted(back)]
    return wrong


def _problems(repository: Repository) -> tuple[str, ...]:
    return check_repository(repository, data=EVERYTHING).problems


class _Beside(threading.Thread):
    """Who writes beside purges.

    Attributes:
        repository: The repository, whose store stands still before a ref is moved.
        clone: The table that it makes of another one.
        added: The batches whose landing on main was acknowledged.
        deleting: Those that it began to delete.
        deleted: Those whose deletion from main was acknowledged.
        landed: What else landed, too.
        raw: Errors that no user could understand.
    """

    def __init__(self, ground: Ground, name: str, seed: float, stop: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self._dice = random.Random(seed)
        self._stop_asked = stop
        trouble = Trouble(random.Random(seed), pause=_PAUSE)
        self.repository = ground.repository(trouble)
        self.clone = RelationName("shop", f"clone_of_{name}")
        self.added: set[str] = set()
        self.deleting: set[str] = set()
        self.deleted: set[str] = set()
        self.landed = 0
        self.raw: list[str] = []

    def run(self) -> None:
        """Write until the storm ends."""
        number = 0
        while not self._stop_asked.is_set():
            number += 1
            act = self._dice.choice((self._insert, self._remove, self._publish, self._copy))
            try:
                act(f"{self.name}.{number}")
                self.landed += 1
            except VcsError:
                continue  # Refused; what a thread doesn't count as landed isn't looked for.
            except Exception as error:
                # Whatever it is, it is a defect.
                self.raw.append(f"raw: {act.__name__}: {error!r}")

    def _insert(self, batch: str) -> None:
        Shop(self.repository, "main", self.name).insert(batch)
        self.added.add(batch)

    def _remove(self, batch: str) -> None:
        left = sorted(self.added - self.deleting)
        if not left:
            return self._insert(batch)
        gone = self._dice.choice(left)
        self.deleting.add(gone)
        Shop(self.repository, "main", self.name).delete(gone)
        self.deleted.add(gone)
        return None

    def _publish(self, batch: str) -> None:
        """Merge a new branch."""
        create_branch(self.repository, batch, "main", author=self.name)
        Shop(self.repository, batch, self.name).insert(batch)
        merge(self.repository, batch, "main", author=self.name)
        self.added.add(batch)

    def _copy(self, batch: str) -> None:
        """Make a clone, and metadata for other engines."""
        clone_from_snapshot(
            self.repository,
            str(TABLES[0]),
            str(self.clone),
            branch="main",
            author=self.name,
            replace=True,
        )
        export(self.repository, "main")


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


def _versions(repository: Repository) -> dict[Key, Seen]:
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
