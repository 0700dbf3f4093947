"""Reuse figures: what is remembered, and what taking it has saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import Micros, datetime_of
from dbt.adapters.vcs.core.model.commit import reused_nodes
from dbt.adapters.vcs.core.origins.results import Results
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.verbs.reusing.recorded_nodes import recorded_nodes
from dbt.adapters.vcs.verbs.reusing.remembered import known_results

_DAY: Final = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseFigures:
    """What a repository remembers, and what it saved.

    Attributes:
        results: Number of results.
        kinds: How many of each kind, by `table`, `view`, `function`, `columns` and `answer`.
        nodes: Number of nodes that have results.
        bytes: The size of all results.
        seconds: How long it took to compute them.
        oldest: When the oldest was computed; None without any.
        days: The days that the following cover.
        runs: Runs on record: those that changed something or ran a test.
        ended: Nodes that ended in them, each once a run.
        reused: Nodes of which nothing was computed.
        saved: Seconds that their results took when they were computed.
    """

    results: int
    kinds: Mapping[str, int]
    nodes: int
    bytes: int
    seconds: float
    oldest: datetime | None
    days: float
    runs: int
    ended: int
    reused: int
    saved: float


def reuse_figures(repository: Repository, branch: str, *, days: float) -> ReuseFigures:
    """Return the figures of a repository, and of the runs of the last days.

    Args:
        repository: The repository.
        branch: The branch whose history has the runs, besides the branches of runs.
        days: How far back runs are counted.

    Raises:
        NotFoundError: There is no such branch.
        InputError: The number of days is negative.
    """
    if days < 0:
        raise InputError(f"Expected 0 or more days, found {days:g}.")
    known = [item.result for item in known_results(repository)]
    stored = list(Results(repository.blobs).all())
    since = Micros(repository.clock() - round(days * _DAY))
    ended = list(recorded_nodes(repository, branch, since=since))
    reused, total, saved = reused_nodes(item.node for item in ended)
    oldest = min((result.made_at for result in known), default=None)
    return ReuseFigures(
        results=len(stored),
        kinds=dict(sorted(Counter(result.kind for result in known).items())),
        nodes=len({result.node for result in known if result.node is not None}),
        bytes=sum(item.bytes for item in stored),
        seconds=round(sum(result.seconds for result in known), 3),
        oldest=None if oldest is None else datetime_of(oldest),
        days=days,
        runs=len({item.invocation for item in ended}),
        ended=total,
        reused=reused,
        saved=saved,
    )
