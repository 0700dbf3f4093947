"""What every object store must do, whatever lies under it."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from dbt.adapters.vcs.core.codec import encode
from dbt.adapters.vcs.core.errors import DamagedError, StorageError
from dbt.adapters.vcs.core.ids import CommitId, SegmentId, SnapshotId, TreeId
from dbt.adapters.vcs.core.model import (
    Block,
    Commit,
    SchemaTree,
    Segment,
    TableEntry,
    Tree,
    View,
    ViewColumn,
)
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.objects import ObjectCache, ObjectStore
from tests.contract.conftest import OpenBlobs
from tests.contract.faulty import FaultyBlobs, at, lost


def commit(number: int) -> Commit:
    return Commit(
        tree=TreeId("0" * 64), parents=(), author="ann", committed_at=number, message="m"
    )


def path_of(kind: str, id: str) -> str:
    return f"objects/{kind}/{id[:2]}/{id}"


def test_what_was_put_is_got_by_a_newcomer(reopen: OpenBlobs) -> None:
    values = [
        commit(1),
        Tree(),
        SchemaTree(relations={f"t{n}": TableEntry(snapshot=SnapshotId("a")) for n in range(500)}),
        Segment(blocks=(Block(path="data/x.parquet", rows=1, bytes=2),)),
        View(text="select 'é\\n'", columns=(ViewColumn(name="é", type="string"),)),
    ]
    store = ObjectStore(reopen())
    ids = [store.put(value) for value in values]
    store.flush()
    assert [encode(value)[0] for value in values] == ids
    newcomer = ObjectStore(reopen())
    assert [newcomer.get(type(v), id) for v, id in zip(values, ids, strict=True)] == values


def test_equal_values_are_stored_once(blobs: Blobs) -> None:
    for _ in range(2):
        store = ObjectStore(blobs)
        store.put(commit(1))
        store.put(commit(1))
        store.flush()
    assert len(list(blobs.walk("objects"))) == 1


def test_large_objects_are_compressed(blobs: Blobs) -> None:
    entries = {f"table_{n}": TableEntry(snapshot=SnapshotId("a" * 64)) for n in range(2_000)}
    store = ObjectStore(blobs)
    id = store.put(SchemaTree(relations=entries))
    store.flush()
    assert blobs.size(path_of("tree", id)) < 40_000
    assert ObjectStore(blobs).schema_tree(TreeId(id)).relations == entries


def test_an_empty_tree_and_an_empty_schema_share_an_id_but_not_a_type(blobs: Blobs) -> None:
    store = ObjectStore(blobs)
    assert store.put(Tree()) == store.put(SchemaTree())
    id = TreeId(store.put(Tree()))
    assert isinstance(store.tree(id), Tree)
    assert isinstance(store.schema_tree(id), SchemaTree)


def test_a_missing_object_is_damage(blobs: Blobs) -> None:
    with pytest.raises(DamagedError, match=r"commit 7{64} is missing.*backup"):
        ObjectStore(blobs).commit(CommitId("7" * 64))


@pytest.mark.parametrize("id", ["", "abc", "../../vcs.json", "G" * 64, "A" * 64])
def test_an_id_that_is_none_is_damage(blobs: Blobs, id: str) -> None:
    with pytest.raises(DamagedError, match="is no commit id"):
        ObjectStore(blobs).commit(CommitId(id))


@pytest.mark.parametrize(
    "spoil", [lambda b: b[:-1], lambda b: b + b" ", lambda b: b"", lambda b: b"\x28\xb5\x2f\xfd??"]
)
def test_changed_bytes_are_damage(reopen: OpenBlobs, spoil) -> None:
    blobs = reopen()
    store = ObjectStore(blobs)
    id = CommitId(store.put(commit(1)))
    store.flush()
    data = blobs.get(path_of("commit", id))
    blobs.delete(path_of("commit", id))
    blobs.create(path_of("commit", id), spoil(data))
    with pytest.raises(DamagedError, match=id):
        ObjectStore(reopen()).commit(id)


def test_an_object_is_not_taken_for_another_kind(blobs: Blobs) -> None:
    store = ObjectStore(blobs)
    id = store.put(commit(1))
    store.flush()
    blobs.create(path_of("view", id), blobs.get(path_of("commit", id)))
    with pytest.raises(DamagedError):
        store.view(id)


def test_prefixes_find_ids_of_one_kind(blobs: Blobs) -> None:
    store = ObjectStore(blobs)
    ids = sorted(store.put(commit(number)) for number in range(60))
    store.put(Tree())
    for id in ids[:10]:
        assert store.with_prefix("commit", id) == [id]
        assert store.with_prefix("commit", id[:2]) == [x for x in ids if x[:2] == id[:2]]
    assert store.with_prefix("tree", ids[0]) == []
    for nothing in ("", "a", "zz", "../..", "ABCD"):
        assert store.with_prefix("commit", nothing) == []


def test_reading_again_asks_the_store_no_more(blobs: Blobs) -> None:
    store = ObjectStore(blobs)
    id = CommitId(store.put(commit(1)))
    store.flush()
    blobs.delete(path_of("commit", id))
    assert store.commit(id) == commit(1)


def test_objects_wait_until_they_are_flushed(blobs: Blobs) -> None:
    store = ObjectStore(blobs, ObjectCache(0))
    id = CommitId(store.put(commit(1)))
    assert list(blobs.walk("objects")) == []
    assert store.commit(id) == commit(1)
    store.flush()
    assert blobs.exists(path_of("commit", id))
    assert store.commit(id) == commit(1)


def test_what_a_failing_store_did_not_take_waits_on(blobs: Blobs) -> None:
    faulty = FaultyBlobs(blobs, before=at(2, lost()))
    store = ObjectStore(faulty)
    ids = [store.put(commit(number)) for number in range(3)]
    with pytest.raises(StorageError):
        store.flush()
    store.flush()
    assert all(blobs.exists(path_of("commit", id)) for id in ids)


def test_much_is_flushed_by_itself(blobs: Blobs) -> None:
    store = ObjectStore(blobs)
    for number in range(4):
        noise = random.Random(number).randbytes(5_000_000).hex()
        store.put(View(text=noise, columns=()))
    assert list(blobs.walk("objects"))


def test_what_is_put_again_or_was_flushed_does_not_count_as_much(blobs: Blobs) -> None:
    store = ObjectStore(blobs)
    views = [View(text=random.Random(n).randbytes(5_000_000).hex(), columns=()) for n in range(2)]
    for _ in range(5):
        store.put(views[0])
    assert list(blobs.walk("objects")) == []
    store.flush()
    for number in range(5):
        store.put(commit(number))
        store.put(views[1])
    assert len(list(blobs.walk("objects"))) == 1


def test_threads_that_flush_at_once_all_find_their_objects_stored(blobs: Blobs) -> None:
    store = ObjectStore(blobs)

    def write(number: int) -> bool:
        ids = [store.put(commit(10 * number + step)) for step in range(5)]
        store.flush()
        return all(blobs.exists(path_of("commit", id)) for id in ids)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(write, range(16)))


def segment_of(path: str) -> Segment:
    return Segment(blocks=(Block(path=path, rows=1, bytes=1),))


def synced_by(blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by each file that a store is asked to sync."""
    found: list[str] = []
    monkeypatch.setattr(blobs, "sync", found.extend)
    return found


def test_what_is_handed_over_is_stored_by_whoever_takes_it(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = synced_by(blobs, monkeypatch)
    value = segment_of("data/t/w=1/a")
    owner, taker = ObjectStore(blobs), ObjectStore(blobs)
    id = SegmentId(owner.put(value))
    owner.hand_over([value])
    assert synced == ["data/t/w=1/a"]
    with pytest.raises(DamagedError):
        ObjectStore(blobs).segment(id)

    taker.take_over([value])
    assert taker.segment(id) == value
    taker.put(value)
    taker.put(segment_of("data/t/w=2/a"))
    taker.flush()
    assert synced == ["data/t/w=1/a", "data/t/w=2/a"]
    assert ObjectStore(blobs).segment(id) == value

    # A file is taken over for the next time that objects are stored.
    taker.put(value)
    taker.flush()
    assert synced == ["data/t/w=1/a", "data/t/w=2/a", "data/t/w=1/a"]


def test_all_is_stored_where_not_all_is_handed_over(blobs: Blobs) -> None:
    owner = ObjectStore(blobs)
    value = segment_of("data/t/w=1/a")
    ids = [owner.put(value), owner.put(segment_of("data/t/w=2/a"))]
    owner.hand_over([value])
    assert [ObjectStore(blobs).segment(SegmentId(id)).blocks[0].rows for id in ids] == [1, 1]


def test_what_another_thread_put_as_well_is_not_dropped(blobs: Blobs) -> None:
    owner = ObjectStore(blobs)
    one, both = segment_of("data/t/w=1/a"), segment_of("data/t/w=2/a")
    ids = [SegmentId(owner.put(value)) for value in (one, both, both)]
    owner.hand_over([one, both])
    owner.drop([one, both])
    owner.flush()
    assert ObjectStore(blobs).segment(ids[1]) == both
    with pytest.raises(DamagedError):
        ObjectStore(blobs).segment(ids[0])
    # As it is not in memory any more, nothing is taken off.
    owner.drop([one])
    owner.put(one)
    owner.flush()
    assert ObjectStore(blobs).segment(ids[0]) == one
