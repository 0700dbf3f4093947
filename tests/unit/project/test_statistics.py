"""Statistics of relations for the docs and freshness checks, from manifests only."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.core.model import NodeRun, RelationName, Run
from dbt.adapters.vcs.core.origins.lineage import introductions
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.objects import object_path
from dbt.adapters.vcs.project import dbt_catalog
from dbt.adapters.vcs.project.dbt_catalog import loaded_at
from dbt.adapters.vcs.relation import VcsRelation
from dbt.adapters.vcs.workspace.mounts import External
from dbt.adapters.vcs.workspace.overlay import Overlay
from tests.unit.shelf import Shelf
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

T = RelationName("s", "t")


def whence(warehouse: Warehouse, limit: int = 100) -> dict[str, str]:
    shown = [RelationName("shop", name) for name in ("a", "b", "c", "v", "absent")]
    found = introductions(warehouse.repository, warehouse.head(), shown, limit=limit)
    return {name.identifier: item.commit.message for name, item in found.items()}


def test_each_relation_comes_from_the_commit_that_changed_it_last() -> None:
    warehouse = Warehouse()
    warehouse.put(message="one", a="x", b="x", v=warehouse.view("select 1"))
    warehouse.put(message="two", b="y")
    warehouse.put(message="three", v=warehouse.view("select 2"))
    warehouse.put(message="four", b=None)
    warehouse.put(message="five", b="y")
    assert whence(warehouse) == {"a": "one", "b": "five", "v": "three"}
    assert whence(warehouse, limit=3) == {"b": "five", "v": "three"}


def test_what_a_merge_brought_in_comes_from_the_other_side() -> None:
    warehouse = Warehouse()
    warehouse.put(message="base", a="x", b="x", c="x")
    warehouse.branch("feature")
    warehouse.put("feature", message="theirs", a="y")
    warehouse.put(message="ours", b="y")
    merge(warehouse.repository, "feature", "main", author="ann")
    assert whence(warehouse) == {"a": "theirs", "b": "ours", "c": "base"}


def table_of(shelf: Shelf, *, schema: str = "s") -> list[dict[str, Any]]:
    found = dbt_catalog.table(shelf.begin(), [schema])
    return [dict(zip(found.column_names, row, strict=True)) for row in found.rows]


def test_the_catalog_tells_types_and_does_not_guess_them() -> None:
    shelf = Shelf()
    shelf.run("create table s.t (id bigint comment '007', v string) comment '1e5'")
    shelf.append("t", id=[1, 2], v=["a", "b"])
    first, second = table_of(shelf)
    assert (first["table_comment"], first["column_comment"]) == ("1e5", "007")
    assert (first["stats:rows:value"], first["stats:files:value"]) == (2, 1)
    assert first["stats:rows:include"] is True
    assert first["stats:branch:value"] == "main"
    assert first["stats:commit:value"] == shelf.line.head()[:12]
    assert first["stats:author:value"] == "ann"
    assert (second["column_index"], second["column_name"]) == (2, "v")
    assert second["stats:rows:value"] is None, "dbt reads the first row of a relation"
    assert "stats:invocation:value" not in first


def test_what_makes_a_table_stale_is_told() -> None:
    tables = Tables(Warehouse())
    raw = tables.entry([tables.block({1: "a"})])
    daily = tables.entry([], inputs={"shop.raw": raw})
    total = tables.entry([], inputs={"shop.daily": daily})
    tables.put(raw=raw, daily=daily, total=total)

    def told() -> dict[str, Any]:
        repository, base = tables.warehouse.repository, tables.warehouse.head()
        overlay = Overlay(repository=repository, base=base, tree=repository.tree(base))
        found = dbt_catalog.table(overlay, ["shop"])
        rows = [dict(zip(found.column_names, row, strict=True)) for row in found.rows]
        return {
            row["table_name"]: row.get("stats:stale:value")
            for row in rows
            if row["column_index"] == 1
        }

    assert told() == {"raw": "no", "daily": "no", "total": "no"}
    first = tables.entry([tables.block({1: "b"})], parents=[raw])
    at = datetime_of(tables.warehouse.repository.objects.snapshot(first.snapshot).created_at)
    tables.put(raw=first)
    tables.put(raw=tables.entry([tables.block({1: "c"})], parents=[first]))
    since = f"yes since {at.isoformat(sep=' ', timespec='seconds')}: shop."
    assert told() == {"raw": "no", "daily": f"{since}raw", "total": f"{since}daily"}


def test_an_input_whose_history_was_collected_is_stale_since_what_is_left() -> None:
    tables = Tables(Warehouse())
    raw = tables.entry([tables.block({1: "a"})])
    tables.put(raw=raw, daily=tables.entry([], inputs={"shop.raw": raw}))
    lost = tables.entry([tables.block({1: "b"})], parents=[raw])
    last = tables.entry([tables.block({1: "c"})], parents=[lost])
    tables.put(raw=last)
    repository, base = tables.warehouse.repository, tables.warehouse.head()
    at = datetime_of(repository.objects.snapshot(last.snapshot).created_at)
    repository.blobs.delete(object_path("snapshot", lost.snapshot))
    fresh = Repository.open(repository.blobs)
    overlay = Overlay(repository=fresh, base=base, tree=fresh.tree(base))
    relation = VcsRelation.create(schema="shop", identifier="daily")
    found = dbt_catalog.single(overlay, relation, RelationName("shop", "daily"))
    assert found is not None
    since = at.isoformat(sep=" ", timespec="seconds")
    assert found.stats["stale"].value == f"yes since {since}: shop.raw"


def test_the_docs_show_branch_rows_and_stale_first() -> None:
    shelf = Shelf()
    shelf.run("create table s.t (id bigint)")
    relation = VcsRelation.create(schema="s", identifier="t")
    found = dbt_catalog.single(shelf.begin(), relation, T)
    assert found is not None
    # As the page of dbt docs sorts, and HTML leaves out the blanks.
    labels = [item.label.strip() for item in sorted(found.stats.values(), key=lambda i: i.label)]
    assert labels[:4] == ["Branch", "Rows", "Stale", "Author"]
    assert [item.id for item in found.stats.values()][:4] == ["branch", "rows", "stale", "bytes"]


def test_a_schema_that_is_not_there_has_an_empty_catalog() -> None:
    assert table_of(Shelf(), schema="nowhere") == []


def test_the_run_is_told_and_an_uncommitted_version_has_no_commit() -> None:
    warehouse = Warehouse()
    taken = NodeRun(
        id="model.s.a", status="success", relation="shop.a", reused="feature/tax", saved=3.25
    )
    other = NodeRun(id="model.s.b", status="success", relation="shop.b", reused="other")
    run = Run(invocation="i-1", command="build", git_sha="0123456789abcdef", nodes=(taken, other))
    warehouse.put(message="dbt build\n\nmore", a="x", run=run)
    shelf = Shelf(warehouse.blobs)
    relation = VcsRelation.create(schema="Shop", identifier="A")
    name = RelationName("shop", "a")
    found = dbt_catalog.single(shelf.begin(), relation, name)
    assert found is not None
    told = {id: item.value for id, item in found.stats.items()}
    assert (told["message"], told["invocation"]) == ("dbt build", "i-1")
    assert told["git_sha"] == "0123456789ab"
    assert told["reused"] == "feature/tax"
    assert "3.2 s saved" in found.stats["reused"].description
    overlay = shelf.begin()
    shelf.run("alter table shop.a set tblproperties ('x' = 'y')", overlay)
    changed = dbt_catalog.single(overlay, relation, name)
    assert changed is not None
    assert {"rows", "branch"} <= set(changed.stats)
    assert "commit" not in changed.stats


def test_rows_are_as_old_as_their_last_write() -> None:
    shelf = Shelf()
    shelf.run("create table s.t (id bigint)")
    shelf.append("t", id=[1])
    shelf.append("t", id=[2])
    written = shelf.snapshot("t").created_at
    shelf.run("alter table s.t add column v string")
    shelf.run("create table s.c shallow clone s.t")
    shelf.run("optimize s.t")
    shelf.run("alter table s.t set tblproperties ('x' = 'y')")
    assert shelf.snapshot("t").created_at > written
    assert loaded_at(shelf.begin(), T, {}) == written
    assert loaded_at(shelf.begin(), RelationName("s", "c"), {}) == written
    shelf.append("t", id=[3], v=["x"])
    assert loaded_at(shelf.begin(), T, {}) == shelf.snapshot("t").created_at


def test_what_has_no_time_says_so() -> None:
    shelf = Shelf()
    with pytest.raises(NotFoundError, match=r"no table or view s\.t here"):
        loaded_at(shelf.begin(), T, {})
    external = External(location="/raw/t.csv", format="csv", options={})
    with pytest.raises(InputError, match=r"s\.t refers to files at /raw/t\.csv.*loaded_at_field"):
        loaded_at(shelf.begin(), T, {T: external})
    warehouse = Warehouse()
    warehouse.put(v=warehouse.view("select 1"))
    with pytest.raises(InputError, match=r"shop\.v is a view.*loaded_at_field"):
        loaded_at(Shelf(warehouse.blobs).begin(), RelationName("shop", "v"), {})
