"""Maintenance: the one purge that may rewrite history, and how everybody else waits for it.

| step        | what has happened                                      | if the purge dies then |
|-------------|--------------------------------------------------------|------------------------|
| `begin`     | it was announced; refs are fenced, new objects written | undone: only garbage   |
| `rewritten` | the new history is stored, with the forwards to it     | completed              |
| `done`      | every ref moved, what was replaced is deleted          |                        |
| `undone`    | nothing changed                                        |                        |

The record is the log of a ref, `refs/maintenance/purge`, so each step is a compare-and-swap and no
file of it is ever deleted: of a purge that was taken for dead and whoever takes over, one loses.

The fence: once announced, a purge moves each ref to the commit where it is. Whoever planned before
that loses the race for the next move. Whoever plans later reads the record before the move, and
waits. A name that isn't there yet can't be fenced, so whoever creates one says so in `creating/`
first, and a purge fences these names, too.

All that a purge deletes has an id or a name that no writer makes again. So it does no harm however
late: neither if the process stood still for an hour, nor if the request did.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from dbt.adapters.vcs.core.branches import ROOT, Names
from dbt.adapters.vcs.core.codec import decode_record, encode, unpack
from dbt.adapters.vcs.core.errors import (
    DamagedError,
    InputError,
    NotFoundError,
    RetryError,
    StorageError,
    VcsError,
)
from dbt.adapters.vcs.core.ids import (
    OBJECT_ID,
    Clock,
    CommitId,
    SegmentId,
    SnapshotId,
    TreeId,
    datetime_of,
)
from dbt.adapters.vcs.core.model import Forwarding, Segment, Snapshot, TableEntry, Tree
from dbt.adapters.vcs.core.plan.collect import files_of, missing_file, newly_named
from dbt.adapters.vcs.core.store.blobs import Blobs, each, together
from dbt.adapters.vcs.core.store.lease import Lease, seems_running
from dbt.adapters.vcs.core.store.log_repair import ASIDE
from dbt.adapters.vcs.core.store.moves import PURGE, Forwards, Ref, Space
from dbt.adapters.vcs.core.store.objects import ObjectStore, has_object, next_name, object_path
from dbt.adapters.vcs.core.store.ref_packs import PACKED
from dbt.adapters.vcs.core.store.refs import RefStore
from dbt.adapters.vcs.core.store.relations import added_pieces
from dbt.adapters.vcs.core.tree_changes import diff_trees

PINS: Final = "pins"
"""The space of what is being brought back; nothing reads it but a collection."""

SPACE: Final = "maintenance"
CREATING: Final = "creating"
"""Where names are announced that are about to be created."""

WAIT: Final = "DBT_VCS_PURGE_WAIT"
"""The variable that says for how many seconds a writer waits for a purge."""

NOTHING: Final = SegmentId(encode(Segment())[0])
"""Stands for a segment of which nothing is left; no version names it."""

PATIENCE: Final = 600.0
"""Seconds that a writer waits for a purge unless told."""

# Seconds between two looks at the record.
_LOOK: Final = 0.25

_BEGIN: Final = "begin"
_REWRITTEN: Final = "rewritten"
_DONE: Final = "done"
_UNDONE: Final = "undone"
_OPEN: Final = (_BEGIN, _REWRITTEN)
_LOG: Final = logging.getLogger(__name__)


class ReplacedError(RetryError):
    """Work names something that a purge has replaced since the work began."""


@dataclass(slots=True)
class Swept:
    """What was deleted: numbers of data files and of manifests."""

    files: int = 0
    objects: int = 0


def named_spaces(refs: RefStore) -> tuple[Space, ...]:
    """Return the spaces of all names that lead to history."""
    return ("heads", "tags", PINS, *refs.spaces(ROOT))


class Maintenance:
    """The record of purges of one repository; safe to share between threads.

    Attributes:
        patience: Seconds that a writer waits for a purge.
    """

    def __init__(self, blobs: Blobs, objects: ObjectStore, refs: RefStore, clock: Clock) -> None:
        self._blobs = blobs
        self._objects = objects
        self._refs = refs
        self._clock = clock
        self._forwards = Forwards(blobs)
        self.patience = _patience(os.environ.get(WAIT, ""))

    @contextmanager
    def move(
        self,
        space: Space,
        name: str,
        last: Ref | None,
        commit: CommitId | None,
        state: Mapping[str, str],
        before: Sequence[Callable[[], None]] = (),
    ) -> Iterator[None]:
        """Let somebody move a name within the block, once no purge is running.

        Args:
            space: The space of the name.
            name: The name.
            last: Its last move, which the block follows or loses the race.
            commit: Where it is to point.
            state: Its new state.
            before: What is to be done before, such as storing the objects of the commit; at once.

        Raises:
            RetryError: A purge was running for longer than the caller waits.
            ReplacedError: The commit needs what a purge has replaced.
        """
        is_new = commit is not None and (last is None or last.move.commit is None)
        said = f"{CREATING}/{uuid.uuid4().hex}"
        if is_new:
            self._blobs.create(said, f"{space}\n{name}".encode())
        try:
            # A purge that begins after this look fences the name, so whoever looks early loses
            # the race. A new name must have been announced: only then is there what it fences.
            record: Ref | None
            *_, record = together(self._blobs, *before, self._record)
            if record is not None and record.move.action in _OPEN:
                record = self._settled()
            if record is not None and commit is not None:
                try:
                    self._check(commit, None if last is None else last.move.commit)
                    # The version of a named snapshot is in the state, which `_check` doesn't see.
                    if space.startswith(f"{ROOT}/"):
                        self._require("snapshot", OBJECT_ID.findall(" ".join(state.values())))
                except ReplacedError:
                    # Whoever has lost the race already plans again.
                    now = self._refs.read(space, name)
                    if (now and now.seq) == (last and last.seq):
                        raise
            yield
        finally:
            if is_new:
                # What landed has landed: one that stays is deleted by the next purge.
                with suppress(StorageError):
                    self._blobs.delete(said)

    def steps(self) -> int:
        """Return a number that grows when a purge begins, and when it ends."""
        last = self._record()
        return 0 if last is None else last.seq

    def running(self) -> Ref | None:
        """Return the record of a purge that has not ended; None if there is none."""
        last = self._record()
        return last if last is not None and last.move.action in _OPEN else None

    def settled(self) -> int:
        """Wait until no purge is running; return a number that grows with each purge.

        Raises:
            RetryError: It took too long.
        """
        last = self._settled()
        return 0 if last is None else last.seq

    def current(self, commit: CommitId) -> CommitId:
        """Return what took a commit's place in a purge; the commit itself if nothing did."""
        if self._record() is None or has_object(self._blobs, "commit", commit):
            return commit
        return CommitId(self._forwards.latest(commit))

    @contextmanager
    def told(self, *commits: CommitId) -> Iterator[None]:
        """Say what happened where work on some commits misses what a purge took meanwhile.

        Raises:
            ReplacedError: Something is missing, and one of the commits was replaced.
        """
        try:
            yield
        except VcsError as error:
            # Spark has an error of its own for a missing file.
            is_missing = isinstance(error, NotFoundError | DamagedError)
            if not is_missing and "FILE_NOT_EXIST" not in str(error):
                raise
            for commit in commits:
                if self.current(commit) != commit:
                    raise _replaced_error(f"commit {commit[:12]}") from error
            raise

    @contextmanager
    def alone(self, what: str, *, author: str) -> Iterator[Purging]:
        """Be the only one who moves names within the block; yields how a purge goes on.

        The purge is undone unless `Purging.finish` is called.

        Raises:
            RetryError: A collection or another purge is running.
        """
        lease = Lease(self._blobs)
        lease.begin()
        try:
            self.clear(lease)
            # Announced before the first ref is fenced: see the top.
            begun = self._step(self._record(), _BEGIN, author, {"what": what})
            refs = RefStore(self._blobs)
            purging = Purging(self, lease, begun, author)
            try:
                self._fence(refs, author, lease.check)
                yield purging
            finally:
                if not purging.is_past_undoing:
                    # Whoever took this purge for dead may have undone it already.
                    with suppress(RetryError):
                        self._step(begun, _UNDONE, author, {})
        finally:
            lease.end()

    def _record(self) -> Ref | None:
        return self._refs.read(SPACE, PURGE)

    def _step(self, last: Ref | None, action: str, author: str, state: dict[str, str]) -> Ref:
        """Make the next step of the record.

        Raises:
            RetryError: Somebody else made it.
        """
        names = Names(
            self._objects, self._refs, self._clock, SPACE, word="record", of="maintenance"
        )
        made = names.follow(last, PURGE, None, author=author, action=action, state=state)
        if made is None:
            raise RetryError(
                f"The purge of {self._blobs.uri} stood still for longer than a minute, so another "
                "process took it for dead and completed or undid it. Run it again."
            )
        return made

    def _settled(self) -> Ref | None:
        """Wait until no purge is running, and return the record; end one that died.

        It is read once where none is: each move of a name asks.

        Raises:
            RetryError: It took too long.
        """
        began, is_told = time.monotonic(), False
        while (record := self._record()) is not None and record.move.action in _OPEN:
            move = record.move
            since = f"{datetime_of(move.at):%Y-%m-%d %H:%M:%S} UTC"
            whose = f"the {PURGE} that {move.by} runs on {move.host} (process {move.pid})"
            # A first look, by this machine's clock. The lease goes by the store's time.
            if not seems_running(self._blobs, self._clock()) and self._take_over(whose):
                continue
            if time.monotonic() - began >= self.patience:
                raise RetryError(
                    f"{whose[0].upper()}{whose[1:]} in {self._blobs.uri} since {since} has not "
                    f"ended, and nothing can land before. Waited for {self.patience:g} s; nothing "
                    f"was changed. Run this again later, or set {WAIT} to more seconds. A purge "
                    "that was killed is completed or undone after a minute."
                )
            if not is_told:
                _LOG.warning("Waiting for %s since %s.", whose, since)
                is_told = True
            time.sleep(min(_LOOK, self.patience))
        return record

    def _take_over(self, whose: str) -> bool:
        """Complete or undo a purge that died; return False if somebody else is at work."""
        lease = Lease(self._blobs)
        try:
            lease.begin()
        except RetryError:
            return False
        try:
            _LOG.warning("Ending %s: it was killed.", whose)
            self.clear(lease)
        finally:
            lease.end()
        return True

    def clear(self, lease: Lease) -> None:
        """Complete or undo a purge that died, as the holder of the lease.

        A collection must do so before it looks for garbage: no ref names the new history yet.
        """
        record = self.running()
        if record is None:
            return
        if record.move.action == _BEGIN:
            self._step(record, _UNDONE, record.move.by, {})
        else:
            self.complete(record, lease)

    def complete(self, record: Ref, lease: Lease) -> Swept:
        """Move every ref to a history that was rewritten, and delete what it replaced."""
        state = record.move.state
        data = unpack(self._blobs.get(state["forwards"]), state["forwards"])
        forwarding = decode_record(Forwarding, data, state["forwards"])
        # What this process remembers of logs may have been redacted since.
        refs = RefStore(self._blobs)
        self._move_all(refs, {**forwarding.commits, **forwarding.snapshots}, record.move.by)
        swept = self._sweep(forwarding, state, lease.check)
        # Another one may have done the same to its end.
        with suppress(RetryError):
            self._step(record, _DONE, record.move.by, {})
        return swept

    def _fence(self, refs: RefStore, author: str, stay: Callable[[], None]) -> None:
        """Move every name to where it is, so that whoever planned a move of it plans again."""
        wanted: set[tuple[Space, str]] = set()
        # Names that are being created come first: one that is gone from here is a ref by then.
        said = [info.path for info in self._blobs.walk(CREATING)]
        for path in said:
            with suppress(NotFoundError):
                space, _, name = self._blobs.get(path).decode().partition("\n")
                wanted.add((space, name))
        for space in named_spaces(refs):
            there = (ref for ref in refs.read_all(space) if ref.move.commit is not None)
            wanted.update((space, ref.name) for ref in there)

        def fence(place: tuple[Space, str]) -> None:
            space, name = place
            while True:
                stay()
                last = refs.read(space, name)
                commit, state = (last.move.commit, last.move.state) if last else (None, {})
                names = self._names(refs, space)
                if names.follow(last, name, commit, author=author, action=PURGE, state=state):
                    return

        each(fence, sorted(wanted))
        # Those of processes that died would stay.
        each(self._blobs.delete, said)

    def _move_all(self, refs: RefStore, new: dict[str, str], author: str) -> None:
        def now(text: str) -> str:
            return OBJECT_ID.sub(lambda found: new.get(found[0], found[0]), text)

        for space in named_spaces(refs):
            for ref in refs.read_all(space):
                last: Ref | None = ref
                # Whoever is first, the same purge made the move.
                while last is not None and last.move.commit is not None:
                    move = last.move
                    commit = CommitId(now(last.move.commit))
                    state = {key: now(value) for key, value in move.state.items()}
                    if (commit, state) == (move.commit, move.state):
                        break
                    names = self._names(refs, space)
                    names.follow(last, ref.name, commit, author=author, action=PURGE, state=state)
                    last = refs.read(space, ref.name)

    def _names(self, refs: RefStore, space: Space) -> Names:
        return Names(self._objects, refs, self._clock, space, word="name")

    def _sweep(
        self, replaced: Forwarding, state: dict[str, str], stay: Callable[[], None]
    ) -> Swept:
        """Delete what a purge replaced; nothing names it any more, and nothing can name it again.

        Commits go first, the newest first: the new history counts once they are gone. Segments go
        last, since they tell which files belong to the old history if this process dies.
        """
        objects = ObjectStore(self._blobs)
        segments = [SegmentId(id) for id in replaced.segments]
        files: dict[str, None] = {}
        for old in segments:
            # Whoever completes this after a death finds that some are deleted already.
            with suppress(DamagedError):
                files.update(dict.fromkeys(files_of(objects.segment(old))))
        # One that can't be read ends this: files that it shares with the old ones must stay.
        for new in {*replaced.segments.values()} - {NOTHING}:
            for path in files_of(objects.segment(SegmentId(new))):
                files.pop(path, None)
        swept = Swept()

        def delete(path: str) -> bool:
            stay()
            is_there = self._blobs.exists(path)
            self._blobs.delete(path)
            return is_there

        def delete_object(kind: str, id: str) -> bool:
            # A second name, if a collection condemned the first one.
            name: str | None = object_path(kind, id)
            is_there = False
            while name is not None:
                is_there |= delete(name)
                name = next_name(self._blobs, kind, id, name)
            return is_there

        commits = map(CommitId, replaced.commits)
        snapshots = map(SnapshotId, replaced.snapshots)
        for kind, ids in (
            ("commit", _newest_first(commits, lambda id: objects.commit(id).committed_at)),
            ("snapshot", _newest_first(snapshots, lambda id: objects.snapshot(id).created_at)),
        ):
            # Not with `each`, which keeps no order.
            swept.objects += sum(delete_object(kind, id) for id in ids)
        swept.files += sum(each(delete, files))
        each(delete, list(self._files_to_delete(files, state)))
        for kind, others in (("tree", replaced.trees), ("segment", replaced.segments)):
            swept.objects += sum(each(partial(delete_object, kind), others))
        return swept

    def _files_to_delete(self, files: Collection[str], state: dict[str, str]) -> Iterator[str]:
        """Yield the files that the record says to delete, and those of the tables set aside."""
        # Copies of moves have their texts.
        yield from (info.path for info in self._blobs.walk(PACKED))
        for folder in state.get("folders", "").split():
            yield from (info.path for info in self._blobs.walk(folder))
        tables = {"/".join(path.split("/")[:2]) for path in files}
        tables.update(f"data/{table}" for table in state.get("tables", "").split())
        for info in self._blobs.walk(ASIDE):
            original = info.path.split("/", 2)[2]
            # Manifests have bounds of rows, and commits and moves have texts.
            has_any = original.startswith(("objects/segment/", "objects/commit/", "refs/"))
            if has_any or "/".join(original.split("/")[:2]) in tables:
                yield info.path

    def _check(self, commit: CommitId, before: CommitId | None) -> None:
        """Check that what a commit adds to another one is stored, whatever this process remembers.

        What others stored is whole: it was checked, or purges have rewritten it since.

        Raises:
            ReplacedError: Something is gone.
        """
        waiting, seen = [commit], {before}
        while waiting:
            id = waiting.pop()
            if id in seen:
                continue
            seen.add(id)
            self._require("commit", [id])
            read = self._objects.own(id)
            if read is None:
                continue
            self._check_current(read)
            made = self._objects.commit(id)
            self._require("commit", made.parents)
            waiting += made.parents
            # What it adds to its first parent. Parents that were made here are looked at, too.
            for parent in made.parents[:1]:
                self._check_tree(self._objects.commit(parent).tree, made.tree)

    def _check_tree(self, old: TreeId, new: TreeId) -> None:
        objects = self._objects
        before, after = objects.tree(old), objects.tree(new)
        tops = (ref.id for ref in after.schemas.values())
        self._require("tree", {new, *tops, *_new_pieces(objects, before, after)})
        changed = diff_trees(before, after, objects.relations).relations
        entries = (change.new for change in changed)
        versions = [entry.snapshot for entry in entries if isinstance(entry, TableEntry)]
        self._require("snapshot", versions)
        shown = [objects.snapshot(id) for id in versions]
        self._require("segment", {ref.id for version in shown for ref in version.segments})
        # Copied rows are in new files, so only their origin shows that a purge erased them.
        self._check_current(_origins(shown))
        missing = missing_file(self._blobs, newly_named(objects, old, new))
        if missing is not None:
            raise _replaced_error(f"data file {missing}")

    def _check_current(self, read: Iterable[str]) -> None:
        """Check that no purge has replaced commits or versions that something was made from."""
        self._forwards.load()
        # What a collection let go of is gone, too.
        for id in (id for id in read if self._forwards.of(id) != id):
            if not any(has_object(self._blobs, kind, id) for kind in ("commit", "snapshot")):
                raise _replaced_error(f"commit or version {id[:12]}")

    def _require(self, kind: str, ids: Iterable[str]) -> None:
        wanted = list(ids)
        there = each(lambda id: has_object(self._blobs, kind, id), wanted)
        for id, is_there in zip(wanted, there, strict=True):
            if not is_there:
                raise _replaced_error(f"{kind} {id[:12]}")


@dataclass(slots=True)
class Purging:
    """A purge that nobody else lands beside.

    Attributes:
        is_past_undoing: True once the new history counts.
    """

    _maintenance: Maintenance
    _lease: Lease
    _begun: Ref
    _author: str
    is_past_undoing: bool = field(default=False, init=False)

    def check(self) -> None:
        """Check that others haven't taken this purge for dead.

        Raises:
            RetryError: They may have.
        """
        self._lease.check()

    def finish(self, forwards: str, *, tables: Iterable[str], folders: Iterable[str]) -> Swept:
        """Move every ref to the new history, and delete the old one.

        Args:
            forwards: The file that says what took the place of what; all new objects are stored.
            tables: Ids of tables of which files that repairs set aside are deleted.
            folders: Folders to delete besides.

        Raises:
            RetryError: This process stood still, and others have undone the purge.
        """
        self.check()
        state = {
            **self._begun.move.state,
            "forwards": forwards,
            "tables": " ".join(sorted(tables)),
            "folders": " ".join(folders),
        }
        record = self._maintenance._step(self._begun, _REWRITTEN, self._author, state)
        self.is_past_undoing = True
        return self._maintenance.complete(record, self._lease)


def _origins(versions: Iterable[Snapshot]) -> set[str]:
    """Return the ids of what versions came from, and what their statements read."""
    found: set[str] = set()
    for version in versions:
        found.update(version.parents)
        found.update(item.snapshot for item in version.origin.inputs if item.snapshot)
    return found


def _newest_first(ids: Iterable[str], when: Callable[..., int]) -> list[str]:
    """Return the ids of objects that are there, each before what it comes from."""
    found: list[tuple[int, str]] = []
    for id in ids:
        with suppress(DamagedError):
            found.append((when(id), id))
    return [id for _, id in sorted(found, reverse=True)]


def _new_pieces(objects: ObjectStore, before: Tree, after: Tree) -> Iterator[TreeId]:
    """Yield the ids of the nodes of the schemas' trees that only the later one has."""
    for name, ref in after.schemas.items():
        old = before.schemas.get(name)
        if old is None or old.id != ref.id:
            known = objects.relations(None if old is None else old.id)
            yield from added_pieces(known, objects.relations(ref.id))


def _replaced_error(what: str) -> ReplacedError:
    return ReplacedError(
        f"This work needs the {what}, which is not in the repository any more: a purge has "
        "replaced it since the work began. Nothing was changed. Run it again."
    )


def _patience(text: str) -> float:
    if not text:
        return PATIENCE
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    # Not a number fails both comparisons. Infinity would wait for ever.
    if not 0 <= seconds < float("inf"):
        raise InputError(f"{WAIT} is {text!r}; expected a number of seconds, such as 600.")
    return seconds
