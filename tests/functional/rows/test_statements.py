"""`update`, `delete`, `replace where` and what else changes rows, beyond `merge`."""

import pytest

from dbt.adapters.vcs.changes.writes import stage_write
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError, VcsError
from dbt.adapters.vcs.engines.engine_errors import StatementError

from .shop import Shop

pytestmark = pytest.mark.spark


def pairs(shop: Shop, rows: str = "values (1, 'a'), (2, 'b'), (3, 'c')") -> str:
    return shop.clone("k int, v string", rows)


@pytest.mark.parametrize(
    ("text", "affected", "rows"),
    [
        ("update {t} set v = 'x'", 3, [(1, "x"), (2, "x"), (3, "x")]),
        (
            "update {t} as u set u.v = concat(u.v, k) where u.k > 2",
            1,
            [(1, "a"), (2, "b"), (3, "c3")],
        ),
        ("update {t} set k = k + 1, v = k where k < 3", 2, [(2, "1"), (3, "2"), (3, "c")]),
        ("update {t} set v = default where k = 1", 1, [(1, None), (2, "b"), (3, "c")]),
        (
            "update {t} set v = (select max(v) from {t}) where k in (select min(k) from {t})",
            1,
            [(1, "c"), (2, "b"), (3, "c")],
        ),
        ("update {t} set v = 'x' where k > cast(null as int)", 0, [(1, "a"), (2, "b"), (3, "c")]),
        ("delete from {t} where k = 2 or v = 'c'", 2, [(1, "a")]),
        (
            "delete from {t} u where exists (select 1 from values (3) as q(x) where x = u.k)",
            1,
            [(1, "a"), (2, "b")],
        ),
        ("delete from {t} where v not in ('a', null)", 0, [(1, "a"), (2, "b"), (3, "c")]),
        ("delete from {t}", 3, []),
        ("delete from {t} where true", 3, []),
    ],
)
def test_updates_and_deletes(shop: Shop, text: str, affected: int, rows: list[object]) -> None:
    name = pairs(shop)
    assert shop.change(text.format(t=name)) == affected
    assert shop.rows(name) == rows


def test_truncate_takes_all_rows_and_tombstones(shop: Shop) -> None:
    name = shop.make("k int", "values (1), (2)", properties="'vcs.write_mode' = 'merge_on_read'")
    shop.sql(f"delete from {name} where k = 1")
    shop.sql(f"truncate table {name}")
    assert (shop.rows(name), shop.tombstones(name), shop.version(name).rows) == ([], [], 0)


def test_columns_change_between_changes_of_rows(shop: Shop) -> None:
    name = shop.make(
        "k int, v string", "values (1, 'a'), (2, 'b'), (3, 'c')",
        properties="'vcs.write_mode' = 'merge_on_read'",
    )  # fmt: skip
    shop.sql(f"delete from {name} where k = 1")
    shop.sql(f"alter table {name} add columns (n int)")
    shop.sql(f"alter table {name} rename column v to text")
    shop.sql(f"update {name} set n = 5, text = upper(text) where k = 2")
    assert shop.rows(name) == [(2, "B", 5), (3, "c", None)]
    shop.sql(f"alter table {name} drop column text")
    shop.sql(f"alter table {name} add columns (text string)")
    shop.sql(f"update {name} set n = 6")
    assert shop.rows(name) == [(2, 6, None), (3, 6, None)]


def test_cached_tables_change(shop: Shop) -> None:
    name = shop.make("k int, v string", "values (1, 'a'), (2, 'b')")
    shop.sql(f"cache table {name}")
    assert shop.rows(name) == [(1, "a"), (2, "b")]
    shop.sql(f"delete from {name} where k = 1")
    shop.sql(f"update {name} set v = 'x'")
    assert shop.rows(name) == [(2, "x")]


def test_clones_change_apart(shop: Shop) -> None:
    name = shop.make(
        "k int, v string", "values (1, 'a'), (2, 'b')",
        properties="'vcs.write_mode' = 'merge_on_read'",
    )  # fmt: skip
    shop.sql(f"delete from {name} where k = 1")
    shop.sql(f"create table {name}_clone shallow clone {name}")
    shop.sql(f"update {name}_clone set v = 'clone'")
    shop.sql(f"insert into {name} values (3, 'c')")
    assert shop.rows(name) == [(2, "b"), (3, "c")]
    assert shop.rows(f"{name}_clone") == [(2, "clone")]


def test_overwriting_a_partition_forgets_its_tombstones(shop: Shop) -> None:
    name = shop.make(
        "k int, p string", "values (1, 'x'), (2, 'x'), (1, 'y'), (2, 'y')", by="p",
        properties="'vcs.write_mode' = 'merge_on_read'",
    )  # fmt: skip
    shop.sql(f"delete from {name} where k = 1")
    shop.sql(f"insert overwrite {name} partition (p = 'x') values (9)")
    assert shop.rows(name) == [(2, "y"), (9, "x")]
    assert [len(item.targets) for item in shop.tombstones(name)] == [1]
    assert shop.version(name).rows == 2


def test_an_update_moves_rows_between_partitions(shop: Shop) -> None:
    name = shop.make("k int, p int, q boolean", "values (1, 1, true), (2, 1, null)", by="p, q")
    shop.sql(f"update {name} set p = k + 10, q = false where k = 1")
    assert shop.rows(name) == [(1, 11, False), (2, 1, None)]
    assert [block.partition for block in shop.blocks(name)] == [
        {"p": "1", "q": None},
        {"p": "11", "q": "false"},
    ]


def test_partitions_that_only_the_engine_spells(shop: Shop) -> None:
    name = shop.make(
        "k int, p timestamp, q double",
        "values (1, timestamp'2020-01-01 01:02:03.5', 1e10), (2, null, null)", by="p, q",
    )  # fmt: skip
    shop.sql(f"update {name} set k = k + 1")
    shop.sql(f"update {name} set q = 0.5 where k = 3")
    text = f"select k, cast(p as string), q from {name}"
    assert shop.rows(text) == [(2, "2020-01-01 01:02:03.5", 1e10), (3, None, 0.5)]


@pytest.mark.parametrize("most", [stage_write.MAX_STAGED_IN_PROCESS, -1])
def test_an_empty_text_is_no_partition(
    shop: Shop, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_write, "MAX_STAGED_IN_PROCESS", most)
    name = shop.make("k int, p string", "values (1, 'x')", by="p")
    # Its files go on calling it p.
    shop.sql(f"alter table {name} rename column p to region")
    before = shop.version(name)
    with pytest.raises(VcsError, match="'region' holds an empty string"):
        shop.sql(f"update {name} set region = ''")
    assert shop.version(name) == before


def test_replace_where(shop: Shop) -> None:
    name = shop.make("k int, p string", "values (1, 'x'), (2, 'x'), (3, 'y')", by="p")
    commits = shop.repository.branch("main").head
    assert shop.change(f"insert into {name} replace where p = 'x' and k > 1 values (5, 'x')") == 1
    assert shop.rows(name) == [(1, "x"), (3, "y"), (5, "x")]
    head = shop.repository.objects.commit(shop.repository.branch("main").head)
    assert head.parents == (commits,)
    assert shop.version(name).operation == "overwrite"


@pytest.mark.parametrize("condition", ["flag", "(flag)", "flag = (select true)"])
def test_replace_where_takes_a_query_in_parentheses(shop: Shop, condition: str) -> None:
    name = shop.clone("flag boolean, k int", "values (true, 1), (false, 2)")
    shop.sql(f"insert into {name} replace where {condition} (select true, 3)")
    assert shop.rows(name) == [(False, 2), (True, 3)]


@pytest.mark.parametrize("condition", ["flag", "(flag)", "(flag) -- all", "true"])
def test_a_condition_of_one_word_is_no_alias(shop: Shop, condition: str) -> None:
    """Spark takes `from t where (flag)` for a relation called `where`."""
    gone, name = (shop.clone("flag boolean, k int", "values (true, 1)") for _ in range(2))
    assert shop.change(f"delete from {gone} where {condition}") == 1
    assert shop.change(f"update {name} set k = 2 where {condition}") == 1
    source = "(select true as flag, 3 as v)"
    if "--" not in condition:
        shop.sql(
            f"merge into {name} using {source} as s on {condition.replace('flag', 's.flag')} "
            f"when matched and {condition.replace('flag', 's.flag')} then update set k = v"
        )
        assert shop.rows(name) == [(True, 3)]


def test_replace_where_refuses_rows_that_are_elsewhere(shop: Shop) -> None:
    name = pairs(shop)
    before = shop.version(name)
    for value in ("9", "null"):
        with pytest.raises(InputError, match="1 of the 2 new rows do not meet"):
            shop.sql(f"insert into {name} replace where k < 3 values (1, 'new'), ({value}, 'z')")
    assert shop.version(name) == before
    with pytest.raises(VcsError, match="nope"):
        shop.sql(f"insert into {name} replace where nope = 1 values (1, 'new')")


def test_replace_where_by_nothing_deletes(shop: Shop) -> None:
    name = pairs(shop)
    shop.sql(f"insert into {name} replace where k < 3 select * from {name} where false")
    assert shop.rows(name) == [(3, "c")]


def test_a_partition_is_written_only_if_it_is_not_there(shop: Shop) -> None:
    name = shop.make("k int, p string", "values (1, 'x')", by="p")
    before = shop.version(name)
    text = "insert overwrite {t} partition (p = '{p}') if not exists values (7)"
    assert shop.change(text.format(t=name, p="x")) == 0
    assert shop.version(name) == before
    assert shop.change(text.format(t=name, p="y")) == 1
    assert shop.rows(name) == [(1, "x"), (7, "y")]


@pytest.mark.parametrize("verb", ["update {t} set k = 1", "delete from {t} where k = 1"])
def test_views_are_no_targets(shop: Shop, verb: str) -> None:
    shop.sql("create or replace view view_target as select 1 k")
    with pytest.raises(InputError, match="is a view and a table is needed"):
        shop.sql(verb.format(t="view_target"))
    shop.sql("create or replace temporary view temporary_target as select 1 k")
    with pytest.raises(UnsupportedError, match="is a temporary view"):
        shop.sql(verb.format(t="temporary_target"))


def test_a_column_called_like_positions_in_spark_has_its_own_values(shop: Shop) -> None:
    table = shop.make("id int, _TMP_metadata_row_index bigint", "values (1, 11), (2, 12), (3, 13)")
    shop.sql(f"delete from {table} where _tmp_metadata_row_index = 12")
    shop.sql(f"update {table} set _tmp_metadata_row_index = 7 where id = 3")
    assert sorted(shop.rows(f"select * from {table}")) == [(1, 11), (3, 7)]


def test_metadata_of_files_is_refused_with_the_way_round(shop: Shop) -> None:
    table = shop.make("id int", "values (1)")
    for text in (
        f"select _metadata.file_name from {table}",
        f"delete from {table} where _metadata.row_index = 0",
    ):
        with pytest.raises(
            StatementError, match=r"no column _metadata.* input_file_name\(\) returns"
        ):
            shop.sql(text)
    [(file,)] = shop.rows(f"select input_file_name() from {table}")
    assert file.endswith(".parquet")


def test_rows_of_years_that_python_lacks_change_as_others_do(shop: Shop) -> None:
    far, old = "cast('+12345-06-07' as date)", "cast('-0044-03-15' as date)"
    values = f"values (1, 'a', {far}), (2, 'b', {old}), (3, 'c', date'2026-01-01')"
    parts = shop.make("id int, v string, d date", values, by="d")
    keyed = shop.make("id int, v string, d date, primary key (d)", values)
    shop.sql(f"alter table {keyed} add constraint good check (v <> 'bad')")
    for table in (parts, keyed):
        assert shop.change(f"update {table} set v = 'x' where d = {far}") == 1
        source = f"(select 9 as id, 'y' as v, {old} as d)"
        matched = (
            f"merge into {table} t using {source} s on t.d = s.d when matched then update set *"
        )
        assert shop.change(matched) == 1
        found = shop.rows(f"select id, v, cast(d as string) from {table}")
        assert sorted(found) == [
            (1, "x", "+12345-06-07"),
            (3, "c", "2026-01-01"),
            (9, "y", "-0044-03-15"),
        ]
    shop.sql(f"insert into {keyed} values (4, 'd', {far} + interval 1 day)")
    shop.sql(f"optimize {keyed}")
    shown = dict(shop.rows(f"describe extended {keyed} d"))
    assert (shown["min"], shown["max"]) == ("-0044-03-15", "+12345-06-08")
    for change, words in (
        (f"insert into {keyed} values (5, 'e', {far})", r"already have: \+12345-06-07\."),
        (f"update {keyed} set v = 'bad' where d = {old}", r"is false for .*d: -0044-03-15"),
    ):
        with pytest.raises(InputError, match=words):
            shop.sql(change)
