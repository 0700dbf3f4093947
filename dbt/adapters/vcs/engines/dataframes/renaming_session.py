"""Sessions whose catalog is somebody else's: names of a branch are replaced in each text."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from dbt.adapters.vcs.core.model import Function, RelationName
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.frame_session import FrameSession
from dbt.adapters.vcs.engines.dataframes.name_registry import (
    PREFIX,
    Mounted,
    MountedFiles,
    MountedFunction,
    MountedView,
    OwnTemporaries,
)
from dbt.adapters.vcs.engines.dataframes.session_text import SessionFunctions, SessionText
from dbt.adapters.vcs.engines.dataframes.session_views import SessionViews
from dbt.adapters.vcs.engines.dataframes.spark_rows import SparkRows
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.engine_errors import sending
from dbt.adapters.vcs.engines.port import PRIVATE, TableMount
from dbt.adapters.vcs.sql.syntax.lexer import tokenize
from dbt.adapters.vcs.table.quoting import quoted_relation

# Statements without names of relations, which our reader need not understand.
RAW: Final = re.compile(r"\s*(?:set(?!\s+var)|reset|add|list)\b", re.IGNORECASE)


class RenamingSession(FrameSession):
    """`Session` that publishes nothing: what a statement names are views of the session.

    Decision 27: nothing of a branch is in a catalog that others use.
    """

    def __init__(
        self,
        spark: Any,
        jobs: StatementJobs,
        blobs: Blobs,
        *,
        temporaries: OwnTemporaries,
        views: SessionViews,
    ) -> None:
        """Take Spark's session and what its engine shares among sessions.

        Args:
            views: Makes the views of what the names of the branch mean.
        """
        super().__init__(spark, jobs, temporaries, blobs, views.root)
        self._own = temporaries
        self._registry = views.registry
        self._views = views
        self._functions = SessionFunctions(spark, views, temporaries)
        self._texts = SessionText(spark, views, self._functions, temporaries)

    @abstractmethod
    def _used(self) -> str:
        """Return the statement that is sent for `use`: one that changes nothing."""

    @abstractmethod
    def _is_done(self, frame: Any) -> Callable[[], bool]:
        """Return what says whether the statement of a frame was a command."""

    @abstractmethod
    def _settle(self, sent: str) -> object:
        """Follow up on a statement that was sent; return what its rows need to be kept."""

    def query(self, text: str) -> SparkRows:
        """Run a statement; a query's rows are computed when they are fetched."""
        with self._jobs.run():
            sent = self._statement_sent(text)
            with sending(sent), self._jobs.run():
                self._refuse_hidden_write(sent)
                made = self._spark.sql(sent)
                self._texts.keep_made()
                reads = self._settle(sent)
                return SparkRows(
                    self._called(made),
                    self._jobs,
                    sent,
                    is_done=self._is_done(made),
                    is_repeatable=partial(self._is_repeatable, made, sent),
                    reads=reads,
                )

    def ensure_schema(self, schema: str) -> None:
        """Do nothing: schemas of the branch are in no catalog."""

    def use(self, schema: str) -> None:
        """Read names without a schema as those of a schema."""
        self._texts.schema = schema

    def mount_table(self, name: RelationName, mount: TableMount) -> None:
        """Make a version of a table readable under a name."""
        self._mount(name, mount)

    def mount_view(
        self, name: RelationName, text: str, columns: Sequence[tuple[str, str | None]] = ()
    ) -> None:
        """Make a query readable under a name."""
        self._mount(name, MountedView(text, tuple(columns)))

    def mount_files(
        self, name: RelationName, *, location: str, format: str, options: Mapping[str, str] = {}
    ) -> None:
        """Make files that are not versioned readable under a name."""
        # Options have no order, and an order would make another view.
        kept = tuple(sorted((k, v) for k, v in options.items() if k.lower() != "path"))
        self._mount(name, MountedFiles(location, format, kept, self._registry.edition()))

    def mount_physical(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation."""
        return self._mount_version("s", mount)

    def mount_located(self, mount: TableMount) -> str:
        """Return the quoted name of a version's relation, with the positions of its rows."""
        return self._mount_version("l", mount)

    def mount_version(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation, with the table's column names."""
        return self._mount_version("v", mount)

    def mount_function(self, name: RelationName, id: str, function: Function) -> None:
        """Make a function callable under a name."""
        mounted = MountedFunction(id, function)
        with sending(function.text), self._jobs.run():
            self._functions.callable_name(name, mounted, self._texts.body)
            self._registry.functions[name] = mounted

    def unmount_function(self, name: RelationName) -> None:
        """Remove the function under a name."""
        self._registry.functions.pop(name, None)

    def has_function(self, identifier: str) -> bool:
        """Return whether an unqualified name calls one of Spark's own or temporary functions."""
        with self._jobs.run():
            return self._functions.has(identifier)

    def unmount(self, name: RelationName) -> None:
        """Remove a name."""
        self._registry.relations.pop(name, None)

    def _sent_text(self, query_text: str) -> str:
        return self._texts.sent(query_text)

    def _frame(self, sent: str) -> Any:
        return self._called(self._spark.sql(sent))

    def _called(self, frame: Any) -> Any:
        """Return a frame whose columns are called by the branch's names of functions."""
        names = frame.columns
        if not any(PREFIX in name for name in names):
            return frame
        return frame.toDF(*map(self._registry.own_words, names))

    def _mount(self, name: RelationName, mounted: Mounted) -> None:
        # The view is made with the new meaning; if that fails, the old one stays.
        before = self._registry.relations.get(name)
        self._registry.relations[name] = mounted
        try:
            with self._jobs.run():
                self._texts.shown(name)
        except BaseException:
            if before is None:
                self._registry.relations.pop(name, None)
            else:
                self._registry.relations[name] = before
            raise

    def _mount_version(self, kind: str, mount: TableMount) -> str:
        end = f"{kind}_{mount.id}"
        self._registry.versions[end] = mount
        with self._jobs.run():
            self._views.version(end)
        return quoted_relation(RelationName(PRIVATE, end))

    def _statement_sent(self, text: str) -> str:
        """Return a statement as it is sent; `use` only changes how names are read."""
        self._texts.forget_made()
        if RAW.match(text):
            self._views.changes += 1
            return text
        tokens = tokenize(text)
        if tokens[0].word == "use":
            self._texts.schema = tokens[-2].text.lower()
            # The branch's schema, which the session's catalog need not have.
            return self._used()
        sent = self._texts.sent(text)
        # A query makes no temporary view. To ask again costs a call.
        if tokens[0].word not in ("select", "with", "from", "values", "table", "("):
            self._own.forget()
        return sent
