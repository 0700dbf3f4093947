"""The engine that computes rows with Spark."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import (
    check_shared,
    hadoop_root,
    is_folder,
    spark_root,
    storage_settings,
)
from dbt.adapters.vcs.engines.session_settings import is_local, session_settings
from dbt.adapters.vcs.engines.spark.catalog import Catalog
from dbt.adapters.vcs.engines.spark.context import (
    is_running,
    new_session,
    private_root,
    settings_to_start,
    spark_context,
)
from dbt.adapters.vcs.engines.spark.jobs import translated
from dbt.adapters.vcs.engines.spark.session import SparkView

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

# The most tasks with which a cluster is asked whether it sees a folder.
_MAX_TASKS: Final = 64


class SparkEngine:
    """`Engine` on this process's Spark, with a private catalog.

    Nothing starts before the first session is asked for.

    Args:
        blobs: The repository's store; Spark reads and writes below its `uri`.
        settings: Spark settings, which override the defaults. Those of the process itself
            (master, memory) apply only if Spark does not run in it yet.
        storage_options: The store's own options, credentials among them.
    """

    def __init__(
        self,
        blobs: Blobs,
        *,
        settings: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        self._blobs = blobs
        self._settings = dict(settings or {})
        self._storage_options = dict(storage_options or {})
        self._lock = threading.Lock()
        self._catalog: Catalog | None = None
        self._root: SparkSession | None = None
        # Weak, since a session that nobody holds has nothing left to close.
        self._sessions: weakref.WeakSet[SparkView] = weakref.WeakSet()
        self._closed = False

    def start(self) -> None:
        """Start Spark's process unless it runs."""
        self._context()

    def prepare(self) -> None:
        """Start Spark's process unless it runs, and let it load what a first query needs."""
        if is_running():
            return
        # Decision 35: half of the time until a first answer goes into loading classes, whichever
        # catalog is read. Nobody uses this one again.
        private_root(self._context(), {}).sql("select 1").collect()

    def session(self, label: str) -> SparkView:
        """Return a new view for one thread; starts Spark if it isn't running."""
        with self._lock:
            if self._closed:
                raise EngineError("This engine is closed; make another one.")
            catalog, root = self._catalog_and_root()
            # Decision 4: temporary views and settings belong to a session, so each thread gets
            # one, and threads can't mix rows under one name.
            view = SparkView(new_session(root), catalog, self._blobs, label)
            self._sessions.add(view)
            return view

    def close(self) -> None:
        """Close the sessions and release the catalog; Spark itself keeps running."""
        with self._lock:
            self._closed = True
            for view in self._sessions:
                view.close()
            self._sessions.clear()
            if self._catalog is not None:
                self._catalog.close()
            self._root = self._catalog = None

    def _catalog_and_root(self) -> tuple[Catalog, SparkSession]:
        if self._catalog is None or self._root is None:
            named = partial(spark_root, self._blobs.uri, self._storage_options)
            catalog = Catalog(self._blobs, named)
            place = hadoop_root(self._blobs.uri, self._storage_options)
            storage = storage_settings(place, self._storage_options, os.environ)
            root = private_root(
                self._context(), session_settings(self._settings, storage, catalog.warehouse)
            )
            # Before anything is computed: tasks that write elsewhere would lose all their rows.
            check_folder(root, self._blobs, named)
            # Tables that a Python model saves without a schema would go there.
            catalog.ensure_schema(root, "default")
            self._catalog, self._root = catalog, root
        return self._catalog, self._root

    def _context(self) -> SparkContext:
        return spark_context(settings_to_start(self._blobs, self._settings, self._storage_options))


def check_folder(spark: SparkSession, blobs: Blobs, root: Callable[[], str]) -> None:
    """Require that the executors see a repository that is in a local folder.

    Args:
        root: Returns the repository as Spark names it.
    """
    context = spark.sparkContext
    if is_local(context.master or "") or not is_folder(blobs.uri):
        return
    check_shared(
        spark,
        blobs,
        root(),
        where=f"on a cluster (spark.master: {context.master})",
        tasks=min(_MAX_TASKS, 2 * max(1, context.defaultParallelism)),
        translated=translated,
    )
