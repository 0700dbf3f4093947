"""Repositories of any size, made of manifests: the blocks that they name are there, but empty."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath

import msgspec

from dbt.adapters.vcs.core.ids import (
    CommitId,
    Micros,
    SegmentId,
    SnapshotId,
    TableId,
    new_table_id,
    new_write_id,
    system_clock,
)
from dbt.adapters.vcs.core.model import (
    Block,
    Field,
    RelationName,
    Schema,
    Segment,
    SegmentRef,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.model.snapshot import MAX_BLOCKS
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges

AUTHOR = "benchmark"
SCHEMA = "analytics"
LARGE = RelationName(SCHEMA, "table_0")
"""The table of many blocks."""
SMALL = RelationName(SCHEMA, "table_1")
"""The table that each commit of the history changes."""
COLUMNS = Schema.of(
    [
        *(Field(id="", name=f"column_{n}", type="bigint") for n in range(19)),
        Field(id="", name="note", type="string"),
    ]
)
OWN_VERSIONS = 5_000
"""Tables with a version of their own; further ones are clones, so that a million fit on a disk."""
_DAY = 24 * 3_600 * 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large a repository is.

    Attributes:
        tables: Tables, all in one schema, which is the hardest case for a tree.
        commits: Commits of ``main``; the first one is tagged ``first``.
        blocks: Blocks of the first table.
        branches: Branches at ``main``.
        depth: Branches each made from the one before; the last one is ``deepest``.
    """

    tables: int = 10
    commits: int = 10
    blocks: int = 10
    branches: int = 1
    depth: int = 1


def open_repository(folder: Path, *, fsync: bool = True) -> Repository:
    """Open a repository as a command does: nothing is cached."""
    return Repository.open(open_blobs(str(folder), {"fsync": str(fsync).lower()}))


def make_repository(folder: Path, shape: Shape) -> None:
    """Make a repository of a shape; its history began two days ago."""
    ticks = count(system_clock() - 2 * _DAY, 1_000_000)
    blobs = open_blobs(str(folder), {"fsync": "false"})
    repository = Repository.create(blobs, author=AUTHOR, clock=lambda: Micros(next(ticks)))
    names = [RelationName(SCHEMA, f"table_{number}") for number in range(shape.tables)]
    own = [
        new_table(repository, shape.blocks if name == LARGE else 1)
        for name in names[:OWN_VERSIONS]
    ]
    entries = {name: own[number % OWN_VERSIONS] for number, name in enumerate(names)}
    first = put(repository, "main", entries)
    repository.create_tag("first", first, author=AUTHOR)
    repository.create_branch("old", first, author=AUTHOR)
    head = first
    for number in range(shape.commits - 1):
        if number == shape.commits - 11:
            repository.create_branch("recent", head, author=AUTHOR)
        head = touch(repository, "main", SMALL)
    for number in range(shape.branches):
        repository.create_branch(f"branch/{number}", head, author=AUTHOR)
    for number in range(shape.depth):
        name = "deepest" if number == shape.depth - 1 else f"level/{number}"
        repository.create_branch(name, head, author=AUTHOR)
        head = touch(repository, name, SMALL)


def touch(repository: Repository, branch: str, name: RelationName) -> CommitId:
    """Commit another version of a table: a block more, so that it is not the same."""
    tree = repository.tree(repository.branch(branch).head)
    entry = tree.entry(name)
    assert isinstance(entry, TableEntry)
    old = repository.objects.snapshot(entry.snapshot)
    # Of many small versions each would list all segments so far; one suffices to differ.
    kept = old.segments if name == LARGE else ()
    new = msgspec.structs.replace(
        old,
        segments=(*kept, *segments_of(repository, old.table, 1)),
        parents=(entry.snapshot,),
        created_at=repository.clock(),
        operation="append",
    )
    return put(repository, branch, {name: stored(repository, new)})


def put(repository: Repository, branch: str, entries: dict[RelationName, TableEntry]) -> CommitId:
    """Commit entries on a branch."""
    head = repository.branch(branch).head
    changes = TreeChanges(schemas={SCHEMA: SchemaInfo()}, relations=entries)
    tree = repository.edit(repository.tree(head).id, changes)
    landed = repository.land(
        Proposal(branch=branch, base=head, tree=tree, author=AUTHOR, message="Publish")
    )
    return landed.commit


def new_table(repository: Repository, blocks: int) -> TableEntry:
    """Store the manifests of a table of so many blocks of a million rows each."""
    table = new_table_id()
    snapshot = Snapshot(
        table=table,
        schema=COLUMNS,
        segments=tuple(segments_of(repository, table, blocks)),
        created_at=repository.clock(),
        operation="create",
    )
    return stored(repository, snapshot)


def stored(repository: Repository, snapshot: Snapshot) -> TableEntry:
    """Store a version of a table."""
    return TableEntry(snapshot=SnapshotId(repository.objects.put(snapshot)))


def segments_of(repository: Repository, table: TableId, blocks: int) -> Iterable[SegmentRef]:
    """Store empty blocks as segments, each as full as can be."""
    folder = f"data/{table}/w={new_write_id()}"
    # What lands must be there. Nothing is synced, since blocks are not what is measured.
    place = Path(repository.uri) / folder
    place.mkdir(parents=True)
    for start in range(0, blocks, MAX_BLOCKS):
        listed = tuple(
            _block(folder, number) for number in range(start, min(blocks, start + MAX_BLOCKS))
        )
        for block in listed:
            (place / PurePosixPath(block.path).name).touch()
        yield SegmentRef(
            id=SegmentId(repository.objects.put(Segment(blocks=listed))),
            blocks=len(listed),
            rows=sum(block.rows for block in listed),
            bytes=sum(block.bytes for block in listed),
        )


def _block(folder: str, number: int) -> Block:
    rows = 1_000_000
    stats = {field.id: (number * rows, (number + 1) * rows - 1, 0) for field in COLUMNS.fields[:4]}
    return Block(
        path=f"{folder}/part-{number:05d}.parquet", rows=rows, bytes=100_000_000, stats=stats
    )
