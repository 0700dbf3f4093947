"""dbt snapshots: history is kept, and nothing is written when nothing changed."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.plan.delta import delta

from .models import TABLE

pytestmark = pytest.mark.spark

SNAPSHOTS = """
    snapshots:
      - name: checked
        relation: ref('people')
        config: {strategy: check, unique_key: id, check_cols: [name], hard_deletes: invalidate}
      - name: stamped
        relation: ref('people')
        config:
          strategy: timestamp
          unique_key: [id, kind]
          updated_at: changed_at
          dbt_valid_to_current: "to_timestamp('9999-12-31')"
          snapshot_meta_column_names: {dbt_valid_to: valid_to, dbt_scd_id: version}
      - name: marked
        relation: ref('people')
        config: {strategy: check, unique_key: id, check_cols: all, hard_deletes: new_record}
      - name: renamed
        relation: ref('people')
        config:
          strategy: timestamp
          unique_key: [id, kind]
          updated_at: changed_at
          hard_deletes: new_record
          dbt_valid_to_current: "to_timestamp('9999-12-31')"
          snapshot_meta_column_names:
            dbt_valid_from: from
            dbt_valid_to: to
            dbt_scd_id: version
            dbt_updated_at: at
            dbt_is_deleted: gone
"""
FIRST = """
    select * from values
      (1, 'a', 'ann', timestamp'2026-01-01'), (2, 'a', "bo'b", timestamp'2026-01-01')
      as t(id, kind, name, changed_at)
"""
SECOND = """
    select *, 'new' as more from values
      (1, 'a', 'anna', timestamp'2026-01-02'), (3, 'a', 'eve', timestamp'2026-01-02')
      as t(id, kind, name, changed_at)
"""
THIRD = """
    select * from values
      (1, 'a', 'anna', timestamp'2026-01-02'), (2, 'a', 'bo', timestamp'2026-01-03'),
      (3, 'a', 'eve', timestamp'2026-01-02')
      as t(id, kind, name, changed_at)
"""
NAMES = ("checked", "stamped", "marked", "renamed")


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project({"snapshots/all.yml": SNAPSHOTS, "models/people.sql": TABLE + FIRST})
    project.dbt("build")
    return project


def test_the_first_run_takes_what_is_there(shop):
    for name in NAMES:
        assert shop.rows(f"select id, name from {name}") == [(1, "ann"), (2, "bo'b")]
    assert shop.column("select dbt_valid_to from checked") == [None, None]
    assert shop.column("select string(valid_to) from stamped") == ["9999-12-31 00:00:00"] * 2
    assert shop.column("select dbt_is_deleted from marked") == ["False", "False"]


def test_nothing_new_makes_no_commit(shop):
    head, files = shop.head(), shop.data_files()
    shop.dbt("snapshot")
    assert shop.head() == head
    assert shop.data_files() == files


def test_changes_close_rows_and_add_new_ones(shop):
    before = shop.snapshot("checked")
    shop.write({"models/people.sql": TABLE + SECOND})
    shop.dbt("build")
    assert shop.rows("select id, name, more, dbt_valid_to is null from checked") == [
        (1, "ann", None, False),
        (1, "anna", "new", True),
        (2, "bo'b", None, False),
        (3, "eve", "new", True),
    ]
    assert shop.rows("select id, name, year(valid_to) = 9999 from stamped") == [
        (1, "ann", False),
        (1, "anna", True),
        (2, "bo'b", True),
        (3, "eve", True),
    ]
    assert shop.rows("select id, name, dbt_is_deleted, dbt_valid_to is null from marked") == [
        (1, "ann", "False", False),
        (1, "anna", "False", True),
        (2, "bo'b", "False", False),
        (2, "bo'b", "True", True),
        (3, "eve", "False", True),
    ]
    assert shop.rows("select id, name, gone, year(to) = 9999 from renamed") == [
        (1, "ann", "False", False),
        (1, "anna", "False", True),
        (2, "bo'b", "False", False),
        (2, "bo'b", "True", True),
        (3, "eve", "False", True),
    ]
    change = delta(before, shop.snapshot("checked"), shop.repository.objects.segments)
    assert (change.rows_removed, change.rows_added) == (2, 4)
    for name, column in {
        "checked": "dbt_scd_id",
        "stamped": "version",
        "renamed": "version",
    }.items():
        counts = f"select count(*) - count(distinct {column}) from {name}"
        assert shop.column(counts) == [0]


def test_again_nothing_new_makes_no_commit(shop):
    head = shop.head()
    shop.dbt("snapshot")
    assert shop.head() == head


def test_rows_come_back_and_columns_go(shop):
    ids = {name: shop.entry(name).snapshot for name in NAMES}
    shop.write({"models/people.sql": TABLE + THIRD})
    shop.dbt("build")
    assert shop.rows("select id, name, more, dbt_valid_to is null from checked") == [
        (1, "ann", None, False),
        (1, "anna", "new", True),
        (2, "bo", None, True),
        (2, "bo'b", None, False),
        (3, "eve", "new", True),
    ]
    assert shop.rows("select id, name from stamped where year(valid_to) = 9999") == [
        (1, "anna"), (2, "bo"), (3, "eve"),
    ]  # fmt: skip
    gone = [
        (1, "ann", "False", False),
        (1, "anna", "False", True),
        (2, "bo", "False", True),
        (2, "bo'b", "False", False),
        (2, "bo'b", "True", False),
        (3, "eve", "False", True),
    ]
    marked = "select id, name, dbt_is_deleted, dbt_valid_to is null from marked"
    assert shop.rows(marked) == gone
    assert shop.rows("select id, name, gone, year(to) = 9999 from renamed") == gone
    for name in NAMES:
        assert shop.snapshot(name).parents == (ids[name],)
