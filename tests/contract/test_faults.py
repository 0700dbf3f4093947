"""A crash, a full disk or a lost answer at any write: the old state or the new one, never less."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError, RetryError, StorageError
from dbt.adapters.vcs.core.groups import Landed
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges
from tests.contract.conftest import OpenBlobs
from tests.contract.faulty import Crash, FaultyBlobs, at, lost, under

NAME = RelationName("shop", "orders")


@pytest.fixture
def pushed_past(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others of these tests are of the same thread, so they can't wait for their turn."""
    monkeypatch.setattr("dbt.adapters.vcs.core.turns.PATIENCE", 0)


def put(repository: Repository, number: int, identifier: str = "orders") -> Landed:
    head = repository.branch("main").head
    tree = repository.tree(head)
    changes = TreeChanges(
        schemas={} if tree.has_schema("shop") else {"shop": SchemaInfo()},
        relations={
            RelationName("shop", identifier): TableEntry(snapshot=SnapshotId(f"{number:064x}"))
        },
    )
    return repository.land(
        Proposal(
            branch="main",
            base=head,
            tree=repository.edit(tree.id, changes),
            author="ann",
            message=f"Put {number}",
        )
    )


def shown(blobs: Blobs, revision: str = "main") -> dict[str, int]:
    """What a newcomer reads, every object of the history verified on the way."""
    repository = Repository.open(blobs)
    for _, commit in repository.log(repository.resolve(revision)):
        repository.objects.tree(commit.tree)
    entries = repository.tree(repository.resolve(revision)).relations("shop")
    return {key: int(entry.snapshot, 16) for key, entry in entries.items()}


def writes_of(reopen: OpenBlobs, action: Callable[[Repository], object]) -> int:
    counting = FaultyBlobs(reopen())
    action(Repository.open(counting))
    return counting.creates


def test_a_crash_at_any_write_of_a_landing_leaves_old_or_new(reopen: OpenBlobs) -> None:
    put(Repository.create(reopen(), author="ann"), 1)
    total = writes_of(reopen, lambda repository: put(repository, 2))
    assert total == 4
    old = 2
    for number in range(1, total + 1):
        for when in ("before", "after"):
            new = old + 1
            crashing = FaultyBlobs(reopen(), **{when: at(number, Crash())})
            with pytest.raises(Crash):
                put(Repository.open(crashing), new)
            landed = number == total and when == "after"
            assert shown(reopen()) == {"orders": new if landed else old}
            put(Repository.open(reopen()), new)
            assert shown(reopen()) == {"orders": new}
            old = new


def test_a_crash_at_any_write_of_a_creation_leaves_nothing_or_a_repository(
    tmp_path: Path,
) -> None:
    # Tree, commit, ref, a look whether the store refuses to write twice, header.
    for number in range(1, 6):
        for when in ("before", "after"):
            root = str(tmp_path / f"{number}-{when}")
            crashing = FaultyBlobs(open_blobs(root), **{when: at(number, Crash())})
            with pytest.raises(Crash):
                Repository.create(crashing, author="ann")
            if (number, when) != (5, "after"):
                with pytest.raises(NotFoundError, match="not a repository"):
                    Repository.open(open_blobs(root))
            repository = Repository.create(open_blobs(root), author="ann")
            put(repository, 1)
            assert shown(open_blobs(root)) == {"orders": 1}


def test_a_crash_while_a_branch_is_made_leaves_it_or_not(reopen: OpenBlobs) -> None:
    head = put(Repository.create(reopen(), author="ann"), 1).commit
    # The first write says that the branch is being created.
    for number in (1, 2):
        with pytest.raises(Crash):
            crashing = FaultyBlobs(reopen(), before=at(number, Crash()))
            Repository.open(crashing).create_branch("x", head, author="ann")
        assert Repository.open(reopen()).find_branch("x") is None
    with pytest.raises(Crash):
        crashing = FaultyBlobs(reopen(), after=at(2, Crash()))
        Repository.open(crashing).create_branch("x", head, author="ann")
    assert Repository.open(reopen()).branch("x").head == head


def test_a_landing_whose_answer_is_lost_has_landed(reopen: OpenBlobs) -> None:
    put(Repository.create(reopen(), author="ann"), 1)
    forgetful = FaultyBlobs(reopen(), after=under("refs/", lost()))
    landed = put(Repository.open(forgetful), 2)
    assert landed.moved
    assert Repository.open(reopen()).branch("main").head == landed.commit
    assert len(Repository.open(reopen()).refs.log("heads", "main")) == 3


def test_a_landing_that_never_arrived_is_an_error_and_can_be_repeated(reopen: OpenBlobs) -> None:
    put(Repository.create(reopen(), author="ann"), 1)
    cut_off = Repository.open(FaultyBlobs(reopen(), before=at(4, lost())))
    with pytest.raises(StorageError, match="connection reset"):
        put(cut_off, 2)
    assert shown(reopen()) == {"orders": 1}
    assert put(cut_off, 2).moved
    assert shown(reopen()) == {"orders": 2}


def test_a_lost_answer_after_a_lost_race_is_a_lost_race(reopen: OpenBlobs) -> None:
    put(Repository.create(reopen(), author="ann"), 1)
    others = Repository.open(reopen())

    def overtaken(number: int, path: str) -> None:
        if number == 4:
            put(others, 7, "other")

    def forget(number: int, path: str) -> None:
        if number == 4:
            raise lost()

    repository = Repository.open(FaultyBlobs(reopen(), before=overtaken, after=forget))
    assert put(repository, 2).how == "merge"
    assert shown(reopen()) == {"orders": 2, "other": 7}


def test_an_outcome_that_can_not_be_read_back_says_so(blobs: Blobs) -> None:
    put(Repository.create(blobs, author="ann"), 1)

    class Dark(FaultyBlobs):
        dark = False

        def get(self, path: str) -> bytes:
            if self.dark and path.startswith("refs/"):
                raise StorageError("Could not read: host unreachable.")
            return super().get(path)

    def fall(number: int, path: str) -> None:
        if path.startswith("refs/"):
            dark.dark = True
            raise lost()

    dark = Dark(blobs, after=fall)
    with pytest.raises(StorageError, match=r"not known whether.*landed.*Read the branch before"):
        put(Repository.open(dark), 2)
    assert shown(blobs) == {"orders": 2}


@pytest.mark.parametrize("folder", ["objects/", "refs/"])
@pytest.mark.parametrize("words", ["No space left", "No permission"])
def test_a_store_that_refuses_loses_nothing(reopen: OpenBlobs, folder: str, words: str) -> None:
    put(Repository.create(reopen(), author="ann"), 1)
    refusing = Repository.open(
        FaultyBlobs(reopen(), before=under(folder, StorageError(f"{words} to write.")))
    )
    with pytest.raises(StorageError, match=words):
        put(refusing, 2)
    assert shown(reopen()) == {"orders": 1}
    put(Repository.open(reopen()), 2)
    assert shown(reopen()) == {"orders": 2}


def test_a_damaged_object_stops_what_needs_it_and_nothing_else(reopen: OpenBlobs) -> None:
    repository = Repository.create(reopen(), author="ann")
    first = put(repository, 1).commit
    second = put(repository, 2).commit
    id = repository.tree(first).schema_ref("shop").id
    path = f"objects/tree/{id[:2]}/{id}"
    reopen().delete(path)
    reopen().create(path, b"{}?")
    newcomer = Repository.open(reopen())
    with pytest.raises(DamagedError, match=rf"{id}.*backup"):
        newcomer.tree(first).relations("shop")
    assert newcomer.tree(second).entry(NAME) is not None
    put(newcomer, 3)
    assert shown(reopen()) == {"orders": 3}


@pytest.mark.usefixtures("pushed_past")
def test_a_writer_that_always_loses_gives_up_and_changes_nothing(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    put(Repository.create(blobs, author="ann"), 1)
    others = Repository.open(blobs)
    count = iter(range(1_000))

    def overtaken(number: int, path: str) -> None:
        if path.startswith("refs/"):
            put(others, next(count), "other")

    with pytest.raises(RetryError, match=r"20 times in a row\. Nothing was changed; try again"):
        put(Repository.open(FaultyBlobs(blobs, before=overtaken)), 2)
    assert shown(blobs) == {"orders": 1, "other": 19}


@pytest.mark.usefixtures("pushed_past")
def test_a_writer_overtaken_a_few_times_lands_in_the_end(reopen: OpenBlobs) -> None:
    put(Repository.create(reopen(), author="ann"), 1)
    others = Repository.open(reopen())
    left = iter(range(3))
    lock = threading.Lock()

    def overtaken(number: int, path: str) -> None:
        with lock:
            if path.startswith("refs/") and (turn := next(left, None)) is not None:
                put(others, turn, "other")

    landed = put(Repository.open(FaultyBlobs(reopen(), before=overtaken)), 2)
    assert landed.how == "merge"
    assert shown(reopen()) == {"orders": 2, "other": 2}


def test_a_store_that_ignores_put_if_absent_is_refused(blobs: Blobs) -> None:
    class Overwriting(FaultyBlobs):
        def create(self, path: str, data: bytes) -> bool:
            super().create(path, data)
            return True

    with pytest.raises(StorageError, match=r"ignores put-if-absent.*S3, GCS, Azure"):
        Repository.create(Overwriting(blobs), author="ann")
    with pytest.raises(NotFoundError):
        Repository.open(blobs)
