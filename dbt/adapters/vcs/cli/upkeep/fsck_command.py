"""`dbt-vcs fsck`: check for damage."""

from __future__ import annotations

import random

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.failure import ShownFailure
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.cli.pairs import Percent
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.text.upkeep_text import fsck_text, problem_text, progress_text
from dbt.adapters.vcs.verbs.upkeep.data_check import DataCheck
from dbt.adapters.vcs.verbs.upkeep.fsck import check_repository

_SEEDS = 1_000_000


@click.command()
@click.option("--data", is_flag=True, help="Also read data files, and check every byte of them.")
@click.option(
    "--sample",
    type=Percent(),
    metavar="PERCENT",
    help="With --data: read only a share of the files, such as 1%, chosen at random.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --sample: read the files that the check with this seed read.",
)
@json_option
@with_session
def fsck(session: CommandSession, data: bool, sample: float | None, seed: int | None) -> None:
    """Check for missing or damaged files.

    Checks that everything that commits need exists and is undamaged: reads every manifest and
    checks that every data file exists and has its size. With --data it also reads data files and
    tombstones. The exit code is 2 if anything is wrong.
    """
    if sample is not None and not data:
        raise click.UsageError("--sample can only be used with --data.")
    if seed is not None and sample is None:
        raise click.UsageError("--seed can only be used with --sample.")
    shown = session.progress

    def tell(problem: str) -> None:
        if not session.prints_json:
            session.say(problem_text(problem))

    wanted = DataCheck(
        percent=100.0 if sample is None else sample,
        seed=random.randrange(_SEEDS) if seed is None else seed,
        progress=lambda done: shown.show(progress_text(done)),
    )
    report = check_repository(session.repository, tell, data=wanted if data else None)
    session.show(report, fsck_text(report, with_problems=False), report.problems)
    if report.problems:
        raise ShownFailure(DamagedError)
