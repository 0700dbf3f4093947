"""The checker finds what goes wrong when a rule that keeps acknowledged writes is taken away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chaos.ground import Ground, Weather
from chaos.play import Play
from chaos.shop import Shop
from dbt.adapters.vcs.changes.merges import branch_landing
from dbt.adapters.vcs.commands import garbage, gc, restore
from dbt.adapters.vcs.core.codec import decode_record
from dbt.adapters.vcs.core.errors import DamagedError, StorageError
from dbt.adapters.vcs.core.model import RefMove
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store import ref_packs, refs
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.workspace.lines import lines

RACES = Weather(races=0.4, kills=False)
CALM = Weather(kills=False)
STEPS = 80


class Overwriting(MemoryBlobs):
    """A store that ignores put-if-absent."""

    def create(self, path: str, data: bytes) -> bool:
        super().delete(path)
        super().create(path, data)
        return True

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        return {path for path in blobs if not MemoryBlobs.create(self, path, blobs[path])}


def played(weather: Weather, rounds: int, reopen: Callable[[], MemoryBlobs], seed: int) -> Play:
    """Play until something is wrong."""
    play = Play(Ground(reopen), seed)
    for _ in range(rounds):
        if play.round(weather, STEPS):
            break
    return play


def memory() -> Callable[[], MemoryBlobs]:
    blobs = MemoryBlobs()
    Ground(lambda: blobs).found()
    return lambda: blobs


def kinds(play: Play) -> set[str]:
    return {problem.partition(":")[0] for problem in play.wrong}


def nothing(*arguments: Any, **named: Any) -> None:
    """Stand for a rule that was taken away."""


@pytest.mark.parametrize("weather", [RACES, CALM], ids=["races", "calm"])
def test_with_all_rules_nothing_is_wrong(weather: Weather) -> None:
    play = played(weather, 2, memory(), seed=7)
    assert play.wrong == []
    assert play.counts["publishes"] > 50


def overwriting() -> Callable[[], MemoryBlobs]:
    """Return a repository whose store ignored nothing when it was made, and does since."""
    blobs = MemoryBlobs()
    Ground(lambda: blobs).found()
    changed = Overwriting()
    changed._blobs = blobs._blobs
    return lambda: changed


def test_a_store_that_overwrites_is_found_if_nobody_probes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refs, "check_write_once", nothing)
    assert kinds(played(RACES, 4, overwriting(), seed=7)) & {"lost", "damaged"}


def test_a_store_that_overwrites_is_refused_before_anything_is_lost() -> None:
    play = played(RACES, 2, overwriting(), seed=7)
    assert play.wrong == []
    assert play.counts["publishes"] == 0
    assert play.counts["unknown"] > 10
    with pytest.raises(StorageError, match="ignores put-if-absent"):
        Shop(Ground(overwriting()).repository(), "main", "somebody").insert("w0.1.1")


def test_a_landing_that_replaces_the_work_of_others_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        Repository, "_merged_tree", lambda self, proposal, base, branch: proposal.tree
    )
    # What others added is gone, or what they deleted is back.
    assert kinds(played(RACES, 4, memory(), seed=7)) & {"lost", "risen"}


def test_collected_rows_that_are_brought_back_unchecked_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module, name in (
        (branch_landing, "hold_work"),
        (branch_landing, "check_present"),
        (restore, "hold"),
        (lines, "check_present"),
    ):
        monkeypatch.setattr(module, name, nothing)
    play = played(CALM, 8, memory(), seed=7)
    assert "damaged" in kinds(play)
    assert any("is missing" in problem for problem in play.wrong)


def test_a_log_without_digests_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (refs, ref_packs):
        monkeypatch.setattr(module, "check_follows", nothing)
        monkeypatch.setattr(
            module, "opened", lambda data, path: decode_record(RefMove, data, path)
        )
    assert kinds(played(CALM, 1, memory(), seed=7)) == {"silent"}


def test_a_reader_that_looks_behind_no_end_of_a_log_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def end(self: refs.RefStore, folder: str, known: int) -> tuple[int, dict[int, bytes]]:
        return self._bisected(folder, known), {}

    monkeypatch.setattr(refs.RefStore, "_end", end)
    play = played(CALM, 6, memory(), seed=7)
    assert any("main showed an older state" in problem for problem in play.wrong)


def test_a_collection_that_spares_no_young_files_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (garbage, gc):
        monkeypatch.setattr(module, "GRACE", -1_000_000)
    try:
        found = kinds(played(RACES, 8, memory(), seed=7))
    except DamagedError:
        # So much is gone that the check itself can't read on.
        found = {"damaged"}
    assert found & {"lost", "damaged"}
