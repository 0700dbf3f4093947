"""What `status` and `conflicts` show about a waiting merge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pytest

from dbt.adapters.vcs.api import Client
from tests.unit.cli.conftest import Call
from tests.unit.iceberg.lake import Lake
from tests.unit.warehouse import Warehouse

DAY = 86_400_000_000


def no_engine(branch: str) -> NoReturn:
    pytest.fail("Small merges start no engine.")


@pytest.fixture
def waiting(vcs: Call, warehouse: Warehouse) -> Call:
    """A merge of `dev` into `main` whose relations conflict: as wholes, and one row by row."""
    warehouse.put(a="1", dropped="1", v=warehouse.view("select 1"))
    warehouse.branch("dev")
    warehouse.put("dev", a="2", dropped="2", v=warehouse.view("select 2"))
    warehouse.put(a="3", dropped=None, v=warehouse.view("select 3"))
    vcs("merge", "dev", "main", code=1)
    return vcs


def test_no_merge_that_waits_is_no_error(vcs: Call, warehouse: Warehouse) -> None:
    for arguments in ((), ("main",), ("--relation", "shop.a")):
        said = vcs("conflicts", *arguments).stdout
        assert said == "No merge into main is waiting for conflicts to be resolved.\n"
    found = json.loads(vcs("conflicts", "--json").stdout)
    assert (found["source"], found["target"], found["relations"]) == (None, "main", [])
    assert "no branch 'mian'" in vcs("conflicts", "mian", code=1).stderr


def test_status_shows_a_merge_that_waits(waiting: Call) -> None:
    said = waiting("status").stdout
    waits = "dev into main is waiting, 12 of 12 conflicts not resolved"
    assert f"{waits}: dbt-vcs -r warehouse conflicts main" in said
    assert "2 branches, 0 tags" in said
    (merge,) = json.loads(waiting("status", "--json").stdout)["merges"]
    assert (merge["source"], merge["target"], len(merge["relations"])) == ("dev", "main", 3)
    waiting("resolve", "--all", "--with", "theirs")
    step = "dbt-vcs -r warehouse merge --continue main"
    assert f"is waiting, all resolved: {step}" in waiting("status").stdout
    assert f"To finish the merge: {step}" in waiting("conflicts").stdout
    waiting("merge", "--continue", "main")
    assert "waiting" not in waiting("status").stdout.replace("failed or waiting", "")
    assert json.loads(waiting("status", "--json").stdout)["merges"] == []


def test_a_relation_that_conflicts_as_a_whole_says_what_it_is_and_how_to_go_on(
    waiting: Call,
) -> None:
    for arguments in ((), ("--relation", "shop.dropped"), ("--relation", "shop.v")):
        said = " ".join(waiting("conflicts", *arguments).stdout.split())
        assert (
            "shop.dropped conflicts as a whole (ours dropped it, theirs changed it). Choose ours, "
            "theirs, base or delete: dbt-vcs -r warehouse resolve shop.dropped main --with ours"
        ) in said
        assert "shop.v conflicts as a whole (ours changed it, theirs changed it)" in said
        assert "none" not in said
    wrong = waiting("conflicts", "--relation", "shop.x", code=2).stderr
    assert "shop.x has no conflicts; expected one of: shop.a, shop.dropped, shop.v." in wrong
    waiting("resolve", "shop.dropped", "--with", "ours", "main")
    said = waiting("conflicts").stdout
    assert "shop.dropped conflicts" not in said
    assert "shop.v conflicts" in said


def test_the_next_step_is_for_a_table_that_is_left(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1", b="1", v=warehouse.view("select 1"))
    warehouse.branch("dev")
    warehouse.put("dev", a="2", b="2", v=warehouse.view("select 2"))
    warehouse.put(a="3", b="3", v=warehouse.view("select 3"))
    vcs("merge", "dev", "main", code=1)
    vcs("resolve", "shop.a", "--with", "theirs", "main")
    said = vcs("conflicts").stdout
    assert "conflicts main --relation shop.b\n" in said
    assert "resolve shop.b main --with ours\n" in said
    vcs("resolve", "shop.b", "main", "--with", "ours")
    # A table whose conflicts are all decided takes no choice without --again.
    assert "resolve shop.v main" in (said := vcs("conflicts").stdout)
    assert "resolve shop.a" not in said


def test_values_are_chosen_by_hand_and_all_means_what_is_left(
    waiting: Call, warehouse: Warehouse
) -> None:
    said = waiting("resolve", "shop.a", "--key", "id=3", "--set", "v=mine").stdout
    assert said.startswith("Resolved 1 conflict with values given by hand.\n11 left.")
    waiting("resolve", "shop.a", "--key", "id=4", "--set-null", "v")
    told = json.loads(waiting("resolve", "--all", "--with", "ours", "--json").stdout)
    assert (told["choice"], told["count"], told["left"]) == ("ours", 10, 0)
    waiting("merge", "--continue", "main")
    values = {row["id"]: row["v"] for row in warehouse.rows("a")}
    assert values == {**dict.fromkeys(range(10), "3"), 3: "mine", 4: None}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--key", "id=1.5", "--set", "v=x"), "'1.5' is not a value of the column id of shop.a"),
        (("--key", "id=1x", "--with", "ours"), "'1x' is not a value of the column id of shop.a"),
        (("--key", "id=3", "--set", "id=4"), "in the primary key"),
        (("--key", "id=3", "--set", "v"), "expected COLUMN=VALUE"),
        (("--key", "id=3", "--set", "v=1", "--set-null", "v"), "not both"),
        (("--key", "id=3"), "Give a choice"),
        (("--set", "v=1"), "--key column=value"),
        (("--with", "larger"), "--with larger --by COLUMN"),
        (("--cell", "v=mine"), "expected one of ours, theirs, base, larger, smaller"),
        (("--cell", "v"), "expected COLUMN=SIDE"),
        (("main", "--undo"), "--undo takes only the target"),
        (("--undo", "--with", "ours"), "--with can't be used with --undo"),
    ],
)
def test_what_can_not_be_chosen_is_one_sentence(
    waiting: Call, arguments: tuple[str, ...], words: str
) -> None:
    assert words in " ".join(waiting("resolve", "shop.a", *arguments, code=2).stderr.split())


def test_rules_cells_and_decisions_that_are_taken_back(
    waiting: Call, warehouse: Warehouse
) -> None:
    def said(*arguments: str, code: int = 0) -> str:
        return " ".join(waiting("resolve", *arguments, code=code).stdout.split())

    # "3" in ours, "2" in theirs.
    assert said("shop.a", "--with", "larger", "--by", "v").startswith(
        "Resolved 10 conflicts with larger v. 2 left."
    )
    again = said("shop.a", "main", "--cell", "v=smaller", "--key", "id=3")
    assert again.startswith("Resolved 1 conflict with v=smaller. 2 left.")
    assert said("--undo") == "Took back: Resolve 1 of shop.a with v=smaller (by bob). 2 left."
    assert said("--undo", "main").endswith("with larger v (by bob). 12 left.")
    waiting("resolve", "shop.dropped", "--with", "ours")
    told = json.loads(waiting("resolve", "--undo", "--json").stdout)
    assert told == {"what": "Resolve 1 of shop.dropped with ours", "author": "bob", "left": 12}
    assert "Nothing is decided yet" in waiting("resolve", "--undo", code=2).stderr
    waiting("resolve", "--all", "--with", "theirs")
    waiting("merge", "--continue", "main")
    assert {row["v"] for row in warehouse.rows("a")} == {"2"}


def test_rows_with_dates_that_python_lacks_are_compared_merged_and_resolved(
    call: Call, folder: Path
) -> None:
    lake = Lake(folder / "warehouse")
    lake.run("create table s.t (d date, at timestamp, v string, primary key (d))")
    far, before_christ = 3_789_548, -735_525
    lake.add("t", [(far, far * DAY + 1, "a"), (before_christ, None, "b")])
    at = lake.repository.branch("main").head
    lake.repository.create_branch("dev", at=at, author="ann")
    for branch, text in (("main", "ours"), ("dev", "theirs")):
        client = Client.on(lake.repository, branch, no_engine, schema="s", author="ann")
        days = pa.array([far, before_christ], pa.date32())
        moments = pa.array([far * DAY, None], pa.timestamp("us", "UTC"))
        client.write("t", pa.table({"d": days, "at": moments, "v": [text, "b"]}), mode="merge")

    def vcs(*arguments: str, code: int = 0) -> str:
        return call(arguments[0], "-r", "warehouse", *arguments[1:], code=code).stdout

    said = vcs("diff", "main", "dev", "s.t", code=1)
    assert "+12345-06-07  +12345-06-07 00:00:00+00:00  ours" in said
    assert '"d": "+12345-06-07"' in vcs("diff", "main", "dev", "s.t", "--json", code=1)
    assert "+12345-06-07" in vcs("blame", "s.t", "--key", "d=+12345-06-07")
    vcs("merge", "dev", "main", code=1)
    assert "+12345-06-07" in vcs("conflicts", "main", "--relation", "s.t")
    key = ("resolve", "s.t", "main", "--key", "d=+12345-06-07")
    vcs(*key, "--set", "at=-0044-03-15 12:00:00", "--set", "v=mine")
    vcs("merge", "--continue", "main")
    rows = [json.loads(line) for line in vcs("cat", "s.t", "--format", "json").splitlines()]
    assert sorted(rows, key=str) == [
        {"d": "+12345-06-07", "at": "-0044-03-15 12:00:00+00:00", "v": "mine"},
        {"d": "-0044-03-15", "at": None, "v": "b"},
    ]
