"""Storms: threads that write beside purges and collections, die, and delete late.

Each thread opens the repository for itself, as a process would, and stands still before it moves
a ref. A purge erases a batch or a row that main shows, a collection deletes what earlier rounds
left, and each request to delete may arrive once more, an hour or a night later. After each round
the rows that main shows are compared with what the threads were told.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from chaos.calendar import HOUR, NIGHT, now
from chaos.check import sorted_out
from chaos.copies import EVERYTHING
from chaos.faults import LateDeletions, Trouble
from chaos.ground import Ground
from chaos.journal import Journal
from chaos.purges import Erased, versions_of
from chaos.shop import ROW_TABLE, TABLES, Shop, is_row, look, row_item
from chaos.worker import LARGE, beyond_limits
from dbt.adapters.vcs.commands.branch import create_branch
from dbt.adapters.vcs.commands.clone import clone_from_snapshot
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core import turns
from dbt.adapters.vcs.core.errors import RetryError, StorageError, VcsError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.iceberg.exports import export

_WRITERS: Final = 3
_PURGES: Final = 8
"""What a round purges, if nobody dies at it."""

_AGE: Final = 8
"""Rounds on one repository: each reads the whole history."""

_PAUSE: Final = 0.1
"""Seconds between a writer's look for a purge and its move, at most."""

_SIGNS: Final = ("open", "closed")

_LATE: Final = 0.1
"""How many of the requests to delete arrive again at a time."""

_DEADLY: Final = 0.3
"""How many processes die young."""


class _Killed(BaseException):
    """Stands for the end of a process."""


def _die() -> NoReturn:
    raise _Killed


@dataclass
class Storm:
    """Rounds on one repository, on which nobody else works.

    Attributes:
        ground: How it is reached, later after each round.
        seed: Chooses the batches, and what each thread does.
        kills: Whether threads die at calls of the store.
        late: The requests to delete so far.
        counts: How much was done.
    """

    ground: Ground
    seed: int
    kills: bool = False
    late: LateDeletions = field(init=False)
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.late = LateDeletions(random.Random(self.seed))
        self.counts = dict.fromkeys(
            ("purges", "gc", "publishes", "deaths", "late", "refused", "raw"), 0
        )
        self._begun: set[str] = set()
        self._erased: set[str] = set()
        self._deleted: set[str] = set()
        self._round = 0
        self._threads: list[_Beside] = []

    def trouble(self, *, pause: float = _PAUSE) -> Trouble:
        """Return the trouble that a new process has."""
        dice = random.Random(self.dice.random())
        is_deadly = self.kills and self.dice.random() < _DEADLY
        return Trouble(
            dice,
            kill_at=dice.randrange(10, 1500) if is_deadly else 0,
            die=_die,
            pause=pause,
            late=self.late,
        )

    def round(self, purges: int = _PURGES) -> list[str]:
        """Write and purge, then check what all branches show; return what is wrong.

        A purge that dies ends the round: others would wait for a minute.
        """
        self._round += 1
        plain = self.ground.repository()
        kept = look(plain, plain.branch("main").head).batches
        stop = threading.Event()
        self._threads = [_Beside(self, f"s{n}.{self._round}", stop) for n in range(_WRITERS)]
        threads = self._threads
        # The first one waits for a purge, and the others give up at once.
        threads[0].patience = 5.0 if self.kills else 60.0
        for thread in threads:
            thread.start()
        wrong: list[str] = []
        try:
            for _ in range(purges):
                time.sleep(self.dice.random() * _PAUSE)
                wrong += self._purged()
                if wrong or not any(map(threading.Thread.is_alive, threads)):
                    break
        except _Killed:
            self.counts["deaths"] += 1
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        wrong += [text for thread in threads for text in thread.raw]
        # A lease of one that died counts for a minute.
        self.ground = self.ground.later((now(), HOUR))
        for thread in threads:
            self._deleted |= thread.deleted
            for name, count in thread.counts.items():
                self.counts[name] += count
            # What a dead one did last is known to nobody.
            kept = (kept | thread.added) - thread.deleting
        try:
            wrong += self._found(kept - self._begun, [thread.clone for thread in threads])
        except VcsError as error:
            wrong.append(f"damaged: {error}")
        self.counts["raw"] += sum(text.startswith("raw:") for text in wrong)
        if not wrong:
            self._tidy()
        self.ground = self.ground.later((now(), NIGHT))
        return wrong

    def _purged(self) -> Iterator[str]:
        """Purge a batch or a row; yield what stops it."""
        repository = self.ground.repository(self.trouble(pause=0.0))
        try:
            items = look(repository, repository.branch("main").head).batches
            if not items:
                return
            erased = Erased.of(self.dice.choice(sorted(items)))
            gone = erased.among({*items, *self._written()})
            self._begun |= gone
            try:
                erased.purge(repository)
            finally:
                # A row that was written meanwhile is from before the purge, or from after it.
                self._begun |= erased.among(self._written())
        except (RetryError, StorageError):
            # A collection runs, or a request was not answered: the next purge goes on.
            self.counts["refused"] += 1
            return
        except VcsError as error:
            # A purge is alone: nothing else that others do may stop it.
            yield f"damaged: a purge beside writers: {error}"
            return
        self._erased |= gone
        self.counts["purges"] += 1

    def _written(self) -> set[str]:
        """Return the rows that threads wrote, or are writing."""
        return {item for thread in self._threads for item in list(thread.rows)}

    def _found(self, expected: frozenset[str] | set[str], clones: list[RelationName]) -> list[str]:
        """Return what is wrong with what branches show."""
        repository = self.ground.repository()
        # Whoever lands next completes or undoes a purge that died, and may have to plan again.
        with suppress(RetryError):
            signed(repository, f"first.{self._round}", _SIGNS[0])
        signed(repository, f"signs.{self._round}", self.dice.choice(_SIGNS))
        self.counts["late"] += self.late.arrive(self.ground.blobs(), 0.5)
        repository = self.ground.repository()
        wrong = [
            f"damaged: {problem}"
            for problem in check_repository(repository, data=EVERYTHING).problems
        ]
        seen = look(repository, repository.branch("main").head)
        heads = [branch.head for branch in repository.branches()]
        copies = [look(repository, id, None, [clone]) for id in heads for clone in clones]
        # A purge that died may have erased a batch from one of the tables.
        half = [f" of {name} in " for name in self._begun - self._erased]
        wrong += [
            text
            for shown in (seen, *copies)
            for text in shown.wrong
            if not any(name in text for name in half)
        ]
        versions = [*versions_of(repository).values(), *copies]
        shown = frozenset().union(*(version.batches for version in versions))
        wrong += [f"risen: {name} is shown after its purge" for name in self._erased & shown]
        wrong += [f"risen: {name} was deleted" for name in self._deleted & seen.batches]
        wrong += [f"lost: {name} was on main" for name in expected - seen.batches]
        return wrong

    def _tidy(self) -> None:
        """Leave what branches showed to later collections."""
        repository = self.ground.repository()
        for branch in repository.branches():
            if branch.name != "main":
                repository.delete_branch(branch.name, author="chaos")


class _Beside(threading.Thread):
    """Who writes beside purges.

    Attributes:
        clone: The table that it makes of another one.
        patience: Seconds that it waits for a purge.
        added: The batches whose landing on main was acknowledged.
        deleting: Those that it began to delete.
        deleted: Those whose deletion from main was acknowledged.
        rows: The single rows that it began to write.
        counts: How much it did.
        raw: Errors that no user could understand.
    """

    def __init__(self, storm: Storm, name: str, stop: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self._storm = storm
        self._dice = random.Random(storm.dice.random())
        self._stop_asked = stop
        self.clone = RelationName("shop", f"clone_of_{name.replace('.', '_')}")
        self.patience = 0.0
        self.added: set[str] = set()
        self.deleting: set[str] = set()
        self.deleted: set[str] = set()
        self.rows: list[str] = []
        self.counts = {"publishes": 0, "gc": 0, "deaths": 0, "late": 0, "refused": 0}
        self.raw: list[str] = []
        self._commits: list[CommitId] = []
        self._repository = self._born()

    def _born(self) -> Repository:
        return self._storm.ground.repository(self._storm.trouble())

    def run(self) -> None:
        """Write until the storm ends."""
        number = 0
        often = [self._insert, self._remove, self._publish, self._sign, self._collect, self._write]
        acts = [*often, *often, self._copy, self._go_back, self._deliver]
        while not self._stop_asked.is_set():
            number += 1
            act = self._dice.choice(acts)
            self._repository.maintenance.patience = self.patience
            try:
                act(f"{self.name}.{number}")
                self.counts["publishes"] += 1
            except VcsError:
                self.counts["refused"] += 1
            except _Killed:
                self.counts["deaths"] += 1
                self._repository = self._born()
            except Exception as error:
                # Whatever it is, it is a defect.
                self.raw.append(f"raw: {act.__name__}: {error!r}")

    def _insert(self, batch: str) -> None:
        self._commits.append(Shop(self._repository, "main", self.name).insert(batch))
        self.added.add(batch)

    def _write(self, batch: str) -> None:
        """Write a single row by key, and update it later on."""
        name, number = f"{self.name}.{self._dice.choice('xy')}", int(batch.rpartition(".")[2])
        item = row_item(name, number)
        self.rows.append(item)
        # What it replaces is deleted with it, at once.
        old = {row for row in self.rows if row.startswith(f"{name}=") and row != item}
        self.deleting |= old
        shop = Shop(self._repository, "main", self.name)
        with beyond_limits(self._dice.random() < LARGE):
            shop.write(ROW_TABLE, {name: number}, "merge")
        self.added.add(item)
        self.deleted |= old

    def _remove(self, batch: str) -> None:
        left = sorted(item for item in self.added - self.deleting if not is_row(item))
        if not left:
            return self._insert(batch)
        gone = self._dice.choice(left)
        self.deleting.add(gone)
        Shop(self._repository, "main", self.name).delete(gone)
        self.deleted.add(gone)
        return None

    def _publish(self, batch: str) -> None:
        """Merge a new branch."""
        create_branch(self._repository, batch, "main", author=self.name)
        Shop(self._repository, batch, self.name).insert(batch)
        with beyond_limits(self._dice.random() < LARGE):
            merge(self._repository, batch, "main", author=self.name)
        self.added.add(batch)

    def _copy(self, batch: str) -> None:
        """Make a clone, and metadata for other engines."""
        clone_from_snapshot(
            self._repository,
            str(TABLES[0]),
            str(self.clone),
            branch="main",
            author=self.name,
            replace=True,
        )
        export(self._repository, "main")

    def _sign(self, batch: str) -> None:
        signed(self._repository, batch, self._dice.choice(_SIGNS))

    def _go_back(self, batch: str) -> None:
        """Make a branch of an earlier commit."""
        if self._commits:
            at = self._dice.choice(self._commits)
            create_branch(self._repository, batch, at, author=self.name)

    def _collect(self, batch: str) -> None:
        collect(self._repository, author=self.name)
        self.counts["gc"] += 1

    def _deliver(self, batch: str) -> None:
        """Let requests to delete arrive again."""
        storm = self._storm
        self.counts["late"] += storm.late.arrive(storm.ground.blobs(), _LATE)


def signed(repository: Repository, branch: str, text: str) -> None:
    """Put up a view on a new branch; of equal ones one object is made, collected or not."""
    create_branch(repository, branch, "main", author="storm")
    Shop(repository, branch, "storm").sign(text)


@dataclass
class Storms:
    """A campaign of storms in a folder, each on a repository of its own.

    Attributes:
        folder: Where results are.
        seed: What all storms are thrown with.
        version: What is recorded as the version that was tested.
    """

    folder: Path
    seed: int
    version: str = ""

    def __post_init__(self) -> None:
        # Those that died would let others wait.
        turns.PATIENCE = 0.2  # type: ignore[misc]
        self.folder.mkdir(parents=True, exist_ok=True)
        self._number = 0
        self._storm: Storm | None = None

    def round(self) -> dict[str, Any]:
        """Return what was done in the next round, and what is wrong."""
        began, place = time.monotonic(), self.folder / "repository"
        if self._storm is None or self._number % _AGE == 0:
            shutil.rmtree(place, ignore_errors=True)
            ground = Ground(lambda: open_blobs(str(place), {"fsync": "false"}), workers=())
            ground.found()
            self._storm = Storm(ground, hash((self.seed, self._number)), kills=True)
        self._number += 1
        storm = self._storm
        before = dict(storm.counts)
        wrong = storm.round()
        result = {
            "round": self._number,
            "seed": self.seed,
            "version": self.version,
            "seconds": round(time.monotonic() - began, 1),
            **{name: count - before[name] for name, count in storm.counts.items()},
            **sorted_out(wrong),
            "wrong": wrong,
            "errors": [text for text in wrong if text.startswith("raw:")],
        }
        Journal(self.folder / "results.jsonl").tell(**result)
        return result
