"""Types: taken apart and put together again, whatever spelling they come in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model.data_type import (
    PLAIN_KINDS,
    UNITS,
    Type,
    decimal_type,
    first_word,
    type_of,
)
from dbt.adapters.vcs.core.model.snapshot import fitted, widens

ATOMS = (
    st.sampled_from(sorted(PLAIN_KINDS)).map(Type)
    | st.tuples(st.integers(1, 38), st.integers(0, 9)).map(decimal_type)
    | st.sampled_from(["char", "varchar", "time"]).map(lambda kind: Type(kind, (3,)))
    | st.sampled_from(["UTF8_LCASE", "UNICODE_CI_RTRIM"]).map(
        lambda name: Type("string", collation=name)
    )
    | st.tuples(st.sampled_from(UNITS), st.sampled_from(UNITS)).map(
        lambda units: Type("interval", units=units)
    )
)


def containers(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    fields = st.lists(st.tuples(st.text(min_size=1, max_size=5), inner), max_size=3)
    return (
        inner.map(lambda part: Type("array", parts=(part,)))
        | st.tuples(inner, inner).map(lambda parts: Type("map", parts=parts))
        | fields.map(
            lambda of: Type(
                "struct", names=tuple(n for n, _ in of), parts=tuple(part for _, part in of)
            )
        )
    )


TYPES = st.recursive(ATOMS, containers, max_leaves=6)


@given(TYPES)
def test_a_type_comes_back_from_its_text(type_: Type) -> None:
    assert type_of(str(type_)) == type_
    assert widens(str(type_), str(type_))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("DEC", "decimal(10,0)"),
        ("numeric( 7 )", "decimal(7,0)"),
        ("long", "bigint"),
        ("time", "time(6)"),
        ("string collate utf8_binary", "string"),
        ("string collate Unicode_ci", "string collate UNICODE_CI"),
        ("interval day", "interval day"),
        ("INTERVAL year to MONTH", "interval year to month"),
        ("geometry(ANY)", "geometry(any)"),
        ("struct<1a: int, `b` string>", "struct<`1a`:int,b:string>"),
        ("struct<collate:string,comment:int comment 'x',`not`:int not null>",
         "struct<collate:string,comment:int,not:int>"),
    ],
)  # fmt: skip
def test_each_type_has_one_text(written: str, text: str) -> None:
    assert str(type_of(written)) == text
    assert widens(written, text)
    assert widens(text, written)


@pytest.mark.parametrize(
    "text",
    ["", "text", "int(3)", "decimal(1,2,3)", "decimal(a)", "array<int,int>", "map<int>",
     "struct<a:int b:int>", "interval day to", "string collate", "`int`", "int)"],
)  # fmt: skip
def test_texts_that_are_no_type(text: str) -> None:
    with pytest.raises(InputError, match="Expected a Spark SQL type"):
        type_of(text)


def test_what_a_type_is_made_of() -> None:
    type_ = type_of("map<string,array<struct<a:string collate UTF8_LCASE>>>")
    assert [part.kind for part in type_.whole()] == ["map", "string", "array", "struct", "string"]
    assert str(type_.binary()) == "map<string,array<struct<a:string>>>"


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [("smallint", "bigint"), ("float", "double"), ("decimal(5,2)", "decimal(9,4)"),
     ("char(3)", "varchar(3)"), ("varchar(3)", "string")],
)  # fmt: skip
def test_a_wider_type_holds_every_value(narrow: str, wide: str) -> None:
    assert widens(narrow, wide)
    assert not widens(wide, narrow)


@pytest.mark.parametrize(
    ("one", "other"),
    [("string", "string collate UTF8_LCASE"), ("char(3)", "char(4)"), ("int", "double"),
     ("decimal(5,2)", "decimal(5,3)"), ("varchar(3)", "string collate UTF8_LCASE")],
)  # fmt: skip
def test_neither_of_two_types_holds_the_others_values(one: str, other: str) -> None:
    assert not widens(one, other)
    assert not widens(other, one)


def test_texts_are_stored_as_their_type_has_them() -> None:
    assert [fitted("ab ", type_) for type_ in ("char(4)", "varchar(2)", "string")] == [
        "ab  ", "ab", "ab ",
    ]  # fmt: skip


def test_the_first_word_of_what_may_be_no_type() -> None:
    texts = ("NUMERIC(10, 2)", "string collate x", "character varying(3)", "TEXT")
    assert [first_word(text) for text in texts] == ["decimal", "string", "char", "text"]
