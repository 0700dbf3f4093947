"""What the condition of a row change implies about rows, for skipping files."""

from typing import Any

import pytest

from dbt.adapters.vcs.sql.merge_into import Merge
from dbt.adapters.vcs.sql.row_change import Delete, Update
from dbt.adapters.vcs.sql.syntax.conditions import Comparison, Constant, KeyPair
from dbt.adapters.vcs.sql.syntax.parser import parse


def number(column: str, operator: Any, *values: str) -> Comparison:
    return Comparison(column, operator, tuple(Constant("number", value) for value in values))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("a = 1", [number("a", "=", "1")]),
        ("-1.5 < `B c`", [number("B c", ">", "-1.5")]),
        ("s.t.a == 1 and T.b <=> 2", [number("a", "=", "1"), number("b", "<=>", "2")]),
        (
            "a >= 1 and (b <= 2 and ((c > 3)))",
            [
                number("a", ">=", "1"),
                number("b", "<=", "2"),
                number("c", ">", "3"),
            ],
        ),
        (
            "a between 1 and 2 and b = 3",
            [
                number("a", ">=", "1"),
                number("a", "<=", "2"),
                number("b", "=", "3"),
            ],
        ),
        ("(a) in (1, -2, (3))", [number("a", "in", "1", "-2", "3")]),
        (
            "a is null and b is not null",
            [Comparison("a", "is null"), Comparison("b", "is not null")],
        ),
        (
            "a = 'x' and b = 1",
            [Comparison("a", "=", (Constant("string", "x"),)), number("b", "=", "1")],
        ),
        (r"a = r'x\ny'", [Comparison("a", "=", (Constant("string", r"x\ny"),))]),
        # Settings of the session say what these mean.
        (r"""a = 'x\ny' and b = 'x''y' and c = "x" and d = 1""", [number("d", "=", "1")]),
        (r'''a in ('x', 'x\'y') and b between 'a' and "b"''', []),
        ("date '2026-01-01' <= a", [Comparison("a", ">=", (Constant("date", "2026-01-01"),))]),
        (
            "a = timestamp'2026-01-01 00:00:00' and b = TRUE",
            [
                Comparison("a", "=", (Constant("timestamp", "2026-01-01 00:00:00"),)),
                Comparison("b", "=", (Constant("boolean", "true"),)),
            ],
        ),
        (
            "a = 1 and f(b) = 2 and c in (select 1) and d like 'x' and e = f",
            [number("a", "=", "1")],
        ),
        ("a = 1 or b = 2", []),
        ("a = 1 and (b = 2 or c = 3)", [number("a", "=", "1")]),
        ("(a = 1 and b = 2) or c = 3", []),
        ("not a = 1", []),
        ("not (a = 1)", []),
        ("not a = 1 and b = 2", [number("b", "=", "2")]),
        ("a != 1 and b <> 2 and c = 1 = true", []),
        ("a not in (1) and b not between 1 and 2", []),
        ("a between 1 and b", []),
        ("a = 1L and b = 1e3 and c = 1bd and d = 'a' 'b'", []),
        ("a + 1 = 2 and b = 1 + 1 and c = 2 + d", []),
        ("a = null and b in (1, null) and c in (d)", []),
        ("s.a = 1 and t.s.a = 2 and x.t.a = 3", []),
        ("case when a = 1 and b = 2 then c = 3 end and d = 4", [number("d", "=", "4")]),
        ("exists (select 1 from u where u.a = 1 and b = 2)", []),
        ("a", []),
        ("true", []),
        ("a < 1 < 2", []),
        ("a = date '2026-01-01' + 1", []),
    ],
)
def test_what_a_condition_surely_says(where: str, expected: list[Comparison]) -> None:
    for text in (f"delete from s.t where {where}", f"update s.t set z = 1 where {where}"):
        statement = parse(text)
        assert isinstance(statement, Delete | Update)
        assert list(statement.conjuncts()) == expected


def test_no_condition_says_nothing() -> None:
    statement = parse("delete from t")
    assert isinstance(statement, Delete)
    assert statement.conjuncts() == ()


@pytest.mark.parametrize(
    ("tables", "on", "expected"),
    [
        ("t using u", "t.a = u.a", [("a", "u.a")]),
        ("t using u", "u.`x y` == t.`B c` and (u.b = t.b)", [("B c", "u.`x y`"), ("b", "u.b")]),
        ("s.t using r.u", "s.t.a = r.u.a", [("a", "`u`.a")]),
        (
            "s.t d using (select 1) s",
            "d.a = coalesce(s.a, 0) + s.b.c",
            [
                ("a", "coalesce(s.a, 0) + s.b.c"),
            ],
        ),
        ("t using u", "t.a = u.a or t.b = u.b", []),
        ("t using u", "t.a <=> u.a and t.b > u.b and t.c = t.d and u.e = u.f", []),
        ("t using u", "a = u.a and t.b = b and t.c = 1 and t.d = f(t.x, u.x)", []),
        ("t using u", "t.a = (select u.a) and not t.b = u.b", []),
        ("t x using u y", "t.a = u.a and x.b = y.b", [("b", "y.b")]),
        ("t using (select 1)", "t.a = b", []),
        # The clock of the statement that asks for the source's keys isn't that of the merge.
        ("t using u", "t.a = u.a and t.b = u.b + unix_timestamp()", [("a", "u.a")]),
        (
            "t using u",
            "t.a = date_add(now(), u.a) and t.b = unix_timestamp(u.b)",
            [
                ("b", "unix_timestamp(u.b)"),
            ],
        ),
    ],
)
def test_which_equalities_every_match_fulfils(
    tables: str, on: str, expected: list[tuple[str, str]]
) -> None:
    statement = parse(f"merge into {tables} on {on} when matched then delete")
    assert isinstance(statement, Merge)
    assert list(statement.conjuncts()) == [KeyPair(*pair) for pair in expected]
