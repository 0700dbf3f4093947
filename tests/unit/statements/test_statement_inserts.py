"""`insert`: what it says, and the statement that fills a staging table instead."""

from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.syntax.insertion import Insert
from dbt.adapters.vcs.sql.syntax.parser import SparkCommand, parse
from tests.unit.statements.statement_shapes import of, parsed, told


def insert(**fields: Any) -> Any:
    return of("Insert", **fields)


def spec(name: str, value_sql: str | None = None) -> Any:
    return of("PartitionSpec", name=name, **({"value_sql": value_sql} if value_sql else {}))


# text; what it means; the same statement, staged; what it reads
INSERTS: dict[str, tuple[str, Any, str, list[str]]] = {
    "values": (
        "insert into s.t values (1, 'a'), (2, 'b');",
        insert(target="s.t", query="values (1, 'a'), (2, 'b')"),
        "insert into X values (1, 'a'), (2, 'b')",
        [],
    ),
    "dbt's append": (
        "\n\n    insert into table s.t\n    select `a`, `b` from t__dbt_tmp\n\n",
        insert(target="s.t", query="select `a`, `b` from t__dbt_tmp"),
        "\n\n    insert into table X\n    select `a`, `b` from t__dbt_tmp",
        ["t__dbt_tmp"],
    ),
    "dbt's insert overwrite": (
        "insert overwrite table s.t\n  partition (day,region)\n  select `a` from t__dbt_tmp",
        insert(
            target="s.t",
            query="select `a` from t__dbt_tmp",
            overwrite=True,
            partition=(spec("day"), spec("region")),
        ),
        "insert into table X\n  partition (day,region)\n  select `a` from t__dbt_tmp",
        ["t__dbt_tmp"],
    ),
    "overwrite without table": (
        "insert overwrite t table u",
        insert(target="t", query="table u", overwrite=True),
        "insert into X table u",
        ["u!"],
    ),
    "partition and columns": (
        "insert into table t partition (p = 'a,b', q) (a, `b`) select 1, 2, 3",
        insert(
            target="t",
            query="select 1, 2, 3",
            partition=(spec("p", "'a,b'"), spec("q")),
            columns=("a", "b"),
        ),
        "insert into table X partition (p = 'a,b', q) (a, `b`) select 1, 2, 3",
        [],
    ),
    "columns before values": (
        "insert into t (values, table) values (1, default)",
        insert(target="t", query="values (1, default)", columns=("values", "table")),
        "insert into X (values, table) values (1, default)",
        [],
    ),
    "query in parentheses": (
        "insert into t (select * from u)",
        insert(target="t", query="(select * from u)"),
        "insert into X (select * from u)",
        ["u"],
    ),
    "queries in parentheses": (
        "insert into t (select * from u) union all (select * from v)",
        insert(target="t", query="(select * from u) union all (select * from v)"),
        "insert into X (select * from u) union all (select * from v)",
        ["u", "v"],
    ),
    "by name": (
        "insert into t by name select 1 as a",
        insert(target="t", query="select 1 as a", by_name=True),
        "insert into X by name select 1 as a",
        [],
    ),
    "a function named replace": (
        "insert into t select replace(a, 'x', 'y') from u",
        insert(target="t", query="select replace(a, 'x', 'y') from u"),
        "insert into X select replace(a, 'x', 'y') from u",
        ["u"],
    ),
    "if not exists": (
        "insert overwrite t partition (p = 1) if not exists select 1",
        insert(
            target="t",
            query="select 1",
            overwrite=True,
            partition=(spec("p", "1"),),
            if_not_exists=True,
        ),
        "insert into X partition (p = 1)  select 1",
        [],
    ),
    "replace where": (
        "insert into t replace where day >= date '2026-01-01' and a in (1, 2) select * from u",
        insert(
            target="t",
            query="select * from u",
            replace_where="day >= date '2026-01-01' and a in (1, 2)",
        ),
        "insert into X  select * from u",
        ["u"],
    ),
    "replace where something is distinct": (
        "insert into t replace where a is not distinct from 1 and x.from > 2 from u select b",
        insert(
            target="t",
            query="from u select b",
            replace_where="a is not distinct from 1 and x.from > 2",
        ),
        "insert into X  from u select b",
        ["u"],
    ),
    "with before it": (
        "with c as (select * from t), t as (select * from c) insert into s.t select * from t, u",
        insert(
            target="s.t",
            query="with c as (select * from t), t as (select * from c)\nselect * from t, u",
        ),
        "with c as (select * from t), t as (select * from c) insert into X select * from t, u",
        ["t", "u"],
    ),
    "with inside it": (
        "insert into t with c as (select * from u) select * from c",
        insert(target="t", query="with c as (select * from u) select * from c"),
        "insert into X with c as (select * from u) select * from c",
        ["u"],
    ),
    "from before it": (
        "from s.u v insert overwrite table t select a where b > 1",
        insert(target="t", query="from s.u v\nselect a where b > 1", overwrite=True),
        "from s.u v insert into table X select a where b > 1",
        ["s.u!"],
    ),
    "from a table named table": (
        "from s.table insert into t select a",
        insert(target="t", query="from s.table\nselect a"),
        "from s.table insert into X select a",
        ["s.table"],
    ),
    "with and from before it": (
        "with c as (select 1) from c join u insert into t select *",
        insert(target="t", query="with c as (select 1) from c join u\nselect *"),
        "with c as (select 1) from c join u insert into X select *",
        ["u"],
    ),
    "options": (
        "insert into t with ('a' = 'b') select 1",
        insert(target="t", query="select 1"),
        "insert into X with ('a' = 'b') select 1",
        [],
    ),
    "a comment and a hint": (
        "/* {} */ insert /* x */ overwrite /* y */ `t` /* z */ select /*+ coalesce(1) */ a from u",
        insert(target="t", query="select /*+ coalesce(1) */ a from u", overwrite=True),
        "/* {} */ insert /* x */ into /* y */ X /* z */ select /*+ coalesce(1) */ a from u",
        ["u"],
    ),
}


@pytest.mark.parametrize("case", INSERTS)
def test_what_an_insert_means(case: str) -> None:
    text, expected, staged, reads = INSERTS[case]
    assert parsed(text) == expected
    statement = parse(text)
    assert isinstance(statement, Insert)
    assert statement.staged("X") == staged
    assert [told(read) for read in statement.reads] == reads


@pytest.mark.parametrize("case", INSERTS)
def test_positions_are_those_of_the_text(case: str) -> None:
    statement = parse(INSERTS[case][0])
    assert isinstance(statement, Insert)
    text = statement.text
    assert text[slice(*statement.verb)].lower() in ("into", "overwrite")
    named = text[statement.target.start : statement.target.end].replace("`", "")
    assert named == str(statement.target.name)
    for here, there in zip(statement.reads, statement.query.reads, strict=True):
        name = text[here.start : here.end]
        assert name == statement.query.text[there.start : there.end]


@pytest.mark.parametrize("query", ["(select 2)", "((select 2))", "(values (2))", "(table u)"])
@pytest.mark.parametrize(
    "condition",
    [
        "a = 2",
        "a = 'x'",
        "(flag)",
        "a in (1, 2)",
        "a in (select b from u)",
        "exists (select 1 from u)",
        "a = (select max(b) from u)",
        "a is null",
        "not (a > 1)",
        "case when a = 1 then true end",
        "f((select 1)) = 2",
    ],
)
def test_a_query_in_parentheses_ends_the_condition_of_replace_where(
    condition: str, query: str
) -> None:
    statement = parse(f"insert into t replace where {condition} {query}")
    assert isinstance(statement, Insert)
    assert statement.replace_where == condition
    assert statement.query.text == query


def test_one_column_is_a_condition_before_a_query_in_parentheses() -> None:
    statement = parse("insert into t replace where `flag` (select 2)")
    assert isinstance(statement, Insert)
    assert (statement.replace_where, statement.query.text) == ("`flag`", "(select 2)")


def test_the_condition_of_replace_where_reads_relations_too() -> None:
    # Else a result would be reused after `v` changed, and its version would reach Spark as it is.
    text = (
        "insert into t replace where a in (select a from v{snapshot='s1'}) "
        "and exists (select 1 from w) select * from u"
    )
    statement = parse(text)
    assert isinstance(statement, Insert)
    assert sorted(map(told, statement.reads)) == ["u", "v@version:s1", "w"]
    assert [told(read) for read in statement.query.reads] == ["u"]
    assert [text[read.start :][:1] for read in statement.reads] == ["u", "v", "w"]


def test_files_outside_go_to_spark() -> None:
    text = (
        "with c as (select * from u) insert overwrite local directory '/x' using csv "
        "options (header true) select * from c join v{snapshot='s1'} on true"
    )
    statement = parse(text)
    assert isinstance(statement, SparkCommand)
    assert [told(read) for read in statement.mentions] == ["u", "v@version:s1"]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (
            "from s insert into a select x insert into b select y",
            UnsupportedError,
            "one statement per table",
        ),
        ("insert with schema evolution into t select 1", UnsupportedError, "add columns"),
        ("insert into t replace on (a = b) select 1", UnsupportedError, "replace where"),
        ("insert into t as x replace on (a = b) select 1", UnsupportedError, "replace where"),
        ("insert into t replace using (a) select 1", UnsupportedError, "replace where"),
        ("insert t select 1", InputError, "Expected `into`"),
        ("insert into t", InputError, "a query or `values`"),
        ("insert into t 1", InputError, "found '1'"),
        ("insert into t (a)", InputError, "a query or `values`"),
        ("insert into t (a) by name select 1", InputError, "found 'by'"),
    ],
)
def test_what_is_refused_says_the_next_step(text: str, error: type, words: str) -> None:
    with pytest.raises(error) as caught:
        parse(text)
    assert type(caught.value) is error
    assert words in str(caught.value)
