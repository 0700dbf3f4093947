"""Versions inside dbt: the macro at(), operations, and vcs.* in models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.functional.daily.project import Project

pytestmark = pytest.mark.spark

TABLE = "{{ config(materialized='table') }}\n"
FILES = {
    "models/orders.sql": TABLE + "select 1 id, '{{ var('v', 'old') }}' v\n",
    "models/before.sql": TABLE
    + "select o.id, o.v from {{ at(ref('orders'), var('then', 'main')) }} o\n",
    "models/audit.sql": TABLE + "select message from vcs.log where invocation is not null\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("shop") / "project", FILES)
    yield project
    project.close()


def test_a_model_reads_another_one_as_it_was(project: Project) -> None:
    project.dbt("run", "--select", "orders", "audit")
    create = "{action: create, relation: analytics.orders, name: sn1}"
    project.dbt("run-operation", "vcs_snapshot", "--args", create)
    variables = "{v: new, then: sn1}"
    ran = project.dbt("run", "--vars", variables)
    assert ran.statuses == {"orders": "success", "before": "success", "audit": "success"}
    assert project.rows("analytics.before") == [(1, "old")]
    assert project.rows("analytics.orders") == [(1, "new")]
    assert len(project.rows("analytics.audit")) == 1
    read = project.snapshot("before").origin.inputs
    named = project.repository.snapshots.all()[0]
    assert [item.snapshot for item in read] == [named.snapshot]
    clone = "{source: analytics.orders, target: old.orders, at: sn1}"
    project.dbt("run-operation", "clone_from_snapshot", "--args", clone)
    assert project.rows("old.orders") == [(1, "old")]
    restore = "{relation: analytics.orders, to: sn1}"
    ran = project.dbt("run-operation", "vcs_restore", "--args", restore)
    assert "analytics.before, which were" in ran.said or "which were not restored" in ran.said
    assert project.rows("analytics.orders") == [(1, "old")]
    shown = project.dbt("show", "--inline", "select count(*) n from vcs.branches where is_run")
    assert shown.success


def test_a_version_that_is_not_there_fails_the_model_alone(project: Project) -> None:
    before = project.head()
    ran = project.dbt("run", "--select", "before", "--vars", "{then: nix}", ok=False)
    assert "'nix' is not a version of analytics.orders" in ran.message("before")
    assert project.head() == before
