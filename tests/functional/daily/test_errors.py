"""Errors are one message with a name and a file; what a developer needs is in the log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .models import TABLE, VIEW, config
from .project import SPARK

pytestmark = pytest.mark.spark

NOISE = ("Traceback", "\tat ", "py4j", "stacktrace", "org.apache", "__vcs", "+- ", "Search path")
LOST = """
import os, signal

def model(dbt, session):
    os.kill(session.sparkContext._gateway.proc.pid, signal.SIGKILL)
    return session.range(3)
"""
MODELS = {
    "parse.sql": (
        TABLE + "select\n  id,\n  price pricy prices\nfrom {{ ref('good') }}",
        "Syntax error at or near 'prices'. SQLSTATE: 42601 (line 3, pos 14)",
        "  price pricy prices\n  --------------^^^",
    ),
    "several.sql": (
        VIEW + "select id from {{ ref('good') }};\n-- and\nselect 2",
        "Expected one query, found 2 statements",
    ),
    "column.sql": (TABLE + "select custmer from {{ ref('good') }}", "`custmer`", "[`customer`"),
    "relation.sql": (
        TABLE + "select id from analytics.goood",
        "There is no table or view analytics.goood here. Did you mean analytics.good?",
    ),
    "view.sql": (VIEW + "select uper(name) from {{ ref('good') }}", "routine `uper`"),
    "division.sql": (TABLE + "select 10 / (id - 3) as x from {{ ref('good') }}", "DIVIDE_BY_ZERO"),
    "casting.sql": (
        TABLE + "select cast(name as int) as x from {{ ref('good') }}",
        "The value 'n",
        "CAST_INVALID_INPUT",
    ),
    "raised.sql": (
        TABLE + "select if(id = 5, raise_error('five is bad'), id) as x from {{ ref('good') }}",
        "five is bad",
    ),
    "keyed.sql": (
        config(materialized="table", primary_key="customer") + "select * from {{ ref('good') }}",
        "the same primary key (customer): 0, 1, 2",
        "enforce_primary_key: false",
    ),
    "hooked.sql": (
        config(materialized="table", post_hook="delete from {{ this }} where nope = 1")
        + "select id from {{ ref('good') }}",
        "`nope`",
        "[`id`]",
    ),
    "failing.py": (
        "def model(dbt, session):\n    return {'a': 1}['b']\n",
        "The Python model failing failed: KeyError: 'b'",
        "line 2, in model: return {'a': 1}['b']",
    ),
    "asking.py": (
        'def model(dbt, session):\n    return dbt.ref("good").select("nope")\n',
        "The Python model asking failed: [UNRESOLVED_COLUMN.WITH_SUGGESTION]",
        "line 2, in model",
    ),
    "calling.py": (
        "def model(dbt, session):\n"
        "    from pyspark.sql.functions import udf\n\n"
        "    @udf('int')\n"
        "    def code(name):\n"
        "        return {'n1': 1}[name]\n\n"
        '    frame = dbt.ref("good")\n'
        "    return frame.select(code(frame['name']).alias('x'))\n",
        "[PYTHON_EXCEPTION] KeyError: 'n",
        "line 6, in code",
    ),
}
MACROS = """
    {% macro ask(what) %}{% do run_query('select nope from ' ~ what) %}{% endmacro %}
    {% macro empty(what) %}{% do run_query('delete from ' ~ what) %}{% endmacro %}
"""
SOURCES = """
    sources:
      - name: made
        schema: analytics
        config: {freshness: {warn_after: {count: 1, period: day}}, loaded_at_field: nope}
        tables: [{name: good}]
    seeds:
      - {name: spoiled, config: {column_types: {id: int}}}
"""


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "models/good.sql": TABLE
            + "select id, id % 3 as customer, 1.5 as price, 'n' || id as name from range(9)",
            "models/schema.yml": SOURCES,
            "macros/macros.sql": MACROS,
            "seeds/spoiled.csv": "id,name\n1,a\nx,b\n",
            "snapshots/history.sql": "{% snapshot history %}"
            + config(unique_key="id", strategy="timestamp", updated_at="nope")
            + "select id, name from {{ ref('good') }}{% endsnapshot %}",
            "tests/wrong.sql": "select * from {{ ref('good') }} where nope = 1",
        },
        output={"spark_config": {**SPARK, "spark.sql.ansi.enabled": "true"}},
    )
    project.dbt("run", "--select", "good")
    project.write({f"models/{name}": text for name, (text, *_) in MODELS.items()})
    project.first = project.dbt("run", "--exclude", "good", ok=False)
    return project


def check(said, *words):
    for word in words:
        assert word in said
    for noise in NOISE:
        assert noise not in said


@pytest.mark.parametrize("file", MODELS)
def test_a_model_fails_with_one_message(shop, file):
    _, *words = MODELS[file]
    name = file.partition(".")[0]
    assert shop.first.status(name) == "error"
    message = shop.first.message(name)
    check(message, f"in model {name} (models/{file})", *words)
    assert message.count("\n") < 12, message


def test_all_that_is_printed_is_for_the_user(shop):
    check(shop.first.said, f"ERROR={len(MODELS)}")


def test_the_stacks_are_in_the_log(shop):
    log = (shop.folder / "logs" / "dbt.log").read_text()
    assert "Java's stack:\norg.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO]" in log
    assert "KeyError: 'b'" in log


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            ("seed",),
            ("in seed spoiled (seeds/spoiled.csv)", "has a value that is not a valid int", "'x'"),
        ),
        (("snapshot",), ("in snapshot history (snapshots/history.sql)", "`nope`")),
        (("test",), ("in test wrong (tests/wrong.sql)", "`nope`")),
        (("source", "freshness"), ("in source good (models/schema.yml)", "`nope`")),
        (("show", "--inline", "select nope from {{ ref('good') }}"), ("`nope`",)),
        (("show", "--inline-direct", "selec 1"), ("Syntax error at or near 'selec'",)),
        (("run-operation", "ask", "--args", "{what: analytics.good}"), ("`nope`",)),
        (
            ("run-operation", "empty", "--args", "{what: analytics.none}"),
            ("There is no table or view analytics.none here",),
        ),
        (
            ("run-operation", "vcs_merge", "--args", "{source: nowhere, target: main}"),
            ("There is no branch 'nowhere'",),
        ),
    ],
    ids=lambda value: " ".join(value)[:30] if value else "",
)
def test_every_command_says_it(shop, command, words):
    ran = shop.dbt(*command, ok=False)
    check(ran.said + ran.error, *words)


def test_what_fails_while_it_is_compiled_is_named(shop):
    shop.write(
        {"models/asks.sql": TABLE + "{{ ask('analytics.good') if execute }} select 1 as id"}
    )
    for command in ("compile", "docs generate", "run"):
        ran = shop.dbt(*command.split(), "--select", "asks", ok=False)
        check(ran.said + ran.error, "in model asks (models/asks.sql)", "`nope`")
    shop.remove("models/asks.sql")


def test_a_retry_says_it_again(shop):
    shop.dbt("run", "--select", "column", ok=False)
    ran = shop.dbt("retry", ok=False)
    check(ran.said, "in model column (models/column.sql)", "`custmer`")


def outside(shop, *command):
    """Run dbt in a process of its own; return everything that it prints."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("dbt")), *command],
        cwd=shop.folder,
        env={**os.environ, "DBT_PROFILES_DIR": str(shop.folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout
    return done.stdout


def test_a_spark_that_does_not_start_says_why(make_project):
    settings = {**SPARK, "spark.driver.memory": "lots"}
    shop = make_project(
        {"models/good.sql": TABLE + "select 1 as id"}, output={"spark_config": settings}
    )
    said = outside(shop, "run")
    check(said, "in model good (models/good.sql)", "Spark did not start", "lots")


def test_a_spark_that_dies_says_so(make_project):
    shop = make_project({"models/lost.py": LOST}, output={"threads": 1})
    said = outside(shop, "run")
    check(said, "in model lost (models/lost.py)", "Spark's process is gone")
    assert shop.kinds() == {}
