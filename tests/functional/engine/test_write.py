"""What a write creates, leaves behind and refuses."""

from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.port import Column, Destination, Written

from .bench import Bench, schema_of

pytestmark = pytest.mark.spark
ALL_ENGINES = True

COLUMNS = (
    Column(name="id", type="bigint", default="7"),
    Column(name="text", type="varchar(3)"),
    Column(name="day", type="string", default="'mon' || 'day'"),
)


def read(bench: Bench, written: Written) -> list[tuple[object, ...]]:
    table = bench.mount(written.files, schema_of(written))
    return sorted(bench.rows(f"select * from {table}"), key=repr)


def stages(bench: Bench) -> list[tuple[object, ...]]:
    schemas = [str(row[0]) for row in bench.rows("show schemas")]
    found = []
    for schema in schemas:
        if schema == "__vcs":
            found += bench.rows(f"show tables in {schema} like 'w_*'")
        elif schema.startswith("vcs_scratch_"):
            found += [row for row in bench.rows(f"show tables in {schema}") if not row[2]]
    return found


def files_below(bench: Bench) -> list[str]:
    return sorted(
        str(path.relative_to(bench.blobs.root))
        for path in Path(bench.blobs.uri, "data").rglob("*")
        if path.is_file()
    )


def test_nothing_but_the_blocks_is_left(bench: Bench) -> None:
    written = bench.write("select id, id % 2 p from range(10)", "p")
    assert files_below(bench) == list(written.files)
    assert all(path.endswith(".parquet") for path in written.files)


def test_no_rows_make_no_file(bench: Bench) -> None:
    written = bench.write("select id, 'x' text from range(0)")
    assert written.files == ()
    assert [column.name for column in written.columns] == ["id", "text"]
    assert files_below(bench) == []
    assert read(bench, written) == []


def test_files_without_rows_are_left_out(bench: Bench) -> None:
    # The first task of Spark writes a file even if it has no row.
    written = bench.write("select id from range(0, 2, 1, 2) where id = 1")
    assert len(written.files) == 1
    assert read(bench, written) == [(1,)]


def test_a_folder_is_written_once(bench: Bench) -> None:
    written = bench.write("select 1 a")
    folder = written.files[0].rpartition("/")[0]
    with pytest.raises(InputError, match="write to a new folder"):
        bench.session.write("select 2 a", Destination(folder=folder))
    assert files_below(bench) == list(written.files)


def test_a_failed_write_leaves_nothing(bench: Bench) -> None:
    with pytest.raises(StatementError, match="too far") as caught:
        bench.write("select if(id > 500, raise_error('too far'), id) a from range(0, 1000, 1, 4)")
    assert caught.value.condition == "USER_RAISED_EXCEPTION"
    assert files_below(bench) == []


def test_columns_are_written_under_their_ids(bench: Bench) -> None:
    written = bench.write("select 1 A, 'x' b, 2 c", "B", ids=["a__2", "b2", "c"])
    assert [column.name for column in written.columns] == ["a__2", "b2", "c"]
    assert "/__vcs_by_b2=x/" in written.files[0]
    assert read(bench, written) == [(1, "x", 2)]


@pytest.mark.parametrize("value", ["''", "'__HIVE_DEFAULT_PARTITION__'"])
@pytest.mark.parametrize("type_", ["string", "varchar(30)"])
def test_partition_values_that_would_become_null_are_refused(
    bench: Bench, value: str, type_: str
) -> None:
    columns = (Column(name="a", type="int"), Column(name="p q", type=type_))
    with pytest.raises(StatementError, match="'p q' holds an empty string"):
        bench.write(f"select 1 a, {value} `p q`", "p q")
    with pytest.raises(StatementError, match="'p q' holds an empty string"):
        bench.write(f"select 1 a, {value} `p q`", "p q", ids=["a", "before_the_rename"])
    with pytest.raises(StatementError, match="'p q' holds an empty string"):
        bench.session.insert(
            lambda table: f"insert into {table} select 1, {value}",
            Destination(folder=bench.folder(), partition_by=["p q"]),
            columns=columns,
        )
    assert files_below(bench) == []


def test_an_unknown_partition_column(bench: Bench) -> None:
    with pytest.raises(InputError, match="'nope' is not one of the columns: a, b"):
        bench.write("select 1 a, 2 b", "nope")


@pytest.mark.parametrize(
    ("query", "partition_by", "condition"),
    [
        ("select 1 a, 2 A", (), "COLUMN_ALREADY_EXISTS"),
        ("select 1 a", ("a",), "ALL_PARTITION_COLUMNS_NOT_ALLOWED"),
        ("select * from nowhere", (), "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_spark_tells_what_is_wrong(
    bench: Bench, query: str, partition_by: tuple[str, ...], condition: str
) -> None:
    with pytest.raises(StatementError) as caught:
        bench.write(query, *partition_by)
    assert caught.value.condition == condition


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("insert into {} values (1, 'a', 'x')", [(1, "a", "x")]),
        ("insert into {} (text) values ('a')", [(7, "a", "monday")]),
        ("insert into {} (day, ID) select 'x', 1", [(1, None, "x")]),
        ("insert overwrite table {} select 1, 'a', 'x'", [(1, "a", "x")]),
        ("insert into {} by name select 'x' day, 1 id, 'a' text", [(1, "a", "x")]),
        ("with q as (select 1 i) insert into {} select i, null, 'x' from q", [(1, None, "x")]),
        (
            "with q as (select 1 i), r as (select i from q union all select i from q) "
            "insert into {} select i, 'a', (select max(i) from q) from r",
            [(1, "a", "1"), (1, "a", "1")],
        ),
        ("from range(1) insert into {} select id, 'a', 'x'", [(0, "a", "x")]),
        ("insert into {} partition (day = 'x') values (1, 'a')", [(1, "a", "x")]),
        ("insert overwrite {} partition (day) select 1, 'a', 'x'", [(1, "a", "x")]),
        ("insert into {} partition (day = null) values (1, 'a')", [(1, "a", None)]),
        ("insert into {} select 1, 'a', 'x' where false", []),
    ],
)
def test_inserts(bench: Bench, statement: str, rows: list[tuple[object, ...]]) -> None:
    written = bench.session.insert(
        statement.format, Destination(folder=bench.folder(), partition_by=["day"]), columns=COLUMNS
    )
    assert [column.name for column in written.columns] == ["id", "text", "day"]
    assert read(bench, written) == rows
    assert stages(bench) == []


def test_an_insert_is_written_under_ids_with_partitions_anywhere(bench: Bench) -> None:
    written = bench.session.insert(
        lambda table: f"insert into {table} (b, a) values (2, 1)",
        Destination(folder=bench.folder(), partition_by=["b"], ids=["a", "b__2", "c x"]),
        columns=[Column(name=name, type="int") for name in ("a", "b", "c")],
    )
    assert "/__vcs_by_b__2=2/" in written.files[0]
    table = bench.mount(written.files, schema_of(written))
    assert bench.session.query(f"select * from {table}").arrow().to_pylist() == [
        {"a": 1, "b__2": 2, "c x": None}
    ]


@pytest.mark.parametrize(
    ("statement", "condition", "words"),
    [
        ("insert into {} values (1, 'abcd', 'x')", "EXCEED_LIMIT_LENGTH", "limitation: 3"),
        (
            "insert into {} values (1)",
            "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS",
            "Cannot write to `my`.`tab`",
        ),
        ("insert into {} values (1,'a','x','y')", None, "`my`.`tab`"),
        ("insert into {} (nope) values (1)", None, "nope"),
    ],
)
def test_inserts_that_do_not_fit(
    bench: Bench, statement: str, condition: str | None, words: str
) -> None:
    with pytest.raises(StatementError) as caught:
        bench.session.insert(
            statement.format,
            Destination(folder=bench.folder()),
            columns=COLUMNS,
            name=RelationName("my", "tab"),
        )
    assert words in str(caught.value)
    assert "__vcs" not in str(caught.value)
    assert condition in (None, caught.value.condition)
    assert stages(bench) == []


@pytest.mark.parametrize(
    "statement",
    ["select 1", "from range(1) insert into {0} select id insert into {0} select id"],
)
def test_what_is_no_single_insert(bench: Bench, statement: str) -> None:
    with pytest.raises(UnsupportedError, match=r"Expected one INSERT into `my`\.`tab`"):
        bench.session.insert(
            statement.format,
            Destination(folder=bench.folder()),
            columns=[Column(name="a", type="bigint")],
            name=RelationName("my", "tab"),
        )
