"""Traps of version control for tables, as merges of real rows: checks first, and crossing lines.

The others are held where their subject is: test_merge and test_branches (work of a failed run),
test_restore (a commit taken apart; restored to the base), test_upkeep (merge bases are kept),
test_keys (NULL and duplicate keys), test_merge_scenarios and test_merge_laws (compaction).
"""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.merge import MergeRequest, merge
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from tests.unit.tables import Rows, Tables
from tests.unit.warehouse import Warehouse

BASE: Rows = {1: "a", 2: "b", 3: "c", 4: "d"}


class Journal(MemoryBlobs):
    """Blobs that note the paths written, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []

    def create(self, path: str, data: bytes) -> bool:
        created = super().create(path, data)
        if created:
            self.written.append(path)
        return created


class Shop:
    """A warehouse whose tables are rewritten as a whole, in blocks of their own."""

    def __init__(self) -> None:
        self.blobs = Journal()
        self.warehouse = Warehouse(self.blobs)
        self.tables = Tables(self.warehouse)

    def write(self, branch: str = "main", **rows: Rows) -> None:
        """Commit tables of these rows, each the next version of what the branch shows."""
        shown = self.warehouse.shown(branch)
        entries = {}
        for name, these in rows.items():
            before = shown.get(f"shop.{name}")
            blocks = [self.tables.block({id: value}) for id, value in these.items()]
            parents = [before] if before is not None else []
            entries[name] = self.tables.entry(blocks, parents=parents, key=True)  # type: ignore[arg-type]
        self.warehouse.put(branch, **entries)

    def rows(self, name: str, revision: str = "main") -> dict[int, str]:
        return {row["id"]: row["name"] for row in self.warehouse.rows(name, revision)}

    def merge(self, source: str, target: str, mode: Mode = Mode.FAIL) -> str:
        request = MergeRequest(policy=Policy(override=mode))
        return merge(self.warehouse.repository, source, target, request, author="bob").how


@pytest.fixture
def shop() -> Shop:
    shop = Shop()
    shop.write(a=BASE, z=BASE)
    shop.warehouse.branch("feature")
    return shop


def test_trap_5_all_conflicts_are_found_before_anything_is_shown(shop: Shop) -> None:
    """The last of the tables conflicts; those before it must not have been published."""
    shop.write("feature", a=BASE | {5: "new"}, z=BASE | {1: "theirs"})
    shop.write(a=BASE | {6: "more"}, z=BASE | {1: "ours"})
    shown, head = shop.warehouse.shown(), shop.warehouse.head()
    shop.blobs.written.clear()
    with pytest.raises(ConflictError, match=r"shop\.z"):
        shop.merge("feature", "main")
    assert (shop.warehouse.shown(), shop.warehouse.head()) == (shown, head)
    moved = [path for path in shop.blobs.written if path.startswith("refs/")]
    assert [path for path in moved if "merges" not in path] == []


def test_trap_5_a_merge_is_shown_by_one_move_which_is_its_last_write(shop: Shop) -> None:
    shop.write("feature", a=BASE | {5: "new"}, z=BASE | {1: "theirs"})
    shop.write(a=BASE | {6: "more"}, z=BASE | {2: "ours"})
    shop.blobs.written.clear()
    assert shop.merge("feature", "main") == "merge"
    moves = [path for path in shop.blobs.written if path.startswith("refs/")]
    assert [path.split("/")[:3] for path in moves] == [["refs", "heads", "main"]]
    assert shop.blobs.written[-1] == moves[0]
    assert shop.rows("a") == {**BASE, 5: "new", 6: "more"}
    assert shop.rows("z") == {**BASE, 1: "theirs", 2: "ours"}


def test_trap_6_crossed_merges_keep_every_change_once(shop: Shop) -> None:
    """Both sides take over the other's work at one time, then go on; twice over."""
    ours, theirs = dict(BASE), dict(BASE)
    shop.warehouse.branch("x")
    for turn in range(3):
        ours |= {1: f"m{turn}", 10 + turn: "by main"}
        theirs |= {2: f"f{turn}", 20 + turn: "by feature"}
        theirs.pop(3, None)
        shop.write(a=ours)
        shop.write("feature", a=theirs)
        repository = shop.warehouse.repository
        for name in ("old-main", "old-feature"):
            if repository.find_branch(name) is not None:
                repository.delete_branch(name, author="bob")
        shop.warehouse.branch("old-main", "main")
        shop.warehouse.branch("old-feature", "feature")
        assert shop.merge("old-feature", "main") == "merge"
        assert shop.merge("old-main", "feature") == "merge"
        both = {**ours, **theirs, 1: f"m{turn}"}
        both.pop(3, None)
        assert shop.rows("a") == shop.rows("a", "feature") == both
        ours, theirs = dict(both), dict(both)
    assert shop.merge("feature", "main") in {"merge", "up_to_date"}
    assert shop.rows("a") == both


def test_trap_6_main_merged_back_hides_no_conflict_and_brings_nothing_back(shop: Shop) -> None:
    without = {id: value for id, value in BASE.items() if id != 4}
    shop.write(a=without)
    shop.merge("main", "feature")
    shop.write("feature", a=without | {1: "theirs", 5: "new"})
    assert shop.merge("feature", "main") == "fast_forward"
    shop.write(a=without | {1: "ours", 5: "new"})
    shop.write("feature", a=without | {1: "again", 5: "new", 6: "more"})
    with pytest.raises(ConflictError, match="1 row"):
        shop.merge("feature", "main")
    shop.merge("feature", "main", Mode.SKIP)
    assert shop.rows("a") == without | {1: "ours", 5: "new", 6: "more"}
    # What was decided once is history: it is no conflict the second time.
    shop.merge("main", "feature")
    assert shop.rows("a", "feature") == shop.rows("a")


def test_trap_6_after_a_crossing_a_stale_value_wins_over_nothing(shop: Shop) -> None:
    """Each side has long had the other's change; only then one of them changes it again."""
    shop.write(a=BASE | {1: "m"})
    shop.write("feature", a=BASE | {2: "f"})
    shop.warehouse.branch("old-main", "main")
    shop.merge("feature", "main")
    shop.merge("old-main", "feature")
    shop.write(a=BASE | {1: "newest", 2: "newest too"})
    files = set(shop.blobs.walk("data"))
    shop.merge("feature", "main", Mode.ACCEPT)
    assert shop.rows("a") == BASE | {1: "newest", 2: "newest too"}
    left = {blob.path for blob in set(shop.blobs.walk("data")) - files}
    shown = check_repository(shop.warehouse.repository)
    assert (shown.problems, left) == ((), set()), "the base that was made for it is gone"
