"""Rebuilds as a difference: what is stored is what changed, and nothing if nothing did."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.plan.delta import Delta, delta

from .models import config

pytestmark = pytest.mark.spark

ROWS = 20_000
DELTA = {"materialized": "table", "rebuild": "delta", "write_mode": "merge_on_read"}
KEYED = """
    select
      id,
      {% if var('step') == 1 %}if(id in (5, 7), 'x', concat('n', id)){% else %}concat('n', id)
      {% endif %} as name,
      cast(id % 3 as int) as part
    from range(20001)
    where {% if var('step') == 1 %}id <> 3{% else %}id < 20000{% endif %}
"""
COUNTED = """
    select
      id % 100 as value,
      case when id % 100 = 1 then double('NaN') when id % 2 = 0 then 0.0D
        else {{ '-' if var('step') == 1 }}0.0D end as x,
      map('a', id % 100, 'b', if(id >= {{ var('b') }}, 99, null)) as pairs,
      named_struct('at', timestamp'2026-01-01 00:00:00.123456', 'days', array(id % 2)) as more,
      unhex('00ff') as bytes
    from range({{ 19995 if var('step') == 1 else 20000 }})
"""
FOREIGN = """
    select
      {{ 'id' if this.name == 'foreign_keyed' else 'id % 100' }} as id,
      make_dt_interval(cast(id % 2 as int)) as span,
      map(id % 2, double('NaN'), 7, if(id = 7, {{ var('step') }}D, null)) as pairs,
      parse_json('{"a": [1, null]}') as doc
    from range(1000)
    where id not in (3{{ ', 4, 5' if var('step') == 1 }})
"""
PLAIN = """
    select id, cast(id % 5 as {{ var('type') }}) as kind, concat('n', id) as name
    {% if var('more') %}, 'new' as more{% endif %}
    {% if not var('fewer') %}, 1 as gone{% endif %}
    from range(1000)
    where id {{ var('which') }}
"""
MODELS = {
    "keyed": config(**DELTA, primary_key="id") + KEYED,
    "parted": config(**DELTA, primary_key="id", partition_by="part") + KEYED,
    "loose": config(**DELTA, primary_key="id", enforce_primary_key=False) + KEYED,
    "counted": config(**DELTA) + COUNTED,
    # Arrow has no intervals and no VARIANT, so Spark compares these.
    "foreign": config(**DELTA) + FOREIGN,
    "foreign_keyed": config(**DELTA, primary_key="id") + FOREIGN,
    "plain": config(**DELTA) + PLAIN,
}
SCHEMA = """
    models:
      - name: keyed
        description: All of them.
        config: {persist_docs: {relation: true, columns: true}, contract: {enforced: true}}
        columns:
          - {name: id, data_type: bigint, description: Its number, constraints: [{type: not_null}]}
          - {name: name, data_type: string}
          - {name: part, data_type: int}
"""
VARS = {"step": 0, "type": "int", "more": False, "fewer": False, "which": ">= 0", "b": 30000}


@pytest.fixture(scope="module")
def shop(make_project):
    files = {f"models/{name}.sql": text for name, text in MODELS.items()}
    project = make_project(files | {"models/schema.yml": SCHEMA}, config={"vars": VARS})
    project.dbt("run")
    return project


def run(shop, *arguments: str, **changed: object):
    shop.configure(vars=VARS | changed)
    return shop.dbt("run", *arguments)


def change(shop, name: str, before) -> Delta:
    return delta(before, shop.snapshot(name), shop.repository.objects.segments)


def counts(found: Delta) -> tuple[int, int]:
    return found.rows_removed, found.rows_added


def test_the_first_build_is_plain(shop):
    for name in MODELS:
        assert shop.snapshot(name).properties["vcs.rebuild"] == "delta"
    for name, rows in {"keyed": ROWS, "counted": ROWS, "foreign": 999, "plain": 1000}.items():
        assert shop.snapshot(name).rows == rows


def test_a_rebuild_that_changes_nothing_leaves_nothing(shop):
    head, files = shop.head(), shop.data_files()
    run(shop)
    assert shop.head() == head
    assert shop.data_files() == files
    assert shop.snapshot("keyed").schema.field("id").comment == "Its number"


def test_a_rebuild_stores_what_it_changes(shop):
    names = ["keyed", "parted", "loose", "counted", "foreign", "foreign_keyed"]
    before, files = {name: shop.snapshot(name) for name in names}, shop.data_files()
    ids = {name: shop.entry(name).snapshot for name in names}
    run(shop, "--select", *names, step=1, b=19990)
    for name in ("keyed", "parted", "loose"):
        found = change(shop, name, before[name])
        assert counts(found) == (3, 3), name
        assert not found.removed, name
        assert shop.rows(f"select id, name from {name} where name = 'x' or id in (3, 20000)") == [
            (20000, "n20000"), (5, "x"), (7, "x"),
        ]  # fmt: skip
        assert shop.snapshot(name).rows == ROWS
    # -0.0 is 0.0; five rows went, and the entries of five maps changed.
    found = change(shop, "counted", before["counted"])
    assert counts(found) == (10, 5)
    assert shop.column("select count(*) from counted where pairs['b'] = 99") == [5]
    for name in ("foreign", "foreign_keyed"):
        assert counts(change(shop, name, before[name])) == (3, 1), name
        assert shop.column(f"select pairs[7] from {name} where pairs[7] is not null") == [1.0]
    added = sum((shop.root / path).stat().st_size for path in shop.data_files() - files)
    assert added < 50_000 < sum(snapshot.bytes for snapshot in before.values())
    # dbt gives `keyed` its comments after that, as further versions.
    for name in sorted(set(names) - {"keyed"}):
        assert shop.snapshot(name).parents == (ids[name],)


def test_and_back(shop):
    before = shop.snapshot("keyed")
    run(shop, "--select", "keyed")
    assert counts(change(shop, "keyed", before)) == (3, 3)
    assert shop.rows("select count(*), count(distinct name) from keyed") == [(ROWS, ROWS)]


def test_columns_that_go_leave_the_rows_alone(shop):
    before = shop.snapshot("plain")
    run(shop, "--select", "plain", fewer=True)
    after = shop.snapshot("plain")
    assert after.schema.names == ("id", "kind", "name")
    assert after.segments == before.segments


def test_what_can_not_be_compared_is_written_whole(shop):
    ran = run(shop, "--select", "plain", fewer=True, type="bigint")
    assert "was written whole, since the column kind was int and is bigint" in ran.said
    settings = {"fewer": True, "type": "bigint", "more": True}
    ran = run(shop, "--select", "plain", **settings)
    assert "was written whole, since most of its rows changed" in ran.said
    assert shop.rows("select distinct more from plain") == [("new",)]
    ran = run(shop, "--select", "plain", which="< 300", **settings)
    assert "since most of its rows changed" in ran.said
    before = shop.snapshot("plain")
    ran = run(shop, "--select", "plain", which="< 200", **settings)
    assert "written whole" not in ran.said
    assert counts(change(shop, "plain", before)) == (100, 0)
    assert shop.column("select count(*) from plain") == [200]


def test_a_word_that_is_none_is_refused(shop):
    shop.write(
        {"models/bad.sql": config(materialized="table", rebuild="partly") + "select 1 as a"}
    )
    ran = shop.dbt("run", "--select", "bad", ok=False)
    assert "rebuild must be one of full, delta; found: partly" in ran.message("bad")
    shop.remove("models/bad.sql")
