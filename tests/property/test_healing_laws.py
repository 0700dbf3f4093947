"""Laws of runs that are published side by side: they behave as if one had come after the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from tests.property.healing import Run, Step, begun, done, serial, shown, told_order

NAMES = ("a", "b", "c", "d", "e", "f")


@st.composite
def plans(draw: st.DrawFn, *, runs: int = 3, names: int = 4) -> list[list[Step]]:
    """The statements of two or more runs, that read and write some tables."""
    plan = []
    for number in range(draw(st.integers(2, runs))):
        steps = draw(
            st.lists(
                st.tuples(
                    st.sampled_from(NAMES[:names]),
                    st.lists(st.sampled_from(NAMES[:names]), min_size=1, max_size=2, unique=True),
                    st.booleans(),
                    st.sampled_from("fg"),
                ),
                min_size=1,
                max_size=3,
            )
        )
        plan.append(
            [
                # A word of its own, since rows that are added twice are two rows.
                Step(target, tuple(sorted(reads)), f"r{number}s{place}" if adds else word, adds)
                for place, (target, reads, adds, word) in enumerate(steps)
            ]
        )
    return plan


SCHEDULES = st.lists(st.integers(0, 2), min_size=4, max_size=14)
TOLD = re.compile(r"s\.(\w+) \(")


class World:
    """A repository, and runs that take turns in it.

    Attributes:
        first: What the branch showed first.
        ended: The runs that were published, in order.
    """

    def __init__(self, plan: list[list[Step]], on_stale: OnStale) -> None:
        self.repository = Repository.create(MemoryBlobs(), author="ann")
        self.first = begun(self.repository, NAMES)
        self.ended: list[Run] = []
        self._plan = plan
        self._on_stale = on_stale
        self._runs: dict[int, Run] = {}
        self._over: set[int] = set()

    def play(self, schedule: Sequence[int]) -> World:
        """Give turns to the runs, and then as many as each needs."""
        for turn in [*schedule, *(n for n in range(len(self._plan)) for _ in range(5))]:
            self.turn(turn % len(self._plan))
        return self

    def turn(self, number: int) -> None:
        """Begin a run with its first turn, and publish it with the one after its last step."""
        if number in self._over:
            return
        run = self._runs.get(number)
        if run is None:
            run = self._runs[number] = Run(self.repository, f"r{number}", self._plan[number])
        if run.done < len(run.steps):
            run.step()
            return
        self._over.add(number)
        with suppress(ConflictError):
            if self.publish(run):
                self.ended.append(run)

    def publish(self, run: Run) -> bool:
        """Return whether the run changed anything: one that does not has no place in an order."""
        before, after = run.publish(self._on_stale)[1:]
        return before != after


class Watched(World):
    """Looks at each publish: what differs from a run that began now is told, or merged rows."""

    def publish(self, run: Run) -> bool:
        before, fork = shown(self.repository), shown(self.repository, run.line.run.fork)
        if not super().publish(run):
            return False
        expected = before
        for step in run.steps:
            expected = done(expected, step)
        commit = self.repository.objects.commit(self.repository.branch("main").head)
        known = {*TOLD.findall(commit.metadata.get("stale", ""))}
        written = {step.target for step in run.steps}
        known |= {name for name in written if before[name] != fork[name]}
        for step in run.steps:
            known |= {step.target} if known & {*step.reads} else set()
        found = shown(self.repository)
        assert {name for name in found if found[name] != expected[name]} <= known
        return True


@given(plans(), SCHEDULES)
def test_under_heal_the_branch_shows_what_some_order_of_the_runs_gives(
    plan: list[list[Step]], schedule: list[int]
) -> None:
    world = World(plan, OnStale.HEAL).play(schedule)
    assert shown(world.repository) in serial(world.first, world.ended).values()


def check_told_orders(world: World) -> None:
    """Check that each commit shows what the order of runs gives that it stands for."""
    steps = {run.line.run.invocation: run.steps for run in world.ended}
    for commit, order in told_order(world.repository):
        state = world.first
        for step in (step for id in order for step in steps[id]):
            state = done(state, step)
        if order:
            assert shown(world.repository, commit) == state, order


@given(plans(runs=6, names=6), st.lists(st.integers(0, 5), min_size=6, max_size=24))
def test_under_heal_each_commit_says_which_order_it_stands_for(
    plan: list[list[Step]], schedule: list[int]
) -> None:
    check_told_orders(World(plan, OnStale.HEAL).play(schedule))


def test_a_version_that_is_shown_no_more_was_made_from_what_an_earlier_run_changes() -> None:
    # d was made from the first c, and that one from a: no table that is shown leads to it.
    plan = [
        [Step("a", ("b",), "r0s0")],
        [Step("c", ("a",), "r1s0")],
        [Step("d", ("c",), "r2s0"), Step("c", ("d",), "r2s1"), Step("e", ("a",), "r2s2")],
    ]
    world = World(plan, OnStale.HEAL).play([0, 1, 1, 2, 2, 2, 2])
    check_told_orders(world)
    assert len(world.ended) == len(plan)


@given(plans(), SCHEDULES)
def test_under_warn_nothing_is_worse_than_what_is_told(
    plan: list[list[Step]], schedule: list[int]
) -> None:
    Watched(plan, OnStale.WARN).play(schedule)


@given(plans(), SCHEDULES)
def test_under_fail_a_run_is_what_it_would_be_if_it_began_now_but_for_merged_rows(
    plan: list[list[Step]], schedule: list[int]
) -> None:
    world = Watched(plan, OnStale.FAIL).play(schedule)
    for _, commit in world.repository.log(world.repository.branch("main").head):
        own = {*TOLD.findall(commit.metadata.get("stale", ""))}
        run = next((run for run in world.ended if run.line.run.invocation == commit.message), None)
        assert run is None or not own & {step.target for step in run.steps}
