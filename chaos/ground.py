"""Ground: a repository for a campaign, and who works on it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from chaos.calendar import Calendar
from chaos.copies import Copies
from chaos.faults import Trouble, TroubledBlobs
from chaos.shop import Shop
from chaos.worker import branch_of
from chaos.worlds import PLACES
from dbt.adapters.vcs.commands.gc import set_retention
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store import relations
from dbt.adapters.vcs.core.store.blobs import Blobs

_FEW: Final = (2, 1)
_USUAL: Final = (relations.WHOLE, relations.BITS)


@dataclass(frozen=True)
class Weather:
    """The trouble of a round.

    Attributes:
        rate: How likely a call of the store fails.
        lies: Whether it gives wrong answers, too.
        skew: How far clocks are apart at most, in microseconds.
        races: How likely others work before a ref is moved; in one process alone.
        kills: Whether processes die.
        is_busy: Whether workers do little but write and merge.
    """

    rate: float = 0.0
    lies: bool = False
    skew: int = 0
    races: float = 0.0
    kills: bool = True
    is_busy: bool = False


@dataclass(frozen=True)
class Ground:
    """How the repository is reached.

    Attributes:
        reopen: Opens its store.
        calendar: The campaign's time.
        workers: Their names.
        copy_of: Opens the store of a worker's copy; None if workers make none.
        through: Opens the same store through a proxy that makes trouble of its own, for whoever
            works in trouble; None if there is none.
    """

    reopen: Callable[[], Blobs]
    calendar: Calendar = field(default_factory=Calendar)
    workers: Sequence[str] = ("w0", "w1", "w2")
    copy_of: Callable[[str], Blobs] | None = None
    through: Callable[[], Blobs] | None = None

    def blobs(self, trouble: Trouble | None = None) -> TroubledBlobs:
        """Return the store, as old as the calendar says and with trouble."""
        calm = trouble or Trouble(random.Random(0))
        opened = self.through if trouble is not None and self.through else self.reopen
        return TroubledBlobs(opened(), self.calendar, calm)

    def copies(self, worker: str, trouble: Trouble, skew: int) -> Copies | None:
        """Return where a worker's copy is, behind some trouble."""
        if self.copy_of is None:
            return None

        def troubled(blobs: Blobs) -> Blobs:
            return TroubledBlobs(blobs, self.calendar, trouble)

        plain = TroubledBlobs(self.copy_of(worker), self.calendar, Trouble(random.Random(0)))
        clock = self.calendar.clock(skew)
        return Copies(troubled(self.copy_of(worker)), plain, troubled, clock)

    def repository(self, trouble: Trouble | None = None, skew: int = 0) -> Repository:
        """Return the repository as a new process finds it."""
        return Repository.open(self.blobs(trouble), clock=self.calendar.clock(skew))

    def found(self) -> None:
        """Make the repository with the branches of all workers."""
        clock = self.calendar.clock()
        repository = Repository.create(self.blobs(), author="chaos", clock=clock)
        set_retention(repository, 0, author="chaos")
        Shop(repository, "main", "chaos").found(self.workers)
        head = repository.branch("main").head
        for worker in self.workers:
            for place in PLACES[1:]:
                repository.create_branch(branch_of(place, worker), head, author="chaos")

    def later(self, *steps: tuple[int, int]) -> Ground:
        """Return the same with further steps of the calendar."""
        return replace(self, calendar=Calendar((*self.calendar.steps, *steps)))


def cut_trees(is_fine: bool) -> None:
    """Store schemas of three relations or more in pieces, as those of thousands are, or as usual.

    All processes that write to a repository at once have to agree, as those of one release do.
    """
    relations.WHOLE, relations.BITS = _FEW if is_fine else _USUAL  # type: ignore[misc]


def counted(journals: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, int]:
    """Return how much was done, by the journals of a round."""
    lines = [line for journal in journals.values() for line in journal]
    done = [line["op"] for line in lines if line["event"] == "done"]
    return {
        "operations": sum(line["event"] == "intended" for line in lines),
        "publishes": sum(line.get("landed", False) for line in lines if line["event"] == "done"),
        "gc": done.count("gc"),
        "fsck": done.count("fsck"),
        "copies": done.count("copy"),
        "repairs": done.count("mend"),
        "reads": done.count("read"),
        "faults": sum(line["event"] == "fault" for line in lines),
        "refused": sum(line["event"] == "refused" for line in lines),
        "unknown": sum(line["event"] == "unknown" for line in lines),
        "raw": sum("raw" in line for line in lines),
    }
