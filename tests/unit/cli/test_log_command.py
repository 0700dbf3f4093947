"""The command log: git's options, a drawing of the history, changes of each commit, one table."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.commands.log import Lanes
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.cli.conftest import Call
from tests.unit.warehouse import Warehouse


@pytest.fixture
def history(warehouse: Warehouse) -> Warehouse:
    """Main and dev, which merged each other."""
    warehouse.put(a="1", message="Base")
    warehouse.branch("dev")
    warehouse.put("dev", b="1", message="On dev")
    warehouse.put(c="1", message="On main")
    merge(warehouse.repository, "dev", "main", author="ann")
    warehouse.put("dev", b="2", message="Later on dev")
    warehouse.put(a="2", c=None, message="Later on main")
    return warehouse


def lines(vcs: Call, *words: str) -> list[str]:
    """Return the lines of a log without the digits of commits."""
    told = vcs("log", *words).output.splitlines()
    return [
        " ".join("#" if len(word) == 12 else word for word in line.split(" ")) for line in told
    ]


def test_a_history_is_drawn_as_git_draws_it(vcs: Call, history: Warehouse) -> None:
    assert lines(vcs, "--graph", "--oneline") == [
        "* # (main) Later on main",
        "* # Merge dev into main",
        "|\\",
        "* | # On main",
        "| * # On dev",
        "|/",
        "* # Base",
        "* # Create the repository",
    ]
    assert lines(vcs, "main..dev", "--graph", "--oneline") == ["* # (dev) Later on dev"]
    assert lines(vcs, "dev..main", "--graph", "--oneline") == [
        "* # (main) Later on main",
        "* # Merge dev into main",
        "* # On main",
    ]
    assert lines(vcs, "--graph", "--oneline", "--first-parent") == [
        "* # (main) Later on main",
        "* # Merge dev into main",
        "* # On main",
        "* # Base",
        "* # Create the repository",
    ]


def test_changes_stand_below_their_commit_beside_the_drawing(
    vcs: Call, history: Warehouse
) -> None:
    assert lines(vcs, "-3", "--graph", "--oneline", "--stat") == [
        "* # (main) Later on main",
        "|   changed  table  shop.a  +0 -0 ~10",
        "|   removed  table  shop.c  +0 -10 ~0",
        "* # Merge dev into main",
        "|   added    table  shop.b  +10 -0 ~0",
        "|\\",
        "* | # On main",
        "| |   added    table  shop.c  +10 -0 ~0",
    ]


def test_git_spells_a_limit_as_a_number(vcs: Call, history: Warehouse) -> None:
    assert lines(vcs, "-1", "--oneline") == ["# (main) Later on main"]
    assert lines(vcs, "dev", "-2", "--oneline") == ["# (dev) Later on dev", "# On dev"]
    assert lines(vcs, "-n", "1", "--oneline") == lines(vcs, "-1", "--oneline")
    assert "not in the range" in vcs("log", "-n", "-1", code=2).stderr
    assert len(vcs("reflog", "-1", "main").output.splitlines()) < 4


def test_the_first_parents_leave_out_what_merges_brought(vcs: Call, history: Warehouse) -> None:
    found = json.loads(vcs("log", "--first-parent", "--json").output)
    assert "On dev" not in {item["message"] for item in found}
    ranged = lines(vcs, "dev~1..main", "--first-parent", "--oneline")
    assert ranged == ["# (main) Later on main", "# Merge dev into main", "# On main"]


def test_all_branches_have_one_log(vcs: Call, history: Warehouse) -> None:
    assert lines(vcs, "--all", "--graph", "--oneline") == [
        "* # (main) Later on main",
        "| * # (dev) Later on dev",
        "* | # Merge dev into main",
        "|\\|",
        "* | # On main",
        "| * # On dev",
        "|/",
        "* # Base",
        "* # Create the repository",
    ]
    assert lines(vcs, "--all", "shop.b", "--oneline")[0] == "# (dev) Later on dev"
    history.run("r1", Status.FAILED, b="9")
    assert lines(vcs, "--all", "--oneline", "--first-parent")[1:3] == [
        "# (dev) Later on dev",
        "# Merge dev into main",
    ]


def test_a_table_has_a_log_of_its_own(vcs: Call, history: Warehouse) -> None:
    assert lines(vcs, "shop.c", "--oneline") == ["# (main) Later on main", "# On main"]
    assert lines(vcs, "dev", "shop.b", "--oneline") == ["# (dev) Later on dev", "# On dev"]
    # Only what became of that table is said.
    assert lines(vcs, "shop.c", "--oneline", "--stat", "-1") == [
        "# (main) Later on main",
        "  removed  table  shop.c  +0 -10 ~0",
    ]
    assert "No commit of 'main' changed shop.nix" in vcs("log", "shop.nix", code=1).stderr
    # A branch of that name is a revision.
    history.branch("shop.c", "dev")
    assert lines(vcs, "shop.c", "--oneline", "-1") == ["# (dev, shop.c) Later on dev"]
    assert lines(vcs, "shop.c", "shop.b", "--oneline", "-1") == ["# (dev, shop.c) Later on dev"]


def test_json_has_the_changes_that_are_asked_for(vcs: Call, history: Warehouse) -> None:
    (item,) = json.loads(vcs("log", "-1", "--json").output)
    assert item["changes"] is None
    (item,) = map(json.loads, vcs("log", "-1", "--stat", "--jsonl").output.splitlines())
    assert [(c["name"], c["how"]) for c in item["changes"]] == [
        ("shop.a", "changed"),
        ("shop.c", "removed"),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--graph --jsonl", "--graph is about lines of text"),
        ("--oneline --json", "--oneline is about lines of text"),
        ("--graph --relation shop.a", "--graph can't draw the commits of one table"),
        ("main shop.a --graph", "--graph can't draw the commits of one table"),
        ("shop.a --graph", "--graph can't draw the commits of one table"),
        ("main --all", "Give either a revision or --all"),
        ("main shop.a --all", "Give either a revision or --all"),
        ("main shop.a --relation shop.a", "Give the table once"),
    ],
)
def test_what_makes_no_sense_together_is_refused(
    vcs: Call, history: Warehouse, line: str, said: str
) -> None:
    assert said in vcs("log", *line.split(), code=2).stderr


def test_lines_cross_where_a_merge_is_far_from_its_parent() -> None:
    commits = {"e": "d", "d": "ab", "c": "b", "b": "a", "a": ""}
    # A commit that nothing led to begins a lane.
    assert list(drawn(commits)) == ["* e", "* d", "|\\", "| | * c", "| |/", "| * b", "|/", "* a"]
    octopus = {"d": "abc", "c": "a", "b": "a", "a": ""}
    told = ["* d", "|\\", "|\\|", "| |\\", "| | * c", "| |/", "|/|", "| * b", "|/", "* a"]
    assert list(drawn(octopus)) == told


def drawn(commits: dict[str, str]) -> Iterator[str]:
    lanes = Lanes()
    for name, parents in commits.items():
        yield f"{lanes.row(CommitId(name))} {name}"
        yield from lanes.below([CommitId(parent) for parent in parents])


@given(st.data())
def test_each_expected_commit_has_one_lane_and_none_is_left(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 9))
    parents = {
        number: data.draw(st.lists(st.integers(0, number - 1), max_size=3, unique=True))
        if number
        else []
        for number in range(count)
    }
    lanes, expected = Lanes(), set[str]()
    for number in reversed(range(count)):
        name = str(number)
        row = lanes.row(CommitId(name))
        assert row.count("*") == 1
        expected.discard(name)
        assert row.count("|") == len(expected)
        mine = [CommitId(str(parent)) for parent in parents[number]]
        below = list(lanes.below(mine))
        assert all(set(text) <= set("|/\\ ") for text in below)
        expected |= set(mine)
        ids = [id for id in lanes._lanes if id is not None]
        assert sorted(ids) == sorted(expected)
    assert lanes._lanes == []
