"""What rows look like after their columns were altered."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dbt.adapters.vcs.core.errors import InputError

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project({"seeds/raw.csv": "id\n1\n"})
    project.dbt("seed")
    return project


def test_old_files_are_read_as_the_wider_type(shop):
    shop.sql(
        "create table wide as select cast(1 as tinyint) a, cast(2 as int) b, cast(1.5 as float) c,"
        " cast(1.25 as decimal(5,2)) d, cast(1.25 as decimal(10,2)) e, cast('x' as varchar(1)) f"
    )
    types = ["smallint", "bigint", "double", "decimal(20,4)", "decimal(38,10)", "string"]
    files = shop.data_files()
    for column, type_ in zip("abcdef", types, strict=True):
        shop.sql(f"alter table wide alter column {column} type {type_}")
    assert shop.data_files() == files, "no data is written"
    shop.sql("insert into wide values (300, 5000000000, 0.1, 12345678901.2345, 2, 'long')")
    first = (1, 2, 1.5, Decimal("1.2500"), Decimal("1.2500000000"), "x")
    second = (300, 5 * 10**9, 0.1, Decimal("12345678901.2345"), Decimal("2.0000000000"), "long")
    assert shop.rows("wide") == [first, second]
    query = (
        "select count(*) from wide where b >= 2 and c >= 0.1 and d > 1.2 and f in ('x', 'long')"
    )
    assert shop.column(query) == [2]
    assert shop.column("select typeof(d) from wide") == ["decimal(20,4)"] * 2


def test_a_partition_column_widens(shop):
    shop.sql("create table parts partitioned by (day) as select 1 id, cast(7 as int) day")
    shop.sql("alter table parts alter column day type bigint")
    shop.sql("insert into parts values (2, 5000000000)")
    assert shop.rows("parts") == [(1, 7), (2, 5 * 10**9)]
    assert shop.column("select id from parts where day = 7") == [1]


def test_moved_renamed_dropped_and_added_columns(shop):
    shop.sql("create table t as select 1 id, 'a' name, 2.5 price")
    for change in (
        "rename column name to label",
        "alter column price first",
        "drop column id",
        "add column id bigint after price",
    ):
        shop.sql(f"alter table t {change}")
    shop.sql("insert into t values (3.5, 4, 'b')")
    assert shop.rows("t") == [(Decimal("2.5"), None, "a"), (Decimal("3.5"), 4, "b")]


def test_a_default_is_for_rows_to_come(shop):
    shop.sql("create table d as select 1 id, 'a' name")
    shop.sql("alter table d alter column name set default concat('x', 1)")
    shop.sql("insert into d (id) values (2)")
    shop.sql("insert into d values (3, default)")
    assert shop.rows("d") == [(1, "a"), (2, "x1"), (3, "x1")]
    for text in (
        "alter table d alter column id set default nix",
        "alter table d alter column id set default 'abc'",
        "create table f (id int default 'abc')",
        "create table f (id tinyint default 300)",
        "create table f (id int default (select 1))",
    ):
        with pytest.raises(
            InputError, match=r"The default of the column id is not an expression of"
        ):
            shop.sql(text)
    assert shop.rows("d") == [(1, "a"), (2, "x1"), (3, "x1")]
    shop.sql("create table e (id int)")
    shop.sql("alter table e add column n int default 1 + 1")
    shop.sql("insert into e (id) values (1)")
    assert shop.rows("e") == [(1, 2)]
