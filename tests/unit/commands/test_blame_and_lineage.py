"""Who changed a row, and what a version was made from."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec
import pytest

from dbt.adapters.vcs.commands.blame import BlameReport, blame, blame_text
from dbt.adapters.vcs.commands.layout import fitted_lines
from dbt.adapters.vcs.commands.lineage import read_lineage
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.objects import object_path
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse


@pytest.fixture
def tables(warehouse: Warehouse) -> Tables:
    return Tables(warehouse)


def who(tables: Tables, revision: str = "main", **key: str) -> BlameReport:
    return blame(tables.warehouse.repository, "shop.t", key, revision)


def test_the_commit_that_added_changed_or_deleted_a_row(tables: Tables) -> None:
    one = tables.block({1: "a", 2: "b", 3: None})
    first = tables.entry([one], node="model.shop.t")
    made = tables.put(t=first)
    tombstone = tables.tombstone(one, {1: (2, "b")})
    two = tables.block({2: "B", 4: "d"})
    second = tables.entry([one, two], [tombstone], parents=[first])
    changed = tables.put(t=second)
    tables.put(u=first)
    gone = tables.tombstone(one, {0: (1, "a")})
    third = tables.entry([one, two], [tombstone, gone], parents=[second])
    deleted = tables.put(t=third)
    three = who(tables, id="3")
    assert (three.commit, three.how, three.after) == (made, "added", {"id": "3", "name": "NULL"})
    assert three.node == "model.shop.t"
    two_ = who(tables, id="2")
    assert (two_.commit, two_.how) == (changed, "modified")
    assert (two_.before, two_.after) == ({"id": "2", "name": "b"}, {"id": "2", "name": "B"})
    assert who(tables, "main~2", id="2").commit == changed
    assert who(tables, id="2", revision="main~3").commit == made
    assert (who(tables, id="4").commit, who(tables, id="4").how) == (changed, "added")
    last = who(tables, id="1")
    assert (last.commit, last.how, last.after) == (deleted, "deleted", None)
    assert who(tables, name="d").commit == changed


def test_a_rewrite_of_the_same_rows_changes_none(tables: Tables) -> None:
    first = tables.entry([tables.block({1: "a", 2: "b"})])
    made = tables.put(t=first)
    tables.put(t=tables.entry([tables.block({2: "b", 1: "a"})], parents=[first]))
    assert who(tables, id="1").commit == made


def test_blame_follows_merges_and_new_names(tables: Tables) -> None:
    one = tables.block({1: "a"})
    first = tables.entry([one])
    made = tables.put(old=first)
    tables.put(old=None, t=tables.renamed(first, "name", "title"))
    tables.warehouse.branch("feature")
    there = tables.entry([one, tables.block({2: "b"})], parents=[first])
    there = tables.renamed(there, "name", "title")
    added = tables.put("feature", t=there)
    tables.put(other=first)
    merge(tables.warehouse.repository, "feature", "main", author="ann")
    assert who(tables, id="2").commit == added
    found = who(tables, id="1", title="a")
    assert (found.commit, found.relation) == (made, "shop.old")


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        ({"id": "9"}, NotFoundError, "had a row with id=9"),
        ({"id": "x"}, InputError, "not a value of the column id"),
        ({"nix": "1"}, InputError, "no column 'nix'"),
        ({}, InputError, "needs a key"),
    ],
)
def test_blame_of_what_is_not_there(
    tables: Tables, key: dict[str, str], error: type[Exception], words: str
) -> None:
    tables.put(t=tables.entry([tables.block({1: "a"})]))
    with pytest.raises(error, match=words):
        who(tables, **key)
    tables.put(t=None)
    with pytest.raises(NotFoundError, match="does not exist at 'main'"):
        who(tables, id="1")


def test_a_missing_table_is_named_where_history_is_damaged(tables: Tables) -> None:
    warehouse = tables.warehouse
    lost = tables.put(t=tables.entry([tables.block({1: "a"})]))
    tables.put(t=None)
    warehouse.blobs.delete(object_path("tree", warehouse.repository.objects.commit(lost).tree))
    fresh = Repository.open(warehouse.blobs)
    with pytest.raises(NotFoundError, match=r"blame needs a table\. Check the name"):
        blame(fresh, "shop.t", {"id": "1"}, "main")


def test_lineage_goes_back_through_what_was_read(tables: Tables) -> None:
    raw = tables.entry([tables.block({1: "a"})], node="model.shop.raw")
    run = Run(invocation="i1", command="build", git_sha="f00d")
    first = tables.warehouse.put(raw=raw, run=run)
    mid = tables.entry([], inputs={"shop.raw": raw}, node="model.shop.mid")
    tables.put(mid=mid)
    top = tables.entry([], inputs={"shop.mid": mid, "shop.raw": raw})
    tables.put(top=top)
    newer = tables.entry([], parents=[raw])
    tables.put(raw=newer)
    repository = tables.warehouse.repository
    found = read_lineage(repository, "shop.top", branch="main")
    assert [item.relation for item in found.next] == ["shop.mid", "shop.raw"]
    (below,) = found.next[0].next
    assert (below.version, below.commit, below.node) == (raw.snapshot, first, "model.shop.raw")
    assert (below.git_sha, below.invocation, below.next) == ("f00d", "i1", ())
    assert msgspec.json.encode(found)
    flat = read_lineage(repository, "shop.top", branch="main", depth=0)
    assert [item.next for item in flat.next] == [(), ()]
    back = read_lineage(repository, "shop.raw@main~3", branch="main", forward=True)
    assert {item.relation for item in back.next} == {"shop.mid", "shop.top"}
    assert [item.relation for item in back.next if item.next] == ["shop.mid"]
    assert read_lineage(repository, "shop.raw", branch="main", forward=True).next == ()
    with pytest.raises(NotFoundError, match="no table"):
        read_lineage(repository, "shop.nix", branch="main")


def test_a_blamed_row_shows_its_key_and_what_changed_on_a_narrow_terminal() -> None:
    row = {"region": "north", "note": "much the same " * 5, "price": "12.00", "id": "7"}
    moment = datetime(2026, 11, 20, tzinfo=timezone.utc)
    report = BlameReport(
        relation="shop.t",
        key={"ID": "7"},
        how="modified",
        commit=CommitId("4c1f09a2b7d3" * 5),
        author="ann",
        committed_at=moment,
        summary="Raise prices " * 9,
        invocation=None,
        node=None,
        version=SnapshotId("0" * 64),
        before=row,
        after={**row, "price": "13.50"},
    )
    lines = [
        "".join(span.text for span in line.spans)
        for line in fitted_lines(blame_text(report, moment), 70)
    ]
    assert lines[0].startswith("4c1f09a2b7d3 modified ID=7 of shop.t: Raise")
    assert lines[0].endswith("…  ann, just now")
    lines = [
        "".join(span.text for span in line.spans)
        for line in fitted_lines(blame_text(report, moment), 20)
    ]
    assert [line.split() for line in lines[-3:]] == [
        ["price", "id", "…"],
        ["-", "12.00", "7", "…"],
        ["+", "13.50", "7", "…"],
    ]
