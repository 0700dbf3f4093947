"""Recorded tables: tables of other runs that their recorded statements make again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.origins.results import Result, Results
from dbt.adapters.vcs.core.origins.staleness import (
    AFRESH,
    MAX_BACK,
    RESTORE,
    SAME_ROWS,
    inputs_of,
    moved_inputs,
    name_of,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.project.building.node_step import Sent
from dbt.adapters.vcs.project.healing.replay_plan import Shown
from dbt.adapters.vcs.sql.parser import read
from dbt.adapters.vcs.sql.table import CreateTable
from dbt.adapters.vcs.table.quoting import quoted_relation

_MOST: Final = 20
"""Statements that one table may have been made by."""

_UNKNOWN: Final = "no statements are recorded that make it from nothing"


class RecordedTable(NamedTuple):
    """A table that its recorded statements make.

    Attributes:
        name: The table.
        node: dbt's unique id of the node that made it; None if none did.
        statements: What makes it, from nothing.
    """

    name: RelationName
    node: str | None
    statements: tuple[Sent, ...]


class RecordedTables:
    """The tables of a target, and what they were made by."""

    def __init__(
        self, repository: Repository, results: Results, *, base: Shown, ours: Shown
    ) -> None:
        """Take what the target showed when the run began, and what it shows now."""
        self._repository = repository
        self._results = results
        self._base = base
        self._ours = ours

    def readers(
        self, moved: Iterable[RelationName], built: Iterable[RelationName]
    ) -> list[RelationName]:
        """Return tables of `built` that were made from others, over any number of steps.

        What comes after its makers in the list was made from them.
        """
        reads = {name: self._reads(name) for name in built}
        reached, left = set(moved), list(moved)
        found: set[RelationName] = set()
        while left:
            name = left.pop()
            found |= {reader for reader, items in reads.items() if name in items}
            left += found - reached
            reached |= found
        ordered: list[RelationName] = []
        while len(ordered) < len(found):
            rest = found.difference(ordered)
            free = sorted(name for name in rest if not reads[name] & (rest - {name}))
            ordered += free or sorted(rest)[:1]
        return ordered

    def _reads(self, name: RelationName) -> set[RelationName]:
        """Return what the statements read that made a table since the base, or else before.

        Where they read a version that is shown no more, what that one was made from counts, too:
        no name leads to it.
        """
        entry, before = self._ours(name), self._base(name)
        if not isinstance(entry, TableEntry):
            return set()
        if entry != before:
            return self._read_by([(name, entry.snapshot)]) - {name}
        # A run built it, and found nothing to change: which versions that one read, none tells.
        read = set(map(name_of, inputs_of(self._repository, name, entry.snapshot)))
        shown = [(item, self._ours(item)) for item in read]
        versions = [(item, now.snapshot) for item, now in shown if isinstance(now, TableEntry)]
        return read | self._read_by(versions, with_past=True)

    def _read_by(
        self, versions: Iterable[tuple[RelationName, SnapshotId]], *, with_past: bool = False
    ) -> set[RelationName]:
        """Return what versions were made from since the base.

        Args:
            versions: The versions, each with the name of its table.
            with_past: Whether what all their versions before were made from counts, too.
        """
        read: set[RelationName] = set()
        left, seen = list(versions), set[SnapshotId]()
        while left and len(seen) <= MAX_BACK:
            name, id = left.pop()
            if id in seen or _is_shown(self._base, name, id):
                continue
            seen.add(id)
            snapshot = self._repository.objects.snapshot(id)
            names = set(map(name_of, snapshot.origin.inputs))
            read |= names
            if with_past or snapshot.operation not in AFRESH or name in names:
                left += ((name, parent) for parent in snapshot.parents)
            inputs = [
                (name_of(item), SnapshotId(item.snapshot))
                for item in snapshot.origin.inputs
                if item.snapshot and not item.pinned
            ]
            left += (item for item in inputs if not _is_shown(self._ours, *item))
        return read

    def recorded(self, name: RelationName) -> RecordedTable | str:
        """Return what makes a table again as its run would now, or why nothing does.

        It has to be made from nothing since the base, by statements whose results are repeatable
        and that read what the target shows: in any order of the runs they would read the same.
        """
        entry, before = self._ours(name), self._base(name)
        if not isinstance(entry, TableEntry):
            return "it is not a table"
        if entry == before:
            return "a run built it and found nothing to change"
        statements: list[Sent] = []
        id: SnapshotId | None = entry.snapshot
        while id is not None and len(statements) < _MOST:
            if isinstance(before, TableEntry) and id == before.snapshot:
                return "it was not made from nothing since the run began"
            snapshot = self._repository.objects.snapshot(id)
            id = snapshot.parents[0] if snapshot.parents else None
            if snapshot.operation == RESTORE:
                return "the run restored it"
            if snapshot.operation in SAME_ROWS:
                continue
            result = self._result(name, snapshot)
            if isinstance(result, str):
                return result
            statements.insert(0, Sent(result.statement, result.schema))
            if _makes_whole(name, result):
                drop = Sent(f"drop table if exists {quoted_relation(name)}")
                node = self._repository.objects.snapshot(entry.snapshot).origin.node
                return RecordedTable(name, node, (drop, *statements))
        return _UNKNOWN

    def _result(self, name: RelationName, snapshot: Snapshot) -> Result | str:
        """Return the statement that made a version, or why it can't be carried out again."""
        others = [item for item in snapshot.origin.inputs if name_of(item) != name]
        if moved_inputs(self._repository, others, self._ours):
            return "it was stale before"
        derivation = snapshot.origin.derivation
        found = None if derivation is None else self._results.find(derivation)
        if found is None or not found.statement or found.target != str(name):
            return _UNKNOWN
        return found


def _makes_whole(name: RelationName, result: Result) -> bool:
    """Return whether a statement makes a table of other tables only."""
    if any(item.relation == str(name) for item in result.inputs):
        return False
    try:
        statement, _ = read(result.statement)
    except InputError:
        return False
    return isinstance(statement, CreateTable) and statement.query is not None


def _is_shown(shown: Shown, name: RelationName, id: SnapshotId) -> bool:
    entry = shown(name)
    return isinstance(entry, TableEntry) and entry.snapshot == id
