"""External sources: files that nobody versions, read as any other source."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.core.model import Input

from .models import TABLE, VIEW

pytestmark = pytest.mark.spark

SOURCES = """
    sources:
      - name: files
        meta: {external_location: "files/{name}.parquet"}
        tables:
          - name: orders
          - name: shipped
            identifier: Dispatched
            meta: {external_location: "files/{identifier}.csv", options: {inferSchema: false}}
          - name: events
            config: {meta: {external_location: "files/events/*.jsonl"}}
          - name: odd
            meta:
              external_location: "files/odd name, {{'it''s'}}.txt"
              format: csv
              options: {sep: ";", header: true, quote: "'"}
          - name: parts
            meta: {external_location: "files/parts", format: parquet}
          - name: tabs
            meta: {external_location: files/tabs.tsv}
"""
BROKEN = """
    sources:
      - name: broken
        tables:
          - name: missing
            meta: {external_location: files/nowhere.parquet}
          - name: no_match
            meta: {external_location: "files/nowhere/*.csv"}
          - name: unreadable
            meta: {external_location: files/unreadable.parquet}
          - name: undeclared
          - name: format
            meta: {external_location: files/orders.parquet, format: excel}
"""


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "models/sources.yml": SOURCES.replace("{{'it''s'}}", "x"),
            "files/Dispatched.csv": 'id,note\n007,"say ""hi"""\n8,\n',
            "files/events/a.jsonl": '{"id": 1, "tags": ["x", "y"]}\n',
            "files/events/b.jsonl": '{"id": 2, "tags": []}\n',
            "files/odd name, x.txt": "id;note\n1;'a;b'\n",
            "files/tabs.tsv": "id\tnote\n1\ta b\n",
            "models/all_orders.sql": VIEW + "select * from {{ source('files', 'orders') }}",
            "models/shipped.sql": TABLE + "select * from {{ source('files', 'shipped') }}",
            "models/tags.sql": TABLE
            + "select id, size(tags) as n from {{ source('files', 'events') }}",
            "models/odd.sql": TABLE + "select * from {{ source('files', 'odd') }}",
            "models/parts.sql": TABLE
            + "select id, day from {{ source('files', 'parts') }} where day = 2",
            "models/tabs.sql": TABLE + "select * from {{ source('files', 'tabs') }}",
            "models/total.sql": TABLE + "select sum(id) as total from {{ ref('all_orders') }}",
        }
    )
    folder = project.folder / "files"
    pq.write_table(pa.table({"id": [1, 2, 3]}), folder / "orders.parquet")
    for day in (1, 2):
        (folder / f"parts/day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"id": [day * 10]}), folder / f"parts/day={day}/x.parquet")
    project.dbt("build")
    return project


def test_files_of_all_kinds_are_read(shop):
    assert shop.rows("shipped") == [("007", 'say "hi"'), ("8", None)]
    assert shop.rows("tags") == [(1, 2), (2, 0)]
    assert shop.rows("odd") == [(1, "a;b")]
    assert shop.rows("parts") == [(20, 2)]
    assert shop.rows("tabs") == [(1, "a b")]
    assert shop.column("total") == [6]


def test_lineage_says_where_they_are(shop):
    location = str(shop.folder / "files/orders.parquet")
    external = Input(relation="files.orders", external=location)
    view = Input(relation="analytics.all_orders", view=shop.entry("all_orders").view)
    assert shop.snapshot("total").origin.inputs == (view, external)
    (events,) = shop.snapshot("tags").origin.inputs
    assert events.external == str(shop.folder / "files/events/*.jsonl")


def test_changed_files_are_read_anew(shop):
    pq.write_table(
        pa.table({"id": [1, 2, 40], "more": ["a", "b", "c"]}), shop.folder / "files/orders.parquet"
    )
    shop.dbt("build", "--select", "all_orders+")
    assert shop.column("total") == [43]
    assert [column.name for column in shop.view("all_orders").columns] == ["id", "more"]


def test_files_are_only_read(shop):
    shop.write(
        {"tests/is_there.sql": "select 1 from {{ source('files', 'orders') }} where id < 0"}
    )
    shop.dbt("test", "--select", "is_there")
    for statement in ("drop table files.orders", "insert into files.orders values (1)"):
        shop.write({"models/bad.sql": "{{ config(pre_hook='" + statement + "') }} select 1 as x"})
        ran = shop.dbt("run", "--select", "bad", ok=False)
        assert "files.orders" in ran.message("bad")
    shop.remove("models/bad.sql")
    assert (shop.folder / "files/orders.parquet").exists()


def test_what_can_not_be_read_is_named(shop):
    names = ["missing", "no_match", "unreadable", "undeclared", "format"]
    shop.write({"models/broken.yml": BROKEN, "files/unreadable.parquet": "no parquet"})
    shop.write(
        {
            f"models/from_{name}.sql": TABLE
            + f"select * from {{{{ source('broken', '{name}') }}}}"
            for name in names
        }
    )
    ran = shop.dbt("run", "--select", *(f"from_{name}" for name in names), ok=False)
    assert "files/nowhere.parquet" in ran.message("from_missing")
    assert "files/nowhere" in ran.message("from_no_match")
    assert "unreadable.parquet" in ran.message("from_unreadable")
    assert "broken.undeclared" in ran.message("from_undeclared").replace("`", "")
    assert "excel" in ran.message("from_format")
    for name in names:
        assert ran.message(f"from_{name}").count("\n") < 12, ran.message(f"from_{name}")
        shop.remove(f"models/from_{name}.sql")
    shop.remove("models/broken.yml")


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ("{external_location: files/orders.dat}", "not clear from its extension"),
        ('{external_location: "files/{nope}.csv"}', "unknown placeholder"),
        (
            "{external_location: files/a.csv}\n              - name: ORDERS\n"
            "                meta: {external_location: files/b.csv}",
            "another identifier",
        ),
    ],
)
def test_locations_that_say_nothing_are_refused(shop, meta, text):
    unclear = f"""
        sources:
          - name: unclear
            tables:
              - name: orders
                meta: {meta}
    """
    shop.write({"models/unclear.yml": unclear})
    ran = shop.dbt("run", "--select", "shipped", ok=False)
    assert text in ran.message("shipped") + ran.error
    assert "unclear.orders" in ran.message("shipped") + ran.error
    shop.remove("models/unclear.yml")
