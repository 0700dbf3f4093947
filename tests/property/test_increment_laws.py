"""Increments and a full build agree, after any history of a model that is linear in its input.

Three models of one table stand for all: rows that are filtered and mapped by key, the same rows
as a bag, and sums by group. The oracle computes each from all rows that the branch shows.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.diffs.difference import diff
from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.commands.cherry_pick import cherry_pick
from dbt.adapters.vcs.commands.merge import MergeRequest, abort_merge, merge
from dbt.adapters.vcs.commands.restore import restore_branch, restore_relation
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.ids import Micros, TableId
from dbt.adapters.vcs.core.model import (
    Absent,
    Field,
    Origin,
    RelationName,
    Schema,
    Snapshot,
)
from dbt.adapters.vcs.core.repository import Proposal
from dbt.adapters.vcs.workspace.increments import increment_of, record
from dbt.adapters.vcs.workspace.overlay import Overlay
from tests.property.oracle import Row, Table
from tests.property.world import World

ORDERS = RelationName("s", "orders")
SCHEMA = Schema.of([Field(id="", name=name, type="bigint") for name in ("k", "g", "v")])
SUMS = Schema.of([Field(id="", name=name, type="bigint") for name in ("g", "total", "n")])


def mapped(rows: Table) -> Table:
    """Filter and map rows."""
    return [{**row, "v": row["v"] * 10} for row in rows if row["v"] % 2 == 0]


def summed(rows: Table) -> Table:
    """Sum rows by group."""
    total: Counter[int] = Counter()
    count = Counter(row["g"] for row in rows)
    for row in rows:
        total[row["g"]] += row["v"]
    return [{"g": g, "total": total[g], "n": n} for g, n in sorted(count.items())]


class Changed(NamedTuple):
    """Rows that an input lost and gained."""

    lost: Table
    gained: Table


def apply_by_key(old: Table, change: Changed) -> Table:
    """Do what the strategy apply_changes does."""
    lost, gained = mapped(change.lost), mapped(change.gained)
    touched = {row["k"] for row in (*lost, *gained)}
    return [row for row in old if row["k"] not in touched] + gained


def apply_as_bag(old: Table, change: Changed) -> Table:
    """Take away and add single rows."""
    rows = list(old)
    for row in mapped(change.lost):
        rows.remove(row)
    return rows + mapped(change.gained)


def apply_sums(old: Table, change: Changed) -> Table:
    """Add what changed to sums."""
    sums = {row["g"]: (row["total"], row["n"]) for row in old}
    for sign, rows in ((-1, change.lost), (1, change.gained)):
        for row in rows:
            total, n = sums.get(row["g"], (0, 0))
            sums[row["g"]] = total + sign * row["v"], n + sign
    return [{"g": g, "total": total, "n": n} for g, (total, n) in sums.items() if n]


class Model(NamedTuple):
    """A model: its full build, its increments, and its table."""

    full: Callable[[Table], Table]
    increment: Callable[[Table, Changed], Table]
    schema: Schema
    key: tuple[str, ...]


MODELS: Final[Mapping[str, Model]] = {
    "by_key": Model(mapped, apply_by_key, SCHEMA, ("k",)),
    "bag": Model(mapped, apply_as_bag, SCHEMA, ()),
    "sums": Model(summed, apply_sums, SUMS, ("g",)),
    "loose_sums": Model(summed, apply_sums, SUMS, ()),
}


class Shop:
    """A repository with branches that have a table of orders, and models of it."""

    def __init__(self, *, keyed: bool) -> None:
        self.world = World()
        self.repository = self.world.repository
        self.key = ("k",) if keyed else ()
        # Without a key, rows can't be told apart by one.
        self.models = [name for name in MODELS if keyed or name != "by_key"]
        self.numbers = itertools.count()
        self.put("main", ORDERS, self.table([], SCHEMA, self.key))

    def table(self, rows: Table, schema: Schema, key: tuple[str, ...]) -> Snapshot:
        empty = Snapshot(
            table=TableId(f"t{next(self.numbers)}"),
            schema=schema,
            segments=(),
            created_at=Micros(self.repository.clock()),
            operation="create",
            primary_key=key,
        )
        return self.world.append(empty, rows) if rows else empty

    def branches(self) -> list[str]:
        return [branch.name for branch in self.repository.branches()]

    def tables(self) -> list[RelationName]:
        return [RelationName("s", model) for model in self.models]

    def head(self, branch: str) -> Overlay:
        head = self.repository.branch(branch).head
        return Overlay(
            repository=self.repository,
            base=head,
            tree=self.repository.tree(head),
            branch=branch,
            author="ann",
        )

    def snapshot(self, branch: str, name: RelationName) -> Snapshot | None:
        entry = self.head(branch).entry(name)
        return self.repository.objects.snapshot(entry.snapshot) if entry else None

    def rows(self, branch: str, name: RelationName = ORDERS) -> Table:
        return self.world.rows(self.snapshot(branch, name))

    def put(self, branch: str, name: RelationName, snapshot: Snapshot | None) -> None:
        overlay = self.head(branch)
        if not overlay.has_schema("s"):
            overlay.put_schema("s", comment=None, properties={})
        if snapshot is None:
            overlay.put(name, Absent)
        else:
            overlay.put_table(name, snapshot)
        self.land(branch, overlay)

    def land(self, branch: str, overlay: Overlay) -> None:
        if overlay.is_empty:
            return
        tree = self.repository.edit(overlay.tree.id, overlay.changes)
        self.repository.land(
            Proposal(branch=branch, base=overlay.base, tree=tree, author="ann", message="Put")
        )

    def build(self, branch: str, model: str, *, full: bool, fails: bool = False) -> None:
        """Build a model as dbt does: read the changes, put the result, record, commit."""
        overlay, name, made = self.head(branch), RelationName("s", model), MODELS[model]
        old = self.snapshot(branch, name)
        if overlay.entry(ORDERS) is None:
            return
        step = increment_of(overlay, name, ORDERS, whole=full or old is None)
        before, after = (
            None if id is None else self.repository.objects.snapshot(id)
            for id in (step.before, step.after)
        )
        change = self._changed(before, after)
        if full or old is None:
            rows = made.increment([], change)
            new = self.table(rows, made.schema, made.key)
            if old is not None:
                new = msgspec.structs.replace(
                    new, table=old.table, parents=(self.world.id(old),), operation="rebuild"
                )
            overlay.put_table(name, new)
        else:
            new = self._rewritten(old, made.increment(self.world.rows(old), change))
            if new is not old:
                overlay.put_table(name, new)
        since = f"s.orders@{step.before}" if step.before else ""
        text = (
            f"select * from snapshot_diff('{since}', 's.orders@{step.after}', "
            f"shape => 'changes', reader => 's.{model}')"
        )
        record(overlay, name, text, Origin(), lambda: "UTC")
        if not fails:
            self.land(branch, overlay)

    def _changed(self, before: Snapshot | None, after: Snapshot | None) -> Changed:
        changes = diff(self.repository, before, after).changes().to_pylist()
        sides: tuple[Table, Table] = [], []
        for row in changes:
            sides[row.pop("_change_type") in ("insert", "update_postimage")].append(row)
        return Changed(*sides)

    def _rewritten(self, old: Snapshot, rows: Table) -> Snapshot:
        """Return a version with these rows that keeps the rows that stay where they are."""
        left, gone = list(rows), []
        for place, row in self.world.located(old):
            if row in left:
                left.remove(row)
            else:
                gone.append(place)
        if not gone and not left:
            return old
        if not gone:
            return self.world.append(old, left)
        return self.world.update(old, gone, left)

    def check(self, branch: str, model: str) -> None:
        """Hold a model that was just built to its full build."""
        if self.head(branch).entry(ORDERS) is None:
            return
        wanted = MODELS[model].full(self.rows(branch))
        found = self.rows(branch, RelationName("s", model))
        assert _bag(found) == _bag(wanted), f"{model} on {branch}: {found}, not {wanted}"
        step = increment_of(self.head(branch), RelationName("s", model), ORDERS, whole=False)
        assert step.before == step.after, "a change is told twice"


def _bag(rows: Iterable[Row]) -> Counter[tuple[tuple[str, Any], ...]]:
    return Counter(tuple(sorted(row.items())) for row in rows)


class Player:
    """Plays a random history."""

    def __init__(self, shop: Shop, draw: Callable[..., Any]) -> None:
        self.shop = shop
        self.draw = draw

    def play(self) -> None:
        step = self.draw(st.sampled_from(STEPS))
        step(self, self.draw(st.sampled_from(self.shop.branches())))

    def model(self) -> str:
        return self.draw(st.sampled_from(self.shop.models))  # type: ignore[no-any-return]

    def write(self, branch: str) -> None:
        """Insert, update and delete orders."""
        old = self.shop.snapshot(branch, ORDERS)
        if old is None:
            self.create(branch)
            return
        located = self.shop.world.located(old)
        gone = self.draw(st.lists(st.sampled_from(located), max_size=3)) if located else []
        places = list(dict.fromkeys(place for place, _ in gone))
        taken = {row["k"] for place, row in located if place not in places}
        new = self._rows(taken if self.shop.key else set())
        if places:
            made = self.shop.world.update(old, places, new)
        else:
            made = self.shop.world.append(old, new) if new else old
        self.shop.put(branch, ORDERS, made)

    def _rows(self, taken: set[int]) -> Table:
        values = st.fixed_dictionaries(
            {name: st.integers(0, top) for name, top in (("k", 5), ("g", 1), ("v", 3))}
        )
        rows = self.draw(st.lists(values, max_size=4))
        if not self.shop.key:
            return rows  # type: ignore[no-any-return]
        return [row for row in {row["k"]: row for row in rows}.values() if row["k"] not in taken]

    def create(self, branch: str) -> None:
        """Create the orders again, as another table."""
        self.shop.put(branch, ORDERS, self.shop.table(self._rows(set()), SCHEMA, self.shop.key))

    def compact(self, branch: str) -> None:
        """Rewrite the files of orders or of a model, which changes no row."""
        name = self.draw(st.sampled_from([ORDERS, *self.shop.tables()]))
        old = self.shop.snapshot(branch, name)
        if old is not None:
            paths = [block.path for block in self.shop.world.blocks(old)]
            derive = self.draw(st.booleans())
            self.shop.put(branch, name, self.shop.world.compact(old, paths, derive=derive))

    def build(self, branch: str) -> None:
        model = self.model()
        full = not self.draw(st.integers(0, 5))
        fails = not self.draw(st.integers(0, 3))
        self.shop.build(branch, model, full=full, fails=fails)
        if not fails:
            self.shop.check(branch, model)

    def both(self, branch: str) -> None:
        """Write and build on two branches, and merge one into the other."""
        other = self.draw(st.sampled_from(self.shop.branches()))
        model = self.model()
        for side in dict.fromkeys((branch, other)):
            self.write(side)
            self.shop.build(side, model, full=not self.draw(st.integers(0, 5)))
            self.shop.check(side, model)
        if self.draw(st.booleans()):
            self.write(branch)
        self.merge(branch, other)

    def undo(self, branch: str) -> None:
        """Write and build, build once more, and revert the first of the builds or writes."""
        model = self.model()
        heads = []
        for _ in range(2):
            self.write(branch)
            heads.append(self.shop.repository.branch(branch).head)
            self.shop.build(branch, model, full=False)
            heads.append(self.shop.repository.branch(branch).head)
        with suppress(ConflictError):
            commit = self.draw(st.sampled_from(heads))
            revert(self.shop.repository, commit, branch=branch, author="ann")

    def fork(self, branch: str) -> None:
        name = f"b{len(self.shop.branches())}"
        head = self.shop.repository.branch(branch).head
        self.shop.repository.create_branch(name, head, author="ann")

    def merge(self, branch: str, source: str | None = None) -> None:
        source = source or self.draw(st.sampled_from(self.shop.branches()))
        mode = self.draw(st.sampled_from([Mode.SKIP, Mode.ACCEPT, Mode.CELL_SKIP, Mode.FAIL]))
        try:
            merge(
                self.shop.repository,
                source,
                branch,
                MergeRequest(policy=Policy(override=mode)),
                author="ann",
            )
        except ConflictError as error:
            # Models are in conflict only if one side dropped them.
            found = re.findall(rf"s.(?:{'|'.join(MODELS)}): ([^;.]*)", str(error))
            assert all("dropped it" in text for text in found), error
            abort_merge(self.shop.repository, branch, author="ann")

    def revert(self, branch: str) -> None:
        head = self.shop.repository.branch(branch).head
        commits = [id for id, commit in self.shop.repository.log(head) if commit.parents]
        with suppress(ConflictError):
            revert(
                self.shop.repository,
                self.draw(st.sampled_from(commits)),
                branch=branch,
                author="ann",
            )

    def pick(self, branch: str) -> None:
        """Pick a commit of any branch: a write, a build, or a merge of some."""
        source = self.draw(st.sampled_from(self.shop.branches()))
        head = self.shop.repository.branch(source).head
        commits = [id for id, commit in self.shop.repository.log(head) if commit.parents]
        mode = self.draw(st.sampled_from([Mode.SKIP, Mode.ACCEPT, Mode.FAIL]))
        try:
            cherry_pick(
                self.shop.repository,
                self.draw(st.sampled_from(commits)),
                branch,
                MergeRequest(policy=Policy(override=mode)),
                author="ann",
            )
        except ConflictError as error:
            # Models are in conflict only if one side dropped them, or both have their own.
            found = re.findall(rf"s.(?:{'|'.join(MODELS)}): ([^;.]*)", str(error))
            assert all("dropped it" in text or "created it" in text for text in found), error
            abort_merge(self.shop.repository, branch, author="ann")

    def restore(self, branch: str) -> None:
        head = self.shop.repository.branch(branch).head
        commits = [id for id, commit in self.shop.repository.log(head) if commit.parents]
        to = self.draw(st.sampled_from(commits))
        what = self.draw(st.sampled_from([None, ORDERS, *self.shop.tables()]))
        if what is None:
            restore_branch(self.shop.repository, to, branch=branch, author="ann")
        elif self.shop.repository.tree(to).entry(what) is not None:
            restore_relation(self.shop.repository, str(what), to, branch=branch, author="ann")

    def drop(self, branch: str) -> None:
        name = self.draw(st.sampled_from([ORDERS, *self.shop.tables()]))
        if self.shop.head(branch).entry(name) is not None:
            self.shop.put(branch, name, None)


STEPS: Final = (
    *[Player.both] * 4,
    *[Player.undo] * 2,
    *[Player.write] * 2,
    *[Player.build] * 3,
    *[Player.merge] * 2,
    Player.fork,
    *[Player.compact] * 2,
    Player.revert,
    Player.pick,
    Player.restore,
    Player.create,
    Player.drop,
)


@pytest.mark.parametrize("is_picked", [False, True], ids=["reverted", "reverted, then picked"])
def test_what_a_reverted_build_accounts_for_is_undone_with_its_rows(is_picked: bool) -> None:
    shop = Shop(keyed=True)
    rows = [{"k": 1, "g": 0, "v": 2}, {"k": 4, "g": 1, "v": 0}]
    shop.put("main", ORDERS, shop.table(rows, SCHEMA, shop.key))
    shop.build("main", "bag", full=False)
    # The same rows once more, in another file, so that a revert of the first merges rows.
    shop.put("main", ORDERS, shop.table(rows[1:], SCHEMA, shop.key))
    for _ in range(2):
        shop.build("main", "bag", full=True)
    head = shop.repository.branch("main").head
    (first,) = shop.repository.objects.commit(head).parents
    report = revert(shop.repository, first, branch="main", author="ann")
    assert _bag(shop.rows("main", RelationName("s", "bag"))) == _bag(mapped(rows))
    if is_picked:
        cherry_pick(shop.repository, first, "main", author="ann")
    assert report.after != head
    shop.build("main", "bag", full=False)
    shop.check("main", "bag")


@given(st.data(), st.booleans())
def test_increments_and_a_full_build_agree(data: st.DataObject, keyed: bool) -> None:
    shop = Shop(keyed=keyed)
    player = Player(shop, data.draw)
    player.write("main")
    for model in shop.models:
        shop.build("main", model, full=False)
    player.fork("main")
    for _ in range(data.draw(st.integers(1, 8))):
        player.play()
    for branch in shop.branches():
        for model in shop.models:
            shop.build(branch, model, full=False)
            shop.check(branch, model)
