"""Many calls at once."""

import os
import signal
import threading

import pytest

from dbt.adapters.vcs.core.ids import Micros, TableId
from dbt.adapters.vcs.core.model import Block, Schema, Segment, Snapshot
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.plan.states import compare
from dbt.adapters.vcs.core.store.blobs import Parallel, each
from dbt.adapters.vcs.core.store.objects import ObjectStore, object_path
from dbt.adapters.vcs.table.manifests import put_segment
from dbt.adapters.vcs.workspace.table_version import Version
from tests.watched_blobs import TogetherBlobs


def test_threads_are_kept_for_the_next_call() -> None:
    parallel = Parallel()
    start = threading.Barrier(16)

    def meet(_: int) -> threading.Thread:
        start.wait(10)
        return threading.current_thread()

    assert set(parallel.map(meet, range(16))) == set(parallel.map(meet, range(16)))


def test_calls_within_calls_are_made_at_once_and_never_wait_for_ever() -> None:
    meeting = threading.Barrier(4)
    parallel = Parallel(4)
    parallel.map(lambda _: parallel.map(lambda _: meeting.wait(10), range(2)), range(2))
    # Far more calls than threads, three levels of them.
    few = Parallel(2)

    def sums(depth: int) -> int:
        return sum(few.map(lambda _: sums(depth - 1), range(5))) if depth else 1

    assert few.map(sums, [3] * 20) == [125] * 20


def test_the_segments_that_versions_differ_in_are_read_at_once() -> None:
    blobs = TogetherBlobs()
    objects = ObjectStore(blobs)
    blocks = [Block(path=f"data/t/w={n}/a.parquet", rows=1, bytes=1) for n in range(10)]
    refs = [put_segment(objects, Segment(blocks=(block,))) for block in blocks]
    objects.flush()

    def version(first: int) -> Snapshot:
        return Snapshot(
            table=TableId("t"),
            schema=Schema(fields=()),
            segments=tuple(refs[first:]),
            created_at=Micros(0),
            operation="append",
        )

    asked = {object_path("segment", ref.id) for ref in refs[:9]}
    blobs.together = set(asked)
    found = delta(version(9), version(0), ObjectStore(blobs).segments)
    assert found.added == tuple(blocks[:9])
    blobs.together = set(asked)
    again = compare(version(9), version(9), version(0), ObjectStore(blobs).segments)
    assert list(again.theirs.blocks.values()) == blocks[:9]
    blobs.together = set(asked)
    # One that is at hand isn't waited for.
    reader = ObjectStore(blobs)
    assert reader.segment(refs[9].id).blocks == (blocks[9],)
    assert Version(snapshot=version(0), read=reader.segments).blocks == tuple(blocks)


def test_calls_inside_calls_end() -> None:
    found = each(lambda one: each(lambda other: (one, other), range(20)), range(40))
    assert found == [[(one, other) for other in range(20)] for one in range(40)]


def test_the_first_error_is_raised_after_all_calls_ended() -> None:
    ended: list[int] = []

    def call(number: int) -> None:
        if number % 3 == 1:
            raise ValueError(str(number))
        ended.append(number)

    with pytest.raises(ValueError, match=r"^1$"):
        each(call, range(30))
    assert sorted(ended) == [number for number in range(30) if number % 3 != 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    assert each(str, range(3)) == ["0", "1", "2"]
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os._exit(0 if each(str, range(3)) == ["0", "1", "2"] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_store_leaves_nothing_behind_for_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: list[object] = []
    monkeypatch.setattr(os, "register_at_fork", lambda **handler: handlers.append(handler))
    for _ in range(3):
        Parallel()
    assert handlers == []
