"""Every row of the run's table that needs no signal: what a branch shows after a run ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import Input
from dbt.adapters.vcs.workspace.run_branch import Status, check_mergeable, find_run
from tests.functional.life.shop import Shop, make_shop

pytestmark = pytest.mark.spark

FAILING = "{{ config(materialized='table') }} select no_such_column from {{ ref('a') }}"
MENDED = "{{ config(materialized='table') }} select n + 1 as n from {{ ref('a') }}"
FAILING_TEST = "select * from {{ ref('b') }} where n > 0"


def test_a_run_lands_as_one_commit_and_its_branch_keeps_the_steps(shop: Shop) -> None:
    result = shop.dbt("build", n=1)

    assert result.success
    repository = shop.repository
    head = shop.head()
    commit = repository.objects.commit(head)
    first = commit.parents[0]
    assert repository.objects.commit(first).parents == ()
    assert shop.relations() == {"analytics.a", "analytics.b"}
    run = commit.run
    assert run is not None
    assert (run.command, run.target) == ("build", "t")
    assert [(node.id, node.status) for node in run.nodes] == [
        ("model.shop.a", "success"),
        ("model.shop.b", "success"),
    ]
    assert [node.relation for node in run.nodes] == ["analytics.a", "analytics.b"]
    assert [node.rows for node in run.nodes] == [1, 1]
    (branch,) = shop.runs()
    assert branch.status is Status.PUBLISHED
    assert branch.head == run.head
    steps = [c.message for _, c in repository.log(branch.head)]
    assert steps[:2] == ["model.shop.b (success)", "model.shop.a (success)"]


def test_a_snapshot_says_what_it_was_made_from(shop: Shop) -> None:
    shop.dbt("run", n=1)

    repository = shop.repository
    tree = repository.tree(shop.head())
    entries = tree.relations("analytics")
    made = repository.objects.snapshot(entries["b"].snapshot)  # type: ignore[union-attr]
    assert made.origin.node == "model.shop.b"
    assert made.origin.invocation == shop.runs()[0].invocation
    assert made.origin.inputs == (
        Input(relation="analytics.a", snapshot=entries["a"].snapshot),  # type: ignore[union-attr]
    )


def test_a_failed_node_leaves_the_target_and_retry_goes_on(shop: Shop) -> None:
    assert shop.dbt("run", n=1).success
    before = shop.head()
    shop.write({"models/b.sql": FAILING})

    assert not shop.dbt("run", n=2).success

    assert shop.head() == before
    assert shop.value("select n from a") == 1
    failed = shop.runs()[0]
    assert failed.status is Status.FAILED
    assert "model.shop.b" in failed.note
    assert shop.value("select n from a", failed.name) == 2
    with pytest.raises(ConflictError, match="failed"):
        check_mergeable(shop.repository, failed)
    for profile in ({"branch": "fork", "base": failed.name}, {"branch": failed.name}):
        shop.write_profile(**profile)
        assert not shop.dbt("run", n=9).success
    assert shop.repository.find_branch("fork") is None
    shop.write_profile(branch="main", base="main")

    shop.write({"models/b.sql": MENDED})
    assert shop.dbt("retry").success

    assert shop.value("select a.n * 10 + b.n from a, b") == 23
    assert find_run(shop.repository, failed.invocation).status is Status.RESUMED
    run = shop.repository.objects.commit(shop.head()).run
    assert run is not None
    assert [node.id for node in run.nodes] == ["model.shop.a", "model.shop.b"]
    assert shop.repository.objects.commit(shop.head()).parents == (before,)


def test_always_publishes_what_succeeded_and_retry_runs_the_rest(shop: Shop) -> None:
    assert shop.dbt("run", n=1).success
    shop.write({"models/b.sql": FAILING})
    shop.write_profile(publish="always")

    assert not shop.dbt("run", n=2).success

    assert shop.value("select a.n * 10 + b.n from a, b") == 21
    assert shop.runs()[0].status is Status.PUBLISHED
    shop.write({"models/b.sql": MENDED})
    result = shop.dbt("retry")
    assert result.success
    assert [item.node.name for item in result.result] == ["b"]
    assert shop.value("select a.n * 10 + b.n from a, b") == 23


def test_always_publishes_nothing_where_nothing_succeeded_or_the_branch_is_protected(
    shop: Shop,
) -> None:
    shop.write_profile(publish="always")
    assert shop.dbt("run", n=1).success
    before = shop.head()
    shop.write({"models/b.sql": FAILING})
    assert not shop.dbt("run", "--select", "b").success
    shop.write({"vcs.yml": "branches: {main: {protected: true}}"})
    assert not shop.dbt("run", n=2).success
    assert shop.runs()[0].status is Status.FAILED
    assert shop.head() == before


def test_a_failing_test_stops_the_publish_of_build(shop: Shop) -> None:
    shop.write({"tests/t.sql": "{{ config(store_failures=true) }} " + FAILING_TEST})

    assert not shop.dbt("build", n=1).success

    assert shop.relations() == set()
    failed = shop.runs()[0]
    assert failed.status is Status.FAILED
    assert shop.value("select n from analytics_dbt_test__audit.t", failed.name) == 1


def test_a_warning_does_not_stop_the_publish(shop: Shop) -> None:
    shop.write({"tests/t.sql": "{{ config(severity='warn') }} " + FAILING_TEST})

    assert shop.dbt("build", n=1).success

    assert shop.relations() == {"analytics.a", "analytics.b"}


def test_fail_fast_leaves_the_target(shop: Shop) -> None:
    shop.write({"models/a.sql": "select no_such_column", "models/c.sql": "select 1 as n"})

    result = shop.dbt("run", "--fail-fast", "--threads", "1")

    assert not result.success
    assert shop.relations() == set()


def test_a_run_that_changes_nothing_makes_no_commit(shop: Shop) -> None:
    shop.write(
        {
            "models/a.sql": "{{ config(materialized='view') }} select 1 as n",
            "models/b.sql": "select * from {{ ref('s') }}",
            "seeds/s.csv": "id,name\n1,x\n2,\n",
            "tests/t.sql": "select * from {{ ref('a') }} where n > 1",
        }
    )
    assert shop.dbt("build").success
    before, branches = shop.head(), {run.name for run in shop.runs()}

    assert shop.dbt("build").success
    assert shop.dbt("test").success

    assert shop.head() == before
    left = [run for run in shop.runs() if run.name not in branches]
    assert all(run.status is Status.PUBLISHED for run in left)


def test_commands_that_read_leave_no_trace(shop: Shop) -> None:
    for command in (["compile"], ["ls"], ["parse"], ["docs", "generate"], ["debug"]):
        assert shop.dbt(*command).success, command
    assert not shop.warehouse.exists()
    assert shop.dbt("run", n=1).success
    before = sorted(path for path in shop.warehouse.rglob("*") if path.is_file())
    shown = shop.dbt("show", "--inline", "select n from {{ ref('a') }}")
    assert shown.success
    assert not shop.dbt("show", "--inline", "drop table analytics.a").success
    assert shop.dbt("docs", "generate").success
    assert sorted(path for path in shop.warehouse.rglob("*") if path.is_file()) == before


def test_a_missing_target_branch_is_made_from_its_base(shop: Shop) -> None:
    assert shop.dbt("run", n=1).success
    before = shop.head()
    shop.write_profile(branch="feature/tax")

    assert shop.dbt("run", "--select", "b", n=2).success

    assert shop.head() == before
    assert shop.value("select a.n * 10 + b.n from a, b", "feature/tax") == 12
    assert shop.value("select a.n * 10 + b.n from a, b") == 11


def _meanwhile(shop: Shop, node: str, statement: str) -> Any:
    """Return a callback that commits a statement to main once a node of the run is done."""
    done: list[str] = []

    def callback(event: Any) -> None:
        is_node = event.info.name == "NodeFinished" and event.data.node_info.unique_id == node
        if is_node and not done:
            done.append(node)
            with shop.connect() as client:
                client.sql(statement)

    return callback


def test_another_publish_of_other_tables_is_merged(shop: Shop) -> None:
    assert shop.dbt("run", n=1).success
    other = "create table analytics.other as select 7 as n"

    result = shop.dbt("run", callbacks=[_meanwhile(shop, "model.shop.a", other)], n=2)

    assert result.success
    assert shop.value("select a.n * 100 + b.n * 10 + other.n from a, b, other") == 227


def test_another_publish_of_one_table_is_a_conflict_that_loses_nothing(shop: Shop) -> None:
    assert shop.dbt("run", n=1).success
    shop.write({"vcs.yml": "on_stale: warn"})
    theirs = "create or replace table analytics.b as select 9 as n"

    result = shop.dbt("run", callbacks=[_meanwhile(shop, "model.shop.b", theirs)], n=2)

    assert not result.success
    assert "analytics.b" in str(result.exception)
    assert "runs/" in str(result.exception)
    assert shop.value("select a.n * 10 + b.n from a, b") == 19
    failed = shop.runs()[0]
    assert failed.status is Status.FAILED
    assert shop.value("select a.n * 10 + b.n from a, b", failed.name) == 22
    assert (shop.root / "target" / "run_results.json").is_file()

    assert shop.dbt("run", n=3).success
    assert shop.value("select a.n * 10 + b.n from a, b") == 33


@pytest.mark.parametrize("on_stale", ["warn", "heal"])
def test_what_a_run_publishes_meets_the_key_that_somebody_declared_meanwhile(
    shop: Shop, on_stale: str
) -> None:
    grows = "{{ config(materialized='incremental') }} select 1 as id, {{ var('n') }} as n"
    shop.write({"models/b.sql": grows, "vcs.yml": f"on_stale: {on_stale}"})
    assert shop.dbt("run", n=1).success
    declared = "alter table analytics.b set tblproperties (primary_key = 'id')"

    result = shop.dbt("run", callbacks=[_meanwhile(shop, "model.shop.b", declared)], n=2)

    assert not result.success
    assert "analytics.b" in str(result.exception)
    assert "primary key (id)" in str(result.exception)
    assert shop.value("select sum(n) from b") == 1
    assert shop.value("select sum(n) from b", shop.runs()[0].name) == 3


def test_manual_publish_waits_for_a_merge(tmp_path: Path) -> None:
    shop = make_shop(tmp_path, publish="manual")

    assert shop.dbt("build", n=1).success

    assert shop.relations() == set()
    (run,) = shop.runs()
    assert run.status is Status.PASSED
    check_mergeable(shop.repository, run)


def test_publish_after_tests_waits_for_dbt_test(tmp_path: Path) -> None:
    shop = make_shop(tmp_path, publish="after_tests")
    shop.write({"tests/t.sql": "select * from {{ ref('b') }} where n = 1"})
    assert shop.dbt("run", n=1).success
    assert shop.relations() == set()

    assert not shop.dbt("test").success
    assert shop.relations() == set()

    assert shop.dbt("run", n=2).success
    assert shop.dbt("test").success
    assert shop.value("select n from b") == 2

    shop.write({"tests/t.sql": "select * from {{ ref('b') }} where n = 0"})
    assert shop.dbt("build", n=3).success
    assert shop.value("select n from b") == 3


def test_an_operation_lands_as_one_commit_or_not_at_all(shop: Shop) -> None:
    shop.write(
        {
            "macros/ops.sql": "{% macro fill(bad=false) %}"
            "{% do run_query('create schema if not exists ops') %}"
            "{% do run_query('create or replace table ops.x as select 1 as n') %}"
            "{% do run_query('insert into ops.x values (2)') %}"
            "{% if bad %}{% do run_query('select no_such_column from ops.x') %}{% endif %}"
            "{% endmacro %}"
        }
    )
    assert shop.dbt("run-operation", "fill").success
    before = shop.head()
    assert len(shop.repository.objects.commit(before).parents) == 1
    assert len(list(shop.repository.log(before))) == 2
    assert shop.value("select sum(n) from ops.x") == 3

    assert not shop.dbt("run-operation", "fill", "--args", "{bad: true}").success

    assert shop.head() == before
    assert shop.runs()[0].status is Status.FAILED
