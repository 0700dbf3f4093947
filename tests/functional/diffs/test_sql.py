"""Differences in SQL: `snapshot_diff(...)` in queries, and `snapshot diff ...`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName, TableEntry

from .conftest import SPARK, Sql

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """`dev` left `main` when t had rows 1, 2 and 3; main has changed each in its way."""
    folder: Path = tmp_path_factory.mktemp("diffs")
    with connect(
        str(folder / "warehouse"), schema="shop", create=True, spark=SPARK, author="ann"
    ) as client:
        client.sql("create schema shop")
        client.sql("create table t (id int, name string) tblproperties ('primary_key' = 'id')")
        client.sql("insert into t values (1, 'a'), (2, 'b'), (3, 'c')")
        repository = client.repository
        repository.create_branch("dev", repository.resolve("main"), author="ann")
        client.sql("delete from t where id = 1")
        client.sql("update t set name = 'B' where id = 2")
        client.sql("insert into t values (4, 'd')")
        yield client


@pytest.fixture
def sql(shared: Client) -> Sql:
    return lambda text: [tuple(row.values()) for row in shared.sql(text).to_pylist()]


def snapshot_of(client: Client, name: str, revision: str = "main") -> str:
    repository = client.repository
    entry = repository.tree(repository.resolve(revision)).entry(RelationName("shop", name))
    assert isinstance(entry, TableEntry)
    return entry.snapshot


def test_a_query_reads_a_difference(sql: Sql) -> None:
    text = "select * from snapshot_diff('shop.t@dev...', 'shop.t') order by diff_type"
    assert sql(text) == [
        ("added", None, 4, None, "d"),
        ("modified", 2, 2, "b", "B"),
        ("removed", 1, None, "a", None),
    ]
    text = (
        "with c as (select 4 id) select d._change_type, d.name from c join snapshot_diff("
        "'t@dev', 't', shape => 'changes', where => \"name <> 'x'\") d on c.id = d.id"
    )
    assert sql(text) == [("insert", "d")]
    text = "select sum(diff_count) from snapshot_diff('t@dev', 't', shape => 'signed')"
    assert sql(text) == [(0,)]
    text = "select count(*) from snapshot_diff('t@dev', 't', columns => 'id')"
    assert sql(text) == [(2,)]


def test_a_table_made_from_a_difference_notes_both_versions(shared: Client, sql: Sql) -> None:
    sql("create table kept as select * from snapshot_diff('t@dev', 't', shape => 'signed')")
    assert len(sql("select * from kept")) == 4
    repository = shared.repository
    made = repository.objects.snapshot(snapshot_of(shared, "kept"))  # type: ignore[arg-type]
    ids = {snapshot_of(shared, "t", "dev"), snapshot_of(shared, "t")}
    assert {(item.relation, item.snapshot) for item in made.origin.inputs} == {
        ("shop.t", id) for id in ids
    }
    sql("insert into kept select * from snapshot_diff('t', 't@dev', shape => 'signed')")
    assert sql("select sum(diff_count * id) from kept") == [(0,)]


def test_a_view_follows_what_it_compares(sql: Sql) -> None:
    sql("create table u (id int) tblproperties ('primary_key' = 'id')")
    sql("create view changed as select to_id from snapshot_diff('shop.u@dev...', 'shop.u')")
    assert sql("select * from changed") == []
    sql("insert into u values (7)")
    assert sql("select * from changed") == [(7,)]
    with pytest.raises(InputError, match="without a schema"):
        sql("create view wrong as select * from snapshot_diff('u@dev...', 'u')")


def test_a_temporary_view_keeps_its_own(sql: Sql) -> None:
    sql("create temporary view went as select from_id id from snapshot_diff('t@dev', 't')")
    assert sql("select count(*) from snapshot_diff('t', 't')") == [(0,)]
    assert sql("select id from went where id is not null order by id") == [(1,), (2,)]


def test_the_statement(sql: Sql) -> None:
    rows = sql("snapshot diff t{snapshot = 'dev'} and t")
    assert sorted(rows) == [(-1, 1, "a"), (-1, 2, "b"), (1, 2, "B"), (1, 4, "d")]
    assert sql("snapshot diff t{snapshot = 'dev'} and t output count") == [(4,)]
    assert sql("snapshot diff t{snapshot = 'dev'} and t as wide output count") == [(3,)]
    assert sql("snapshot diff t{snapshot = 'dev'} and t output summary") == [(1, 1, 1)]
    wide = "snapshot diff t{snapshot = 'dev'} and t as wide where"
    assert sql(f"{wide} to_id = 4 output summary") == [(1, 0, 0)]
    assert len(sql("snapshot diff t{snapshot = 'dev'} and t as changes limit 2")) == 2
    assert sql("snapshot diff t and t") == []
    with pytest.raises(InputError, match="as wide"):
        sql("snapshot diff t{snapshot = 'dev'} and t where id = 4 output summary")


@pytest.mark.parametrize("condition", ["flag", "(flag)", "true", "flag -- those"])
def test_a_condition_of_one_word_is_no_alias(sql: Sql, condition: str) -> None:
    sql("create or replace table flags as select 1 as id, false as flag")
    sql("create snapshot if not exists bare for table flags")
    sql("insert into flags values (2, true)")
    text = f"snapshot diff flags{{snapshot = 'bare'}} and flags as changes where {condition}"
    assert sql(text) == [("insert", 2, True)]
    function = "snapshot_diff('flags@bare', 'flags', shape => 'changes', where => '{}')"
    assert sql(f"select id from {function.format(condition)} where true") == [(2,)]
    with pytest.raises(InputError, match="not one condition"):
        sql(f"select id from {function.format('flag) or (true')}")
    sql("drop table flags")


def test_no_rows_may_be_asked_for(sql: Sql) -> None:
    assert sql("snapshot diff t{snapshot = 'dev'} and t limit 0") == []
    assert sql("snapshot diff t{snapshot = 'dev'} and t as wide where to_id = 4 limit 0") == []
    assert sql("snapshot diff t{snapshot = 'dev'} and t output count limit 0") == [(0,)]


def test_schemas_differ_by_identity_or_by_name(sql: Sql) -> None:
    sql("create table v as select 1 id, 'a' name, 10 size")
    sql("create table w shallow clone v")
    sql("alter table w rename column name to title")
    sql("alter table w drop column size")
    sql("alter table w add columns (more double)")
    assert sql("snapshot diff v and w output schema") == [
        ("renamed", "title", "name", "title"),
        ("added", "more", None, "double"),
        ("dropped", "size", "int", None),
    ]
    assert sql("snapshot diff v and w") == []
    sql("create table x as select 'a' name, 1L id, 1.5D more")
    assert sql("snapshot diff w and x as changes") == [
        ("delete", None, 1, None, "a"),
        ("insert", "a", 1, 1.5, None),
    ]
    assert sql("snapshot diff v and x columns (id, name)") == []
    sql("create table y as select array(1) id")
    with pytest.raises(UnsupportedError, match="'id' was int and is array<int>"):
        sql("snapshot diff v and y")


def test_types_that_only_spark_compares(sql: Sql) -> None:
    sql(
        "create table odd (id int, doc variant, span interval day, both "
        "struct<a:variant,b:map<string,int>>) tblproperties ('primary_key' = 'id')"
    )
    sql(
        "insert into odd select id, parse_json(doc), interval '1' day, "
        "named_struct('a', parse_json(doc), 'b', map('x', 1)) "
        "from values (1, '{\"a\":1,\"b\":[1,2]}'), (2, '1') as t(id, doc)"
    )
    sql("create table odd2 shallow clone odd")
    sql("delete from odd2 where id = 2")
    sql("insert into odd2 select 2, parse_json('2'), interval '1' day, null")
    rows = sql("snapshot diff odd and odd2 columns (id, doc, span) as wide")
    assert [(row[0], row[1], row[3], row[4]) for row in rows] == [("modified", 2, "1", "2")]
    assert sql("snapshot diff odd and odd2 output count") == [(2,)]
    assert sql("snapshot diff odd and odd output summary") == [(0, 0, 0)]


def test_times_without_a_zone_stay_so(sql: Sql) -> None:
    sql("create table times as select timestamp_ntz'2026-03-29 02:30:00' seen")
    text = "select typeof(to_seen), to_seen from snapshot_diff('times@dev...', 'times')"
    ((kind, seen),) = sql(text)
    assert (kind, str(seen)) == ("timestamp_ntz", "2026-03-29 02:30:00")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("snapshot diff t{snapshot = 'dve'} and t", NotFoundError, "Did you mean 'dev'"),
        ("snapshot diff t and nope", NotFoundError, r"no table or view shop\.nope"),
        ("snapshot diff t and t columns (size)", InputError, "no column 'size'"),
        ("select * from snapshot_diff('t@dev', 't', shape => 'tall')", InputError, "shape"),
        ("select * from snapshot_diff('t@dev', 'seen')", InputError, "is a view"),
    ],
)
def test_refusals(sql: Sql, text: str, error: type[Exception], words: str) -> None:
    if "seen" in text:
        sql("create or replace view seen as select * from t")
    with pytest.raises(error, match=words):
        sql(text)


def test_both_sides_are_compared_with_their_base_in_one_answer(shared: Client, sql: Sql) -> None:
    shared.sql("create table two (id int, v string) tblproperties ('primary_key' = 'id')")
    shared.sql("insert into two values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    repository = shared.repository
    parted = repository.resolve("main")
    shared.sql("update two set v = 'theirs' where id in (1, 2)")
    shared.sql("delete from two where id = 3")
    shared.sql("insert into two values (5, 'e')")
    main = repository.branch("main")
    repository.create_branch("side", main.head, author="ann")
    assert repository.move_branch(main, parted, author="ann", action="reset")
    shared.sql("update two set v = 'ours' where id in (1, 4)")
    expected = [
        (1, "modified", "modified", 1, 1, 1, "a", "ours", "theirs"),
        (2, None, "modified", 2, 2, 2, "b", "b", "theirs"),
        (3, None, "removed", 3, 3, None, "c", "c", None),
        (4, "modified", None, 4, 4, 4, "d", "ours", "d"),
        (5, None, "added", None, None, 5, None, None, "e"),
    ]
    function = "snapshot_diff('shop.two', 'shop.two@side', shape => 'three_way')"
    assert sql(f"select * from {function} order by id") == expected
    assert sorted(sql("snapshot diff two and two{snapshot='side'} as three_way")) == expected
    assert sql("snapshot diff two and two{snapshot='side'} as three_way output count") == [(5,)]
    conflicts = "our_diff_type is not null and their_diff_type is not null"
    text = f"snapshot diff two and two{{snapshot='side'}} as three_way where {conflicts}"
    assert sql(text) == expected[:1]
    shared.sql(f"create view sides as select * from {function}")
    assert sql("select * from sides order by id") == expected
    since = "snapshot_diff('shop.two@side...', 'shop.two', shape => 'three_way', columns => 'v')"
    swapped = sql(f"select id, our_diff_type, their_diff_type from {since} order by id")
    assert swapped == [(row[0], row[2], row[1]) for row in expected]
    for text, error in (
        (
            "snapshot diff two and two{snapshot='side'} as three_way output summary",
            "two versions",
        ),
        ("snapshot diff two and t as three_way", "have no common ancestor"),
        (
            "snapshot diff two and two{snapshot='side'} columns (x) as three_way",
            "no column 'x'",
        ),
        ("snapshot diff two and two{snapshot='side'} as four_way", "three_way"),
    ):
        with pytest.raises(InputError, match=error):
            sql(text)
