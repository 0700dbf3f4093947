"""Collection: what a repository must keep, by its names and the times of its commits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.commit_graph import CommitGraph
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.history.graph import merge_bases
from dbt.adapters.vcs.core.ids import CommitId, Micros, SnapshotId, TableId
from dbt.adapters.vcs.core.plan.collect import Roots, versions_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import GRACE, PINS
from dbt.adapters.vcs.core.snapshotnames import ROOT, snapshot_of
from dbt.adapters.vcs.core.store.refs import Ref

_ID: Final = re.compile(r"[0-9a-f]{64}")

EXPIRED: Final = "expired"
"""Note of the move that deletes a branch which nobody can want back."""


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
    graph = CommitGraph(repository.objects)
    commits = names.live | names.lately
    whole = commits | _young(repository, commits, cutoff)
    for left, right in combinations(sorted(names.live), 2):
        whole |= set(graph.merge_bases(left, right))
    versions = set(names.versions)
    for lineage in _lineages(repository, names).values():
        for one, other in combinations(sorted(lineage), 2):
            versions.update(_version_bases(repository, one, other))
    return Roots(commits=commits | names.origins, whole=whole, versions=versions)


def names_of(
    repository: Repository,
    cutoff: Micros,
    on_damage: Callable[[DamagedError], None] | None = None,
) -> NamedRoots:
    """Return the commits and versions that have a name, or had one after `cutoff`.

    With `on_damage`, names whose log is damaged are reported to it and skipped.

    Raises:
        DamagedError: A log is damaged, and there is no `on_damage`.
    """
    refs = repository.refs
    live: set[CommitId] = set()
    lately: set[CommitId] = set()
    versions: set[SnapshotId] = set()
    origins: set[CommitId] = set()
    for space in ("heads", "tags"):
        for last in refs.read_all(space, on_damage):
            moves = list(_since(repository, space, last, cutoff, on_damage))
            positions = [move.move.commit for move in moves if move.move.commit is not None]
            if last.move.commit is None and last.move.note == EXPIRED:
                continue
            lately.update(positions)
            live.update(positions[:1])
            if last.move.commit is not None:
                # Such as the source of an open merge.
                live.update(_named_in(repository, last))
    for space in refs.spaces(ROOT):
        for last in refs.read_all(space, on_damage):
            for move in _since(repository, space, last, cutoff, on_damage):
                if move.move.commit is not None:
                    versions.add(snapshot_of(move))
                    origins.add(move.move.commit)
    for pin in refs.read_all(PINS, on_damage):
        if pin.move.commit is not None and pin.move.at > repository.clock() - GRACE:
            origins.add(pin.move.commit)
            versions.update(map(SnapshotId, pin.move.state["snapshots"].split()))
    return NamedRoots(frozenset(live), frozenset(lately), frozenset(versions), frozenset(origins))


def _named_in(repository: Repository, ref: Ref) -> set[CommitId]:
    """Return the commits that a branch's state names."""
    ids = {value for value in ref.move.state.values() if _ID.fullmatch(value)}
    return {CommitId(id) for id in ids if repository.objects.with_prefix("commit", id)}


def _since(
    repository: Repository,
    space: str,
    last: Ref,
    cutoff: Micros,
    on_damage: Callable[[DamagedError], None] | None,
) -> Iterator[Ref]:
    """Yield a ref's moves after a moment and the last one before it, newest first.

    With `on_damage`, a damaged move is reported to it and ends the moves.
    """
    ref = last
    while True:
        yield ref
        if ref.move.at <= cutoff or ref.seq == 1:
            return
        try:
            ref = repository.refs.at(space, ref.name, ref.seq - 1)
        except DamagedError as error:
            if on_damage is None:
                raise
            on_damage(error)
            return


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
