"""What a run says that was not published: what failed, and a next step that helps."""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.commands import COMMANDS
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.functional.life.shop import Shop, unaimed

pytestmark = pytest.mark.spark

PROJECT = "name: shop\nversion: '1.0'\nprofile: shop\nflags: {send_anonymous_usage_stats: false}\n"
RAISING = "{% if execute %}{% do exceptions.raise_compiler_error('no luck') %}{% endif %}"
TABLE = "{{ config(materialized='table') }} "


class Said(NamedTuple):
    success: bool
    nodes: set[str]
    text: str

    @property
    def last(self) -> str:
        """What was said of publishing."""
        (line,) = re.findall(r"(?:Not published|Interrupted).*", self.text)
        return str(line)


def run(shop: Shop, *args: str, **vars: Any) -> Said:
    lines: list[str] = []
    result = shop.dbt(*args, callbacks=[lambda event: lines.append(event.info.msg)], **vars)
    results = getattr(result.result, "results", [])
    nodes = {item.node.name for item in results if hasattr(item, "node")}
    return Said(result.success, nodes, unaimed("\n".join(lines)))


def hooks(shop: Shop, **hooks: str) -> None:
    lines = [f"{name.replace('_', '-')}: {sql!r}\n" for name, sql in hooks.items()]
    shop.write({"dbt_project.yml": PROJECT + "".join(lines)})


@pytest.mark.parametrize("when", ["on-run-start", "on-run-end"])
def test_a_hook_that_raises_is_named_with_what_helps(shop: Shop, when: str) -> None:
    assert shop.dbt("run", n=1).success
    before = shop.head()
    hooks(shop, **{when: RAISING})

    said = run(shop, "run", n=2)

    assert not said.success
    assert said.last.startswith(f"Not published: the hook shop-{when}-0 failed. main is unchanged")
    assert said.last.endswith("Fix the cause and run the same command again.")
    assert shop.head() == before
    assert shop.value("select n from a") == 1
    if when == "on-run-end":
        (kept,) = [run for run in shop.runs() if run.status is Status.INTERRUPTED]
        assert kept.name in said.last
        assert shop.value("select n from a", kept.name) == 2

    hooks(shop)
    assert run(shop, "run", n=3).success
    assert shop.value("select a.n * 10 + b.n from a, b") == 33


def test_a_hook_whose_statement_fails_is_named_with_what_helps(shop: Shop) -> None:
    hooks(shop, on_run_end="select no_such_column")

    said = run(shop, "run", n=1)

    assert "Not published: the hook shop.on-run-end.0 failed. main is unchanged" in said.last
    assert said.last.endswith("Fix the cause and run the same command again.")
    assert shop.relations() == set()
    hooks(shop)
    assert run(shop, "run", n=2).success
    assert shop.value("select a.n * 10 + b.n from a, b") == 22


def test_retry_is_what_helps_where_a_node_failed_beside_a_hook(shop: Shop) -> None:
    hooks(shop, on_run_end="select no_such_column")
    shop.write({"models/b.sql": TABLE + "select no_such_column from {{ ref('a') }}"})

    said = run(shop, "run", n=1)

    assert "Not published: model.shop.b failed, and 1 more. main is unchanged" in said.last
    assert said.last.endswith("Fix the cause and run: dbt retry")
    hooks(shop)
    shop.write({"models/b.sql": TABLE + "select n + 1 as n from {{ ref('a') }}"})
    said = run(shop, "retry")
    assert said.success
    assert said.nodes == {"b"}
    assert "has changed since" not in said.text
    assert shop.value("select a.n * 10 + b.n from a, b") == 12


def test_a_model_that_changed_after_it_was_built_is_named_with_what_builds_it(shop: Shop) -> None:
    shop.write(
        {
            "models/a.sql": "select 1 as n",
            "models/b.sql": TABLE + "select n from {{ ref('a') }}",
            "models/c.sql": TABLE + "select n from {{ ref('b') }}",
            "models/s.yml": "models: [{name: b, columns: [{name: n, data_tests: "
            "[{accepted_values: {arguments: {values: [7]}}}]}]}]",
        }
    )
    said = run(shop, "build")
    assert said.last.endswith(
        "Fix the cause and run: dbt retry. It doesn't rebuild nodes that succeeded: after a "
        "change to b, run: dbt build --select b+"
    )

    shop.write(
        {
            "models/a.sql": "select 6 as n",
            "models/b.sql": TABLE + "select n + 1 as n from {{ ref('a') }}",
        }
    )
    said = run(shop, "retry")
    assert not said.success
    advice = (
        "a, b have changed since the run built them, and dbt retry doesn't build them again. "
        "Run: dbt build --select a+ b+"
    )
    assert said.last.count(advice) == 1
    assert said.text.count(advice) == 2
    assert shop.relations() == set()

    assert run(shop, *advice.partition("Run: dbt ")[2].split()).success
    assert shop.value("select a.n * 100 + b.n * 10 + c.n from a, b, c") == 677


def test_a_retry_that_publishes_what_is_outdated_says_so(shop: Shop) -> None:
    assert run(shop, "run", n=1).success
    shop.write({"models/b.sql": TABLE + "select no_such_column from {{ ref('a') }}"})
    run(shop, "run", n=2)
    shop.write(
        {
            "models/a.sql": TABLE + "select 5 as n",
            "models/b.sql": TABLE + "select n from {{ ref('a') }}",
        }
    )
    said = run(shop, "retry")
    assert said.success
    assert "a has changed since the run built it" in said.text
    assert shop.value("select a.n * 10 + b.n from a, b") == 22


def test_an_operation_that_failed_runs_again_from_its_start(shop: Shop) -> None:
    fill = (
        "{% macro fill() %}{% do run_query('create schema ops') %}"
        "{% do run_query('create table ops.x as select 1 as n') %}%s{% endmacro %}"
    )
    shop.write({"macros/ops.sql": fill.replace("%s", RAISING)})
    said = run(shop, "run-operation", "fill")
    assert "Not published: the operation failed. main is unchanged" in said.last
    assert said.last.endswith("Fix the cause and run the operation again.")

    shop.write({"macros/ops.sql": fill.replace("%s", "")})
    assert run(shop, "retry").success
    assert shop.value("select count(*) from ops.x") == 1


@pytest.mark.parametrize("verb", ["promote", "merge"])
def test_a_run_that_waits_is_published_by_what_it_says(shop: Shop, verb: str) -> None:
    assert run(shop, "run", n=1).success
    shop.write_profile(publish="manual")
    if verb == "promote":
        shop.repository.protect("main", Protection(), author="ann")
    lines: list[str] = []
    assert shop.dbt("run", callbacks=[lambda event: lines.append(event.info.msg)], n=2).success
    (step,) = re.findall(r"Not published yet .* Next: (.*)", "\n".join(lines))

    program, *words = shlex.split(step)
    assert (program, verb) == ("dbt-vcs", next(word for word in words if word in COMMANDS))
    assert CliRunner().invoke(main, words).exit_code == 0
    assert shop.value("select a.n * 10 + b.n from a, b") == 22
