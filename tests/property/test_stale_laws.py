"""Laws of stale tables, on a model of a branch that is a dict of versions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.ids import Micros, SegmentId, SnapshotId, TableId
from dbt.adapters.vcs.core.model import (
    Absent,
    Entry,
    Field,
    Input,
    RelationName,
    Schema,
    SegmentRef,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.model.snapshot import Origin
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.origins.staleness import Stale, stale_tables
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges

NAMES = ("a", "b", "c", "d", "e")
SCHEMA = Schema.of([Field(id="", name="id", type="bigint")])


@dataclass
class Branch:
    """A repository with one branch, and beside it what the tables' makers read.

    Attributes:
        shown: The version of each table.
        read: For each version that was ever made, the versions that it was made from, by name.
        rows: For each version, the version that has its rows.
        files: For each version, its files.
    """

    repository: Repository = field(
        default_factory=lambda: Repository.create(MemoryBlobs(), author="ann")
    )
    shown: dict[str, SnapshotId] = field(default_factory=dict)
    read: dict[SnapshotId, dict[str, SnapshotId]] = field(default_factory=dict)
    rows: dict[SnapshotId, SnapshotId] = field(default_factory=dict)
    files: dict[SnapshotId, SegmentRef] = field(default_factory=dict)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def put(
        self,
        name: str,
        operation: str,
        reads: dict[str, SnapshotId],
        *,
        pinned: bool = False,
        files: SegmentRef | None = None,
    ) -> SnapshotId:
        before = self.shown.get(name)
        inputs = tuple(
            Input(relation=f"s.{other}", snapshot=id, pinned=pinned)
            for other, id in sorted(reads.items())
        )
        number = next(self.numbers)
        files = files or SegmentRef(id=SegmentId(f"{number:064x}"), blocks=1, rows=1, bytes=1)
        snapshot = Snapshot(
            table=TableId("t"),
            schema=SCHEMA,
            segments=(files,),
            created_at=Micros(number),
            operation=operation,
            parents=(before,) if before else (),
            origin=Origin(inputs=inputs),
        )
        id = SnapshotId(self.repository.objects.put(snapshot))
        self.show(name, TableEntry(snapshot=id))
        self.shown[name] = self.rows[id] = id
        self.files[id] = files
        self.read[id] = {} if pinned else {k: v for k, v in reads.items() if k != name}
        return id

    def show(self, name: str, entry: Entry | AbsentType) -> None:
        base = self.repository.branch("main").head
        tree = self.repository.tree(base)
        changes = TreeChanges(
            schemas={} if tree.has_schema("s") else {"s": SchemaInfo()},
            relations={RelationName("s", name): entry},
        )
        proposal = Proposal(
            branch="main",
            base=base,
            tree=self.repository.edit(tree.id, changes),
            author="ann",
            message="Put",
        )
        self.repository.land(proposal)

    def build(self, name: str, others: set[str]) -> None:
        """Make a table of what some tables show, as a table model does."""
        self._make(name, "create", others)

    def _make(self, name: str, operation: str, others: set[str], *, pinned: bool = False) -> None:
        reads = {other: self.shown[other] for other in others & {*self.shown}}
        old = self.read.get(self.shown.get(name, SnapshotId("")), {})
        id = self.put(name, operation, reads, pinned=pinned)
        # What reads no other table as it is now, but itself, is made from what the version
        # before was made from.
        if name in reads:
            self.read[id] = self.read[id] or old

    def increment(self, name: str, others: set[str]) -> None:
        """Add to a table, which reads itself and others."""
        self._make(name, "append", {*others, name})

    def look_back(self, name: str, others: set[str]) -> None:
        """Make a table of named versions."""
        self._make(name, "create", others, pinned=True)

    def optimize(self, name: str, others: set[str]) -> None:
        """Store a table's rows in other files."""
        if name in self.shown:
            old = self.shown[name]
            id = self.put(name, "optimize", {})
            self.read[id], self.rows[id] = self.read[old], self.rows[old]

    def take(self, name: str, others: set[str]) -> None:
        """Take over the files that a statement wrote, as a version of another branch has them."""
        old = self.shown.get(name)
        if old is not None and self.files[old] == self.files[self.rows[old]]:
            id = self.put(name, "create", self.read[old], files=self.files[old])
            self.rows[id] = self.rows[old]

    def drop(self, name: str, others: set[str]) -> None:
        """Drop a table."""
        if self.shown.pop(name, None):
            self.show(name, Absent)

    def is_stale(self, name: str, above: frozenset[str] = frozenset()) -> bool:
        """Say whether a table is stale: the definition, word by word."""
        for other, id in self.read[self.shown[name]].items():
            if other not in self.shown or self.rows[self.shown[other]] != self.rows[id]:
                return True
            if other not in above and self.is_stale(other, above | {name}):
                return True
        return False

    def found(self) -> list[Stale]:
        tree = self.repository.tree(self.repository.branch("main").head)
        return stale_tables(self.repository, tree)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                Branch.build,
                Branch.increment,
                Branch.look_back,
                Branch.optimize,
                Branch.take,
                Branch.drop,
            ]
        ),
        st.sampled_from(NAMES),
        st.sets(st.sampled_from(NAMES), max_size=3),
    ),
    max_size=12,
)


def played(steps: list[tuple[object, str, set[str]]]) -> Branch:
    branch = Branch()
    for step, name, others in steps:
        step(branch, name, others)  # type: ignore[operator]
    return branch


@given(STEPS)
def test_stale_is_what_the_definition_says(steps: list[tuple[object, str, set[str]]]) -> None:
    branch = played(steps)
    found = {item.relation.identifier for item in branch.found()}
    assert found == {name for name in branch.shown if branch.is_stale(name)}


@given(STEPS)
def test_each_has_a_cause_and_comes_after_what_made_it_stale(
    steps: list[tuple[object, str, set[str]]],
) -> None:
    branch = played(steps)
    found = branch.found()
    stale = [item.relation for item in found]
    assert len(stale) == len(set(stale))
    for item in found:
        assert item.moved or item.through
        assert set(item.through) <= set(stale)
        assert all(moved.read != moved.shown for moved in item.moved)


@given(STEPS, st.permutations(NAMES))
def test_after_one_pass_in_the_order_of_the_list_nothing_is_stale(
    steps: list[tuple[object, str, set[str]]], order: list[str]
) -> None:
    """Provided that no table reads itself through others."""
    branch = Branch()
    rank = {name: number for number, name in enumerate(order)}
    for step, name, others in steps:
        step(branch, name, {other for other in others if rank[other] < rank[name]})  # type: ignore[operator]
    for item in branch.found():
        name = item.relation.identifier
        branch.build(name, {*branch.read[branch.shown[name]]})
    assert branch.found() == []
