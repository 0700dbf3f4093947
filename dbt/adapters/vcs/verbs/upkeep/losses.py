"""Losses: what garbage collection deletes for good if the retention is shortened."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.vcs.core.branches import RENAMED
from dbt.adapters.vcs.core.collection import EXPIRED, roots_of
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.plan.collect import needed
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import DAY, read_retention
from dbt.adapters.vcs.runs.run_branch import Status, runs
from dbt.adapters.vcs.verbs.upkeep.gc import check_days


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """What the current retention keeps and a shorter one doesn't.

    Attributes:
        days: The shorter one.
        files: Number of data files of unnamed history.
        bytes: Their total size.
        branches: Deleted branches that can be undeleted now.
        runs: Branches of runs that `dbt retry` or `runs publish` can use now.
        at_work: Runs that are still running.
    """

    days: float
    files: int
    bytes: int
    branches: tuple[str, ...]
    runs: tuple[str, ...]
    at_work: tuple[str, ...]

    @property
    def is_any(self) -> bool:
        """True if something is lost, or a running run may lose what it reads."""
        return bool(self.files or self.branches or self.runs or self.at_work)


def find_losses(repository: Repository, days: float) -> Losses | None:
    """Return what a retention of `days` would delete; None if it is not shorter.

    Ignores the extra day for which a collection keeps everything, because it will pass. Counts
    from manifests: nothing is changed, and no data files are read.

    Raises:
        InputError: The number of days is out of range.
    """
    check_days(days)
    keep, now = read_retention(repository).keep, repository.clock()
    if days * DAY >= keep:
        return None
    shorter = Micros(int(days * DAY))
    long, short = (Micros(max(now - each, 0)) for each in (keep, shorter))
    kept, left = (
        needed(roots_of(repository, horizon), repository.objects).files
        for horizon in (long, short)
    )
    gone = kept.keys() - left.keys()
    known = runs(repository)
    at_work = [run for run in known if run.status is Status.OPEN and not run.is_abandoned(now)]
    return Losses(
        days=days,
        files=len(gone),
        bytes=sum(kept[path].bytes for path in gone),
        branches=tuple(_deleted(repository, long, short)),
        runs=tuple(
            run.name
            for run in known
            if run not in at_work and run.alive_until + shorter < now <= run.alive_until + keep
        ),
        at_work=tuple(run.name for run in at_work),
    )


def _deleted(repository: Repository, after: Micros, before: Micros) -> list[str]:
    """Return the branches that were deleted between two times."""
    return [
        ref.name
        for ref in repository.refs.read_all("heads")
        if ref.move.commit is None
        and ref.move.note != EXPIRED
        and not ref.move.note.startswith(RENAMED)
        and "run" not in ref.move.state
        and "merge" not in ref.move.state
        and after < ref.move.at <= before
    ]
