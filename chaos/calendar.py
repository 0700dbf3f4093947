"""Calendar: the campaign's time, which runs ahead of the real one in known steps.

Collections work in days and campaigns in seconds. So the time of clocks and of files moves ahead
in steps: two days between rounds, when nobody works, and hours within a round. A process of a
round sees fewer than 24 hours pass, as the grace period of a collection demands of writers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dbt.adapters.vcs.core.ids import Clock, Micros

HOUR: Final = 3_600 * 1_000_000
NIGHT: Final = 48 * HOUR


@dataclass(frozen=True)
class Calendar:
    """The steps made so far: when each was made, in real microseconds, and by how much."""

    steps: Sequence[tuple[int, int]] = ()

    def at(self, real: int) -> Micros:
        """Return the campaign's time at a real one."""
        return Micros(real + sum(by for when, by in self.steps if when <= real))

    def clock(self, skew: int = 0) -> Clock:
        """Return a machine's clock that is off by some microseconds."""
        return lambda: Micros(self.at(now()) + skew)

    def with_step(self, when: int, by: int) -> Calendar:
        """Return the calendar with one more step."""
        return Calendar((*self.steps, (when, by)))


def now() -> int:
    """Return the real time in microseconds."""
    return time.time_ns() // 1_000
