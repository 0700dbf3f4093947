"""What a query reads: scoping, positions, versions of relations, files."""

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.syntax.parser import Query, parse
from tests.unit.statements.statement_shapes import reads

# `!` after a name: it has an alias, or can't have one.
QUERIES: dict[str, tuple[str, list[str]]] = {
    "nothing": ("select 1", []),
    "one": ("select * from t", ["t"]),
    "with schema": ("select * from s.t", ["s.t"]),
    "spark's catalog": ("select * from spark_catalog.s.t", ["s.t"]),
    "another catalog": ("select * from other.s.t join u", ["u"]),
    "quoted": ("select * from `S`.`a b``c`", ["S.a b`c"]),
    "white space in a name": ("select * from s /* x */ .\n t", ["s.t"]),
    "names that begin with digits": ("select * from 2026_s.1t", ["2026_s.1t"]),
    "unicode": ("select * from größe, 表", ["größe", "表"]),
    "identifier clause": ("select * from identifier('s.`t u`') x", ["s.t u!"]),
    "identifier elsewhere": ("select identifier('a' || b) from t", ["t"]),
    "alias": ("select * from t a, u as b, v", ["t!", "u!", "v"]),
    "column aliases": ("select * from t as a(x, y), u b (z)", ["t!", "u!"]),
    "joins": (
        "select * from a join b on a.x = b.x left outer join c using (x) cross join d "
        "natural join e full join f left semi join g left anti join h on g.x = h.x, i",
        ["a", "b", "c", "d", "e", "f", "g", "h", "i"],
    ),
    "commas behind on": (
        "select * from a join b on case when a.x then 1 end = f(b.x, 2), c where 1 in (1, 2)",
        ["a", "b", "c"],
    ),
    "joins in parentheses": (
        "select * from (a join (b join c using (x)) d on true) e, ((f))",
        ["a", "b", "c", "f"],
    ),
    "twice": ("select * from t a join t b using (x)", ["t!", "t!"]),
    "from clause alone": ("from t", ["t"]),
    "from first": ("from t, u select x, y where z", ["t", "u"]),
    "table": ("table s.t", ["s.t!"]),
    "table and set operators": ("table t union table u order by x", ["t!", "u!"]),
    "values": ("values (1, 2), (3, 4)", []),
    "values in from": ("select * from values (1), (2) as v(a), t", ["t"]),
    "values without parentheses and a bare alias": (
        "select * from values 1, 'x' v, t",
        ["t"],
    ),
    "a table called values": (
        "select * from values, t join values as v join values w on true join values where a = 1",
        ["values", "t", "values!", "values!", "values"],
    ),
    "values that begin with a word": (
        "select * from values left('a', 1), b as v join values case when a then b end, c as w",
        [],
    ),
    "streams": (
        "select * from stream s.t as x join stream(u) y join stream identifier('v') w",
        ["s.t!", "u!", "v!"],
    ),
    "a table called stream": (
        "select * from stream, t join stream where a in (select b from stream)",
        ["stream", "t", "stream", "stream"],
    ),
    "a function called stream": ("select * from stream(1), t", ["t"]),
    "watermark as an alias": ("select * from t watermark where a = 1", ["t!"]),
    "watermark": ("select * from t watermark a delay of interval 1 day as x", ["t!"]),
    "columns called join and from": (
        "select join from t union select a from from u union select (select b from), c from v",
        ["t", "u", "v"],
    ),
    "a table called lateral": ("select * from lateral, t where a = 1", ["lateral", "t"]),
    "values with a bare alias": ("select * from values (1), (2) v(a), t", ["t"]),
    "values of names": ("select * from values (current_date, x) v join t on true", ["t"]),
    "set operators": (
        "select a from t union all select a from u intersect select a from v "
        "minus distinct (select a from w) except table x",
        ["t", "u", "v", "w", "x!"],
    ),
    "select * except": ("select * except (a, b), t.* except (c) from t", ["t"]),
    "set operator behind a star": ("select 1 as minus, a from t", ["t"]),
    "where": (
        "select a from t where b in (select b from u) and c = (select 1 from v)",
        ["t", "u", "v"],
    ),
    "select list": ("select (select max(a) from u) as m, array(1, 2) from t", ["u", "t"]),
    "correlated": (
        "select * from t where exists (select 1 from u where u.a = t.a) "
        "and not exists (select 1 from v where v.a = t.a)",
        ["t", "u", "v"],
    ),
    "case, having, order": (
        "select case when exists (select 1 from a) then 1 end from t group by 1 "
        "having count(*) > (select 1 from b) order by (select 1 from c)",
        ["a", "t", "b", "c"],
    ),
    "subquery in from": (
        "select * from (select * from (select * from t) a) b, (table u) c, (values (1)) d",
        ["t", "u!"],
    ),
    "queries in parentheses": ("((select * from t) union (select * from u))", ["t", "u"]),
    "union in parentheses in an expression": (
        "select 1 in ((select a from t) union (select a from u))",
        ["t", "u"],
    ),
    "lateral": (
        "select * from t, lateral (select * from u where u.a = t.a) x, "
        "lateral explode(t.b) y left join lateral (table v) on true",
        ["t", "u", "v!"],
    ),
    "lateral view": (
        "select * from t lateral view outer explode(map(1, 2)) e as k, v "
        "lateral view explode(x) f where k in (select k from u)",
        ["t", "u"],
    ),
    "table functions": ("select * from range(10), s.f(1, (select 1 from t)) x, u", ["t", "u"]),
    "table arguments": (
        "select * from f(table(s.t), x => table(select * from u) partition by a)",
        ["s.t!", "u"],
    ),
    "functions named like clauses": (
        "select * from a join b on window(a.t, '1 day') = b.w, c",
        ["a", "b", "c"],
    ),
    "pivot": (
        "select * from t pivot (sum(a) for b in ('x', 'y')) p, u as v unpivot (c for d in (e, f))",
        ["t", "u!"],
    ),
    "sample and options": (
        "select * from t tablesample (10 percent) repeatable (1) x, "
        "u with ('a' = 'b') tablesample (5 rows)",
        ["t!", "u"],
    ),
    "window": (
        "select sum(a) over (partition by b order by c rows between 1 preceding and current row), "
        "rank() over w from t window w as (partition by d)",
        ["t"],
    ),
    "from in functions": (
        "select extract(year from d), trim(both 'x' from e), substring(f from 2 for 3), "
        "overlay(g placing 'x' from 2), trim((select x from u)), substr((h) from 1) from t",
        ["u", "t"],
    ),
    "distinct from": (
        "select a is distinct from b, a is not distinct from c from t",
        ["t"],
    ),
    "keywords as columns": (
        "select t.from, t.table, t.join, x.values, a:from.b, `from`, table from t where t.where",
        ["t"],
    ),
    "relations named like keywords": (
        "select * from map, reduce join `select` on true",
        ["map", "reduce", "select"],
    ),
    "transform": (
        "select transform(a, b) using 'cat' as (c string) from t where a in (select a from u)",
        ["t", "u"],
    ),
    "pipes": (
        "from t |> where a > 1 |> join u on t.a = u.a |> extend a, b |> as x "
        "|> union all table v |> select a, b |> aggregate sum(a) group by b |> set c = d, e = f",
        ["t", "u", "v!"],
    ),
    "lambdas and brackets": (
        "select filter(a, x -> x > 1), b[0], c::int, d:e.f[1]::string, m['k'] from t",
        ["t"],
    ),
    "strings, comments and hints": (
        "select 'from a', \"from b\", r'\\', 'it''s from c', '\\' from d' -- from e\n"
        " /* from f /* from g */ from h */ , /*+ broadcast(i) */ x from t",
        ["t"],
    ),
    "a comment that goes on": ("select 1 -- from a \\\n from b\n from t", ["t"]),
    "cte": ("with c as (select * from t) select * from c", ["t"]),
    "cte shadows a table inside its scope only": (
        "with t as (select * from t) select * from t join s.t",
        ["t", "s.t"],
    ),
    "cte sees those before it": (
        "with a as (select * from b), b as (select * from a) select * from a, b",
        ["b"],
    ),
    "cte, any case": ("with C as (select 1) select * from c, `C`", []),
    "cte with columns and without as": (
        "with a (x, y) as (select * from t), b (select * from a) select * from b, c",
        ["t", "c"],
    ),
    "cte in the middle": (
        "select * from (with c as (select * from t) select * from c) join c",
        ["t", "c"],
    ),
    "nested ctes": (
        "with a as (with b as (select * from a) select * from b) select * from a, b",
        ["a", "b"],
    ),
    "inner cte hides an outer one": (
        "with a as (select * from t) select (with a as (select * from u) select max(x) from a)",
        ["t", "u"],
    ),
    "ctes hold in set operators and subqueries": (
        "with a as (select 1) select * from a union all select * from a "
        "where x in (select x from a)",
        [],
    ),
    "cte as a table argument": ("with a as (select 1) select * from f(table(a))", []),
    "recursive cte": (
        "with recursive r (n) max recursion level 10 as "
        "(select n from t union all select n + 1 from r) select * from r",
        ["t"],
    ),
    "recursive is a keyword, and as may be a name": (
        "with recursive as (select * from recursive) select * from recursive, as",
        ["recursive", "recursive"],
    ),
    "a cte called recursive": (
        "with recursive (a) as (select * from t) table recursive",
        ["t"],
    ),
    "version": (
        "select * from t version as of 'v1' a, u version as of 3",
        ["t@version:v1!", "u@version:3"],
    ),
    "for version": ("select * from t for system_version as of 'v1'", ["t@version:v1"]),
    "timestamp": (
        "select * from t timestamp as of '2026-01-01' join u for system_time as of "
        "timestamp '2026-01-02' on true, v timestamp as of cast('2026-01-03' as timestamp) x",
        [
            "t@timestamp:2026-01-01",
            "u@timestamp:2026-01-02",
            "v@timestamp:2026-01-03!",
        ],
    ),
    "columns called version and timestamp": ("select version as of, timestamp from t", ["t"]),
    "alias called version": ("select * from t version, u timestamp", ["t!", "u!"]),
    "braces": (
        "select * from s.t{snapshot='sn1'} a, u {timestamp = '2026-01-01'}, v",
        ["s.t@version:sn1!", "u@timestamp:2026-01-01", "v"],
    ),
    "braces in table": ("table t{snapshot='it''s'}", ["t@version:it's!"]),
    "a cte has no versions": (
        "with t as (select 1) select * from t version as of 'v1', t",
        ["t@version:v1"],
    ),
    "dbt's limit 0": (
        "/* {} */\nselect * from (\n    with a as (select 1) select * from s.t, a\n\n) "
        "as __dbt_sbq where false limit 0",
        ["s.t"],
    ),
    "dbt's test": (
        "select count(*) as failures, count(*) != 0 as should_warn from (\n"
        "select * from s.t where not a\n) dbt_internal_test",
        ["s.t"],
    ),
}


@pytest.mark.parametrize("case", QUERIES)
def test_what_a_query_reads(case: str) -> None:
    text, expected = QUERIES[case]
    assert reads(text) == expected


@pytest.mark.parametrize("case", QUERIES)
def test_each_reference_stands_where_it_says(case: str) -> None:
    query = parse(QUERIES[case][0])
    assert isinstance(query, Query)
    for read in query.reads:
        name = query.text[read.start : read.name_end]
        # Read on its own, the slice is the same name.
        (again,) = parse(f"select * from {name} as x").reads  # type: ignore[union-attr]
        assert again.name == read.name
        suffix = query.text[read.name_end : read.end]
        assert bool(suffix.strip()) == (read.at is not None)


@pytest.mark.parametrize(
    ("text", "files", "expected"),
    [
        ("select * from parquet.`/x/y` join t", ("parquet.`/x/y`",), ["t"]),
        (
            "select * from CSV.`s3://b/*.csv` a, json.`x.json`, csv.`s3://b/*.csv`",
            ("csv.`s3://b/*.csv`", "json.`x.json`"),
            [],
        ),
        ("select * from csv.orders, parquet.`orders`", (), ["csv.orders", "parquet.orders"]),
        ("select * from s.`a/b`", (), ["s.a/b"]),
    ],
)
def test_files_read_directly(text: str, files: tuple[str, ...], expected: list[str]) -> None:
    query = parse(text)
    assert isinstance(query, Query)
    assert query.files == files
    assert reads(text) == expected


def test_the_text_keeps_what_stands_before_and_drops_what_stands_behind() -> None:
    query = parse('\n/* {"app": "dbt"} */ select * from t -- x\n;; -- y\n')
    assert isinstance(query, Query)
    assert query.text == '\n/* {"app": "dbt"} */ select * from t'


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("select * from identifier(x)", UnsupportedError, "Write the name itself"),
        ("select identifier('ra' || 'nd')()", UnsupportedError, "Write the name itself"),
        ("select identifier((lower('F')))(1)", UnsupportedError, "Write the name itself"),
        ("select * from identifier('a b')", InputError, "schema.identifier"),
        ("select * from t timestamp as of now()", UnsupportedError, "as text"),
        ("select * from t timestamp as of since", UnsupportedError, "as text"),
        ("select * from t timestamp as of ('2026-01-31')", UnsupportedError, "as text"),
        (
            "select * from t timestamp as of date '2026-01-31' + x",
            UnsupportedError,
            "as text",
        ),
        ("select * from t timestamp as of '2026' || '-01-31'", UnsupportedError, "as text"),
        ("select * from t timestamp as of '2026-01-31'::date", UnsupportedError, "as text"),
        ("select * from t version as of x", InputError, "as a literal"),
        ("select * from t{snap='x'}", InputError, "{snapshot = '...'}"),
        ("select * from t{snapshot=x}", InputError, "{snapshot = '...'}"),
        ("select * from t{snapshot='x'", InputError, "{snapshot = '...'}"),
        ("select * from t changes from version 1", UnsupportedError, "except all"),
        ("select 'x", InputError, "The string that begins in line 1"),
        ('select 1,\n "x\\"', InputError, "The string that begins in line 2"),
        ("select * from `t", InputError, "The identifier"),
        ("select 1 /* a /* b */", InputError, "The comment"),
    ],
)
def test_what_is_refused_says_the_next_step(text: str, error: type, words: str) -> None:
    with pytest.raises(error) as caught:
        parse(text)
    assert type(caught.value) is error
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "select * from",
        "select * from (",
        "select * from t join",
        "select ) from t",
        "with",
        "with a",
        "with a as",
        "with a as (select 1",
        "with a as (select 1),",
        "select * from t as",
        "select * from t,",
        "from",
        "table",
        "(",
    ],
)
def test_a_broken_query_is_left_to_spark(text: str) -> None:
    assert isinstance(parse(text), Query)
