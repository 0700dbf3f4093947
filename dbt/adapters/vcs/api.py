"""The Python entry: SQL on a branch, for notebooks and jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING

import pyarrow as pa

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.client.frames import rows_of
from dbt.adapters.vcs.client.lazy_table import (
    LazyTable,
    TableSummary,
    list_tables,
    open_table,
    relation_of_text,
    tables_html,
)
from dbt.adapters.vcs.client.notebook import sentence, shown
from dbt.adapters.vcs.client.write_rows import WriteMode, WriteReport, write_rows
from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.engines.engine_errors import warn_caller
from dbt.adapters.vcs.engines.factory import make_engine
from dbt.adapters.vcs.engines.methods import REMOTE, method_of
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.reuse.cache_key import KeyContext
from dbt.adapters.vcs.reuse.engine_context import EngineContext
from dbt.adapters.vcs.workspace.lines.line_workspace import (
    Workspace,
    depends_on_others,
    landed,
    landed_commit,
)
from dbt.adapters.vcs.workspace.lines.lines import BranchLine, Line, PinnedLine
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.statement_scope import Outcome

if TYPE_CHECKING:
    import duckdb
    from markupsafe import Markup
    from pyspark.sql import SparkSession

    from dbt.adapters.vcs.client.frames import Frame
    from dbt.adapters.vcs.commands.branch import BranchSummary
    from dbt.adapters.vcs.commands.diff_report import DiffReport
    from dbt.adapters.vcs.commands.log import LogEntry
    from dbt.adapters.vcs.commands.merge_report import MergeReport
    from dbt.adapters.vcs.sql.syntax.diff_call import DiffShape

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
            that is created when needed, on a Spark Connect server with `spark.remote`; None to
            create one with the default settings.
        create: Create the repository if it doesn't exist.
        storage_options: Settings of the object store; by default they come from the environment.
        author: The author of commits; by default `DBT_VCS_AUTHOR`, else the user name.

    Raises:
        NotFoundError: There is no such repository, branch or revision.
        InputError: `spark` is a session of a Spark Connect server.
    """
    blobs = open_blobs(repository, storage_options or {})
    author = author or variables.author()
    settings, given = (spark, None) if isinstance(spark, Mapping) else (None, spark)
    opened = Repository.create(blobs, author=author) if create else Repository.open(blobs)

    def engine(branch: str) -> Engine:
        return make_engine(
            blobs,
            method=method_of(settings),
            settings=settings,
            storage_options=storage_options,
            given=given,
        )

    # The settings of a session that is given are its own, and aren't known here.
    context = None
    if given is None:
        server = (settings or {}).get(REMOTE, "")
        context = KeyContext(engine=EngineContext.of(settings or {}, server))
    client = Client.on(opened, branch, engine, schema=schema, author=author, context=context)
    if given is not None:
        # A session that can't be used is refused here, and not by the first statement.
        client.open()
    return client


class Client:
    """A connection to one branch, for one thread at a time.

    Each statement sees the branch as it is when the statement starts. Each statement that changes
    something is a commit of its own.
    """

    def __init__(
        self, workspace: Workspace, branch: str, author: str, engine: Callable[[str], Engine]
    ) -> None:
        """Create a connection from a workspace over the branch."""
        self._workspace = workspace
        self._branch = branch
        self._author = author
        self._engine = engine
        self._connection = workspace.connect(f"connect({branch})")

    @classmethod
    def on(
        cls,
        repository: Repository,
        branch: str,
        engine: Callable[[str], Engine],
        *,
        schema: str,
        author: str,
        context: KeyContext | None = None,
    ) -> Client:
        """Return a client on a branch or another revision.

        Args:
            repository: The repository.
            branch: The branch or revision.
            engine: Makes the engine for a branch, when it is needed.
            schema: The schema of unqualified names.
            author: The author of commits.
            context: The settings of new sessions; None if they are Spark's own.

        Raises:
            NotFoundError: There is no such branch or revision.
        """
        line = _line(repository, branch, author)
        workspace = Workspace(
            repository, line, lambda: engine(branch), schema=schema, context=context
        )
        return cls(workspace, branch, author, engine)

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

        def work(overlay: Overlay) -> tuple[pa.Table, Sequence[str]]:
            outcome = self._connection.execute(text, overlay, origin=Origin())
            return _table(outcome), outcome.warnings

        rows, told = landed(self._workspace, work, text, waits=depends_on_others(text))
        # Once it has landed: before, it may be repeated.
        warn_caller(*told)
        return rows

    def tables(self) -> list[TableSummary]:
        """Return the tables, views and functions that the branch shows, by name.

        Rows are those of manifests: no file is opened.

        Raises:
            NotFoundError: The branch was deleted meanwhile.
        """
        return list_tables(self.repository, self._workspace.line.head())

    def table(self, name: str, at: str | None = None) -> LazyTable:
        """Return a version of a table, to read in this process: no Spark, no Java.

        Args:
            name: `orders`, in the connection's schema, or `analytics.orders`.
            at: A revision (`main~1`, a tag, a commit), a named snapshot of the table, or a
                version's id; None for what the branch shows now.

        Raises:
            NotFoundError: There is no such table or version.
            UnsupportedError: It is a view, which only `sql` can read.
        """
        relation = relation_of_text(name, self._connection.schema)
        return open_table(self.repository, relation, self._workspace.line.head(), at)

    def register_all(self, connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
        """Let DuckDB read each table of the branch as a view, `analytics.orders`, without Spark.

        The views show what the branch shows now; call it again for a later state. Views of the
        branch, and columns of types that Arrow lacks, are left out. DuckDB reads only the columns
        that a query needs, and rules out files by its filters.

        Returns:
            The names of the tables.
        """
        # Imported only when DuckDB is handed in: its base class loads pandas, if that is there.
        from dbt.adapters.vcs.client.duck_views import show_tables

        shown = show_tables(connection, self.repository, self._workspace.line.head())
        return tuple(map(str, shown))

    def write(
        self,
        name: str,
        rows: Frame,
        mode: WriteMode = "append",
        *,
        on: Sequence[str] = (),
        message: str | None = None,
    ) -> WriteReport:
        """Write rows to a table as one commit: no Spark, no Java.

        Columns are found by name, in any case; one that is left out is NULL, or stays as it is in
        rows that a merge updates. Values are converted as far as none is rounded; a time without
        a zone is in UTC. NOT NULL and the primary key hold as for a statement, and so do check
        constraints, which need Spark. If another writer changed the table in the meantime, the
        rows are written again on the new version. What a statement warns of, such as rows that
        repeat a model's `unique_key`, is a Python warning.

        Args:
            name: `orders`, in the connection's schema, or `analytics.orders`. A table that isn't
                there is created with the columns of the rows, unless they are merged.
            rows: A table, record batch or stream of Arrow, a frame of pandas or Polars, a lazy
                table, or anything with `__arrow_c_stream__`. In pandas NaN is NULL, and the
                index is left out.
            mode: `append` adds the rows; `overwrite` puts them in the place of all rows; `merge`
                updates rows with the same key, and adds the others.
            on: Columns that tell rows apart in a merge; by default the primary key.
            message: The commit's message; by default it says what was done.

        Raises:
            NotFoundError: There is no such schema, or no table to merge into.
            InputError: The rows don't fit the table, break a constraint, or are none.
            UnsupportedError: Only Spark can write to the table; use `sql`.
            ReadOnlyError: This is a revision that is not a branch.
            ProtectedError: The branch takes changes by promotion only.
            RetryError: Other writers were faster on every attempt; nothing was changed.
        """
        relation = relation_of_text(name, self._connection.schema)
        columns = tuple(on)
        # Before the rows are read: a stream gives them once.
        self._workspace.line.check_open()
        told = message or f"{mode} {'into' if mode == 'merge' else 'to'} {relation}"
        with rows_of(rows) as found:

            def work(overlay: Overlay) -> tuple[int, list[str]]:
                scope = self._connection.scope(told, overlay, Origin())
                return write_rows(scope, relation, found, mode, columns), scope.warnings

            (count, warned), landing = landed_commit(
                self._workspace, work, told, waits=mode != "append"
            )
        warn_caller(*warned)
        head = self._workspace.line.head() if landing is None else landing.commit
        return WriteReport(
            relation=str(relation), rows=count, commit=head, moved=landing is not None
        )

    def create(self, name: str, at: str | None = None) -> Client:
        """Create a branch, and connect to it; it costs nothing, however much the branch holds.

        Args:
            name: The new branch.
            at: The revision to start from; None for what this branch shows now.

        Raises:
            InputError: The name is taken, invalid or reserved.
            NotFoundError: There is no such revision, or its rows have been collected.
        """
        from dbt.adapters.vcs.commands.branch import create_branch

        create_branch(self.repository, name, at or self._branch, author=self._author)
        return Client.on(
            self.repository,
            name,
            self._engine,
            schema=self._connection.schema,
            author=self._author,
            context=self._workspace.context,
        )

    def branches(self, *, with_runs: bool = False) -> list[BranchSummary]:
        """Return the branches of the repository by name, as `dbt-vcs branch` lists them.

        Each has its head, `ahead` and `behind`: numbers of commits that it has and the default
        branch lacks, and the reverse; None if they are too many to count. A damaged branch is
        left out with a warning.

        Args:
            with_runs: True to include the branches of dbt runs and of waiting merges.
        """
        from dbt.adapters.vcs.commands.branch import list_branches

        damaged: list[str] = []
        found = list(list_branches(self.repository, damaged.append, with_runs=with_runs))
        warn_caller(*damaged)
        return found

    def delete(self, name: str, *, force: bool = False) -> CommitId:
        """Delete a branch, as `dbt-vcs branch delete --merged` does.

        Its rows stay for the retention period: `dbt-vcs branch undelete NAME` restores it. If the
        last run for it did not land, a warning says where that run's work is.

        Args:
            name: The branch.
            force: True to delete it even if it has commits that both the default branch and this
                one lack, or if it is the branch of a run that is still running.

        Returns:
            The commit that it pointed to.

        Raises:
            NotFoundError: There is no such branch.
            InputError: It is the default branch.
            ProtectedError: It is protected.
            ConflictError: It has commits that the others lack, or its run is still running.
        """
        from dbt.adapters.vcs.commands.branch import check_merged, delete_branch
        from dbt.adapters.vcs.commands.revisions import unpublished_lines

        if not force:
            check_merged(self.repository, name, self._branch)
        head = delete_branch(self.repository, name, author=self._author, force=force)
        warn_caller(*unpublished_lines(self.repository, name))
        return head

    def merge(
        self,
        source: str,
        *,
        on_conflict: str | None = None,
        message: str | None = None,
        dry_run: bool = False,
    ) -> MergeReport:
        """Merge a branch, or another revision, into this branch, row by row, as one commit.

        Args:
            source: What to merge.
            on_conflict: For rows that both sides changed differently: `fail`, `skip` (keep ours),
                `accept` (take theirs), `cell` (column by column), `cell_skip`, `cell_accept`; by
                default what the tables say, else `fail`.
            message: The commit's message; by default it says what was merged.
            dry_run: True to change nothing, and return what would be done.

        Raises:
            NotFoundError: There is no such revision.
            InputError: This is no branch that can be merged into.
            ProtectedError: The branch takes changes by promotion only.
            ConflictError: Both sides changed a row differently; the conflicts are kept, to be
                resolved with `dbt-vcs resolve`. The branch was not changed.
            RetryError: Others moved the branch on every attempt; nothing was changed.
        """
        from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Terms
        from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
        from dbt.adapters.vcs.commands.merge import MergeRequest, merge

        mode = None if on_conflict is None else Mode.of(on_conflict, "on_conflict")
        request = MergeRequest(
            terms=Terms(message=message), policy=Policy(override=mode), dry_run=dry_run
        )
        return merge(
            self.repository,
            source,
            self._branch,
            request,
            author=self._author,
            engine=lambda: self._engine(self._branch),
        )

    def diff(
        self,
        *words: str,
        columns: Sequence[str] = (),
        shape: DiffShape = "changes",
        limit: int | None = None,
    ) -> DiffReport:
        """Compare this branch with another revision, or two revisions or versions of a table.

        Args:
            words: As of `dbt-vcs diff`: nothing for what this branch changed; `main` for this
                branch with `main`; `a..b`, `a...b`; with `analytics.orders` for the rows of that
                table; `analytics.orders@main~1` for a version of it.
            columns: Compare only these columns of the table, and its key.
            shape: Of the rows.
            limit: The most rows of a table; None for all, 0 for counts only.

        Returns:
            What differs, by relation. If one table is compared, `rows` are its rows that differ,
            and `rows.to_arrow()` returns them as an Arrow table.

        Raises:
            NotFoundError: There is no such revision, version or relation.
            InputError: The words can't be parsed, or there is no such column.
            UnsupportedError: Columns have types that can't be compared without Spark.
        """
        from dbt.adapters.vcs.commands.diff import read_diff

        return read_diff(
            self.repository, words, branch=self._branch, columns=columns, shape=shape, limit=limit
        )

    def log(self, limit: int | None = None, *, relation: str | None = None) -> list[LogEntry]:
        """Return the commits of this branch, newest first.

        Args:
            limit: The most commits; None for all.
            relation: Only those that changed this relation, `analytics.orders`.

        Raises:
            NotFoundError: No commit changed the relation.
        """
        from dbt.adapters.vcs.commands.log import read_log

        return list(read_log(self.repository, self._branch, limit=limit, relation=relation))

    def _repr_html_(self) -> str:
        """Return the branch and what it shows as a notebook shows them, without Spark.

        It never raises: if the branch is gone, it says so.
        """
        return shown(self._branch, self._html)

    def _html(self) -> Iterator[Markup]:
        from dbt.adapters.vcs.commands.branch import summary_of

        line, repository = self._workspace.line, self.repository
        if isinstance(line, PinnedLine):
            head = line.head()
            yield sentence(f"Commit {head[:12]}, read-only: a revision that is not a branch.")
            yield from tables_html(repository, head)
            return
        found = summary_of(repository, repository.branch(self._branch))
        yield sentence(
            f"Head {found.head[:12]} by {found.author}, "
            f"{found.committed_at:%Y-%m-%d %H:%M} UTC: {found.summary}"
        )
        if found.is_default:
            yield sentence("The default branch.")
        elif found.ahead is None or found.behind is None:
            yield sentence(f"Too far from {repository.default_branch} to count commits.")
        else:
            yield sentence(
                f"{found.ahead:,} ahead of {repository.default_branch}, {found.behind:,} behind."
            )
        if found.is_protected:
            what = f" on which {' and '.join(found.require)} passed" if found.require else ""
            yield sentence(f"Protected: it accepts only promotions{what}.")
        yield from tables_html(repository, found.head)

    def open(self) -> None:
        """Open the session now instead of on the first statement that needs it.

        Raises:
            InputError: The Spark session is one of a Spark Connect server.
        """
        self._connection.open()

    def cancel(self) -> None:
        """Stop the running statement, from another thread."""
        self._connection.cancel()

    def close(self) -> None:
        """Close the session; the Spark context stays open for others in this process."""
        self._connection.close()
        self._workspace.close()


def _line(repository: Repository, branch: str, author: str) -> Line:
    if repository.find_branch(branch) is not None:
        return BranchLine(repository, branch, author)
    try:
        # Once: `main~1` must not move while the client is open.
        commit = repository.resolve(branch)
    except NotFoundError:
        # Most people mean a branch, so its error is the one to show.
        repository.branch(branch)
        raise
    why = f"{branch} is not a branch. Create one: dbt-vcs branch create NAME {quote(branch)}"
    return PinnedLine(lambda: commit, why)


def _table(outcome: Outcome) -> pa.Table:
    if outcome.rows is not None:
        return outcome.rows.arrow()
    if outcome.affected is not None:
        return pa.table({"num_affected_rows": pa.array([outcome.affected], pa.int64())})
    return pa.table({})
