"""Laws of merges, picks and reverts beside each other, against git's rule on plain dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.diffs.summaries import differing, list_changes
from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.commands.cherry_pick import cherry_pick
from dbt.adapters.vcs.commands.merge import MergeRequest, merge
from dbt.adapters.vcs.commands.restore import restore_branch, restore_relation
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.graph import ancestors
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.repository import Repository
from tests.unit.tables import Rows, Tables
from tests.unit.warehouse import Warehouse

BRANCHES = ("main", "f", "g")
TABLES = {"a": True, "z": False}
"""Whether each has a key."""

Units: TypeAlias = dict[object, object]
"""Value by key; without a key, the count by row."""


class History:
    """A repository of two tables, changed by drawn steps."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self._draw = draw
        self.warehouse = Warehouse()
        self.repository: Repository = self.warehouse.repository
        self._tables = Tables(self.warehouse)
        self._values = 0
        self.write("main", {name: {1: "one", 2: "two"} for name in TABLES})
        self.write("main", {name: {1: "wrong", 3: "wrong"} for name in TABLES})
        for name in BRANCHES[1:]:
            self.warehouse.branch(name)

    def choose(self, choices: list[object] | tuple[object, ...]) -> object:
        return choices[self._draw(st.integers(0, len(choices) - 1))]

    def write(self, branch: str, tables: dict[str, Rows]) -> None:
        shown = self.warehouse.shown(branch)
        entries = {}
        for name, rows in tables.items():
            before = shown.get(f"shop.{name}")
            parents = [before] if isinstance(before, TableEntry) else []
            blocks = [self._tables.block({key: value}) for key, value in rows.items()]
            entries[name] = self._tables.entry(blocks, parents=parents, key=TABLES[name])
        self.warehouse.put(branch, **entries)

    def edit(self, branch: str) -> None:
        """Change some keys of a table to values that nobody wrote before."""
        name = str(self.choose(tuple(TABLES)))
        rows = {row["id"]: row["name"] for row in self.warehouse.rows(name, branch)}
        key = self._draw(st.integers(1, 3))
        if self._draw(st.integers(0, 3)) or key not in rows:
            self._values += 1
            rows[key] = f"v{self._values}"
        else:
            del rows[key]
        self.write(branch, {name: rows})

    def undo(self, branch: str) -> None:
        """Revert a commit of the branch, or restore a table or all of it."""
        log = [id for id, commit in self.repository.log(self.head(branch)) if commit.parents]
        if len(log) == 1:
            # What made the tables stays.
            return
        to = str(self.choose(log[:-1]))
        who = {"branch": branch, "author": "ann"}
        kind = self._draw(st.integers(0, 3))
        try:
            if kind < 2:
                parents = len(self.repository.objects.commit(CommitId(to)).parents)
                revert(self.repository, to, mainline=self._draw(st.integers(1, parents)), **who)
            elif kind == 2:
                restore_relation(self.repository, f"shop.{self.choose(tuple(TABLES))}", to, **who)
            else:
                restore_branch(self.repository, to, **who)
        except ConflictError:
            return

    def head(self, branch: str) -> CommitId:
        return self.warehouse.head(branch)

    def units(self, name: str, revision: str) -> Units:
        rows = self.warehouse.rows(name, revision)
        if TABLES[name]:
            return {row["id"]: row["name"] for row in rows}
        return {(row["id"], row["name"]): 1 for row in rows}

    def all_units(self, revision: str) -> dict[str, Units]:
        return {name: self.units(name, revision) for name in TABLES}

    def past(self, commit: CommitId) -> set[CommitId]:
        return set(ancestors([commit], lambda id: self.repository.objects.commit(id).parents))

    def bases(self, one: CommitId, other: CommitId) -> list[CommitId]:
        """Return the common ancestors that are no ancestors of another one."""
        common = self.past(one) & self.past(other)
        return [id for id in common if not any(id in self.past(it) - {it} for it in common)]


def three_way(base: Units, ours: Units, theirs: Units) -> Units:
    """Return git's result for each unit; ours where both changed it differently."""
    found = {}
    for unit in base.keys() | ours.keys() | theirs.keys():
        old, our, their = (rows.get(unit) for rows in (base, ours, theirs))
        value = their if our == old else our
        if value is not None:
            found[unit] = value
    return found


@given(st.data())
def test_a_merge_gives_what_git_gives_beside_reverts_and_restores(data: st.DataObject) -> None:
    history = History(lambda strategy: data.draw(strategy))
    for _ in range(data.draw(st.integers(2, 9))):
        branch = str(history.choose(BRANCHES))
        step = data.draw(st.sampled_from(("edit", "edit", "undo", "pick", "merge", "merge")))
        if step == "edit":
            history.edit(branch)
        elif step == "undo":
            history.undo(branch)
        elif step == "pick":
            check_pick(history, str(history.choose(BRANCHES)), branch)
        else:
            check_merge(history, str(history.choose(BRANCHES)), branch)


def check_merge(history: History, source: str, target: str) -> None:
    """Merge, and compare with git's rule, with the dry run and with `diff a...b`."""
    repository = history.repository
    heads = history.head(target), history.head(source)
    bases = history.bases(*heads)
    ours, theirs = (history.all_units(id) for id in heads)
    request = MergeRequest(policy=Policy(override=Mode.SKIP))
    told = merge(
        repository,
        source,
        target,
        MergeRequest(policy=Policy(override=Mode.SKIP), dry_run=True),
        author="ann",
    )
    done = merge(repository, source, target, request, author="ann")
    after = history.head(target)
    assert told.changes == done.changes == differing(list_changes(repository, heads[0], after))
    found = history.all_units(after)
    shown = [history.all_units(base) for base in bases]
    for name in TABLES:
        old = [base[name] for base in shown]
        if len(old) == 1:
            assert found[name] == three_way(old[0], ours[name], theirs[name])
        if all(ours[name] == base for base in old):
            assert found[name] == theirs[name]
        check_nothing_comes_back(old, ours[name], theirs[name], found[name])
    if len(bases) == 1 and ours == shown[0] and source != target:
        range_ = differing(list_changes(repository, bases[0], heads[1]))
        facts = {item.name: (item.rows_added, item.rows_removed) for item in range_}
        assert {item.name: (item.rows_added, item.rows_removed) for item in done.changes} == facts


def check_pick(history: History, source: str, target: str) -> None:
    """Pick a commit of a branch, compare with git's rule, and see a revert undo just that."""
    repository, who = history.repository, {"author": "ann"}
    log = [id for id, commit in repository.log(history.head(source)) if commit.parents]
    commit = CommitId(str(history.choose(log)))
    parent = repository.objects.commit(commit).parents[0]
    base, theirs, before = (
        history.all_units(id)
        if "shop" in repository.tree(id).schemas()
        else {n: {} for n in TABLES}
        for id in (parent, commit, history.head(target))
    )
    head = history.head(target)
    if not all(base.values()) and head != parent:
        # The tables are made by that commit, so they have no rows before to compare with.
        return
    report = cherry_pick(
        repository, commit, target, MergeRequest(policy=Policy(override=Mode.SKIP)), **who
    )
    found = history.all_units(history.head(target))
    assert found == {n: three_way(base[n], before[n], theirs[n]) for n in TABLES}
    if head == parent:
        assert found == theirs
    assert (report.how == "up_to_date") == (found == before) == (report.after == head)
    if report.how == "merge":
        assert repository.objects.commit(history.head(target)).parents == (head,)
        revert(repository, history.head(target), branch=target, **who)
        assert history.all_units(history.head(target)) == before
        # The change is there again for what follows.
        revert(repository, history.head(target), branch=target, **who)
        assert history.all_units(history.head(target)) == found


def check_nothing_comes_back(old: list[Units], ours: Units, theirs: Units, found: Units) -> None:
    """Check that a merge takes from theirs only what theirs has and a common commit lacks."""
    for unit, value in found.items():
        if ours.get(unit) != value:
            assert theirs.get(unit) == value
            assert any(base.get(unit) != value for base in old)
