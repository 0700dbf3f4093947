"""Reached: all history that names reach, in their logs, too, with the tables that belong together.

A purge has to see more than a collection keeps: as long as an object is in the store, a name in a
log can lead to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, TreeId
from dbt.adapters.vcs.core.maintenance import PINS, named_spaces
from dbt.adapters.vcs.core.model import Entry, RelationName, Snapshot, TableEntry, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.refs import Ref

CONFLICTS: Final = "conflicts"
"""The operation of versions that hold the rows of a merge that waits."""

ID: Final = re.compile(r"[0-9a-f]{64}")
"""An id of an object."""

_NOUNS: Final = {"heads": "branch", "tags": "tag", PINS: "pin"}

Id = TypeVar("Id", bound=str)


class Named(NamedTuple):
    """The last move of a name that exists.

    Attributes:
        space: `heads`, `tags`, `pins`, or the space of a relation's named snapshots.
        ref: The move.
    """

    space: str
    ref: Ref

    @property
    def title(self) -> str:
        """What people call it: `branch main`, `snapshot shop.orders base`."""
        if self.space in _NOUNS:
            return f"{_NOUNS[self.space]} {self.ref.name}"
        _, schema, identifier = self.space.split("/")
        return f"snapshot {schema}.{identifier} {self.ref.name}"


@dataclass(frozen=True, slots=True)
class Reached:
    """What names reach.

    Attributes:
        named: The names that exist.
        notes: Free text in logs, and where it is.
        commits: Commits, each behind its parents.
        snapshots: Versions of tables, each behind those that it came from.
        names: The names under which commits show each version.
        texts: Ids of views and functions, with what they are called.
    """

    named: list[Named] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    commits: list[CommitId] = field(default_factory=list)
    snapshots: list[SnapshotId] = field(default_factory=list)
    names: dict[SnapshotId, set[RelationName]] = field(default_factory=dict)
    texts: dict[Entry, RelationName] = field(default_factory=dict)


def reach(repository: Repository) -> Reached:
    """Return everything that the logs of names lead to, as far as it is still in the store.

    Raises:
        DamagedError: What a name shows now can't be read, or a log can't.
    """
    found = Reached()
    now, before = _starts(repository, found)
    objects = repository.objects

    def origins(id: CommitId) -> list[CommitId]:
        return _origins(objects, id)

    commits = dict.fromkeys(ordered(_commits(objects, now), origins))
    for start in _commits(objects, before):
        if start in commits:
            continue
        try:
            more = ordered([start], origins, commits)
            _check_whole(objects, more)
        except DamagedError:
            # Garbage of a log, which has been collected in part; nobody can be shown it.
            continue
        commits.update(dict.fromkeys(more))
    found.commits.extend(commits)
    for name, entry in _shown(objects, dict.fromkeys(objects.commit(id).tree for id in commits)):
        if isinstance(entry, TableEntry):
            found.names.setdefault(entry.snapshot, set()).add(name)
        else:
            found.texts[entry] = name
    versions = [*found.names, *_snapshots(objects, now)]
    for version in _snapshots(objects, before):
        with suppress(DamagedError):
            _check_files(objects, version)
            versions.append(version)
    found.snapshots.extend(_versions(objects, versions))
    return found


def related(
    objects: ObjectStore, reached: Reached, name: RelationName
) -> dict[SnapshotId, Snapshot]:
    """Return all versions of a table and of the tables that share history with it.

    These are the versions that any commit shows under its name, those that they came from or that
    came from them, such as clones, and the rows that waiting merges keep of any of these.
    """
    groups = _Groups()
    versions = {id: objects.snapshot(id) for id in reached.snapshots}
    for id, snapshot in versions.items():
        groups.join(id, f"table {snapshot.table}")
        for parent in snapshot.parents:
            groups.join(id, parent)
    wanted = {groups.of(id) for id, names in reached.names.items() if name in names}
    found = {id for id in versions if groups.of(id) in wanted}
    called = {each for id in found for each in reached.names.get(id, ())}
    for id, snapshot in versions.items():
        if snapshot.operation == CONFLICTS and called & reached.names.get(id, set()):
            found.add(id)
    return {id: snapshot for id, snapshot in versions.items() if id in found}


def ids_in(state: Iterable[str]) -> Iterator[str]:
    """Yield the ids that facts of a ref name."""
    for value in state:
        yield from ID.findall(value)


class _Groups:
    """Sets of things that belong together."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def of(self, item: str) -> str:
        root = item
        while (above := self._above.get(root, root)) != root:
            root = above
        while item != root:
            item, self._above[item] = self._above.get(item, item), root
        return root

    def join(self, one: str, other: str) -> None:
        self._above[self.of(one)] = self.of(other)


def _starts(repository: Repository, found: Reached) -> tuple[list[str], list[str]]:
    """Return the ids that names have now, and those that earlier moves name."""
    refs = repository.refs
    now: list[str] = []
    before: list[str] = []
    for space in named_spaces(refs):
        for last in refs.read_all(space):
            is_there = last.move.commit is not None
            if is_there:
                found.named.append(Named(space, last))
            title = Named(space, last).title
            for ref in refs.moves(space, last.name):
                written = "\n".join((ref.move.note, *ref.move.state.values()))
                found.notes.append((f"the log of {title}, move {ref.seq}", written))
                into = now if is_there and ref.seq == last.seq else before
                named = ids_in(ref.move.state.values())
                into += [id for id in (ref.move.commit, *named) if id is not None]
    return now, before


def _commits(objects: ObjectStore, ids: Iterable[str]) -> list[CommitId]:
    there = dict.fromkeys(id for id in ids if objects.with_prefix("commit", id))
    return [CommitId(id) for id in there]


def _snapshots(objects: ObjectStore, ids: Iterable[str]) -> list[SnapshotId]:
    there = dict.fromkeys(id for id in ids if objects.with_prefix("snapshot", id))
    return [SnapshotId(id) for id in there]


def _origins(objects: ObjectStore, id: CommitId) -> list[CommitId]:
    """Return a commit's parents, and the steps of the run that it publishes, if they are left."""
    commit = objects.commit(id)
    head = commit.run.head if commit.run else None
    steps = _commits(objects, [head]) if head else []
    return [*commit.parents, *steps]


def _versions(objects: ObjectStore, starts: Iterable[SnapshotId]) -> list[SnapshotId]:
    """Return versions and their ancestors, each behind what it came from or was made of."""

    def parents(id: SnapshotId) -> Sequence[SnapshotId]:
        return objects.snapshot(id).parents

    def sources(id: SnapshotId) -> list[SnapshotId]:
        version = objects.snapshot(id)
        named = [item.snapshot for item in version.origin.inputs]
        if version.consumption is not None:
            named += (item.snapshot for item in version.consumption.inputs)
        read = (SnapshotId(item) for item in named if item)
        return [*parents(id), *(item for item in read if item in known)]

    every = ordered(starts, parents)
    known = set(every)
    return ordered(every, sources)


def _check_whole(objects: ObjectStore, commits: Iterable[CommitId]) -> None:
    """Check that everything which commits show is in the store.

    Raises:
        DamagedError: Something is not.
    """
    for _, entry in _shown(objects, dict.fromkeys(objects.commit(id).tree for id in commits)):
        if isinstance(entry, TableEntry):
            _check_files(objects, entry.snapshot)
        elif isinstance(entry, ViewEntry):
            objects.view(entry.view)
        else:
            objects.function(entry.function)


def _check_files(objects: ObjectStore, version: SnapshotId) -> None:
    for ref in objects.snapshot(version).segments:
        objects.segment(ref.id)


def _shown(objects: ObjectStore, trees: Iterable[TreeId]) -> Iterator[tuple[RelationName, Entry]]:
    schemas = dict.fromkeys(
        (schema, ref.id) for tree in trees for schema, ref in objects.tree(tree).schemas.items()
    )
    for schema, id in schemas:
        for identifier, entry in objects.schema_tree(id).relations.items():
            yield RelationName(schema, identifier), entry


def ordered(
    starts: Iterable[Id], origins: Callable[[Id], Iterable[Id]], done: Iterable[Id] = ()
) -> list[Id]:
    """Return everything behind some ids, each behind what it comes from, without what is done."""
    seen = set(done)
    found: list[Id] = []
    for start in starts:
        waiting: list[tuple[Id, bool]] = [(start, False)]
        while waiting:
            id, is_ready = waiting.pop()
            if is_ready:
                found.append(id)
            elif id not in seen:
                seen.add(id)
                waiting.append((id, True))
                waiting += [(origin, False) for origin in origins(id) if origin not in seen]
    return found
