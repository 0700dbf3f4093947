"""What a run tells of a table that came or went."""

from dbt.adapters.vcs.core.ids import SegmentId, SnapshotId, new_table_id
from dbt.adapters.vcs.core.model import Absent, RelationName, Schema, SegmentRef, Snapshot
from dbt.adapters.vcs.core.model.tree import TableEntry
from dbt.adapters.vcs.core.plan.trees import Change
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.memory import MemoryBlobs
from dbt.adapters.vcs.report import count_change


def test_the_rows_of_a_whole_table_are_counted_without_reading_its_segments() -> None:
    repository = Repository.create(MemoryBlobs(), author="ann")
    missing = SegmentRef(id=SegmentId("0" * 64), blocks=1_000, rows=50, deleted=8)
    snapshot = Snapshot(
        table=new_table_id(),
        schema=Schema(fields=()),
        segments=(missing, missing),
        created_at=repository.clock(),
        operation="create",
    )
    entry = TableEntry(snapshot=SnapshotId(repository.objects.put(snapshot)))
    name = RelationName("shop", "orders")
    came = count_change(repository, Change(name, Absent, entry))
    went = count_change(repository, Change(name, entry, Absent))
    assert (came.how, came.rows_added, came.rows_removed) == ("added", 84, 0)
    assert (went.how, went.rows_added, went.rows_removed) == ("removed", 0, 84)
