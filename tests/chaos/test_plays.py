"""Rounds of work with deaths, races and a failing store: what was acknowledged stays."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from chaos.calendar import HOUR, Calendar
from chaos.campaign import totals
from chaos.check import wrong_copies
from chaos.copies import named
from chaos.faults import Trouble, TroubledBlobs
from chaos.ground import Ground, Weather, cut_trees
from chaos.play import Killed, Play
from chaos.plays import Plays
from chaos.shop import Shop
from chaos.worker import WEIGHTS
from dbt.adapters.vcs.commands.copy import copy_repository
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs
from dbt.adapters.vcs.core.store.opening import open_blobs

DEATHS = Weather(races=0.3)
FAULTS = Weather(rate=0.02, races=0.3, skew=3 * HOUR)
LIES = Weather(rate=0.02, lies=True, races=0.2)


def opener(store: str, folder: Path) -> Callable[[], Blobs]:
    if store == "memory":
        blobs = MemoryBlobs()
        return lambda: blobs
    return lambda: open_blobs(str(folder / "repository"), {"fsync": "false"})


@pytest.mark.parametrize(
    "weather", [DEATHS, FAULTS, LIES], ids=["deaths, races", "faults, clocks apart", "lies"]
)
@pytest.mark.parametrize(("store", "seed"), [("memory", 1), ("local", 2)])
def test_what_was_acknowledged_stays(
    store: str, weather: Weather, seed: int, tmp_path: Path
) -> None:
    cut_trees(seed == 2)
    reopen = opener(store, tmp_path)
    Ground(reopen).found()
    play = Play(Ground(reopen), seed)
    for number in range(8):
        assert play.round(weather, 60) == []
        # Faults end many an operation before its worker's last call: some seeds kill nobody soon.
        if number and play.counts["kills"]:
            break
    # A calm round finds what an earlier one left behind.
    assert play.round(Weather(kills=False), 30) == []
    assert play.counts["kills"] > 0
    assert play.counts["publishes"] > 5
    assert bool(play.counts["faults"]) == bool(weather.rate)


def test_a_collection_beside_writers_deletes_what_is_old(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    Ground(lambda: blobs).found()
    play = Play(Ground(lambda: blobs), seed=3)
    for _ in range(3):
        assert play.round(Weather(races=0.2, kills=False), 80) == []
    assert play.counts["gc"] > 5
    assert play.collected > 10


@pytest.mark.parametrize("weather", [DEATHS, FAULTS], ids=["deaths, races", "faults"])
def test_merges_of_more_rows_than_fit_lose_nothing(
    weather: Weather, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.worker.LARGE", 1.0)
    blobs = MemoryBlobs()
    Ground(lambda: blobs).found()
    play = Play(Ground(lambda: blobs), seed=2)
    play.weights = {**WEIGHTS, "publish": 60, "update": 40}
    merged = 0
    for _ in range(12):
        assert play.round(weather, 60) == []
        merged = sum(line.get("how") == "merge" for line in play.told if line.get("large"))
        if merged and play.counts["kills"]:
            break
    # How far each gets depends on where it dies, which no seed repeats exactly.
    assert min(merged, play.counts["kills"]) > 0


@pytest.mark.parametrize("weather", [DEATHS, FAULTS], ids=["deaths, races", "faults"])
def test_commits_that_are_undone_and_picked_again_show_what_they_changed(weather: Weather) -> None:
    blobs = MemoryBlobs()
    Ground(lambda: blobs).found()
    play = Play(Ground(lambda: blobs), seed=4)
    play.weights = {**WEIGHTS, "revert": 40, "pick": 60}
    picked = 0
    for number in range(12):
        # Nobody dies in every other round, so that something is picked, too.
        calm = Weather(races=0.3, kills=False)
        assert play.round(calm if number % 2 else weather, 60) == []
        done = [line for line in play.told if line["event"] == "done" and line["op"] == "pick"]
        picked = sum(line["landed"] for line in done)
        if picked and number > 2:
            break
    assert picked > 0


def test_a_campaign_in_one_process_goes_on_where_it_was(tmp_path: Path) -> None:
    for number in (1, 2):
        plays = Plays.at(tmp_path, seed=number)
        plays.steps = 30
        result = plays.game()
        assert (result["round"], result["seed"], result["wrong"]) == (number, 1, [])
        assert result["trees"] == ("pieces" if number == 2 else "whole")
    found = totals(tmp_path / "results.jsonl")
    assert (found["rounds"], found["lost"], found["mixed"], found["silent"]) == (2, 0, 0, 0)
    # No process was killed, and that is what the figures say.
    assert found["kills"] == 0
    assert found["deaths"] > 0
    assert found["publishes"] > 5


def test_nothing_of_a_worker_reaches_the_store_after_its_death() -> None:
    blobs = MemoryBlobs()
    trouble = Trouble(random.Random(1), kill_at=3, die=_die)
    troubled = TroubledBlobs(blobs, Calendar(), trouble)
    troubled.create("refs/heads/main/1", b"1")
    troubled.create("refs/heads/main/2", b"2")
    with pytest.raises(Killed):
        troubled.create("refs/heads/main/3", b"3")
    before = list(blobs.walk("refs"))
    for number in range(20):
        with pytest.raises(Killed):
            troubled.create(f"turns/{number}", b"")
    assert list(blobs.walk("refs")) == before
    assert blobs.folders("turns") == []
    assert not list(blobs.walk("turns"))


def _die() -> NoReturn:
    raise Killed


@pytest.mark.parametrize(
    "weather",
    # A copy makes hundreds of calls, and one that fails stops it.
    [
        DEATHS,
        Weather(rate=0.001, races=0.3, kills=False),
        Weather(rate=0.001, lies=True, races=0.2, kills=False),
    ],
    ids=["deaths", "faults", "lies"],
)
def test_copies_that_are_made_beside_writers_show_what_was_acknowledged(weather: Weather) -> None:
    blobs, stores = named(MemoryBlobs(), "repository"), dict[str, MemoryBlobs]()

    def copy_of(worker: str) -> MemoryBlobs:
        return stores.setdefault(worker, named(MemoryBlobs(), f"copy-of-{worker}"))

    ground = Ground(lambda: blobs, workers=("w0", "w1"), copy_of=copy_of)
    ground.found()
    play = Play(ground, seed=5)
    play.weights = {**WEIGHTS, "copy": 20, "mend": 15, "fsck": 10}
    done: dict[str, int] = {}
    for number in range(10):
        # Nobody dies in every other round, so that something is finished, too.
        calm = Weather(races=0.3, kills=False)
        assert play.round(calm if number % 2 else weather, 40) == []
        done = {name: play.counts[name] for name in ("copies", "repairs", "fsck")}
        if all(done.values()):
            break
    # How far each gets depends on where it dies, which no seed repeats exactly.
    assert all(done.values()), done


@pytest.mark.parametrize("kind", ["refs/heads", "objects", "data"])
def test_a_damaged_copy_is_found(kind: str) -> None:
    blobs, target = named(MemoryBlobs(), "repository"), named(MemoryBlobs(), "copy")
    ground = Ground(lambda: blobs, workers=("w0",), copy_of=lambda worker: target)
    ground.found()
    Shop(ground.repository(), "main", "w0").insert("w0.1.1")
    copy_repository(blobs, target)
    assert wrong_copies(ground) == []
    for info in list(target.walk(kind)):
        target.delete(info.path)
    assert {text[:8] for text in wrong_copies(ground)} == {"damaged:"}
