"""The versioned side: what a command does, the start of its process aside."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa
from lineitem import TABLE, load
from parquet_tables import size_of

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.changes.diffs.difference import Difference, shaped
from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.commands.clone import clone_from_snapshot
from dbt.adapters.vcs.commands.merge import MergeReport, MergeRequest, merge
from dbt.adapters.vcs.core.model import Snapshot, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

AUTHOR = "benchmark"
HEAP = "bench.heap"
TABLES = {"PK": TABLE, "no PK": HEAP}
"""lineitem with its key, and without one; both start with the same files."""


class Versioned:
    """A repository with both tables; unless one is given, each work opens it again."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        """Take the folder, which needs not be there."""
        self._folder = folder
        self._settings = settings

    def fill(self, scale: float) -> int:
        """Load lineitem once, for both tables, and return its rows."""
        with connect(
            str(self._folder), "main", "bench", create=True, spark=self._settings
        ) as client:
            rows = load(client, scale)
            client.sql(f"create table {HEAP} clone {TABLE}")
            client.sql(f"alter table {HEAP} unset tblproperties ('primary_key')")
        return rows

    def on(self, branch: str) -> AbstractContextManager[Client]:
        """Connect to a branch."""
        return connect(str(self._folder), branch, "bench", spark=self._settings)

    def opened(self) -> Repository:
        """Open the repository again, with nothing cached."""
        return Repository.open(open_blobs(str(self._folder)))

    def bytes(self) -> int:
        """Return the size of all that the repository holds."""
        return size_of(self._folder)

    def branch(self, name: str, start: str = "main") -> None:
        """Create a branch at the head of another one."""
        repository = self.opened()
        repository.create_branch(name, repository.branch(start).head, author=AUTHOR)

    def change(self, branch: str, statement: str, start: str = "main") -> None:
        """Make a branch and run a statement on it."""
        self.branch(branch, start)
        with self.on(branch) as client:
            client.sql(statement)

    def clone(self, table: str, name: str) -> None:
        """Clone a table on `main`."""
        clone_from_snapshot(self.opened(), table, name, branch="main", author=AUTHOR)

    def diff(
        self, table: str, old: str, new: str, repository: Repository | None = None
    ) -> pa.Table:
        """Return the rows that differ, `diff_count` before them: in process, else by Spark."""
        difference = self._difference(repository or self.opened(), table, old, new)
        if difference.is_small():
            return shaped(difference.in_process(), "signed")
        with self.on(new) as client:
            return client.sql(f"snapshot diff {table}{{snapshot='{old}'}} and {table}")

    def count(self, table: str, old: str, new: str) -> int:
        """Return the number of rows that differ: in process, else by Spark."""
        difference = self._difference(self.opened(), table, old, new)
        counts = difference.counts_here()
        if counts is None:
            said = f"snapshot diff {table}{{snapshot='{old}'}} and {table} output count"
            with self.on(new) as client:
                return int(client.sql(said).column(0)[0].as_py())
        return counts.added + counts.removed + 2 * counts.modified

    def merge(
        self, source: str, target: str, mode: Mode, repository: Repository | None = None
    ) -> MergeReport:
        """Merge a branch into another."""
        opened = repository or self.opened()
        return merge(
            opened,
            source,
            target,
            MergeRequest(policy=Policy(override=mode)),
            author=AUTHOR,
            engine=lambda: SparkEngine(opened.blobs, settings=self._settings),
        )

    def _difference(self, repository: Repository, table: str, old: str, new: str) -> Difference:
        before, after = (_snapshot(repository, table, branch) for branch in (old, new))
        return Difference(repository=repository, before=before, after=after)


def _snapshot(repository: Repository, table: str, branch: str) -> Snapshot:
    schema, _, name = table.partition(".")
    entry = repository.tree(repository.branch(branch).head).relations(schema)[name]
    assert isinstance(entry, TableEntry)
    return repository.objects.snapshot(entry.snapshot)
