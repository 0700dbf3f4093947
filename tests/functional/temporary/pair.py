"""Two ways to run a statement: on a branch, and in a plain session over ordinary tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.spark.context import new_session, private_root
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine

Rows = list[tuple[Any, ...]]
REFUSED = "refused"
_ANSWERS = ("select", "show", "describe")


class Guest(Client):
    """A client on a workspace that stays open for the next one."""

    def __init__(self, workspace: Workspace, engine: Any) -> None:
        super().__init__(workspace, "main", "someone", lambda _: engine)

    def close(self) -> None:
        self._connection.close()


class Pair:
    """A branch and a plain session; both begin with the schema `s` and the table `s.t`."""

    def __init__(self, folder: Path, engines: Any) -> None:
        blobs = LocalBlobs(folder / "repository", fsync=False)
        repository = Repository.create(blobs, author="someone")
        self.engine = engines(blobs)
        line = BranchLine(repository, "main", "someone")
        self.workspace = Workspace(repository, line, lambda: self.engine, schema="s")
        with Guest(self.workspace, self.engine) as client:
            client.sql("create schema s")
        context = self.engine.session("plain").spark.sparkContext
        settings = {
            "spark.sql.warehouse.dir": str(folder / "plain"),
            "spark.sql.shuffle.partitions": "1",
        }
        self.root = private_root(context, settings)

    def begin(self) -> None:
        """Open a session on each side."""
        self.client = Guest(self.workspace, self.engine)
        self.plain = new_session(self.root)
        self.plain.sql("create schema s")
        self.plain.sql("use s")
        for side in (self.client, self.plain):
            side.sql("create table t as select 1 as x")

    def end(self) -> None:
        """Close the sessions, and drop what others would see."""
        for schema, name, _ in self.rows("show views in global_temp"):
            if schema:
                self.client.sql(f"drop view global_temp.{name}")
        for row in self.plain.sql("show views in global_temp").collect():
            if row[0]:
                self.plain.sql(f"drop view global_temp.{row[1]}")
        self.client.sql("drop schema s cascade")
        self.client.sql("create schema s")
        self.client.close()
        self.plain.sql("clear cache")
        self.plain.sql("drop schema s cascade")

    def rows(self, text: str) -> Rows:
        """Run a statement on the branch; return its rows, sorted."""
        return _sorted(self.client.sql(text).to_pylist())

    def ours(self, text: str) -> Rows | str:
        """Return the rows of a statement on the branch, or that it is refused."""
        try:
            return _answer(text, self.client.sql(text).to_pylist())
        except VcsError:
            return REFUSED

    def theirs(self, text: str) -> Rows | str:
        """Return what a plain session says."""
        try:
            return _answer(text, [row.asDict() for row in self.plain.sql(text).collect()])
        except PySparkException:
            return REFUSED

    def check(self, *texts: str) -> Rows | str:
        """Run statements on both, require the same of each; return what the last one gave."""
        found: Rows | str = []
        for number, text in enumerate(texts):
            expected, found = self.theirs(text), self.ours(text)
            before = "\n".join(texts[:number])
            assert found == expected, f"plain: {expected}\nhere: {found}\n{text}\nafter\n{before}"
        return found


def _answer(text: str, rows: list[dict[str, Any]]) -> Rows | str:
    """Return the rows of what asks for some; how many rows others changed is said here only."""
    return _sorted(rows) if text.startswith(_ANSWERS) else []


def _sorted(rows: list[dict[str, Any]]) -> Rows:
    return sorted((tuple(row.values()) for row in rows), key=repr)
