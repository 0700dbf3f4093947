"""Row changes as queries, run on Spark: each says what to do to which row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.spark.session import SparkView
from dbt.adapters.vcs.sql.merge_into import Merge
from dbt.adapters.vcs.sql.row_change import Delete, Update
from dbt.adapters.vcs.sql.syntax.parser import parse
from tests.unit.statements.statement_shapes import field

pytestmark = pytest.mark.spark

COLUMNS = (field("id"), field("name", "'new'"), field("n"))
TYPES = ("int", "string", "int")
SOURCE = ("ID", "name", "n")
LOCATED = (
    "select id, name, n, 'f' as __vcs_file, id * 10L as __vcs_pos from "
    "values (1, 'a', 10), (2, 'b', 20), (3, 'c', 30), (4, null, cast(null as int)) t(id, name, n)"
)
# In the source: 2 twice as `v`, 5 and 6 are new.
U = "select * from values (2, 'B', 21), (3, 'C', 31), (5, 'E', 51), (6, null, 61) u(id, name, n)"
V = "select * from values (2, 'x', 1), (2, 'y', 2) v(id, name, n)"
# The target's rows.
A, B, C, D = (1, "a", 10), (2, "b", 20), (3, "c", 30), (4, None, None)


@pytest.fixture(scope="module")
def spark(
    spark_engine_factory: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> SparkView:
    folder: Path = tmp_path_factory.mktemp("staged")
    session: SparkView = spark_engine_factory(LocalBlobs(folder, fsync=False)).session("staged")
    session.query("create schema if not exists sc").fetch()
    session.query("create view sc.u as " + U).fetch()
    for name, query in (("located", LOCATED), ("u", U), ("v", V)):
        session.query(f"create temporary view {name} as {query}").fetch()
    return session


def staged(text: str, columns: tuple[Field, ...] = COLUMNS, located: str = "`located`") -> str:
    """Return the query of the changes; of a merge, with the new values that its clauses choose."""
    statement = parse(text)
    assert isinstance(statement, Update | Delete | Merge)
    if not isinstance(statement, Merge):
        return statement.staged(located, columns)
    query = statement.staged(located, columns, SOURCE)
    chosen = []
    for place, clauses in enumerate(statement.givers(columns, SOURCE)):
        new = f"__new_{place}"
        several = sum(clauses.values()) > 1
        branches = (
            f"when {n} then {given if gives else f'__old_{place}'}"
            for n, gives in clauses.items()
            for value in [f"{new}.clause_{n + 1}" if several else new]
            for given in [f"cast({value} as {TYPES[place]})" if columns is COLUMNS else value]
        )
        chosen.append(f"case __vcs_clause {' '.join(branches)} end" if clauses else "null")
    old = [f"__old_{place}" for place in range(len(columns))]
    new_ = [f"{sql} as __new_{place}" for place, sql in enumerate(chosen)]
    names = ["__vcs_action", "__vcs_file", "__vcs_pos", *old, *new_, "__vcs_matched"]
    return f"select {', '.join(names)} from ({query})"


def changes(spark: SparkView, text: str) -> list[tuple[Any, ...]]:
    """Return (action, old row, new row) of each change, sorted; a row left out is None."""
    found = []
    for action, file, pos, *rest in spark.query(staged(text)).fetch():
        old, new, matched = tuple(rest[:3]), tuple(rest[3:6]), rest[6:]
        if action == "insert":
            assert (file, pos, old) == (None, None, (None,) * 3)
        else:
            assert (file, pos) == ("f", old[0] * 10)
        if action in ("delete", None):
            assert new == (None,) * 3
        assert not matched or matched[0] in (True, False)
        found.append((action, old[0] and old, None if action in ("delete", None) else new))
    return sorted(found, key=repr)


def updated(*pairs: tuple[Any, Any]) -> list[tuple[Any, ...]]:
    return sorted((("update", old, new) for old, new in pairs), key=repr)


UPDATES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "all rows": (
        "update t set n = 0",
        updated(*((row, (row[0], row[1], 0)) for row in (A, B, C, D))),
    ),
    "values of the old row": (
        "update sc.t set id = sc.t.n, n = t.id where T.name in ('a', 'b')",
        updated((A, (10, "a", 1)), (B, (20, "b", 2))),
    ),
    "a condition that is null": ("update t set n = 0 where name = null", []),
    "default, null and comments": (
        "update t as x set name = /* the */ default, n = null -- nothing\n where x.id = 1 -- x\n",
        updated((A, (1, "new", None))),
    ),
    "subqueries": (
        "with c as (select id i, name from u) update t set "
        "name = (select max(name) from c where c.i = t.id), n = (select count(*) from v) "
        "where exists (select 1 from u where u.id = t.id) and id in (select i from c)",
        updated((B, (2, "B", 2)), (C, (3, "C", 2))),
    ),
    "a predicate of a subquery as value": (
        "update t x set name = case when x.id in (select id from u) then 'in' else 'out' end "
        "where n is not null",
        updated((A, (1, "out", 10)), (B, (2, "in", 20)), (C, (3, "in", 30))),
    ),
    "a subquery with a relation of the same name": (
        "update sc.u set n = (select sum(sc.u.n) from sc.u where u.id = 2) where sc.u.id = 2",
        updated((B, (2, "b", 21))),
    ),
}

DELETES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "all": ("delete from t", [("delete", row, None) for row in (A, B, C, D)]),
    "some": (
        "with c as (select id from u) delete from sc.t where sc.t.id in (select id from c)",
        [("delete", B, None), ("delete", C, None)],
    ),
    "not in": (
        "delete from t as x where not exists (select * from u where u.id = x.id) or name is null",
        [("delete", A, None), ("delete", D, None)],
    ),
}

MERGES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "update *": (
        "merge into t using u on t.id = u.id when matched then update set *",
        updated((B, (2, "B", 21)), (C, (3, "C", 31))),
    ),
    "dbt's": (
        "merge into sc.t as DBT_INTERNAL_DEST using u as DBT_INTERNAL_SOURCE "
        "on DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id "
        "when matched then update set * when not matched then insert *",
        [
            ("insert", None, (5, "E", 51)),
            ("insert", None, (6, None, 61)),
            *updated((B, (2, "B", 21)), (C, (3, "C", 31))),
        ],
    ),
    "everything": (
        "merge into sc.t using sc.u on sc.t.id = sc.u.id "
        "when matched and sc.t.name = 'b' then update set n = sc.t.n + u.n, name = sc.u.name "
        "when matched then delete "
        "when not matched and u.name is not null then insert (id) values (sc.u.id) "
        "when not matched then insert (n, id) values (default, u.n) "
        "when not matched by source and t.n is null then delete "
        "when not matched by source then update set name = default",
        [
            ("delete", C, None),
            ("delete", D, None),
            ("insert", None, (5, "new", None)),
            ("insert", None, (61, "new", None)),
            *updated((A, (1, "new", 10)), (B, (2, "B", 41))),
        ],
    ),
    "names without a table": (
        "merge into t using (select * from u) s on t.id = s.id "
        "when not matched and id > 5 then insert (id, n) values (id, n + 1) "
        "when not matched by source and n > 1 then update set name = concat(name, id), n = n * 2",
        [("insert", None, (6, "new", 62)), *updated((A, (1, "a1", 20)))],
    ),
    "a source without a name": (
        "merge into t using (select id as i, n as m from u) on id = i "
        "when matched then update set n = m when not matched then insert (id) values (i)",
        [
            ("insert", None, (5, "new", None)),
            ("insert", None, (6, "new", None)),
            *updated((B, (2, "b", 21)), (C, (3, "c", 31))),
        ],
    ),
    "only inserts": (
        "merge into t using u on t.id = u.id when not matched then insert *",
        [("insert", None, (5, "E", 51)), ("insert", None, (6, None, 61))],
    ),
    "only by source": (
        "merge into t using u on t.id = u.id when not matched by source then delete",
        [("delete", A, None), ("delete", D, None)],
    ),
    "matched and by source": (
        "merge into t using u on t.id = u.id when matched then delete "
        "when not matched by source and t.id = 1 then update set n = (select max(n) from v)",
        [("delete", B, None), ("delete", C, None), *updated((A, (1, "a", 2)))],
    ),
    "not matched and by source": (
        "merge into t using u on t.id = u.id and t.id = 2 "
        "when not matched and u.id in (select id + 3 from v) then insert (id) values "
        "((select max(v.n) from v where v.id < u.id)) "
        "when not matched by source and t.id in (select id + 1 from v) then delete",
        [("delete", C, None), ("insert", None, (2, "new", None))],
    ),
    "matched rows that no clause applies to": (
        "merge into t using v on t.id = v.id when matched and v.n = 1 then update set n = v.n "
        "when not matched by source and t.id = 1 then delete",
        [(None, B, None), ("delete", A, None), ("update", B, (2, "b", 1))],
    ),
    "several matches that are deleted": (
        "merge into t using v on t.id = v.id when matched then delete",
        [("delete", B, None), ("delete", B, None)],
    ),
    "no match at all": (
        "merge into t using u on false when matched then update set * "
        "when not matched and false then insert *",
        [],
    ),
    "the first clause that applies": (
        "merge into t using u on t.id = u.id when matched and t.id = 2 then update set n = 1 "
        "when matched and t.id < 4 then update set n = 2 when matched then delete",
        updated((B, (2, "b", 1)), (C, (3, "c", 2))),
    ),
    "values of several types": (
        "merge into t using u on t.id = u.id "
        "when matched and t.id = 2 then update set n = 7000000000 - 6999999999, id = null "
        "when matched then update set n = '12', name = date'2026-01-01' "
        "when not matched then insert (id, n) values (1, 2.0e0)",
        [
            ("insert", None, (1, "new", 2)),
            ("insert", None, (1, "new", 2)),
            *updated((B, (None, "b", 1)), (C, (3, "2026-01-01", 12))),
        ],
    ),
    "a common table expression as source": (
        "with c as (select * from u where id > 2), d as (select max(id) m from c) "
        "merge into t x using c on x.id = c.id "
        "when matched then update set n = (select m from d) "
        "when not matched and c.id in (select m from d) then insert *",
        [("insert", None, (6, None, 61)), *updated((C, (3, "c", 6)))],
    ),
}


def sorted_changes(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(found, key=repr)


@pytest.mark.parametrize("case", [*UPDATES])
def test_updates(spark: SparkView, case: str) -> None:
    text, expected = UPDATES[case]
    assert changes(spark, text) == expected


@pytest.mark.parametrize("case", [*DELETES])
def test_deletes(spark: SparkView, case: str) -> None:
    text, expected = DELETES[case]
    assert changes(spark, text) == sorted_changes(expected)


@pytest.mark.parametrize("case", [*MERGES])
def test_merges(spark: SparkView, case: str) -> None:
    text, expected = MERGES[case]
    assert changes(spark, text) == sorted_changes(expected)


def test_a_source_may_have_columns_of_one_name_and_of_the_target_s(spark: SparkView) -> None:
    text = (
        "merge into t using (select 9 as __vcs_file, 8 as x, 7 as x, id as i from u) s "
        "on t.id = s.i when matched then update set n = s.__vcs_file "
        "when not matched then insert (id) values (__vcs_file + i)"
    )
    assert changes(spark, text) == [
        ("insert", None, (14, "new", None)),
        ("insert", None, (15, "new", None)),
        *updated((B, (2, "b", 9)), (C, (3, "c", 9))),
    ]


def test_nested_columns_are_kept_as_they_are(spark: SparkView) -> None:
    located = (
        "(select map('k', id) as m, array(id) as l, named_struct('x', id) as s, "
        "'f' as __vcs_file, 1L as __vcs_pos from u where id = 2)"
    )
    text = (
        "merge into t using u on t.s.x = u.id when matched then update set l = array(t.m['k'], 1) "
        "when not matched then insert (s, m) values (named_struct('x', u.id), null) "
        "when not matched by source then delete"
    )
    columns = (field("m"), field("l"), field("s"))
    rows = spark.query(
        f"select __vcs_action, __new_0['k'], __new_1, __new_2.x from "
        f"({staged(text, columns, located)}) where __vcs_action != 'insert' or __new_2.x = 5"
    ).fetch()
    assert sorted(map(repr, rows)) == [
        repr(("insert", None, None, 5)),
        repr(("update", 2, [2, 1], 2)),
    ]


BIG = "(select 9007199254740993L as id, 1.10bd as d, 'f' as __vcs_file, 0L as __vcs_pos)"


def test_values_of_one_clause_do_not_change_those_of_another(spark: SparkView) -> None:
    text = (
        "merge into t using (select 1.5e0 as x) s on s.x = 2 "
        "when not matched then insert (id, d) values (s.x, s.x) "
        "when not matched by source then update set d = t.d + 1"
    )
    statement = parse(text)
    assert isinstance(statement, Merge)
    query = statement.staged(BIG, (field("id"), field("d")))
    rows = spark.query(
        "select __vcs_action, __old_0, __new_0, __new_1.clause_1, cast(__new_1.clause_2 as string)"
        f" from ({query}) order by 1"
    ).fetch()
    assert rows == [
        ("insert", None, 1.5, 1.5, None),
        ("update", 9007199254740993, None, None, "2.10"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "update t set n = explode(array(1, 2))",
        "update t set n = max(n)",
        "update t as x set n = t.n",
        "update t set n = nothing",
        "merge into t using u on t.id = u.id when matched then update set n = id",
        "merge into t using u on t.id = u.id when not matched then insert (id) values (t.id)",
        "merge into t using u on t.id = u.id when not matched by source and u.n > 1 then delete",
        "merge into t x using u y on t.id = u.id when matched then delete",
        "merge into t using u on t.id = u.id when matched then update set n = __vcs_merge_pos",
    ],
)
def test_names_that_spark_refuses_are_refused(spark: SparkView, text: str) -> None:
    with pytest.raises(Exception, match=r"UNRESOLVED|UNSUPPORTED_GENERATOR|MISSING|AMBIGUOUS"):
        spark.query(staged(text)).fetch()


@pytest.mark.parametrize(
    "text",
    [
        "delete from t where id = 1 for update",
        "delete from t where id = 1 pivot (sum(n) for id in (1))",
        "delete from t where id = 1 tablesample (1 rows)",
        "update t set n = 1 n",
        "merge into t using u on true left semi when matched then delete",
        "merge into t using u on true when matched and n = 1 desc then delete",
    ],
)
def test_what_is_no_expression_is_refused(spark: SparkView, text: str) -> None:
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        spark.query(staged(text)).fetch()
