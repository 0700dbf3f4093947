"""Commands about versions: snapshots, clones, restores, lineage, upkeep."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, _NamedTextIOWrapper

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.stale import StaleTable, selection
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.retention import DAY, read_retention
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

from .conftest import Call


def made(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    first = tables.entry([tables.block({1: "a"})], node="model.shop.t")
    tables.put(t=first)
    second = tables.entry([tables.block({1: "b", 2: "c"})], parents=[first])
    tables.put(t=second, u=tables.entry([], inputs={"shop.t": second}))


def test_snapshots_are_made_listed_and_deleted(vcs: Call, warehouse: Warehouse) -> None:
    made(warehouse)
    assert vcs("snapshot").output == "There are no named snapshots.\n"
    said = vcs("snapshot", "create", "shop.t", "sn1", "main~1", "-m", "before").output
    assert said.startswith("Created snapshot sn1 of shop.t at version ")
    (listed,) = json.loads(vcs("snapshot", "--json").output)
    assert (listed["relation"], listed["name"], listed["rows"]) == ("shop.t", "sn1", 1)
    assert "before" in vcs("snapshot", "list", "shop.t").output
    assert "already a snapshot 'sn1'" in vcs("snapshot", "create", "shop.t", "sn1", code=2).output
    assert "Deleted snapshot sn1" in vcs("snapshot", "delete", "shop.t", "sn1").output
    assert "was deleted" in vcs("snapshot", "delete", "shop.t", "sn1", code=1).output


def test_restore_revert_clone_and_undelete(vcs: Call, warehouse: Warehouse) -> None:
    made(warehouse)
    said = vcs("restore", "shop.t", "--to", "main~1").output
    assert "Restored shop.t on main to main~1" in said
    assert "shop.u, which were not restored" in said
    assert "dbt-vcs -r warehouse restore --all --to 'main~1'" in said
    assert "Nothing to restore" in vcs("restore", "shop.t", "--to", "main").output
    assert "Reverted" in vcs("revert", "main").output
    assert "Would restore all" in vcs("restore", "--all", "--to", "main~3", "--dry-run").output
    said = vcs("clone", "shop.t", "copies.t", "main~2").output
    assert said.startswith("Cloned shop.t at main~2 to copies.t on main: ")
    assert "already exists" in vcs("clone", "shop.t", "copies.t", code=2).output
    vcs("branch", "create", "feature")
    vcs("branch", "delete", "feature")
    assert "Restored branch feature at" in vcs("branch", "undelete", "feature").output
    for wrong in (("restore",), ("restore", "a.b", "--all"), ("restore", "--all")):
        assert "Usage" in vcs(*wrong, code=2).output
    assert "is not a version of shop.t" in vcs("restore", "shop.t", "--to", "nix", code=1).output


def test_stale_tables_are_listed_with_what_made_them_so(vcs: Call, warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    assert vcs("stale").output == "Every table on main was made from what main shows.\n"
    raw = tables.entry([tables.block({1: "a"})])
    daily = tables.entry([], inputs={"shop.raw": raw}, node="model.shop.daily")
    total = tables.entry([], inputs={"shop.daily": daily}, node="model.shop.total.v2")
    by_hand = tables.entry([tables.block({7: "x"})], inputs={"shop.raw": raw})
    tables.put(raw=raw, daily=daily, total=total, by_hand=by_hand)
    assert vcs("stale", "--select").output == "\n"
    assert "Stale" not in vcs("status").output
    newer = tables.entry([tables.block({1: "b"})], parents=[raw])
    tables.put(raw=newer)
    old, new = raw.snapshot[:12], newer.snapshot[:12]
    assert vcs("stale").output.splitlines() == [
        "shop.by_hand",
        f"  was made from shop.raw {old}, which is {new} now",
        "shop.daily  model.shop.daily",
        f"  was made from shop.raw {old}, which is {new} now",
        "shop.total  model.shop.total.v2",
        "  was made from shop.daily, which is stale",
    ]
    assert vcs("stale", "main~1").output.startswith("Every table on main~1 was made")
    chosen = vcs("stale", "--select")
    assert chosen.stdout == "daily total.v2\n"
    assert "shop.by_hand is stale, and no node of dbt made it" in chosen.stderr
    [_, found, _] = json.loads(vcs("stale", "--json").output)
    assert found["moved"] == [
        {"relation": "shop.raw", "read": raw.snapshot, "shown": newer.snapshot}
    ]
    assert "3 tables were made from other versions than are shown" in vcs("status").output
    tables.put(raw=None)
    assert f"shop.raw {old}, which is gone" in vcs("stale").output
    assert "nope" in vcs("stale", "nope", code=1).output


def test_what_tables_take_up_is_a_line_each(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1", b=warehouse.table("2", "3"))
    *_, b, a, total = vcs("du").output.splitlines()
    assert b.split() == ["shop.b", "20", "2", "200", "B", "0", "B"]
    assert a.split() == ["shop.a", "10", "1", "100", "B", "0", "B"]
    assert total == "2 tables, 300 B, of which 0 B are its own."
    found = [json.loads(each) for each in vcs("du", "--jsonl").output.splitlines()]
    assert [table["relation"] for table in found] == ["shop.b", "shop.a"]


def test_lineage_and_blame(vcs: Call, warehouse: Warehouse) -> None:
    made(warehouse)
    found = json.loads(vcs("lineage", "shop.u", "--json").output)
    assert [item["relation"] for item in found["next"]] == ["shop.t"]
    assert "shop.t" in vcs("lineage", "shop.u").output
    assert "shop.u" in vcs("lineage", "shop.t@main", "--forward").output
    assert "No version on this branch" in vcs("lineage", "shop.t@main~1", "--forward").output
    said = vcs("blame", "shop.t", "--key", "id=1").output
    assert "modified id=1 of shop.t" in said
    assert [line.split() for line in said.splitlines()[-3:]] == [
        ["id", "name"],
        ["-", "1", "a"],
        ["+", "1", "b"],
    ]
    assert json.loads(vcs("blame", "shop.t", "-k", "id=2", "--json").output)["how"] == "added"
    assert "had a row with id=7" in vcs("blame", "shop.t", "-k", "id=7", code=1).output
    assert "expected COLUMN=VALUE" in vcs("blame", "shop.t", "-k", "id", code=2).output


def test_upkeep(vcs: Call, warehouse: Warehouse) -> None:
    made(warehouse)
    assert "No problems found." in vcs("fsck").output
    assert "Would delete 0 data files" in vcs("gc", "--dry-run").output
    assert "Deleted 0 data files" in vcs("gc").output
    assert "kept for 30 days" in vcs("gc", "--retention", "30").output
    assert json.loads(vcs("gc", "--json").output)["keep_days"] == 30
    path = next(info.path for info in warehouse.blobs.walk("data"))
    warehouse.blobs.delete(path)
    assert f"{path} is missing" in vcs("fsck", code=2).output


def test_a_shorter_retention_asks_first(vcs: Call, warehouse: Warehouse) -> None:
    made(warehouse)
    assert "kept for 7 days" in vcs("gc", "--retention", "7").output
    for extra in ((), ("--json",)):
        refused = vcs("gc", "--retention", "0", *extra, code=2)
        assert "can no longer be restored" in refused.stderr
        assert "dbt-vcs -r warehouse gc --dry-run --retention 0" in refused.stderr
        assert "Nothing was changed. To do it anyway: --force" in refused.stderr
    assert "Would delete" in vcs("gc", "--dry-run", "--retention", "0").output
    assert json.loads(vcs("gc", "--json").output)["keep_days"] == 7
    said = vcs("gc", "--retention", "0", "--force")
    assert said.stdout == "Unnamed history is kept for 0 days.\n"


def test_a_retention_out_of_range_is_refused_at_once(vcs: Call, warehouse: Warehouse) -> None:
    for days in ("-1", "nan"):
        refused = vcs("gc", "--retention", days, code=2).stderr
        assert refused == f"Error: Found a retention of {days} days; expected 0 to 36500.\n"


@pytest.mark.parametrize(("answer", "code", "days"), [("y\n", 0, 0), ("n\n", 2, 7), ("", 1, 7)])
def test_a_person_is_asked(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, days: float
) -> None:
    monkeypatch.setattr(CommandSession, "repository", warehouse.repository)
    monkeypatch.setattr(_NamedTextIOWrapper, "isatty", lambda self: True)
    arguments = ["-r", "warehouse", "gc", "--retention", "0"]
    result = CliRunner().invoke(main, arguments, input=answer)
    assert "can no longer be restored" in result.stderr
    assert "Shorten it? [y/N]" in result.stderr
    assert result.exit_code == code, result.output
    assert read_retention(warehouse.repository).keep == days * DAY


def test_both_sides_against_their_base(vcs: Call, warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    base = tables.entry([tables.block({1: "a", 2: "b", 3: "c"})], key=True)
    tables.put(t=base)
    warehouse.branch("dev")
    ours = tables.entry([tables.block({1: "x", 2: "b", 3: "c"})], key=True, parents=[base])
    theirs = tables.entry([tables.block({1: "y", 3: "c", 4: None})], key=True, parents=[base])
    tables.put("main", t=ours)
    tables.put("dev", t=theirs)
    for ends in ("main..dev", "main...dev"):
        arguments = ("diff", ends, "shop.t", "--shape", "three_way")
        found = json.loads(vcs(*arguments, "--json", code=1).stdout)
        assert found["heads"] == [
            *("id", "our_diff_type", "their_diff_type"),
            *("base_id", "our_id", "their_id", "base_name", "our_name", "their_name"),
        ]
        rows = sorted(tuple(row.values()) for row in found["rows"])
        assert rows == [
            (1, "modified", "modified", 1, 1, 1, "a", "x", "y"),
            (2, None, "removed", 2, 2, None, "b", "b", None),
            (4, None, "added", None, None, 4, None, None, None),
        ]
        said = vcs(*arguments, code=1).stdout
        assert "modified" in said
    # Both the same, and yet not as the base has it.
    tables.put("dev", t=ours)
    same = vcs("diff", "main..dev", "shop.t", "--shape", "three_way").stdout
    assert "are equal" in same
    tables.put("dev", t=tables.entry([tables.block({9: "z"})], key=True))
    wrong = vcs("diff", "main..dev", "shop.t", "--shape", "three_way", code=2)
    assert "have no common ancestor" in wrong.stderr


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("model.shop.orders", "orders"),
        ("model.shop.orders.v2", "orders.v2"),
        ("test.shop.unique_orders_id.1f2e3d4c5b", "unique_orders_id"),
    ],
)
def test_a_node_is_selected_by_its_name(node: str, name: str) -> None:
    stale = StaleTable(
        relation="shop.t", snapshot=SnapshotId("1"), node=node, moved=(), through=()
    )
    assert selection([stale]) == (name, [])
