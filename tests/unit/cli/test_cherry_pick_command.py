"""The command cherry-pick: ranges, next steps after a conflict, and what makes no sense."""

from __future__ import annotations

import shlex

from tests.unit.cli.conftest import Call
from tests.unit.commands.test_cherry_pick import Shop
from tests.unit.warehouse import Warehouse


def test_the_command_picks_a_range_and_names_the_rest_after_a_conflict(
    vcs: Call, warehouse: Warehouse
) -> None:
    shop = Shop(warehouse)
    shop.write("dev", {1: "one", 2: "two", 3: "three"}, message="Three")
    shop.write("dev", {1: "theirs", 2: "two", 3: "three"}, message="Theirs")
    shop.write("dev", {1: "theirs", 2: "two", 3: "three", 4: "four"}, message="Four")
    shop.write("main", {1: "ours", 2: "two"})
    said = vcs("cherry-pick", "main..dev", "-b", "main", code=1).stderr
    assert shop.rows() == {1: "ours", 2: "two", 3: "three"}
    last = warehouse.head("dev")[:12]
    assert f"for the rest: dbt-vcs -r warehouse cherry-pick {last} --branch main" in said
    assert f"Picked before that: {warehouse.repository.resolve('dev~2')[:12]}" in said
    # The next steps, as they are printed.
    vcs("resolve", "--all", "--with", "ours", "main")
    assert "Then: dbt-vcs -r warehouse cherry-pick --continue --branch main. To give" in said
    assert vcs("cherry-pick", "--continue", "--branch", "main").output.startswith("Picked ")
    command = said[said.rindex("dbt-vcs -r warehouse cherry-pick") :].split("\n")[0]
    vcs(*shlex.split(command)[3:])
    assert shop.rows() == {1: "ours", 2: "two", 3: "three", 4: "four"}
    assert "Nothing to pick" in vcs("cherry-pick", "dev", "-b", "main").output


def test_the_rest_is_picked_as_the_first_was(vcs: Call, warehouse: Warehouse) -> None:
    shop = Shop(warehouse)
    vcs("branch", "create", "side", "dev")
    shop.write("dev", {1: "theirs", 2: "two"})
    shop.write("side", {1: "one", 2: "two", 3: "three"})
    vcs("merge", "side", "dev")
    last = shop.write("dev", {1: "theirs", 2: "TWO", 3: "three"})
    shop.write("main", {1: "ours", 2: "two"})
    words = ("dev~1", "dev", "--mainline", "2", "--on-conflict", "cell", "-b", "main")
    said = vcs("cherry-pick", *words, code=1).stderr
    options = "--branch main --mainline 2 --on-conflict cell"
    assert f"for the rest: dbt-vcs -r warehouse cherry-pick {last[:12]} {options}\n" in said


def test_a_pick_is_aborted(vcs: Call, warehouse: Warehouse) -> None:
    shop = Shop(warehouse)
    shop.write("dev", {1: "theirs", 2: "two"})
    shop.write("main", {1: "ours", 2: "two"})
    head = warehouse.head()
    said = vcs("cherry-pick", "dev", "-b", "main", code=1).stderr
    assert "To give the pick up: dbt-vcs -r warehouse cherry-pick --abort --branch main\n" in said
    assert "can't be used with --abort" in vcs("cherry-pick", "--abort", "dev", code=2).stderr
    assert "are not resolved yet" in vcs("cherry-pick", "--continue", code=1).stderr
    told = vcs("cherry-pick", "--abort", "--branch", "main").output
    assert told == "Aborted the pick of dev on main, which is unchanged.\n"
    assert warehouse.head() == head
    assert "No merge into 'main' is waiting" in vcs("cherry-pick", "--abort", code=1).stderr


def test_the_command_refuses_what_makes_no_sense(vcs: Call, warehouse: Warehouse) -> None:
    shop = Shop(warehouse)
    shop.write("dev", {1: "ONE", 2: "two"})
    head = warehouse.head()
    assert "--mainline 1" in vcs("cherry-pick", "-m", "1", "dev", code=2).stderr
    assert "--mainline 2" in vcs("revert", "-m", "2", "dev", code=2).stderr
    assert "found 2" in vcs("cherry-pick", "dev", "dev~1", "--dry-run", code=2).stderr
    assert "nix" in vcs("cherry-pick", "dev", "nix", code=1).stderr
    assert warehouse.head() == head


def test_revisions_are_those_from_before_the_first_pick(vcs: Call, warehouse: Warehouse) -> None:
    shop = Shop(warehouse)
    shop.write("main", {1: "one", 2: "two", 3: "three"}, message="Three")
    shop.write("main", {1: "one", 2: "two", 3: "three", 4: "four"}, message="Four")
    shop.write("main", {1: "one", 2: "two"}, message="Neither")
    vcs("cherry-pick", "main~2", "main~1", "-b", "main")
    assert shop.rows() == {1: "one", 2: "two", 3: "three", 4: "four"}
