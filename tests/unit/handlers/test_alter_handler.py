"""Columns change by metadata only; changes that rows don't allow are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql import create_table
from dbt.adapters.vcs.sql.syntax.parser import parse
from dbt.adapters.vcs.workspace.statement_scope import Scope
from tests.unit.shelf import Shelf

PRICE = pa.decimal128(5, 2)


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    shelf.run("create table t (id int, price decimal(5,2), name varchar(3))")
    shelf.append("t", id=[1, 2], price=pa.array([1, 2], PRICE), name=["a", None])
    return shelf


def columns(shelf: Shelf, name: str = "t") -> list[tuple[str, str]]:
    return [(field.name, field.type) for field in shelf.snapshot(name).schema.fields]


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("add columns (x int, y string)", "id price name x y"),
        ("add column x int first", "x id price name"),
        ("add column x int default NULL", "id price name x"),
        ("add columns (x int after id, y int after x)", "id x y price name"),
        (
            "add columns (x int default null after id, y int default null first)",
            "y id x price name",
        ),
        ("rename column identifier('price') to `c``d`", "id c`d name"),
        ("drop column price", "id name"),
        ("drop columns if exists (nix, id)", "price name"),
        ("rename column price to cost", "id cost name"),
        ("alter column name first", "name id price"),
        ("alter column id after price", "price id name"),
        ("change column id id bigint after name", "price name id"),
    ],
)
def test_columns_come_go_and_move(shelf: Shelf, statement: str, names: str) -> None:
    before = shelf.snapshot("t")
    shelf.run(f"alter table t {statement}")
    after = shelf.snapshot("t")
    assert [name for name, _ in columns(shelf)] == names.split()
    assert after.segments == before.segments, "no data is written"
    kept = {field.name: field.id for field in before.schema.fields}
    for field in after.schema.fields:
        assert kept.get(field.name, field.id) == field.id


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        ("id", "bigint"),
        ("price", "decimal(6,2)"),
        ("price", "decimal(20,4)"),
        ("name", "varchar(10)"),
        ("name", "string"),
    ],
)
def test_types_widen(shelf: Shelf, column: str, type_: str) -> None:
    before = shelf.snapshot("t").segments
    shelf.run(f"alter table t alter column {column} type {type_}")
    assert (column, type_) in columns(shelf)
    assert shelf.snapshot("t").segments == before


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        ("id", "smallint"),
        ("id", "string"),
        ("id", "double"),
        ("price", "decimal(5,3)"),
        ("price", "decimal(6,1)"),
        ("name", "varchar(2)"),
        ("name", "char(10)"),
    ],
)
def test_types_that_would_lose_something_are_refused(
    shelf: Shelf, column: str, type_: str
) -> None:
    with pytest.raises(UnsupportedError, match="Rebuild the table"):
        shelf.run(f"alter table t alter column {column} type {type_}")


@pytest.mark.parametrize(("old", "new"), [("decimal(5,2)", "decimal(7,3)"), ("float", "double")])
def test_a_partition_column_keeps_the_spelling_of_its_values(
    shelf: Shelf, old: str, new: str
) -> None:
    """An overwrite of the partition 1.500 would leave the rows of 1.50."""
    shelf.run(f"create table p (id int, by {old}) partitioned by (by)")
    with pytest.raises(UnsupportedError, match=r"partitions s\.p.*Rebuild the table"):
        shelf.run(f"alter table p alter column by type {new}")
    shelf.run("create table q (id int, by decimal(5,2)) partitioned by (by)")
    shelf.run("alter table q alter column by type decimal(9,2)")
    assert ("by", "decimal(9,2)") in [(f.name, f.type) for f in shelf.snapshot("q").schema.fields]


def test_a_widened_key_is_still_checked(shelf: Shelf) -> None:
    shelf.run("create table k (id int, primary key (id))")
    shelf.append("k", id=[1, 2])
    shelf.run("alter table k alter column id type bigint")
    shelf.append("k", id=[2**40])
    with pytest.raises(InputError, match="already have: 2"):
        shelf.append("k", id=[2, 3])


def test_not_null_asks_the_rows(shelf: Shelf) -> None:
    with pytest.raises(InputError, match=r"name of s\.t can't be NOT NULL: 1 rows"):
        shelf.run("alter table t alter column name set not null")
    shelf.run("alter table t alter column id set not null")
    with pytest.raises(InputError, match="NOT NULL"):
        shelf.append("t", id=pa.array([None], pa.int32()), price=pa.array([1], PRICE), name=["x"])
    shelf.run("alter table t alter column id drop not null")
    shelf.append("t", id=pa.array([None], pa.int32()), price=pa.array([1], PRICE), name=["x"])
    shelf.run("alter table t add column later int")
    with pytest.raises(InputError, match="3 rows"):
        shelf.run("alter table t alter column later set not null")


def test_not_null_asks_nested_rows_themselves(shelf: Shelf) -> None:
    shelf.run("create table n (a array<int>, s struct<x:int>)")
    shelf.append("n", a=[[1], []], s=[{"x": None}, None])
    shelf.run("alter table n alter column a set not null")
    with pytest.raises(InputError, match="1 rows"):
        shelf.run("alter table n alter column s set not null")


def test_a_column_that_rows_have_no_value_for_is_refused(shelf: Shelf) -> None:
    head = shelf.line.head()
    with pytest.raises(InputError, match="holds 2 rows without it"):
        shelf.run("alter table t add column x int not null")
    assert shelf.line.head() == head


def test_a_default_goes(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only Spark could check whether it is one.
    monkeypatch.setattr(create_table, "check_default", lambda *_: None)
    monkeypatch.setattr(Scope, "session", None)
    shelf.run("create table d (id int, n int default 1)")
    shelf.run("alter table d alter column n drop default")
    assert shelf.snapshot("d").schema.field("n").default is None


def test_partition_columns_stay_last(shelf: Shelf) -> None:
    shelf.run("create table p (a int, b int, d int, e int) partitioned by (d, e)")
    shelf.run("alter table p add column c int after a")
    assert [name for name, _ in columns(shelf, "p")] == ["a", "c", "b", "d", "e"]
    for statement in ("alter column a after d", "alter column e first", "alter column e after b"):
        with pytest.raises(InputError, match="partition columns come last"):
            shelf.run(f"alter table p {statement}")
    with pytest.raises(InputError, match="Only partition columns"):
        shelf.run("alter table p drop columns (a, b, c)")
    with pytest.raises(InputError, match="partitioned, keyed or clustered by e"):
        shelf.run("alter table p drop column e")


@pytest.mark.parametrize("column", ["a", "nix"])
@pytest.mark.parametrize(
    "statement", ["truncate table p", "show partitions p", "insert overwrite p"]
)
def test_a_partition_clause_names_the_partition_columns(
    shelf: Shelf, statement: str, column: str
) -> None:
    shelf.run("create table p (a int, d int, e int) partitioned by (d, e)")
    rows = " select 1" if statement.startswith("insert") else ""
    condition = " if not exists" if rows else ""
    with pytest.raises(InputError, match=f"{column} is not a partition column.*: d, e"):
        shelf.run(f"{statement} partition ({column} = 1){condition}{rows}")


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("add column ID int", "already exists"),
        ("rename column id to NAME", "already exists"),
        ("rename column nix to x", "no column 'nix'"),
        ("drop column nix", "no column 'nix'"),
        ("alter column nix type bigint", "no column 'nix'"),
        ("alter column id after nix", "no column 'nix'"),
        ("alter column id after id", "after itself"),
        ("drop columns (id, price, name)", "at least one column"),
    ],
)
def test_columns_that_are_not_there(shelf: Shelf, statement: str, text: str) -> None:
    with pytest.raises(InputError, match=text):
        shelf.run(f"alter table t {statement}")


def test_what_changes_nothing_makes_no_version(shelf: Shelf) -> None:
    head = shelf.line.head()
    shelf.run("alter table t alter column id type int")
    shelf.run("alter table t alter column id drop not null")
    shelf.run("alter table t alter column id first")
    assert shelf.line.head() == head


def test_a_table_over_files_is_refused_with_the_way_to_copy_them(shelf: Shelf) -> None:
    with pytest.raises(UnsupportedError) as caught:
        shelf.run("create table u using csv options (header 'true') location '/x/it\\'s'")
    view, table = str(caught.value).split("`")[1:4:2]
    assert view == (
        "create temporary view files using csv options ('header' 'true', 'path' '/x/it\\'s')"
    )
    assert table == "create table u as select * from files"
    for step in (view, table):
        parse(step)
    with pytest.raises(UnsupportedError, match="create temporary view files using parquet"):
        shelf.run("create table u location '/x'")


def test_properties_of_a_schema_come_and_go(shelf: Shelf) -> None:
    shelf.run("alter schema s set dbproperties ('a' = '1', 'b' = '2')")
    shelf.run("alter schema s unset dbproperties ('a', 'nix')")
    assert shelf.begin().schema_info("s").properties == {"b": "2"}
