"""Eight processes whose runs overlap at random: each commit is what its order of runs gives.

The same holds if some of them are killed at any point.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale
from dbt.adapters.vcs.core.errors import ConflictError, RetryError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.property.healing import Run, Step, begun, done, shown, told_order

NAMES = tuple("abcdefghij")
PROCESSES = 8
RUNS = 4


def steps_of(id: str) -> list[Step]:
    """The statements of a run."""
    chance = random.Random(id)
    return [
        Step(
            chance.choice(NAMES),
            tuple(sorted(chance.sample(NAMES, chance.randint(1, 2)))),
            f"{id}s{number}",
            adds=chance.random() < 0.2,
        )
        for number in range(chance.randint(1, 3))
    ]


def opened(folder: str) -> Repository:
    return Repository.open(open_blobs(folder, {"fsync": "false"}))


def work(folder: str, number: int) -> None:
    """Publish some runs, one after the other."""
    repository = opened(folder)
    for count in range(RUNS):
        id = f"r{number}x{count}"
        run = Run(repository, id, steps_of(id))
        for _ in run.steps:
            run.step()
        try:
            run.publish(OnStale.HEAL)
        except (ConflictError, RetryError) as error:
            print(f"{id}: {error}")


@pytest.mark.parametrize("killed", [0, 3])
def test_each_commit_shows_what_its_order_of_the_runs_gives(tmp_path: Path, killed: int) -> None:
    folder = str(tmp_path / "warehouse")
    repository = Repository.create(open_blobs(folder, {"fsync": "false"}), author="ann")
    first = begun(repository, NAMES)
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", __name__, folder, str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for number in range(PROCESSES)
    ]
    repository = opened(folder)
    for worker in workers[:killed]:
        # In the middle of its work: the branch has moved since the last one was killed.
        head = repository.branch("main").head
        while repository.branch("main").head == head and worker.poll() is None:
            time.sleep(0.01)
        worker.kill()
    told = [worker.communicate(timeout=240)[0] for worker in workers]
    ended = [worker.returncode for worker in workers[killed:]]
    assert ended == [0] * (PROCESSES - killed), "\n".join(told)
    repository = opened(folder)
    healed = 0
    for commit, order in told_order(repository):
        state = first
        for step in (step for id in order for step in steps_of(id)):
            state = done(state, step)
        if order:
            assert shown(repository, commit) == state, (commit, order)
        healed += "healed" in repository.objects.commit(commit).metadata
    refused = sum(text.count("\n") for text in told)
    if not killed:
        assert len(order) + refused == PROCESSES * RUNS
    assert len(order) > PROCESSES - killed
    # Of the few that are left, each may by chance begin after the others have ended.
    assert healed or killed


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]))
