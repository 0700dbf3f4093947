"""A short campaign with real processes, killed while they work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from chaos.campaign import totals
from chaos.journal import Journal

CHECKOUT = Path(__file__).parents[2]


def chaos(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    # In a process of its own: one that forks must not have threads.
    return subprocess.run(
        [sys.executable, "-m", "chaos", "--folder", str(folder), "--workers", "2", *options],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_campaign_kills_and_loses_nothing_and_goes_on_where_it_was(tmp_path: Path) -> None:
    options = ("--minutes", "0.01", "--seconds", "4")
    first = chaos(tmp_path, "--seed", "11", *options)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "seed 11, from round 1" in first.stdout
    again = chaos(tmp_path, *options)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "seed 11, from round 2" in again.stdout
    found = totals(tmp_path / "local" / "results.jsonl")
    assert (found["rounds"], found["lost"], found["mixed"], found["silent"]) == (2, 0, 0, 0)
    assert found["kills"] >= 4
    assert found["operations"] > 0
    rounds = Journal(tmp_path / "local" / "results.jsonl").lines()
    assert [line["weather"] for line in rounds] == ["clocks", "faults"]
