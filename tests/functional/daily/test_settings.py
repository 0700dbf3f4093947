"""What the profile sets is in force; what a newcomer sees is dbt's output and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .models import TABLE, config
from .project import LEFT_BY_OTHERS, SPARK

pytestmark = pytest.mark.spark


def test_spark_config_is_in_force(make_project):
    project = make_project(
        {
            "models/lenient.sql": TABLE + "select cast('x' as int) as n",
            "models/zone.sql": TABLE
            + "select current_timezone() as zone, '${spark.app.kept}' as kept, "
            "timestamp'2026-01-01 00:00:00' as at",
        }
    )
    project.dbt("run")
    assert project.column("lenient") == [None]
    assert project.column("select zone from zone") == ["UTC"]
    project.output["spark_config"] = {
        **SPARK,
        "spark.sql.ansi.enabled": True,
        "spark.sql.session.timeZone": "America/New_York",
        "spark.app.kept": "it is",
    }
    project.configure()
    ran = project.dbt("run", ok=False)
    assert ran.statuses == {"lenient": "error", "zone": "success"}
    assert "CAST_INVALID_INPUT" in ran.message("lenient")
    project.write({"models/lenient.sql": TABLE + "select try_cast('x' as int) as n"})
    project.dbt("run")
    assert project.rows("select zone, unix_timestamp(at) from zone") == [
        ("America/New_York", 1767243600)
    ]


SEEN = re.compile(r"^(\d\d:\d\d:\d\d  .*|  .*|)$")
NOISE = (
    "WARN ",
    "WARNING",
    "log4j",
    "SLF4J",
    "Logger",
    "incubator",
    "py4j",
    "Traceback",
    "Exception",
    "SHM",
)


@pytest.fixture(scope="module")
def newcomer(make_project):
    project = make_project(
        {
            "seeds/raw.csv": "id,name\n1,it's\n",
            "files/x.csv": "id\n1\n",
            "models/sources.yml": """
                sources:
                  - name: files
                    tables: [{name: x, meta: {external_location: files/x.csv}}]
            """,
            "models/good.sql": TABLE + "select * from {{ ref('raw') }}",
            "models/days.sql": config(materialized="table", partition_by="id")
            + "select id, count(*) as n from {{ source('files', 'x') }} group by id",
            "models/seen.sql": "select *, row_number() over (order by name) as n "
            "from {{ ref('good') }}",
            "models/bad.sql": TABLE + "select nope from {{ ref('seen') }}",
            "models/worse.sql": TABLE
            + "select raise_error('too bad') as x from {{ ref('seen') }}",
        },
        output={"repository": "./my warehouse", "spark_config": {"spark.master": "local[2]"}},
    )
    env = {k: v for k, v in os.environ.items() if not k.startswith(("DBT_", "SPARK_", "PYSPARK_"))}
    project.process = subprocess.run(
        [str(Path(sys.executable).with_name("dbt")), "build", "--profiles-dir", "."],
        cwd=project.folder,
        env={**env, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    return project


def test_only_dbt_speaks(newcomer):
    done = newcomer.process
    print(done.stdout)
    print(done.stderr)
    assert done.returncode == 1
    assert done.stderr == ""
    for noise in NOISE:
        assert noise not in done.stdout, noise
    odd = [line for line in done.stdout.splitlines() if not SEEN.match(line)]
    assert odd == []
    assert "nope" in done.stdout
    assert "too bad" in done.stdout


def test_nothing_but_the_repository_is_left(newcomer):
    left = {path.name for path in newcomer.folder.iterdir()}
    assert not left & LEFT_BY_OTHERS
    assert left == {
        "dbt_project.yml", "profiles.yml", "seeds", "models", "files", "target", "logs",
        "my warehouse", ".user.yml",
    } - ({".user.yml"} - left)  # fmt: skip
    warehouse = {path.name for path in (newcomer.folder / "my warehouse").iterdir()}
    assert warehouse == {
        ".gitignore", "vcs.json", "objects", "refs", "data", "results", "creating",
    }  # fmt: skip
