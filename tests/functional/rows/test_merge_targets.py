"""What `merge into` makes of targets of all kinds."""

import pytest

from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError

from .merging import INSERT, SOURCE, TARGET, UPDATE, merged, target
from .shop import Shop

pytestmark = pytest.mark.spark


def test_an_empty_target_takes_all(shop: Shop) -> None:
    name = target(shop, "")
    assert shop.change(f"merge into {name} t using {SOURCE} s on t.k = s.k {UPDATE} {INSERT}") == 3
    assert shop.rows(name) == [(2, "B"), (3, "C"), (4, "D")]


def test_defaults(shop: Shop) -> None:
    name = shop.make("k int, v string default 'none', n int default 7", "values (1, 'a', 1)")
    shop.sql(
        f"merge into {name} t using (values (1), (2) as s(k)) s on t.k = s.k "
        "when matched then update set v = default, n = t.n + 1 "
        "when not matched then insert (k, n) values (s.k, default)"
    )
    assert shop.rows(name) == [(1, "none", 2), (2, "none", 7)]


def test_columns_that_are_not_listed_are_null(shop: Shop) -> None:
    affected, rows = merged(shop, "when not matched then insert (k) values (s.k)")
    assert affected == 1 and (4, None) in rows


def test_partitioned_targets(shop: Shop) -> None:
    name = shop.make(
        "k int, v string, p string", "values (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y/z')", by="p"
    )
    shop.sql(
        f"merge into {name} t using (values (2, 'B', 'q'), (3, 'C', 'y/z'), (4, 'D', null) "
        "as s(k, v, p)) s on t.k = s.k when matched then update set * "
        "when not matched then insert *"
    )
    assert shop.rows(name) == [(1, "a", "x"), (2, "B", "q"), (3, "C", "y/z"), (4, "D", None)]
    assert {block.partition["p"] for block in shop.blocks(name)} == {"x", "q", "y/z", None}
    assert shop.rows(f"select k from {name} where p = 'y/z'") == [(3,)]


def test_keys_may_change(shop: Shop) -> None:
    affected, rows = merged(shop, "when matched then update set k = s.k + 100")
    assert (affected, rows) == (2, [(1, "a"), (102, "b"), (103, "c")])


def test_a_primary_key_holds_after_a_merge(shop: Shop) -> None:
    name = shop.make("k int, v string", TARGET, properties="'primary_key' = 'k'")
    shop.sql(f"merge into {name} t using {SOURCE} s on t.k = s.k {UPDATE} {INSERT}")
    assert len(shop.rows(name)) == 4
    before = shop.version(name)
    with pytest.raises(InputError, match="primary key"):
        shop.sql(f"merge into {name} t using {SOURCE} s on t.k = s.k + 1 {INSERT}")
    assert shop.version(name) == before


def test_every_kind_of_value(shop: Shop) -> None:
    columns = (
        "k int, a array<int>, m map<string,int>, s struct<x:int,y:string>, b binary, "
        "d decimal(20,5), f double, ts timestamp, n timestamp_ntz, dt date, c char(3), o boolean"
    )
    values = (
        "array(1, null), map('a', 1), named_struct('x', 1, 'y', null), x'00ff', 1.5, "
        "double('NaN'), timestamp'2020-01-01 00:00:00.123456', "
        "timestamp_ntz'1999-12-31 23:59:59', date'0999-01-01', 'ab', true"
    )
    name = shop.make(
        columns, f"values (1, {values}), (2, {values}), (3, {', '.join(['null'] * 11)})"
    )
    [one, two, three] = shop.rows(name)
    shop.sql(
        f"merge into {name} t using (values (2), (3), (9) as s(k)) s on t.k = s.k "
        f"when matched and s.k = 2 then update set k = 20 when matched then update set f = 0 "
        "when not matched then insert (k) values (s.k)"
    )
    found = shop.rows(name)
    assert repr((20, *two[1:])) in map(repr, found)
    assert repr(one) in map(repr, found)
    assert (3, *three[1:6], 0.0, *three[7:]) in found


def test_variants_and_intervals_go_through_the_engine(shop: Shop) -> None:
    name = shop.make(
        "k int, j variant, i interval day to second",
        "select 1, parse_json('{\"a\":1}'), interval '1 00:00:00' day to second "
        "union all select 2, null, null",
    )
    shop.sql(
        f"merge into {name} t using (select 2 k, parse_json('[1]') j union all select 3, null) s "
        "on t.k = s.k when matched then update set j = s.j "
        "when not matched then insert (k, i) values (s.k, interval '2 00:00:00' day to second)"
    )
    text = f"select k, to_json(j), cast(i as string) from {name}"
    assert shop.rows(text) == [
        (1, '{"a":1}', "INTERVAL '1 00:00:00' DAY TO SECOND"),
        (2, "[1]", None),
        (3, None, "INTERVAL '2 00:00:00' DAY TO SECOND"),
    ]


def test_views_and_unknown_names_are_no_targets(shop: Shop) -> None:
    shop.sql("create or replace view a_view as select 1 k, 'x' v")
    shop.sql("create or replace temporary view a_temporary_view as select 1 k, 'x' v")
    for name, kind in (
        ("a_view", InputError),
        ("a_temporary_view", UnsupportedError),
        ("nowhere", NotFoundError),
    ):
        with pytest.raises(kind):
            shop.sql(f"merge into {name} t using {SOURCE} s on t.k = s.k {UPDATE}")
