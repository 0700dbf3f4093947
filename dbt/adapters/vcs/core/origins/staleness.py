"""Staleness: tables of a tree that were made from other versions than the tree shows.

A run changed `orders`, another `customers`, and `revenue` was computed from neither pair: no row
says so, but each version knows what it read (its lineage).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.codec import rows_digest
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.graph import only_reached
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Entry, Input, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import caught, each
from dbt.adapters.vcs.core.tree_changes import TreeEntries, TreeReader

SAME_ROWS: Final = frozenset({"optimize", "consume"})
"""Operations whose version has the rows and columns of the one that it was made from."""

RESTORE: Final = "restore"
"""The operation whose version has the files of a past one; its parent is the one before it."""

AFRESH: Final = frozenset({"create", "overwrite", "truncate", "rebuild", RESTORE})
"""Operations whose version has nothing of the one before."""

MAX_BACK: Final = 100
"""Versions back that are looked at, from one that reads nothing, for what the table was made from.
A table that was changed by hand more often than that was not made from anything any more."""

OnDamage: TypeAlias = Callable[[RelationName, DamagedError], None]
"""Is told of a table whose version can't be read, so that nothing is known of it."""


class Moved(NamedTuple):
    """An input of a table that isn't what the tree shows.

    Attributes:
        relation: The input.
        read: The version that the table was made from.
        shown: The version that the tree shows; None if it shows none under this name.
    """

    relation: RelationName
    read: str
    shown: str | None


class Stale(NamedTuple):
    """A table that no longer follows from what the tree shows.

    Attributes:
        relation: The table.
        snapshot: Its version.
        moved: Its inputs that are others now, by name; none if it is stale through others only.
        through: Its inputs that are stale themselves, by name.
    """

    relation: RelationName
    snapshot: SnapshotId
    moved: tuple[Moved, ...]
    through: tuple[RelationName, ...]


def stale_tables(
    repository: Repository, tree: TreeReader, on_damage: OnDamage | None = None
) -> list[Stale]:
    """Return the stale tables of a tree, each after those that it was made from.

    A table is stale if one of its inputs (a table, view or function that its last statement read)
    isn't what the tree shows, or is a stale table. A version with the same columns and files is
    the same input, such as one that was taken from another branch. What was read at a named
    version is no input, neither is the table itself, and a clone has none. A statement that reads
    nothing else, such as an `update`, leaves the inputs of the version before; a merge has those
    of both sides.

    Raises:
        DamagedError: The tree is missing or damaged, or a version that it shows is and there is no
            `on_damage`.
    """
    return stale_among(repository, TreeEntries(tree), on_damage=on_damage)


def stale_among(
    repository: Repository,
    shown: Mapping[RelationName, Entry],
    among: Collection[RelationName] | None = None,
    *,
    on_damage: OnDamage | None = None,
) -> list[Stale]:
    """Return the stale tables where these entries are shown; see `stale_tables`.

    With `among`, only these are looked at, and what is stale through others isn't found.

    Raises:
        DamagedError: A version is missing or damaged, and there is no `on_damage`.
    """
    looked_at = (
        shown.items() if among is None else ((name, shown.get(name)) for name in sorted(among))
    )
    tables = {name: entry.snapshot for name, entry in looked_at if isinstance(entry, TableEntry)}
    finder = _Finder(repository)
    inputs: dict[RelationName, list[Input]] = {}
    made_from = each(caught(lambda table: finder.inputs(*table)), tables.items())
    for name, items in zip(tables, made_from, strict=True):
        if not isinstance(items, DamagedError):
            inputs[name] = items
        elif on_damage is None:
            raise items
        else:
            inputs[name] = []
            on_damage(name, items)
    found = each(lambda items: tuple(finder.moved(items, shown.get)), inputs.values())
    moved = dict(zip(inputs, found, strict=True))
    reads = {
        name: sorted({*map(name_of, items)} & tables.keys()) for name, items in inputs.items()
    }
    stale = reaching({name for name, items in moved.items() if items}, reads)
    return [
        Stale(name, tables[name], moved[name], tuple(filter(stale.__contains__, reads[name])))
        for name in _in_order(reads)
        if name in stale
    ]


class NewlyMoved(NamedTuple):
    """A table that a merge makes stale.

    Attributes:
        relation: The table.
        moved: Its inputs that are others where both sides meet.
        is_theirs: True if the merged side made its version, alone or with the other side.
    """

    relation: RelationName
    moved: tuple[Moved, ...]
    is_theirs: bool


class Meeting(NamedTuple):
    """A merge, as two trees that meet in a third.

    Attributes:
        base: What both sides began with.
        ours: What the target shows before.
        theirs: What is merged.
        merged: Returns what the target will show under a name.
        by_ours: Tables that only the target changed since the base.
        by_theirs: Tables that the merged side changed.
        undecided: Those of them that conflict; the versions of the merged side are looked at.
    """

    base: TreeReader
    ours: TreeReader
    theirs: TreeReader
    merged: Callable[[RelationName], Entry | None]
    by_ours: Iterable[RelationName]
    by_theirs: Iterable[RelationName]
    undecided: Collection[RelationName] = ()


def newly_moved(repository: Repository, meeting: Meeting) -> list[NewlyMoved]:
    """Return the tables that become stale because two sides meet, by name.

    What counts is what the statements read that made a table since the base. A table that is stale
    already on the side that made its version, through the same input, is left out: that side chose
    to show it so, and would again if it ran after the other side. Only tables of which one side
    has another version are looked at, and only their own inputs. One whose version can't be read
    is left out.
    """
    finder = _Finder(repository)
    theirs = set(meeting.by_theirs)

    def look(name: RelationName) -> NewlyMoved | None:
        is_open = name in meeting.undecided
        entry = meeting.theirs.entry(name) if is_open else meeting.merged(name)
        before = meeting.base.entry(name)
        side = meeting.theirs if name in theirs else meeting.ours
        moved = tuple(finder.moved(finder.inputs_since(name, entry, before), meeting.merged))
        if not moved:
            return None
        own = finder.inputs_since(name, side.entry(name), before)
        known = {item.relation for item in finder.moved(own, side.entry)}
        new = tuple(item for item in moved if item.relation not in known)
        return NewlyMoved(name, new, name in theirs) if new else None

    return [item for item in each(look, sorted(theirs | set(meeting.by_ours))) if item]


def moved_inputs(
    repository: Repository, inputs: Iterable[Input], shown: Callable[[RelationName], Entry | None]
) -> list[Moved]:
    """Return those inputs that are others where these entries are shown."""
    return list(_Finder(repository).moved(inputs, shown))


def inputs_of(repository: Repository, name: RelationName, id: SnapshotId) -> list[Input]:
    """Return what a version of a table was made from; see `stale_tables`.

    Raises:
        DamagedError: The version is missing or damaged.
    """
    return _Finder(repository).inputs(name, id)


def is_rebuilt_since(
    repository: Repository, version: SnapshotId, before: SnapshotId | None
) -> bool:
    """Return whether a version has nothing of one before, which it was made after."""
    id: SnapshotId | None = version
    for _ in range(MAX_BACK):
        if id is None or id == before:
            return False
        snapshot = repository.objects.snapshot(id)
        if snapshot.operation in AFRESH:
            return True
        id = snapshot.parents[0] if snapshot.parents else None
    return False


def name_of(item: Input) -> RelationName:
    """Return the name of the relation that was read."""
    return RelationName.of(item.relation)


class _Finder:
    def __init__(self, repository: Repository) -> None:
        self._objects = repository.objects

    def inputs(self, name: RelationName, id: SnapshotId) -> list[Input]:
        """Return what a table's version was made from, each version of a relation once.

        Raises:
            DamagedError: The version is missing or damaged; what came before it may be.
        """
        self._objects.snapshot(id)
        # An update by hand reads nothing: the table still follows from what it read before.
        return self._read(name, self._versions(name, id, (), is_far=False))

    def inputs_since(
        self, name: RelationName, entry: Entry | None, before: Entry | None
    ) -> list[Input]:
        """Return what all statements read that made a table's version of an earlier one.

        They are those of the version itself, and of what it was made from that the earlier one
        was not.
        """
        if not isinstance(entry, TableEntry) or entry == before:
            return []
        known = [before.snapshot] if isinstance(before, TableEntry) else []
        return self._read(name, self._versions(name, entry.snapshot, known, is_far=True))

    def _read(self, name: RelationName, versions: Iterable[SnapshotId]) -> list[Input]:
        """Return what the statements read that made some versions, each input once."""
        items = chain.from_iterable(self._own(name, id) for id in versions)
        found = {(item.relation, item.version): item for item in items}
        return [found[key] for key in sorted(found)]

    def _own(self, name: RelationName, id: SnapshotId) -> list[Input]:
        """Return what the statement read that made a version."""
        snapshot = self._past(id)
        # A clone has the rows of one named version, whatever a branch shows.
        if snapshot is None or snapshot.operation == "clone":
            return []
        return [item for item in snapshot.origin.inputs if _counts(item, name)]

    def _versions(
        self, name: RelationName, id: SnapshotId, known: Collection[SnapshotId], *, is_far: bool
    ) -> list[SnapshotId]:
        """Return a version and what it was made from, without what is known and came before that.

        With `is_far`, what is before versions that read something is among them.
        """
        asked: set[SnapshotId] = set()

        def parents(id: SnapshotId) -> tuple[SnapshotId, ...]:
            asked.add(id)
            snapshot = self._past(id)
            return () if snapshot is None or len(asked) >= MAX_BACK else snapshot.parents

        def age(id: SnapshotId) -> int:
            snapshot = self._past(id)
            return 0 if snapshot is None else snapshot.created_at

        def is_end(id: SnapshotId) -> bool:
            snapshot = self._past(id)
            return (
                snapshot is None
                or snapshot.operation == "clone"
                or is_whole(snapshot, name)
                or (not is_far and bool(self._own(name, id)))
            )

        # Most versions come right after the one that is known, whose age isn't asked for then.
        if is_end(id) or set(parents(id)) <= set(known):
            return [id]
        # A version that is shown again counts, though what is known came from it.
        return only_reached(id, known, parents, age, is_end) or [id]

    def moved(
        self, inputs: Iterable[Input], shown: Callable[[RelationName], Entry | None]
    ) -> Iterator[Moved]:
        for item in inputs:
            entry = shown(name_of(item))
            if entry is None:
                yield Moved(name_of(item), item.version, None)
            elif entry.version != item.version and not self._has_same_rows(item, entry):
                yield Moved(name_of(item), item.version, entry.version)

    def _has_same_rows(self, item: Input, entry: Entry) -> bool:
        # Views and functions are texts: another version is another text.
        if item.snapshot is None or not isinstance(entry, TableEntry):
            return False
        read = self._rows_of(SnapshotId(item.snapshot))
        # Decision 30: the same result has another id on each branch that computed it.
        return not read.isdisjoint(self._rows_of(entry.snapshot))

    def _rows_of(self, id: SnapshotId) -> set[str]:
        """Return the ids and digests of versions whose rows a version has."""
        found: set[str] = set()
        while id not in found:
            found.add(id)
            snapshot = self._past(id)
            if snapshot is None:
                break
            found.add(rows_digest(snapshot))
            # The rows are those of the version before, whose id a reader may have recorded.
            if snapshot.operation in SAME_ROWS and snapshot.parents:
                id = snapshot.parents[0]
        return found

    def _past(self, id: SnapshotId) -> Snapshot | None:
        try:
            return self._objects.snapshot(id)
        except DamagedError:
            # No tree need show it, so it may have been collected.
            return None


def is_whole(snapshot: Snapshot, name: RelationName) -> bool:
    """Return whether a version has nothing of those before, not even through its query."""
    reads_itself = any(name_of(item) == name for item in snapshot.origin.inputs)
    return snapshot.operation in AFRESH and not reads_itself


def _counts(item: Input, reader: RelationName) -> bool:
    # Files have no versions to compare, and a pinned version stays whatever a branch shows.
    return item.external is None and not item.pinned and name_of(item) != reader


def reaching(
    found: Iterable[RelationName], reads: Mapping[RelationName, Iterable[RelationName]]
) -> set[RelationName]:
    """Return tables, and those that were made from them, over any number of steps."""
    readers: dict[RelationName, list[RelationName]] = {}
    for name, items in reads.items():
        for item in items:
            readers.setdefault(item, []).append(name)
    reached, left = set(found), list(found)
    while left:
        new = set(readers.get(left.pop(), ())) - reached
        reached |= new
        left += new
    return reached


def _in_order(reads: Mapping[RelationName, list[RelationName]]) -> Iterator[RelationName]:
    """Yield tables after those that they were made from, else by name; a circle is cut open."""
    done: set[RelationName] = set()
    for first in sorted(reads):
        left = [first]
        entered: set[RelationName] = set()
        while left:
            name = left[-1]
            # What was entered is not waited for again, which cuts circles open.
            waiting = [item for item in reads[name] if item not in done and item not in entered]
            entered.add(name)
            if waiting:
                left += reversed(waiting)
                continue
            left.pop()
            if name not in done:
                done.add(name)
                yield name
