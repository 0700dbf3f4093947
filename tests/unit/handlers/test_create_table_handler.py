"""`create table`: clauses are carried out or refused, and wrong ones cost no rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.commands.options import NameList
from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError, VcsError
from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.sql.syntax.lexer import quote_name
from dbt.adapters.vcs.sql.syntax.names import list_of, names_in
from dbt.adapters.vcs.sql.syntax.parser import Query, parse
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from tests.unit.fake_engine import FakeEngine
from tests.unit.shelf import Shelf
from tests.unit.warehouse import Warehouse


def test_a_table_like_another_has_its_columns_and_what_is_said_of_itself() -> None:
    shelf = Shelf()
    shelf.run("create table t (id int not null comment 'the key', d date) partitioned by (d)")
    shelf.run(
        "create table u like t using parquet comment 'few' cluster by (id) "
        "tblproperties ('primary_key' = 'id', 'vcs.write_mode' = 'MERGE_ON_READ', 'x' = 'y')"
    )
    old, new = shelf.snapshot("t"), shelf.snapshot("u")
    assert new.schema == old.schema and new.partition_by == old.partition_by
    assert new.table != old.table
    assert (new.comment, new.cluster_by, new.primary_key) == ("few", ("id",), ("id",))
    assert new.properties == {"primary_key": "id", "vcs.write_mode": "merge_on_read", "x": "y"}


@pytest.mark.parametrize(
    ("clause", "error", "said"),
    [
        ("using delta", UnsupportedError, "`using delta` is not possible"),
        ("stored as orc", UnsupportedError, "`using orc` is not possible"),
        ("location '/x'", UnsupportedError, "no location of its own"),
        ("options (path '/x')", UnsupportedError, "no location of its own"),
        ("tblproperties ('vcs.write_mode' = 'fast')", InputError, "expected one of auto"),
        ("tblproperties ('primary_key' = 'no')", InputError, "no column 'no'"),
    ],
)
def test_a_clause_of_a_table_like_another_is_never_dropped(
    clause: str, error: type[VcsError], said: str
) -> None:
    shelf = Shelf()
    shelf.run("create table t (id int)")
    with pytest.raises(error, match=said):
        shelf.run(f"create table u like t {clause}")


@pytest.mark.parametrize("name", ["t", "s.t"])
def test_the_first_table_makes_the_schema_of_names_without_one(name: str) -> None:
    # Packages make their tables in hooks, maybe before a model makes the profile's schema.
    shelf = Shelf()
    shelf.run("drop schema s")
    with pytest.raises(NotFoundError, match=r"no schema 'other'.*create schema other"):
        shelf.run("create table other.t (id int)")
    shelf.run(f"create table if not exists {name} (id int)")
    assert shelf.rows("t") == []


def test_two_that_make_the_schema_at_once_both_land() -> None:
    shelf = Shelf()
    shelf.run("drop schema s")
    first, second = shelf.begin(), shelf.begin()
    shelf.run("create table a (id int)", first)
    shelf.run("create table b (id int)", second)
    shelf.line.land(first, "a")
    shelf.line.land(second, "b")
    assert list(shelf.begin().entries("s")) == ["a", "b"]


def test_a_table_like_another_replaces_one_if_told_to() -> None:
    shelf = Shelf()
    shelf.run("create table t (id int)")
    shelf.run("create table u (a string)")
    shelf.append("u", a=["x"])
    with pytest.raises(InputError, match="use create or replace table"):
        shelf.run("create table u like t")
    shelf.run("create or replace table u like t")
    assert shelf.snapshot("u").schema.names == ("id",)
    assert shelf.rows("u") == []


@pytest.mark.parametrize(
    "clause",
    [
        "tblproperties ('vcs.write_mode' = 'fast')",
        "tblproperties ('primary_key' = 'no')",
        "tblproperties ('primary_key' = 'id, id')",
        "tblproperties ('vcs.check.one' = 'select 1')",
    ],
)
def test_a_wrong_setting_is_refused_before_rows_are_computed(clause: str) -> None:
    warehouse = Warehouse()
    warehouse.put(raw="one")
    line = BranchLine(warehouse.repository, "main", "ann")
    engine = FakeEngine(warehouse.blobs)
    connection = Workspace(warehouse.repository, line, lambda: engine, schema="shop").connect("t")
    before = set(warehouse.blobs.walk("data"))
    with pytest.raises(InputError):
        connection.execute(
            f"create table shop.t {clause} as select * from shop.raw",
            connection.workspace.begin(),
            origin=Origin(),
        )
    assert set(warehouse.blobs.walk("data")) == before


@pytest.mark.parametrize("name", ["a,b", "a`b", " a", "`", "a``,`b"])
def test_any_name_can_be_in_a_list_of_columns(name: str) -> None:
    shelf, quoted = Shelf(), quote_name(name)
    columns = f"({quoted} int, c int, d int"
    shelf.run(f"create table t {columns}, primary key ({quoted}, c))")
    shelf.run("alter table t unset tblproperties if exists ('vcs.unique_key')")
    for keys in (f"'primary_key' = '{quoted}, c'", f"'vcs.unique_key' = '{quoted} , `c`'"):
        shelf.run(f"create or replace table t {columns}) tblproperties ({keys})")
        assert [field.name for field in shelf.snapshot("t").key] == [name, "c"]
    shelf.run(f"alter table t add primary key ({quoted}, c)")
    shelf.run("alter table t rename column d to e")
    shelf.run("alter table t unset tblproperties ('vcs.unique_key')")
    assert [field.name for field in shelf.snapshot("t").key] == [name, "c"]
    query = parse(f"select * from snapshot_diff('t', 't', columns => '{quoted}, c')")
    assert isinstance(query, Query)
    (diff,) = query.diffs
    assert diff.columns == (name, "c")
    assert NameList().convert(f"{quoted}, c", None, None) == (name, "c")


@given(st.lists(st.text("ab`, .", min_size=1), min_size=1))
def test_a_list_of_names_is_read_as_it_was_written(names: list[str]) -> None:
    assert names_in(list_of(names)) == names
