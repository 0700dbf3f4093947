"""MERGE as Spark documents it for tables that support it, clause by clause."""

from decimal import Decimal

import pytest

from dbt.adapters.vcs.core.errors import InputError, VcsError

from .merging import DELETE, INSERT, SOURCE, UPDATE, merged, target
from .shop import Shop

pytestmark = pytest.mark.spark


CASES = {
    "update alone": (UPDATE, 2, [(1, "a"), (2, "B"), (3, "C")]),
    "delete alone": (DELETE, 2, [(1, "a")]),
    "insert alone": (INSERT, 1, [(1, "a"), (2, "b"), (3, "c"), (4, "D")]),
    "update and insert": (f"{UPDATE} {INSERT}", 3, [(1, "a"), (2, "B"), (3, "C"), (4, "D")]),
    "delete and insert": (f"{DELETE} {INSERT}", 3, [(1, "a"), (4, "D")]),
    "all columns by star": (
        "when matched then update set * when not matched then insert *",
        3,
        [(1, "a"), (2, "B"), (3, "C"), (4, "D")],
    ),
    "a condition on the match": (
        "when matched and s.k > 2 then update set v = s.v",
        1,
        [(1, "a"), (2, "b"), (3, "C")],
    ),
    "a condition on both sides": (
        "when matched and t.v = 'b' and s.v = 'B' then delete",
        1,
        [(1, "a"), (3, "c")],
    ),
    "the first clause that applies": (
        "when matched and s.k = 2 then delete when matched then update set v = s.v",
        2,
        [(1, "a"), (3, "C")],
    ),
    "only the first clause that applies": (
        "when matched and s.k >= 2 then update set v = 'one' "
        "when matched and s.k >= 3 then update set v = 'two'",
        2,
        [(1, "a"), (2, "one"), (3, "one")],
    ),
    "a condition on an insert": (
        "when not matched and s.k > 4 then insert *",
        0,
        [(1, "a"), (2, "b"), (3, "c")],
    ),
    "several inserts": (
        "when not matched and s.v = 'x' then insert (k) values (s.k) "
        "when not matched then insert (v, k) values (concat(s.v, '!'), s.k * 10)",
        1,
        [(1, "a"), (2, "b"), (3, "c"), (40, "D!")],
    ),
    "not matched by target": (
        "when not matched by target then insert *",
        1,
        [(1, "a"), (2, "b"), (3, "c"), (4, "D")],
    ),
    "delete by source": ("when not matched by source then delete", 1, [(2, "b"), (3, "c")]),
    "update by source": (
        "when not matched by source then update set v = concat(v, '?')",
        1,
        [(1, "a?"), (2, "b"), (3, "c")],
    ),
    "update by source on a condition": (
        "when not matched by source and t.k > 1 then update set v = 'gone'",
        0,
        [(1, "a"), (2, "b"), (3, "c")],
    ),
    "two clauses by source": (
        "when not matched by source and t.k = 9 then delete "
        "when not matched by source then update set k = -t.k",
        1,
        [(-1, "a"), (2, "b"), (3, "c")],
    ),
    "all three kinds": (
        f"{UPDATE} {INSERT} when not matched by source then delete",
        4,
        [(2, "B"), (3, "C"), (4, "D")],
    ),
    "all three kinds, each with a condition": (
        "when matched and s.k = 2 then update set * when matched then delete "
        "when not matched and s.k = 4 then insert * "
        "when not matched by source and t.k = 1 then update set v = 'kept'",
        4,
        [(1, "kept"), (2, "B"), (4, "D")],
    ),
    "values of both sides": (
        "when matched then update set v = concat(t.v, s.v), k = t.k + s.k",
        2,
        [(1, "a"), (4, "bB"), (6, "cC")],
    ),
    "a value of a subquery": (
        "when matched then update set v = (select max(x) from values ('z') as q(x))",
        2,
        [(1, "a"), (2, "z"), (3, "z")],
    ),
    "null": ("when matched then update set v = null", 2, [(1, "a"), (2, None), (3, None)]),
    "values that are there already": (
        "when matched then update set v = t.v",
        2,
        [(1, "a"), (2, "b"), (3, "c")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_clauses(shop: Shop, name: str) -> None:
    clauses, affected, rows = CASES[name]
    assert merged(shop, clauses) == (affected, sorted(rows, key=repr))


def test_keys_that_are_null_never_match(shop: Shop) -> None:
    name = target(shop, "values (1, 'a'), (null, 'n')")
    source = "(values (1, 'A'), (null, 'N') as s(k, v))"
    text = f"merge into {name} t using {source} s on t.k = s.k {UPDATE} {INSERT}"
    assert shop.change(text) == 2
    assert shop.rows(name) == [(1, "A"), (None, "N"), (None, "n")]


def test_keys_that_are_null_match_by_the_null_safe_operator(shop: Shop) -> None:
    name = target(shop, "values (1, 'a'), (null, 'n')")
    source = "(values (null, 'N') as s(k, v))"
    assert (
        shop.change(f"merge into {name} t using {source} s on t.k <=> s.k {UPDATE} {INSERT}") == 1
    )
    assert shop.rows(name) == [(1, "a"), (None, "N")]


@pytest.mark.parametrize(
    "clauses", [UPDATE, f"{UPDATE} {INSERT}", "when matched and s.v = 'x' then delete"]
)
def test_a_row_that_matches_several_of_the_source_is_named(shop: Shop, clauses: str) -> None:
    name = target(shop)
    source = "(values (2, 'B'), (2, 'BB'), (3, 'C'), (3, 'c'), (1, 'x') as s(k, v))"
    before = shop.version(name)
    with pytest.raises(InputError, match=r"match several rows .*: k = 2; k = 3\."):
        shop.sql(f"merge into {name} t using {source} s on t.k = s.k {clauses}")
    assert shop.version(name) == before


def test_whole_rows_are_named_where_the_match_names_no_columns(shop: Shop) -> None:
    name = target(shop)
    with pytest.raises(InputError, match="k = 1, v = 'a'"):
        shop.sql(f"merge into {name} t using {SOURCE} s on s.k > 2 and t.k + 0 = 1 {UPDATE}")


def test_only_five_are_named(shop: Shop) -> None:
    name = target(shop, "select id, 'x' from range(9)")
    with pytest.raises(InputError, match=r"ambiguous: (k = [0-9]; ){4}k = [0-9]\."):
        shop.sql(
            f"merge into {name} t using (select id % 9 k, 'y' v from range(18)) s on t.k = s.k "
            f"{UPDATE}"
        )


def test_deleting_a_row_that_matches_several_is_no_error(shop: Shop) -> None:
    source = "(values (2, 'B'), (2, 'BB'), (7, 'C') as s(k, v))"
    assert merged(shop, DELETE, source) == (1, [(1, "a"), (3, "c")])
    assert merged(shop, f"{DELETE} {INSERT}", source) == (2, [(1, "a"), (3, "c"), (7, "C")])


def test_inserting_equal_rows_of_the_source_inserts_each(shop: Shop) -> None:
    source = "(values (7, 'B'), (7, 'B') as s(k, v))"
    affected, rows = merged(shop, INSERT, source)
    assert (affected, rows.count((7, "B"))) == (2, 2)


def test_equal_rows_of_the_target_are_each_updated(shop: Shop) -> None:
    name = target(shop, "values (2, 'b'), (2, 'b'), (3, 'c')")
    assert shop.change(f"merge into {name} t using {SOURCE} s on t.k = s.k {UPDATE}") == 3
    assert shop.rows(name) == [(2, "B"), (2, "B"), (3, "C")]


def test_names_without_aliases(shop: Shop) -> None:
    name, source = target(shop), shop.make("k int, v string", "values (2, 'B'), (9, 'I')")
    text = (
        f"merge into {name} using s.{source} on {name}.k = s.{source}.k "
        f"when matched then update set {name}.v = {source}.v when not matched then insert *"
    )
    assert shop.change(text) == 2
    assert shop.rows(name) == [(1, "a"), (2, "B"), (3, "c"), (9, "I")]


def test_a_common_table_expression_before_it(shop: Shop) -> None:
    name = target(shop)
    shop.sql(f"with x as (select 3 k, 'X' v) merge into {name} t using x s on t.k = s.k {UPDATE}")
    assert shop.rows(name) == [(1, "a"), (2, "b"), (3, "X")]


def test_a_source_that_reads_the_target(shop: Shop) -> None:
    name = target(shop)
    source = f"(select k + 1 k, concat(v, v) v from {name})"
    shop.sql(f"merge into {name} t using {source} s on t.k = s.k {UPDATE} {INSERT}")
    assert shop.rows(name) == [(1, "a"), (2, "aa"), (3, "bb"), (4, "cc")]


def test_the_target_as_its_own_source(shop: Shop) -> None:
    name = target(shop)
    shop.sql(f"merge into {name} t using {name} s on t.k = s.k and s.v = 'b' {UPDATE} {INSERT}")
    assert shop.rows(name) == [(1, "a"), (1, "a"), (2, "b"), (3, "c"), (3, "c")]


def test_a_temporary_view_as_dbt_makes_it(shop: Shop) -> None:
    name = target(shop)
    shop.sql(f"create or replace temporary view {name}__dbt_tmp as select 2 k, 'tmp' v")
    shop.sql(
        f"merge into s.{name} as DBT_INTERNAL_DEST using {name}__dbt_tmp as DBT_INTERNAL_SOURCE "
        "on DBT_INTERNAL_SOURCE.k = DBT_INTERNAL_DEST.k "
        "when matched then update set * when not matched then insert *"
    )
    assert shop.rows(name) == [(1, "a"), (2, "tmp"), (3, "c")]


def test_an_empty_source_changes_nothing(shop: Shop) -> None:
    name = target(shop)
    before = shop.version(name)
    source = "(select 1 k, 'x' v where false)"
    assert shop.change(f"merge into {name} t using {source} s on t.k = s.k {UPDATE} {INSERT}") == 0
    assert shop.version(name) == before
    text = (
        f"merge into {name} t using {source} s on t.k = s.k when not matched by source then delete"
    )
    assert shop.change(text) == 3
    assert shop.rows(name) == []


def test_an_empty_match_by_a_constant(shop: Shop) -> None:
    affected, rows = merged(shop, f"{UPDATE} {INSERT}", on="false")
    assert (affected, len(rows)) == (3, 6)


def test_values_are_cast_to_the_columns(shop: Shop) -> None:
    name = shop.make("k bigint, d decimal(10,2), t date", "values (1, 1, null)")
    source = "(select cast(1 as tinyint) k, cast(2.5 as float) d, timestamp'2020-02-03 04:05' t)"
    shop.sql(f"merge into {name} t using {source} s on t.k = s.k when matched then update set *")
    [(k, d, t)] = shop.rows(name)
    assert (k, d, str(t)) == (1, Decimal("2.50"), "2020-02-03")


@pytest.mark.parametrize(
    ("columns", "value"),
    [("k int, v tinyint", "1000"), ("k int, v varchar(3)", "'long'"), ("k int, v int", "'x'")],
)
def test_a_value_that_does_not_fit_is_an_error_and_changes_nothing(
    shop: Shop, columns: str, value: str
) -> None:
    name = shop.make(columns, "values (1, null)")
    before, files = shop.version(name), shop.files()
    for clause in (
        f"when matched then update set v = {value}",
        f"when not matched then insert (k, v) values (8, {value})",
    ):
        with pytest.raises(VcsError) as caught:
            shop.sql(
                f"merge into {name} t using (values (1), (2) as s(k)) s on t.k = s.k {clause}"
            )
        assert "__vcs" not in str(caught.value).replace("__vcs`.", "")
    assert shop.version(name) == before
    assert shop.files() == files


NESTED = "k int, l array<int>, s struct<lo:int,hi:int>, m map<string,int>, a array<struct<x:int>>"
BOTH = (
    "when matched then update set {c} = s.{c} "
    "when not matched then insert (k, {c}) values (k, s.{c})"
)
MISFITS = {
    "array": ("l", "array(5000000000, 2)", r"`l`.*`element`"),
    "struct": ("s", "named_struct('lo', 5000000000, 'hi', 1)", r"`s`.*`lo`"),
    "map": ("m", "map('k', 5000000000)", r"`m`.*`value`"),
    "deep": ("a", "array(named_struct('x', 5000000000))", r"`a`.*`element`.*`x`"),
    "text": ("m", "map('k', '12x')", r"Cannot safely cast `m`.*`value`"),
    "extra field": ("s", "named_struct('lo', 1, 'hi', 2, 'mid', 3)", r"extra fields `mid` .* `s`"),
    "no field": ("s", "named_struct('lo', 1)", r"Cannot find data .* `s`.*`hi`"),
}


@pytest.mark.parametrize("case", [*MISFITS])
def test_a_nested_value_that_does_not_fit_is_an_error_and_changes_nothing(
    shop: Shop, case: str
) -> None:
    column, value, message = MISFITS[case]
    name = shop.clone(
        NESTED, "select 1, array(1), named_struct('lo', 1, 'hi', 2), map('k', 1), null"
    )
    before = shop.version(name)
    source = f"(select k, {value} {column} from values (1), (2) as v(k))"
    with pytest.raises(VcsError, match=message):
        shop.sql(f"merge into {name} t using {source} s on t.k = s.k {BOTH.format(c=column)}")
    assert shop.version(name) == before


def test_each_clause_casts_its_own_values_to_the_column(shop: Shop) -> None:
    name = shop.make("k bigint, v bigint, s struct<x:bigint>", "values (1, 5, null), (2, 6, null)")
    big = 2**53 + 1
    source = f"(select k, {big} v, 2.0e0 d from values (1), (3) as v(k))"
    shop.sql(
        f"merge into {name} t using {source} s on t.k = s.k "
        "when matched then update set v = s.v, s = named_struct('x', s.v) "
        "when not matched then insert (k, v, s) values (s.k, s.d, named_struct('x', s.d)) "
        "when not matched by source then update set k = t.k + 7e0"
    )
    assert shop.rows(f"select k, v, s.x from {name} order by k") == [
        (1, big, big),
        (3, 2, 2),
        (9, 6, None),
    ]


def test_fields_of_structs_are_matched_by_name(shop: Shop) -> None:
    columns = (
        "k int, s struct<lo:int,hi:int>, l array<struct<lo:int,hi:int>>, "
        "m map<string,struct<lo:int,hi:int>>"
    )
    name = shop.make(columns, "select 1, null, null, null")
    value = "named_struct('HI', {}, 'lo', {})"
    for n, statement in enumerate(
        (
            "update {0} set s = {1}, l = array({1}), m = map('k', {1}) where k = 1",
            "merge into {0} t using (select 1 k, {1} v) s on t.k = s.k when matched then "
            "update set s = s.v, l = array(s.v), m = map('k', s.v)",
            "merge into {0} t using (select explode(array(1, 2)) k, {1} v) s on t.k = s.k "
            "when matched then update set s = s.v, l = array(s.v), m = map('k', s.v) "
            "when not matched then insert (k, s, l, m) values (k, v, array(v), map('k', v))",
        )
    ):
        shop.sql(statement.format(name, value.format(100 + n, n)))
        found = shop.rows(f"select s.lo, s.hi, l[0].lo, l[0].hi, m['k'].lo, m['k'].hi from {name}")
        assert found and set(found) == {(n, 100 + n) * 3}


def test_null_where_none_is_allowed(shop: Shop) -> None:
    name = shop.make("k int not null, v string not null", "values (1, 'a')")
    before, files = shop.version(name), shop.files()
    source = "(values (1, null), (2, null) as s(k, v))"
    for clause in (UPDATE, "when not matched then insert (k) values (s.k)"):
        with pytest.raises(InputError, match=r"NOT NULL: v \(1 NULL\)"):
            shop.sql(f"merge into {name} t using {source} s on t.k = s.k {clause}")
    assert shop.version(name) == before
    assert shop.files() == files


def test_star_takes_columns_by_name_and_leaves_others_of_the_source(shop: Shop) -> None:
    name = target(shop)
    source = "(select 'Z' as V, true as more, 2 as K)"
    shop.sql(f"merge into {name} t using {source} s on t.k = s.k when matched then update set *")
    assert shop.rows(name) == [(1, "a"), (2, "Z"), (3, "c")]


def test_star_needs_every_column(shop: Shop) -> None:
    with pytest.raises(InputError, match="lacks v"):
        merged(shop, "when matched then update set *", "(select 2 k)")


@pytest.mark.parametrize(
    ("clauses", "kind"),
    [
        ("when matched then update set nope = 1", InputError),
        ("when matched then update set v = s.nope", VcsError),
        ("when not matched then insert (k, nope) values (1, 2)", InputError),
        ("when matched and nope = 1 then delete", VcsError),
        ("when not matched by source then update set v = s.v", VcsError),
        ("when not matched and t.k = 1 then insert *", VcsError),
    ],
)
def test_columns_that_are_not_there(shop: Shop, clauses: str, kind: type[VcsError]) -> None:
    name = target(shop)
    before = shop.version(name)
    with pytest.raises(kind):
        shop.sql(f"merge into {name} t using {SOURCE} s on t.k = s.k {clauses}")
    assert shop.version(name) == before
