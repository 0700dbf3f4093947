"""Turns: writers of one branch let those go first who lost a race before them.

Whoever wins a race is the first to race again, so a writer whose work takes longer could lose
forever. A writer that lost, or that meets a ticket, puts up one of its own: a small file named by
the time its work began. Before each attempt a writer waits while there is an older ticket than its
own. Whoever met others lately puts up a ticket first of all: if all that come to an empty line
began without one, each would store its objects, and one would land.

Tickets are advice: the ref's next move alone decides who lands. So a ticket that a killed process
left costs each branch one wait; whoever ran out of patience takes it down.

A ticket may hold a plan, for whoever's turn it is to land with their own work (`core.groups`). It
has a number behind its name then. Versions before that see a ticket like any other.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, Protocol

from dbt.adapters.vcs.core.errors import RetryError, StorageError
from dbt.adapters.vcs.core.ids import system_clock
from dbt.adapters.vcs.core.store.blobs import Blobs, each, together
from dbt.adapters.vcs.core.store.branch_names import quote

FOLDER: Final = "turns"
"""Where tickets are, one folder a branch."""

PATIENCE: Final = 5.0
"""Seconds that a writer waits for another one's ticket."""

_BUSY: Final = 5.0
"""Seconds after which a writer that met others on a branch takes itself to be alone there."""

# Branches on which others were met that are remembered; to forget them costs a lost race each.
_REMEMBERED: Final = 1_000

# How long writers pause that can't put up a ticket, as `pause` counts.
_LONGEST: Final = 3

# Attempts of a landing within an attempt that waited for its turn before it queues: whoever wins
# meanwhile changed other tables, so that the work needn't be done again.
_AT_ONCE: Final = 3

# Times that whoever has landed goes on to land those who have come to wait.
_MORE: Final = 4

_FIRST_LOOK: Final = 0.002
_LAST_LOOK: Final = 0.05
"""Seconds between two looks at the tickets."""

# The next look comes after this share of the time that the first in line has taken so far, times
# one's own place: whoever is next loses little time, and nobody else asks often. Whoever has a
# plan up may be done whenever the next one is, whatever the place.
_SHARE: Final = 0.25


class TicketPlan(Protocol):
    """A plan for a ticket, as `core.groups` makes it.

    Attributes:
        is_new: True until it was to be put up.
    """

    is_new: bool

    def open(self, name: str) -> bytes | None:
        """Return the plan as it is put up under a name; None if there is none to put up."""


def plan_name(path: str) -> str:
    """Return the name by which moves know the plan in a ticket."""
    return path.rpartition("/")[2]


class Turn:
    """One writer's work on one branch, from its first attempt to its last.

    Attributes:
        depth: How many blocks share it. One that lands within another one's attempt does so at
            once if that attempt waited for its turn.
        is_plan_gone: True if the own plan was taken down, as whoever lands it does.
        behind: Tickets with plans that were behind this writer's when it looked last.
        plans: What the first of these hold, as `core.groups` has read it; None if it hasn't.
    """

    def __init__(self, blobs: Blobs, branch: str, met: dict[str, float]) -> None:
        """Begin; `met` tells when others were met on branches, and is kept up to date."""
        self._blobs = blobs
        self._branch = branch
        self._met = met
        self._folder = f"{FOLDER}/{quote(branch)}"
        self._ticket = f"{self._folder}/{system_clock():020d}-{uuid.uuid4().hex}"
        # The tickets that are up, and what they hold.
        self._up: dict[str, bytes] = {}
        self._plan = ""
        self._plans = 0
        self._done: list[str] = []
        self._has_waited = False
        self._began, self._times = 0.0, 0
        self._seen: Sequence[str] = ()
        self.depth = 0
        self.is_plan_gone = False
        self.behind: list[str] = []
        self.plans: list[Any] | None = None

    def attempts(
        self, what: str, *, at_once: bool = False, offer: TicketPlan | None = None
    ) -> Iterator[int]:
        """Yield the number of each attempt, when it is this writer's turn.

        The caller leaves the loop on success. With `at_once` the first attempt begins without
        waiting: what lands within it waits then. With an `offer` its plan is put up for others to
        land if this writer has to wait; ask it first of all in each attempt.

        Raises:
            RetryError: All attempts were lost; `what` says what could not be done.
        """
        patient = _AT_ONCE if self._has_waited else 1
        for number in range(1, MAX_ATTEMPTS + 1):
            if number >= patient and not (at_once and number == 1):
                self._wait(offer)
            yield number
            if number >= patient:
                # Whoever has a ticket needs no pause: its turn comes when others are done.
                self._meet()
                self._queue(offer)
            else:
                pause(number)
        raise _lost_error(what)

    def end(self) -> None:
        """Take the ticket down, if there is one, and those whose plans landed with this work."""
        # Whoever landed the plan has taken it down.
        up = [path for path in self._up if not (self.is_plan_gone and path == self._plan)]
        gone, self._up, self._done = [*up, *self._done], {}, []
        # What landed has landed: one that stays is taken down by whoever waits for it.
        with suppress(StorageError):
            each(self._blobs.delete, gone)

    def landed(self, plans: Iterable[str]) -> None:
        """Note that plans landed with this work, so that their owners hear of it at its end."""
        paths = [f"{self._folder}/{name}" for name in plans]
        # With the one by which an owner kept a place before it had a plan.
        self._done += [*paths, *({*map(_stem, paths)} & {*self._seen})]

    def go_on(self) -> bool:
        """Take down the plans that have landed, and look who has come to wait meanwhile.

        Returns:
            Whether this writer may land these, too: not if it has no ticket up, nor if somebody
            without a plan is next, nor after some times, as it has work of its own to go on with.
        """
        if not (self._up and self._is_next_planned()) or self._times == _MORE:
            return False
        self._times += 1
        gone, self._done = self._done, []
        _, line = together(self._blobs, partial(each, self._blobs.delete, gone), self._line)
        # Whoever comes now has to see a ticket in front.
        is_up = not self._up.keys().isdisjoint(line)
        self._look_behind([path for path in line if path not in gone])
        is_early = time.monotonic() - self._began < PATIENCE / 2
        return is_up and is_early and bool(self.behind) and self._is_next_planned()

    def _look_behind(self, line: Sequence[str]) -> None:
        self.behind, self.plans, self._seen = _with_plans(line, self._ticket), None, line

    def _is_next_planned(self) -> bool:
        """Return whether whoever is next, if anybody is, has a plan."""
        others = [_stem(ticket) for ticket in self._seen if ticket not in self._up]
        return list(map(_stem, self.behind[:1])) == others[:1]

    def take_down(self, plan: str) -> None:
        """Take down the ticket that holds a plan; this writer keeps its place."""
        path = f"{self._folder}/{plan}"
        if self._up.pop(path, None) is not None:
            self._plan = ""
            self._queue(None)
        with suppress(StorageError):
            self._blobs.delete(path)

    def _queue(self, offer: TicketPlan | None) -> None:
        # After each attempt: somebody who waited too long may have taken it down.
        name = f"{self._ticket}.{self._plans + 1}"
        plan = None if offer is None else offer.open(plan_name(name))
        if plan is not None:
            self._plan, self._plans = name, self._plans + 1
            self._up[name] = plan
        elif not self._up:
            self._up[self._ticket] = b""
        self.is_plan_gone = False
        try:
            for path, data in self._up.items():
                self._blobs.create(path, data)
        except StorageError:
            # On a full disk there is no line, and chance has to keep writers apart.
            pause(_LONGEST)

    def _wait(self, offer: TicketPlan | None) -> None:
        """Wait while another writer is in front, for a limited time for each.

        This ends, too, when the own plan has been taken down, which whoever lands it does.
        """
        front, since = "", 0.0
        while True:
            line = self._line()
            if self._plan and self._plan not in line:
                self.is_plan_gone = True
                return
            ahead = [ticket for ticket in line if ticket < self._ticket]
            if not ahead:
                if not self._up and self._is_busy():
                    # Of those that come now, all but one see a ticket in front. Without a plan:
                    # if this one is in front and dies, nobody should land its work.
                    self._queue(None)
                    continue
                self._has_waited, self._began, self._times = True, time.monotonic(), 0
                self._look_behind(line)
                return
            if not self._up or (offer is not None and offer.is_new):
                # Without one, all that wait would race when the first in line is done.
                self._queue(offer)
            now = time.monotonic()
            if ahead[0] != front:
                front, since = ahead[0], now
            elif now - since > PATIENCE:
                # Its owner was killed, or is slow: then it puts its ticket up again (`_queue`).
                self._blobs.delete(front)
                continue
            place = min(len(ahead), 2) if self._plan else len(ahead)
            look = place * max(_SHARE * (now - since), _FIRST_LOOK)
            time.sleep(min(look, _LAST_LOOK))

    def _line(self) -> list[str]:
        """Return the tickets that are up, the oldest first."""
        # Names of tickets begin with 20 digits, so each of them comes after `0`.
        line = self._blobs.later(f"{self._folder}/0")
        if not self._up.keys() >= set(line):
            self._meet()
        return line

    def _meet(self) -> None:
        if len(self._met) > _REMEMBERED:
            self._met.clear()
        self._met[self._branch] = time.monotonic()

    def _is_busy(self) -> bool:
        met = self._met.get(self._branch)
        return met is not None and time.monotonic() - met < _BUSY


def _stem(ticket: str) -> str:
    """Return what all tickets of one writer's work have in common."""
    folder, _, name = ticket.rpartition("/")
    return f"{folder}/{name.partition('.')[0]}"


def _with_plans(line: Sequence[str], own: str) -> list[str]:
    """Return the tickets with plans behind one's own, in order; one for each writer."""
    found: dict[str, str] = {}
    for path in line:
        stem = _stem(path)
        # A later plan takes the place of an earlier one of the same writer.
        if path != stem and stem > own:
            found[stem] = path
    return list(found.values())


class Turns:
    """The turns of the writers of one repository; safe to share between threads."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._here = threading.local()
        self._met: dict[str, float] = {}

    @contextmanager
    def on(self, branch: str) -> Iterator[Turn]:
        """Yield this thread's turn on a branch: the same one in a block within a block."""
        turns: dict[str, Turn] = self._here.__dict__.setdefault("turns", {})
        turn = turns.setdefault(branch, Turn(self._blobs, branch, self._met))
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
    raise _lost_error(what)


def _lost_error(what: str) -> RetryError:
    return RetryError(
        f"Could not {what}: another writer was first {MAX_ATTEMPTS} times in a row. "
        "Nothing was changed; try again when fewer writers are at work."
    )


def pause(number: int) -> None:
    """Wait for a random time, up to a bound that doubles with each try."""
    time.sleep(random.uniform(0, min(MAX_WAIT, FIRST_WAIT * 2**number)))
