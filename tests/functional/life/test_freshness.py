"""What project hooks write in `dbt source freshness` is published as by any other command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.deprecations import reset_deprecations

from dbt.adapters.vcs.workspace.run_branch import Status
from tests.functional.life.shop import Shop, make_shop

pytestmark = pytest.mark.spark

PROJECT = "name: shop\nversion: '1.0'\nprofile: shop\nflags: {send_anonymous_usage_stats: false"
NOTE = (
    """{% if execute %}{% do run_query("insert into analytics.notes values ('" ~ invocation_id"""
    """ ~ "', '" ~ flags.WHICH ~ "')") %}{% endif %}"""
)
START = "create table if not exists analytics.notes (invocation string, command string)"
SOURCES = """
sources:
  - name: made
    schema: analytics
    tables:
      - {name: a, config: {freshness: {error_after: {count: 1, period: day}}}}
      - name: b
        config:
          freshness: {error_after: {count: 1, period: day}}
          loaded_at_query: >-
            select {{ "current_timestamp()" if var("fresh", true) else "timestamp'2020-01-01'" }}
"""


def hooks(shop: Shop, start: str = START, end: str = NOTE, flag: str = "") -> None:
    text = f"{PROJECT}{flag}}}\non-run-start: {json.dumps(start)}\non-run-end: {json.dumps(end)}\n"
    shop.write({"dbt_project.yml": text})


@pytest.fixture
def built(tmp_path: Path) -> Shop:
    """A shop whose sources are its own tables, built before there were hooks."""
    shop = make_shop(tmp_path)
    assert shop.dbt("run", n=1).success
    shop.write({"models/sources.yml": SOURCES})
    return shop


def said(shop: Shop, *args: str, **vars: Any) -> tuple[bool, str]:
    lines: list[str] = []
    result = shop.dbt(*args, callbacks=[lambda event: lines.append(event.info.msg)], **vars)
    return result.success, "\n".join(lines)


def notes(shop: Shop, branch: str = "main") -> list[str]:
    with shop.connect(branch) as client:
        table = client.sql("select command from analytics.notes order by command")
        return [str(command) for command in table.column("command").to_pylist()]


def test_what_hooks_write_is_published(built: Shop) -> None:
    hooks(built)
    assert built.dbt("source", "freshness").success
    assert notes(built) == ["freshness"]
    run = built.repository.objects.commit(built.head()).run
    assert run is not None
    assert run.command == "source freshness"
    assert [(node.id, node.status, node.relation) for node in run.nodes] == [
        ("source.shop.made.a", "pass", None),
        ("source.shop.made.b", "pass", None),
    ]
    assert built.runs()[0].status is Status.PUBLISHED

    assert built.dbt("source", "snapshot-freshness").success
    assert built.dbt("source", "freshness", "--no-write-json").success
    assert notes(built) == ["freshness", "freshness", "snapshot-freshness"]


def test_a_source_that_is_stale_fails_the_run(built: Shop) -> None:
    hooks(built)
    before = built.head()
    success, text = said(built, "source", "freshness", fresh=False)
    assert not success
    assert "Not published: source.shop.made.b failed. main is unchanged" in text
    assert "Fix the cause and run: dbt source freshness" in text
    assert built.head() == before
    failed = built.runs()[0]
    assert failed.status is Status.FAILED
    assert notes(built, failed.name) == ["freshness"]

    built.write_profile(publish="always")
    assert not said(built, "source", "freshness", fresh=False)[0]
    assert notes(built) == ["freshness"]


def test_a_hook_that_fails_is_named(built: Shop) -> None:
    before = built.head()
    hooks(built, end="insert into analytics.nowhere values (1)")
    success, text = said(built, "source", "freshness")
    assert not success
    assert "Not published: the hook shop.on-run-end.0 failed." in text
    for end in ("exceptions.raise_compiler_error('no luck')", "run_query('select nope')"):
        hooks(built, end="{{ " + end + " if execute }}")
        success, text = said(built, "source", "freshness")
        assert not success
        assert "Not published: the hook shop-on-run-end-0 failed." in text
    assert built.head() == before
    assert "analytics.notes" not in built.relations()


@pytest.fixture
def own_deprecations() -> Iterator[None]:
    """dbt shows what is deprecated at the end of every later command of the process, too."""
    yield
    reset_deprecations()


@pytest.mark.usefixtures("own_deprecations")
def test_it_only_reads_where_no_hooks_run(built: Shop) -> None:
    built.write_profile(branch="feature/new")
    before = {branch.name: branch.head for branch in built.repository.branches()}
    assert built.dbt("source", "freshness").success
    hooks(built, flag=", source_freshness_run_project_hooks: false")
    success, text = said(built, "source", "freshness")
    assert success
    assert "Nothing changed" not in text
    assert {branch.name: branch.head for branch in built.repository.branches()} == before

    hooks(built)
    assert built.dbt("source", "freshness").success
    assert notes(built, "feature/new") == ["freshness"]
    assert built.head() == before["main"]


def test_the_first_command_of_all_may_be_freshness(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    source = "{name: f, meta: {external_location: f.csv}, tables: [{name: t, config: {%s}}]}"
    fresh = "freshness: {error_after: {count: 1, period: day}}, loaded_at_field: at"
    shop.write(
        {
            "models/sources.yml": f"sources: [{source % fresh}]",
            "f.csv": "at\n2999-01-01 00:00:00\n",
        }
    )
    hooks(shop, start="create schema if not exists analytics", end=f"{START} using parquet")
    assert shop.dbt("source", "freshness").success
    assert shop.relations() == {"analytics.notes"}
