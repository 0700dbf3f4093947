"""Types: Spark's own text for each spelling."""

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.syntax.parser import parse, read


# Each was checked against `DataType.simpleString` of Spark 4.3.
@pytest.mark.parametrize(
    ("written", "type_"),
    [
        ("BOOLEAN", "boolean"),
        ("byte", "tinyint"),
        ("short", "smallint"),
        ("INTEGER", "int"),
        ("long", "bigint"),
        ("real", "float"),
        ("double", "double"),
        ("decimal", "decimal(10,0)"),
        ("numeric ( 7 )", "decimal(7,0)"),
        ("DEC(7, 2)", "decimal(7,2)"),
        ("string", "string"),
        ("string collate utf8_lcase", "string collate UTF8_LCASE"),
        ("string collate UTF8_BINARY", "string"),
        ("varchar(5) collate utf8_binary", "varchar(5)"),
        ("char(3)", "char(3)"),
        ("CHARACTER(3)", "char(3)"),
        ("varchar(9)", "varchar(9)"),
        ("date", "date"),
        ("timestamp", "timestamp"),
        ("timestamp_ltz", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("timestamp without time zone", "timestamp_ntz"),
        ("time", "time(6)"),
        ("time(3) without time zone", "time(3)"),
        ("interval", "interval"),
        ("INTERVAL DAY TO SECOND", "interval day to second"),
        ("interval year", "interval year"),
        ("binary", "binary"),
        ("void", "void"),
        ("variant", "variant"),
        ("geometry(ANY)", "geometry(any)"),
        ("geography(4326)", "geography(4326)"),
        ("array<array<INT>>", "array<array<int>>"),
        ("map< string , decimal(3,1) >", "map<string,decimal(3,1)>"),
        ("struct<>", "struct<>"),
        (
            "STRUCT<a: INT NOT NULL COMMENT 'x', B string, `c d`: map<string, array<long>>>",
            "struct<a:int,B:string,`c d`:map<string,array<bigint>>>",
        ),
    ],
)
def test_a_type_s_text(written: str, type_: str) -> None:
    statement = parse(f"create table t (c {written} not null comment 'c', d int)")
    assert isinstance(statement, CreateTable)
    assert [column.type for column in statement.columns] == [type_, "int"]
    assert statement.columns[0].comment == "c"


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ("text", UnsupportedError),
        ("json", UnsupportedError),
        ("varchar", InputError),
        ("char", InputError),
        ("int(3)", InputError),
        ("array", InputError),
        ("map<int>", InputError),
        ("struct<a>", InputError),
        ("decimal(", InputError),
        ("interval day to year month", InputError),
        ("'x'", InputError),
    ],
)
def test_what_is_no_type(written: str, error: type) -> None:
    with pytest.raises(error) as caught:
        parse(f"create table t (c {written})")
    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("written", "type_"),
    [
        ("timestamp", "timestamp_ntz"),
        ("timestamp_ltz", "timestamp"),
        ("timestamp without time zone", "timestamp_ntz"),
        (
            "array<struct<at: TIMESTAMP, timestamp: int>>",
            "array<struct<at:timestamp_ntz,timestamp:int>>",
        ),
        ("string", "string"),
    ],
)
def test_a_session_says_what_a_timestamp_is(written: str, type_: str) -> None:
    for text in (
        f"create table t (c {written})",
        f"alter table t add columns (c {written})",
    ):
        columns = read(text, lambda: "timestamp_ntz").statement.columns  # type: ignore[attr-defined]
        assert [column.type for column in columns] == [type_]
