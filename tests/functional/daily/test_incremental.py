"""Incremental models: what is added, what is replaced, and what stays."""

from __future__ import annotations

import pytest

from .models import config, incremental
from .project import BUILT

pytestmark = pytest.mark.spark

AUDIT = {
    "on-run-start": (
        "create table if not exists {{ target.schema }}.audit (node string, at string)"
    ),
    "models": {
        "+pre-hook": "insert into {{ target.schema }}.audit values ('{{ this.name }}', 'before')",
        "+post-hook": "insert into {{ target.schema }}.audit values ('{{ this.name }}', 'after')",
    },
}
ONE = "select 1 as id, 'a' as name"
TWO = "select 2 as id, 'b' as name, 2.5D as price"
MODELS = {
    "appended": incremental(
        "append", "select 1 as id", "select max(id) + 1 as id from {{ this }}"
    ),
    "by_day": incremental(
        "insert_overwrite",
        "select id, cast(id % 3 as int) as day from range(9)",
        "select 100 as id, 1 as day union all select 200, 7",
        partition_by="day",
    ),
    "by_text": incremental(
        "insert_overwrite",
        "select * from values (1, 'a/b=c', date'2026-01-01'), (2, null, date'2026-01-01'), "
        "(3, 'é %25', null) as t(id, kind, day)",
        "select * from values (10, 'a/b=c', date'2026-01-01'), (30, 'é %25', null) "
        "as t(id, kind, day)",
        partition_by=["kind", "day"],
    ),
    "whole": incremental(
        "insert_overwrite", "select id from range(9)", "select 100 as id union all select 101"
    ),
    "adding": incremental(
        "append", ONE, "select 2 as id, 2.5D as price", on_schema_change="append_new_columns"
    ),
    "losing": incremental(
        "insert_overwrite",
        "select 1 as id, 'a' as name, 1 as day",
        "select 2 as id, 2 as day",
        partition_by="day",
        on_schema_change="append_new_columns",
    ),
    "syncing": incremental(
        "append", ONE, "select 2 as id, 2.5D as price", on_schema_change="sync_all_columns"
    ),
    "recased": incremental(
        "append",
        "select 1 as id, 'a' as Name, 1 as old",
        "select 2L as ID, 'b' as nAME, 2.5D as price",
        on_schema_change="sync_all_columns",
    ),
    "recased_adding": incremental(
        "append",
        "select 1 as id, 'a' as Name",
        "select 2 as ID, 'b' as NAME, 2.5D as price",
        on_schema_change="append_new_columns",
    ),
    "recased_failing": incremental(
        "append", "select 1 as Id", "select 2 as ID", on_schema_change="fail"
    ),
    "ticked": incremental(
        "merge",
        "select 1 as `a``b`, 'a' as `n``` union all select 2, 'b'",
        "select 2 as `a``b`, 'c' as `n``` union all select 3, 'd'",
        unique_key="`a``b`",
    ),
    "ignoring": incremental("append", ONE, TWO, on_schema_change="ignore"),
    "failing": incremental("append", ONE, TWO, on_schema_change="fail"),
}
STEADY = sorted(set(MODELS) - {"failing"})


@pytest.fixture(scope="module")
def first(make_project):
    files = {f"models/{name}.sql": text for name, text in MODELS.items()}
    project = make_project(files, config=AUDIT, output={"threads": 8})
    project.dbt("run")
    return project


@pytest.fixture(scope="module")
def second(first):
    first.dbt("run", "--exclude", "failing")
    return first


def test_every_hook_of_every_node_arrives(first):
    wanted = [(name, at) for name in MODELS for at in ("after", "before")]
    assert first.rows("audit") == sorted(wanted)
    node = first.repository.objects.commit(first.head()).run.nodes[0]
    assert node.id == "model.shop.adding"


def test_append_adds(second):
    assert second.column("appended") == [1, 2]
    assert len(second.blocks("appended")) == 2


def test_insert_overwrite_replaces_the_partitions_that_it_gives_rows_for(second):
    assert second.rows("by_day") == [
        (0, 0), (100, 1), (2, 2), (200, 7), (3, 0), (5, 2), (6, 0), (8, 2),
    ]  # fmt: skip
    days = {block.partition["day"] for block in second.blocks("by_day")}
    assert days == {"0", "1", "2", "7"}
    found = {row[0]: row[1:] for row in second.rows("select id, kind, string(day) from by_text")}
    assert found == {
        10: ("a/b=c", "2026-01-01"),
        2: (None, "2026-01-01"),
        30: ("é %25", None),
    }


def test_insert_overwrite_without_partitions_replaces_everything(second):
    assert second.column("whole") == [100, 101]
    assert second.snapshot("whole").rows == 2


def test_new_columns_are_added_where_asked(second):
    assert second.rows("adding") == [(1, "a", None), (2, None, 2.5)]
    assert second.rows("losing") == [(1, "a", 1), (2, None, 2)]
    assert second.rows("ignoring") == [(1, "a"), (2, "b")]


def test_columns_are_synced_without_touching_files(second):
    assert second.rows("syncing") == [(1, None), (2, 2.5)]
    schema = second.snapshot("syncing").schema
    assert schema.names == ("id", "price")
    assert "name" in schema.retired


def test_names_that_differ_only_in_case_are_one_column(second):
    assert second.rows("recased") == [(1, "a", None), (2, "b", 2.5)]
    fields = second.snapshot("recased").schema.fields
    found = [(field.name, field.type) for field in fields]
    assert found == [("id", "bigint"), ("Name", "string"), ("price", "double")]
    assert second.rows("recased_adding") == [(1, "a", None), (2, "b", 2.5)]
    assert second.rows("recased_failing") == [(1,), (2,)]


def test_a_backquote_in_a_columns_name_is_part_of_it(second):
    assert second.rows("ticked") == [(1, "a"), (2, "c"), (3, "d")]
    assert second.snapshot("ticked").schema.names == ("a`b", "n`")


def test_changed_schema_fails_where_asked_and_nothing_is_published(second):
    head, audit = second.head(), second.rows("audit")
    ran = second.dbt("run", "--select", "failing", "appended", ok=False)
    assert "out of sync" in ran.message("failing")
    assert ran.status("appended") in BUILT
    assert second.head() == head
    assert second.column("appended", second.run_branch()) == [1, 2, 3]
    assert second.rows("audit") == audit


def test_full_refresh_starts_over_in_the_same_lineage(second):
    before = {name: second.entry(name).snapshot for name in STEADY}
    tables = {name: second.snapshot(name).table for name in STEADY}
    second.dbt("run", "--full-refresh")
    assert second.column("appended") == [1]
    assert second.rows("adding") == second.rows("syncing") == [(1, "a")]
    assert len(second.rows("by_day")) == 9
    for name in STEADY:
        snapshot = second.snapshot(name)
        assert snapshot.table == tables[name]
        assert snapshot.parents == (before[name],)


def test_hooks_change_single_rows(second):
    second.write(
        {
            "models/updated.sql": incremental("append", ONE, ONE)
            + config(post_hook="update {{ this }} set name = 'x' where id = 1"),
            "models/emptied.sql": incremental("append", ONE, TWO)
            + config(post_hook="delete from {{ this }} where id = 1"),
        }
    )
    second.dbt("run", "--select", "updated", "emptied")
    assert second.rows("updated") == [(1, "x")]
    assert second.rows("emptied") == []
    second.remove("models/updated.sql", "models/emptied.sql")


def test_what_can_not_work_is_refused_before_anything_runs(second):
    second.write(
        {
            "models/odd.sql": incremental("upsert", ONE, ONE),
            "models/headed.sql": incremental("merge", ONE, ONE, sql_header="set a = 1"),
        }
    )
    ran = second.dbt("run", "--select", "odd", "headed", ok=False)
    assert 'strategy macro with the name "get_incremental_upsert_sql"' in ran.message("odd")
    assert "sql_header must end with a semicolon" in ran.message("headed")
    # Nothing was done, not even by a hook of the models.
    assert second.run_branch() not in second.runs()
    second.remove("models/odd.sql", "models/headed.sql")
