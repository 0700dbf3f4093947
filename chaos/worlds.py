"""Worlds: the oracle. What the branches may show of one worker's batches, by its journal.

A batch is a set of rows that a worker adds in one commit, to two tables. A single row with its
values counts as one, too. Only its own worker adds, deletes, merges or restores them, one
operation after the other. So its journal says which sets of batches each branch may show: an
operation that was acknowledged happened, one that was refused didn't, and one that ended
otherwise, by a kill or by a fault, may have happened or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from chaos.journal import Line

Batches = frozenset[str]
NONE: Batches = frozenset()


class World(NamedTuple):
    """One possible state of a worker's batches.

    Attributes:
        main: On the branch that all workers share.
        work: On the worker's own branch, which it merges into main and main into it.
        lab: On a branch that it restores to earlier commits.
        old: On a branch into which it merges earlier commits of lab.
        base: In the merge base of work and main.
        sign: The text of the worker's view on main, which only it changes; none if there is none.
    """

    main: Batches = NONE
    work: Batches = NONE
    lab: Batches = NONE
    old: Batches = NONE
    base: Batches = NONE
    sign: Batches = NONE


PLACES = ("main", "work", "lab", "old")


def after(world: World, operation: Line) -> World:
    """Return the world after an operation."""
    what, place = operation["op"], operation.get("place", "")
    if what == "insert":
        return world._replace(**{place: getattr(world, place) | {operation["batch"]}})
    if what == "delete":
        return world._replace(**{place: getattr(world, place) - {operation["batch"]}})
    if what == "publish":
        both = merged(world.base, world.main, world.work)
        return world._replace(main=both, base=world.work)
    if what == "update":
        both = merged(world.base, world.work, world.main)
        return world._replace(work=both, base=world.main)
    if what in ("write", "again"):
        shown = getattr(world, place) - frozenset(operation["gone"])
        return world._replace(**{place: shown | frozenset(operation["come"])})
    if what == "revert":
        then, before = frozenset(operation["then"]), frozenset(operation["before"])
        return world._replace(**{place: merged(then, getattr(world, place), before)})
    if what == "pick":
        then, before = frozenset(operation["then"]), frozenset(operation["before"])
        return world._replace(**{place: merged(before, getattr(world, place), then)})
    if what == "sign":
        return world._replace(sign=frozenset(filter(None, [operation["text"]])))
    if what in ("restore", "bring"):
        return world._replace(**{place: frozenset(operation["batches"])})
    return world


def merged(base: Batches, ours: Batches, theirs: Batches) -> Batches:
    """Return what is left of three sides if no row conflicts."""
    return (ours | (theirs - base)) - (base - theirs)


class Worlds:
    """The possible worlds of a worker, one after the other in its journal.

    Attributes:
        possible: At least one.
    """

    def __init__(self, possible: Iterable[World] = (World(),)) -> None:
        self.possible = set(possible)
        self._open: Line | None = None

    def follow(self, line: Line) -> None:
        """Take the next line of the journal; those that tell no operation change nothing."""
        event = line.get("event")
        if event == "intended":
            self._settle("unknown")
            self._open = line
        elif event in ("done", "refused", "unknown"):
            self._settle(event)

    def narrow(self, seen: Mapping[str, Iterable[str]]) -> list[str]:
        """Keep the worlds that show what was seen; return what contradicts all of them."""
        self._settle("unknown")
        shown = {place: frozenset(batches) for place, batches in seen.items()}
        left = {
            world
            for world in self.possible
            if all(getattr(world, place) == batches for place, batches in shown.items())
        }
        wrong = [] if left else list(self._contradictions(shown))
        self.possible = left or {World(**shown, base=shown["work"] & shown["main"])}
        return wrong

    def only(self) -> World | None:
        """Return the world if there is just one."""
        return next(iter(self.possible)) if len(self.possible) == 1 else None

    def _settle(self, how: str) -> None:
        operation, self._open = self._open, None
        if operation is None or how == "refused":
            return
        changed = {after(world, operation) for world in self.possible}
        self.possible = changed if how == "done" else self.possible | changed

    def _contradictions(self, shown: Mapping[str, Batches]) -> Iterable[str]:
        found = False
        for place, batches in shown.items():
            legal = [getattr(world, place) for world in self.possible]
            for batch in sorted(frozenset.intersection(*legal) - batches):
                found = True
                yield f"lost: {batch} was acknowledged on {place} and is not there"
            for batch in sorted(batches - frozenset.union(*legal)):
                found = True
                yield f"risen: {batch} is on {place}, where it must not be"
        if not found:
            told = {place: sorted(batches) for place, batches in shown.items()}
            yield f"mixed: the branches show parts of several states: {told}"


def packed(worlds: Worlds) -> list[dict[str, Any]]:
    """Return the possible worlds as JSON."""
    return [
        {field: sorted(batches) for field, batches in world._asdict().items()}
        for world in worlds.possible
    ]


def unpacked(stored: Iterable[Mapping[str, Iterable[str]]]) -> Worlds:
    """Return worlds from `packed` ones."""
    return Worlds(
        World(**{field: frozenset(batches) for field, batches in item.items()}) for item in stored
    )
