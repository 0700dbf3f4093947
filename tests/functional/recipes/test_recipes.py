"""Every recipe does what it says, with the commands as the page prints them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.functional.recipes.conftest import ORDERS
from tests.functional.recipes.page import CHECKOUT, Reader, block, in_folder

pytestmark = pytest.mark.spark

Write = Callable[[str, str], None]

WRONG = (
    "{{ config(materialized='table', primary_key='id') }} select id, day, amount * 19 as amount"
)
ALL = "dbt build --target staging --exclude daily_customers"


def rows(reader: Reader, table: str, at: str = "main") -> list[str]:
    """Return the rows of a table's version as lines of CSV, in order of their text."""
    text = reader.type(f"dbt-vcs cat analytics.{table} --at {at}")
    lines = text.replace('"', "").splitlines()
    return sorted(line for line in lines if re.match(r"\d|\w+@", line))


def head(reader: Reader) -> str:
    return reader.type("dbt-vcs log main -n 1").split()[0]


def publish(reader: Reader, build: str = ALL) -> None:
    """Build on a branch, promote it, and leave no branch."""
    reader.type(f"{build} && dbt-vcs promote staging main && dbt-vcs branch delete staging")


def files_with(reader: Reader, text: bytes) -> list[Path]:
    """Return the files of the repository that have a text in plain bytes."""
    stored = (path for path in (reader.folder / "warehouse").rglob("*") if path.is_file())
    return [path for path in stored if text in path.read_bytes()]


def without_batches(reader: Reader, write: Write) -> None:
    """Take away the model of which each build computes all days until today."""
    (reader.folder / "models/daily_customers.sql").unlink()
    schema = (reader.folder / "models/schema.yml").read_text()
    write("models/schema.yml", schema.partition("  - name: daily_customers")[0])


def test_backfill(reader: Reader, write: Write) -> None:
    page, section = "recipes/backfill.md", "Backfill on a branch"
    write(
        "seeds/raw_orders.csv", f"{ORDERS}5,2026-11-01,14,a@x.org,1\n6,2026-11-03,14,a@x.org,1\n"
    )
    publish(reader, "dbt build --target staging --select raw_orders")
    before = ["1,2026-11-02", "1,2026-11-03", "2,2026-11-01"]
    assert rows(reader, "daily_customers") == before

    reader.follow(block(page, section))
    reader.follow(block(page, section, place=1))
    assert rows(reader, "daily_customers") == before
    reader.follow(block(page, section, place=2))

    # The third day changed, too, and is none of the backfill's.
    assert rows(reader, "daily_customers") == ["1,2026-11-02", "1,2026-11-03", "3,2026-11-01"]
    assert rows(reader, "daily_customers", "before-backfill") == before


@pytest.mark.parametrize("protected", [True, False])
def test_hotfix(reader: Reader, write: Write, protected: bool) -> None:
    page = "recipes/hotfix.md"
    right = rows(reader, "revenue")
    write("models/revenue.sql", WRONG + " from {{ ref('raw_orders') }}")
    publish(reader, "dbt build --target staging --select revenue")
    write("seeds/raw_orders.csv", ORDERS.replace("eve@", "eva@"))
    publish(reader, "dbt build --target staging --select raw_orders customers")
    assert rows(reader, "revenue") != right

    reader.follow(block(page, "Find the commit"))
    if protected:
        reader.follow(block(page, "Undo it"))
    else:
        (reader.folder / "vcs.yml").unlink()
        reader.type("dbt-vcs branch unprotect main")
        reader.follow(block(page, "Without a branch"))

    assert rows(reader, "revenue") == right
    assert "13,eva@example.org" in rows(reader, "customers")


def test_erasure(reader: Reader, write: Write) -> None:
    page = "recipes/erasure.md"
    write("seeds/raw_orders.csv", ORDERS.replace("1,2026-11-01,4711,jane@example.org,10\n", ""))
    publish(reader)
    first = reader.type("dbt-vcs log main").splitlines()[1].split()[0]
    assert "4711,jane@example.org" in rows(reader, "customers", first)
    assert files_with(reader, b"jane@example")

    found = reader.follow(block(page, "1. Find where the rows are"))
    assert "daily_customers" in found
    reader.follow(block(page, "2. Erase them"))
    verified = reader.follow(block(page, "3. Verify"))

    first = reader.type("dbt-vcs log main").splitlines()[1].split()[0]
    assert "4711,jane@example.org" not in rows(reader, "customers", first)
    assert "12,bob@example.org" in rows(reader, "customers", first)
    assert "jane" not in " ".join(rows(reader, "newsletter", first))
    assert "No version of analytics.raw_orders has such rows." in verified
    assert files_with(reader, b"jane@example") == []


def test_write_audit_publish(reader: Reader, write: Write) -> None:
    page = "recipes/write-audit-publish.md"
    profiles = yaml.safe_load((reader.folder / "profiles.yml").read_text())
    outputs = profiles["shop"]["outputs"]
    shown = block(page, "Build and test in separate steps", "yaml").text
    outputs |= yaml.safe_load(shown)
    outputs["audited"] |= {
        name: outputs["dev"][name] for name in ("repository", "threads", "spark_config")
    }
    outputs["staged"] = {**outputs["audited"], "publish": "manual"}
    write("profiles.yml", yaml.safe_dump(profiles))
    without_batches(reader, write)
    before = head(reader)

    jobs = yaml.safe_load(block(page, "Write, audit, publish in CI", "yaml").text)["jobs"]
    for step in jobs["build"]["steps"]:
        if step.get("run", "").startswith("dbt"):
            reader.type(step["run"], codes=(0, 1))
    assert head(reader) == before

    write("models/revenue.sql", WRONG + " from {{ ref('raw_orders') }}")
    reader.follow(block(page, "Build and test in separate steps"))
    assert head(reader) != before and rows(reader, "revenue")[0].startswith("1,2026-11-01,190")

    write("models/revenue.sql", WRONG.replace("19", "38") + " from {{ ref('raw_orders') }}")
    reader.follow(block(page, "Audit by other means"))
    (run,) = [real for id, real in reader.ids.items() if id.startswith("e2b9")]
    with in_folder(reader.folder):
        exec(block(page, "Audit by other means", "python").text, {"run": run})
    reader.follow(block(page, "Audit by other means", place=1))
    assert rows(reader, "revenue")[0].startswith("1,2026-11-01,380")


def test_promotion_job(reader: Reader, write: Write) -> None:
    page, job = "recipes/promotion-job.md", "Build on another branch, then promote"
    reader.env |= {"BUILD_NUMBER": "7"}
    without_batches(reader, write)
    write("models/revenue.sql", WRONG + " from {{ ref('raw_orders') }}")
    reader.follow(block(page, job, "sh"))
    reader.follow(block(page, job, "sh", place=1))
    assert rows(reader, "revenue")[0].startswith("1,2026-11-01,190")

    write("models/revenue.sql", WRONG.replace("19", "38") + " from {{ ref('raw_orders') }}")
    reader.type("dbt build --target staging --select revenue")
    before = head(reader)
    shown = reader.follow(block(page, job))
    assert "analytics.revenue" in shown and head(reader) == before
    reader.follow(block(page, job, "sh", place=2))
    assert rows(reader, "revenue")[0].startswith("1,2026-11-01,380")

    write("models/revenue.sql", WRONG.replace("19", "57") + " from {{ ref('raw_orders') }}")
    reader.type("dbt build --target staging --select revenue")
    write("seeds/raw_orders.csv", f"{ORDERS}9,2026-11-02,15,e@x.org,1\n")
    other = "WAREHOUSE_BRANCH=pr/7 dbt build --select raw_orders customers"
    reader.type(f"{other} && dbt-vcs promote pr/7 main")
    reader.follow(block(page, "When main has moved", "sh"))
    assert rows(reader, "revenue")[0].startswith("1,2026-11-01,570")
    assert "15,e@x.org" in rows(reader, "customers")


def test_orchestrators(reader: Reader, write: Write) -> None:
    page = "recipes/orchestrators.md"
    jobs = yaml.safe_load(block(page, "GitLab", "yaml").text)
    (matrix,) = jobs["build"]["parallel"]["matrix"]
    tags = "models: {+tags: [hourly, sales, finance, marketing]}\n"
    write("dbt_project.yml", (reader.folder / "dbt_project.yml").read_text() + tags)
    without_batches(reader, write)
    reader.env |= {"WAREHOUSE_BRANCH": "hourly"}
    reader.type("dbt-vcs branch create hourly main")

    def newest() -> list[str]:
        return [line.split()[0] for line in reader.type("dbt-vcs log hourly -n 3").splitlines()]

    before = newest()
    write("seeds/raw_orders.csv", f"{ORDERS}9,2026-11-02,15,e@x.org,1\n")
    reader.follow(block(page, "In a shell, from cron", "sh"))
    assert newest()[1:] == before[:2]
    assert "15,e@x.org" in rows(reader, "customers", "hourly")

    del reader.env["DBT_VCS_RUN"]
    before = newest()
    write("seeds/raw_orders.csv", f"{ORDERS}9,2026-11-02,16,f@x.org,1\n")
    reader.type("\n".join(jobs["begin"]["script"]))
    reader.env |= dict([(reader.folder / "run.env").read_text().strip().split("=")])
    reader.type("dbt seed")
    for team in matrix["TEAM"]:
        reader.env |= {"TEAM": team}
        reader.type("\n".join(jobs["build"]["script"]))
    assert newest() == before
    reader.type("\n".join(jobs["publish"]["script"]))
    assert newest()[1:] == before[:2]
    assert "16,f@x.org" in rows(reader, "customers", "hourly")


def test_a_page_that_shows_something_else_is_found(reader: Reader) -> None:
    shown = "4c1f09a2b7d3 (main) dbt run  ann, just now\n"
    with pytest.raises(AssertionError, match="no line is"):
        reader.compare(shown, reader.type("dbt-vcs log main"), "log")


def test_every_recipe_is_tried() -> None:
    recipes = {path.stem for path in (CHECKOUT / "docs/recipes").glob("*.md")}
    # tests/unit/cli/test_pull_request_jobs.py tries these.
    elsewhere = {"pull-requests"}
    here = {name.removeprefix("test_").replace("_", "-") for name in globals()}
    assert recipes - elsewhere <= here
