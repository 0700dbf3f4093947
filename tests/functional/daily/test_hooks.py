"""Hooks: what they run is part of the node, or of the run, like everything else."""

from __future__ import annotations

import pytest

from .models import config
from .project import BUILT

pytestmark = pytest.mark.spark

PRE = [
    "create schema if not exists {{ target.schema }}_log comment 'kept by hooks'",
    "create table if not exists {{ target.schema }}_log.steps (n int, at string) comment 'steps'",
    "insert into {{ target.schema }}_log.steps values (1, 'pre'), (2, 'pre')",
    "create or replace temporary view chosen as select 7 as n",
    "set spark.sql.session.timeZone = Asia/Tokyo",
    "create table {{ target.schema }}_log.brief as select 1 as x",
    "drop table {{ target.schema }}_log.brief",
    "select * from {{ target.schema }}_log.steps",
    "   ",
]
POST = [
    "insert overwrite {{ target.schema }}_log.steps "
    "select n, concat(at, '!') from {{ target.schema }}_log.steps",
    "alter table {{ this }} add columns (extra string comment 'it''s new')",
    "alter table {{ this }} rename column n to number",
    "alter table {{ this }} set tblproperties ('kept' = 'yes', 'by' = 'a hook')",
    "alter table {{ this }} unset tblproperties ('by')",
    "comment on table {{ this }} is 'said by a hook'",
    "alter table {{ this }} alter column zone comment 'where'",
    "create or replace view {{ target.schema }}_log.numbers as select number from {{ this }}",
    "create table {{ target.schema }}_log.copied shallow clone {{ this }}",
    "create table {{ target.schema }}_log.emptied as select 1 as x",
    "truncate table {{ target.schema }}_log.emptied",
    "create table {{ target.schema }}_log.old_name as select 1 as x",
    "alter table {{ target.schema }}_log.old_name rename to {{ target.schema }}_log.new_name",
    "describe extended {{ this }}",
    "show tables in {{ target.schema }}",
    "show columns in {{ this }}",
    "analyze table {{ this }} compute statistics",
    "refresh table {{ this }}",
    "insert into {{ target.schema }}_log.steps (n) select number from {{ this }} -- the end",
]
RUN_START = ["create table if not exists {{ target.schema }}.started (invocation string)"]
RUN_END = [
    "create or replace table {{ target.schema }}.ended as select {{ results | length }} as nodes, "
    "'{{ schemas | sort | join(',') }}' as schemas",
    "insert into {{ target.schema }}.started values ('{{ invocation_id }}')",
]


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "models/hooked.sql": config(materialized="table", pre_hook=PRE, post_hook=POST)
            + "select n, current_timezone() as zone from chosen",
            "models/plain.sql": config(materialized="table")
            + "-- depends_on: {{ ref('hooked') }}\nselect current_timezone() as zone",
        },
        config={"on-run-start": RUN_START, "on-run-end": RUN_END},
        output={"threads": 1},
    )
    project.dbt("run")
    return project


def test_settings_and_temporary_views_of_a_hook_are_the_node_s_own(shop):
    assert shop.rows("hooked") == [(7, "Asia/Tokyo", None)]
    assert shop.column("plain") == ["UTC"]


def test_statements_of_every_kind_take_part(shop):
    snapshot = shop.snapshot("hooked")
    fields = {field.name: field.comment for field in snapshot.schema.fields}
    assert fields == {"number": None, "zone": "where", "extra": "it's new"}
    assert snapshot.properties == {"kept": "yes"}
    assert snapshot.comment == "said by a hook"
    assert shop.kinds("analytics_log") == {
        "steps": "table",
        "numbers": "view",
        "copied": "table",
        "emptied": "table",
        "new_name": "table",
    }
    assert shop.rows("select * from analytics_log.steps") == [
        (1, "pre!"), (2, "pre!"), (7, None),
    ]  # fmt: skip
    assert shop.column("select * from analytics_log.numbers") == [7]
    assert shop.column("select count(*) from analytics_log.emptied") == [0]
    assert shop.snapshot("analytics_log.steps").comment == "steps"
    schemas = shop.repository.tree(shop.head()).schema_ref("analytics_log")
    assert schemas.comment == "kept by hooks"


def test_hooks_of_the_run_are_published_with_it(shop):
    head = shop.repository.objects.commit(shop.head())
    assert shop.column("started") == [head.run.invocation]
    assert shop.rows("ended") == [(2, "analytics")]
    assert len(list(shop.repository.log(shop.head()))) == 2


def test_a_failing_hook_undoes_its_node(shop):
    head = shop.head()
    shop.write(
        {
            "models/hooked.sql": config(
                materialized="table",
                pre_hook="insert into analytics.started values ('pre')",
                post_hook=[
                    "create table analytics.left_over as select 1 as x",
                    "insert into analytics.nowhere values (1)",
                ],
            )
            + "select 1 as other"
        }
    )
    ran = shop.dbt("run", "--select", "hooked", ok=False)
    assert "analytics.nowhere" in ran.message("hooked")
    assert shop.head() == head
    branch = shop.run_branch()
    if branch in shop.refs():
        assert "left_over" not in shop.kinds(branch=branch)
        assert "pre" not in shop.column("started", branch)
        assert shop.snapshot("hooked", branch).schema.names == ("number", "zone", "extra")


def test_bad_hooks_name_what_is_wrong(shop):
    wanted = {
        "two": ("select 1; selekt 2", "selekt"),
        "typo": ("selekt 1", "selekt"),
        "vacuum": ("vacuum analytics.plain", "VACUUM"),
        "check": ("select assert_true(id > 5, 'too small') from range(10)", "too small"),
        "missing": ("select * from nowhere", "nowhere"),
    }
    shop.write(
        {
            f"models/{name}.sql": config(materialized="table", pre_hook=hook) + "select 1 as x"
            for name, (hook, _) in wanted.items()
        }
    )
    ran = shop.dbt("run", "--select", *wanted, ok=False)
    assert set(ran.statuses.values()) <= {"error", *BUILT}
    for name, (_, text) in wanted.items():
        assert text.lower() in ran.message(name).lower(), ran.message(name)
    shop.remove(*(f"models/{name}.sql" for name in wanted))
