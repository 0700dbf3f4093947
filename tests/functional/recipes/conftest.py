"""A shop that is developed on branches: its `main` is protected, and was promoted to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from dbt.adapters.factory import reset_adapters

from tests.functional.life.shop import SPARK
from tests.functional.recipes.page import Reader, block
from tests.unit.cli.conftest import OUTSIDE

ORDERS = """\
id,day,customer_id,email,amount
1,2026-11-01,4711,jane@example.org,10
2,2026-11-01,12,bob@example.org,20
3,2026-11-02,12,bob@example.org,30
4,2026-11-03,13,eve@example.org,40
"""
TESTED = """
models:
  - name: revenue
    columns: [{name: amount, data_tests: [not_null]}]
  - name: customers
    columns: [{name: customer_id, data_tests: [not_null]}]
  - name: newsletter
    columns: [{name: email, data_tests: [not_null]}]
  - name: daily_customers
    columns: [{name: day, data_tests: [not_null]}]
"""
KEYED = "{{{{ config(materialized='table', primary_key='{}') }}}} select "


def files() -> dict[str, str]:
    """Return the project: the model of the page on backfills, and others."""
    orders = "from {{ ref('raw_orders') }}"
    return {
        "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\n"
        "flags: {send_anonymous_usage_stats: false}\n"
        "seeds: {+column_types: {day: date}}\n",
        "vcs.yml": block("recipes/promotion-job.md", "Protect the branch", "yaml").text,
        "tests/orders.sql": "select * from {{ ref('raw_orders') }} where id is null",
        "seeds/raw_orders.csv": ORDERS,
        "models/schema.yml": TESTED,
        "models/event_time.yml": block("recipes/backfill.md", "Backfill on a branch", "yaml").text,
        "models/daily_customers.sql": block(
            "recipes/backfill.md", "Backfill on a branch", "sql"
        ).text,
        "models/revenue.sql": KEYED.format("id") + f"id, day, amount * 1.19 as amount {orders}",
        "models/customers.sql": KEYED.format("customer_id")
        + f"customer_id, min(email) as email {orders} group by customer_id",
        "models/newsletter.sql": KEYED.format("email") + f"distinct email {orders}",
    }


def profile() -> str:
    """Return the page's profile of developers beside targets for jobs, on a Spark for tests."""
    shown = yaml.safe_load(
        block("recipes/pull-requests.md", "A branch per pull request", "yaml").text
    )
    outputs = shown["shop"]["outputs"]
    outputs["dev"] |= {"repository": "./warehouse", "threads": 2, "spark_config": SPARK}
    outputs["staging"] = {**outputs["dev"], "branch": "staging"}
    outputs["prod"] = {**outputs["dev"], "branch": "main"}
    return yaml.safe_dump(shown)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project whose `main` shows what was built first."""
    folder = tmp_path_factory.mktemp("recipes") / "shop"
    for name, text in {**files(), "profiles.yml": profile()}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    reader = reader_of(folder)
    reader.type(
        "dbt build --target staging --event-time-start 2026-11-01 --event-time-end 2026-11-04"
    )
    reader.type("dbt-vcs promote staging main && dbt-vcs branch delete staging")
    yield folder
    reset_adapters()


def reader_of(folder: Path) -> Reader:
    env = {name: text for name, text in os.environ.items() if name not in OUTSIDE}
    env |= {"DBT_VCS_AUTHOR": "ann", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    return Reader(folder, folder.with_name(f"{folder.name}-bin"), env)


@pytest.fixture
def reader(built: Path, tmp_path: Path) -> Reader:
    """Somebody in a copy of that project."""
    shutil.copytree(built, tmp_path / "shop")
    return reader_of(tmp_path / "shop")


@pytest.fixture
def write(reader: Reader) -> Callable[[str, str], None]:
    """Write a file of the project."""

    def write(name: str, text: str) -> None:
        (reader.folder / name).write_text(text, encoding="utf-8")

    return write
