"""Rounds of work with deaths, races and a failing store: what was acknowledged stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.calendar import HOUR
from chaos.ground import Ground, Weather
from chaos.play import Play
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.memory import MemoryBlobs
from dbt.adapters.vcs.core.store.opening import open_blobs

DEATHS = Weather(races=0.3)
FAULTS = Weather(rate=0.02, races=0.3, skew=3 * HOUR)
LIES = Weather(rate=0.02, lies=True, races=0.2)


def opener(store: str, folder: Path) -> Callable[[], Blobs]:
    if store == "memory":
        blobs = MemoryBlobs()
        return lambda: blobs
    return lambda: open_blobs(str(folder / "repository"), {"fsync": "false"})


@pytest.mark.parametrize("store", ["memory", "local"])
@pytest.mark.parametrize(
    "weather", [DEATHS, FAULTS, LIES], ids=["deaths, races", "faults, clocks apart", "lies"]
)
@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_acknowledged_stays(
    store: str, weather: Weather, seed: int, tmp_path: Path
) -> None:
    reopen = opener(store, tmp_path)
    Ground(reopen).found()
    play = Play(Ground(reopen), seed)
    for _ in range(2):
        assert play.round(weather, 60) == []
    # A calm round finds what an earlier one left behind.
    assert play.round(Weather(kills=False), 30) == []
    assert play.counts["kills"] > 5
    assert play.counts["publishes"] > 15
    assert bool(play.counts["faults"]) == bool(weather.rate)


def test_a_collection_beside_writers_deletes_what_is_old(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    Ground(lambda: blobs).found()
    play = Play(Ground(lambda: blobs), seed=3)
    for _ in range(3):
        assert play.round(Weather(races=0.2, kills=False), 80) == []
    assert play.counts["gc"] > 5
    assert play.collected > 10
