"""The protocol of refs, landing, collection, restoring and purge, as requests to a small store.

A version is a word such as `a+b` and needs the files `a` and `b`. What a writer stores again are
manifests, which have other names, `a.1` and `a.2`; what a restorer brings back are data files,
which have none. What takes the place of a purged file `b` is `B`. Times are those of the store. A
request to delete arrives at any time after it was sent, and more than once. Each request is named
after the function that makes it, and each rule can be switched off, to show that it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from typing import Any, Final, NamedTuple, TypeAlias

from tests.model.explorer import Answers, Program, Request

TERM: Final = 3
GRACE: Final = 4
LONG_AGO: Final = -10

Steps: TypeAlias = Generator[Request, Any, Any]


class Move(NamedTuple):
    """One move of the branch, who made it, and the plans that it landed or withdrew."""

    version: str
    by: str
    landed: frozenset[str] = frozenset()
    withdrawn: frozenset[str] = frozenset()


class Plan(NamedTuple):
    """What a writer that waits would land, for others to land with their own work.

    Whoever lands it stores the manifest, and its owner has stored the block.
    """

    name: str
    manifest: str
    block: str


class World(NamedTuple):
    """What is stored, and what was told to people.

    Attributes:
        now: The time.
        files: Each file, and when it was written or renewed.
        moves: The branch's log. The first move is from before the retention.
        pins: Versions that are being brought back.
        leases: Who collects, and when they last said so.
        condemned: Who condemned which files.
        sent: Files that requests to delete are on their way for, or may arrive again.
        acknowledged: Number and move of every landing that was reported as done.
        ended: Processes that did what they were asked to do.
        torn: True once a reader found that something is missing.
        purge: The last step of a purge in its record.
        plans: Plans that are up.
        late: Plans that requests to put up are on their way for, or may arrive again.
        failed: Plans of which people were told that nothing was changed.
    """

    now: int
    files: frozenset[tuple[str, int]]
    moves: tuple[Move, ...]
    pins: frozenset[str] = frozenset()
    leases: frozenset[tuple[str, int]] = frozenset()
    condemned: frozenset[tuple[str, str]] = frozenset()
    sent: frozenset[str] = frozenset()
    acknowledged: frozenset[tuple[int, Move]] = frozenset()
    ended: frozenset[str] = frozenset()
    torn: bool = False
    purge: str = ""
    plans: frozenset[Plan] = frozenset()
    late: frozenset[Plan] = frozenset()
    failed: frozenset[str] = frozenset()

    @property
    def names(self) -> set[str]:
        """The files that are there under any name."""
        return {name.partition(".")[0] for name, _ in self.files}

    @property
    def listed(self) -> frozenset[str]:
        """The files that are condemned."""
        return frozenset(file for _, file in self.condemned)

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
    kept = set(files_of(world.moves[-1].version.lower()))
    if not brought and any(set(files_of(m.version.lower())) - kept for _, m in world.acknowledged):
        return "a landing keeps what others landed"
    if world.purge == "done" and any(
        file.islower() and file.upper() in world.names for file in shown
    ):
        return "what a purge erased stays away"
    if not shown <= world.names:
        return "what the branch shows is there"
    landed = [name for move in world.moves for name in move.landed]
    # What a writer landed itself, though it named no plan.
    owners = {plan.name for plan in world.late}
    landed += [move.by for move in world.moves if move.by in owners and not _names(move)]
    if len(landed) > len({*landed}):
        return "a plan lands at most once"
    if world.failed & {*landed}:
        return "what was withdrawn never lands"
    return "a reader sees a whole commit" if world.torn else None


def _names(move: Move) -> frozenset[str]:
    return move.landed | move.withdrawn


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
            return [(world, None)]
        files = world.files - {(file, was)} | {(file, world.now)}
        return [(world._replace(files=files), None)]

    return Request("core.store.objects:Condemned.store", act)


def _lists() -> Request:
    return _told("core.store.objects:Condemned.refresh", lambda world: world.listed)


def _free(file: str, listed: frozenset[str]) -> str:
    names = (file, *(f"{file}.{number}" for number in range(1, 9)))
    return next(name for name in names if name not in listed)


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
            # Both are done at once. The earlier the look, the less it sees.
            if "look for a purge before the move" not in off and (yield _record()) in _OPEN:
                return
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
    listed: frozenset[str] = frozenset()
    if "read the lists after storing" in off:
        listed = yield _lists()
    names = {file: _free(file, listed) for file in files_of(adds)}
    for name in names.values():
        yield _create_or_renew(name, off)
    while not off & {"read the lists after storing", "store again what is condemned"}:
        listed = yield _lists()
        moved = [file for file, name in names.items() if name in listed]
        if not moved:
            return
        for file in moved:
            names[file] = _free(file, listed)
            yield _create_or_renew(names[file], off)


def purger(name: str, file: str, off: frozenset[str] = frozenset()) -> Program:
    """Return a process that puts another file in the place of one, and deletes that."""

    def program() -> Steps:
        yield _step("begin")
        if "fence what is planned" not in off:
            number, version, now = yield _read_ref()
            if (yield _follow(Move(version, name), number, now, off)) != "landed":
                # It would try again. One that dies here is undone.
                yield _step("undone")
                return
        _, old, now = yield _read_ref()
        new = "+".join(each.upper() if each == file else each for each in files_of(old))
        yield _create_or_renew(file.upper(), off)
        yield _step("rewritten")
        number, version, _ = yield _read_ref()
        # What isn't known to be replaced stays.
        moved = Move(new, name)
        if version == old and (yield _follow(moved, number, now, off)) != "landed":
            return
        yield Request(
            "core.maintenance:Maintenance._sweep",
            lambda world: [(world._replace(sent=world.sent | {file}), None)],
        )
        yield _step("done")

    return program


_OPEN: Final = ("begin", "rewritten")


def _record() -> Request:
    return _told("core.maintenance:Maintenance._record", lambda world: world.purge)


def _step(step: str) -> Request:
    return Request(
        "core.maintenance:Maintenance._step", lambda world: [(world._replace(purge=step), None)]
    )


def owner(name: str, manifest: str, block: str, off: frozenset[str] = frozenset()) -> Program:
    """Return a process that puts up a plan, and then lands the same itself, or gives up."""
    plan = Plan(name, manifest, block)

    def program() -> Steps:
        early = "blocks before the plan" in off
        if not early:
            yield _synced(block)
        yield Request("core.turns:Turn._queue", lambda world: _put_up(world, plan))
        if early:
            yield _synced(block)
        gives_up = yield Request(
            "core.turns:Turn._wait", lambda world: [(world, False), (world, True)]
        )
        if gives_up:
            yield _taken_down([plan])
        for _ in range(2):
            number, version, now = yield _read_ref()
            unseen = "look for one's own plan in the log" in off
            if not unseen and (yield _found(name)) is not None:
                return
            if gives_up:
                move = Move(version, name, withdrawn=frozenset({name}))
                if "withdraw by a move" in off:
                    yield _failed(name)
                    return
            else:
                yield from _flushed(manifest, off)
                own = frozenset() if "name one's own plan" in off else frozenset({name})
                files = {*files_of(version), manifest, block}
                move = Move("+".join(sorted(files)), name, own)
            answer = yield _follow(move, number, now, off)
            if answer == "unknown" and not (yield _was_ours(move, number)):
                return
            if answer != "lost":
                if gives_up:
                    yield _failed(name)
                return

    return program


def leader(name: str, adds: str, off: frozenset[str] = frozenset()) -> Program:
    """Return a process that lands its own work and the plans that are up, in one move."""

    def program() -> Steps:
        yield from _flushed(adds, off)
        for _ in range(2):
            plans = yield _told("core.groups:plan_in", lambda world: tuple(sorted(world.plans)))
            number, version, now = yield _read_ref()
            if "look for plans in the log" not in off:
                settled = yield _told("core.groups:Settled.since", _settled)
                plans = [plan for plan in plans if plan.name not in settled]
            files = {*files_of(version), adds}
            for plan in plans:
                files |= {plan.manifest, plan.block}
                if "store what a plan brings" not in off:
                    yield from _flushed(plan.manifest, off)
            move = Move(
                "+".join(sorted(files)), name, frozenset({name, *(plan.name for plan in plans)})
            )
            answer = yield _follow(move, number, now, off)
            if answer == "unknown" and not (yield _was_ours(move, number)):
                return
            if answer != "lost":
                yield _taken_down(plans)
                yield from _gone_on(name, move, number + 1, now, off)
                return

    return program


def _gone_on(name: str, last: Move, number: int, began: int, off: frozenset[str]) -> Steps:
    """Land those who came meanwhile, after one's own move, which nobody looks for again."""
    plans = yield _told("core.turns:Turn.go_on", lambda world: tuple(sorted(world.plans)))
    if "look for plans in the log" not in off:
        settled = yield _told(
            "core.groups:Settled.since",
            lambda world: frozenset[str]().union(*map(_names, world.moves[:number])),
        )
        plans = [plan for plan in plans if plan.name not in settled]
    if not plans:
        return
    files = {*files_of(last.version)}
    for plan in plans:
        files |= {plan.manifest, plan.block}
        if "store what a plan brings" not in off:
            yield from _flushed(plan.manifest, off)
    move = Move("+".join(sorted(files)), name, frozenset(plan.name for plan in plans))
    if (yield _follow(move, number, began, off)) == "landed":
        yield _taken_down(plans)


def mail(arrivals: int) -> Program:
    """Return what lets requests to put plans up arrive, in any order and more than once."""

    def arrive(world: World) -> Answers:
        for plan in sorted(world.late):
            yield world._replace(plans=world.plans | {plan}), None

    def program() -> Steps:
        for _ in range(arrivals):
            yield Request("core.store.cloud:CloudBlobs.create", arrive)

    return program


def _synced(block: str) -> Request:
    return Request(
        "core.store.objects:ObjectStore.hand_over",
        lambda world: [(world._replace(files=world.files | {(block, world.now)}), None)],
    )


def _put_up(world: World, plan: Plan) -> Answers:
    sent = world._replace(late=world.late | {plan})
    # Whoever doesn't hear an answer takes the plan for one that is up.
    return [(sent._replace(plans=world.plans | {plan}), None), (sent, None)]


def _taken_down(plans: Collection[Plan]) -> Request:
    return Request(
        "core.turns:Turn.end",
        lambda world: [(world._replace(plans=world.plans - {*plans}), None)],
    )


def _settled(world: World) -> frozenset[str]:
    return frozenset[str]().union(*map(_names, world.moves))


def _found(name: str) -> Request:
    """Ask for the move that landed a plan; whoever finds it reports that it has landed."""

    def act(world: World) -> Answers:
        for number, move in enumerate(world.moves):
            if name in move.landed:
                done = world._replace(acknowledged=world.acknowledged | {(number, move)})
                return [(done, number)]
        return [(world, None)]

    return Request("core.groups:Offer.landed", act)


def _failed(name: str) -> Request:
    return Request(
        "core.groups:Offer.withdraw",
        lambda world: [(world._replace(failed=world.failed | {name}), None)],
    )


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
        listed: frozenset[str] = frozenset()
        if "pin, then read the lists" in off:
            listed = yield _lists()
        yield Request("core.retention:hold", pinned)
        if not off & {"pin, then read the lists", "bring nothing condemned back"}:
            listed = yield _lists()
        gone = yield _told(
            "core.plan.collect:missing_file",
            lambda world: not set(files_of(version)) <= world.names,
        )
        if listed & set(files_of(version)) or (gone and "look for the files" not in off):
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
        listed = yield _told(
            "commands.garbage:find_garbage", lambda world: tuple(sorted(world.files))
        )
        before = now - GRACE
        garbage = [file for file, at in listed if _stem(file) not in kept and at < before]
        if "condemn before the first delete" not in off:
            yield Request(
                "core.store.objects:Condemned.condemn",
                lambda world: [(_condemned(world, name, garbage), None)],
            )
        if "read the refs again" not in off:
            kept = yield from _named()
        spared = []
        for file in garbage:
            if _stem(file) in kept or not (yield from _deleted(file, before, off)):
                spared.append(file)
        if spared:
            yield Request(
                "core.store.objects:Condemned.spare",
                lambda world: [(_condemned(world, name, set(garbage) - {*spared}), None)],
            )
        yield _end(name)

    return program


def network(arrivals: int) -> Program:
    """Return what lets requests to delete arrive, in any order and more than once."""

    def arrive(world: World) -> Answers:
        for file in sorted(world.sent):
            files = frozenset(each for each in world.files if each[0] != file)
            yield world._replace(files=files), None

    def program() -> Steps:
        for _ in range(arrivals):
            yield Request("core.store.cloud:CloudBlobs.delete", arrive)

    return program


def _condemned(world: World, name: str, files: Collection[str]) -> World:
    others = frozenset(each for each in world.condemned if each[0] != name)
    return world._replace(condemned=others | {(name, file) for file in files})


def _stem(file: str) -> str:
    return file.partition(".")[0]


def _renewed(world: World, name: str) -> Answers:
    others = frozenset(lease for lease in world.leases if lease[0] != name)
    return [(world._replace(leases=others | {(name, world.now)}), world.now)]


def _named() -> Steps:
    """Return the files that pins and then moves name."""
    pins = yield _told("commands.garbage:check_listings", lambda world: tuple(sorted(world.pins)))
    moves = yield _told(
        "core.retention:names_of", lambda world: tuple(m.version for m in world.moves[1:])
    )
    return {file for version in (*pins, *moves) for file in files_of(version)}


def _deleted(file: str, before: int, off: frozenset[str]) -> Steps:
    """Send a request to delete a file, unless it is young; return whether it was sent."""
    at = yield _told("core.store.local:LocalBlobs.modified_at", lambda world: world.written(file))
    if at is None or (at >= before and "look at the age again" not in off):
        return False
    yield Request(
        "commands.gc:_delete", lambda world: [(world._replace(sent=world.sent | {file}), None)]
    )
    return True
