"""A purge in a campaign erases its rows from every version, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from chaos.ground import Ground, Weather
from chaos.play import Play
from chaos.purges import erase
from chaos.shop import Shop
from chaos.storms import Storm
from dbt.adapters.vcs.commands import purge
from dbt.adapters.vcs.core.maintenance import Maintenance, Swept
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.objects import Condemned


@pytest.fixture
def ground() -> Ground:
    blobs = MemoryBlobs()
    found = Ground(lambda: blobs, workers=("w0", "w1"))
    found.found()
    return found


def test_a_purge_that_dies_beside_a_writer_erases_its_rows_and_nothing_else(
    ground: Ground,
) -> None:
    play = Play(ground, seed=4)
    assert play.round(Weather(races=0.3, kills=False), 60) == []
    deaths = added = purges = 0
    for number in range(30):
        found = erase(play.ground, random.Random(number))
        assert found.wrong == []
        purges += found.purges
        deaths += found.deaths
        added += found.publishes
        if purges and deaths and added:
            break
    # How far each gets depends on where it dies, which no seed repeats exactly.
    assert min(purges, deaths, added) > 0


@pytest.mark.parametrize(
    "broken, expected",
    [
        ("where", "risen"),
        ("sweep", "silent"),
    ],
)
def test_a_purge_that_leaves_rows_is_found(
    ground: Ground, broken: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(ground.repository(), "main", "w0")
    shop.insert("w0.1.1")
    shop.delete("w0.1.1")
    shop.insert("w0.1.2")
    if broken == "sweep":
        monkeypatch.setattr(Maintenance, "_sweep", lambda *arguments: Swept())
        # What is left would be told.
        monkeypatch.setattr(purge, "unused_files", lambda *arguments: [])
    else:
        whole = purge.PurgeRequest
        monkeypatch.setattr(
            "chaos.purges.PurgeRequest",
            lambda **given: whole(**{**given, "where": "batch = 'nobody'"}),
        )
    wrong = erase(ground, random.Random(1)).wrong
    assert expected in {text.partition(":")[0] for text in wrong}


def test_a_purge_that_erases_more_is_found(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(ground.repository(), "main", "w0")
    shop.insert("w0.1.1")
    shop.insert("w0.1.2")
    whole: Callable[..., object] = purge.PurgeRequest
    monkeypatch.setattr(
        "chaos.purges.PurgeRequest", lambda **given: whole(**{**given, "where": "n >= 0"})
    )
    wrong = erase(ground, random.Random(1)).wrong
    assert any(text.startswith("lost: the commit") for text in wrong)


def test_writers_beside_purges_lose_nothing_and_bring_nothing_back(ground: Ground) -> None:
    storm = Storm(ground, seed=1, kills=True)
    for _ in range(6):
        assert storm.round() == []
        if all(storm.counts[name] for name in ("purges", "gc", "publishes", "deaths", "late")):
            break
    # How far each gets depends on where it dies, which no seed repeats exactly.
    assert min(storm.counts[name] for name in ("purges", "publishes")) > 0


def test_a_purge_without_its_fence_is_found(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Maintenance, "_fence", lambda *arguments: None)
    # It stops at the first thing that is wrong: who moves a ref when, no seed repeats.
    assert Storm(ground, seed=1).round(purges=40) != []


def test_requests_to_delete_that_arrive_again_are_found_without_the_lists(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Condemned, "__contains__", lambda self, path: False)
    storm = Storm(ground, seed=1)
    assert any(storm.round(purges=2) for _ in range(30))
