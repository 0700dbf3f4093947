"""What a merge reads does not grow with what was done before its base."""

import msgspec
import pytest

from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.origins import staleness
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from tests.unit.shelf import Shelf


class Noting(MemoryBlobs):
    """Notes what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    def get(self, path: str) -> bytes:
        self.reads.append(path)
        return super().get(path)


def reads_of_last_merge(merges: int) -> int:
    """Merge branches into `main`, each forked before the one before it was merged."""
    blobs = Noting()
    main = Shelf(blobs)
    main.run("create table t (id bigint)")
    for number in range(merges):
        main.repository.create_branch(f"w/{number}", main.line.head(), author="ann")
        side = Shelf.of(main.repository, f"w/{number}")
        side.append("t", id=[2 * number])
        main.append("t", id=[2 * number + 1])
        if number:
            merge(main.repository, f"w/{number - 1}", "main", author="ann")
    fresh = Repository.open(blobs)
    blobs.reads.clear()
    merge(fresh, f"w/{merges - 1}", "main", author="ann")
    found = len(blobs.reads)
    assert sorted(row for (row,) in main.rows("t")) == list(range(2 * merges))
    return found


def test_a_merge_reads_as_much_after_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    # So many versions are looked at for what a table was made from.
    monkeypatch.setattr(staleness, "MAX_BACK", 5)
    assert reads_of_last_merge(10) == reads_of_last_merge(30)


def reads_of_rebuilt_on_both_sides(rebuilds: int) -> int:
    """Compute a table again many times, and then once on each of two branches."""
    blobs = Noting()
    main = Shelf(blobs)
    main.run("create table t (id bigint)")
    main.append("t", id=[1])
    for _ in range(rebuilds):
        rebuild(main)
    main.repository.create_branch("w", main.line.head(), author="ann")
    rebuild(Shelf.of(main.repository, "w"))
    rebuild(main)
    fresh = Repository.open(blobs)
    blobs.reads.clear()
    with pytest.raises(ConflictError, match="computed"):
        merge(fresh, "w", "main", author="ann")
    return len(blobs.reads)


def rebuild(shelf: Shelf) -> None:
    overlay = shelf.begin()
    shelf.append("t", overlay, id=[1])
    name = RelationName("s", "t")
    version = overlay.require_table(name)
    overlay.put_table(name, msgspec.structs.replace(version, operation="rebuild"))
    shelf.line.land(overlay, "rebuild")


def test_a_conflict_of_two_rebuilds_reads_as_much_after_many_others() -> None:
    assert reads_of_rebuilt_on_both_sides(10) == reads_of_rebuilt_on_both_sides(30)
