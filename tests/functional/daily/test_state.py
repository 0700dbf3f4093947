"""Commands that lean on another state: clone, defer, empty, full refresh, retry of nothing."""

from __future__ import annotations

import shutil

import pytest

from .models import TABLE, VIEW, config, incremental

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def prod(make_project):
    project = make_project(
        {
            "seeds/raw.csv": "id,name\n1,ann\n2,bob\n",
            "models/people.sql": TABLE + "select * from {{ ref('raw') }}",
            "models/days.sql": config(materialized="table", partition_by="day")
            + "select id, cast(id as int) as day from {{ ref('raw') }}",
            "models/names.sql": VIEW + "select name from {{ ref('people') }}",
            "models/grown.sql": incremental(
                "append",
                "select id from {{ ref('people') }}",
                "select id + 100 as id from {{ ref('people') }}",
            ),
        }
    )
    project.dbt("build")
    shutil.copytree(project.folder / "target", project.folder / "prod")
    return project


@pytest.fixture(scope="module")
def dev(prod):
    """The same project, building in a schema of its own on a branch of its own."""
    prod.output |= {"schema": "dev", "branch": "feature/x"}
    prod.configure()
    return prod


def test_clone_copies_no_file(dev):
    files = dev.data_files()
    main = dev.head()
    dev.dbt("clone", "--state", "prod")
    assert dev.data_files() == files
    assert dev.head() == main
    branch = "feature/x"
    assert dev.kinds("dev", branch) == {
        "raw": "table",
        "people": "table",
        "days": "table",
        "grown": "table",
        "names": "view",
    }
    assert dev.rows("select * from dev.people", branch) == [(1, "ann"), (2, "bob")]
    assert dev.rows("select * from dev.days where day = 2", branch) == [(2, 2)]
    assert dev.column("select * from dev.names", branch) == ["ann", "bob"]
    for name in ("people", "days", "grown", "raw"):
        clone = dev.snapshot(f"dev.{name}", branch)
        source = dev.entry(f"analytics.{name}", branch)
        assert clone.parents == (source.snapshot,)
        assert clone.segments == dev.snapshot(f"analytics.{name}", branch).segments
        assert clone.operation == "clone"


def test_clone_again_changes_nothing(dev):
    head = dev.head("feature/x")
    dev.dbt("clone", "--state", "prod")
    assert dev.head("feature/x") == head


def test_a_clone_grows_alone(dev):
    dev.dbt("run", "--select", "grown")
    branch = "feature/x"
    assert dev.column("select * from dev.grown", branch) == [1, 101, 102, 2]
    assert dev.column("select * from analytics.grown", branch) == [1, 2]
    assert dev.column("select * from analytics.grown") == [1, 2]


def test_clone_with_full_refresh_starts_over(dev):
    dev.dbt("clone", "--state", "prod", "--full-refresh", "--select", "grown", "names")
    assert dev.column("select * from dev.grown", "feature/x") == [1, 2]
    assert dev.kinds("dev", "feature/x")["names"] == "view"


def test_defer_reads_what_was_not_built(dev):
    dev.output |= {"schema": "lone", "branch": "feature/y"}
    dev.configure()
    dev.write({"models/names.sql": VIEW + "select upper(name) as name from {{ ref('people') }}"})
    selected = ["--select", "names", "state:modified,resource_type:model", "--state", "prod"]
    dev.dbt("run", "--defer", *selected)
    branch = "feature/y"
    assert dev.kinds("lone", branch) == {"names": "view"}
    assert dev.column("select * from lone.names", branch) == ["ANN", "BOB"]
    assert dev.view("lone.names", branch).reads == ("analytics.people",)
    ran = dev.dbt("run", "--select", "names", "--state", "prod", ok=False)
    assert "no table or view lone.people" in ran.message("names")


def test_empty_runs_build_the_columns_and_no_row(dev):
    dev.output |= {"schema": "bare", "branch": "feature/z"}
    dev.configure()
    dev.dbt("build", "--empty")
    branch = "feature/z"
    for name in ("people", "days", "grown"):
        assert dev.snapshot(f"bare.{name}", branch).rows == 0
    assert dev.snapshot("bare.people", branch).schema.names == ("id", "name")
    assert dev.rows("select * from bare.names", branch) == []
    dev.dbt("run", "--full-refresh", "--select", "grown")
    assert dev.snapshot("bare.grown", branch).rows == 0
