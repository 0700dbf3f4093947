"""Microbatch models and source freshness: what leans on event times."""

from __future__ import annotations

import datetime as dt

import pytest

from .models import TABLE, config

pytestmark = pytest.mark.spark

EVENTS = (
    config(materialized="table", event_time="at")
    + """
    select id, timestamp'2026-01-01 12:00:00' + make_dt_interval(id % 3) as at
    from range(9)
"""
)
SOURCES = """
    sources:
      - name: raw
        schema: analytics
        tables:
          - name: events
            config:
              loaded_at_field: at
              freshness: {warn_after: {count: 1, period: day}}
"""


@pytest.fixture(scope="module")
def shop(make_project):
    daily = config(
        materialized="incremental",
        incremental_strategy="microbatch",
        event_time="at",
        batch_size="day",
        begin="2026-01-01",
        partition_by="day",
    )
    windowed = config(
        materialized="incremental",
        incremental_strategy="microbatch",
        event_time="at",
        batch_size="day",
        begin="2026-01-01",
    )
    project = make_project(
        {
            "models/windowed.sql": windowed + "select * from {{ ref('events') }}",
            "models/events.sql": EVENTS,
            "models/daily.sql": daily + "select *, to_date(at) as day from {{ ref('events') }}",
            "models/sources.yml": SOURCES,
        }
    )
    project.dbt("run", "--select", "events")
    return project


def test_each_batch_replaces_its_own_day(shop):
    window = ["--event-time-start", "2026-01-01", "--event-time-end", "2026-01-04"]
    shop.dbt("run", "--select", "daily", *window)
    counts = "select string(day), count(*) from daily group by day"
    wanted = [("2026-01-01", 3), ("2026-01-02", 3), ("2026-01-03", 3)]
    assert shop.rows(counts) == wanted
    one = ["--event-time-start", "2026-01-02", "--event-time-end", "2026-01-03"]
    shop.dbt("run", "--select", "daily", *one)
    assert shop.rows(counts) == wanted
    touched = {block.partition["day"] for block in shop.blocks("daily")}
    assert touched == {"2026-01-01", "2026-01-02", "2026-01-03"}


def test_without_partitions_a_batch_replaces_the_rows_of_its_time(shop):
    window = ["--event-time-start", "2026-01-01", "--event-time-end", "2026-01-04"]
    shop.dbt("run", "--select", "windowed", *window)
    counts = "select string(date(at)), count(*) from windowed group by 1"
    assert shop.rows(counts) == [("2026-01-01", 3), ("2026-01-02", 3), ("2026-01-03", 3)]
    before = shop.entry("windowed").snapshot
    shop.write({"models/events.sql": EVENTS + "where id not in (1, 4, 5, 7)"})
    window = ["--event-time-start", "2026-01-02", "--event-time-end", "2026-01-03"]
    shop.dbt("run", "--select", "events", "windowed", *window)
    assert shop.rows(counts) == [("2026-01-01", 3), ("2026-01-03", 3)]
    assert shop.snapshot("windowed").parents == (before,)
    shop.write({"models/events.sql": EVENTS})
    shop.dbt("run", "--select", "events", "windowed", *window)
    assert shop.rows(counts) == [("2026-01-01", 3), ("2026-01-02", 3), ("2026-01-03", 3)]


def test_a_sample_reads_a_part(shop):
    shop.write({"models/sampled.sql": TABLE + "select * from {{ ref('events') }}"})
    sample = "{start: '2026-01-02', end: '2026-01-03'}"
    shop.dbt("run", "--select", "sampled", "--sample", sample)
    assert {row[1].date() for row in shop.rows("sampled")} == {dt.date(2026, 1, 2)}


def test_freshness_is_read_from_the_branch(shop):
    head = shop.head()
    ran = shop.dbt("source", "freshness", ok=None)
    (result,) = shop.json("sources.json")["results"]
    assert result["max_loaded_at"].startswith("2026-01-03T12:00:00"), ran.said
    assert shop.head() == head
