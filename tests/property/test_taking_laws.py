"""Merges after taking a result give the rows that merges after computing it give.

Two repositories go through the same history. One computes each build, the other takes what was
built before from the same rows, on whichever branch.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.commands.merge import MergeRequest, abort_merge, merge
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.ids import Micros, SnapshotId, TableId
from dbt.adapters.vcs.core.model import Field, Origin, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.origins.results import Result
from dbt.adapters.vcs.core.repository import Proposal
from dbt.adapters.vcs.reuse.cache_key import CacheKey
from dbt.adapters.vcs.reuse.taken_versions import put_taken, settle_history
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.overlay import Overlay
from tests.property.oracle import Row, Table
from tests.property.world import World
from tests.unit.fake_engine import FakeEngine

NAME: Final = RelationName("s", "m")
SCHEMA: Final = Schema.of([Field(id="", name=name, type="bigint") for name in ("k", "v")])
RECIPES: Final[tuple[Table, ...]] = (
    [],
    [{"k": 1, "v": 1}, {"k": 2, "v": 2}],
    [{"k": 1, "v": 1}, {"k": 2, "v": 5}, {"k": 3, "v": 3}],
    [{"k": 2, "v": 2}, {"k": 4, "v": 4}],
    [{"k": 1, "v": 7}, {"k": 2, "v": 2}, {"k": 3, "v": 3}, {"k": 4, "v": 4}],
)
"""The rows of builds, by what they were built from."""


class Builder:
    """A repository with a table that is built in one of several ways, and changed by hand."""

    def __init__(self, *, takes: bool, key: tuple[str, ...]) -> None:
        self.world = World()
        self.repository = self.world.repository
        self.taken = 0
        self._takes = takes
        self._key = key
        self._known: dict[int, Result] = {}
        self._numbers = itertools.count()

    def branches(self) -> list[str]:
        return [branch.name for branch in self.repository.branches()]

    def overlay(self, branch: str) -> Overlay:
        return self._workspace(branch).begin()

    def shown(self, branch: str) -> Snapshot | None:
        entry = self.overlay(branch).entry(NAME)
        return self.repository.objects.snapshot(entry.snapshot) if entry else None

    def rows(self, branch: str) -> Counter[tuple[tuple[str, Any], ...]]:
        rows = self.world.rows(self.shown(branch))
        return Counter(tuple(sorted(row.items())) for row in rows)

    def build(self, branch: str, recipe: int) -> None:
        """Build the table: take what was built before, or compute it and remember it."""
        overlay = self.overlay(branch)
        if not overlay.has_schema("s"):
            overlay.put_schema("s", comment=None, properties={})
        known = self._known.get(recipe) if self._takes else None
        if known is not None:
            self._take(branch, overlay, recipe, known)
        else:
            self._compute(overlay, recipe)
            entry = overlay.entry(NAME)
            assert entry is not None
            self._known[recipe] = Result(kind="table", version=entry.version)
        self._land(branch, overlay)

    def _take(self, branch: str, overlay: Overlay, recipe: int, known: Result) -> None:
        connection = self._workspace(branch).connect("test")
        scope = connection.scope("create table m as select 1", overlay, Origin())
        scope.derivation = f"{recipe:064x}"
        key = CacheKey(id=f"{recipe:064x}", kind="table", target=NAME, ingredients={}, inputs=())
        put_taken(scope, key, known)
        self.taken += 1

    def _compute(self, overlay: Overlay, recipe: int) -> None:
        before = overlay.entry(NAME)
        new = Snapshot(
            table=TableId(f"t{next(self._numbers)}"),
            schema=SCHEMA,
            segments=(),
            created_at=Micros(self.repository.clock()),
            operation="create",
            primary_key=self._key,
        )
        if RECIPES[recipe]:
            new = self.world.append(new, RECIPES[recipe])
            new = msgspec.structs.replace(new, parents=(), operation="create")
        new = msgspec.structs.replace(new, origin=Origin(derivation=f"{recipe:064x}"))
        if before is not None:
            old = self.repository.objects.snapshot(before.snapshot)
            new = msgspec.structs.replace(
                new, table=old.table, parents=(before.snapshot,), operation="rebuild"
            )
            if _bag(self.world.rows(old)) == _bag(RECIPES[recipe]):
                # What gives the same rows keeps its files.
                return
        overlay.put_table(NAME, new)

    def change(self, branch: str, number: int, row: Row | None) -> None:
        """Replace a row by another one, or delete it."""
        old = self.shown(branch)
        located = self.world.located(old) if old is not None else []
        if old is None or not located:
            return
        place, was = located[number % len(located)]
        overlay = self.overlay(branch)
        new = [] if row is None else [{"k": was["k"], **row}]
        overlay.put_table(NAME, self.world.update(old, [place], new))
        self._land(branch, overlay)

    def fork(self, branch: str) -> None:
        head = self.repository.branch(branch).head
        self.repository.create_branch(f"b{len(self.branches())}", head, author="ann")

    def merge(self, source: str, target: str) -> bool:
        """Merge, or leave the target as it was; return whether there was no conflict."""
        request = MergeRequest(policy=Policy(override=Mode.FAIL))
        try:
            merge(self.repository, source, target, request, author="ann")
        except ConflictError:
            abort_merge(self.repository, target, author="ann")
            return False
        return True

    def _workspace(self, branch: str) -> Workspace:
        return Workspace(
            self.repository,
            BranchLine(self.repository, branch, "ann"),
            lambda: FakeEngine(self.world.blobs),
            schema="s",
        )

    def _land(self, branch: str, overlay: Overlay) -> None:
        settle_history(overlay)
        if overlay.is_empty:
            return
        tree = self.repository.edit(overlay.tree.id, overlay.changes)
        self.repository.land(
            Proposal(branch=branch, base=overlay.base, tree=tree, author="ann", message="Put")
        )


def _bag(rows: Table) -> Counter[tuple[tuple[str, Any], ...]]:
    return Counter(tuple(sorted(row.items())) for row in rows)


class Pair:
    """The two repositories, and the steps that both take."""

    def __init__(self, key: tuple[str, ...], draw: Callable[..., Any]) -> None:
        self.computing = Builder(takes=False, key=key)
        self.taking = Builder(takes=True, key=key)
        self.draw = draw

    def play(self) -> None:
        branch = self.draw(st.sampled_from(self.taking.branches()))
        step = self.draw(st.sampled_from(["build", "build", "build", "change", "fork", "merge"]))
        getattr(self, step)(branch)

    def build(self, branch: str) -> None:
        recipe = self.draw(st.integers(0, len(RECIPES) - 1))
        self.computing.build(branch, recipe)
        self.taking.build(branch, recipe)

    def change(self, branch: str) -> None:
        number = self.draw(st.integers(0, 5))
        row = self.draw(st.none() | st.fixed_dictionaries({"v": st.integers(0, 9)}))
        # Positions may differ, rows don't.
        wanted = sorted(self.computing.rows(branch).elements())
        if not wanted:
            return
        for side in (self.computing, self.taking):
            shown = side.shown(branch)
            assert shown is not None
            located = side.world.located(shown)
            keys = [tuple(sorted(found.items())) for _, found in located]
            side.change(branch, keys.index(wanted[number % len(wanted)]), row)

    def fork(self, branch: str) -> None:
        self.computing.fork(branch)
        self.taking.fork(branch)

    def merge(self, branch: str) -> None:
        source = self.draw(st.sampled_from(self.taking.branches()))
        # Where computing has conflicts, taking may have none.
        if self.computing.merge(source, branch):
            assert self.taking.merge(source, branch), "taking made a conflict"

    def check(self) -> None:
        for branch in self.computing.branches():
            assert self.taking.rows(branch) == self.computing.rows(branch), branch


@given(st.data(), st.sampled_from([("k",), ()]))
def test_merges_after_taking_are_those_after_computing(
    data: st.DataObject, key: tuple[str, ...]
) -> None:
    pair = Pair(key, data.draw)
    pair.build("main")
    pair.fork("main")
    for _ in range(data.draw(st.integers(1, 10))):
        pair.play()
        pair.check()


def parted(*, takes: bool, key: tuple[str, ...] = ()) -> Builder:
    """The branches main and b1, which both went from the second recipe to the first."""
    builder = Builder(takes=takes, key=key)
    builder.build("main", 1)
    builder.fork("main")
    builder.build("b1", 0)
    builder.build("main", 0)
    return builder


def test_a_branch_that_goes_back_loses_no_change_of_another_one() -> None:
    for takes in (False, True):
        builder = parted(takes=takes, key=("k",))
        builder.build("b1", 1)
        assert builder.merge("main", "b1")
        assert not builder.rows("b1"), takes


def test_a_branch_that_goes_back_is_in_conflict_with_nobody() -> None:
    for takes in (False, True):
        builder = parted(takes=takes, key=("k",))
        builder.build("b1", 1)
        builder.build("main", 2)
        assert builder.merge("main", "b1")
        assert builder.rows("b1") == _bag(RECIPES[2]), takes


def test_what_a_statement_makes_of_the_past_follows_what_the_branch_had() -> None:
    builder = Builder(takes=True, key=())
    builder.build("main", 1)
    builder.build("main", 2)
    had = builder.overlay("main").entry(NAME)
    overlay = builder.overlay("main")
    builder._take("main", overlay, 1, builder._known[1])
    entry = overlay.entry(NAME)
    assert had is not None and entry is not None
    # A comment that dbt sets after the table.
    taken = overlay.snapshot(SnapshotId(entry.version))
    commented = msgspec.structs.replace(
        taken, comment="x", parents=(entry.version,), origin=Origin(), operation="comment"
    )
    overlay.put_table(NAME, commented)
    builder._land("main", overlay)
    shown = builder.shown("main")
    assert shown is not None
    assert (shown.parents, shown.operation) == ((had.version,), "rebuild")
    assert (shown.comment, builder.rows("main")) == ("x", _bag(RECIPES[1]))


def test_a_branch_that_went_on_from_what_another_one_took_is_ahead() -> None:
    computing, taking = parted(takes=False), parted(takes=True)
    for builder in (computing, taking):
        builder.build("b1", 3)
    assert not computing.merge("b1", "main")
    assert taking.merge("b1", "main")
    assert taking.rows("main") == _bag(RECIPES[3])
    assert taking.merge("main", "b1")
    assert taking.rows("b1") == _bag(RECIPES[3])


def test_one_result_on_two_branches_is_no_conflict() -> None:
    computing, taking = parted(takes=False), parted(takes=True)
    for builder in (computing, taking):
        builder.build("b1", 2)
        builder.build("main", 2)
    assert not computing.merge("b1", "main")
    assert taking.merge("b1", "main")
    assert taking.rows("main") == _bag(RECIPES[2])


@pytest.mark.parametrize("is_changed", [False, True])
def test_of_two_results_of_one_derivation_a_branch_keeps_its_own(is_changed: bool) -> None:
    builder = Builder(takes=True, key=("k",))
    builder.build("main", 0)
    builder.fork("main")
    builder.build("main", 1)
    # Another process has computed the same at the same time.
    del builder._known[1]
    builder.build("b1", 1)
    if is_changed:
        builder.change("main", 0, {"v": 9})
    shown = builder.overlay("main").entry(NAME)
    builder.build("main", 1)
    assert builder.taken
    assert builder.rows("main") == _bag(RECIPES[1])
    assert (builder.overlay("main").entry(NAME) == shown) != is_changed
