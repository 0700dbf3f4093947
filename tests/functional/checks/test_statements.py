"""Check constraints in SQL: no statement leaves a row for which one is false."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.changes.writes.append import append_arrow
from dbt.adapters.vcs.core.errors import ConflictError, EngineError, InputError
from dbt.adapters.vcs.core.model import Origin, RelationName
from dbt.adapters.vcs.core.repository import Repository
from tests.functional.clients import Sql

pytestmark = pytest.mark.spark


def properties(sql: Sql, table: str) -> dict[str, str]:
    return {
        key: value
        for key, value in sql(f"show tblproperties {table}")
        if key.startswith("vcs.check.")
    }


def test_a_table_keeps_the_constraints_that_it_is_created_with(sql: Sql) -> None:
    sql(
        "create table kept (id int check (id > 0) check (id < 100), v string, "
        "constraint Named check (v <> 'it''s, (no)') enforced, check (id <> 7 or v is null))"
    )
    assert properties(sql, "kept") == {
        "vcs.check.id_check": "id > 0",
        "vcs.check.id_check_2": "id < 100",
        "vcs.check.named": "v <> 'it''s, (no)'",
        "vcs.check.kept_check": "id <> 7 or v is null",
    }
    sql("insert into kept values (1, 'a'), (null, null), (7, null)")
    with pytest.raises(InputError, match=r"constraint named .* for \(id: 2, v: "):
        sql("insert into kept values (2, 'it''s, (no)')")


@pytest.mark.parametrize("condition", ["flag", "(flag)", "true and flag"])
def test_a_constraint_may_be_one_column(sql: Sql, condition: str) -> None:
    sql("drop table if exists flagged")
    sql("create table flagged (flag boolean)")
    sql(f"alter table flagged add constraint is_set check ({condition})")
    sql("insert into flagged values (true), (null)")
    with pytest.raises(InputError, match=r"constraint is_set .* \(flag: "):
        sql("insert into flagged values (false)")
    assert sql("select count(*) from flagged") == [(2,)]


@pytest.fixture
def stock(sql: Sql) -> None:
    """Ten articles of which each has a price above its cost, if it is known."""
    sql("drop table if exists stock")
    sql(
        "create table stock tblproperties ('vcs.check.gain' = 'price > cost', "
        "'primary_key' = 'id') as select cast(id as int) id, cast(id + 10 as int) price, "
        "cast(if(id = 9, null, id) as int) cost from range(10)"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("insert into stock values (20, 2, 1), (21, 1, 1)", "(id: 21, price: 1, cost: 1)"),
        ("insert overwrite stock values (1, 1, 1)", "(id: 1, price: 1, cost: 1)"),
        ("update stock set price = cost - 1 where id = 3", "(id: 3, price: 2, cost: 3)"),
        (
            "merge into stock t using (select 4 id union select 30) s on t.id = s.id when matched "
            "then update set price = 0 when not matched then insert (id, price, cost) "
            "values (s.id, 0, 1)",
            "(id: 30, price: 0, cost: 1)",
        ),
        (
            "insert into stock replace where id > 5 select 6, 0, 1",
            "(id: 6, price: 0, cost: 1)",
        ),
        (
            "create or replace table stock tblproperties ('vcs.check.gain' = 'price > cost') as "
            "select 1 id, 1 price, 1 cost",
            "(price: 1, cost: 1)",
        ),
        (
            "create or replace table stock tblproperties ('vcs.check.gain' = 'price > cost', "
            "'vcs.rebuild' = 'delta') as select id, price, cost + if(id = 5, 10, 0) cost "
            "from stock",
            "(price: 15, cost: 15)",
        ),
        ("alter table stock add constraint few check (id < 5)", "(id: 5), (id: 6), (id: 7), "),
        (
            "alter table stock set tblproperties ('vcs.check.gain' = 'price > 12')",
            "(id: 0, price: 10), (id: 1, price: 11), (id: 2, price: 12)",
        ),
    ],
)
def test_rows_that_break_a_constraint_are_refused(
    sql: Sql, client: Client, stock: None, text: str, shown: str
) -> None:
    before = sql("select * from stock order by id"), head(client)
    with pytest.raises(InputError) as caught:
        sql(text)
    assert shown in str(caught.value)
    assert "The check constraint" in str(caught.value)
    assert "drop constraint" in str(caught.value)
    assert (sql("select * from stock order by id"), head(client)) == before


def test_rows_of_which_a_condition_is_true_or_null_are_taken(sql: Sql, stock: None) -> None:
    sql("insert into stock values (20, 2, 1), (21, null, 5)")
    sql("update stock set price = price + 1")
    sql("merge into stock t using (select 1 id) s on t.id = s.id when matched then delete")
    assert len(sql("select * from stock")) == 11


def test_rows_that_are_deleted_break_nothing(sql: Sql) -> None:
    sql(
        "create table gone tblproperties ('vcs.write_mode' = 'merge_on_read') as "
        "select id from range(100)"
    )
    sql("delete from gone where id = 50")
    sql("alter table gone add constraint not_50 check (id <> 50)")
    with pytest.raises(InputError, match="not_50"):
        sql("insert into gone values (50)")


def test_rows_from_arrow_are_checked(client: Client, sql: Sql) -> None:
    sql("create table seeded (id bigint, constraint small check (id < 10))")
    workspace = client._workspace
    overlay = workspace.begin()
    scope = client._connection.scope("", overlay, Origin())
    append_arrow(scope, RelationName("shop", "seeded"), pa.table({"id": [1, 2]}))
    with pytest.raises(InputError, match=r"small \(id < 10\) of shop.seeded is false for"):
        append_arrow(scope, RelationName("shop", "seeded"), pa.table({"id": [3, 10]}))


def test_constraints_come_and_go(sql: Sql) -> None:
    sql("create table altered (id int, v int)")
    sql("insert into altered values (1, 1)")
    sql("alter table altered add constraint Positive check (id > 0 -- really\n)")
    sql("alter table altered add check (v > 0)")
    sql("alter table altered add check (v > -1)")
    assert list(properties(sql, "altered")) == [
        "vcs.check.altered_check",
        "vcs.check.altered_check_2",
        "vcs.check.positive",
    ]
    with pytest.raises(InputError, match="already has a constraint positive"):
        sql("alter table altered add constraint POSITIVE check (id > 1)")
    with pytest.raises(InputError, match="positive"):
        sql("insert into altered values (0, 1)")
    for change in ("rename column ID to no", "drop column id"):
        with pytest.raises(InputError, match=r"positive .* names it"):
            sql(f"alter table altered {change}")
    sql("alter table altered drop constraint positive")
    sql("insert into altered values (0, 1)")
    with pytest.raises(InputError, match=r"no check constraint positive; it has: altered_check"):
        sql("alter table altered drop constraint positive")
    sql("alter table altered drop constraint if exists positive cascade")
    sql("alter table altered rename column id to no")


@pytest.mark.parametrize(
    "condition",
    [
        "nix > 0",
        "id",
        "count(*) > 0",
        "row_number() over (order by id) = 1",
        "id in (select 1)",
        "rand() < 2",
    ],
)
def test_what_is_no_condition_on_a_row_is_refused(sql: Sql, condition: str) -> None:
    sql("create table if not exists plain (id int)")
    with pytest.raises(InputError, match="The check constraint"):
        sql(f"alter table plain add constraint c check ({condition})")
    with pytest.raises(InputError, match="not one condition"):
        sql("alter table plain set tblproperties ('vcs.check.c' = 'id > 0) or (true')")
    assert not properties(sql, "plain")


def test_a_condition_that_fails_is_told(sql: Sql) -> None:
    sql("create table fragile (id int, constraint c check (element_at(array(1), id) > 0))")
    with pytest.raises(EngineError, match=r"check constraints of shop.fragile \(c\)"):
        sql("insert into fragile values (0)")


@pytest.fixture
def forked(sql: Sql) -> Sql:
    """A table t and a clone c of it, both with a key and a constraint."""
    for name in ("c", "t"):
        sql(f"drop table if exists {name}")
    sql(
        "create table t tblproperties ('primary_key' = 'id', 'vcs.check.sums' = 'a + b <= 10') as "
        "select cast(id as int) id, 1 a, 1 b from range(6)"
    )
    sql("create table c clone t")
    return sql


def test_a_merge_by_cell_can_break_a_constraint_that_neither_side_breaks(forked: Sql) -> None:
    forked("update t set a = 9 where id = 1")
    forked("update c set b = 9 where id = 1")
    with pytest.raises(ConflictError, match=r"sums .* false for \(id: 1, a: 9, b: 9\)"):
        forked("snapshot merge table t from c when conflict cell")
    assert forked("select a, b from t where id = 1") == [(9, 1)]
    forked("update t set a = 2 where id = 1")
    forked("update c set b = 8 where id = 1")
    forked("snapshot merge table t from c when conflict cell")
    assert forked("select a, b from t where id = 1") == [(2, 8)]


@pytest.mark.parametrize(("stricter", "other"), [("t", "c"), ("c", "t")])
def test_a_constraint_of_one_side_holds_for_the_rows_of_the_other(
    forked: Sql, stricter: str, other: str
) -> None:
    forked(f"alter table {stricter} add constraint small check (id < 10)")
    forked(f"insert into {other} values (10, 0, 0)")
    for more in ("", " dry run"):
        with pytest.raises(ConflictError, match=r"small .* false for \(id: 10\)"):
            forked(f"snapshot merge table t from c{more}")
    assert len(forked("select * from t")) == (6 if stricter == "t" else 7)
    forked(f"delete from {other} where id = 10")
    forked(f"insert into {other} values (9, 0, 0)")
    forked("snapshot merge table t from c")
    assert len(forked("select * from t")) == 7
    with pytest.raises(InputError, match="small"):
        forked("insert into t values (10, 0, 0)")


def test_a_constraint_and_the_loss_of_its_column_dont_merge(forked: Sql) -> None:
    forked("alter table t add constraint first check (a > 0)")
    forked("alter table c drop constraint sums")
    forked("alter table c rename column a to z")
    with pytest.raises(ConflictError, match=r"has renamed to z its column a"):
        forked("snapshot merge table t from c")


def test_a_merge_of_rows_that_were_checked_asks_no_engine(
    forked: Sql, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked("insert into t values (7, 0, 0)")
    forked("insert into c values (8, 0, 0)")

    def asked(*_: Any, **__: Any) -> None:
        raise AssertionError("the rows were read again")

    monkeypatch.setattr("dbt.adapters.vcs.changes.writes.checks._broken", asked)
    forked("snapshot merge table t from c")
    assert len(forked("select * from t")) == 8


def head(client: Client) -> str:
    repository: Repository = client._workspace.repository
    return repository.branch("main").head
