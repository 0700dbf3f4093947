"""`update`, `delete` and `merge`: what they say, and what is refused."""

from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.merge_into import Merge
from dbt.adapters.vcs.sql.row_change import Delete, Update
from dbt.adapters.vcs.sql.syntax.parser import SparkCommand, parse
from tests.unit.statements.statement_shapes import told

# text; class; target; alias; what it reads; what its pieces say
ROW_CHANGES: dict[str, tuple[str, type, str, str | None, list[str], Any]] = {
    "update": (
        "update s.t set a = 1 where b = 2",
        Update,
        "s.t",
        None,
        [],
        (("a", "1"), "b = 2"),
    ),
    "update with alias and subqueries": (
        "update t as x set a = (select max(a) from u), b = default where c in (table v)",
        Update,
        "t",
        "x",
        ["u", "v!"],
        (("a", "(select max(a) from u)"), ("b", None), "c in (table v)"),
    ),
    "with, then update": (
        "with c as (select * from u) update t set a = 1 where a in (select a from c)",
        Update,
        "t",
        None,
        ["u"],
        ("with c as (select * from u)", ("a", "1"), "a in (select a from c)"),
    ),
    "update of qualified columns": (
        "update s.t set t.a = 1, s.t.`B c` = f(a, b), SPARK_CATALOG.S.T.d = e[1]",
        Update,
        "s.t",
        None,
        [],
        (("a", "1"), ("B c", "f(a, b)"), ("d", "e[1]")),
    ),
    "update of a column named as the table": (
        "update t set t = 1, t.u = t.t.u",
        Update,
        "t",
        None,
        [],
        (("t", "1"), ("u", "t.t.u")),
    ),
    "update with case and where inside": (
        "update t set a = case when b then 1 else 2 end, c = x.where where y",
        Update,
        "t",
        None,
        [],
        (("a", "case when b then 1 else 2 end"), ("c", "x.where"), "y"),
    ),
    "delete": (
        "delete from t x where exists (select 1 from u where u.a = x.a)",
        Delete,
        "t",
        "x",
        ["u"],
        ("exists (select 1 from u where u.a = x.a)",),
    ),
    "delete everything": ("delete from s.t", Delete, "s.t", None, [], ()),
    "with, then delete": (
        "with c as (select 1) delete from t where a in (from c)",
        Delete,
        "t",
        None,
        [],
        ("with c as (select 1)", "a in (from c)"),
    ),
    "dbt's merge": (
        "merge into s.t as DBT_INTERNAL_DEST\n using t__dbt_tmp as DBT_INTERNAL_SOURCE\n"
        " on DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id\n\n"
        " when matched then update set a = DBT_INTERNAL_SOURCE.a, b = DBT_INTERNAL_SOURCE.b\n"
        " when not matched then insert *",
        Merge,
        "s.t",
        "DBT_INTERNAL_DEST",
        ["t__dbt_tmp!"],
        (
            ("t__dbt_tmp", "DBT_INTERNAL_SOURCE"),
            "DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id",
            ("matched", "update", ("a", "DBT_INTERNAL_SOURCE.a"), ("b", "DBT_INTERNAL_SOURCE.b")),
            ("not matched", "insert", "*"),
        ),
    ),
    "dbt's merge of a snapshot": (
        "merge into s.t as DBT_INTERNAL_DEST using s.x as DBT_INTERNAL_SOURCE on "
        "DBT_INTERNAL_SOURCE.dbt_scd_id = DBT_INTERNAL_DEST.dbt_scd_id "
        "when matched and DBT_INTERNAL_DEST.dbt_valid_to is null "
        "and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete') "
        "then update set dbt_valid_to = DBT_INTERNAL_SOURCE.dbt_valid_to "
        "when not matched and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert' then insert *",
        Merge,
        "s.t",
        "DBT_INTERNAL_DEST",
        ["s.x!"],
        (
            ("s.x", "DBT_INTERNAL_SOURCE"),
            "DBT_INTERNAL_SOURCE.dbt_scd_id = DBT_INTERNAL_DEST.dbt_scd_id",
            (
                "matched",
                "update",
                "DBT_INTERNAL_DEST.dbt_valid_to is null "
                "and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')",
                ("dbt_valid_to", "DBT_INTERNAL_SOURCE.dbt_valid_to"),
            ),
            ("not matched", "insert", "DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'", "*"),
        ),
    ),
    "merge from a query": (
        "merge into t using (select * from u join v on u.a = v.a) s on t.a = s.a "
        "when matched and s.x in (select x from w) then delete "
        "when not matched then insert (a, t.b) values (s.a, default) "
        "when not matched by source then update set a = 1, b = (select 2 from z)",
        Merge,
        "t",
        None,
        ["u", "v", "w", "z"],
        (
            ("(select * from u join v on u.a = v.a)", "s"),
            "t.a = s.a",
            ("matched", "delete", "s.x in (select x from w)"),
            ("not matched", "insert", ("a", "s.a"), ("b", None)),
            ("not matched by source", "update", ("a", "1"), ("b", "(select 2 from z)")),
        ),
    ),
    "merge without alias": (
        "merge into t using s.u on t.a = u.a when not matched by target then insert *",
        Merge,
        "t",
        None,
        ["s.u"],
        (("s.u", None), "t.a = u.a", ("not matched", "insert", "*")),
    ),
    "merge from an old version": (
        "merge into t using s.u version as of 'v1' x on true when matched then update set *",
        Merge,
        "t",
        None,
        ["s.u@version:v1!"],
        (("s.u version as of 'v1'", "x"), "true", ("matched", "update", "*")),
    ),
    "with, then merge": (
        "with c as (select * from u) merge into t using c on true when matched then delete",
        Merge,
        "t",
        None,
        ["u"],
        ("with c as (select * from u)", ("c", None), "true", ("matched", "delete")),
    ),
    "merge with cases everywhere": (
        "merge into t using u on case when t.a then u.a else u.end end = 1 "
        "when matched and case when end > 1 then true end then update set a = case case when "
        "matched then 1 end when 2 then end end, t.b = u.when "
        "when matched and t.then = 1 then delete "
        "when not matched by source and t.a is null then delete "
        "when not matched by source then delete",
        Merge,
        "t",
        None,
        ["u"],
        (
            ("u", None),
            "case when t.a then u.a else u.end end = 1",
            (
                "matched",
                "update",
                "case when end > 1 then true end",
                ("a", "case case when matched then 1 end when 2 then end end"),
                ("b", "u.when"),
            ),
            ("matched", "delete", "t.then = 1"),
            ("not matched by source", "delete", "t.a is null"),
            ("not matched by source", "delete"),
        ),
    ),
    "words of a query as columns": (
        "delete from t where select = 1 and values in (2)",
        Delete,
        "t",
        None,
        [],
        ("select = 1 and values in (2)",),
    ),
    "words of clauses as columns": (
        "update t set limit = limit + offset, a = t.order where limit and not union is not "
        "distinct from from or (group) = left(a, 1)",
        Update,
        "t",
        None,
        [],
        (
            ("limit", "limit + offset"),
            ("a", "t.order"),
            "limit and not union is not distinct from from or (group) = left(a, 1)",
        ),
    ),
    "merge with options and signs": (
        "merge into t using s.u with ('a' = 'b') on ! t.a when ! matched then insert *",
        Merge,
        "t",
        None,
        ["s.u"],
        (("s.u with ('a' = 'b')", None), "! t.a", ("not matched", "insert", "*")),
    ),
    "merge from another catalog": (
        "merge into t using c.s.u on t.a = c.s.u.a when matched then delete",
        Merge,
        "t",
        None,
        [],
        (("c.s.u", None), "t.a = c.s.u.a", ("matched", "delete")),
    ),
}


def pieces(statement: Any) -> tuple[Any, ...]:
    """Return the parts of a row change as pieces of its text."""
    text = statement.text

    def said(place: Any) -> Any:
        return None if place is None else text[slice(*place)]

    def assigned(assignments: Any) -> list[Any]:
        return [(column, said(value)) for column, value in assignments]

    found = [said(statement.with_)]
    if isinstance(statement, Merge):
        found += [(said(statement.source.place), statement.source.alias), said(statement.on)]
        for clause in statement.clauses:
            star = "*" if clause.star else None
            parts = [clause.when, clause.action, said(clause.condition), star]
            found.append(tuple(filter(None, [*parts, *assigned(clause.assignments)])))
    else:
        found += assigned(getattr(statement, "assignments", ()))
        found.append(said(statement.where))
    return tuple(filter(None, found))


@pytest.mark.parametrize("case", ROW_CHANGES)
def test_what_a_row_change_means(case: str) -> None:
    text, kind, target, alias, reads, expected = ROW_CHANGES[case]
    statement: Any = parse(text + " ;")
    assert type(statement) is kind
    assert (str(statement.target.name), statement.alias, statement.text) == (target, alias, text)
    assert [told(read) for read in statement.reads] == reads
    assert all(str(r.name) == text[r.start : r.name_end] for r in statement.reads)
    assert pieces(statement) == expected


def test_what_is_in_another_catalog_goes_to_spark() -> None:
    assert isinstance(parse("delete from other.s.t where a = 1"), SparkCommand)
    assert isinstance(parse("update other.s.t set a = 1"), SparkCommand)


@pytest.mark.parametrize(
    ("clauses", "needed"),
    [
        ("when matched then delete", False),
        ("when matched then delete when not matched then insert *", False),
        ("when not matched then insert *", False),
        ("when not matched by source then delete", False),
        ("when matched and s.a then delete", True),
        ("when matched then update set a = 1", True),
        ("when matched and t.a then delete when matched then delete", True),
    ],
)
def test_when_several_matches_are_an_error(clauses: str, needed: bool) -> None:
    statement = parse(f"merge into t using s on t.a = s.a {clauses}")
    assert isinstance(statement, Merge)
    assert statement.needs_cardinality_check is needed
    assert statement.needs_source_columns is ("*" in clauses)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("delete t", InputError, "Expected `from`"),
        ("delete from t where", InputError, "an expression"),
        ("delete from t where a, b", InputError, "found ','"),
        ("delete from t where select a from u", InputError, "an expression, found 'select'"),
        ("delete from t where select 'a'", InputError, "an expression, found 'select'"),
        ("delete from t where values (true)", InputError, "an expression, found 'values'"),
        ("delete from t where a = 1 limit 1", InputError, "end, found 'limit'"),
        ("delete from t where a = 1 union all select 1", InputError, "end, found 'union'"),
        ("delete from t where f(a) group by a", InputError, "end, found 'group'"),
        ("delete from t where a order by b", InputError, "end, found 'order'"),
        ("update t set a = 1 where b = 'x' returning a", InputError, "end, found 'returning'"),
        ("update t set a = u.a from u", InputError, "end, found 'from'"),
        ("update t set a = 1 as x", InputError, "end, found 'as'"),
        (
            "merge into t using u on t.a = u.a cross join v when matched then delete",
            InputError,
            "found 'cross'",
        ),
        ("update t set a = select 1", InputError, "an expression, found 'select'"),
        ("delete from t set a = 1", InputError, "found 'a'"),
        ("delete from t{snapshot = 'v1'}", InputError, "A version of t can't be changed"),
        (
            "update s.t version as of 'v1' set a = 1",
            InputError,
            "A version of s.t can't be changed",
        ),
        (
            "merge into t timestamp as of '2026-01-01' using u on true when matched then delete",
            InputError,
            "Leave the version out",
        ),
        ("update t", InputError, "Expected `set`"),
        ("update t set", InputError, "a name"),
        ("update t set a", InputError, "Expected '='"),
        ("update t set a = ", InputError, "an expression"),
        ("update t set a = 1, A = 2", InputError, "one value for the column 'A'"),
        ("update t set a.b = 1", UnsupportedError, "named_struct"),
        ("update s.t set u.t.a = 1", UnsupportedError, "named_struct"),
        ("update t as x set t.a = 1", UnsupportedError, "the alias x alone"),
        ("update t x set x.a.b = 1", UnsupportedError, "named_struct"),
        ("update t (a) set a = 1", InputError, "Expected `set`"),
        ("merge into t u on true", InputError, "Expected `using`"),
        ("merge into t using u", InputError, "Expected `on`"),
        ("merge into t using u (a) on true", InputError, "Expected `on`"),
        ("merge into t using u on true", InputError, "`when matched`"),
        ("merge into t using u on true when matched", InputError, "`then`"),
        ("merge into t using u on true when matched then insert *", InputError, "`update set`"),
        ("merge into t using u on true when matched then delete x", InputError, "found 'x'"),
        ("merge into t using u on true when not matched then delete", InputError, "`insert`"),
        (
            "merge into t using u on true when not matched then insert (a, b) values (1)",
            InputError,
            "2 columns and 1 values",
        ),
        (
            "merge into t using u on true when not matched then insert (a, A) values (1, 2)",
            InputError,
            "'A', found two",
        ),
        ("merge into t using u on true when not matched then insert (a)", InputError, "`values`"),
        (
            "merge into t using u on true when not matched by source then update set *",
            InputError,
            "found '*'",
        ),
        (
            "merge into t using u on true when not matched then insert * when matched then delete",
            InputError,
            "Move it before",
        ),
        (
            "merge into t using u on true when matched then delete "
            "when matched and t.a then update set *",
            InputError,
            "without a condition",
        ),
        (
            "merge with schema evolution into t using u on true when matched then delete",
            UnsupportedError,
            "add columns",
        ),
    ],
)
def test_what_is_refused_says_the_next_step(text: str, error: type, words: str) -> None:
    with pytest.raises(error) as caught:
        parse(text)
    assert type(caught.value) is error
    assert words in str(caught.value)


def test_a_case_may_begin_with_a_parenthesis() -> None:
    condition = "case (t.a) when 1 then true end"
    parsed = parse(f"merge into t using u on true when matched and {condition} then delete")
    assert isinstance(parsed, Merge)
    (clause,) = parsed.clauses
    assert clause.condition is not None
    assert parsed.text[clause.condition.start : clause.condition.end] == condition
