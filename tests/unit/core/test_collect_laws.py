"""Collection, after any history: what should be readable is, and garbage is gone."""

from __future__ import annotations

import itertools
import sys
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, SegmentId, SnapshotId, TableId
from dbt.adapters.vcs.core.model import (
    Block,
    Entry,
    Field,
    RelationName,
    Schema,
    Segment,
    SegmentRef,
    Snapshot,
    TableEntry,
    Tombstone,
)
from dbt.adapters.vcs.core.repository import Proposal
from dbt.adapters.vcs.core.retention import DAY, GRACE, KEEP, hold, hold_commit
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges
from tests.unit.warehouse import BYTES, Clock, Warehouse

BRANCHES = st.sampled_from(["main", "x", "y", "z"])
NAMES = st.sampled_from(["n1", "n2"])
TABLES = st.sampled_from(["a", "b"])


class World:
    """A repository, and the times at which each branch pointed where."""

    def __init__(self) -> None:
        clock = Clock()
        self.warehouse = Warehouse(MemoryBlobs(clock), clock)
        self.repository = self.warehouse.repository
        self.numbers = itertools.count()
        self.stood: dict[str, list[tuple[int, CommitId | None]]] = {}
        self.note("main")

    def note(self, branch: str) -> None:
        found = self.repository.find_branch(branch)
        moves = self.stood.setdefault(branch, [])
        moves.append((self.repository.refs.read("heads", branch).move.at, found and found.head))

    def is_there(self, branch: str) -> bool:
        return self.repository.find_branch(branch) is not None

    def file(self) -> str:
        path = f"t/f{next(self.numbers)}"
        assert self.warehouse.blobs.create(f"data/{path}", b"x" * BYTES)
        return path

    def new_table(self) -> TableEntry:
        """A version of one block that no other one has."""
        objects = self.repository.objects
        block = Block(path=f"data/{self.file()}", rows=10, bytes=BYTES)
        id = SegmentId(objects.put(Segment(blocks=(block,))))
        made = Snapshot(
            table=TableId("t"),
            schema=Schema.of([Field(id="", name="id", type="bigint")]),
            segments=(SegmentRef(id=id, blocks=1, rows=10, bytes=BYTES),),
            created_at=self.repository.clock(),
            operation="create",
        )
        return TableEntry(snapshot=SnapshotId(objects.put(made)))

    def table(self, branch: str, name: str, *, appends: bool) -> Entry:
        """A new version: after the one that is there, if there is one, with its blocks or not."""
        objects = self.repository.objects
        made = self.new_table()
        before = self.warehouse.shown(branch).get(f"shop.{name}")
        if not isinstance(before, TableEntry):
            return made
        new, old = objects.snapshot(made.snapshot), objects.snapshot(before.snapshot)
        segments = (*old.segments, *new.segments) if appends else new.segments
        new = msgspec.structs.replace(
            new,
            parents=(before.snapshot,),
            segments=segments,
            created_at=self.repository.clock(),
        )
        return TableEntry(snapshot=SnapshotId(objects.put(new)))

    def write(self, branch: str, name: str, appends: bool) -> None:
        if self.is_there(branch):
            entry = self.table(branch, name, appends=appends)
            self.warehouse.put(branch, **{name: entry})
            self.note(branch)

    def delete_rows(self, branch: str) -> None:
        before = self.warehouse.shown(branch).get("shop.a") if self.is_there(branch) else None
        if isinstance(before, TableEntry):
            objects = self.repository.objects
            old = objects.snapshot(before.snapshot)
            first = objects.segment(old.segments[0].id).blocks
            if not first:
                return
            tombstone = Tombstone(
                path=f"data/{self.file()}", bytes=BYTES, targets={first[0].path: 1}
            )
            id = SegmentId(objects.put(Segment(tombstones=(tombstone,))))
            new = msgspec.structs.replace(
                old,
                segments=(*old.segments, SegmentRef(id=id, blocks=0, rows=0, deleted=1)),
                parents=(before.snapshot,),
            )
            self.warehouse.put(branch, a=TableEntry(snapshot=SnapshotId(objects.put(new))))
            self.note(branch)

    def drop(self, branch: str, name: str) -> None:
        if self.is_there(branch):
            self.warehouse.put(branch, **{name: None})
            self.note(branch)

    def branch_off(self, branch: str) -> None:
        if not self.is_there(branch):
            self.warehouse.branch(branch)
            self.note(branch)

    def delete_branch(self, branch: str) -> None:
        if branch != "main" and self.is_there(branch):
            self.repository.delete_branch(branch, author="ann")
            self.note(branch)

    def merge(self, source: str, into: str) -> None:
        if not (self.is_there(source) and self.is_there(into)) or source == into:
            return
        head, other = self.warehouse.head(into), self.warehouse.head(source)
        if self.repository.is_ancestor(other, head):
            return
        ours, theirs = self.warehouse.shown(head), self.warehouse.shown(other)
        before = self.repository.tree(head)
        changes = TreeChanges(
            schemas={} if before.has_schema("shop") else {"shop": SchemaInfo()},
            relations={
                RelationName.of(name): self.merged(ours.get(name), entry)
                for name, entry in theirs.items()
            },
        )
        tree = self.repository.edit(before.id, changes)
        self.repository.land(
            Proposal(
                branch=into, base=head, tree=tree, author="ann", message="merge", parents=(other,)
            )
        )
        self.note(into)

    def merged(self, ours: Entry | None, theirs: Entry) -> Entry:
        """A version that comes from both, unless only one side has the table."""
        if ours == theirs or not (isinstance(ours, TableEntry) and isinstance(theirs, TableEntry)):
            return theirs
        objects = self.repository.objects
        new = msgspec.structs.replace(
            objects.snapshot(self.new_table().snapshot),
            parents=(ours.snapshot, theirs.snapshot),
            created_at=self.repository.clock(),
        )
        return TableEntry(snapshot=SnapshotId(objects.put(new)))

    def tag(self, name: str, branch: str) -> None:
        if self.repository.find_tag(name) is not None:
            self.repository.delete_tag(name, author="ann")
        elif self.is_there(branch):
            self.repository.create_tag(name, self.warehouse.head(branch), author="ann")

    def snapshot(self, name: str, table: str, branch: str) -> None:
        relation = RelationName("shop", table)
        if self.repository.snapshots.find(relation, name) is not None:
            self.repository.snapshots.delete(relation, name, author="ann")
        elif self.is_there(branch):
            entry = self.warehouse.shown(branch).get(f"shop.{table}")
            if isinstance(entry, TableEntry):
                self.repository.snapshots.create(
                    relation, name, entry.snapshot, at=self.warehouse.head(branch), author="ann"
                )

    def bring_back(self, branch: str, back: int) -> None:
        """A branch at a commit where one pointed some moves ago, if its rows are still there."""
        stood = [commit for _, commit in self.stood.get(branch, ()) if commit is not None]
        if not stood or self.is_there("z"):
            return
        commit = stood[-1 - back % len(stood)]
        # Long after the last look, as by a person who finds the commit in a log.
        with suppress(NotFoundError):
            hold_commit(self.repository, commit, author="ann")
            self.repository.create_branch("z", commit, author="ann")
            self.note("z")

    def put_back(self, branch: str, table: str, back: int) -> None:
        """A version that a branch once showed, as another table of the branch."""
        stood = [commit for _, commit in self.stood.get(branch, ()) if commit is not None]
        if not stood or not self.is_there(branch):
            return
        entry = self.warehouse.shown(stood[-1 - back % len(stood)]).get(f"shop.{table}")
        if not isinstance(entry, TableEntry):
            return
        known = self.warehouse.head(branch)
        with suppress(NotFoundError):
            hold(self.repository, None, [entry.snapshot], author="ann", known=known)
            self.warehouse.put(branch, c=entry)
            self.note(branch)

    def die_half_way(self) -> None:
        """A write whose process is killed before its ref moves."""
        self.new_table()
        self.repository.objects.flush()

    def wait(self, days: float) -> None:
        self.warehouse.clock.now += int(days * DAY)

    def collect(self) -> None:
        self.repository.objects.flush()
        before = collect(self.repository, author="gc", dry_run=True)
        after = collect(self.repository, author="gc")
        assert (before.files, before.objects) == (after.files, after.objects)
        self.check_readable()
        self.nothing_is_missing()

    def check_readable(self) -> None:
        for snapshot in self.expected():
            for ref in self.repository.objects.snapshot(snapshot).segments:
                segment = self.repository.objects.segment(ref.id)
                for path in files_of(segment):
                    assert self.warehouse.blobs.exists(path), path

    def expected(self) -> set[SnapshotId]:
        """Every version that can be read: what has a name, had one lately, or is a base."""
        start = self.repository.clock() - KEEP
        commits = {branch.head for branch in self.repository.branches()}
        commits |= {tag.commit for tag in self.repository.tags()}
        while more := self.bases(commits) - commits:
            commits |= more
        for moves in self.stood.values():
            for (_, commit), (until, _) in itertools.pairwise([*moves, (sys.maxsize, None)]):
                if until >= start and commit is not None:
                    commits.add(commit)
        found = {named.snapshot for named in self.repository.snapshots.all()}
        return found | {version for commit in commits for version in self.versions(commit)}

    def bases(self, commits: set[CommitId]) -> set[CommitId]:
        """The bases of a merge of any two, of which several are merged with each other first."""
        pairs = itertools.combinations(sorted(commits), 2)
        return {base for pair in pairs for base in self.repository.merge_bases(*pair)}

    def versions(self, commit: CommitId) -> set[SnapshotId]:
        shown = self.warehouse.shown(commit).values()
        return {entry.snapshot for entry in shown if isinstance(entry, TableEntry)}

    def nothing_is_missing(self) -> None:
        assert check_repository(self.repository).problems == ()

    def end(self) -> None:
        """Long after the last change only what has a name, and the bases of these, is left."""
        self.warehouse.clock.now += KEEP + 3 * GRACE
        collect(self.repository, author="gc")
        self.check_readable()
        left = check_repository(self.repository)
        assert (left.problems, left.orphans) == ((), 0)
        again = collect(self.repository, author="gc")
        assert (again.files, again.young) == (0, 0)
        named = self.expected()
        files = {info.path for info in self.warehouse.blobs.walk("data")}
        fewest = {
            path
            for version in named
            for ref in self.repository.objects.snapshot(version).segments
            for path in files_of(self.repository.objects.segment(ref.id))
        }
        assert fewest <= files
        if not self.repository.tags() and len(self.repository.branches()) == 1:
            lineage = {self.repository.objects.snapshot(version).table for version in named}
            assert files == fewest or len(named) > len(lineage)


def files_of(segment: Segment) -> set[str]:
    blocks: tuple[Block, ...] = segment.blocks
    return {block.path for block in blocks} | {tombstone.path for tombstone in segment.tombstones}


STEPS = st.one_of(
    st.tuples(st.just("write"), BRANCHES, TABLES, st.booleans()),
    st.tuples(st.just("write"), BRANCHES, TABLES, st.booleans()),
    st.tuples(st.just("delete_rows"), BRANCHES),
    st.tuples(st.just("drop"), BRANCHES, TABLES),
    st.tuples(st.just("branch_off"), BRANCHES),
    st.tuples(st.just("branch_off"), BRANCHES),
    st.tuples(st.just("delete_branch"), BRANCHES),
    st.tuples(st.just("merge"), BRANCHES, BRANCHES),
    st.tuples(st.just("tag"), NAMES, BRANCHES),
    st.tuples(st.just("snapshot"), NAMES, TABLES, BRANCHES),
    st.tuples(st.just("bring_back"), BRANCHES, st.integers(0, 9)),
    st.tuples(st.just("put_back"), BRANCHES, TABLES, st.integers(0, 9)),
    st.tuples(st.just("die_half_way")),
    st.tuples(st.just("wait"), st.sampled_from([0.1, 1, 4, 9])),
    st.tuples(st.just("collect")),
)


@settings(deadline=None)
@given(steps=st.lists(STEPS, min_size=10, max_size=40))
def test_what_should_be_readable_is_and_garbage_is_gone(
    steps: list[tuple[Any, ...]],
) -> None:
    world = World()
    world.write("main", "a", False)
    world.branch_off("x")
    for name, *arguments in steps:
        getattr(world, name)(*arguments)
    world.nothing_is_missing()
    world.end()


def crossed() -> World:
    """A branch that forked long ago, merged main, and showed a row version before that lately."""
    world = World()
    world.write("main", "a", False)
    world.branch_off("x")
    world.write("x", "a", False)
    world.write("main", "a", False)
    world.wait(9)
    world.merge("main", "x")
    world.wait(1)
    world.collect()
    return world


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_brought_back_has_its_base(whole: bool) -> None:
    world = crossed()
    if whole:
        world.bring_back("x", 1)
        assert world.is_there("z")
    else:
        world.put_back("x", "a", 1)
        assert "shop.c" in world.warehouse.shown("x")
    world.check_readable()
    world.nothing_is_missing()
    world.end()
