"""The bounded cache, and what the store of objects holds in it."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from dbt.adapters.vcs.core.codec import decode, decoded_size, encode
from dbt.adapters.vcs.core.ids import SegmentId, SnapshotId, TableId
from dbt.adapters.vcs.core.model import (
    Block,
    Field,
    Schema,
    SchemaTree,
    Segment,
    Snapshot,
    TableEntry,
    Tombstone,
    Tree,
)
from dbt.adapters.vcs.core.model.snapshot import ColumnStats
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs, Parallel
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.core.store.objects import BoundedCache, ObjectCache, ObjectStore

MIB = 2**20


def held(cache: BoundedCache[str, str]) -> str:
    """The letters of `abcdefg` that are held; asking makes each the last used one in turn."""
    return "".join(id for id in "abcdefg" if cache.get(id) is not None)


def test_the_least_recently_used_goes_first() -> None:
    cache = BoundedCache[str, str](30)
    for id in "abcd":
        cache.put(id, id, 10)
    assert held(cache) == "bcd"
    cache.get("b")
    cache.put("e", "e", 10)
    assert held(cache) == "bde"


def test_what_is_larger_than_all_may_be_is_not_held() -> None:
    cache = BoundedCache[str, str](100)
    for id in "abc":
        cache.put(id, id, 30)
    cache.put("d", "d", 50)
    assert held(cache) == "cd"
    cache.put("e", "e", 101)
    assert (held(cache), cache.bytes) == ("cd", 80)


def test_the_last_one_may_be_kept_however_large() -> None:
    cache = BoundedCache[str, str](100, keeps_last=True)
    for id in "abc":
        cache.put(id, id, 30)
    cache.put("d", "d", 1_000)
    assert (held(cache), cache.bytes) == ("d", 1_000)
    cache.put("e", "e", 10)
    assert (held(cache), cache.bytes) == ("e", 10)


def test_a_value_put_twice_weighs_once() -> None:
    cache = BoundedCache[str, str](100)
    for _ in range(5):
        cache.put("a", "a", 60)
    cache.put("b", "b", 40)
    assert (held(cache), cache.bytes, len(cache)) == ("ab", 100, 2)


def test_types_are_kept_apart() -> None:
    cache = ObjectCache(100)
    cache.put((Tree, "a"), Tree(), 1)
    assert cache.get((SchemaTree, "a")) is None


def segment(number: int, columns: int = 8, blocks: int = 500) -> Segment:
    bounds = [ColumnStats(0, 0, 0), ColumnStats(10**12, 2 * 10**12, 3), ColumnStats("a", "z", 0)]
    return Segment(
        blocks=tuple(
            Block(
                path=f"data/{number:032x}/w={block:032x}/part-{block:05d}.parquet",
                rows=1_000 + block,
                bytes=5_000_000 + block,
                stats={f"c{column:08x}": bounds[column % 3] for column in range(columns)},
                footer=f"{block:064x}",
            )
            for block in range(blocks)
        )
    )


def tombstones() -> Segment:
    targets = {f"data/{n:032x}/w={n:032x}/part-{n:05d}.parquet": n for n in range(3_000)}
    return Segment(tombstones=(Tombstone(path="data/t/d.parquet", bytes=5, targets=targets),))


def snapshot() -> Snapshot:
    fields = [Field(id=f"c{n:08x}", name=f"column_{n}", type="bigint") for n in range(1_000)]
    return Snapshot(
        table=TableId("t" * 32),
        schema=Schema(fields=tuple(fields)),
        segments=(),
        created_at=1,
        operation="append",
    )


@pytest.mark.parametrize(
    "value",
    [
        segment(1, columns=0),
        segment(1, columns=1),
        segment(1, columns=30),
        tombstones(),
        snapshot(),
        SchemaTree(
            relations={
                f"table_{n}": TableEntry(snapshot=SnapshotId(f"{n:064x}")) for n in range(2_000)
            }
        ),
    ],
    ids=["paths", "one bound", "many bounds", "tombstones", "columns", "tree"],
)
def test_the_memory_of_a_value_is_estimated_from_its_bytes(value: Any) -> None:
    id, data = encode(value)
    decode(type(value), id, data)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = decode(type(value), id, data)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert kept == value
    assert 0.85 * taken < decoded_size(data) < 2.2 * taken


def test_many_large_manifests_take_no_more_than_the_bound() -> None:
    writer = ObjectStore(blobs := MemoryBlobs())
    ids = [SegmentId(writer.put(segment(number))) for number in range(60)]
    writer.flush()
    del writer
    cache = ObjectCache(20 * MIB)
    reader = ObjectStore(blobs, cache)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for id in ids:
            reader.segment(id)
            assert cache.bytes <= 20 * MIB
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    # They are stored in 2 MiB, compressed, and would take 50 MiB.
    assert 8 * MIB < taken < 22 * MIB
    assert 5 < len(cache) < 40
    # The last ones are held, the first ones are not.
    for id in ids:
        blobs.delete(f"objects/segment/{id[:2]}/{id}")
    assert reader.segment(ids[-1]) == segment(59)
    assert cache.get((Segment, ids[0])) is None


def reached(root: object) -> int:
    """Return how many objects an object leads to, those in bounded caches and pools left out."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        found = waiting.pop()
        bounded = BoundedCache | Parallel
        if id(found) in seen or isinstance(found, type | ModuleType | FunctionType | bounded):
            continue
        seen[id(found)] = found
        waiting += gc.get_referents(found)
    return len(seen)


def test_a_process_that_makes_and_deletes_branches_knows_no_more_of_them(tmp_path: Path) -> None:
    repository = Repository.create(LocalBlobs(tmp_path), author="ann")
    counts = []
    for number in range(30):
        name = f"job-{number}"
        repository.create_branch(name, repository.resolve("main"), author="ann")
        assert repository.find_branch(name) is not None
        repository.delete_branch(name, author="ann")
        assert repository.find_branch(name) is None
        counts.append(reached(repository))
    assert counts[10:20] == counts[20:]
