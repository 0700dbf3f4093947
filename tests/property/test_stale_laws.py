"""Laws of stale tables, on a model of a branch that is a dict of versions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import cast

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
from dbt.adapters.vcs.core.origins.staleness import (
    Meeting,
    Stale,
    inputs_of,
    newly_moved,
    stale_tables,
)
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges, TreeReader

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


@dataclass(frozen=True)
class Past:
    """Versions 0, 1, ... of the table `s.t`, each made from older ones.

    Attributes:
        parents: Of each version.
        operations: How each was made.
        read: Which versions read something; version n read `s.in_n`.
        times: When each was made; clocks may be wrong.
    """

    parents: tuple[tuple[int, ...], ...]
    operations: tuple[str, ...]
    read: frozenset[int]
    times: tuple[int, ...]

    @classmethod
    def drawn(cls, data: st.DataObject) -> Past:
        count = data.draw(st.integers(2, 12))
        older = [st.integers(max(0, n - 4), n - 1) for n in range(1, count)]
        parents = [
            data.draw(st.lists(one, unique=True, min_size=n > 1, max_size=2))
            for n, one in enumerate(older)
        ]
        operation = st.sampled_from(["append"] * 6 + ["create", "clone"])
        times = data.draw(
            st.one_of(
                st.just(list(range(count))),
                st.lists(st.integers(0, 5), min_size=count, max_size=count),
            )
        )
        return cls(
            parents=((), *map(tuple, parents)),
            operations=tuple(data.draw(operation) for _ in range(count)),
            read=frozenset(n for n in range(count) if data.draw(st.booleans())),
            times=tuple(times),
        )

    @property
    def is_in_order(self) -> bool:
        return self.times == tuple(range(len(self.times)))

    def own(self, n: int) -> set[int]:
        return {n} & self.read if self.operations[n] != "clone" else set()

    def followed(self, n: int) -> tuple[int, ...]:
        return () if self.operations[n] in ("create", "clone") else self.parents[n]

    def before(self, n: int) -> set[int]:
        """The version and all that came before it, by the definition."""
        return {n}.union(*map(self.before, self.parents[n]))

    def made_of(self, n: int) -> set[int]:
        """The version and what it was made from, by the definition."""
        return {n}.union(*map(self.made_of, self.followed(n)))

    def nearest(self, n: int) -> set[int]:
        """What the version was made from, by the definition."""
        return self.own(n) or set().union(*map(self.nearest, self.followed(n)))

    def put(self, repository: Repository) -> list[SnapshotId]:
        ids: list[SnapshotId] = []
        for n, time in enumerate(self.times):
            inputs = (Input(relation=f"s.in_{n}", snapshot=READ),) if n in self.read else ()
            snapshot = Snapshot(
                table=TableId("t"),
                schema=SCHEMA,
                segments=(),
                created_at=Micros(time),
                operation=self.operations[n],
                comment=str(n),
                parents=tuple(ids[parent] for parent in self.parents[n]),
                origin=Origin(inputs=inputs),
            )
            ids.append(SnapshotId(repository.objects.put(snapshot)))
        return ids


READ = "0" * 64


class Shown:
    """A tree that shows a version of `s.t`, and everything else as it was read."""

    def __init__(self, table: SnapshotId) -> None:
        self.table = table

    def entry(self, name: RelationName) -> Entry:
        return TableEntry(snapshot=self.table if name == TABLE else SnapshotId(READ))


TABLE = RelationName("s", "t")


@given(st.data())
def test_what_was_read_since_a_base_is_what_the_base_did_not_come_from(
    data: st.DataObject,
) -> None:
    past = Past.drawn(data)
    base, tip = data.draw(st.integers(0, len(past.times) - 1)), len(past.times) - 1
    repository = Repository.create(MemoryBlobs(), author="ann")
    ids = past.put(repository)
    theirs = Shown(ids[tip])
    meeting = Meeting(
        base=cast(TreeReader, Shown(ids[base])),
        ours=cast(TreeReader, Shown(ids[base])),
        theirs=cast(TreeReader, theirs),
        merged=lambda name: theirs.entry(name) if name == TABLE else None,
        by_ours=(),
        by_theirs=[TABLE],
    )
    found = {
        int(moved.relation.identifier[len("in_") :])
        for item in newly_moved(repository, meeting)
        for moved in item.moved
    }
    if base == tip:
        assert found == set()
        return
    made_of = past.made_of(tip)
    since = {tip} | (made_of - past.before(base))
    expected = set().union(*map(past.own, since))
    # Where times are wrong, it may be more, of what the table was made from before the base.
    assert expected <= found <= set().union(*map(past.own, made_of))
    if past.is_in_order:
        assert found == expected


@given(st.data())
def test_a_version_follows_from_the_nearest_that_read_something(data: st.DataObject) -> None:
    past = Past.drawn(data)
    repository = Repository.create(MemoryBlobs(), author="ann")
    ids = past.put(repository)
    for n, id in enumerate(ids):
        found = {item.relation for item in inputs_of(repository, TABLE, id)}
        assert found == {f"s.in_{item}" for item in past.nearest(n)}
