"""What the page on packages says of Spark, of a setting and of a command, tried as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from .models import TABLE, VIEW, config

pytestmark = pytest.mark.spark

PAGE = (Path(__file__).parents[3] / "docs/packages.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\w+) (\S+?)(?:, with (\w+) (\S+))? \|", re.MULTILINE)
INSERT = "insert into {{ this }} values ('2026-11-28 12:00:00')"


def code(start: str) -> str:
    """The one code on the page that starts so."""
    (found,) = {text for text in re.findall(r"`([^`]+)`", PAGE) if text.startswith(start)}
    return found


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "packages.yml": "packages: [{local: ./elementary}]",
            "elementary/dbt_project.yml": "name: elementary\nversion: '1.0'\n"
            "models: {elementary: {+schema: elementary, +materialized: table}}\n",
            "elementary/models/kept.sql": "select 1 as id",
            "models/kind.sql": VIEW + "select '{{ target.type }}' as kind",
            "models/counted.sql": TABLE + "select count(*) as n from range(3)",
            "models/kept_times.sql": config(materialized="table", post_hook=INSERT)
            + "select timestamp'2026-11-28 11:00:00' as at",
            "models/by_pattern.sql": TABLE
            + "select table_name from information_schema.tables where table_name like 'a%'",
            "models/classified.sql": TABLE
            + "select count(distinct id) over (partition by id) as n from range(3)",
        },
        output={"publish": "always"},
    )
    project.dbt("deps")
    project.first = project.dbt("run", "--exclude", "elementary", ok=False)
    return project


def test_a_target_is_of_type_vcs(shop):
    assert code("target.") == "target.type"
    assert shop.rows("kind") == [("vcs",)]


def test_spark_counts_in_bigint(shop):
    assert "with Spark's name of the type: `bigint`, and not `int`" in PAGE
    assert [field.type for field in shop.snapshot("counted").schema.fields] == ["bigint"]


def test_spark_has_not_what_packages_are_said_to_ask_of_it(shop):
    assert "`information_schema`, which Spark has not" in PAGE
    assert "a distinct window function, which Spark has not" in PAGE
    statuses = {name: shop.first.status(name) for name in ("by_pattern", "classified", "counted")}
    assert statuses == {"by_pattern": "error", "classified": "error", "counted": "success"}
    text = shop.first.said
    assert "information_schema" in text and "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED" in text


def test_times_that_are_inserted_as_text_take_the_setting_of_the_page(shop):
    assert shop.first.status("kept_times") == "error"
    shop.output["spark_config"] |= yaml.safe_load(code("spark.sql."))
    shop.configure()
    shop.dbt("run", "--select", "kept_times")
    assert len(shop.rows("kept_times")) == 2


def test_the_models_of_a_package_are_run_by_the_command_of_the_page(shop):
    words = shlex.split(code("dbt run"))
    assert words[0] == "dbt"
    shop.dbt(*words[1:])
    assert shop.kinds("analytics_elementary") == {"kept": "table"}


def test_each_package_that_was_tried_by_hand_has_a_version():
    assert "tried by hand, on Spark 4.3 and with dbt-core 1.11" in " ".join(PAGE.split())
    tried = [name for row in ROW.findall(PAGE) for name in row[::2] if name]
    assert tried == [
        "dbt_utils",
        "dbt_expectations",
        "dbt_date",
        "audit_helper",
        "dbt_artifacts",
        "elementary",
    ]
    versions = [version for row in ROW.findall(PAGE) for version in row[1::2] if version]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)
