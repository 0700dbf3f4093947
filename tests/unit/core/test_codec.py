"""Large manifests are read without a look for garbage, and times are in bounds."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from dbt.adapters.vcs.core.codec import decode, decode_record, encode, encode_record
from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import Block, Segment
from dbt.adapters.vcs.core.model.snapshot import ColumnStats
from dbt.adapters.vcs.core.model.tree import EARLIEST, LATEST, RefMove

LARGE = Segment(
    blocks=tuple(
        Block(path=f"data/t/{n}", rows=1, bytes=1, stats={"a": ColumnStats(n, n, 0)})
        for n in range(5_000)
    )
)


@contextmanager
def collections() -> Iterator[list[str]]:
    """Note each look for garbage."""
    seen: list[str] = []

    def note(phase: str, info: object) -> None:
        if phase == "start":
            seen.append(phase)

    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)


def test_a_large_object_is_read_without_looking_for_garbage_meanwhile() -> None:
    id, data = encode(LARGE)
    with collections() as seen:
        assert decode(Segment, id, data) == LARGE
    # The parser alone would make some ten collections.
    assert len(seen) <= 2
    assert gc.isenabled()


def test_the_collector_is_left_as_it_was() -> None:
    id, data = encode(LARGE)
    gc.disable()
    try:
        decode(Segment, id, data)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_is_back_after_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode(LARGE)[1][:-1]
    monkeypatch.setattr("dbt.adapters.vcs.core.codec._hash", lambda kind, data: "id")
    with pytest.raises(DamagedError, match="does not parse"):
        decode(Segment, "id", data)
    assert gc.isenabled()


@pytest.mark.parametrize("time", [LATEST + 1, EARLIEST - 1])
def test_a_time_that_nobody_could_read_is_not_written(time: int) -> None:
    move = RefMove(name="main", commit=None, at=Micros(LATEST), by="ann", action="commit")
    assert decode_record(RefMove, encode_record(move), "move") == move
    with pytest.raises(InputError, match="years 1 to 9999"):
        encode_record(msgspec.structs.replace(move, at=Micros(time)))
