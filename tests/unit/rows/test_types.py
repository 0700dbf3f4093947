import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import types as T

import dbt.adapters.vcs
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.table.quoting import sql_type
from dbt.adapters.vcs.table.types import RAW_TYPE_KEY, arrow_type, field_type_text, type_text

NESTED = T.StructType(
    [
        T.StructField("a", T.IntegerType()),
        T.StructField("b c", T.ArrayType(T.DecimalType(10, 2))),
        T.StructField("d`e", T.MapType(T.StringType(), T.TimestampNTZType())),
        T.StructField("1f", T.VarcharType(3)),
    ]
)
NESTED_TEXT = (
    "struct<a:int,`b c`:array<decimal(10,2)>,`d``e`:map<string,timestamp_ntz>,`1f`:varchar(3)>"
)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (T.BooleanType(), "boolean"),
        (T.ByteType(), "tinyint"),
        (T.ShortType(), "smallint"),
        (T.IntegerType(), "int"),
        (T.LongType(), "bigint"),
        (T.FloatType(), "float"),
        (T.DoubleType(), "double"),
        (T.DecimalType(38, 18), "decimal(38,18)"),
        (T.StringType(), "string"),
        (T.CharType(4), "char(4)"),
        (T.BinaryType(), "binary"),
        (T.DateType(), "date"),
        (T.TimestampType(), "timestamp"),
        (T.TimestampNTZType(), "timestamp_ntz"),
        (T.DayTimeIntervalType(), "interval day to second"),
        (T.YearMonthIntervalType(), "interval year to month"),
        (T.VariantType(), "variant"),
        (T.NullType(), "void"),
        (NESTED, NESTED_TEXT),
    ],
)
def test_texts_of_spark_types(type_: T.DataType, text: str) -> None:
    assert type_text(type_) == text


def test_a_declared_length_is_kept() -> None:
    field = T.StructField("v", T.StringType(), metadata={RAW_TYPE_KEY: "varchar(3)"})
    assert field_type_text(field) == "varchar(3)"


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("bigint", pa.int64()),
        ("INT", pa.int32()),
        ("decimal(10,2)", pa.decimal128(10, 2)),
        ("decimal( 5 )", pa.decimal128(5, 0)),
        ("decimal", pa.decimal128(10, 0)),
        ("varchar(3)", pa.string()),
        ("string collate UTF8_LCASE", pa.string()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_ntz", pa.timestamp("us")),
        (
            "array<array<int>>",
            pa.list_(pa.field("element", pa.list_(pa.field("element", pa.int32())))),
        ),
        (
            "map<string, array<date>>",
            pa.map_(pa.string(), pa.list_(pa.field("element", pa.date32()))),
        ),
        ("struct<>", pa.struct([])),
        (
            "struct<a: int NOT NULL COMMENT 'it\\'s, a', `x``y z`:struct<b:double>>",
            pa.struct([("a", pa.int32()), ("x`y z", pa.struct([("b", pa.float64())]))]),
        ),
        (
            NESTED_TEXT,
            pa.struct(
                [
                    ("a", pa.int32()),
                    ("b c", pa.list_(pa.field("element", pa.decimal128(10, 2)))),
                    ("d`e", pa.map_(pa.string(), pa.timestamp("us"))),
                    ("1f", pa.string()),
                ]
            ),
        ),
    ],
)
def test_arrow_types(text: str, type_: pa.DataType) -> None:
    assert arrow_type(text) == type_


@pytest.mark.parametrize("text", ["interval day to second", "variant", "array<variant>"])
def test_types_that_arrow_lacks(text: str) -> None:
    with pytest.raises(UnsupportedError, match="write them with a query"):
        arrow_type(text)


@pytest.mark.parametrize(
    "text",
    ["", "no", "array<int", "array", "int int", "struct<a>", "decimal(x)", "map<int>", "a;b"],
)
def test_texts_that_are_no_type(text: str) -> None:
    with pytest.raises(InputError, match="Expected a Spark SQL type"):
        arrow_type(text)


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("timestamp", "timestamp_ltz"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("map<timestamp,array<timestamp>>", "map<timestamp_ltz,array<timestamp_ltz>>"),
        ("struct<timestamp:int,`a timestamp`:timestamp>",
         "struct<timestamp:int,`a timestamp`:timestamp_ltz>"),
        ("char(3)", "char(3)"),
    ],
)  # fmt: skip
def test_sql_names_an_instant_in_one_way_only(stored: str, text: str) -> None:
    assert sql_type(stored) == text
    assert sql_type(text) == text


def test_no_cast_of_the_package_names_a_stored_type_as_it_is() -> None:
    files = Path(dbt.adapters.vcs.__file__).parent.rglob("*.py")
    bare = re.compile(r"cast\(.* as \{(?!sql_type\()[^{}]*type_?\}")
    found = [line for file in files for line in file.read_text().splitlines() if bare.search(line)]
    assert not found
