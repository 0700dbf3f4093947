"""`dbt-vcs bisect`: the commit, run and model that broke a condition."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.failure import NOT_DONE
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.client.lazy_table import LazyTable, open_table
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.layout.styled import Span, age, brief, counted, entry, line, short
from dbt.adapters.vcs.verbs.bisecting import bisect as verb
from dbt.adapters.vcs.verbs.bisecting.condition import BisectCondition, condition_of
from dbt.adapters.vcs.verbs.bisecting.dbt_test import find_test
from dbt.adapters.vcs.verbs.bisecting.looks import Means
from dbt.adapters.vcs.verbs.bisecting.plain_query import OpenTable
from dbt.adapters.vcs.yaml_text import load_yaml

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.bisecting.bisect import BisectReport
    from dbt.adapters.vcs.verbs.bisecting.suspects import Suspect


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
    session.show(report, _bisect_text(report, session.now))
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


def _bisect_text(report: BisectReport, now: datetime) -> Iterator[Block]:
    """Yield the first bad commit, or those of which one is it, and what to do next."""
    if report.base is not None:
        yield line(
            short(report.good),
            " is no ancestor of ",
            short(report.bad),
            ": good is where they parted, ",
            short(report.base),
        )
    if report.first_bad is not None:
        yield from _suspect_text(report.first_bad, now, " is the first bad commit: ")
    else:
        yield line("The first bad commit is one of these, since some could not be evaluated:")
        reasons = {skipped.commit: skipped.reason for skipped in report.skipped}
        for suspect in report.candidates:
            yield from _suspect_text(suspect, now, " ")
            if suspect.commit in reasons:
                yield line(f"  skipped: {brief(reasons[suspect.commit], 200)}")
    looks, commits = counted(report.looks, "look"), counted(report.commits, "commit")
    yield line(f"{looks}; {commits} between good and bad")
    if report.first_bad is not None:
        yield line(f"Next: {_next_step(report.first_bad)}")


def _suspect_text(suspect: Suspect, now: datetime, verb: str) -> Iterator[Block]:
    yield entry(
        short(suspect.commit),
        verb,
        suspect.summary,
        Span(f"  {suspect.author}, {age(suspect.committed_at, now)}", "faint"),
        gives=2,
    )
    if suspect.invocation is not None:
        yield line(f"  run {suspect.invocation} (dbt {suspect.command})")
    if len(suspect.parents) > 1:
        yield line(f"  a merge of {' and '.join(id[:12] for id in suspect.parents)}")
    if suspect.steps:
        word = "step" if len(suspect.steps) == 1 else "one of the steps"
        yield line(f"  {word} {', '.join(step[:12] for step in suspect.steps)}")
    for item in suspect.changed:
        before = "nothing" if item.before is None else item.before[:12]
        after = "nothing" if item.after is None else item.after[:12]
        by = f" by {item.node}" if item.node else ""
        yield line("  ", Span(item.relation, "name"), f" {before} -> {after}{by}")


def _next_step(suspect: Suspect) -> str:
    at = suspect.steps[0] if len(suspect.steps) == 1 else suspect.commit
    tables = [item for item in suspect.changed if item.before and item.after]
    if len(tables) == 1 and suspect.parents:
        return f"dbt-vcs diff {at[:12]}^..{at[:12]} {tables[0].relation}"
    return f"dbt-vcs show {suspect.commit[:12]}"
