"""The relations of `vcs` as Arrow tables, without an engine."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.errors import ConflictError, NotFoundError
from dbt.adapters.vcs.core.model import RelationName, Run
from dbt.adapters.vcs.sql.metadata_tables import RELATIONS, table_of
from dbt.adapters.vcs.table.types import declared_type
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse


def told(warehouse: Warehouse, name: str, branch: str = "main") -> list[dict[str, Any]]:
    head = warehouse.head(branch)
    repository = warehouse.repository
    overlay = Overlay(repository=repository, base=head, tree=repository.tree(head), branch=branch)
    rows: list[dict[str, Any]] = table_of(overlay, name).to_pylist()
    return rows


def test_every_relation_has_its_columns_without_a_row(warehouse: Warehouse) -> None:
    head = warehouse.head()
    repository = warehouse.repository
    overlay = Overlay(repository=repository, base=head, tree=repository.tree(head))
    for name, relation in RELATIONS.items():
        table = table_of(overlay, name)
        told = [f"{item.name} {declared_type(item.name, item.type)}" for item in table.schema]
        assert ", ".join(told) == relation.columns
    with pytest.raises(NotFoundError, match=r"Did you mean vcs\.blocks"):
        table_of(overlay, "block")


def test_history_snapshots_blocks_and_lineage(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    repository = warehouse.repository
    first = tables.block({1: "a", 2: "b"})
    one = tables.entry([first], node="model.shop.t")
    run = Run(invocation="i1", command="build", target="dev", git_sha="f00d")
    made = warehouse.put(t=one, run=run, message="Make t")
    tombstone = tables.tombstone(first, {0: (1, "a")})
    two = tables.entry([first], [tombstone], parents=[one])
    tables.put(t=two, u=tables.entry([], inputs={"shop.t": two}))
    repository.snapshots.create(RelationName("shop", "t"), "sn", one.snapshot, at=made, author="x")
    log = told(warehouse, "log")
    assert [row["message"] for row in log] == ["Put t, u", "Make t", "Create the repository"]
    assert (log[1]["invocation"], log[1]["git_sha"], log[1]["commit"]) == ("i1", "f00d", made)
    found = {row["snapshot"]: row for row in told(warehouse, "snapshots")}
    assert found[one.snapshot]["names"] == ["sn"]
    assert (found[two.snapshot]["rows"], found[two.snapshot]["parents"]) == (1, [one.snapshot])
    (block,) = told(warehouse, "blocks")
    assert (block["path"], block["rows"], block["deleted"]) == (first.path, 2, 1)
    lineage = {row["relation"]: row for row in told(warehouse, "lineage")}
    assert lineage["shop.u"]["input_snapshot"] == two.snapshot
    assert {row["node"] for row in told(warehouse, "lineage")} == {None, "model.shop.t"}


def test_a_stale_table_has_a_row_for_each_input_that_makes_it_so(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    one, two = tables.entry([tables.block({1: "a"})]), tables.entry([tables.block({1: "b"})])
    t = tables.entry([], inputs={"shop.one": one, "shop.two": two}, node="model.shop.t")
    tables.put(one=one, two=two, t=t, u=tables.entry([], inputs={"shop.t": t}))
    assert told(warehouse, "stale") == []
    tables.put(one=two, two=None)
    assert [tuple(row.values()) for row in told(warehouse, "stale")] == [
        ("shop.t", "model.shop.t", "shop.one", one.snapshot, two.snapshot, False),
        ("shop.t", "model.shop.t", "shop.two", two.snapshot, None, False),
        ("shop.u", None, "shop.t", None, None, True),
    ]


def test_a_merged_version_is_told_of_once(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("feature")
    there = warehouse.put("feature", b="1")
    warehouse.put(c="1")
    merge(warehouse.repository, "feature", "main", author="ann")
    found = [(row["relation"], row["commit"]) for row in told(warehouse, "snapshots")]
    assert sorted(name for name, _ in found) == ["shop.a", "shop.b", "shop.c"]
    assert dict(found)["shop.b"] == there


def test_branches_tags_and_runs(warehouse: Warehouse) -> None:
    warehouse.branch("feature")
    warehouse.repository.create_tag("v1", warehouse.head(), author="bob", note="first")
    warehouse.run("r1", Status.FAILED, a="1", note="model a failed")
    branches = {row["name"]: row for row in told(warehouse, "branches")}
    assert (branches["main"]["is_default"], branches["runs/r1"]["is_run"]) == (True, True)
    (tag,) = told(warehouse, "tags")
    assert (tag["name"], tag["tagged_by"], tag["note"]) == ("v1", "bob", "first")
    (run,) = told(warehouse, "runs")
    assert (run["invocation"], run["status"], run["note"]) == ("r1", "failed", "model a failed")


def test_conflicts_until_they_are_resolved(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    one = tables.entry([tables.block({1: "a"})], key=True)
    tables.put(t=one, u=one)
    warehouse.branch("feature")
    tables.put(t=tables.entry([tables.block({1: "b"})], parents=[one], key=True), u=None)
    theirs = tables.entry([tables.block({1: "c"})], parents=[one], key=True)
    tables.put("feature", t=theirs, u=theirs)
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "feature", "main", author="ann")
    rows, whole = told(warehouse, "conflicts")
    assert (rows["relation"], rows["kind"], rows["unresolved"]) == ("shop.t", "rows", 1)
    assert (rows["target"], rows["source"], rows["branch"]) == ("main", "feature", "merges/main")
    assert (whole["relation"], whole["message"]) == (
        "shop.u",
        "ours dropped it, theirs changed it",
    )
