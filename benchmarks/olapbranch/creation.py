"""Part 1 of OlapBranchBench: create and delete branches of the whole repository.

One after another, from several threads, and each from the one before. A branch is looked at
between the two, outside what is timed: it must show every table of the branch that it came from.
"""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from dbt.adapters.vcs.commands.branch import create_branch, delete_branch
from dbt.adapters.vcs.core.repository import Repository
from olapbranch.site import AUTHOR, SCHEMA, Site, Times

MODES = ("serial", "parallel", "chained")
PUBLISHED = {
    "serial": {"Bauplan": (0.083, 0.099), "Snowflake": (8.406, 9.866),
               "Snowflake, Iceberg": (10.315, 11.652), "Databricks": (24.950, 26.400)},
    "parallel": {"Bauplan": (0.195, 0.827), "Snowflake": (8.430, 9.713),
                 "Snowflake, Iceberg": (9.989, 11.691), "Databricks": (34.033, 45.656)},
    "chained": {"Bauplan": (0.091, 0.134), "Snowflake": (10.119, 12.176),
                "Snowflake, Iceberg": (10.371, 13.024)},
}  # fmt: skip
"""Mean and 95th percentile of a creation in seconds, as https://github.com/BauplanLabs/OlapBranchBench
published them: each platform from its own region. Databricks can't clone a clone."""


def create_branches(site: Site, mode: str, count: int, workers: int) -> Times:
    """Create and delete so many branches.

    Raises:
        SystemExit: A branch doesn't show what its origin shows, or is there after its deletion.
    """
    times = Times()
    if mode == "chained":
        _chained(site, times, [f"chained/{number}" for number in range(count)])
    else:
        names = [f"{mode}/{number}" for number in range(count)]
        _independent(site, times, names, workers if mode == "parallel" else 1)
    left = [branch.name for branch in site.repository().branches() if branch.name != "main"]
    if left:
        raise SystemExit(f"{mode}: branches that were deleted are there: {left}")
    return times


def _independent(site: Site, times: Times, names: Iterable[str], workers: int) -> None:
    own = threading.local()

    def one(name: str) -> None:
        # A client a thread, as the original has it: opening one isn't what is measured.
        if not hasattr(own, "repository"):
            own.repository = site.repository()
        _create(own.repository, times, name, "main")
        _delete(own.repository, times, name)

    _each(one, names, workers)


def _each(work: Callable[[str], None], names: Iterable[str], workers: int) -> None:
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, names))


def _chained(site: Site, times: Times, names: list[str]) -> None:
    repository, origin = site.repository(), "main"
    for name in names:
        _create(repository, times, name, origin)
        origin = name
    for name in reversed(names):
        _delete(repository, times, name)


def _create(repository: Repository, times: Times, name: str, origin: str) -> None:
    with times.of("create"):
        create_branch(repository, name, origin, author=AUTHOR)
    shown = [
        repository.tree(repository.branch(each).head).relations(SCHEMA) for each in (name, origin)
    ]
    if shown[0] != shown[1] or not shown[0]:
        raise SystemExit(f"{name} doesn't show what {origin} shows")


def _delete(repository: Repository, times: Times, name: str) -> None:
    with times.of("delete"):
        delete_branch(repository, name, author=AUTHOR)
