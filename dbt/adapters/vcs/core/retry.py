"""Retry: how often to try again after a lost race, and how long to wait."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Final

from dbt.adapters.vcs.core.errors import RetryError

MAX_ATTEMPTS: Final = 20
FIRST_WAIT: Final = 0.002
MAX_WAIT: Final = 1.0
"""Seconds."""


def attempts(what: str) -> Iterator[int]:
    """Yield the number of each try, waiting before all but the first.

    The caller leaves the loop on success. Waits double up to a bound, each shortened at random so
    that writers that lost together don't collide again.

    Raises:
        RetryError: All tries were lost; `what` says what could not be done.
    """
    for number in range(MAX_ATTEMPTS):
        if number:
            pause(number)
        yield number + 1
    raise RetryError(
        f"Could not {what}: another writer was first {MAX_ATTEMPTS} times in a row. "
        "Nothing was changed; try again when fewer writers are at work."
    )


def pause(number: int) -> None:
    """Wait for a random time, up to a bound that doubles with each try."""
    time.sleep(random.uniform(0, min(MAX_WAIT, FIRST_WAIT * 2**number)))
