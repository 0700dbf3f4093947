"""Laws of runs that are published side by side: they behave as if one had come after the other."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store import MemoryBlobs
from dbt.adapters.vcs.merges.conflicts.on_stale import OnStale
from tests.property.healing import Run, State, Step, begun, serial, shown

NAMES = ("a", "b", "c", "d")


@st.composite
def plans(draw: st.DrawFn) -> list[list[Step]]:
    """The statements of two or three runs."""
    runs = []
    for number in range(draw(st.integers(2, 3))):
        steps = draw(
            st.lists(
                st.tuples(
                    st.sampled_from(NAMES),
                    st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
                    st.booleans(),
                ),
                min_size=1,
                max_size=3,
            )
        )
        runs.append(
            [
                Step(target, tuple(sorted(reads)), f"r{number}s{place}", adds)
                for place, (target, reads, adds) in enumerate(steps)
            ]
        )
    return runs


SCHEDULES = st.lists(st.integers(0, 2), min_size=4, max_size=14)


def played(
    plan: list[list[Step]], schedule: Sequence[int], on_stale: OnStale
) -> tuple[Repository, State, list[Run]]:
    """Begin each run with its first turn, and publish it with the one after its last statement.

    Returns the repository, what it showed first, and the runs that were published, in order.
    """
    repository = Repository.create(MemoryBlobs(), author="ann")
    first = begun(repository, NAMES)
    runs: dict[int, Run] = {}
    ended: list[Run] = []
    over: set[int] = set()
    for turn in [*schedule, *(n for n in range(len(plan)) for _ in range(5))]:
        number = turn % len(plan)
        if number in over:
            continue
        run = runs.setdefault(number, Run(repository, f"r{number}", plan[number]))
        if run.done < len(run.steps):
            run.step()
            continue
        over.add(number)
        try:
            run.publish(on_stale)
        except ConflictError:
            continue
        ended.append(run)
    return repository, first, ended


@given(plans(), SCHEDULES)
def test_under_heal_the_branch_shows_what_some_order_of_the_runs_gives(
    plan: list[list[Step]], schedule: list[int]
) -> None:
    repository, first, ended = played(plan, schedule, OnStale.HEAL)
    assert shown(repository) in serial(first, ended).values()
