"""Diff: two commits relation by relation, and two versions of a table row by row."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest

from dbt.adapters.vcs.changes.diffs import three_way
from dbt.adapters.vcs.commands.diff import Ends, read_diff, read_ends
from dbt.adapters.vcs.commands.diff_report import (
    ColumnDiff,
    DiffReport,
    diff_schema_text,
    diff_summary_text,
    diff_text,
)
from dbt.adapters.vcs.commands.layout import plain_lines
from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.table.limits import Limits
from tests.unit.shelf import Shelf
from tests.unit.warehouse import Warehouse

WORDS = (("v1..main", "s.t"), ("s.u@v1", "s.t@v1"))
KEY = "tblproperties ('primary_key' = 'id')"


@pytest.fixture(scope="module")
def shelf() -> Shelf:
    """`dev` left `main`; then dev got a table and rows of t, main lost one and has a column more.

    t is 1, 2 on both; 3 on dev; main has dropped u and renamed v's column.
    """
    shelf = Shelf()
    shelf.run(f"create table s.t (id bigint, price decimal(5,2)) {KEY}")
    prices = pa.array([Decimal("1.50"), None], pa.decimal128(5, 2))
    shelf.append("t", id=[1, 2], price=prices)
    shelf.run("create table s.u (id bigint)")
    shelf.append("u", id=[1, 1, None])
    shelf.run("create table s.v (name string)")
    repository = shelf.repository
    head = repository.resolve("main")
    repository.create_tag("v1", head, author="ann")
    entry = repository.tree(head).entry(RelationName("s", "t"))
    repository.snapshots.create(
        RelationName("s", "t"), "two", entry.snapshot, at=head, author="ann"
    )
    shelf.append("t", id=[3], price=pa.array([Decimal("9.00")], pa.decimal128(5, 2)))
    shelf.run("drop table s.u")
    shelf.run("alter table s.v rename column name to title")
    shelf.run("alter table s.v add columns (size int)")
    shelf.run("create table s.w (id bigint)")
    repository.create_branch("dev", head, author="ann")
    return shelf


def report(shelf: Shelf, *words: str, **options: object) -> DiffReport:
    return read_diff(shelf.repository, words, branch="main", **options)


def test_two_commits(shelf: Shelf) -> None:
    found = report(shelf, "v1..main")
    assert not found.is_equal
    numbers = {
        item.name: (item.how, item.rows_added, item.rows_removed, item.rows_modified)
        for item in found.relations
    }
    assert numbers == {
        "s.t": ("changed", 1, 0, 0),
        "s.u": ("removed", 0, 3, 0),
        "s.v": ("changed", 0, 0, 0),
        "s.w": ("added", 0, 0, 0),
    }
    (v,) = [item for item in found.relations if item.name == "s.v"]
    assert v.columns == (
        ColumnDiff(kind="renamed", column="title", before="name", after="title"),
        ColumnDiff(kind="added", column="size", before=None, after="int"),
    )
    assert found.rows == ()
    assert plain_lines(diff_text(found)) == [
        "  changed  table  s.t  +1 -0 ~0",
        "  removed  table  s.u  +0 -3 ~0",
        "  changed  table  s.v  +0 -0 ~0",
        "      column title renamed: name -> title",
        "      column size added: int",
        "  added    table  s.w  +0 -0 ~0",
        "4 relations, +1 -3 ~0 rows",
    ]
    assert plain_lines(diff_summary_text(found)) == ["4 relations, +1 -3 ~0 rows"]
    assert plain_lines(diff_schema_text(found)) == [
        "s.v",
        "      column title renamed: name -> title",
        "      column size added: int",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("main...dev",), "are equal"),
        (("dev", "v1"), "are equal"),
        (("main..main",), "main is compared with itself"),
        (("main",), "main is compared with itself"),
    ],
)
def test_equal_commits(shelf: Shelf, words: tuple[str, ...], told: str) -> None:
    found = report(shelf, *words)
    assert found.is_equal
    assert found.relations == ()
    assert told in plain_lines(diff_text(found))[0]


@pytest.mark.parametrize(
    "words",
    [
        ("dev...main", "s.t"),
        ("two", "main", "s.t"),
        ("s.t@two",),
        ("s.t@v1", "s.t"),
        ("v1", "S.T"),
    ],
)
def test_the_rows_of_a_table(shelf: Shelf, words: tuple[str, ...]) -> None:
    found = report(shelf, *words)
    assert found.heads == ("_change_type", "id", "price")
    assert found.rows == ({"_change_type": "insert", "id": 3, "price": Decimal("9.00")},)
    assert found.relations[0].rows_added == 1
    assert not found.is_equal


def test_rows_as_lines(shelf: Shelf) -> None:
    found = report(shelf, "main..dev", "s.u", limit=2)
    assert found.row_count == 3
    assert plain_lines(diff_text(found)) == [
        "  added    table  s.u  +3 -0 ~0",
        "_change_type  id",
        "insert        1",
        "insert        1",
        "1 more row: use --limit to show more, or --limit 0 for all.",
    ]
    signed = report(shelf, "main..dev", "s.u", shape="signed")
    assert signed.rows == ({"diff_count": 2, "id": 1}, {"diff_count": 1, "id": None})


def test_two_tables(shelf: Shelf) -> None:
    found = report(shelf, "s.t@dev", "s.u@dev", columns=["id"])
    assert found.relations[0].name == "s.t -> s.u"
    assert [(row["_change_type"], row["id"]) for row in found.rows] == [
        ("delete", 2),
        ("insert", 1),
        ("insert", None),
    ]


def test_a_view_has_no_rows(warehouse: Warehouse) -> None:
    warehouse.put(v=warehouse.view("select 1"), a="1")
    warehouse.branch("dev")
    warehouse.put(v=warehouse.view("select 2"), a="2")
    found = read_diff(warehouse.repository, ["dev..main", "shop.v"], branch="main")
    (relation,) = found.relations
    assert (relation.name, relation.kind, relation.how) == ("shop.v", "view", "changed")
    assert found.rows == ()


def test_columns_are_chosen(shelf: Shelf) -> None:
    assert report(shelf, "v1..main", "s.t", columns=["ID"]).heads == ("_change_type", "id")
    with pytest.raises(InputError, match="no column 'size'"):
        report(shelf, "v1..main", "s.t", columns=["size"])
    with pytest.raises(InputError, match="--columns needs a table"):
        report(shelf, "v1..main", columns=["id"])


def test_what_is_too_large_is_counted_from_files(shelf: Shelf) -> None:
    little = Limits(rows=0, bytes=0)
    shelf.repository.create_branch("other", shelf.repository.resolve("main"), author="ann")
    (counted,) = report(shelf, "s.u@v1", "s.t@v1", limits=little, limit=0).relations
    assert not counted.is_exact
    assert (counted.rows_added, counted.rows_removed) == (2, 3)


@pytest.mark.parametrize(
    ("words", "shape"),
    [
        *((words, shape) for words in WORDS for shape in ("changes", "wide", "signed")),
        # The other tables have no common base.
        (WORDS[0], "three_way"),
    ],
)
@pytest.mark.parametrize("limit", [None, 1])
def test_rows_that_are_too_many_for_this_process_are_the_same(
    shelf: Shelf, words: tuple[str, str], shape: str, limit: int | None
) -> None:
    here = report(shelf, *words, shape=shape, limit=limit)
    there = report(shelf, *words, shape=shape, limit=limit, limits=Limits(rows=-1, bytes=-1))
    assert (there.relations, there.heads, there.key) == (here.relations, here.heads, here.key)
    assert (there.row_count, len(there.rows)) == (here.row_count, len(here.rows))
    assert there.rows.numeric == here.rows.numeric
    if limit is None:
        assert Counter(map(repr, there.rows)) == Counter(map(repr, here.rows))
        assert there.rows.to_arrow().num_rows == here.row_count


def test_large_relations_are_counted_one_by_one() -> None:
    shelf = Shelf()
    for ids in ([1, 2], [2, 3, 4]):
        shelf.run("drop table if exists s.t")
        shelf.run(f"create table s.t (id bigint) {KEY}")
        shelf.append("t", id=ids)
        shelf.repository.create_tag(f"v{len(ids)}", shelf.repository.resolve("main"), author="a")
    for rows, told in ((15, (2, 1, True)), (4, (3, 2, False))):
        limits = Limits(rows=rows, bytes=1 << 20)
        (found,) = read_diff(shelf.repository, ["v2..v3"], branch="main", limits=limits).relations
        assert (found.rows_added, found.rows_removed, found.is_exact) == told


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        (("nope..main",), NotFoundError, "nope"),
        (("a", "b", "c"), InputError, "at most one table"),
        (("v1..main", "s.nope"), NotFoundError, r"no s\.nope at v1 or at main"),
        (("main", "s.nope"), NotFoundError, r"at main\. Check the spelling: there are s\.t, "),
        (("v1..main", "s.t@v1"), InputError, "at most one table"),
        (("s.t@nope",), NotFoundError, "not a version of s.t"),
        (("a....b",), InputError, "not of the form"),
    ],
)
def test_refusals(shelf: Shelf, words: tuple[str, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        report(shelf, *words)


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        ((), Ends("main...", "dev")),
        (("v1",), Ends("v1", "dev")),
        (("s.t",), Ends("main...", "dev", "s.t")),
        (("v1...main", "s.t"), Ends("v1...", "main", "s.t")),
        (("s.t@v1", "s.u"), Ends("s.t@v1", "s.u", tables=True)),
        (("main@{1}",), Ends("main@{1}", "dev")),
    ],
)
def test_ends(shelf: Shelf, words: tuple[str, ...], ends: Ends) -> None:
    assert read_ends(shelf.repository, words, "dev") == ends


def sides() -> tuple[Shelf, str]:
    """A table that main and side changed, and the statement that compares both with their base."""
    shelf = Shelf()
    shelf.run(f"create table s.w (id bigint, v string) {KEY}")
    shelf.append("w", id=[1, 2, 3], v=["a", "b", "c"])
    repository = shelf.repository
    parted = repository.resolve("main")
    shelf.delete("w", (0, 2))
    shelf.append("w", id=[5], v=["e"])
    main = repository.branch("main")
    repository.create_branch("side", main.head, author="ann")
    assert repository.move_branch(main, parted, author="ann", action="reset")
    shelf.append("w", id=[6], v=["f"])
    return shelf, "snapshot diff w and w{snapshot='side'} as three_way"


@pytest.mark.parametrize("shape", ["three_way", "wide"])
def test_a_statement_on_too_many_rows_needs_no_engine(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, text = sides()
    text = text.replace("three_way", shape)
    asked = (
        text + " limit 9",
        text + " limit 2",
        text + " output count",
        text + " output count limit 2",
    )
    if shape == "wide":
        asked += (text + " output summary",)
    small = [rows_of(shelf, each) for each in asked]
    # A shelf has no engine to start.
    monkeypatch.setattr(Limits, "allow", lambda *_: False)
    large = [rows_of(shelf, each) for each in asked]
    assert large[0] == small[0]
    assert list(map(len, large)) == list(map(len, small))
    assert large[2:] == small[2:]


def rows_of(shelf: Shelf, text: str) -> list[tuple[object, ...]]:
    rows = shelf.run(text).rows
    assert rows is not None
    return sorted(rows.fetch(), key=repr)


def test_both_sides_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf, text = sides()
    planned: list[object] = []
    plan, change = three_way.Plan.of, three_way.delta
    monkeypatch.setattr(
        three_way.Plan, "of", lambda *given: planned.append("plan") or plan(*given)
    )
    monkeypatch.setattr(
        three_way, "delta", lambda *given: planned.append("delta") or change(*given)
    )
    assert len(rows_of(shelf, text)) == 3
    assert planned == ["plan", "delta", "delta"]


def test_a_statement_compares_both_sides_with_their_base() -> None:
    shelf, text = sides()
    rows = shelf.run(text).rows
    assert rows is not None
    assert sorted(rows.fetch()) == [
        (3, None, "removed", 3, 3, None, "c", "c", None),
        (5, None, "added", None, None, 5, None, None, "e"),
        (6, "added", None, None, 6, None, None, "f", None),
    ]
    counted = shelf.run(f"{text} output count").rows
    assert counted is not None
    assert list(counted.fetch()) == [(3,)]
    shelf.run("create table s.t (id bigint)")
    for wrong, why in (
        (f"{text} output summary", "counts what differs between two versions"),
        ("snapshot diff w and t as three_way", "have no common ancestor"),
        (text.replace("as", "columns (x) as"), "no column 'x'"),
    ):
        with pytest.raises(InputError, match=why):
            shelf.run(wrong)


def test_columns_of_types_that_no_engine_compares_are_counted_from_files() -> None:
    shelf = Shelf()
    shelf.run("create table s.t (id bigint, at string)")
    shelf.append("t", id=[1, 2], at=["a", "b"])
    repository = shelf.repository
    repository.create_tag("v1", repository.resolve("main"), author="ann")
    # Another table of the name, so the columns are compared by their names.
    shelf.run("drop table s.t")
    shelf.run("create table s.t (id bigint, at date)")
    shelf.append("t", id=[1], at=pa.array([0], pa.date32()))
    (found,) = report(shelf, "v1..main").relations
    assert (found.rows_added, found.rows_removed, found.is_exact) == (1, 2, False)
    (counted,) = report(shelf, "s.t@v1", "s.t@main", limit=0).relations
    assert (counted.rows_added, counted.rows_removed, counted.is_exact) == (1, 2, False)
    with pytest.raises(UnsupportedError, match="was string and is date"):
        report(shelf, "s.t@v1", "s.t@main")
