"""Laws: scoping checked on queries with known reads, and on texts in other spellings."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.insertion import Insert
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, quote_name, tokenize
from dbt.adapters.vcs.sql.syntax.names import FILE_FORMATS
from dbt.adapters.vcs.sql.syntax.parser import Query, parse, qualified
from tests.unit.statements.statement_queries import Written, queries
from tests.unit.statements.statement_shapes import field, parsed, reads
from tests.unit.statements.test_statement_alters import ALTERS
from tests.unit.statements.test_statement_catalog import CATALOG
from tests.unit.statements.test_statement_changes import ROW_CHANGES
from tests.unit.statements.test_statement_inserts import INSERTS
from tests.unit.statements.test_statement_queries import QUERIES
from tests.unit.statements.test_statement_tables import TABLES
from tests.unit.statements.test_statement_versioning import DIFFS, VERSIONING

EXAMPLES: list[str] = [
    case[0]  # type: ignore[index]
    for table in (
        TABLES,
        ALTERS,
        CATALOG,
        INSERTS,
        ROW_CHANGES,
        QUERIES,
        VERSIONING,
        DIFFS,
    )
    for case in table.values()
]
SPACE = st.sampled_from([" ", "\n\n", "\t", " /* from x; */ ", " -- join y\n", "/* /* ( */ ' */"])


@given(queries())
def test_a_query_reads_what_it_was_built_from(written: Written) -> None:
    names = [read.removesuffix("!").lower() for read in reads(written.sql)]
    assert names == list(written.reads)


@given(queries())
def test_sqlglot_finds_the_same_relations(written: Written) -> None:
    sqlglot = pytest.importorskip("sqlglot")
    from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
    from sqlglot.optimizer.scope import traverse_scope

    tree = normalize_identifiers(sqlglot.parse_one(written.sql, dialect="spark"), dialect="spark")
    found = {
        f"{source.db}.{source.name}".lstrip(".").lower()
        for scope in traverse_scope(tree)
        for source in scope.sources.values()
        if isinstance(source, sqlglot.exp.Table)
    }
    # sqlglot keeps one source an alias, so it may miss one of two relations of one name.
    assert found <= set(written.reads)


@given(queries())
def test_replacing_every_relation_leaves_the_rest(written: Written) -> None:
    query = parse(written.sql)
    assert isinstance(query, Query)
    again = parse(query.rewritten(dict.fromkeys(query.reads, "new.relation")))
    assert isinstance(again, Query)
    assert [str(read.name) for read in again.reads] == ["new.relation"] * len(query.reads)
    assert all(read.aliased for read in again.reads)


@given(queries())
def test_qualifying_changes_no_relation(written: Written) -> None:
    query = parse(written.sql)
    assert isinstance(query, Query)
    again = parse(qualified(query, "d"))
    assert isinstance(again, Query)
    assert [r.name.relation("x") for r in again.reads] == [
        r.name.relation("d") for r in query.reads
    ]


@given(queries(), st.sampled_from(["into", "overwrite"]))
def test_an_insert_reads_what_its_query_reads(written: Written, verb: str) -> None:
    statement = parse(f"insert {verb} t {written.sql}")
    assert isinstance(statement, Insert)
    assert [str(r.name).lower() for r in statement.reads] == list(written.reads)
    assert statement.query.text == written.sql
    assert statement.staged("t") == f"insert into t {written.sql}"


@given(queries(), queries(), queries(), queries())
def test_a_row_change_reads_what_its_queries_read(
    one: Written, two: Written, three: Written, four: Written
) -> None:
    changes = {
        f"update w.z set c = ({one.sql}), d = 1 where d in ({two.sql})": (one, two),
        f"with q as ({one.sql}) delete from w.z x where exists ({two.sql})": (one, two),
        f"with q as ({one.sql}) merge into w.z using ({two.sql}) x on z.c = x.c "
        f"when matched and w.z.c in ({three.sql}) then update set c = 1 "
        f"when not matched then insert (d) values (({four.sql}))": (one, two, three, four),
        f"merge into w.z using w.y on c = d when matched then update set d = ({one.sql}) "
        f"when not matched by source and z.c = ({two.sql}) then delete": (
            Written("", ("w.y",)),
            one,
            two,
        ),
    }
    for text, written in changes.items():
        statement: Any = parse(text)
        names = [read for piece in written for read in piece.reads]
        assert [str(read.name).lower() for read in statement.reads] == names
        query = parse(statement.staged("l.l", [field("c"), field("d")]))
        assert isinstance(query, Query)
        assert sorted(str(read.name).lower() for read in query.reads) == sorted([*names, "l.l"])


def loosened(text: str, data: st.DataObject) -> str:
    """Return the text with other white space and comments between its tokens."""
    pieces = [data.draw(SPACE)]
    tokens = tokenize(text)
    for token, following in pairwise(tokens):
        pieces.append(text[token.start : token.end])
        must = token.end < following.start or Kind.END is following.kind
        splits = must or data.draw(st.booleans())
        if splits and not is_pipe(token, following):
            pieces.append(data.draw(SPACE))
    return "".join(pieces)


def is_pipe(token: Token, following: Token) -> bool:
    return (token.text, following.text) == ("|", ">")


def tokenized(value: Any) -> Any:
    """Return a shape in which SQL texts are compared by their tokens."""
    if isinstance(value, str):
        try:
            return [token.text for token in tokenize(value)]
        except InputError:
            return value
    if isinstance(value, tuple):
        return tuple(map(tokenized, value))
    if isinstance(value, dict):
        return {key: tokenized(item) for key, item in value.items()}
    return value


@given(st.sampled_from(EXAMPLES), st.data())
def test_white_space_and_comments_change_nothing(text: str, data: st.DataObject) -> None:
    loose = loosened(text, data)
    assert tokenized(parsed(loose)) == tokenized(parsed(text))
    before, after = parse(text), parse(loose)
    if hasattr(before, "reads"):
        assert reads(loose) == reads(text)
        for read in after.reads:  # type: ignore[union-attr]
            written = after.text[read.start : read.name_end]  # type: ignore[union-attr]
            (again,) = parse(f"table {written}").reads  # type: ignore[union-attr]
            assert again.name == read.name


@given(st.sampled_from(EXAMPLES), st.sampled_from([str.upper, str.title]))
def test_keywords_are_read_in_any_case(text: str, changed: Any) -> None:
    words = (
        r"\b(select|from|with|as|insert|into|overwrite|table|create|view|or|replace|alter|by)\b"
    )
    shouted = "".join(
        text[token.start : token.end]
        if token.kind is not Kind.WORD
        else re.sub(words, lambda found: changed(found.group()), token.text)
        for token in spaced(text)
    )
    assert type(parse(shouted)) is type(parse(text))


def spaced(text: str) -> list[Token]:
    """Return the tokens of a text with the space between them as tokens of their own."""
    result: list[Token] = []
    position = 0
    for token in tokenize(text):
        result.append(Token(Kind.SYMBOL, "", "", position, token.start))
        result.append(token)
        position = token.end
    return result


TRICKY = st.sampled_from([*"(),.:{}|*;<>=", "select", "from", "as", "table", "--", "/*", "'"])
IDENTIFIERS = TRICKY | st.text(min_size=1, max_size=12).filter(str.strip)
# To Spark, parquet.`a/b` is a file.
SCHEMAS = IDENTIFIERS.filter(lambda name: name.lower() not in FILE_FORMATS)


@given(SCHEMAS, IDENTIFIERS, IDENTIFIERS)
def test_any_name_may_be_quoted(schema: str, table: str, column: str) -> None:
    s, t, c = map(quote_name, (schema, table, column))
    text = (
        f"create table {s}.{t} using parquet partitioned by ({c}) as "
        f"select {t}.{c} from {s}.{t} version as of 'v' join {t} on {t}.{c}"
    )
    kind, told = parsed(text)
    assert (kind, told["target"], told["partition_by"]) == (
        "CreateTable",
        f"{schema}.{table}",
        (column,),
    )
    statement: Any = parse(text)
    names = [(read.name.schema, read.name.identifier) for read in statement.query.reads]
    assert names == [(schema, table), (None, table)]


@given(SCHEMAS, IDENTIFIERS, IDENTIFIERS)
def test_any_name_of_a_row_change_may_be_quoted(schema: str, table: str, column: str) -> None:
    s, t, c = map(quote_name, (schema, table, column))
    source = quote_name(table + "2")
    update: Any = parse(f"update {s}.{t} set {s}.{t}.{c} = {t}.{c} where {s}.{t}.{c} = 1")
    merge: Any = parse(
        f"merge into {s}.{t} using {s}.{source} on {s}.{t}.{c} = {s}.{source}.{c} "
        f"when matched then update set {c} = {source}.{c} "
        f"when not matched then insert ({t}.{c}) values ({s}.{source}.{c})"
    )
    assert [item.column for item in update.assignments] == [column]
    assert [item.column for item in update.conjuncts()] == [column]
    assert [item.assignments[0].column for item in merge.clauses] == [column, column]
    assert merge.conjuncts() == ((column, f"{source}.{c}"),)
    for statement in (update, merge):
        text = statement.staged("x", [field(column)])
        assert text.startswith("select ") and f"{s}.{t}.{c}" not in text


@given(st.lists(st.sampled_from(EXAMPLES), max_size=4))
def test_statements_joined_by_semicolons_are_split_again(texts: list[str]) -> None:
    from dbt.adapters.vcs.sql.syntax.parser import split

    found = split("\n;".join(texts))
    assert [tokenized(text.rstrip("; \n")) for text in found] == [
        tokenized(text.rstrip("; \n")) for text in texts
    ]


@given(st.sampled_from(EXAMPLES), st.data())
def test_a_text_cut_short_is_an_input_error_at_worst(text: str, data: st.DataObject) -> None:
    cut = text[: data.draw(st.integers(0, len(text)))]
    try:
        parse(cut)
    except InputError as error:
        assert str(error).rstrip().endswith((".", "`<path>`", "'", ")", "}"))
