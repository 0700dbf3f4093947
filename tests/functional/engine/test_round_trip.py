"""Rows come back unchanged: written by Spark, counted by footers, mounted, read."""

from collections import Counter
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import ColumnStats, Field, Schema
from dbt.adapters.vcs.engines.port import Destination
from dbt.adapters.vcs.table.files.parquet import write_table
from dbt.adapters.vcs.table.types import arrow_type

from .bench import Bench, schema_of

pytestmark = pytest.mark.spark
ALL_ENGINES = True

VALUES = {
    "boolean": ["true", "false"],
    "tinyint": ["-128Y", "127Y"],
    "smallint": ["-32768S", "32767S"],
    "int": ["-2147483648", "2147483647"],
    "bigint": ["-9223372036854775808L", "9223372036854775807L"],
    "float": ["float('NaN')", "float('-0.0')", "float('inf')", "float(1.1)"],
    "double": ["double('NaN')", "double('-0.0')", "double('-inf')", "4.9E-324D", "1.1D"],
    "decimal(38,18)": ["12345678901234567890.123456789012345678", "-0.000000000000000001"],
    "decimal(5,2)": ["1.50", "-999.99"],
    "string": [
        *("'01'", "'1'", "'null'", "'it\\'s'", "'a\\\\b'", "'\"'", "'x\\ny\\t'", "'😀'"),
        *("'é'", "'e\\u0301'", "' lead'", "'trail '", "' '", "'a/b'", "'../x'", "'.'"),
        *("'a=b:c'", "'%41'", "'#1'", "'a,b'", "'{[*?]}'", "'\\u0001'", "'~!@^&()|<>+`$;'"),
    ],
    "date": ["date'0001-01-01'", "date'1582-10-10'", "date'2026-02-03'", "date'9999-12-31'"],
    "timestamp": [
        "timestamp'0001-01-02 00:00:00'",
        "timestamp'1582-10-10 12:00:00'",
        "timestamp'2026-02-03 04:05:06.123456'",
        "timestamp'9999-12-30 00:00:00'",
    ],
    "timestamp_ntz": [
        "timestamp_ntz'0001-01-01 00:00:00'",
        "timestamp_ntz'2026-02-03 04:05:06.123456'",
        "timestamp_ntz'9999-12-31 23:59:59'",
    ],
    "interval day to second": [
        "interval '1 2:03:04.5' day to second",
        "interval '-106751991 04:00:54.775808' day to second",
    ],
    "interval year to month": [
        "interval '1-2' year to month",
        "interval '-178956970-8' year to month",
    ],
}
NOT_IN_FOLDERS = {
    "binary": ["X'00ff'", "X''", "X'61'"],
    "variant": ['parse_json(\'{"a": [1, 2.5, "x", null]}\')', "parse_json('\"s\"')"],
    "array<int>": ["array(1, null)", "array()"],
    "map<string,timestamp>": ["map('k', timestamp'2026-01-01', 'n', null)", "map()"],
    "struct<a:int,`b c`:struct<d:array<string>>>": [
        "named_struct('a', 1, 'b c', named_struct('d', array('x')))",
        "named_struct('a', null, 'b c', null)",
    ],
}


def query_of(type_: str) -> str:
    values = [*(VALUES | NOT_IN_FOLDERS)[type_], "null"]
    return " union all ".join(
        f"select {number} k, cast({value} as {type_}) v" for number, value in enumerate(values)
    )


def rows_of(bench: Bench, text: str) -> Counter[str]:
    return Counter(map(repr, bench.rows(text)))


def test_every_type(bench: Bench) -> None:
    types = VALUES | NOT_IN_FOLDERS
    many = 1 + max(map(len, types.values()))
    query = " union all ".join(
        f"select {row} k"
        + "".join(
            f", cast({values[row] if row < len(values) else 'null'} as {type_}) v{place}"
            for place, (type_, values) in enumerate(types.items())
        )
        for row in range(many)
    )
    table, blocks = bench.table(query)
    columns = bench.session.analysed(f"select * from {table}").columns
    assert [column.type for column in columns] == ["int", *types]
    assert rows_of(bench, f"select * from {table}") == rows_of(bench, query)
    assert sum(block.rows for block in blocks) == many


@pytest.mark.parametrize("type_", VALUES)
def test_every_type_as_partition(bench: Bench, type_: str) -> None:
    query = query_of(type_)
    table, blocks = bench.table(query, "v")
    assert rows_of(bench, f"select k, v from {table}") == rows_of(bench, query)
    assert [
        column.name for column in bench.session.analysed(f"select * from {table}").columns
    ] == [*("k", "v")]
    assert sum(block.partition["v"] is None for block in blocks) == 1
    assert sum(block.stats["v"].nulls for block in blocks) == 1


@pytest.mark.parametrize("type_", NOT_IN_FOLDERS)
def test_types_that_folders_lose_are_refused(bench: Bench, type_: str) -> None:
    with pytest.raises(UnsupportedError, match="can't be partitioned by 'v'"):
        bench.write(query_of(type_), "v")
    assert not list(bench.blobs.walk("data"))


@pytest.mark.parametrize(
    ("old", "new", "value", "read"),
    [
        ("tinyint", "bigint", "-128", -128),
        ("int", "bigint", "2147483647", 2**31 - 1),
        ("float", "double", "1.5", 1.5),
        ("decimal(10,2)", "decimal(14,4)", "1.25", Decimal("1.2500")),
        ("decimal(10,2)", "decimal(38,2)", "1.25", Decimal("1.25")),
    ],
)
def test_old_files_read_as_a_wider_type(
    bench: Bench, old: str, new: str, value: str, read: Any
) -> None:
    table, _ = bench.table(f"select cast({value} as {old}) v", types={"v": new})
    assert bench.rows(f"select v from {table}") == [(read,)]


def test_names_of_columns(bench: Bench) -> None:
    names = ["a b", "a.b", "a`b", "select", "ÜPPER", "x,y;{}()='", "W", "π/%", "from"]
    items = ", ".join(
        f"{number} as `{name.replace('`', '``')}`" for number, name in enumerate(names)
    )
    table, blocks = bench.table(f"select {items}", "π/%", "a.b")
    rows = bench.session.query(f"select * from {table}")
    assert sorted(column.name for column in rows.columns) == sorted(names)
    assert rows.fetch() == [tuple(range(len(names)))]
    assert blocks[0].partition == {"π/%": "7", "a.b": "1"}
    assert blocks[0].stats["a`b"] == ColumnStats(2, 2, 0)
    assert bench.rows(f"select `a.b`, `π/%`, W, w from {table} where `x,y;{{}}()='` = 5") == [
        (1, 7, 6, 6)
    ]


def test_fields_of_structs(bench: Bench) -> None:
    query = "select named_struct('a.b', 1, 'c d', map('k', named_struct('e`f', X'01'))) s"
    table, blocks = bench.table(query)
    assert bench.rows(f"select s from {table}") == [({"a.b": 1, "c d": {"k": {"e`f": b"\x01"}}},)]
    assert blocks[0].stats == {}


def test_a_text_of_ten_megabytes(bench: Bench) -> None:
    table, blocks = bench.table("select repeat('é', 5000000) s union all select null")
    assert bench.rows(f"select s from {table} where s is not null") == [("é" * 5_000_000,)]
    bounds = [block.stats["s"] for block in blocks]
    assert sum(stats.nulls for stats in bounds) == 1
    assert [(s.min, s.max) for s in bounds if s.min] == [("é" * 32, "é" * 31 + "ê")]


def test_lengths_of_text_stay_declared(bench: Bench) -> None:
    session = bench.session
    session.query("create temporary view texts as select cast('ab' as string) v")
    declared = "select cast(v as varchar(3)) v from texts"
    table, _ = bench.table(declared, types={"v": "varchar(3)"})
    padded, _ = bench.table("select 'z' c", types={"c": "char(4)"})
    assert session.analysed(f"select v from {table}").columns[0].type == "varchar(3)"
    assert bench.rows(f"select c, length(c) from {padded} where c = 'z'") == [("z   ", 4)]
    written = bench.write(f"select v, v || 'x' w from {table}")
    assert [column.type for column in written.columns] == ["varchar(3)", "string"]


def test_bounds_of_spark_files(bench: Bench) -> None:
    query = """
        select id, cast(id as decimal(10,2)) d, date_add(date'1970-01-01', int(id) - 1) day,
               timestamp'1970-01-01' + make_dt_interval(0, 0, 0, id) ts, id = 1 b,
               if(id = 2, null, concat('k', id)) s, if(id = 2, double('NaN'), 1.5D) f
        from range(0, 3, 1, 1)
    """
    _, (block,) = bench.table(query)
    assert block.stats == {
        "id": ColumnStats(0, 2, 0),
        "d": ColumnStats("0.00", "2.00", 0),
        "day": ColumnStats(-1, 1, 0),
        "ts": ColumnStats(0, 2_000_000, 0),
        "b": ColumnStats(False, True, 0),
        "s": ColumnStats("k0", "k1", 1),
        "f": ColumnStats(None, None, 0),
    }


def test_instants_do_not_depend_on_the_session(bench: Bench, method: str) -> None:
    if method == "adopted":
        pytest.skip("all sessions of the engine are its owner's one")
    query = "select id, timestamp_seconds(1793507400 + id * 3600) t from range(4)"
    here = bench.engine.session("New York")
    here.query("set spark.sql.session.timeZone = America/New_York")
    # 01:30 comes twice on that day.
    written = here.write(query, Destination(folder="data/ny/w=x", partition_by=["t"]))
    blocks = bench.blocks(written, "t")
    assert {block.partition["t"] for block in blocks} == {
        f"2026-11-01 0{hour}:30:00" for hour in (4, 5, 6, 7)
    }
    table = bench.mount(written.files, schema_of(written))
    assert sorted(bench.rows(f"select t from {table}")) == [
        (datetime(2026, 11, 1, hour, 30),) for hour in (4, 5, 6, 7)
    ]
    assert sorted(here.query(f"select t from {table}").fetch()) == [
        (datetime(2026, 11, 1, hour, 30),) for hour in (0, 1, 1, 2)
    ]
    assert bench.rows(f"select id from {table} where t = timestamp'2026-11-01 06:30:00Z'") == [
        (2,)
    ]


def test_dates_as_partitions_prune(bench: Bench) -> None:
    table, _ = bench.table(
        "select id, date_add(date'2026-01-01', int(id)) day from range(3)", "day"
    )
    assert bench.rows(f"select id, day from {table} where day = date'2026-01-02'") == [
        (1, date(2026, 1, 2))
    ]
    plan = bench.rows(f"explain select id from {table} where day = date'2026-01-02'")[0][0]
    assert "PartitionFilters: [isnotnull(__vcs_by_day" in plan


def test_arrows_files_are_as_sparks(bench: Bench) -> None:
    values = {
        "boolean": [True, None],
        "tinyint": [-128, None],
        "bigint": [-(2**63), 2**63 - 1],
        "float": [1.5, float("-inf")],
        "double": [-0.0, None],
        "decimal(38,18)": [Decimal("-1.5"), None],
        "decimal(5,2)": [Decimal("-999.99"), None],
        "string": ["it's \\ \n 😀", ""],
        "varchar(3)": ["abc", None],
        "binary": [b"\x00\xff", b""],
        "date": [date(1, 1, 1), date(9999, 12, 31)],
        "timestamp": [
            datetime(1, 1, 1, tzinfo=timezone.utc),
            datetime(2026, 2, 3, 4, 5, 6, 7, timezone.utc),
        ],
        "timestamp_ntz": [datetime(1, 1, 1), datetime(2026, 2, 3, 4, 5, 6, 7)],
        "array<struct<a:int,`b c`:string>>": [[{"a": 1, "b c": None}, None], []],
        "map<string,array<date>>": [[("k", [date(2026, 1, 1), None])], None],
    }
    schema = Schema.of(Field(id="", name=f"c {type_}", type=type_) for type_ in values)
    arrays = [pa.array(rows, arrow_type(type_)) for type_, rows in values.items()]
    table = pa.table(arrays, names=[str(number) for number in range(len(arrays))])
    files = write_table(bench.blobs, table, folder="data/seed/w=x", schema=schema)
    name = bench.mount(tuple(files), schema)
    rows = bench.session.query(f"select * from {name}")
    assert [column.type for column in rows.columns] == list(values)
    assert rows.arrow().to_pydict() == {f"c {type_}": value for type_, value in values.items()}
    assert bench.rows(f"select typeof(`c timestamp`), `c timestamp` from {name}")[1] == (
        "timestamp",
        datetime(2026, 2, 3, 4, 5, 6, 7),
    )
