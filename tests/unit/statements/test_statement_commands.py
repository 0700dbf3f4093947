"""Statements that go to Spark as they are, those that are refused, and several in one text."""

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.syntax.parser import SparkCommand, parse, split

COMMANDS = {
    "set": ("set spark.sql.shuffle.partitions = 2", None),
    "set alone": ("set", None),
    "set what is no SQL": ("set a.b = it's", set()),
    "set with dashes": ("set path=/x/a--b.jar", None),
    "reset": ("reset spark.x", None),
    "add jar": ("add jar /x/a--b 'c.jar", None),
    "set a variable": ("set var x = (select max(a) from s.t)", {"s.t"}),
    "cache table": ("cache table s.t", {"s.t"}),
    "cache a query": ("cache lazy table c options ('a' = 'b') as select * from t", {"t"}),
    "cache a query without as": ("cache table c (with d as (select * from t) table d)", {"t"}),
    "uncache": ("uncache table if exists s.t", {"s.t"}),
    "refresh": ("refresh table s.t", {"s.t"}),
    "analyze": ("analyze table s.t compute statistics for columns a", {"s.t"}),
    "explain a query": (
        "explain extended with c as (select * from t) select * from c, u",
        {"t", "u"},
    ),
    "explain an insert": ("explain insert into s.t select * from u", {"s.t", "u"}),
    "describe a query": ("describe query select * from s.t", {"s.t"}),
    "describe without query": ("desc with c as (select 1) select * from c join t", {"t"}),
    "create temporary function": ("create temporary function f as 'com.x.F' using jar 'x'", None),
    "drop temporary function": ("drop temporary function if exists f", None),
    "drop temporary variable": ("drop temporary variable x", None),
    "declare": ("declare variable x int default 1", None),
    "call": ("call s.p(1)", None),
    "grant": ("grant select on s.t to `someone`", {"s.t"}),
    "revoke": ("revoke select on s.t from `someone`", {"s.t"}),
    "show functions": ("show system functions like 'a*'", None),
    "clear cache": ("clear cache", None),
    "create index": ("create index i on s.t (a)", {"s.t"}),
    "unknown": ("frobnicate s.t", {"s.t"}),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_what_goes_to_spark(case: str) -> None:
    text, mentioned = COMMANDS[case]
    statement = parse(text)
    assert isinstance(statement, SparkCommand)
    assert statement.text == text
    found = {str(mention.name) for mention in statement.mentions}
    for mention in statement.mentions:
        assert text[mention.start : mention.end].replace("`", "") == str(mention.name)
    if mentioned is not None:
        assert mentioned <= found
    if text.split()[0] in ("explain", "describe", "desc", "cache") and "(" in text:
        assert found == mentioned


REFUSED = {
    "create or replace schema s": "create schema if not exists",
    "create or replace database s comment 'x'": "drop schema ... cascade",
    "load data inpath '/x' into table t": "insert into t select",
    "optimize t zorder by (a)": "cluster by",
    "vacuum t": "collected by `dbt-vcs gc`",
    "copy into t from '/x'": "insert its rows",
    "execute t": "the statement itself",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_says_the_next_step(text: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse(text)
    assert " ".join(text.split()[:2]) in str(caught.value)
    assert REFUSED[text] in str(caught.value)


@pytest.mark.parametrize("text", ["begin select 1; end", "again: begin end again", "begin"])
def test_a_script_is_refused_as_a_whole(text: str) -> None:
    with pytest.raises(UnsupportedError, match="one at a time"):
        parse(text)


@pytest.mark.parametrize("text", ["", " \n ", ";", "-- nothing", "/* {} */ ;\n-- x"])
def test_nothing_is_no_statement(text: str) -> None:
    with pytest.raises(InputError, match="found nothing"):
        parse(text)


def test_several_statements_are_refused() -> None:
    with pytest.raises(InputError, match="found 3"):
        parse("select 1; ; select ';' ;\nselect 2;")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ; ;\n-- x\n;", []),
        ("a; b", ["a", "b"]),
        ("select 1;", ["select 1"]),
        ("select ';' ; select \";\" ; select `;`", ["select ';'", 'select ";"', "select `;`"]),
        ("select 'a\\';' ; b", ["select 'a\\';'", "b"]),
        ("select 'a'';' ; b", ["select 'a'';'", "b"]),
        ("select r'\\' ; b", ["select r'\\'", "b"]),
        ("a -- ;\n ; b", ["a -- ;", "b"]),
        ("a -- ;\\\n ; c\n; b", ["a -- ;\\\n ; c", "b"]),
        ("a /* ; /* ; */ ; */ ; b", ["a /* ; /* ; */ ; */", "b"]),
        ("a /*+ x */ ; b", ["a /*+ x */", "b"]),
        ("/* first */ a;\n/* second */ b; -- done", ["/* first */ a", "/* second */ b"]),
        ("select $$ ; $$; b", ["select $$ ; $$", "b"]),
        ("select '日本;😀'; b", ["select '日本;😀'", "b"]),
    ],
)
def test_a_text_is_split_where_statements_end(text: str, expected: list[str]) -> None:
    assert split(text) == expected
