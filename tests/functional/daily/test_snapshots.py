"""dbt snapshots: history is kept, and nothing is written when nothing changed."""

from __future__ import annotations

import pytest

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


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project({"snapshots/all.yml": SNAPSHOTS, "models/people.sql": TABLE + FIRST})
    project.dbt("build")
    return project


def test_the_first_run_takes_what_is_there(shop):
    for name in ("checked", "stamped", "marked"):
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
    for name, column in {"checked": "dbt_scd_id", "stamped": "version"}.items():
        counts = f"select count(*) - count(distinct {column}) from {name}"
        assert shop.column(counts) == [0]


def test_again_nothing_new_makes_no_commit(shop):
    head = shop.head()
    shop.dbt("snapshot")
    assert shop.head() == head
