"""The explorer: every order in which a few processes can reach a store, and every stop in between.

A process is a generator that yields requests and receives answers. Between two requests any other
process may make any number of its own, and time may pass. A process that dies is one that makes no
further request, so deaths need no step of their own: every state is checked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

Answers: TypeAlias = Iterable[tuple[Any, Any]]
"""What a request may lead to: the world after it, and what the process is told."""

Told: TypeAlias = "tuple[Any, ...] | None"
"""What a process was told; None once it has ended."""


class Request(NamedTuple):
    """One request of a process to the store.

    Attributes:
        name: The function of the package that makes it.
        act: Returns what it may lead to in a world; nothing if it can't be made any more.
    """

    name: str
    act: Callable[[Any], Answers]


Program: TypeAlias = Callable[[], Generator[Request, Any, None]]


class Step(NamedTuple):
    """One step of a trace."""

    process: str
    request: str
    told: Any


@dataclass(frozen=True)
class Found:
    """What an exploration found.

    Attributes:
        states: Number of states that were looked at.
        broken: The invariant that doesn't hold; None if all hold everywhere.
        trace: A shortest way to where it doesn't.
        requests: The names of all requests that were made.
    """

    states: int
    broken: str | None
    trace: tuple[Step, ...]
    requests: frozenset[str]

    def __str__(self) -> str:
        lines = [f"{step.process:10} {step.request:45} {step.told}" for step in self.trace]
        return "\n".join([f"{self.states} states; broken: {self.broken}", *lines])


def explore(
    programs: Mapping[str, Program],
    start: Any,
    tick: Callable[[Any], Any | None],
    broken: Callable[[Any], str | None],
) -> Found:
    """Visit every state that can be reached, those with the fewest steps first.

    Args:
        programs: The processes by name.
        start: The world at the beginning; it must be hashable.
        tick: Returns the world a moment later; None when time ends.
        broken: Returns the name of an invariant that doesn't hold in a world.
    """
    names = list(programs)
    waiting: dict[tuple[int, Told], Request | None] = {}

    def next_of(number: int, told: Told) -> Request | None:
        key = (number, told)
        if key not in waiting:
            waiting[key] = None if told is None else _replayed(programs[names[number]], told)
        return waiting[key]

    def heard(number: int, told: Told, answer: Any) -> Told:
        now = (*(told or ()), answer)
        # What a process was told before it ended makes no difference any more.
        return None if next_of(number, now) is None else now

    first = (start, ((),) * len(names))
    came: dict[Any, tuple[Any, Step] | None] = {first: None}
    queue = deque([first])
    requests: set[str] = set()

    def visit(state: Any, before: Any, step: Step) -> None:
        if state not in came:
            came[state] = (before, step)
            queue.append(state)

    while queue:
        state = queue.popleft()
        world, told = state
        problem = broken(world)
        if problem is not None:
            return Found(len(came), problem, _way(came, state), frozenset(requests))
        later = tick(world)
        if later is not None:
            visit((later, told), state, Step("time", "passes", ""))
        for number, name in enumerate(names):
            request = next_of(number, told[number])
            if request is None:
                continue
            requests.add(request.name)
            for after, answer in request.act(world):
                now = heard(number, told[number], answer)
                all_told = (*told[:number], now, *told[number + 1 :])
                visit((after, all_told), state, Step(name, request.name, answer))
    return Found(len(came), None, (), frozenset(requests))


def _replayed(program: Program, told: tuple[Any, ...]) -> Request | None:
    """Return the request that a process makes after it was told some answers; None at its end."""
    process = program()
    try:
        request = next(process)
        for answer in told:
            request = process.send(answer)
    except StopIteration:
        return None
    return request


def _way(came: Mapping[Any, tuple[Any, Step] | None], state: Any) -> tuple[Step, ...]:
    steps: list[Step] = []
    while (before := came[state]) is not None:
        state, step = before
        steps.append(step)
    return tuple(reversed(steps))
