"""Postgres, in which the suite's fixtures are written, said in Spark SQL."""

from __future__ import annotations

import re
from typing import Any

import pytest
import sqlglot
from dbt.tests.fixtures.project import TestProjInfo
from sqlglot import exp

TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?")


class SpeaksPostgres:
    """Lets a class's own statements be Postgres; the project that dbt runs is as it stands."""

    @pytest.fixture(scope="class")
    def project(self, project: TestProjInfo) -> TestProjInfo:
        return speaking_postgres(project)


def speaking_postgres(project: TestProjInfo) -> TestProjInfo:
    """Let a project's `run_sql` take Postgres: one or more statements; return the project."""
    run_sql = project.run_sql

    def translated(sql: str, fetch: str | None = None) -> Any:
        answer = None
        for statement in spark_statements(sql, project.test_schema):
            answer = run_sql(statement, fetch)
        return answer

    project.run_sql = translated
    return project


def spark_statements(text: str, schema: str) -> list[str]:
    """Return each statement of a Postgres text; a Spark catalog has schemas and no databases.

    In Postgres a literal takes the type of its column; in Spark one of a time has to say so.
    """
    named = text.replace("{database}.", "").format(schema=schema)
    return [
        statement.transform(_typed).sql(dialect="spark", comments=False)
        for statement in sqlglot.parse(named, read="postgres")
        if statement is not None
    ]


def _typed(node: exp.Expression) -> exp.Expression:
    is_time = node.is_string and isinstance(node.parent, exp.Tuple) and TIME.fullmatch(node.name)
    return exp.cast(node, "timestamp") if is_time else node
