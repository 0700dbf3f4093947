"""The protocol of refs, landing, collection and bringing back, as requests to a small store.

A version is a word such as `a+b` and needs the files `a` and `b`; data files and manifests are
alike here. Times are those of the store. Each request is named after the function that makes it,
and each rule can be switched off, to show that it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final, NamedTuple, TypeAlias

from tests.model.explorer import Answers, Program, Request

TERM: Final = 3
SAFE: Final = 1
LOOKED: Final = 1
GRACE: Final = 4
LONG_AGO: Final = -10

Steps: TypeAlias = Generator[Request, Any, Any]


class Move(NamedTuple):
    """One move of the branch, and who made it."""

    version: str
    by: str


class World(NamedTuple):
    """What is stored, and what was told to people.

    Attributes:
        now: The time.
        files: Each file, and when it was written or renewed.
        moves: The branch's log. The first move is from before the retention.
        pins: Versions that are being brought back.
        leases: Who collects, and when they last said so.
        acknowledged: Number and move of every landing that was reported as done.
        ended: Processes that did what they were asked to do.
        torn: True once a reader found that something is missing.
    """

    now: int
    files: frozenset[tuple[str, int]]
    moves: tuple[Move, ...]
    pins: frozenset[str] = frozenset()
    leases: frozenset[tuple[str, int]] = frozenset()
    acknowledged: frozenset[tuple[int, Move]] = frozenset()
    ended: frozenset[str] = frozenset()
    torn: bool = False

    @property
    def names(self) -> set[str]:
        """The files that are there."""
        return {name for name, _ in self.files}

    def written(self, file: str) -> int | None:
        """Return when a file was written or renewed; None if it is missing."""
        return next((at for name, at in self.files if name == file), None)


def start(*versions: str, files: str = "") -> World:
    """Return a world whose branch had these versions, and that also has other old files."""
    needed = {file for version in versions[1:] for file in files_of(version)}
    old = {(file, LONG_AGO) for file in needed | set(files.split())}
    return World(0, frozenset(old), tuple(Move(version, "") for version in versions))


def files_of(version: str) -> list[str]:
    """Return the files that a version needs."""
    return version.split("+")


def clock(until: int) -> Callable[[World], World | None]:
    """Return what lets time pass until a moment."""
    return lambda world: world._replace(now=world.now + 1) if world.now < until else None


# Invariants


def broken(world: World) -> str | None:
    """Return the invariant that doesn't hold, in the words of docs/concurrency.md."""
    for number, move in world.acknowledged:
        if len(world.moves) <= number or world.moves[number] != move:
            return "an acknowledged commit stays in the log"
    brought = any(move.by.startswith("restore") for move in world.moves)
    shown = set(files_of(world.moves[-1].version))
    if not brought and any(set(files_of(m.version)) - shown for _, m in world.acknowledged):
        return "a landing keeps what others landed"
    if not shown <= world.names:
        return "what the branch shows is there"
    return "a reader sees a whole commit" if world.torn else None


# Requests


def _told(name: str, tell: Callable[[World], Any]) -> Request:
    return Request(name, lambda world: [(world, tell(world))])


def _read_ref() -> Request:
    return _told(
        "core.store.refs:RefStore.read",
        lambda world: (len(world.moves), world.moves[-1].version, world.now),
    )


def _create_or_renew(file: str, off: frozenset[str]) -> Request:
    def act(world: World) -> Answers:
        was = world.written(file)
        if was is not None and "renew what is there" in off:
            return [(world, True)]
        files = world.files - {(file, was)} | {(file, world.now)}
        return [(world._replace(files=files), was is not None)]

    return Request("core.store.objects:ObjectStore.flush", act)


def _follow(move: Move, number: int, began: int, off: frozenset[str]) -> Request:
    def act(world: World) -> Answers:
        if world.now - began >= GRACE and "land within the grace" not in off:
            return []
        free = len(world.moves) == number
        if not free and "create only if absent" not in off:
            return [(world, "lost")]
        there = world._replace(moves=(*world.moves[:number], move))
        done = there._replace(acknowledged=world.acknowledged | {(number, move)})
        unknown = [(there, "unknown"), (world, "unknown")] if free else []
        return [(done, "landed"), *unknown]

    return Request("core.branches:Names.follow", act)


def _was_ours(move: Move, number: int) -> Request:
    def act(world: World) -> Answers:
        if world.moves[number : number + 1] != (move,):
            return [(world, False)]
        return [(world._replace(acknowledged=world.acknowledged | {(number, move)}), True)]

    return Request("core.store.refs:RefStore.at", act)


def _running(since: int | None = None) -> Request:
    def tell(world: World) -> tuple[bool, int]:
        at = world.now if since is None else since
        return any(written > at - TERM for _, written in world.leases), world.now

    return _told("core.store.lease:is_running", tell)


def _wait(until: int) -> Request:
    return Request(
        "core.store.objects:ObjectStore.flush",
        lambda world: [(world, None)] if world.now >= until else [],
    )


def _end(name: str) -> Request:
    def act(world: World) -> Answers:
        leases = frozenset(lease for lease in world.leases if lease[0] != name)
        return [(world._replace(leases=leases, ended=world.ended | {name}), None)]

    return Request("core.store.lease:Lease.end", act)


# Processes


def writer(name: str, adds: str, off: frozenset[str] = frozenset()) -> Program:
    """Return a process that lands a version with more files, again if it loses a race."""

    def program() -> Steps:
        for _ in range(2):
            number, version, now = yield _read_ref()
            move = Move("+".join(sorted({*files_of(version), *files_of(adds)})), name)
            early = "objects before the move" in off
            if not early:
                yield from _flushed(adds, off)
            answer = yield _follow(move, number, now, off)
            if early:
                yield from _flushed(adds, off)
            if answer == "unknown" and not (yield _was_ours(move, number)):
                return
            if answer != "lost":
                return

    return program


def _flushed(adds: str, off: frozenset[str]) -> Steps:
    there = []
    for file in files_of(adds):
        if (yield _create_or_renew(file, off)):
            there.append(file)
    if there and "wait while a collection runs" not in off:
        runs, now = yield _running()
        if runs:
            yield _wait(now + LOOKED)
    if "store again what was there" not in off:
        for file in there:
            yield _create_or_renew(file, off)


def reader() -> Program:
    """Return a process that reads all files of the branch's last version, one by one."""

    def program() -> Steps:
        _, version, _ = yield _read_ref()
        for file in files_of(version):

            def act(world: World, file: str = file) -> Answers:
                return [(world._replace(torn=file not in world.names), None)]

            yield Request("core.store.objects:ObjectStore.get", act)

    return program


def restorer(name: str, version: str, off: frozenset[str] = frozenset()) -> Program:
    """Return a process that brings back a version which nothing names any more."""

    def pinned(world: World) -> Answers:
        return [(world._replace(pins=world.pins | {version}), world.now)]

    def unpinned(world: World) -> Answers:
        return [(world._replace(pins=world.pins - {version}), None)]

    def program() -> Steps:
        number, _, began = yield _read_ref()
        runs = False
        if "pin, then look for a lease" in off:
            runs, _ = yield _running()
        at = yield Request("core.retention:hold", pinned)
        if not off & {"pin, then look for a lease", "look for a lease"}:
            runs, _ = yield _running(at)
        gone = yield _told(
            "core.presence:missing_file",
            lambda world: not set(files_of(version)) <= world.names,
        )
        if runs or (gone and "look for the files" not in off):
            yield Request("core.retention:hold", unpinned)
            return
        move = Move(version, name)
        if (yield _follow(move, number, began, off)) == "unknown":
            yield _was_ours(move, number)

    return program


def collector(name: str, off: frozenset[str] = frozenset()) -> Program:
    """Return a process that deletes what nothing names."""

    def program() -> Steps:
        now = yield Request("core.store.lease:Lease.begin", lambda world: _renewed(world, name))
        alone = yield _told(
            "core.store.lease:Lease._check_alone",
            lambda world: all(who == name or at <= now - TERM for who, at in world.leases),
        )
        if not alone:
            yield _end(name)
            return
        kept = yield from _named()
        listed = yield _told("verbs.upkeep.gc:_marked", lambda world: tuple(sorted(world.files)))
        before = now - GRACE
        garbage = [file for file, at in listed if file not in kept and at < before]
        if (yield _check(name, off)) != "held":
            return
        kept = yield from _named()
        for file in garbage:
            if file not in kept and not (yield from _deleted(name, file, before, off)):
                return
        yield _end(name)

    return program


def _renewed(world: World, name: str) -> Answers:
    others = frozenset(lease for lease in world.leases if lease[0] != name)
    return [(world._replace(leases=others | {(name, world.now)}), world.now)]


def _named() -> Steps:
    """Return the files that pins and then moves name."""
    pins = yield _told("verbs.upkeep.sighting:sight", lambda world: tuple(sorted(world.pins)))
    moves = yield _told(
        "core.collection:names_of", lambda world: tuple(m.version for m in world.moves[1:])
    )
    return {file for version in (*pins, *moves) for file in files_of(version)}


def _check(name: str, off: frozenset[str]) -> Request:
    """Check the lease, and renew it if it soon isn't held."""

    def act(world: World) -> Answers:
        age = next((world.now - at for who, at in world.leases if who == name), TERM)
        if "stop when the lease is lost" in off or age <= SAFE:
            return [(world, "held")]
        if age >= TERM:
            return [(world, "lost")]
        [(renewed, _)] = _renewed(world, name)
        return [(renewed, "held")]

    return Request("core.store.lease:Lease.check", act)


def _deleted(name: str, file: str, before: int, off: frozenset[str]) -> Steps:
    """Delete a file unless it is young; return False if the lease is lost."""
    while True:
        at, looked = yield _told(
            "core.store.local:LocalBlobs.modified_at",
            lambda world: (world.written(file), world.now),
        )
        if at is None or (at >= before and "look at the age again" not in off):
            return True
        if (yield _check(name, off)) != "held":
            return False

        # No request is on its way for longer than half a term, so this is one step with the
        # look at this machine's own clock before it.
        def act(world: World, at: int = at, looked: int = looked) -> Answers:
            held = any(who == name and world.now - at <= SAFE for who, at in world.leases)
            if not held and "stop when the lease is lost" not in off:
                return [(world, False)]
            if world.now - looked >= LOOKED and "believe no old look" not in off:
                return [(world, False)]
            files = frozenset(each for each in world.files if each[0] != file)
            return [(world._replace(files=files), True)]

        if (yield Request("verbs.upkeep.gc:_delete", act)):
            return True
