"""A text column with a longer limit, or none, has the values that it had."""

import pytest

from dbt.adapters.vcs.core.errors import UnsupportedError

from .shop import Shop

pytestmark = pytest.mark.spark

CHANGES = [
    ("varchar(3)", "varchar(9)"),
    ("varchar(3)", "string"),
    ("char(3)", "varchar(3)"),
    ("char(3)", "string"),
]
parametrized = pytest.mark.parametrize(("old", "new"), CHANGES)


def padded(old: str, text: str) -> str:
    return text.ljust(3) if old == "char(3)" else text


@parametrized
@pytest.mark.parametrize("by", ["", "v"])
def test_diff_shows_only_the_rows_that_changed(shop: Shop, old: str, new: str, by: str) -> None:
    table = shop.make(f"id int, v {old}", "values (1, 'a'), (2, 'abc')", by=by)
    shop.sql(f"create snapshot short for table {table}")
    shop.sql(f"alter table {table} alter column v type {new}")
    assert shop.rows(f"snapshot diff {table}{{snapshot = 'short'}} and {table}") == []
    longer = "abcd" if new != "varchar(3)" else "xyz"
    shop.change(f"update {table} set v = '{longer}' where id = 2")
    signed = f"snapshot_diff('{table}@short', '{table}', shape => 'signed')"
    assert shop.rows(f"select diff_count, id, v from {signed}") == [(-1, 2, "abc"), (1, 2, longer)]
    assert shop.rows(f"select id, v from {table}") == [(1, padded(old, "a")), (2, longer)]


@parametrized
def test_merge_takes_the_longer_type_of_the_side_that_changed_it(
    shop: Shop, old: str, new: str
) -> None:
    table = shop.make(f"id int, v {old}, primary key (id)", "values (1, 'a'), (2, 'b'), (3, 'c')")
    for side in ("ours", "theirs"):
        shop.sql(f"create table {table}_{side} clone {table}")
    shop.sql(f"alter table {table}_theirs alter column v type {new}")
    shop.change(f"update {table}_theirs set v = 'xyz' where id = 2")
    shop.change(f"update {table}_ours set v = 'o' where id = 3")
    shop.sql(f"snapshot merge table {table}_ours from {table}_theirs")
    rows = [(1, padded(old, "a")), (2, "xyz"), (3, padded(old, "o"))]
    assert shop.rows(f"{table}_ours") == rows
    assert [field.type for field in shop.version(f"{table}_ours").schema.fields] == ["int", new]
    # The other way, the side that did not change it gets nothing of it back.
    shop.sql(f"create table {table}_again clone {table}")
    shop.change(f"insert into {table}_again values (4, 'd')")
    shop.sql(f"snapshot merge table {table}_theirs from {table}_again")
    assert [field.type for field in shop.version(f"{table}_theirs").schema.fields] == ["int", new]
    assert (4, padded(old, "d")) in shop.rows(f"{table}_theirs")


@parametrized
@pytest.mark.parametrize("rebuild", ["delta", "full"])
def test_a_rebuild_with_the_longer_type_keeps_the_rows(
    shop: Shop, old: str, new: str, rebuild: str
) -> None:
    properties = f"'vcs.rebuild' = '{rebuild}'"
    rows = f"values (1, '{padded(old, 'a')}'), (2, '{padded(old, 'b')}')"
    table = shop.make(f"id int, v {old}", rows, properties=properties)
    source = shop.make(f"id int, v {new}", rows)
    shop.sql(f"create snapshot short for table {table}")
    shop.sql(
        f"create or replace table {table} tblproperties ({properties}) as select * from {source}"
    )
    assert [field.type for field in shop.version(table).schema.fields] == ["int", new]
    assert shop.rows(f"snapshot diff {table}{{snapshot = 'short'}} and {table}") == []


def test_a_longer_char_would_be_padded_differently(shop: Shop) -> None:
    table = shop.make("id int, v char(3)", "values (1, 'a')")
    with pytest.raises(
        UnsupportedError, match=r"can't change from char\(3\) to char\(4\) in place"
    ):
        shop.sql(f"alter table {table} alter column v type char(4)")
