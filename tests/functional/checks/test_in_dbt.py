"""Check constraints of contracts: every kind of model keeps to them, and they change with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.functional.daily.project import Project

pytestmark = pytest.mark.spark

CONTRACT = """
models:
  - name: {name}
    config: {{contract: {{enforced: true}}}}
    constraints: [{constraints}]
    columns:
      - {{name: id, data_type: bigint, constraints: [{{type: check, expression: id > 0}}]}}
      - {{name: v, data_type: string}}
"""
NAMED = "{type: check, name: Short, expression: 'length(v) < 3'}"
LONGER = (
    "{type: check, name: Short, expression: 'length(v) < 4'}, {type: check, expression: v > ''}"
)
# dbt has no contracts for models in Python.
CODED = """
models:
  - name: coded
    config:
      tblproperties: {vcs.check.id_check: id > 0, vcs.check.short: length(v) < 3}
"""
ROW = "select cast({{ var('id', 1) }} as bigint) as id, '{{ var('v', 'a') }}' as v"
FILES = {
    "models/built.sql": "{{ config(materialized='table') }}\n" + ROW,
    "models/grown.sql": "{{ config(materialized='incremental', unique_key='id', "
    "on_schema_change='append_new_columns') }}\n" + ROW,
    "models/coded.py": "def model(dbt, session):\n"
    "    return session.sql(\"select cast(1 as bigint) as id, 'a' as v\")\n",
    "models/coded.yml": CODED,
    "seeds/sown.csv": "id\n1\n-1\n",
}


def promise(*names: str, constraints: str = NAMED) -> dict[str, str]:
    return {f"models/{n}.yml": CONTRACT.format(name=n, constraints=constraints) for n in names}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    files = {**FILES, **promise("built", "grown")}
    project = Project(tmp_path_factory.mktemp("shop") / "project", files)
    ran = project.dbt("run")
    assert "constraint" not in ran.said
    yield project
    project.close()


def checks(project: Project, name: str) -> dict[str, str]:
    properties = project.snapshot(name).properties
    return {key: value for key, value in properties.items() if key.startswith("vcs.check.")}


def test_every_kind_of_model_keeps_the_checks_of_its_contract(project: Project) -> None:
    for name in ("built", "grown", "coded"):
        assert checks(project, name) == {
            "vcs.check.id_check": "id > 0",
            "vcs.check.short": "length(v) < 3",
        }


def test_rows_that_break_them_fail_the_model(project: Project) -> None:
    head = project.head()
    project.write({"models/coded.py": FILES["models/coded.py"].replace("(1 as", "(0 as")})
    ran = project.dbt("run", "--vars", "{id: 0}", ok=False)
    assert set(ran.statuses.values()) == {"error"}
    for name in ("built", "grown", "coded"):
        assert f"id_check (id > 0) of analytics.{name} is false" in ran.message(name)
    assert project.head() == head
    assert project.rows("analytics.grown") == [(1, "a")]


def test_checks_of_a_table_that_stays_change_with_the_contract(project: Project) -> None:
    project.write(promise("grown", constraints=LONGER))
    project.dbt("run", "--select", "grown", "--vars", "{id: 2, v: abc}")
    assert checks(project, "grown") == {
        "vcs.check.id_check": "id > 0",
        "vcs.check.short": "length(v) < 4",
        "vcs.check.grown_check": "v > ''",
    }
    project.write(promise("grown", constraints="{type: check, expression: v < 'b'}"))
    project.dbt("run", "--select", "grown", "--vars", "{id: 3, v: aaaaaa}")
    assert checks(project, "grown")["vcs.check.grown_check"] == "v < 'b'"
    assert "vcs.check.short" not in checks(project, "grown")
    project.write(promise("grown", constraints=NAMED))
    ran = project.dbt("run", "--select", "grown", "--vars", "{id: 4}", ok=False)
    assert "short (length(v) < 3) of analytics.grown is false" in ran.message("grown")


def test_two_checks_of_one_name_are_refused(project: Project) -> None:
    twice = NAMED + ", " + NAMED
    project.write({"models/twice.sql": ROW, **promise("twice", constraints=twice)})
    project.write({"models/twice.sql": "{{ config(materialized='table') }}\n" + ROW})
    ran = project.dbt("run", "--select", "twice", ok=False)
    assert "Two constraints are called Short" in ran.message("twice")
    project.remove("models/twice.sql", "models/twice.yml")


def test_seeds_are_checked(project: Project) -> None:
    project.configure(seeds={"+tblproperties": {"vcs.check.positive": "id > 0"}})
    ran = project.dbt("seed", ok=False)
    assert "positive (id > 0) of analytics.sown is false for (id: -1)" in ran.message("sown")


def test_the_statements_of_sql_header_run_first(project: Project) -> None:
    header = "{% call set_sql_header(config) %}set vcs_test.word = said; {% endcall %}"
    project.write(
        {"models/headed.sql": "{{ config(materialized='table') }}" + header + WORD},
    )
    project.dbt("run", "--select", "headed")
    assert project.rows("analytics.headed") == [("said",)]


WORD = "select '${vcs_test.word}' as word"
