"""Inserts of several writers into one table follow one another; anything else conflicts."""

from __future__ import annotations

import msgspec
import pytest

from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import ConflictError, NotFoundError
from dbt.adapters.vcs.core.groups import Landed
from dbt.adapters.vcs.core.ids import Micros, TableId
from dbt.adapters.vcs.core.model import (
    Absent,
    Block,
    Field,
    RelationName,
    Schema,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.manifests import JOIN_ABOVE, joined_segments, put_segments
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.overlay import Overlay

AUDIT = RelationName("ops", "audit")


@pytest.fixture
def line() -> BranchLine:
    repository = Repository.create(MemoryBlobs(), author="test")
    line = BranchLine(repository, "main", "test")
    overlay = begin(repository)
    overlay.put_schema("ops", comment=None, properties={})
    schema = Schema.of([Field(id="", name="n", type="int")])
    overlay.put_table(
        AUDIT,
        Snapshot(
            table=TableId("t"),
            schema=schema,
            segments=(),
            created_at=Micros(0),
            operation="create",
        ),
    )
    line.land(overlay, "create")
    return line


def begin(repository: Repository) -> Overlay:
    head = repository.branch("main").head
    return Overlay(repository=repository, base=head, tree=repository.tree(head))


def append(overlay: Overlay, path: str) -> None:
    entry = overlay.require(AUDIT)
    assert isinstance(entry, TableEntry)
    before = overlay.snapshot(entry.snapshot)
    overlay.repository.blobs.create(path, b"1")
    added = put_segments(overlay.repository.objects, [Block(path=path, rows=1, bytes=1)])
    overlay.put_table(
        AUDIT,
        msgspec.structs.replace(
            before,
            segments=joined_segments(overlay.repository.objects, (*before.segments, *added)),
            parents=(entry.snapshot,),
            operation="append",
        ),
    )


def paths(repository: Repository) -> list[str]:
    snapshot = begin(repository).require_table(AUDIT)
    segments = [repository.objects.segment(ref.id) for ref in snapshot.segments]
    return [block.path for segment in segments for block in segment.blocks]


def test_inserts_from_one_base_follow_one_another(line: BranchLine) -> None:
    repository = line._repository
    overlays = [begin(repository) for _ in range(3)]
    for number, overlay in enumerate(overlays):
        append(overlay, f"a{number}")
        append(overlay, f"b{number}")
        line.land(overlay, "append")

    assert paths(repository) == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_an_insert_that_loses_a_race_follows_the_winner(
    line: BranchLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = line._repository
    ours, other = begin(repository), begin(repository)
    append(ours, "x")
    append(other, "y")
    real = repository.land

    def land(proposal: Proposal, branch: Branch) -> Landed:
        monkeypatch.setattr(repository, "land", real)
        line.land(other, "append")
        return real(proposal, branch)

    monkeypatch.setattr(repository, "land", land)
    line.land(ours, "append")

    assert paths(repository) == ["y", "x"]


def test_inserts_follow_also_when_segments_were_joined(line: BranchLine) -> None:
    repository = line._repository
    for number in range(JOIN_ABOVE):
        overlay = begin(repository)
        append(overlay, f"p{number}")
        line.land(overlay, "append")
    first, second = begin(repository), begin(repository)
    append(first, "x")
    append(second, "y")
    line.land(first, "append")
    line.land(second, "append")

    assert paths(repository) == [*(f"p{number}" for number in range(JOIN_ABOVE)), "x", "y"]


def test_an_insert_does_not_follow_a_drop(line: BranchLine) -> None:
    repository = line._repository
    first, second = begin(repository), begin(repository)
    first.put(AUDIT, Absent)
    append(second, "y")
    line.land(first, "drop")

    with pytest.raises(ConflictError, match="audit"):
        line.land(second, "append")


def test_a_rebuild_does_not_follow_an_insert(line: BranchLine) -> None:
    repository = line._repository
    seed = begin(repository)
    append(seed, "old")
    line.land(seed, "append")
    first, second = begin(repository), begin(repository)
    append(first, "x")
    before = second.require_table(AUDIT)
    repository.blobs.create("new", b"1")
    rebuilt = put_segments(repository.objects, [Block(path="new", rows=1, bytes=1)])
    second.put_table(AUDIT, msgspec.structs.replace(before, segments=rebuilt))
    line.land(first, "append")

    with pytest.raises(ConflictError, match="audit"):
        line.land(second, "rebuild")
    assert paths(repository) == ["old", "x"]


def test_an_insert_does_not_follow_another_schema(line: BranchLine) -> None:
    repository = line._repository
    first, second = begin(repository), begin(repository)
    before = first.require_table(AUDIT)
    wider = before.schema.add([Field(id="", name="m", type="int")])
    first.put_table(AUDIT, msgspec.structs.replace(before, schema=wider))
    append(second, "y")
    line.land(first, "alter")

    with pytest.raises(ConflictError, match="audit"):
        line.land(second, "append")


def test_an_insert_that_read_its_own_table_does_not_follow_another(line: BranchLine) -> None:
    repository = line._repository
    first, second = begin(repository), begin(repository)
    append(first, "x")
    append(second, "y")
    second.read.add(str(AUDIT))
    line.land(first, "append")

    with pytest.raises(ConflictError, match="audit"):
        line.land(second, "append")
    assert paths(repository) == ["x"]


def test_an_insert_that_read_other_tables_follows(line: BranchLine) -> None:
    repository = line._repository
    first, second = begin(repository), begin(repository)
    append(first, "x")
    append(second, "y")
    second.read.add("ops.other")
    line.land(first, "append")
    line.land(second, "append")

    assert paths(repository) == ["x", "y"]


def test_an_insert_whose_file_is_gone_does_not_land(line: BranchLine) -> None:
    repository = line._repository
    overlay = begin(repository)
    append(overlay, "a0")
    repository.blobs.delete("a0")
    before = line.head()

    with pytest.raises(NotFoundError, match="The data file a0 is needed"):
        line.land(overlay, "append")
    assert line.head() == before
