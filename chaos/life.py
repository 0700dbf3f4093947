"""Life: what one process of a campaign does from its birth until it is killed."""

from __future__ import annotations

import os
import random
import signal
import time
import traceback
from typing import Final, NoReturn

from chaos.faults import Trouble
from chaos.ground import Ground, Weather
from chaos.journal import Journal
from chaos.worker import Worker
from chaos.worlds import Worlds
from dbt.adapters.vcs.core.codec import decode_record
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.groups import LandingPlan
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.turns import FOLDER

_TURN: Final = 2.0
"""Seconds after which nobody lands a plan any more that was taken down."""


def live(
    ground: Ground, name: str, stamp: str, journal: Journal, worlds: Worlds, plan: Plan
) -> NoReturn:
    """Work until killed; a process that ends by itself tells why."""
    parent = os.getppid()
    try:
        outlive(ground.blobs(), name)
        worker = born(ground, name, stamp, journal, worlds, plan)
        while os.getppid() == parent:
            worker.step()
        # Nobody would end it any more.
        os._exit(0)
    except BaseException as error:
        text = "".join(traceback.format_exception(error)[-8:])
        journal.tell(event="wrong", what=f"raw: a process of {name} ended: {text}")
    finally:
        os._exit(1)
    raise AssertionError("it has ended")


def outlive(blobs: Blobs, name: str) -> None:
    """Take down the plans that an earlier life of a worker left, and let others end their turns.

    Others land the work of who died for some seconds more. A worker that looked at its branches
    before that would take it for something that has risen.
    """
    line = [info.path for info in blobs.walk(FOLDER)]
    left = {path for path in line if _is_plan_of(blobs, path, name)}
    for path in left:
        blobs.delete(path)
    end = time.monotonic() + _TURN
    while left and time.monotonic() < end:
        others = {info.path for info in blobs.walk(FOLDER)}
        if others.isdisjoint(set(line) - left):
            return
        time.sleep(0.01)


def _is_plan_of(blobs: Blobs, path: str, name: str) -> bool:
    try:
        return decode_record(LandingPlan, blobs.get(path), path).author == name
    except (DamagedError, NotFoundError):
        # A ticket without a plan, or one that was just taken down.
        return False


class Plan:
    """What a process meets: the weather of its round and, for some, the call at which it dies."""

    def __init__(self, weather: Weather, dice: random.Random, *, dies_at_call: bool) -> None:
        self.weather = weather
        self.seed = dice.getrandbits(32)
        self.skew = dice.randint(-weather.skew, weather.skew)
        self.kill_at = dice.randrange(10, 300) if dies_at_call else 0


def born(
    ground: Ground, name: str, stamp: str, journal: Journal, worlds: Worlds, plan: Plan
) -> Worker:
    """Return a worker that has opened the repository."""

    def tell(kind: str, call: str, path: str) -> None:
        journal.tell(event="fault", kind=kind, call=call, path=path)

    trouble = Trouble(
        random.Random(plan.seed),
        lies=plan.weather.lies,
        kill_at=plan.kill_at,
        die=_die,
        tell=tell,
    )
    repository = ground.repository(trouble, plan.skew)
    trouble.rate = plan.weather.rate
    worker = Worker(
        name,
        stamp,
        repository=repository,
        plain=ground.repository(),
        journal=journal,
        worlds=worlds,
        dice=random.Random(plan.seed),
    )
    worker.copies = ground.copies(name, trouble, plan.skew)
    return worker


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody survives this")
