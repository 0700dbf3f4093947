"""What kind of type a column's type is, by Spark's names."""

import pytest

from dbt.adapters.vcs.relation import VcsColumn


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("string", "string"),
        ("STRING COLLATE UTF8_LCASE", "string"),
        ("varchar(20)", "string"),
        ("char(3)", "string"),
        ("tinyint", "integer"),
        ("int", "integer"),
        ("bigint", "integer"),
        ("float", "float"),
        ("double", "float"),
        ("decimal(38,18)", "numeric"),
        ("boolean", None),
        ("interval day to second", None),
        ("array<string>", None),
        ("map<int,int>", None),
        ("struct<string:int>", None),
    ],
)
def test_each_type_is_of_one_kind(dtype: str, kind: str | None) -> None:
    column = VcsColumn("c", dtype)
    kinds = {
        "string": column.is_string(),
        "integer": column.is_integer(),
        "float": column.is_float(),
        "numeric": column.is_numeric(),
    }
    assert {name for name, holds in kinds.items() if holds} == ({kind} if kind else set())
    assert column.is_number() == (kind in ("integer", "float", "numeric"))


def test_a_backquote_in_a_name_is_doubled() -> None:
    assert VcsColumn("a`b", "int").quoted == "`a``b`"


def test_no_column_is_expanded() -> None:
    assert not VcsColumn("c", "varchar(5)").can_expand_to(VcsColumn("c", "varchar(9)"))


@pytest.mark.parametrize(
    ("dtype", "data_type"),
    [
        ("timestamp", "timestamp_ltz"),
        ("array<timestamp>", "array<timestamp_ltz>"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("varchar(20)", "varchar(20)"),
        ("timestamp with time zone", "timestamp with time zone"),
    ],
)
def test_ddl_gets_a_type_that_means_the_same_in_each_session(dtype: str, data_type: str) -> None:
    assert VcsColumn("c", dtype).ddl_type == data_type
    assert VcsColumn("c", dtype).data_type == dtype
