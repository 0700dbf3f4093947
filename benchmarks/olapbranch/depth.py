"""BranchBench's question: are reads slower on a branch of a branch of a branch?

Each level is a branch of the one before, with one row more in `events`. At some depths a reader
opens the repository, with nothing cached, and reads a table that no level changed, and `events`,
to which each level added a file.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from report import median

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.commands.optimize import optimize
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.engines.port import Engine
from olapbranch.site import AUTHOR, SCHEMA, Site, build

UNCHANGED, CHANGED, JOINED = "unchanged table", "changed at each level", "the same, optimized"
REPEAT = 5


@dataclass(frozen=True, slots=True)
class Read:
    """What a cold read of a table took.

    Attributes:
        seconds: Median of some reads.
        requests: Requests to the store, the same each time.
    """

    seconds: float
    requests: int


def read_at_depths(site: Site, depths: Sequence[int]) -> dict[str, dict[int, Read]]:
    """Make a chain of branches and read at some depths.

    Returns:
        Reads by what was read, by depth.

    Raises:
        SystemExit: A read found other rows than were written.
    """
    found: dict[str, dict[int, Read]] = {UNCHANGED: {}, CHANGED: {}, JOINED: {}}
    with site.client() as client:
        build(client, "events", "select 0::bigint id")
        orders = client.table("orders").count()
    name = "main"
    for depth in range(1, max(depths) + 1):
        with site.client(name) as parent, parent.create(f"level/{depth}") as child:
            child.write("events", pa.table({"id": [depth]}))
            name = child.branch
        if depth in depths:
            found[UNCHANGED][depth] = _read(site, name, "orders", orders)
            found[CHANGED][depth] = _read(site, name, "events", depth + 1)
            with site.client(name) as parent:
                parent.create(f"joined/{depth}").close()
            optimize(
                site.repository(), f"joined/{depth}", relations=[f"{SCHEMA}.events"], author=AUTHOR
            )
            found[JOINED][depth] = _read(site, f"joined/{depth}", "events", depth + 1)
    return found


def _read(site: Site, branch: str, table: str, rows: int) -> Read:
    seconds, counts = [], []
    for _ in range(REPEAT):
        blobs = Counted(open_blobs(site.uri, site.storage))
        start = time.perf_counter()
        repository = Repository.open(blobs)
        with Client.on(repository, branch, _no_engine, schema=SCHEMA, author=AUTHOR) as client:
            read = client.table(table).to_arrow().num_rows
        seconds.append(time.perf_counter() - start)
        counts.append(blobs.requests)
        if read != rows:
            raise SystemExit(f"{table} on {branch}: expected {rows} rows, found {read}")
    return Read(median(seconds), round(median(counts)))


class Counted:
    """A store whose calls are counted; a listing counts once."""

    def __init__(self, blobs: Any) -> None:
        """Wrap a store."""
        self._blobs = blobs
        self.requests = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._blobs, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            self.requests += 1
            return found(*arguments, **named)

        return call


def _no_engine(_: str) -> Engine:
    raise SystemExit("Spark was asked for, by what must not need it.")
