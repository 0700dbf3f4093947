"""The engine that computes rows with Spark."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import (
    check_shared,
    hadoop_root,
    is_folder,
    spark_root,
    storage_settings,
    with_connector,
)
from dbt.adapters.vcs.engines.dataframes.writes import NUMBERING
from dbt.adapters.vcs.engines.java import spark_jars
from dbt.adapters.vcs.engines.port import PRIVATE
from dbt.adapters.vcs.engines.session_settings import (
    COMMIT_PROTOCOL,
    VERIFY_PAGES,
    is_local,
    process_settings,
    session_settings,
)
from dbt.adapters.vcs.engines.spark.catalog import Catalog
from dbt.adapters.vcs.engines.spark.context import (
    is_running,
    new_session,
    private_root,
    spark_context,
)
from dbt.adapters.vcs.engines.spark.jobs import translated
from dbt.adapters.vcs.engines.spark.session import SparkView
from dbt.adapters.vcs.table.quoting import literal, quoted, quoted_relation

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

# The most tasks with which a cluster is asked whether it sees a folder.
_MAX_TASKS: Final = 64

_MARK: Final = "dbt-vcs shows "
# Settings with which a session writes blocks, and reads them.
_WRITING: Final = {
    # INT96, Spark's default, has no bounds in footers, and other readers stop at the year 2262.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    **COMMIT_PROTOCOL,
    **NUMBERING,
    VERIFY_PAGES: "true",
}


class SparkEngine:
    """`Engine` on this process's Spark, with a private catalog.

    Nothing starts before the first session is asked for.

    Args:
        blobs: The repository's store; Spark reads and writes below its `uri`.
        settings: Spark settings, which override the defaults. Those of the process itself
            (master, memory) apply only if Spark does not run in it yet.
        storage_options: The store's own options, credentials among them.
        spark: A SparkSession to use, catalog and temporary views included, instead of a
            private catalog. Its catalog must be in memory, and no other engine may use it.
        owner: Whose names the catalog shows, such as `<repository>@<branch>`; one catalog
            can't show two.
    """

    def __init__(
        self,
        blobs: Blobs,
        *,
        settings: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
        spark: SparkSession | None = None,
        owner: str = "",
    ) -> None:
        self._blobs = blobs
        self._settings = dict(settings or {})
        self._storage_options = dict(storage_options or {})
        self._given = spark
        self._owner = owner or blobs.uri
        self._lock = threading.Lock()
        self._catalog: Catalog | None = None
        self._root: SparkSession | None = None
        self._adoption: Adoption | None = None
        # Weak, since a session that nobody holds has nothing left to close.
        self._sessions: weakref.WeakSet[SparkView] = weakref.WeakSet()
        self._closed = False

    def prepare(self) -> None:
        """Start Spark's process unless it runs, and let it load what a first query needs."""
        if self._given is not None or is_running():
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
            # one, and threads can't mix rows under one name. An owner's own views must stay
            # visible.
            spark = root if self._given is not None else new_session(root)
            view = SparkView(spark, catalog, self._blobs, label)
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
                if self._given is not None and self._adoption is not None:
                    _release(self._given, self._catalog, self._adoption)
                self._catalog.close()
            self._root = self._catalog = None

    def _catalog_and_root(self) -> tuple[Catalog, SparkSession]:
        if self._catalog is None or self._root is None:
            root = partial(spark_root, self._blobs.uri, self._storage_options)
            catalog = Catalog(self._blobs, root, adopted=self._given is not None)
            if self._given is not None:
                adoption = _adopt(self._given, catalog, self._owner)
                try:
                    self._check_shared(self._given, root)
                except BaseException:
                    _release(self._given, catalog, adoption)
                    raise
                self._adoption = adoption
                self._root = self._given
            else:
                place = hadoop_root(self._blobs.uri, self._storage_options)
                storage = storage_settings(place, self._storage_options, os.environ)
                self._root = private_root(
                    self._context(), session_settings(self._settings, storage, catalog.warehouse)
                )
                # Before anything is computed: tasks that write elsewhere would lose all their
                # rows.
                self._check_shared(self._root, root)
                # Tables that a Python model saves without a schema would go there.
                catalog.ensure_schema(self._root, "default")
            self._catalog = catalog
        return self._catalog, self._root

    def _context(self) -> SparkContext:
        place = hadoop_root(self._blobs.uri, self._storage_options)
        # Jars can only be named before the JVM starts.
        settings = with_connector(self._settings, place, spark_jars(os.environ))
        return spark_context(process_settings(settings))

    def _check_shared(self, spark: SparkSession, root: Callable[[], str]) -> None:
        """Require that the executors see a repository that is in a local folder."""
        context = spark.sparkContext
        if is_local(context.master or "") or not is_folder(self._blobs.uri):
            return
        check_shared(
            spark,
            self._blobs,
            root(),
            where=f"on a cluster (spark.master: {context.master})",
            tasks=min(_MAX_TASKS, 2 * max(1, context.defaultParallelism)),
            translated=translated,
        )


class Adoption(NamedTuple):
    """What to undo when the session is given back.

    Attributes:
        token: Distinguishes this use of the catalog from a later one by the same owner.
        settings: The previous values of the settings; None for one that was not set.
    """

    token: str
    settings: Mapping[str, str | None]


def _adopt(spark: SparkSession, catalog: Catalog, owner: str) -> Adoption:
    """Mark a session's catalog as showing an owner's names.

    Raises:
        InputError: It is not a session of this process, its catalog is not in memory, or the
            catalog shows another owner's names.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise InputError(
            "Expected a SparkSession of this process, found a Spark Connect client. Leave `spark` "
            "out to let dbt-vcs start its own."
        )
    with translated():
        kind = spark.conf.get("spark.sql.catalogImplementation")
        if kind != "in-memory":
            raise InputError(
                f"The catalog of the SparkSession is of kind {kind}; dbt-vcs needs one in memory. "
                "Build the session without enableHiveSupport(), or leave `spark` out."
            )
        mark = _mark(spark)
        # Decision 16: one catalog shows one branch. The mark is in the catalog, so that other
        # connections and sessions of the same catalog find it.
        if mark is not None and mark[0] != owner:
            raise InputError(
                f"This SparkSession already shows {mark[0]}, so it can't show {owner}. Close that "
                "connection first, or leave `spark` out (newSession() would share the catalog)."
            )
        token = uuid.uuid4().hex
        catalog.ensure_schema(spark, PRIVATE)
        comment = literal(f"{_MARK}{owner} {token}")
        spark.sql(f"comment on database {quoted(PRIVATE)} is {comment}")
        # The session is its owner's, so it gets back every setting that we change.
        before = {key: spark.conf.get(key, None) for key in _WRITING}
        for key, value in _WRITING.items():
            spark.conf.set(key, value)
        return Adoption(token, before)


def _release(spark: SparkSession, catalog: Catalog, adoption: Adoption) -> None:
    """Remove what was shown, and the mark, unless the same owner uses the catalog again."""
    with translated():
        mark = _mark(spark)
        # The same owner may have connected again before this connection was closed.
        if mark is None or mark[1] != adoption.token:
            return
        for name in catalog.shown:
            spark.sql(f"drop view if exists {quoted_relation(name)}")
        for name in catalog.functions:
            spark.sql(f"drop function if exists {quoted_relation(name)}")
        catalog.give_back(spark)
        spark.sql(f"drop database if exists {quoted(PRIVATE)} cascade")
        for key, value in adoption.settings.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


def _mark(spark: SparkSession) -> tuple[str, str] | None:
    """Return the owner whose names the catalog shows, and its token; None if not marked."""
    if not spark.catalog.databaseExists(PRIVATE):
        return None
    comment = spark.catalog.getDatabase(PRIVATE).description or ""
    owner, _, token = comment.removeprefix(_MARK).rpartition(" ")
    return owner, token
