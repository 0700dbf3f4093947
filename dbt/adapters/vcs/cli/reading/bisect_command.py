"""`dbt-vcs bisect`: the commit, run and model that broke a condition."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.failure import NOT_DONE
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.client.lazy_table import LazyTable, open_table
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.layout.styled import counted
from dbt.adapters.vcs.text.causes.bisect_text import bisect_text
from dbt.adapters.vcs.verbs.bisecting import bisect as verb
from dbt.adapters.vcs.verbs.bisecting.condition import BisectCondition, condition_of
from dbt.adapters.vcs.verbs.bisecting.dbt_test import find_test
from dbt.adapters.vcs.verbs.bisecting.looks import Means
from dbt.adapters.vcs.verbs.bisecting.plain_query import OpenTable
from dbt.adapters.vcs.yaml_text import load_yaml


@click.command()
@click.argument("good")
@click.argument("bad", required=False)
@click.option("--sql", metavar="CONDITION", help="What holds at GOOD and not at BAD.")
@click.option("--test", metavar="NAME", help="A test of the dbt project that passes at GOOD only.")
@json_option
@with_session
def bisect(
    session: CommandSession, good: str, bad: str | None, sql: str | None, test: str | None
) -> None:
    """Find the commit, run and model that broke a condition.

    GOOD and BAD are revisions; BAD defaults to the branch in the dbt profile, else the default
    branch. The commits between them are halved as by `git bisect`, and the steps of a dbt run as
    well. CONDITION is one boolean, good while it is true, or a query of wrong rows, good while
    there are none. NAME is a test's name or unique id, as dbt last compiled it.

    Exit codes: 0 found; 1 several commits are left since some can't be evaluated, or there is no
    such revision or test; 2 wrong usage, or an error.
    """
    means = Means(
        schema=session.schema,
        engine=session.engine,
        open_table=_opener(session),
    )
    report = verb.bisect(
        session.repository,
        good,
        bad or session.branch,
        _condition(session, sql, test),
        means,
        lambda looks, left: session.progress.show(
            f"{counted(looks, 'look')} done, {counted(left, 'commit')} left"
        ),
    )
    session.show(report, bisect_text(report, session.now))
    if report.first_bad is None:
        raise click.exceptions.Exit(NOT_DONE)


def _condition(session: CommandSession, sql: str | None, test: str | None) -> BisectCondition:
    if (sql is None) == (test is None):
        raise click.UsageError(
            session.spelled("Give what to look for: either --sql CONDITION or --test NAME.")
        )
    if sql is not None:
        return condition_of(sql)
    assert test is not None
    return find_test(_target_folder(session), test)


def _target_folder(session: CommandSession) -> Path:
    """Return the folder that dbt writes to, of the project in the current folder."""
    given = session.settings.project_dir or os.environ.get(variables.PROJECT_DIR) or "."
    project = session.target.project if session.target else Path(given)
    said = os.environ.get(variables.TARGET_PATH)
    if said is None:
        said = _project_settings(project / "dbt_project.yml").get("target-path")
    return project / str(said or "target")


def _project_settings(path: Path) -> dict[str, Any]:
    try:
        found = load_yaml(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Can't read {path}: {error}.") from error
    return found if isinstance(found, dict) else {}


def _opener(session: CommandSession) -> OpenTable:
    def opened(name: RelationName, commit: CommitId) -> LazyTable:
        return open_table(session.repository, name, commit)

    return opened
