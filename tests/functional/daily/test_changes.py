"""Incremental models that read `changes()`: each change once, whatever happens in between."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.commands.merge import MergeRequest, merge
from dbt.adapters.vcs.commands.restore import restore_relation
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Consumed
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs

from .models import TABLE, VIEW, config
from .project import SPARK, Project

pytestmark = pytest.mark.spark

SOURCES = """
sources:
  - name: shop
    schema: analytics
    tables: [{name: orders}]
"""
ORDERS = "source('shop', 'orders')"
APPLIED = config(
    materialized="incremental",
    incremental_strategy="apply_changes",
    unique_key=["id"],
    on_schema_change="append_new_columns",
)
LARGE = f"{APPLIED}select _change_type, id, amount * 2 as twice from {{{{ changes({ORDERS}) }}}} "
LARGE += "where amount > 5"
SUMS = (
    config(materialized="incremental", incremental_strategy="merge", unique_key="customer")
    + f"""
    with moved as (
      select customer, sum(diff_count * amount) as total, sum(diff_count) as orders
      from {{{{ changes({ORDERS}, shape='signed') }}}} group by customer
    )
    {{% if is_incremental() %}}
    select customer, moved.total + coalesce(old.total, 0) as total,
      moved.orders + coalesce(old.orders, 0) as orders
    from moved left join {{{{ this }}}} as old using (customer)
    {{% else %}}
    select * from moved
    {{% endif %}}
    """
)
LOG = (
    config(materialized="incremental", incremental_strategy="append")
    + f"select _change_type as what, id, amount from {{{{ changes({ORDERS}) }}}}"
)
ALL = {
    "models/sources.yml": SOURCES,
    "models/large.sql": LARGE,
    "models/sums.sql": SUMS,
    "models/log.sql": LOG,
}


@pytest.fixture
def shop(make_project) -> Project:
    return stocked(make_project(ALL))


def stocked(project: Project) -> Project:
    Repository.create(open_blobs(str(project.root)), author="ann")
    project.sql("create schema analytics")
    project.sql(
        "create table analytics.orders (id int, customer string, amount int) "
        "tblproperties ('primary_key' = 'id')"
    )
    project.sql(
        "insert into analytics.orders values "
        "(1, 'ann', 10), (2, 'bob', 3), (3, 'cid', 7), (4, 'cid', 1)"
    )
    return project


def check(project: Project, branch: str = "main") -> None:
    """Hold increments to what a full build would give."""
    orders = project.rows("select id, customer, amount from analytics.orders", branch)
    large = project.rows("select id, twice from analytics.large", branch)
    assert sorted(large) == sorted((id, amount * 2) for id, _, amount in orders if amount > 5)
    sums: dict[str, tuple[int, int]] = {}
    for _, customer, amount in orders:
        total, count = sums.get(customer, (0, 0))
        sums[customer] = total + amount, count + 1
    found = project.rows("select * from analytics.sums where orders > 0", branch)
    assert {row[0]: row[1:] for row in found} == sums


def consumed(project: Project, model: str, branch: str = "main") -> tuple[Consumed, ...]:
    found = project.snapshot(model, branch).consumption
    assert found is not None
    assert found.reader == f"analytics.{model}"
    return found.inputs


def shown(project: Project, branch: str = "main") -> tuple[Consumed, ...]:
    entry = project.entry("orders", branch)
    return (Consumed(relation="analytics.orders", snapshot=entry and entry.version),)


def test_late_rows_updates_and_deletions_are_read_once(shop: Project) -> None:
    shop.dbt("run")
    check(shop)
    shop.sql("update analytics.orders set amount = amount + 4 where id < 3")
    shop.sql("delete from analytics.orders where id = 3")
    shop.sql("insert into analytics.orders values (0, 'late', 100)")
    shop.dbt("run")
    check(shop)
    assert shop.rows("select what, id, amount from analytics.log where id in (0, 2, 3)") == [
        ("delete", 3, 7),
        ("insert", 0, 100),
        ("insert", 2, 3),
        ("insert", 3, 7),
        ("update_postimage", 2, 7),
        ("update_preimage", 2, 3),
    ]
    head = shop.head()
    assert "Nothing changed" in shop.dbt("run").said
    assert shop.head() == head
    assert consumed(shop, "large") == shown(shop)


def test_a_build_that_changes_no_row_consumes(shop: Project) -> None:
    shop.dbt("run")
    before = shop.snapshot("large")
    shop.sql("insert into analytics.orders values (9, 'ann', 2)")
    shop.dbt("run", "--select", "large")
    after = shop.snapshot("large")
    assert after.segments == before.segments
    assert after.operation == "consume"
    assert consumed(shop, "large") == shown(shop)
    assert shop.rows("select relation from vcs.stale where relation = 'analytics.large'") == []
    # What was consumed is not read again, although the table was changed by hand since.
    shop.sql("update analytics.large set twice = 0 where id = 1")
    shop.sql("update analytics.orders set amount = 8 where id = 2")
    shop.dbt("run", "--select", "large")
    assert shop.rows("select id, twice from analytics.large") == [(1, 0), (2, 16), (3, 14)]


def test_a_failed_run_consumes_nothing(shop: Project) -> None:
    shop.dbt("run")
    old = shown(shop)
    shop.sql("insert into analytics.orders values (9, 'ann', 20)")
    shop.write({"models/after.sql": TABLE + "select raise_error('no') x from {{ ref('sums') }}"})
    shop.dbt("run", ok=False)
    assert consumed(shop, "sums") == old
    assert consumed(shop, "sums", shop.run_branch()) == shown(shop)
    shop.write({"models/after.sql": TABLE + "select count(*) x from {{ ref('sums') }}"})
    shop.dbt("retry")
    check(shop)
    # The same without a retry: what the failed run had read is read again.
    shop.write({"models/after.sql": TABLE + "select raise_error('no') x from {{ ref('sums') }}"})
    shop.sql("delete from analytics.orders where id = 9")
    shop.dbt("run", ok=False)
    shop.remove("models/after.sql")
    shop.dbt("run")
    check(shop)
    assert consumed(shop, "sums") == shown(shop)


def test_a_node_that_fails_after_its_table_was_written_consumes_nothing(shop: Project) -> None:
    shop.dbt("run")
    old = shown(shop)
    shop.sql("insert into analytics.orders values (9, 'ann', 20)")
    shop.configure(models={"shop": {"log": {"+post-hook": "select raise_error('no')"}}})
    assert shop.dbt("run", ok=False).statuses == {
        "large": "success",
        "log": "error",
        "sums": "success",
    }
    assert consumed(shop, "log", shop.run_branch()) == old
    shop.configure(models={})
    shop.dbt("retry")
    assert shop.rows("select what, amount from analytics.log where id = 9") == [("insert", 20)]


def test_branches_that_both_built_merge_without_a_conflict(shop: Project) -> None:
    shop.dbt("run")
    repository = shop.repository
    repository.create_branch("dev", shop.head(), author="ann")
    for branch, values in (("main", "(10, 'ann', 10)"), ("dev", "(11, 'ann', 10)")):
        shop.sql(f"insert into analytics.orders values {values}", branch)
        shop.output["branch"] = branch
        shop.configure()
        shop.dbt("run")
        check(shop, branch)
    merge(repository, "dev", "main", author="ann")
    assert shop.rows("select sum(amount) from analytics.orders where customer = 'ann'") == [(30,)]
    shop.output["branch"] = "main"
    shop.configure()
    shop.dbt("run")
    check(shop)
    merge(repository, "main", "dev", MergeRequest(), author="ann")
    check(shop, "dev")
    commits = [id for id, commit in repository.log(shop.head()) if "(10," in commit.message]
    revert(repository, commits[0], branch="main", author="ann")
    shop.dbt("run")
    check(shop)
    restore_relation(repository, "analytics.sums", "main~3", branch="main", author="ann")
    restore_relation(repository, "analytics.orders", "main~5", branch="main", author="ann")
    shop.dbt("run")
    check(shop)


def test_empty_and_full_refresh(shop: Project) -> None:
    shop.dbt("run", "--empty")
    assert shop.rows("analytics.large") == []
    assert consumed(shop, "large") == (Consumed(relation="analytics.orders"),)
    shop.dbt("run")
    check(shop)
    old = shown(shop)
    shop.sql("delete from analytics.orders where id = 1")
    shop.dbt("run", "--empty")
    assert consumed(shop, "large") == old
    shop.sql("insert into analytics.large values (77, 77)")
    shop.dbt("run", "--full-refresh")
    check(shop)
    assert consumed(shop, "large") == shown(shop)


def test_a_clone_goes_on_where_the_other_table_is(shop: Project) -> None:
    shop.dbt("run")
    shop.sql("create schema sandbox")
    for table in ("orders", "large", "sums", "log"):
        shop.sql(f"create table sandbox.{table} clone analytics.{table}")
    shop.sql("insert into sandbox.orders values (9, 'ann', 20)")
    shop.output["schema"] = "sandbox"
    shop.configure()
    shop.write({"models/sources.yml": SOURCES.replace("analytics", "sandbox")})
    shop.dbt("run")
    assert shop.rows("select what from sandbox.log where id = 9") == [("insert",)]
    assert len(shop.rows("sandbox.log")) == 5


def test_compiled_sql_is_not_applied_twice(shop: Project) -> None:
    shop.dbt("run")
    shop.sql("insert into analytics.orders values (9, 'ann', 20)")
    shop.dbt("compile")
    sql = (shop.folder / "target/compiled/shop/models/log.sql").read_text()
    with connect(str(shop.root), "main", spark={k: str(v) for k, v in SPARK.items()}) as client:
        assert client.sql(sql).num_rows == 1
        shop.dbt("run")
        with pytest.raises(InputError, match="built after this SQL was compiled"):
            client.sql(f"insert into analytics.log {sql}")


def test_a_table_without_a_record_asks_for_a_full_refresh(shop: Project) -> None:
    plain = f"select id, amount * 2 as twice from {{{{ {ORDERS} }}}} where amount > 5"
    shop.write({"models/large.sql": config(materialized="incremental") + plain})
    shop.dbt("run", "--select", "large")
    shop.write({"models/large.sql": LARGE})
    message = shop.dbt("run", "--select", "large", ok=False).message("large")
    assert "doesn't record which version of analytics.orders" in message
    assert "--full-refresh --select large" in message
    shop.dbt("run", "--full-refresh")
    check(shop)


def test_keys_may_be_null_and_not_repeated(make_project) -> None:
    project = stocked(make_project({"models/sources.yml": SOURCES}))
    model = APPLIED.replace("'id'", "'customer'")
    model += f"select _change_type, customer, amount from {{{{ changes({ORDERS}) }}}}"
    project.write({"models/one.sql": model})
    project.sql("delete from analytics.orders where id = 4")
    project.sql("insert into analytics.orders values (5, null, 5)")
    project.dbt("run")
    project.sql("update analytics.orders set amount = 6 where id = 5")
    project.dbt("run")
    project.sql("update analytics.orders set customer = 'dan' where id = 5")
    project.sql("update analytics.orders set customer = null where id = 1")
    project.dbt("run")
    wanted = [(None, 10), ("bob", 3), ("cid", 7), ("dan", 6)]
    assert project.rows("analytics.one") == wanted
    project.sql("insert into analytics.orders values (8, 'eve', 1), (9, 'eve', 2)")
    message = project.dbt("run", ok=False).message("one")
    assert 'found several for {"customer":"eve"}' in message


REFUSED: dict[str, tuple[str, str]] = {
    "of_view": (f"{LARGE.replace(ORDERS, 'ref(' + repr('shown') + ')')}", "is a view"),
    "of_ephemeral": (LARGE.replace(ORDERS, "ref('passing')"), "the ephemeral model"),
    "of_version": (LARGE.replace(ORDERS, f"at({ORDERS}, 'main')"), "without at()"),
    "as_table": (TABLE + f"select * from {{{{ changes({ORDERS}) }}}}", "materialized: table"),
    "by_batch": (
        config(
            materialized="incremental",
            incremental_strategy="microbatch",
            event_time="day",
            begin="2026-01-01",
            batch_size="year",
        )
        + f"select * from {{{{ changes({ORDERS}) }}}}",
        "the strategy microbatch, whose batches are ranges of time",
    ),
    "no_type": (LARGE.replace("_change_type, ", ""), "needs a unique_key and a query with"),
    "no_key": (LARGE.replace("['id']", "None"), "needs a unique_key and a query with"),
    "of_shape": (LARGE.replace(ORDERS, f"{ORDERS}, shape='three_way'"), "shape='three_way'"),
}


def test_refusals(make_project) -> None:
    project = stocked(make_project({"models/sources.yml": SOURCES}))
    models: dict[str, Any] = {f"models/{name}.sql": text for name, (text, _) in REFUSED.items()}
    passing = config(materialized="ephemeral") + f"select * from {{{{ {ORDERS} }}}}"
    project.write(
        {
            **models,
            "models/shown.sql": VIEW + f"select * from {{{{ {ORDERS} }}}}",
            "models/passing.sql": passing,
        }
    )
    ran = project.dbt("run", ok=False)
    told = {name: ran.message(name) for name in REFUSED}
    # dbt says what stopped a batch in its file only.
    told["by_batch"] = (project.folder / "logs/dbt.log").read_text()
    for name, (_, text) in REFUSED.items():
        assert text in told[name], f"{name}: {told[name]}"
    edges = project.json("manifest.json")["parent_map"]
    assert edges["model.shop.of_view"] == ["model.shop.shown"]


UNIT_TEST = """
unit_tests:
  - name: doubled
    model: large
    overrides: {macros: {is_incremental: false}}
    given:
      - input: source('shop', 'orders')
        rows: [{id: 1, amount: 6}, {id: 2, amount: 1}]
    expect:
      rows: [{_change_type: insert, id: 1, twice: 12}]
"""


def test_a_unit_test_gives_inserts_and_new_columns_are_added(shop: Project) -> None:
    shop.dbt("run")
    shop.write({"models/unit.yml": UNIT_TEST})
    assert shop.dbt("test").statuses == {"doubled": "pass"}
    shop.remove("models/unit.yml")
    shop.write({"models/large.sql": LARGE.replace("as twice", "as twice, customer as who")})
    shop.sql("update analytics.orders set amount = 9 where id = 1")
    shop.dbt("run")
    assert shop.rows("select id, twice, who from analytics.large") == [
        (1, 18, "ann"),
        (3, 14, None),
    ]
    assert [field.name for field in shop.snapshot("large").schema.fields] == ["id", "twice", "who"]
