"""Literals and identifiers: how they are read and written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.sql.properties import CommentOnTable
from dbt.adapters.vcs.sql.syntax.lexer import quote_name, quote_text
from dbt.adapters.vcs.sql.syntax.parser import Query, parse


def comment(literal: str) -> str | None:
    statement = parse(f"comment on table t is {literal}")
    assert isinstance(statement, CommentOnTable)
    return statement.comment


# Each value was checked against Spark 4.3's own parser.
@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("''", ""),
        ("'a'", "a"),
        ('"a"', "a"),
        ("'it''s'", "it's"),
        ('"say ""hi"""', 'say "hi"'),
        ("'say \"hi\"'", 'say "hi"'),
        (r"'it\'s'", "it's"),
        (r'"a\"b"', 'a"b'),
        (r"'a\\b'", "a\\b"),
        (r"'a\\'", "a\\"),
        (r"'\n\t\r\b\0\Z'", "\n\t\r\b\0\x1a"),
        (r"'\q\/'", "q/"),
        (r"'100\% \_'", "100\\% \\_"),
        (r"'\101\012'", "A\n"),
        (r"'\u0041\u00e9'", "Aé"),
        (r"'\U0001F600'", "😀"),
        (r"'\uD83D\uDE00'", "😀"),
        ("'😀 日本'", "😀 日本"),
        ("'two\nlines'", "two\nlines"),
        ("'a' 'b' \"c\"", "abc"),
        ("'a' /* x */\n'b'", "ab"),
        (r"r'a\nb'", "a\\nb"),
        (r'R"\"', "\\"),
        (r"r'a''b'", "ab"),
        (r"'\\\'x'''", "\\'x'"),
        ("null", None),
    ],
)
def test_what_a_literal_stands_for(literal: str, value: str | None) -> None:
    assert comment(literal) == value


@given(st.text())
def test_a_quoted_text_stands_for_itself(value: str) -> None:
    assert comment(quote_text(value)) == value
    assert comment('"' + value.replace("\\", "\\\\").replace('"', '""') + '"') == value


@given(st.text(min_size=1))
def test_a_quoted_name_stands_for_itself(name: str) -> None:
    query = parse(f"select * from {quote_name(name)}.{quote_name(name)} as x")
    assert isinstance(query, Query)
    (read,) = query.reads
    assert (read.name.schema, read.name.identifier) == (name, name)
