"""Life: what one process of a campaign does from its birth until it is killed."""

from __future__ import annotations

import os
import random
import signal
import traceback
from typing import NoReturn

from chaos.faults import Trouble
from chaos.ground import Ground, Weather
from chaos.journal import Journal
from chaos.worker import Worker
from chaos.worlds import Worlds


def live(
    ground: Ground, name: str, stamp: str, journal: Journal, worlds: Worlds, plan: Plan
) -> NoReturn:
    """Work until killed; a process that ends by itself tells why."""
    parent = os.getppid()
    try:
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
