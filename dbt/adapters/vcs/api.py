"""The Python entry: SQL on a branch, for notebooks and jobs."""

from __future__ import annotations

import getpass
import os
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.engines.factory import make_engine
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.scope.answer import Outcome
from dbt.adapters.vcs.workspace.direct import landed
from dbt.adapters.vcs.workspace.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines import BranchLine, Line, PinnedLine
from dbt.adapters.vcs.worktree.overlay import Overlay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Client", "connect"]


def connect(
    repository: str,
    branch: str = "main",
    schema: str = "analytics",
    spark: SparkSession | Mapping[str, str] | None = None,
    *,
    create: bool = False,
    storage_options: Mapping[str, str] | None = None,
    author: str | None = None,
) -> Client:
    """Connect to a branch.

    Args:
        repository: Folder or URI of the repository.
        branch: A branch; or a tag, commit or other revision, which is read-only.
        schema: The schema of unqualified names.
        spark: The session to use, including its temporary views; or Spark settings for a session
            that is created when needed; None to create one with the default settings.
        create: Create the repository if it doesn't exist.
        storage_options: Settings of the object store; by default they come from the environment.
        author: The author of commits; by default `DBT_VCS_AUTHOR`, else the user name.

    Raises:
        NotFoundError: There is no such repository, branch or revision.
        InputError: The Spark session already shows another branch or repository.
    """
    blobs = open_blobs(repository, storage_options or {})
    author = author or os.environ.get(variables.AUTHOR) or getpass.getuser()
    settings, given = (spark, None) if isinstance(spark, Mapping) else (None, spark)
    opened = Repository.open_or_create(blobs, author=author) if create else Repository.open(blobs)

    def engine() -> Engine:
        return make_engine(
            blobs,
            settings=settings,
            storage_options=storage_options,
            given=given,
            owner=f"{opened.id}@{branch}",
        )

    client = Client.on(opened, branch, engine, schema=schema, author=author)
    if given is not None:
        client.open()
    return client


class Client:
    """A connection to one branch, for one thread at a time.

    Each statement sees the branch as it is when the statement starts. Each statement that changes
    something is a commit of its own.
    """

    def __init__(self, workspace: Workspace, branch: str) -> None:
        """Create a connection from a workspace over the branch."""
        self._workspace = workspace
        self._branch = branch
        self._connection = workspace.connect(f"connect({branch})")

    @classmethod
    def on(
        cls,
        repository: Repository,
        branch: str,
        engine: Callable[[], Engine],
        *,
        schema: str,
        author: str,
    ) -> Client:
        """Return a client on a branch or another revision; `engine` is called when it is needed.

        Raises:
            NotFoundError: There is no such branch or revision.
        """
        line = _line(repository, branch, author)
        return cls(Workspace(repository, line, engine, schema=schema), branch)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def repository(self) -> Repository:
        """The repository."""
        return self._workspace.repository

    @property
    def branch(self) -> str:
        """The branch, or the revision."""
        return self._branch

    def sql(self, text: str) -> pa.Table:
        """Run one statement and return its rows.

        A statement that changes rows returns `num_affected_rows`; one without a result returns a
        table without columns. If another writer changed the same relation in the meantime, the
        statement is run again on the new version.

        Raises:
            InputError: The statement can't be executed as written.
            ReadOnlyError: It would change a revision that is not a branch.
            RetryError: Other writers were faster on every attempt; the statement changed nothing.
            EngineError: Spark refused the statement or failed.
        """
        return landed(self._workspace, lambda overlay: self._answer(text, overlay), text)

    def open(self) -> None:
        """Open the session now instead of on the first statement that needs it.

        Raises:
            InputError: The Spark session already shows another branch or repository.
        """
        self._connection.open()

    def cancel(self) -> None:
        """Stop the running statement, from another thread."""
        self._connection.cancel()

    def close(self) -> None:
        """Close the session; the Spark context stays open for others in this process."""
        self._connection.close()
        self._workspace.close()

    def _answer(self, text: str, overlay: Overlay) -> pa.Table:
        outcome = self._connection.execute(text, overlay, origin=Origin())
        for warning in outcome.warnings:
            warnings.warn(warning, stacklevel=4)
        return _table(outcome)


def _line(repository: Repository, branch: str, author: str) -> Line:
    if repository.find_branch(branch) is not None:
        return BranchLine(repository, branch, author)
    try:
        commit = repository.resolve(branch)
    except NotFoundError:
        repository.branch(branch)
        raise
    why = f"{branch} is not a branch. Create one: dbt-vcs branch create NAME {branch}"
    return PinnedLine(lambda: commit, why)


def _table(outcome: Outcome) -> pa.Table:
    if outcome.rows is not None:
        return outcome.rows.arrow()
    if outcome.affected is not None:
        return pa.table({"num_affected_rows": pa.array([outcome.affected], pa.int64())})
    return pa.table({})
