"""Collection: what a repository must keep, by its names and the times of its commits."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.branches import ROOT, snapshot_of
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.graph import merge_bases
from dbt.adapters.vcs.core.ids import CommitId, Micros, SnapshotId, TableId
from dbt.adapters.vcs.core.maintenance import PINS
from dbt.adapters.vcs.core.plan.collect import Roots, versions_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import GRACE
from dbt.adapters.vcs.core.store.refs import Ref, Space

_ID: Final = re.compile(r"[0-9a-f]{64}")

EXPIRED: Final = "expired"
"""Note of the move that deletes a branch which nobody can want back."""


Listed: TypeAlias = Mapping[Space, Collection[str]]
"""The names of refs by space, including deleted ones."""


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

    live: frozenset[CommitId]
    lately: frozenset[CommitId]
    versions: frozenset[SnapshotId]
    origins: frozenset[CommitId]


def roots_of(repository: Repository, cutoff: Micros, named: NamedRoots | None = None) -> Roots:
    """Return what a repository must keep; `named` are its names, if they were read already.

    All commits in the history of branches, tags and named snapshots are kept, including names
    deleted after `cutoff`. Rows are kept of

    - what branches and tags show, and every named snapshot;
    - what branches showed at any moment after `cutoff`;
    - every commit of the history that was made after `cutoff`;
    - every merge base of two branches or tags, and of two versions of one table that they show:
      without the base a merge would mistake an update for an insert.
    """
    names = names_of(repository, cutoff) if named is None else named
    commits = names.live | names.lately
    whole = commits | _young(repository, commits, cutoff)
    whole |= repository.all_merge_bases(names.live)
    versions = set(names.versions)
    for lineage in _lineages(repository, names).values():
        for one, other in combinations(sorted(lineage), 2):
            versions.update(_version_bases(repository, one, other))
    return Roots(commits=commits | names.origins, whole=whole, versions=versions)


def consumed_versions(repository: Repository, names: NamedRoots) -> set[SnapshotId]:
    """Return the versions of inputs that tables with a name account for.

    A collection keeps their rows, too: without them the next build of such a table could not tell
    what changed. One that is gone is left out. That is no damage, since a table that was restored
    from old history may name what nothing kept.
    """
    read = repository.objects
    shown = {version for id in names.live for version in versions_of(read, read.commit(id).tree)}
    consumptions = (read.snapshot(id).consumption for id in shown | names.versions)
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
    found = _Found(repository, cutoff, on_damage, seen)
    found.pins(listed.get(PINS, ()))
    for space in ("heads", "tags"):
        found.commits(space, listed.get(space, ()))
    for space in sorted(space for space in listed if space.startswith(f"{ROOT}/")):
        found.snapshots(space, listed[space])
    return NamedRoots(
        live=frozenset(found.live),
        lately=frozenset(found.lately),
        versions=frozenset(found.versions),
        origins=frozenset(found.origins),
    )


class _Found:
    """The commits and versions found so far; each method reads one kind of refs."""

    def __init__(
        self,
        repository: Repository,
        cutoff: Micros,
        on_damage: Callable[[DamagedError], None] | None,
        seen: SeenRefs,
    ) -> None:
        self.live: set[CommitId] = set()
        self.lately: set[CommitId] = set()
        self.versions: set[SnapshotId] = set()
        self.origins: set[CommitId] = set()
        self._repository = repository
        self._cutoff = cutoff
        self._on_damage = on_damage
        self._seen = seen

    def pins(self, names: Collection[str]) -> None:
        """Read pins."""
        for pin in self._last(PINS, names):
            if pin.move.commit is not None and self._time(PINS, pin) > self._seen.now - GRACE:
                self.origins.add(pin.move.commit)
                self.versions.update(map(SnapshotId, pin.move.state["snapshots"].split()))

    def commits(self, space: Space, names: Collection[str]) -> None:
        """Read branches or tags."""
        for last in self._last(space, names):
            moves = self._moves(space, last)
            positions = [move.move.commit for move in moves if move.move.commit is not None]
            if last.move.commit is None and last.move.note == EXPIRED:
                continue
            self.lately.update(positions)
            self.live.update(positions[:1])
            if last.move.commit is not None:
                # Such as the source of an open merge.
                self.live.update(_named_in(self._repository, last))

    def snapshots(self, space: Space, names: Collection[str]) -> None:
        """Read the named snapshots of one relation."""
        for last in self._last(space, names):
            for move in self._moves(space, last):
                if move.move.commit is not None:
                    self.versions.add(snapshot_of(move))
                    self.origins.add(move.move.commit)

    def _last(self, space: Space, names: Collection[str]) -> list[Ref]:
        return self._repository.refs.read_all(space, self._on_damage, names)

    def _time(self, space: Space, ref: Ref) -> Micros:
        """Return when a move was made: a slow clock makes none older than its file."""
        return max(ref.move.at, self._seen.written.get((space, ref.name, ref.seq), Micros(0)))

    def _moves(self, space: Space, last: Ref) -> list[Ref]:
        """Return a ref's moves after the cutoff and the last one before it, newest first.

        If damage is reported, a damaged move ends them.
        """
        found = [last]
        while self._time(space, found[-1]) > self._cutoff and found[-1].seq > 1:
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
    ids = {value for value in ref.move.state.values() if _ID.fullmatch(value)}
    return {CommitId(id) for id in ids if repository.objects.with_prefix("commit", id)}


def _young(repository: Repository, commits: frozenset[CommitId], cutoff: Micros) -> set[CommitId]:
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


def _lineages(repository: Repository, names: NamedRoots) -> dict[TableId, set[SnapshotId]]:
    """Return the versions that have names, by the lineage that they belong to."""
    found: dict[TableId, set[SnapshotId]] = {}
    read = repository.objects
    shown = {version for id in names.live for version in versions_of(read, read.commit(id).tree)}
    for version in shown | names.versions:
        found.setdefault(read.snapshot(version).table, set()).add(version)
    return found


def _version_bases(repository: Repository, one: SnapshotId, other: SnapshotId) -> list[SnapshotId]:
    read = repository.objects.snapshot
    return merge_bases(one, other, lambda id: read(id).parents, lambda id: read(id).created_at)
