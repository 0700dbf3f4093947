"""Campaign: rounds of processes that work and are killed, each followed by a check.

The repository, the journals and the state are in one folder, so that a campaign can be stopped
after any round and continued. This process only starts others and ends them: it opens no store
itself, since threads would not survive in the processes that it forks.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from chaos.calendar import HOUR, NIGHT, Calendar, now
from chaos.check import carried, check, sorted_out, wrong_copies
from chaos.drills import drill
from chaos.ground import Ground, Weather, counted, cut_trees
from chaos.journal import Journal
from chaos.life import Plan, live
from chaos.purges import erase
from chaos.worlds import Worlds, packed, unpacked
from dbt.adapters.vcs.core import turns
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.opening import open_blobs

WEATHERS: Final = {
    "kills": Weather(),
    "clocks": Weather(skew=3 * HOUR),
    "faults": Weather(rate=0.01, skew=HOUR),
    "storm": Weather(rate=0.05),
    "lies": Weather(rate=0.01, lies=True),
}
_STEPS: Final = 8
"""Steps of two hours within a round: a killed collection blocks others for one."""

_ERA: Final = 800
"""Publishes after which a campaign goes on in a new repository: checks read whole logs."""

_PATIENCE: Final = 0.2
"""Seconds that processes that live for one or two wait for a ticket of one that was killed."""

_NAP: Final = 1.1
"""Seconds before a round: object stores tell times of files in whole seconds."""


@dataclass
class State:
    """What a campaign needs to go on after a round."""

    seed: int
    round: int = 0
    era: int = 0
    published: int = 0
    is_founded: bool = False
    steps: list[tuple[int, int]] = field(default_factory=list)
    worlds: dict[str, Any] = field(default_factory=dict)
    carried: dict[str, Any] = field(default_factory=dict)


@dataclass
class Campaign:
    """A campaign in a folder.

    Attributes:
        folder: Where its state, journals and results are.
        location: The URI of the store, in which each era has a folder.
        options: The store's options.
        state: How far it has come.
        workers: How many processes work at once.
        life: How many seconds most processes live at most; some live for four times as long.
        version: What is recorded as the version that was tested.
        proxied: The options that lead to the store through a proxy; None if there is none.
        counted: Returns how often the proxy did what so far.
    """

    folder: Path
    location: str
    options: Mapping[str, str]
    state: State
    workers: int = 4
    life: float = 2.5
    version: str = ""
    proxied: Mapping[str, str] | None = None
    counted: Callable[[], Mapping[str, int]] = dict

    @classmethod
    def at(
        cls, folder: Path, location: str, options: Mapping[str, str], seed: int, workers: int = 4
    ) -> Campaign:
        """Return the campaign of a folder, which goes on where it was."""
        preload()
        folder.mkdir(parents=True, exist_ok=True)
        stored = folder / "state.json"
        state = State(**json.loads(stored.read_text())) if stored.exists() else State(seed)
        return cls(folder, location, options, state, workers)

    def round(self, seconds: float) -> dict[str, Any]:
        """Work for some seconds, check, and return what was done and what is wrong."""
        state = self.state
        if state.published > _ERA:
            state.era, state.published, state.is_founded = state.era + 1, 0, False
        # The processes that this one starts have it from here.
        in_pieces = (state.seed + state.era) % 2 == 1
        cut_trees(in_pieces)
        if not state.is_founded:
            state.worlds, state.carried, state.steps = {}, {}, []
            _in_child(Ground(self._reopen, workers=self._names).found)
            state.is_founded = True
        state.round += 1
        time.sleep(_NAP)
        ground = self._dawn(seconds)
        time.sleep(_NAP)
        dice = random.Random(f"{state.seed}/{state.round}")
        weather = list(WEATHERS)[state.round % len(WEATHERS)]
        began = time.monotonic()
        before = Counter(self.counted())
        kills = self._work(ground, WEATHERS[weather], dice, seconds)
        requests = Counter(self.counted()) - before
        result = {
            "round": state.round,
            "seed": state.seed,
            "version": self.version,
            "store": self.location.partition(":")[0] if "://" in self.location else "local",
            "trees": "pieces" if in_pieces else "whole",
            "weather": weather,
            "seconds": round(time.monotonic() - began, 1),
            "kills": kills,
            **self._checked(ground, dice),
            **({"proxy": dict(requests)} if requests else {}),
        }
        result["faults"] += requests.total() - requests["requests"]
        Journal(self.folder / "results.jsonl").tell(**result)
        (self.folder / "state.json").write_text(json.dumps(vars(state)))
        return result

    @property
    def _names(self) -> list[str]:
        return [f"w{number}" for number in range(self.workers)]

    def _reopen(self) -> Blobs:
        return open_blobs(f"{self.location}/era{self.state.era}", dict(self.options))

    def _through(self) -> Blobs:
        options = dict(self.options if self.proxied is None else self.proxied)
        return open_blobs(f"{self.location}/era{self.state.era}", options)

    def _copy_of(self, name: str) -> Blobs:
        location = f"{self.location}/era{self.state.era}-copy-{name}"
        return open_blobs(location, dict(self.options))

    def _dawn(self, seconds: float) -> Ground:
        """Return the ground two days later, with hours that pass during the round."""
        self.state.steps.append((now(), NIGHT))
        hours = [
            (now() + int(number * seconds * 1_000_000 / _STEPS), 2 * HOUR)
            for number in range(1, _STEPS + 1)
        ]
        self.state.steps += hours
        calendar = Calendar(tuple(map(tuple, self.state.steps)))  # type: ignore[arg-type]
        return Ground(self._reopen, calendar, self._names, self._copy_of, self._through)

    def _journal(self, name: str) -> Journal:
        return Journal(self.folder / f"journal-{self.state.round}-{name}.jsonl")

    def _work(self, ground: Ground, weather: Weather, dice: random.Random, seconds: float) -> int:
        """Keep processes at work, end each after a while, and return how many were killed."""
        for name in self._names:
            for line in self.state.carried.get(name, []):
                self._journal(name).tell(**line)
        alive: dict[int, tuple[str, float]] = {}
        kills, end = 0, time.monotonic() + seconds
        idle = list(self._names)
        while time.monotonic() < end:
            for name in idle:
                # Some die at a call of their own, the others whenever it comes.
                plan = Plan(weather, dice, dies_at_call=dice.random() < 0.4)
                pid = _forked(lambda name=name, plan=plan: self._live(ground, name, plan))  # type: ignore[misc]
                times = 4 if dice.random() < 0.2 else 1
                alive[pid] = name, time.monotonic() + dice.uniform(0.1, times * self.life)
            idle = []
            time.sleep(0.005)
            for pid, (name, until) in list(alive.items()):
                if time.monotonic() > until:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                elif os.waitpid(pid, os.WNOHANG)[0] == 0:
                    continue
                del alive[pid]
                idle.append(name)
                kills += 1
        for pid in alive:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return kills + len(alive)

    def _live(self, ground: Ground, name: str, plan: Plan) -> None:
        turns.PATIENCE = _PATIENCE  # type: ignore[misc]
        worlds = unpacked(self.state.worlds[name]) if name in self.state.worlds else Worlds()
        live(ground, name, str(self.state.round), self._journal(name), worlds, plan)

    def _checked(self, ground: Ground, dice: random.Random) -> dict[str, Any]:
        """Check in a process of its own, and take over what it found."""
        answer = self.folder / "checked.json"
        answer.unlink(missing_ok=True)
        _in_child(lambda: answer.write_text(json.dumps(self._check(ground, dice))))
        found: dict[str, Any] = json.loads(answer.read_text())
        self.state.worlds, self.state.carried = found.pop("worlds"), found.pop("carried")
        self.state.published += found["publishes"]
        if not found["wrong"]:
            for name in self._names:
                (self.folder / f"journal-{self.state.round}-{name}.jsonl").unlink(missing_ok=True)
        return found

    def _check(self, ground: Ground, dice: random.Random) -> dict[str, Any]:
        worlds = {
            name: unpacked(self.state.worlds[name]) if name in self.state.worlds else Worlds()
            for name in self._names
        }
        lines = {name: self._journal(name).lines() for name in self._names}
        wrong = check(ground.repository(), worlds, lines, dice)
        wrong += wrong_copies(ground)
        if not wrong:
            # Drills need a whole repository.
            wrong += drill(ground.blobs(), dice)
        counts = counted(lines)
        if not wrong and self.state.published + counts["publishes"] > _ERA:
            # The last that is done to this repository: names and commits are others afterwards.
            purged = erase(ground, dice)
            wrong, counts = purged.wrong, purged.added_to(counts)
        return {
            **counts,
            **sorted_out(wrong),
            "wrong": wrong,
            "errors": [line["text"] for book in lines.values() for line in book if "raw" in line],
            "worlds": {name: packed(worlds[name]) for name in worlds},
            "carried": {name: carried(lines[name]) for name in lines},
        }


def preload() -> None:
    """Import what every process would otherwise import by itself, which takes its whole life."""
    for name in ("obstore.store", "dbt.adapters.vcs.core.store.cloud", "pandas"):
        # Arrow imports pandas where it is installed.
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name)


def _forked(work: Callable[[], object]) -> int:
    """Start a process and return its id; it ends when the work does."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def _in_child(work: Callable[[], object]) -> None:
    """Do something in a process of its own.

    Raises:
        RuntimeError: It failed; its error is on standard error.
    """
    _, status = os.waitpid(_forked(lambda: _told(work)), 0)
    if status != 0:
        raise RuntimeError(f"A process of the campaign failed with the status {status}.")


def _told(work: Callable[[], object]) -> None:
    import traceback

    try:
        work()
    except BaseException:
        traceback.print_exc()
        raise


def totals(results: Path) -> dict[str, int]:
    """Return the sums over all rounds in a results file."""
    names = (
        "kills",
        "deaths",
        "operations",
        "publishes",
        "faults",
        "gc",
        "reads",
        "fsck",
        "copies",
        "repairs",
        "purges",
        "raw",
    )
    found = dict.fromkeys(("rounds", *names, "lost", "mixed", "silent"), 0)
    for line in Journal(results).lines():
        found["rounds"] += 1
        for name in found.keys() - {"rounds"}:
            found[name] += line.get(name, 0)
    return found
