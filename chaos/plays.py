"""Plays: a campaign in one process, which does more in an hour than processes that are killed.

Workers take turns and overtake each other at calls of the store. Each dies at one of its calls,
and another one is born from its journal: nothing that the dead one remembered is used again, and
none of its calls reaches the store any more. Each game has a repository of its own.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partialmethod
from pathlib import Path
from typing import Any, Final

from pyarrow.parquet import ParquetFile

from chaos.calendar import HOUR
from chaos.copies import named
from chaos.ground import Ground, Weather, cut_trees
from chaos.journal import Journal
from chaos.play import Play
from chaos.purges import NOTHING, erase
from chaos.worker import BUSY
from dbt.adapters.vcs.core import maintenance, turns
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs, Parallel
from dbt.adapters.vcs.core.store.opening import open_blobs

WEATHERS: Final = {
    "deaths": Weather(races=0.3),
    "clocks": Weather(races=0.3, skew=3 * HOUR),
    "faults": Weather(rate=0.01, races=0.3, skew=HOUR),
    "calm": Weather(races=0.4, kills=False),
    "storm": Weather(rate=0.05, races=0.2),
    "lies": Weather(rate=0.01, lies=True, races=0.2),
    "crowd": Weather(rate=0.002, races=0.5, is_busy=True),
}
_ROUNDS: Final = 3
_WORKERS: Final = (("w0", "w1"), ("w0", "w1", "w2"))
_BUSY: Final = 4
"""How many times as many steps busy workers do between two checks."""

_THOROUGH: Final = 9
"""Every how many games workers check, copy and mend the repository as often as others."""

_PURGED: Final = 4
"""Every how many games a batch is purged in the end."""

_LOCAL: Final = 5
"""Every how many games the repository is on a disk."""

_CUT: Final = 2
"""Every how many games schemas are stored in pieces."""


@dataclass
class Plays:
    """A campaign of games in a folder.

    Attributes:
        folder: Where its state and results are.
        seed: What all games are thrown with.
        version: What is recorded as the version that was tested.
        number: The number of the last game.
        steps: How many steps workers do in each of a game's three rounds; busy ones four times
            as many.
        weather: The weather of all games; None for each in turn.
    """

    folder: Path
    seed: int
    version: str = ""
    number: int = 0
    steps: int = 80
    weather: str | None = None

    @classmethod
    def at(cls, folder: Path, seed: int, version: str = "", weather: str | None = None) -> Plays:
        """Return the campaign of a folder, which goes on where it was."""
        _hurry()
        folder.mkdir(parents=True, exist_ok=True)
        stored = folder / "state.json"
        state = json.loads(stored.read_text()) if stored.exists() else {"seed": seed, "number": 0}
        return cls(folder, state["seed"], version, state["number"], weather=weather)

    def game(self) -> dict[str, Any]:
        """Play the next game; return what was done and what is wrong."""
        self.number += 1
        name = self.weather or list(WEATHERS)[self.number % len(WEATHERS)]
        weather = WEATHERS[name]
        place = self.folder / f"game-{self.number}"
        is_local = self.number % _LOCAL == 0
        reopen = _disk(place) if is_local else _memory()
        # A game that was stopped is played again.
        shutil.rmtree(place, ignore_errors=True)
        began = time.monotonic()
        workers = _WORKERS[self.number // len(WEATHERS) % len(_WORKERS)]
        ground = Ground(reopen, workers=workers, copy_of=_copies())
        in_pieces = self.number % _CUT == 0
        cut_trees(in_pieces)
        ground.found()
        dice = random.Random(f"{self.seed}/{self.number}")
        play = Play(ground, dice.getrandbits(32))
        if self.number % _THOROUGH:
            play.weights = BUSY
        for number in range(_ROUNDS):
            # The last round finds what the others left behind.
            last = number == _ROUNDS - 1
            met = Weather(races=0.3, kills=False) if last else weather
            busy = met.is_busy or play.weights is BUSY
            if play.round(met, self.steps * (_BUSY if busy else 1), drills=last):
                break
        purged = NOTHING if play.wrong or self.number % _PURGED else erase(play.ground, dice)
        play.wrong += purged.wrong
        result = {
            "round": self.number,
            "seed": self.seed,
            "version": self.version,
            "store": "disk" if is_local else "memory",
            "trees": "pieces" if in_pieces else "whole",
            "weather": name,
            "seconds": round(time.monotonic() - began, 1),
            **purged.added_to({**play.counts, "deaths": play.counts["kills"], "kills": 0}),
            **play.kinds(),
            "wrong": play.wrong,
            "errors": [line["text"] for line in play.told if "raw" in line],
        }
        if play.wrong:
            book = Journal(self.folder / f"journal-{self.number}.jsonl")
            for line in play.told:
                book.tell(**line)
        elif is_local:
            shutil.rmtree(place)
        Journal(self.folder / "results.jsonl").tell(**result)
        state = {"seed": self.seed, "number": self.number}
        (self.folder / "state.json").write_text(json.dumps(state))
        return result


def _hurry() -> None:
    """Let nobody wait or hand work to threads.

    Whoever is overtaken stands still until the others are done: waiting helps nobody. And others
    overtake calls of the main thread alone.
    """
    turns.PATIENCE = 0.0  # type: ignore[misc]
    maintenance.PATIENCE = 0.0  # type: ignore[misc]
    Parallel.is_serial = True
    for name in ("read", "iter_batches"):
        method = getattr(ParquetFile, name)
        setattr(ParquetFile, name, partialmethod(method, use_threads=False))


def _copies() -> Callable[[str], Blobs]:
    """Return where workers' copies are: in memory, one for each."""
    found: dict[str, Blobs] = {}

    def open_copy(name: str) -> Blobs:
        if name not in found:
            found[name] = named(MemoryBlobs(), f"copy-of-{name}")
        return found[name]

    return open_copy


def _memory() -> Callable[[], Blobs]:
    blobs = named(MemoryBlobs(), "repository")
    return lambda: blobs


def _disk(folder: Path) -> Callable[[], Blobs]:
    return lambda: open_blobs(str(folder), {"fsync": "false"})
