"""What a merge reads does not grow with what was done before its base."""

import msgspec
import pytest

from dbt.adapters.vcs.changes.merges.branch_landing import Terms
from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale
from dbt.adapters.vcs.changes.merges.merge_plan import Work
from dbt.adapters.vcs.changes.merges.stale_by_merge import ReadSetCheck
from dbt.adapters.vcs.commands.merge import merge, merge_work
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import Input, Origin, RelationName
from dbt.adapters.vcs.core.origins import staleness
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from tests.unit.shelf import Shelf

TABLE = RelationName("s", "t")


class Noting(MemoryBlobs):
    """Notes what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    def get(self, path: str) -> bytes:
        self.reads.append(path)
        return super().get(path)


def reads_of_last_merge(merges: int, *inputs: Input) -> int:
    """Merge branches into `main`, each forked before the one before it was merged.

    Each of them adds rows to a table, by a statement that reads these inputs.
    """
    blobs = Noting()
    main = Shelf(blobs)
    main.run("create table t (id bigint)")
    for number in range(merges):
        main.repository.create_branch(f"w/{number}", main.line.head(), author="ann")
        side = Shelf.of(main.repository, f"w/{number}")
        append(side, 2 * number, origin=Origin(inputs=inputs))
        append(main, 2 * number + 1, origin=Origin(inputs=inputs))
        if number:
            merge(main.repository, f"w/{number - 1}", "main", author="ann")
    fresh = Repository.open(blobs)
    last = fresh.branch(f"w/{merges - 1}")
    work = Work(source=last.name, commit=last.head, run=None)
    # As runs are published: it asks what statements read since the base.
    check = ReadSetCheck(fresh, OnStale.WARN)
    blobs.reads.clear()
    merge_work(fresh, work, "main", Terms(), author="ann", validator=check)
    found = len(blobs.reads)
    assert sorted(row for (row,) in main.rows("t")) == list(range(2 * merges))
    return found


def append(shelf: Shelf, id: int, **parts: object) -> None:
    """Add a row to `t`, and record these parts of the version that has it."""
    overlay = shelf.begin()
    shelf.append("t", overlay, id=[id])
    version = overlay.require_table(TABLE)
    overlay.put_table(TABLE, msgspec.structs.replace(version, **parts))
    shelf.line.land(overlay, "append")


def test_a_merge_reads_as_much_after_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    # So many versions are looked at for what a table was made from.
    monkeypatch.setattr(staleness, "MAX_BACK", 5)
    assert reads_of_last_merge(10) == reads_of_last_merge(30)


def test_what_statements_read_before_the_base_is_not_looked_at() -> None:
    read = Input(relation="s.raw", snapshot="0" * 64)
    assert reads_of_last_merge(5, read) == reads_of_last_merge(60, read)


def reads_of_rebuilt_on_both_sides(rebuilds: int) -> int:
    """Compute a table again many times, and then once on each of two branches."""
    blobs = Noting()
    main = Shelf(blobs)
    main.run("create table t (id bigint)")
    main.append("t", id=[1])
    for _ in range(rebuilds):
        append(main, 1, operation="rebuild")
    main.repository.create_branch("w", main.line.head(), author="ann")
    append(Shelf.of(main.repository, "w"), 1, operation="rebuild")
    append(main, 1, operation="rebuild")
    fresh = Repository.open(blobs)
    blobs.reads.clear()
    with pytest.raises(ConflictError, match="computed"):
        merge(fresh, "w", "main", author="ann")
    return len(blobs.reads)


def test_a_conflict_of_two_rebuilds_reads_as_much_after_many_others() -> None:
    assert reads_of_rebuilt_on_both_sides(10) == reads_of_rebuilt_on_both_sides(30)
