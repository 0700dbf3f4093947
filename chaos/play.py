"""Play: rounds in one process, where workers take turns and overtake each other at known calls."""

from __future__ import annotations

import random
from typing import NoReturn

from chaos.calendar import HOUR, NIGHT, now
from chaos.check import carried, check, sorted_out, wrong_copies
from chaos.drills import drill
from chaos.faults import Trouble
from chaos.ground import Ground, Weather, counted
from chaos.journal import Line, Memo
from chaos.shop import Known
from chaos.worker import BUSY, WEIGHTS, Worker
from chaos.worlds import Worlds
from dbt.adapters.vcs.core.errors import DamagedError


class Killed(BaseException):
    """Stands for the end of a process: nothing catches it but the play."""


class Play:
    """A campaign in one process.

    Attributes:
        wrong: All that the checks found.
        counts: How much was done.
        collected: How many files collections deleted.
        weights: How often workers do what.
        told: All lines of the journals, each with its worker's name.
    """

    def __init__(self, ground: Ground, seed: int) -> None:
        self.ground = ground
        self.wrong: list[str] = []
        self.counts: dict[str, int] = {"kills": 0}
        self.collected = 0
        self.told: list[Line] = []
        self.weights = WEIGHTS
        self._dice = random.Random(seed)
        self._worlds = {name: Worlds() for name in ground.workers}
        self._journals = {name: Memo() for name in ground.workers}
        self._round = 0
        self._at_work: set[str] = set()
        self._known: Known = {}

    def round(self, weather: Weather, steps: int, *, drills: bool = True) -> list[str]:
        """Work, then check; return what is wrong.

        Args:
            weather: The trouble of the round.
            steps: How many operations workers do.
            drills: Whether the check ends with damage of which somebody must be told.
        """
        self._round += 1
        # Whoever stands between two calls must not see more than a day pass.
        self.ground = self.ground.later((now(), NIGHT))
        alive: dict[str, Worker] = {}
        for number in range(steps):
            if number % max(steps // 4, 1) == 0:
                self.ground = self.ground.later((now(), 2 * HOUR))
                alive.clear()
            name = self._dice.choice(self.ground.workers)
            self._step(name, alive, weather)
        return self._checked(drills)

    def kinds(self) -> dict[str, int]:
        """Return how much is wrong, by kind."""
        return sorted_out(self.wrong)

    def _step(self, name: str, alive: dict[str, Worker], weather: Weather) -> None:
        if name in self._at_work:
            return
        self._at_work.add(name)
        try:
            if name not in alive:
                alive[name] = self._born(name, alive, weather)
            alive[name].step()
        except Killed:
            self.counts["kills"] += 1
            del alive[name]
        finally:
            self._at_work.discard(name)

    def _born(self, name: str, alive: dict[str, Worker], weather: Weather) -> Worker:
        dice, journal = self._dice, self._journals[name]

        def between() -> None:
            if len(self._at_work) < 2 and dice.random() < weather.races:
                others = [other for other in self.ground.workers if other not in self._at_work]
                if others:
                    self._step(dice.choice(others), alive, weather)

        def tell(kind: str, call: str, path: str) -> None:
            journal.tell(event="fault", kind=kind, call=call, path=path)

        trouble = Trouble(
            random.Random(dice.random()),
            rate=weather.rate,
            lies=weather.lies,
            kill_at=_last_call(dice) if weather.kills else 0,
            die=_die,
            between=between,
            tell=tell,
        )
        quiet, trouble.rate = trouble.rate, 0.0
        skew = dice.randint(-weather.skew, weather.skew)
        repository = self.ground.repository(trouble, skew)
        trouble.rate = quiet
        start = {"worlds": Worlds(self._worlds[name].possible), "journal": journal}
        worker = Worker(
            name,
            str(self._round),
            repository=repository,
            plain=self.ground.repository(),
            dice=random.Random(dice.random()),
            **start,  # type: ignore[arg-type]
        )
        worker.weights = BUSY if weather.is_busy else self.weights
        worker.known = self._known
        worker.copies = self.ground.copies(name, trouble, skew)
        return worker

    def _checked(self, drills: bool) -> list[str]:
        lines = {name: journal.lines() for name, journal in self._journals.items()}
        try:
            wrong = check(self.ground.repository(), self._worlds, lines, self._dice, self._known)
        except DamagedError as error:
            wrong = [f"damaged: the check can't go on: {error}"]
        # Nobody else writes to a worker's copy.
        copied = [name for name in lines if any(line.get("op") == "copy" for line in lines[name])]
        wrong += wrong_copies(self.ground, copied)
        if drills and not wrong:
            # Drills need a whole repository.
            wrong += drill(self.ground.blobs(), self._dice)
        for name, count in counted(lines).items():
            self.counts[name] = self.counts.get(name, 0) + count
        told = [{"of": name, **line} for name, journal in lines.items() for line in journal]
        self.collected += sum(line.get("files", 0) for line in told)
        self.told += told
        self._journals = {name: Memo() for name in lines}
        for name, journal in self._journals.items():
            for line in carried(lines[name]):
                journal.tell(**line)
        self.wrong += wrong
        return wrong


def _last_call(dice: random.Random) -> int:
    """Return the call at which a worker dies: some live long enough to copy a repository."""
    return dice.randrange(10, 400 if dice.random() < 0.8 else 2500)


def _die() -> NoReturn:
    raise Killed
