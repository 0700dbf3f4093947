"""Writers of one branch take turns: whoever lost a race goes before those who came later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from dbt.adapters.vcs.core import turns as module
from dbt.adapters.vcs.core.errors import RetryError, StorageError
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.turns import FOLDER, Turns
from dbt.adapters.vcs.workspace.lines.line_workspace import (
    Workspace,
    depends_on_others,
    landed,
)
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.overlay import Overlay
from tests.unit.warehouse import Warehouse

SOON = 0.2
"""Seconds in which a writer that doesn't wait would be done."""


def tickets(blobs: MemoryBlobs) -> list[str]:
    return [info.path for info in blobs.walk(FOLDER)]


def attempt(blobs: MemoryBlobs, branch: str = "main", lost: int = 0) -> None:
    """Work on a branch, losing some races first."""
    with Turns(blobs).on(branch) as turn:
        for number in turn.attempts("work"):
            if number > lost:
                return


def in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_writer_that_wins_leaves_no_trace() -> None:
    blobs = MemoryBlobs()
    attempt(blobs)
    assert tickets(blobs) == []


def test_a_writer_that_lost_is_let_past() -> None:
    blobs = MemoryBlobs()
    with Turns(blobs).on("main") as first:
        tries = first.attempts("work")
        next(tries)
        next(tries)
        assert len(tickets(blobs)) == 1
        later = in_thread(lambda: attempt(blobs))
        later.join(SOON)
        assert later.is_alive()
        attempt(blobs, "another branch")
    later.join(10)
    assert not later.is_alive()
    assert tickets(blobs) == []


def test_those_who_lost_together_all_get_their_turn() -> None:
    blobs = MemoryBlobs()
    start = threading.Barrier(4)

    def work(number: int) -> int:
        with Turns(blobs).on("main") as turn:
            for tried in turn.attempts("work"):
                if tried == 1:
                    start.wait(10)
                else:
                    return number
        raise AssertionError("attempts raises when it ends")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [0, 1, 2, 3]
    assert tickets(blobs) == []


def test_a_writer_that_met_others_puts_a_ticket_up_before_it_lands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blobs = MemoryBlobs()
    turns = Turns(blobs)

    def tickets_at_landing() -> int:
        with turns.on("main") as turn:
            next(turn.attempts("work"))
            return len(tickets(blobs))

    assert tickets_at_landing() == 0
    with turns.on("main") as turn:
        lost = turn.attempts("work")
        next(lost)
        next(lost)
    assert tickets_at_landing() == 1
    assert tickets(blobs) == []
    with turns.on("dev") as turn:
        next(turn.attempts("work"))
        assert tickets(blobs) == []

    monkeypatch.setattr(module, "_BUSY", 0)
    assert tickets_at_landing() == 0
    # Somebody behind counts as well.
    monkeypatch.setattr(module, "_BUSY", 60)
    other = Turns(blobs)
    behind = f"{FOLDER}/main/{10**19}-behind"
    blobs.create(behind, b"")
    for count_there in (1, 2):
        with other.on("main") as turn:
            next(turn.attempts("work"))
            assert len(tickets(blobs)) == 2, count_there
    blobs.delete(behind)


def test_a_ticket_that_nobody_takes_down_is_waited_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    blobs = MemoryBlobs()
    blobs.create(f"{FOLDER}/main/{1:020d}-killed", b"")
    attempt(blobs)
    assert tickets(blobs) == []


def test_a_ticket_goes_with_its_work_also_if_that_fails() -> None:
    blobs = MemoryBlobs()
    with pytest.raises(RetryError, match="Could not work"):
        attempt(blobs, lost=module.MAX_ATTEMPTS)
    assert tickets(blobs) == []


def test_work_within_work_does_not_wait_for_itself() -> None:
    blobs = MemoryBlobs()
    turns = Turns(blobs)
    with turns.on("main") as outer:
        for number in outer.attempts("work"):
            with turns.on("main") as inner:
                assert inner is outer
                assert next(inner.attempts("land")) == 1
            if number == 3:
                break
        assert len(tickets(blobs)) == 1
    assert tickets(blobs) == []


def test_a_landing_within_a_statement_queues_when_others_land_beside_it() -> None:
    blobs = MemoryBlobs()
    turns = Turns(blobs)
    with turns.on("main") as statement, turns.on("main") as landing:
        next(statement.attempts("run"))
        tries = landing.attempts("land")
        for _ in range(3):
            next(tries)
        assert tickets(blobs) == []
        next(tries)
        assert len(tickets(blobs)) == 1
        later = in_thread(lambda: attempt(blobs))
        later.join(SOON)
        assert later.is_alive()
        landing.end()
    later.join(10)
    assert not later.is_alive()


def test_work_that_begins_at_once_waits_when_it_lands() -> None:
    blobs = MemoryBlobs()
    first = f"{FOLDER}/main/{1:020d}-first"
    blobs.create(first, b"")
    begun = threading.Event()

    def work() -> None:
        turns = Turns(blobs)
        with turns.on("main") as statement:
            next(statement.attempts("run", at_once=True))
            begun.set()
            with turns.on("main") as landing:
                next(landing.attempts("land"))

    later = in_thread(work)
    assert begun.wait(10)
    later.join(SOON)
    assert later.is_alive()
    # It is in line, so that those who come after it go after it.
    assert len(tickets(blobs)) == 2
    blobs.delete(first)
    later.join(10)
    assert not later.is_alive()
    assert tickets(blobs) == []


def test_a_slow_statement_lands_beside_fast_ones() -> None:
    warehouse = Warehouse()
    warehouse.put(orders="a")
    repository = warehouse.repository
    tries: list[threading.Thread] = []
    numbers = count()

    def workspace() -> Workspace:
        line = BranchLine(repository, "main", "ann")
        return Workspace(repository, line, lambda: pytest.fail("no engine"), schema="shop")

    def put(overlay: Overlay, block: str) -> None:
        schema = overlay.schema_info("shop")
        overlay.put_schema("shop", comment=block, properties=dict(schema.properties))

    def fast() -> None:
        landed(workspace(), lambda overlay: put(overlay, f"fast {next(numbers)}"), "fast")

    def slow(overlay: Overlay) -> None:
        put(overlay, "slow")
        tries.append(in_thread(fast))
        tries[-1].join(SOON if len(tries) > 1 else 10)

    landed(workspace(), slow, "slow")
    for thread in tries:
        thread.join(10)
    # The first one came first; the second one waited.
    assert len(tries) == 2
    notes = [commit.message for _, commit in repository.log(warehouse.head())][:3]
    assert notes == ["fast", "slow", "fast"]


def test_work_that_depends_on_others_begins_when_its_turn_has_come() -> None:
    warehouse = Warehouse()
    warehouse.put(orders="a")
    first = f"{FOLDER}/main/{1:020d}-first"
    warehouse.repository.blobs.create(first, b"")
    begun = threading.Event()
    line = BranchLine(warehouse.repository, "main", "ann")
    workspace = Workspace(
        warehouse.repository, line, lambda: pytest.fail("no engine"), schema="shop"
    )
    later = in_thread(lambda: landed(workspace, lambda _: begun.set(), "wait", waits=True))
    later.join(SOON)
    assert not begun.is_set()
    warehouse.repository.blobs.delete(first)
    later.join(10)
    assert begun.is_set()


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("-- new prices\nUPDATE t set n = 1", True),
        ("delete from t where n = 1", True),
        ("merge into t using s on t.n = s.n when matched then delete", True),
        ("insert into t select 1", False),
        ("select * from t", False),
        ("", False),
    ],
)
def test_statements_that_change_rows_depend_on_others(text: str, waits: bool) -> None:
    assert depends_on_others(text) is waits


def test_many_writers_of_one_thing_all_land() -> None:
    warehouse = Warehouse()
    warehouse.put(orders="a")
    repository = warehouse.repository

    def write(number: int) -> None:
        def add_one(overlay: Overlay) -> None:
            # Signed, since two sides that change the same thing alike don't conflict.
            before = (overlay.schema_info("shop").comment or "0 by nobody").split()[0]
            comment = f"{int(before) + 1} by {number}"
            overlay.put_schema("shop", comment=comment, properties={})

        line = BranchLine(repository, "main", f"writer {number}")
        workspace = Workspace(repository, line, lambda: pytest.fail("no engine"), schema="shop")
        for _ in range(10):
            landed(workspace, add_one, "count")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    comment = repository.tree(warehouse.head()).schema_ref("shop").comment
    assert comment is not None
    assert comment.startswith("60 by ")


def test_a_store_that_can_not_keep_tickets_holds_nobody_up() -> None:
    class Full(MemoryBlobs):
        def create(self, path: str, data: bytes) -> bool:
            raise StorageError("The disk is full.")

        def delete(self, path: str) -> None:
            raise StorageError("The disk is full.")

    attempt(Full(), lost=2)
