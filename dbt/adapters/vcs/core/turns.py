"""Turns: writers of one branch let those go first who lost a race before them.

Whoever wins a race is the first to race again, so a writer whose work takes longer could lose
forever. A writer that lost puts up a ticket, a small file named by the time its work began. Before
each attempt a writer waits while there is an older ticket than its own. Tickets are advice: the
ref's next move alone decides who lands. So a ticket that a killed process left costs each branch
one wait; whoever ran out of patience takes it down.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from dbt.adapters.vcs.core.errors import RetryError, StorageError
from dbt.adapters.vcs.core.ids import system_clock
from dbt.adapters.vcs.core.store.blobs import Blobs, next_after
from dbt.adapters.vcs.core.store.branch_names import quote

FOLDER: Final = "turns"
"""Where tickets are, one folder a branch."""

PATIENCE: Final = 5.0
"""Seconds that a writer waits for another one's ticket."""

# Attempts after which writers that lost together don't wait longer: tickets keep their order.
_LONGEST: Final = 3

# Attempts of a landing within a statement before it queues: the statement waited for its turn
# already, and whoever wins meanwhile changed other tables, so that it needn't be run again.
_AT_ONCE: Final = 3

_FIRST_LOOK: Final = 0.002
_LAST_LOOK: Final = 0.05
"""Seconds between two looks at the tickets."""


class Turn:
    """One writer's work on one branch, from its first attempt to its last.

    Attributes:
        depth: How many blocks share it: one that lands within another one's block tries to do so
            at once, since the work was done in turn.
    """

    def __init__(self, blobs: Blobs, branch: str) -> None:
        self._blobs = blobs
        self._folder = f"{FOLDER}/{quote(branch)}"
        self._ticket = f"{self._folder}/{system_clock():020d}-{uuid.uuid4().hex}"
        self._is_up = False
        self.depth = 0

    def attempts(self, what: str) -> Iterator[int]:
        """Yield the number of each attempt, when it is this writer's turn.

        The caller leaves the loop on success.

        Raises:
            RetryError: All attempts were lost; `what` says what could not be done.
        """
        patient = 1 if self.depth == 1 else _AT_ONCE
        for number in range(1, MAX_ATTEMPTS + 1):
            if number > patient:
                self._queue()
            if number >= patient:
                self._wait()
            yield number
            pause(min(number, _LONGEST))
        raise RetryError(
            f"Could not {what}: another writer was first {MAX_ATTEMPTS} times in a row. Nothing "
            "was changed; try again when fewer writers are running."
        )

    def end(self) -> None:
        """Take the ticket down, if there is one."""
        if self._is_up:
            self._is_up = False
            # What landed has landed: one that stays is taken down by whoever waits for it.
            with suppress(StorageError):
                self._blobs.delete(self._ticket)

    def _queue(self) -> None:
        # Before each attempt: somebody who waited too long may have taken it down.
        self._is_up = True
        # On a full disk a writer goes on without one.
        with suppress(StorageError):
            self._blobs.create(self._ticket, b"")

    def _wait(self) -> None:
        """Wait while another writer is in front, for a limited time for each."""
        look, front, since = _FIRST_LOOK, "", 0.0
        while True:
            # Names of tickets begin with 20 digits, so each of them comes after `0`.
            first = next_after(self._blobs, f"{self._folder}/0")
            if first is None or first >= self._ticket:
                return
            now = time.monotonic()
            if first != front:
                front, since = first, now
            elif now - since > PATIENCE:
                # Its owner was killed, or is slow: then it puts its ticket up again (`_queue`).
                self._blobs.delete(front)
                continue
            time.sleep(look)
            look = min(2 * look, _LAST_LOOK)


class Turns:
    """The turns of the writers of one repository; safe to share between threads."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._here = threading.local()

    @contextmanager
    def on(self, branch: str) -> Iterator[Turn]:
        """Yield this thread's turn on a branch: the same one in a block within a block."""
        turns: dict[str, Turn] = self._here.__dict__.setdefault("turns", {})
        turn = turns.setdefault(branch, Turn(self._blobs, branch))
        turn.depth += 1
        try:
            yield turn
        finally:
            turn.depth -= 1
            if turn.depth == 0:
                del turns[branch]
                turn.end()


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
