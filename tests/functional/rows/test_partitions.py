"""A table partitioned by columns of every type has the rows of one that is not partitioned."""

import pytest

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.engines.engine_errors import StatementError

from .shop import Row, Shop

pytestmark = pytest.mark.spark

TYPES = {
    "date": ["date'2026-01-02'", "date'0001-01-01'", "date'9999-12-31'"],
    "timestamp": ["timestamp'2026-01-02 03:04:05.678901'", "timestamp'1582-10-04 00:00:00'"],
    "timestamp_ntz": [
        "timestamp_ntz'2026-01-02 03:04:05.6'",
        "timestamp_ntz'1900-01-01 00:00:00'",
    ],
    "decimal(12,3)": ["1.5", "-0.001", "123456789.123", "0"],
    "decimal(38,20)": ["1.5", "-0.00000000000000000001", "100000000000000000"],
    "boolean": ["true", "false"],
    "tinyint": ["-128", "127"],
    "bigint": ["9223372036854775807", "-9223372036854775808"],
    "double": ["double('nan')", "double('-inf')", "1e-310D", "0.1D", "double('-0.0')"],
    "float": ["float('0.1')", "float('nan')", "float('1e-40')", "float('inf')"],
    "string": ["'a/b'", "'100%'", "'%41'", "'ü€😀'", "' a '", "'01'", "'_x'", "'a=b'", "'{[*?'"],
    "char(4)": ["'a'", "'abcd'", "'ü'", "'a/'"],
    "varchar(5)": ["'a'", "'a '", "'12345'", "'a/b%'"],
}
NAMES = [f"c{number}" for number in range(len(TYPES))]
ROWS = 9


def values(number: int) -> str:
    """Return a row: of each type the value in turn, NULL for the last row."""
    row = [cases[number % len(cases)] for cases in TYPES.values()]
    return f"({number}, 0, {', '.join(['null'] * len(row) if number == ROWS else row)})"


def shown(shop: Shop, table: str) -> list[Row]:
    return shop.rows(f"select id, a, {', '.join(NAMES)} from {table}")


def pair(shop: Shop) -> tuple[str, str]:
    """Return a table that is partitioned by all of its columns but two, and one that is not."""
    columns = ", ".join(f"{name} {type_}" for name, type_ in zip(NAMES, TYPES, strict=True))
    rows = ", ".join(values(number) for number in range(ROWS + 1))
    query = f"select * from values {rows} as x(id, a, {', '.join(NAMES)})"
    columns = f"id bigint, a int, {columns}"
    return shop.make(columns, query, by=", ".join(NAMES)), shop.make(columns, query)


def test_partitions_of_every_type_hold_what_a_plain_table_holds(shop: Shop) -> None:
    tables = pair(shop)
    assert repr(shown(shop, tables[0])) == repr(shown(shop, tables[1]))
    for number, (name, cases) in enumerate(zip(NAMES, TYPES.values(), strict=True)):
        listed = shop.rows(f"show partitions {tables[0]} partition ({name} = {cases[0]})")
        assert listed, list(TYPES)[number]
    for table in tables:
        shop.sql(f"create snapshot old for table {table}")
        shop.sql(f"create table {table}_b clone {table}")
    for table in tables:
        shop.change(f"update {table} set a = 1 where id % 2 = 0")
        shop.change(f"update {table} set c0 = date'2000-01-01', c11 = 'x', c12 = 'y' where id = 1")
        shop.change(f"delete from {table} where c11 is null")
        shop.change(
            f"merge into {table} t using (select * from {tables[1]}{{snapshot = 'old'}} "
            "where id < 5 or id = 9) s on t.id = s.id "
            "when matched and s.id > 2 then update set a = 7 when not matched then insert *"
        )
        shop.change(f"update {table}_b set a = 5 where id = 5")
    assert repr(shown(shop, tables[0])) == repr(shown(shop, tables[1]))
    signed = "select diff_count, id, a, {} from snapshot_diff('{}@old', '{}', shape => 'signed')"
    diffs = [shop.rows(signed.format(", ".join(NAMES), table, table)) for table in tables]
    assert repr(diffs[0]) == repr(diffs[1])
    for table in tables:
        shop.sql(f"snapshot merge table {table}_b from {table} when conflict accept")
    assert repr(shown(shop, f"{tables[0]}_b")) == repr(shown(shop, f"{tables[1]}_b"))
    shop.sql(f"optimize {tables[0]}")
    assert repr(shown(shop, tables[0])) == repr(shown(shop, tables[1]))


def test_partitions_by_intervals(shop: Shop) -> None:
    columns = "id int, m interval year to month, d interval day to second"
    month, day = "interval '-1-2' year to month", "interval '-1 02:03:04.000005' day to second"
    rows = f"values (1, {month}, {day}), (2, null, null)"
    table = shop.make(columns, rows, by="m, d")
    assert shop.change(f"update {table} set id = 3 where m = {month} and d = {day}") == 1
    shop.sql(f"insert into {table} select 4, m, d from {table} where id = 3")
    assert shop.rows(f"select id from {table} where m < interval '0' month and d = {day}") == [
        (3,),
        (4,),
    ]
    assert shop.rows(f"select id from {table} where m is null and d is null") == [(2,)]


@pytest.mark.parametrize(
    "condition",
    ["c = 'a'", "c = 'a   '", "v = 'a'", "c in ('a', 'zz')", "c <> 'a'", "c = v", "v like 'a%'"],
)
def test_char_and_varchar_compare_as_in_a_plain_spark_table(shop: Shop, condition: str) -> None:
    rows = "values (1, 'a', 'a'), (2, 'abcd', 'a b'), (3, null, null), (4, 'b', 'b   ')"
    columns = "id int, c char(4), v varchar(5)"
    table = shop.make(columns, rows, by="c, v")
    spark = shop._connection.session().spark
    spark.sql("create database if not exists plain")
    spark.sql(
        f"create table if not exists plain.t ({columns}) using parquet partitioned by (c, v)"
    )
    if not spark.table("plain.t").head(1):
        spark.sql(f"insert into plain.t {rows}")
    plain = spark.sql(f"select id from plain.t where {condition}").collect()
    wanted = sorted(tuple(row) for row in plain)
    assert shop.rows(f"select id from {table} where {condition}") == wanted
    assert shop.change(f"update {table} set id = id + 10 where {condition}") == len(wanted)
    assert shop.change(f"delete from {table} where {condition}") == len(wanted)


def test_a_partition_of_char_is_replaced_by_its_short_value(shop: Shop) -> None:
    table = shop.make("id int, c char(4), v varchar(3)", "values (1, 'a', 'x')", by="c, v")
    shop.sql(f"insert overwrite {table} partition (c = 'a', v = 'x    ') select 2")
    assert shop.rows(f"select id from {table}") == [(1,), (2,)], "as Spark: another partition"
    shop.sql(f"insert overwrite {table} partition (c = 'a', v = 'x') select 3")
    assert shop.rows(f"select id from {table}") == [(2,), (3,)]
    shop.sql(f"truncate table {table} partition (c = 'a', v = 'x')")
    assert shop.rows(f"select id from {table}") == [(2,)]


def test_types_are_those_declared(shop: Shop) -> None:
    table = shop.make("id int, c char(4), v varchar(3)", "values (1, 'a', 'x')", by="c, v")
    shop.sql(f"create table {table}_copy as select * from {table}")
    assert [field.type for field in shop.version(f"{table}_copy").schema.fields] == [
        "int",
        "char(4)",
        "varchar(3)",
    ]
    with pytest.raises(StatementError, match="EXCEED_LIMIT_LENGTH"):
        shop.sql(f"insert into {table} values (2, 'abcde', 'x')")


@pytest.mark.parametrize(
    "type_", ["binary", "variant", "array<int>", "struct<a:int>", "string collate UTF8_LCASE"]
)
def test_types_that_folders_do_not_keep_are_refused_at_once(shop: Shop, type_: str) -> None:
    with pytest.raises(
        UnsupportedError, match="can't be partitioned by 'v': the name of a folder"
    ):
        shop.sql(f"create table never (id int, v {type_}) partitioned by (v)")


def test_a_condition_on_nan_changes_the_rows_that_it_finds(shop: Shop) -> None:
    for by in ("", "v"):
        rows = "values (1, float('nan')), (2, float('1')), (3, null)"
        table = shop.make("id int, v float", rows, by=by)
        assert shop.rows(f"select id from {table} where v = float('nan')") == [(1,)]
        assert shop.change(f"delete from {table} where v = float('nan')") == 1
        assert shop.rows(f"select id from {table}") == [(2,), (3,)]
