"""What is not there says so in a sentence."""

from __future__ import annotations

import pytest

from .models import TABLE, config

pytestmark = pytest.mark.spark

UNSUPPORTED = {
    "whole_key": (config(materialized="table", partition_by="id"), "all of its columns"),
    "no_such": (config(materialized="table", partition_by="nope"), "no column 'nope'"),
    "odd-name": (config(materialized="table", alias="odd-name"), "odd-name"),
    "spaced": (config(materialized="table", alias="spaced out"), "spaced out"),
    "escaping": (config(materialized="table", alias="../escaping"), "../escaping"),
    "long": (config(materialized="table", alias="x" * 256), "255"),
}


@pytest.fixture(scope="module")
def shop(make_project):
    files = {
        f"models/m_{name.replace('-', '_')}.sql": text + "select 1 as id"
        for name, (text, _) in UNSUPPORTED.items()
    }
    grants = config(materialized="table", grants={"select": ["reporter"]})
    project = make_project(
        {
            **files,
            "models/granted.sql": grants + "select 1 as id",
        }
    )
    project.first = project.dbt("run", ok=False)
    return project


def test_grants_are_not_applied_and_said_so(shop):
    assert shop.first.status("granted") == "success"
    assert "grants of analytics.granted are not applied" in shop.first.said


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_a_versioned_table_is_not_is_refused(shop, name):
    model = f"m_{name.replace('-', '_')}"
    assert shop.first.status(model) == "error"
    assert UNSUPPORTED[name][1] in shop.first.message(model)


def test_nothing_came_of_it(shop):
    assert shop.kinds() == {}
    assert shop.kinds(branch=shop.run_branch()) == {"granted": "table"}
    outside = {path.name for path in shop.folder.parent.iterdir()}
    assert outside == {"project", "warehouse"}


def test_errors_are_one_clear_message(shop):
    shop.write(
        {
            "models/broken.sql": TABLE + "select *\nfrom {{ ref('granted') }}\nwhere nope = 1",
            "models/typo.sql": TABLE + "selec 1 as id",
            "models/division.sql": "{{ config(pre_hook='set spark.sql.ansi.enabled=true') }}"
            + TABLE
            + "select 1 / id as x from values (0), (1) as t(id)",
        }
    )
    ran = shop.dbt("run", "--select", "granted", "broken", "typo", "division", ok=False)
    wanted = {"broken": "nope", "typo": "selec", "division": "DIVIDE_BY_ZERO"}
    for name, text in wanted.items():
        message = ran.message(name)
        assert text in message
        assert message.count("\n") < 12, message
        for noise in ("py4j", "Traceback", "JVM stacktrace", "at org.apache", "__vcs"):
            assert noise not in message
