"""Retention: what a repository keeps, for how long, and how to hold what is in use.

A collection and a reader that restores old versions could miss each other: the collection may read
names just before the reader creates one. So each announces itself before it looks. The collection
writes down what it condemns, then reads names again; the reader writes a pin, then reads what is
condemned. Whatever the order, one of them sees the other.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.branches import ROOT, Names, snapshot_of
from dbt.adapters.vcs.core.errors import (
    DamagedError,
    InputError,
    NotFoundError,
    RetryError,
    VcsError,
)
from dbt.adapters.vcs.core.graph import (
    AgeOf,
    ParentsOf,
    all_merge_bases,
    generations,
    outer_merge_bases,
)
from dbt.adapters.vcs.core.ids import (
    OBJECT_ID,
    CommitId,
    Micros,
    SnapshotId,
    TableId,
    TreeId,
    datetime_of,
)
from dbt.adapters.vcs.core.maintenance import PINS
from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.plan.collect import (
    Marking,
    Needed,
    Roots,
    files_of_versions,
    lots,
    missing_file,
    newly_named,
    versions_of,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import each
from dbt.adapters.vcs.core.store.branch_names import is_name
from dbt.adapters.vcs.core.store.lease import is_running, seems_running
from dbt.adapters.vcs.core.store.moves import Ref, Space
from dbt.adapters.vcs.core.store.objects import Condemned, object_path
from dbt.adapters.vcs.core.store.refs import RefPosition
from dbt.adapters.vcs.core.turns import attempts

DAY: Final = 24 * 3_600 * 1_000_000
"""Microseconds."""

KEEP: Final = Micros(7 * DAY)
"""How long history without a name is kept unless told."""

GRACE: Final = Micros(DAY)
"""How old a file must be before it can be garbage: a younger one's writer may still land."""

EXPIRED: Final = "expired"
"""Note of the move that deletes a branch which nobody can want back."""

Listed: TypeAlias = Mapping[Space, Collection[str]]
"""The names of refs by space, including deleted ones."""

OPTIONS: Final = "options"
"""The space of settings, and of what collections write down."""

_NAME: Final = "retention"


class Retention(NamedTuple):
    """How long a repository keeps unnamed history.

    Attributes:
        keep: How long unnamed history is kept.
        horizon: Unnamed history before this time has been released; 0 if none has.
    """

    keep: Micros = KEEP
    horizon: Micros = Micros(0)


def read_retention(repository: Repository) -> Retention:
    """Return a repository's retention."""
    return _retention(repository.refs.read(OPTIONS, _NAME))


def change_retention(
    repository: Repository,
    *,
    author: str,
    action: str,
    keep: Micros | None = None,
    horizon: Micros | None = None,
) -> Retention:
    """Replace the given settings, and return the new retention.

    Raises:
        InputError: The time to keep history is negative.
    """
    if keep is not None and keep < 0:
        raise InputError("A retention can't be negative; 0 keeps what has a name alone.")
    names = names_in(repository, OPTIONS)
    for _ in attempts("change the retention"):
        last = repository.refs.read(OPTIONS, _NAME)
        old = _retention(last)
        new = Retention(
            keep=old.keep if keep is None else keep,
            horizon=old.horizon if horizon is None else horizon,
        )
        state = {field: str(value) for field, value in new._asdict().items()}
        # A setting points to no commit; its log says who changed it, and when.
        if names.follow(last, _NAME, None, author=author, action=action, state=state):
            return new
    raise AssertionError("attempts raises when it ends")


def hold(
    repository: Repository,
    commit: CommitId | None,
    snapshots: Collection[SnapshotId],
    *,
    author: str,
    known: CommitId,
    dry_run: bool = False,
) -> None:
    """Keep versions of a commit from being collected until they are named again, or for a day.

    Nothing is written if they are kept anyway, because the commit is younger than the retention
    and in the history of `known` or of a branch. None is an unknown commit. A dry run only checks.

    Raises:
        NotFoundError: Some of their files have been collected.
        RetryError: A collection is at work.
    """
    if commit is not None and _is_kept(repository, commit, known):
        return
    if dry_run:
        # A dry run writes nothing, so it has no file that shows the store's time.
        is_at_work = seems_running(repository.blobs, repository.clock())
        _check(repository, commit, snapshots, is_at_work)
        return
    names = names_in(repository, PINS)
    state = {"snapshots": " ".join(snapshots)}
    # The pin before the look (see the top): a collection that begins now sees it.
    pin = names.create(
        uuid.uuid4().hex, commit or known, author=author, note="", state=state, check=False
    )
    try:
        # When the store wrote the pin is its time now.
        now = repository.refs.written_at(PINS, pin)
        _check(repository, commit, snapshots, is_running(repository.blobs, now))
    except VcsError:
        # Nothing is brought back, so the pin would keep garbage for a day.
        names.follow(pin, pin.name, None, author=author, action="delete")
        raise


def hold_commit(repository: Repository, commit: CommitId, *, author: str) -> None:
    """Do what `hold` does for everything that a commit shows.

    Raises:
        NotFoundError: Some of its files have been collected.
        RetryError: A collection is at work.
    """
    known = repository.branch(repository.default_branch).head
    versions = list(versions_of(repository.objects, [repository.objects.commit(commit).tree]))
    hold(repository, commit, versions, author=author, known=known)


def hold_work(
    repository: Repository, source: str, commit: CommitId, *, onto: CommitId, author: str
) -> None:
    """Do what `hold` does for what a commit shows and `onto` doesn't, before a merge reads it.

    Nothing is done for the head of a branch or a tag: those are kept whatever their age. `source`
    is the revision that named the commit, and asked first: other names are many.

    Raises:
        NotFoundError: Some of its files have been collected.
        RetryError: A collection is at work.
    """
    branch = repository.find_branch(source) if is_name(source) else None
    if branch is not None and branch.head == commit:
        return
    named = {branch.head for branch in repository.branches()}
    named.update(tag.commit for tag in repository.tags())
    if commit in named:
        return
    # What `onto` shows is kept without a pin.
    new = [change.new for change in repository.diff(onto, commit).relations]
    versions = [entry.snapshot for entry in new if isinstance(entry, TableEntry)]
    hold(repository, commit, versions, author=author, known=onto)


def hold_change(
    repository: Repository, old: CommitId, new: CommitId, *, onto: CommitId, author: str
) -> None:
    """Do what `hold` does for the versions that differ between two commits.

    Raises:
        NotFoundError: Some of their files have been collected.
        RetryError: A collection is at work.
    """
    changes = repository.diff(old, new).relations
    for commit, entries in ((old, [c.old for c in changes]), (new, [c.new for c in changes])):
        shown = [entry.snapshot for entry in entries if isinstance(entry, TableEntry)]
        hold(repository, commit, shown, author=author, known=onto)


def check_present(repository: Repository, before: TreeId, after: TreeId) -> None:
    """Check that every file that one tree's tables name, and another one's don't, is there.

    Raises:
        NotFoundError: One is missing.
    """
    check_stored(repository, newly_named(repository.objects, before, after))


def check_stored(repository: Repository, files: Iterable[str]) -> None:
    """Check that data files are there.

    Raises:
        NotFoundError: One is missing.
    """
    missing = missing_file(repository.blobs, files)
    if missing is not None:
        raise NotFoundError(
            f"The data file {missing} is needed and not in {repository.uri}. Nothing was changed. "
            "Restore it from a backup of the repository; dbt-vcs fsck lists all that is missing."
        )


def _check(
    repository: Repository,
    commit: CommitId | None,
    snapshots: Collection[SnapshotId],
    is_at_work: bool,
) -> None:
    if is_at_work:
        raise RetryError(
            f"A garbage collection or a purge is running in {repository.uri}, and may delete what "
            "is to be restored. Nothing was changed; try again when it has ended. One that was "
            "killed counts as running for a minute."
        )
    condemned = Condemned(repository.blobs)
    condemned.refresh()
    if commit is not None and condemned.is_gone(object_path("commit", commit)):
        raise NotFoundError(
            f"The commit {commit[:12]} was on no branch for longer than the retention, and a "
            "collection has let go of it. Nothing was changed."
        )
    for id in snapshots:
        version = repository.objects.snapshot(id)
        manifests = [object_path("segment", ref.id) for ref in version.segments]
        manifests.append(object_path("snapshot", id))
        files = files_of_versions(repository.objects, [id])
        # A file counts as gone while a request to delete it may be on its way.
        gone = next(filter(condemned.is_gone, (*manifests, *sorted(files))), None)
        gone = gone or missing_file(repository.blobs, files)
        if gone is not None:
            raise NotFoundError(_gone_message(repository, id, gone))


def _is_kept(repository: Repository, commit: CommitId, known: CommitId) -> bool:
    """Return whether a commit is young and in the history of a known commit or any branch."""
    if commit == known:
        return True
    made = repository.objects.commit(commit).committed_at
    if made < repository.clock() - read_retention(repository).keep:
        return False
    if repository.is_ancestor(commit, known):
        return True
    for head in {branch.head for branch in repository.branches()}:
        # A damaged branch doesn't keep it surely, so something else has to.
        with suppress(DamagedError):
            if repository.is_ancestor(commit, head):
                return True
    return False


def _gone_message(repository: Repository, id: SnapshotId, path: str) -> str:
    found = read_retention(repository)
    horizon = f"{datetime_of(found.horizon):%Y-%m-%d %H:%M} UTC"
    made = f"{datetime_of(repository.objects.snapshot(id).created_at):%Y-%m-%d %H:%M} UTC"
    return (
        f"The rows of the version {id[:12]}, of {made}, have been let go of: history without a "
        f"name is kept for {found.keep / DAY:g} days, and what came before {horizon} was "
        f"collected ({path} is gone). Nothing was changed. Tags and named snapshots keep rows."
    )


def names_in(repository: Repository, space: str) -> Names:
    """Return the records of a space that people neither name nor read."""
    return Names(
        repository.objects,
        repository.refs,
        repository.clock,
        space,
        word="record",
        of=space,
        gate=repository.maintenance if space == PINS else None,
    )


def _retention(last: Ref | None) -> Retention:
    state = {} if last is None else last.move.state
    return Retention(
        keep=Micros(int(state.get("keep", KEEP))), horizon=Micros(int(state.get("horizon", 0)))
    )


class SeenRefs(NamedTuple):
    """The refs that a store showed at one time of its own.

    Attributes:
        listed: Their names.
        written: When the store wrote each move, by space, name and number. A move whose own time
            is earlier was made by a machine with a slow clock, and counts as made then.
        now: The time of the store.
    """

    listed: Listed
    written: Mapping[tuple[Space, str, int], Micros]
    now: Micros


class NamedRoots(NamedTuple):
    """The commits and versions that have names, or recently had them.

    Attributes:
        live: Commits of branches and tags, including recently deleted ones, and commits they name.
        lately: Commits that branches recently pointed to.
        versions: Versions of named snapshots.
        origins: Commits recorded with named snapshots; only their history matters.
    """

    live: set[CommitId]
    lately: set[CommitId]
    versions: set[SnapshotId]
    origins: set[CommitId]


def roots_of(repository: Repository, cutoff: Micros) -> Roots:
    """Return what a repository must keep.

    All commits in the history of branches, tags and named snapshots are kept, including names
    deleted after `cutoff`. Rows are kept of

    - what branches and tags show, and every named snapshot;
    - what branches showed at any moment after `cutoff`;
    - every commit of the history that was made after `cutoff`;
    - every merge base of two branches or tags, and of two versions of one table that they show:
      without the base a merge would mistake an update for an insert.
    """
    names = names_of(repository, cutoff)
    commits = names.live | names.lately
    whole = commits | _young(repository, commits, cutoff)
    # Decision 38: a merge takes its base from commits, and where they say nothing, from versions.
    whole |= repository.all_merge_bases(names.live)
    versions = names.versions | _version_bases(repository, _shown_versions(repository, names))
    return Roots(commits=commits | names.origins, whole=whole, versions=versions)


def needed_by_names(
    repository: Repository, cutoff: Micros, names: NamedRoots, others: Collection[SnapshotId]
) -> Needed:
    """Return what a collection keeps: what `roots_of` says, `others`, and more merge bases.

    Whatever is kept can be brought back, such as a commit that a branch showed lately, and is then
    merged with what branches show. Where a pair has several bases, they are merged with each other
    first, so the bases of bases are kept as well.

    Raises:
        DamagedError: Something in what is kept or in its history is missing or damaged.
    """
    commits = names.live | names.lately
    whole = commits | _young(repository, commits, cutoff)
    whole |= repository.outer_merge_bases(whole)
    marking = Marking(repository.objects)
    # One walk: bases are looked for among what these trees show, and its files are marked.
    tables = marking.tables({repository.objects.commit(id).tree for id in whole})
    marking.files(tables)
    versions = names.versions.union(others)
    shown = versions.union(version for _, version in tables)
    versions |= _version_bases(repository, shown, outer_merge_bases)
    return marking.rest((*commits, *names.origins, *whole), versions)


def consumed_versions(repository: Repository, names: NamedRoots) -> set[SnapshotId]:
    """Return the versions of inputs that tables with a name account for.

    A collection keeps their rows, too: without them the next build of such a table could not tell
    what changed. One that is gone is left out. That is no damage, since a table that was restored
    from old history may name what nothing kept.
    """
    read = repository.objects
    # Decision 32: the next build compares what its inputs show with these versions.
    consumptions = (read.snapshot(id).consumption for id in _shown_versions(repository, names))
    inputs = {item.snapshot for found in consumptions if found for item in found.inputs}
    return {SnapshotId(id) for id in inputs if id and read.with_prefix("snapshot", id)}


def names_of(
    repository: Repository,
    cutoff: Micros,
    on_damage: Callable[[DamagedError], None] | None = None,
    seen: SeenRefs | None = None,
) -> NamedRoots:
    """Return the commits and versions that have a name, or had one after `cutoff`.

    Pins are read first: what a pin holds gets its name before the pin ends. With `on_damage`,
    names whose log is damaged are reported to it and skipped.

    Args:
        repository: The repository.
        cutoff: Names deleted before this moment don't count.
        on_damage: Called with what is damaged.
        seen: The refs to read; if None those that the store lists, and the times of machines.

    Raises:
        DamagedError: A log is damaged, and there is no `on_damage`.
    """
    if seen is None:
        seen = SeenRefs(listed_refs(repository), {}, repository.clock())
    listed = seen.listed
    names = NamedRoots(set(), set(), set(), set())
    found = _Found(names, repository, cutoff, on_damage, seen)
    found.pins(listed.get(PINS, ()))
    for space in ("heads", "tags"):
        found.commits(space, listed.get(space, ()))
    for space in sorted(space for space in listed if space.startswith(f"{ROOT}/")):
        found.snapshots(space, listed[space])
    return names


@dataclass(slots=True)
class _Found:
    """The commits and versions found so far; each method reads one kind of refs."""

    names: NamedRoots
    _repository: Repository
    _cutoff: Micros
    _on_damage: Callable[[DamagedError], None] | None
    _seen: SeenRefs

    def pins(self, names: Collection[str]) -> None:
        for pin in self._last(PINS, names):
            if pin.move.commit is not None and self._is_young(pin):
                self.names.origins.add(pin.move.commit)
                self.names.versions.update(map(SnapshotId, pin.move.state["snapshots"].split()))

    def _is_young(self, pin: Ref) -> bool:
        """Return whether a pin was made within the grace period.

        Moves after the first don't count: a purge moves each pin, also those of processes that
        died, whose rows may have been collected since.
        """
        try:
            first = pin if pin.seq == 1 else self._repository.refs.at(PINS, pin.name, 1)
        except DamagedError as error:
            if self._on_damage is None:
                raise
            self._on_damage(error)
            first = pin
        return self._time(PINS, pin.name, first.seq, first.move.at) > self._seen.now - GRACE

    def commits(self, space: Space, names: Collection[str]) -> None:
        for last in self._last(space, names):
            # Nobody can want it back, so it isn't kept as other names are for a while.
            if last.move.commit is None and last.move.note == EXPIRED:
                continue
            is_recent = partial(self._is_recent, space, last.name)
            moves = self._repository.refs.positions(space, last, is_recent, self._on_damage)
            positions = [move.commit for move in moves if move.commit is not None]
            self.names.lately.update(positions)
            # A branch that was deleted lately counts as where it was: it can be had back.
            self.names.live.update(positions[:1])
            if last.move.commit is not None:
                # Such as the source of an open merge.
                self.names.live.update(_named_in(self._repository, last))

    def snapshots(self, space: Space, names: Collection[str]) -> None:
        for last in self._last(space, names):
            for move in self._moves(space, last):
                if move.move.commit is not None:
                    self.names.versions.add(snapshot_of(move))
                    self.names.origins.add(move.move.commit)

    def _last(self, space: Space, names: Collection[str]) -> Iterator[Ref]:
        refs = self._repository.refs
        for ref in refs.read_listed(space, self._on_damage, names, is_checked=True):
            # A listing may be old, and what it lacks would be deleted. So the earlier listing has
            # to show no later move.
            is_old = (space, ref.name, ref.seq + 1) in self._seen.written
            last = refs.read(space, ref.name) if is_old else ref
            if last is not None:
                yield last

    def _time(self, space: Space, name: str, seq: int, at: Micros) -> Micros:
        # A slow clock makes no move older than its file. A fast one only keeps more.
        return max(at, self._seen.written.get((space, name, seq), Micros(0)))

    def _is_recent(self, space: Space, name: str, at: RefPosition) -> bool:
        return self._time(space, name, at.seq, at.at) > self._cutoff

    def _moves(self, space: Space, last: Ref) -> list[Ref]:
        """Return a ref's moves after the cutoff and the last one before it, newest first.

        If damage is reported, a damaged move ends them.
        """
        found = [last]
        while found[-1].seq > 1:
            if self._time(space, last.name, found[-1].seq, found[-1].move.at) <= self._cutoff:
                break
            try:
                found.append(self._repository.refs.at(space, last.name, found[-1].seq - 1))
            except DamagedError as error:
                if self._on_damage is None:
                    raise
                self._on_damage(error)
                break
        return found


def listed_refs(repository: Repository) -> Listed:
    """Return the names of the refs that keep something, as the store lists their folders."""
    refs = repository.refs
    # Pins first, for the same reason as in `names_of`.
    spaces = (PINS, "heads", "tags", *refs.spaces(ROOT))
    return {space: refs.names(space) for space in spaces}


def _named_in(repository: Repository, ref: Ref) -> set[CommitId]:
    """Return the commits that a branch's state names."""
    # A state may hold ids of other objects, too, so the store is asked for commits.
    ids = {value for value in ref.move.state.values() if OBJECT_ID.fullmatch(value)}
    return {CommitId(id) for id in ids if repository.objects.with_prefix("commit", id)}


def _young(repository: Repository, commits: set[CommitId], cutoff: Micros) -> set[CommitId]:
    """Return the commits of a history that were made after a moment."""
    found: set[CommitId] = set()
    waiting = list(commits)
    while waiting:
        id = waiting.pop()
        commit = repository.objects.commit(id)
        # A commit is later than its parents, so none of its ancestors is younger.
        if id not in found and commit.committed_at >= cutoff:
            found.add(id)
            waiting += commit.parents
    return found


def _shown_versions(repository: Repository, names: NamedRoots) -> set[SnapshotId]:
    """Return the versions of tables that have names, or that commits with a name show."""
    read = repository.objects
    # Many branches show one tree.
    trees = {read.commit(id).tree for id in names.live}
    return names.versions.union(versions_of(read, trees))


def _version_bases(
    repository: Repository,
    versions: set[SnapshotId],
    bases_of: Callable[
        [set[SnapshotId], ParentsOf[SnapshotId], AgeOf[SnapshotId]], set[SnapshotId]
    ] = all_merge_bases,
) -> set[SnapshotId]:
    """Return the merge bases of all pairs of these versions that are of one table."""
    lineages: dict[TableId, set[SnapshotId]] = {}
    for some in lots(versions):
        for version, snapshot in zip(some, each(repository.objects.snapshot, some), strict=True):
            lineages.setdefault(snapshot.table, set()).add(version)
    found: set[SnapshotId] = set()
    for lineage in lineages.values():
        if len(lineage) > 1:
            parents = _parents(repository, lineage)
            # Not by their times: machines whose clocks differ make versions that are older than
            # their parents.
            ages = generations(lineage, parents.__getitem__)
            found |= bases_of(lineage, parents.__getitem__, ages.__getitem__)
    return found


def _parents(
    repository: Repository, versions: Iterable[SnapshotId]
) -> dict[SnapshotId, tuple[SnapshotId, ...]]:
    """Return the parents of some versions and of all those that they came from."""

    def parents_of(id: SnapshotId) -> tuple[SnapshotId, ...]:
        # Marking follows every version, too, and stops at a damaged one or reports it.
        try:
            return repository.objects.snapshot(id).parents
        except DamagedError:
            return ()

    found: dict[SnapshotId, tuple[SnapshotId, ...]] = {}
    waiting = set(versions)
    while waiting:
        for some in lots(waiting):
            found.update(zip(some, each(parents_of, some), strict=True))
        waiting = {parent for id in waiting for parent in found[id] if parent not in found}
    return found
