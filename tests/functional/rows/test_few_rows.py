"""Results of few rows, which this process writes: the same tables as Spark would write."""

from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import msgspec
import pytest
from pyspark.errors import PySparkRuntimeError

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.spark import few_rows

from .shop import Shop

pytestmark = pytest.mark.spark

BY_SPARK = "c000"
"""Part of the name of each file that Spark writes."""

VALUES = {
    "boolean": ["true", "false"],
    "tinyint": ["-128", "127"],
    "smallint": ["-32768", "32767"],
    "int": ["-2147483648", "2147483647", "0"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "float": ["'NaN'", "'-Infinity'", "'Infinity'", "'-0.0'", "1.4e-45", "0.1"],
    "double": ["'NaN'", "'-Infinity'", "'Infinity'", "'-0.0'", "4.9e-324", "0.1"],
    "decimal(38,10)": ["'9999999999999999999999999999.9999999999'", "'-0.0000000001'", "0"],
    "decimal(5,2)": ["-999.99", "1.5"],
    "date": ["'0001-01-01'", "'1582-10-10'", "'1970-01-01'", "'9999-12-31'"],
    "timestamp": [
        "'0001-01-01 00:00:00'",
        "'1883-11-18 12:03:57.000001'",
        "'2026-03-08 02:30:00'",
    ],
    "timestamp_ntz": ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"],
    "string": ["''", "'ü 😀'", "repeat('long ', 40)", "' padded '", "X'C328'", "X'00'"],
    "varchar(3)": ["'abc'", "''"],
    "char(4)": ["'a'", "'abcd'"],
    "binary": ["X''", "X'00FF'", "X'C328'"],
}
"""Texts that are cast to a type; each column has a NULL besides."""

MANY = "select explode(sequence(1, 200000)) n"
LONG = f"select sum(a.n * b.n) n from ({MANY}) a join ({MANY}) b on a.n % 10 <> b.n"
"""A query that reads nothing, and takes minutes."""

COLUMNS = ", ".join(f"c{n} {type_}" for n, type_ in enumerate(VALUES))


def all_values() -> str:
    """A query whose columns have all values of their types, in turn."""
    rows = range(max(map(len, VALUES.values())) + 1)
    columns = (
        f"cast({[*texts, 'null'][row % (len(texts) + 1)]} as {type_}) c{n}"
        for row in rows
        for n, (type_, texts) in enumerate(VALUES.items())
    )
    each = [", ".join(next(columns) for _ in VALUES) for _ in rows]
    together = " union all ".join(f"select {columns}" for columns in each)
    # In one file, whoever writes it.
    return f"select /*+ coalesce(1) */ * from ({together})"


@pytest.fixture
def by_spark(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let Spark write whatever comes."""
    return lambda: monkeypatch.setattr(few_rows, "_FEW_ROWS", -1)


@pytest.fixture
def new_york(shop: Shop) -> Iterator[None]:
    shop.sql("set time zone 'America/New_York'")
    yield
    shop.sql("set time zone 'UTC'")


def is_by_spark(shop: Shop, table: str) -> bool:
    return any(BY_SPARK in block.path for block in shop.blocks(table))


def told(shop: Shop, table: str) -> list[str]:
    """What is known of a table: its columns, its rows, and the statistics of its blocks."""
    of_files = ("path", "bytes", "footer", "whole")
    known = [msgspec.structs.asdict(block) for block in shop.blocks(table)]
    statistics = [{k: v for k, v in block.items() if k not in of_files} for block in known]
    columns = [
        f"hex(c{n})" if type_ == "string" else f"c{n}, typeof(c{n})"
        for n, type_ in enumerate(VALUES)
    ]
    rows = shop.rows(f"select {', '.join(columns)} from {table}")
    fields = [(field.name, field.type) for field in shop.version(table).schema.fields]
    floats = {f.id for f in shop.version(table).schema.fields if f.type in ("float", "double")}
    # Arrow's bounds would leave NaN out, so a column of NaN and numbers has none.
    bounds = [
        repr(item)
        for block in statistics
        for item in sorted(block.pop("stats").items())
        if item[0] not in floats
    ]
    return [*map(repr, fields), *map(repr, rows), repr(statistics), *bounds]


@pytest.mark.usefixtures("new_york")
@pytest.mark.parametrize("how", ["as", "into"])
def test_tables_are_as_those_of_spark(shop: Shop, by_spark: Callable[[], None], how: str) -> None:
    def made() -> tuple[bool, list[str]]:
        if how == "into":
            table = shop.make(COLUMNS)
            shop.sql(f"insert into {table} {all_values()}")
        else:
            table = f"t{next(shop.numbers)}"
            shop.sql(f"create table {table} as {all_values()}")
        return is_by_spark(shop, table), told(shop, table)

    here = made()
    by_spark()
    there = made()
    assert (here[0], there[0]) == (False, True)
    for one, other in zip(here[1], there[1], strict=True):
        assert one == other


@pytest.mark.parametrize(
    ("query", "rows", "written_by_spark"),
    [
        ("select id from range(5)", 5, False),
        ("select id from range(6)", 6, True),
        ("select explode(sequence(1, 20)) id", 20, True),
        ("select max(id) id from (select explode(sequence(1, 9)) id)", 1, False),
        ("select id from range(100000) where id < 3", 3, True),
        ("select id from range(9) where id > 10", 0, False),
        ("select array(id) id from range(2)", 2, True),
        ("select id collate unicode_ci id from (select 'a' id)", 1, True),
        ("select id from range(2) order by id desc", 2, False),
        ("select (select max(id) from range(9)) id", 1, False),
        ("select (select max(id) from range(100000)) id", 1, True),
        ("select 1 id where (select max(id) from range(100000)) > 0", 1, True),
    ],
)
def test_who_writes(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, query: str, rows: int, written_by_spark: bool
) -> None:
    monkeypatch.setattr(few_rows, "_FEW_ROWS", 5)
    table = f"t{next(shop.numbers)}"
    shop.sql(f"create table {table} as {query}")
    assert len(shop.rows(table)) == shop.version(table).rows == rows
    assert is_by_spark(shop, table) is written_by_spark


def test_what_reads_much_is_not_tried(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    table = shop.make("id int", "values (1), (2)")
    monkeypatch.setattr(few_rows, "_LITTLE", shop.blocks(table)[0].bytes - 1)
    shop.sql(f"create table more_than_{table} as select count(*) n from {table}")
    assert is_by_spark(shop, f"more_than_{table}")
    monkeypatch.setattr(few_rows, "_LITTLE", shop.blocks(table)[0].bytes)
    shop.sql(f"create table little_of_{table} as select count(*) n from {table}")
    assert not is_by_spark(shop, f"little_of_{table}")


@pytest.mark.parametrize(
    "clause",
    ["partitioned by (p)", "clustered by (id)", "options ('compression' 'gzip')"],
)
def test_what_is_asked_of_files_is_left_to_spark(shop: Shop, clause: str) -> None:
    table = f"t{next(shop.numbers)}"
    clause = clause.replace("clustered by", "cluster by")
    shop.sql(f"create table {table} {clause} as select id, id % 2 p from range(4)")
    assert is_by_spark(shop, table)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("spark.sql.parquet.compression.codec", "gzip"), ("spark.sql.files.maxRecordsPerFile", "2")],
)
def test_settings_of_files_count(shop: Shop, setting: str, value: str) -> None:
    table = f"t{next(shop.numbers)}"
    shop.sql(f"set {setting} = {value}")
    try:
        shop.sql(f"create table {table} as select id from range(0, 4, 1, 1)")
    finally:
        shop.sql(f"reset {setting}")
    files = [block.path for block in shop.blocks(table)]
    assert all(".gz." in path for path in files) if value == "gzip" else len(files) == 2


def test_errors_are_those_of_spark_s_write(shop: Shop, by_spark: Callable[[], None]) -> None:
    def said(text: str) -> str:
        with pytest.raises(EngineError) as caught:
            shop.sql(text)
        return str(caught.value)

    texts = (
        "create table never as select cast(raise_error('no') as int) a",
        "create table never as select cast('x' as interval) a",
    )
    here = [said(text) for text in texts]
    by_spark()
    assert here == [said(text) for text in texts]
    assert "no" in here[0]


def test_rows_that_do_not_come_are_written_by_spark(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.pandas.conversion import PandasConversionMixin

    def too_large(_: Any) -> Any:
        raise PySparkRuntimeError("Total size of serialized results is bigger than allowed")

    monkeypatch.setattr(PandasConversionMixin, "_collect_as_arrow", too_large)
    table = f"t{next(shop.numbers)}"
    shop.sql(f"create table {table} as select id from range(3)")
    monkeypatch.undo()
    assert shop.rows(table) == [(0,), (1,), (2,)]
    assert is_by_spark(shop, table)


def test_ctrl_c_is_no_failure_after_which_spark_writes(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.pandas.conversion import PandasConversionMixin

    def interrupted(_: Any) -> Any:
        # As PySpark does: it asks for the result of the jobs that it has just cancelled.
        try:
            raise KeyboardInterrupt
        finally:
            raise PySparkRuntimeError("[SPARK_JOB_CANCELLED] Job 7 cancelled as part of all jobs")

    monkeypatch.setattr(PandasConversionMixin, "_collect_as_arrow", interrupted)
    table, head = f"t{next(shop.numbers)}", shop.repository.branch("main").head
    with pytest.raises(KeyboardInterrupt):
        shop.sql(f"create table {table} as select id from range(3)")
    assert shop.repository.branch("main").head == head


def test_a_cancelled_statement_is_not_tried_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.pandas.conversion import PandasConversionMixin

    asked, table, head = Event(), f"t{next(shop.numbers)}", shop.repository.branch("main").head
    collect = PandasConversionMixin._collect_as_arrow

    def slow(frame: Any) -> Any:
        asked.set()
        return collect(frame)

    monkeypatch.setattr(PandasConversionMixin, "_collect_as_arrow", slow)

    def cancel() -> None:
        asked.wait(60)
        # Until the statement runs in Spark's process, a cancellation has nothing to stop.
        while working.is_alive():
            shop.cancel()
            working.join(0.05)

    failed: list[StatementError] = []

    def work() -> None:
        try:
            shop.sql(f"create table {table} as {LONG}")
        except StatementError as error:
            failed.append(error)

    working = Thread(target=work)
    working.start()
    cancel()
    assert [error.condition for error in failed] == ["CANCELLED"]
    assert shop.repository.branch("main").head == head
