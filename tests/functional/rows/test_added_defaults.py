"""A column that is added with a default: rows that are there have what it was then."""

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError, VcsError

from .shop import Shop

pytestmark = pytest.mark.spark

DEFAULTS = {
    "int": "41 + 1",
    "bigint": "-9223372036854775808",
    "boolean": "true",
    "double": "0.1D",
    "float": "float('nan')",
    "decimal(10,2)": "1.5",
    "string": "concat('it''s', ' ', 'ü ')",
    "varchar(5)": "'a '",
    "char(4)": "'a'",
    "date": "date'2026-01-02'",
    "timestamp_ntz": "timestamp_ntz'2026-01-02 03:04:05.6'",
}
TWO_ROWS = "values (1, 10), (2, 20)"


def test_spark_gives_the_same_to_rows_that_are_there(shop: Shop) -> None:
    table = shop.make("id int, a int", TWO_ROWS)
    spark = shop._connection.session().spark
    spark.sql("create database if not exists plain")
    spark.sql("drop table if exists plain.added")
    spark.sql("create table plain.added (id int, a int) using parquet")
    spark.sql(f"insert into plain.added {TWO_ROWS}")
    for number, (type_, default) in enumerate(DEFAULTS.items()):
        change = f"add column c{number} {type_} default {default}"
        shop.sql(f"alter table {table} {change}")
        spark.sql(f"alter table plain.added {change}")
    files = {block.path for block in shop.blocks(table)}
    assert len(shop.version(table).parents) == 1
    for text, where in ((table, shop.sql), ("plain.added", None)):
        if where is None:
            spark.sql(f"insert into {text} (id, a) values (3, 30)")
        else:
            where(f"insert into {text} (id, a) values (3, 30)")
    assert files < {block.path for block in shop.blocks(table)}, "old files stay"
    wanted = sorted((tuple(row) for row in spark.table("plain.added").collect()), key=repr)
    assert repr(shop.rows(table)) == repr(wanted)
    # Rows that are read without Spark, and written again.
    shop.change(f"update {table} set a = 11 where id = 1")
    spark.sql("drop table plain.added")
    wanted = [(row[0], 11 if row[0] == 1 else row[1], *row[2:]) for row in wanted]
    assert repr(shop.rows(table)) == repr(sorted(wanted, key=repr))


@pytest.mark.parametrize("mode", ["merge_on_read", "copy_on_write"])
@pytest.mark.parametrize("key", ["", ", primary key (id)"])
def test_diffs_merges_and_rewrites_read_the_default(shop: Shop, mode: str, key: str) -> None:
    table = shop.make(
        f"id int, a int{key}",
        "values (1, 10), (2, 20), (3, 30), (4, 40)",
        properties=f"'vcs.write_mode' = '{mode}'",
    )
    shop.sql(f"create snapshot plain for table {table}")
    shop.change(f"delete from {table} where id = 4")
    shop.sql(f"create table {table}_theirs clone {table}")
    shop.sql(f"alter table {table} add column c string default 'old' ")
    signed = f"snapshot_diff('{table}@plain', '{table}', shape => 'signed')"
    assert shop.rows(f"select diff_count, id, c from {signed}") == [(-1, 4, "old")]
    shop.sql(f"alter table {table} alter column c set default 'new'")
    shop.sql(f"insert into {table} (id, a) values (5, 50)")
    shop.change(f"update {table} set a = 21 where id = 2")
    assert shop.rows(f"select diff_count, id, a, c from {signed}") == [
        (-1, 2, 20, "old"),
        (-1, 4, 40, "old"),
        (1, 2, 21, "old"),
        (1, 5, 50, "new"),
    ]
    shop.change(f"update {table}_theirs set a = 31 where id = 3")
    shop.sql(f"insert into {table}_theirs values (6, 60)")
    shop.sql(f"snapshot merge table {table} from {table}_theirs")
    rows = [(1, 10, "old"), (2, 21, "old"), (3, 31, "old"), (5, 50, "new"), (6, 60, "old")]
    assert shop.rows(table) == rows
    assert shop.rows(f"select id from {table} where c = 'old' and id > 1") == [(2,), (3,), (6,)]
    assert shop.change(f"update {table} set c = 'x' where c = 'old' and id = 1") == 1
    assert shop.change(f"delete from {table} where c is null") == 0
    shop.sql(f"alter table {table} alter column c set not null")
    shop.sql(f"optimize {table}")
    assert shop.rows(table) == [(1, 10, "x"), *rows[1:]]


def test_the_other_way_a_merge_brings_the_column_and_its_values(shop: Shop) -> None:
    table = shop.make("id int, a int, primary key (id)", TWO_ROWS)
    shop.sql(f"create table {table}_theirs clone {table}")
    shop.sql(f"alter table {table}_theirs add column c int default 7")
    shop.sql(f"insert into {table} values (3, 30)")
    shop.sql(f"snapshot merge table {table} from {table}_theirs")
    assert shop.rows(table) == [(1, 10, 7), (2, 20, 7), (3, 30, 7)]


def test_two_sides_that_add_a_column_with_other_defaults_clash(shop: Shop) -> None:
    table = shop.make("id int, a int", TWO_ROWS)
    shop.sql(f"create table {table}_theirs clone {table}")
    shop.sql(f"alter table {table} add column c int default 1")
    shop.sql(f"alter table {table}_theirs add column c int default 2")
    with pytest.raises(VcsError, match="add of c: nothing in the base, c int default 1 in ours"):
        shop.sql(f"snapshot merge table {table} from {table}_theirs")
    shop.sql(f"snapshot merge table {table} from {table}_theirs when conflict accept")
    shop.sql(f"insert into {table} (id, a) values (9, 9)")
    assert shop.rows(f"select distinct c from {table}") == [(2,)], "the mode decides the default"


@pytest.mark.parametrize("rebuild", ["delta", "full"])
def test_a_rebuild_keeps_what_rows_had(shop: Shop, rebuild: str) -> None:
    properties = f"'vcs.rebuild' = '{rebuild}'"
    table = shop.make("id int, a int", TWO_ROWS, properties=properties)
    shop.sql(f"alter table {table} add column c string default 'old'")
    shop.sql(f"create snapshot before for table {table}")
    shop.sql(
        f"create or replace table {table} tblproperties ({properties}) as "
        "select id, a, 'old' c from values (1, 10), (2, 20), (3, 30) as x(id, a)"
    )
    assert shop.rows(table) == [(1, 10, "old"), (2, 20, "old"), (3, 30, "old")]
    signed = f"snapshot_diff('{table}@before', '{table}', shape => 'signed')"
    assert shop.rows(f"select diff_count, id, c from {signed}") == [(1, 3, "old")]


def test_a_default_is_settled_when_the_column_is_added(shop: Shop) -> None:
    table = shop.make("id int, a int", TWO_ROWS)
    shop.sql(f"alter table {table} add column c string default date_format(now(), 'mm:ss.SSSSSS')")
    first = shop.rows(f"select distinct c from {table}")
    assert len(first) == 1
    assert shop.rows(f"select distinct c from {table}") == first


def test_a_column_that_is_never_null_needs_a_default_where_rows_are(shop: Shop) -> None:
    table = shop.make("id int, a int", TWO_ROWS)
    with pytest.raises(
        InputError, match=r"can't be NOT NULL: .* holds 2 rows without it\. Add it"
    ):
        shop.sql(f"alter table {table} add column c int not null")
    shop.sql(f"alter table {table} add column c int not null default 3")
    assert shop.rows(f"select c from {table}") == [(3,), (3,)]


@pytest.mark.parametrize("type_", ["timestamp", "array<int>", "binary"])
def test_defaults_of_other_types_are_refused_with_the_way_round(shop: Shop, type_: str) -> None:
    table = shop.make("id int, a int", TWO_ROWS)
    default = {"timestamp": "now()", "array<int>": "array(1)", "binary": "X'00'"}[type_]
    with pytest.raises(UnsupportedError, match=r"without a default, fill it .*, then alter"):
        shop.sql(f"alter table {table} add column c {type_} default {default}")
