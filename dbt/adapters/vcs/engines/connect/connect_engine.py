"""The engine that computes rows with the Spark of a Spark Connect server."""

from __future__ import annotations

import importlib
import inspect
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.errors import EngineError, InputError, VcsError
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.connect.connect_session import ConnectView
from dbt.adapters.vcs.engines.connect.tagged_jobs import OperationGate, ServerErrors, TaggedJobs
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import (
    check_shared,
    hadoop_root,
    is_folder,
    spark_root,
    storage_settings,
)
from dbt.adapters.vcs.engines.dataframes.name_registry import NameRegistry
from dbt.adapters.vcs.engines.dataframes.staged_insert import ScratchSchema
from dbt.adapters.vcs.engines.dataframes.statement_jobs import silence_echoes
from dbt.adapters.vcs.engines.dataframes.writes import NUMBERING
from dbt.adapters.vcs.engines.methods import address_of
from dbt.adapters.vcs.engines.session_settings import server_settings

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

# More than a small cluster has cores, so that most executors get one.
_TASKS: Final = 16
# How often a call is repeated while the server doesn't answer: for about fifteen seconds.
_RETRIES: Final = 6

# The longest wait between two attempts, in milliseconds.
_WAIT: Final = 5_000


class ConnectEngine:
    """`Engine` on a Spark Connect server. No Java runs in this process.

    Each session of the engine is a session of the server. Nothing starts before the first one is
    asked for.

    Args:
        blobs: The repository's store; the server reads and writes below its `uri`.
        settings: `spark.remote`, and settings of the sessions.
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
        self._address = address_of(settings or {})
        self._settings = server_settings(settings or {}) | NUMBERING
        self._options = dict(storage_options or {})
        self._root: Callable[[], str] = partial(spark_root, blobs.uri, self._options)
        self._registry = NameRegistry()
        self._errors = ServerErrors(self._address, self._registry.own_words)
        self._scratch = ScratchSchema(time.time)
        self._lock = threading.Lock()
        self._first: SparkSession | None = None
        # Weak, as a connection that nobody holds has nothing left to cancel.
        self._views: weakref.WeakSet[ConnectView] = weakref.WeakSet()
        self._sessions: list[SparkSession] = []
        self._closed = False

    def start(self) -> None:
        """Do nothing: the server is there or isn't."""

    def prepare(self) -> None:
        """Do nothing: the server is there or isn't."""

    def session(self, label: str) -> ConnectView:
        """Return a new session of the server for one thread."""
        with self._lock:
            if self._closed:
                raise EngineError("This engine is closed; make another one.")
            # PySpark takes hooks only when a session is made.
            gate = OperationGate()
            spark = self._new_session(gate)
            view = ConnectView(
                spark,
                self._registry,
                self._scratch,
                self._blobs,
                root=self._root,
                jobs=TaggedJobs(spark, self._errors, gate),
                settings=self._all_settings(),
            )
            self._views.add(view)
            return view

    def close(self) -> None:
        """Close the sessions; the server drops what they made."""
        with self._lock:
            self._closed = True
            try:
                for view in self._views:
                    view.close()
                if self._first is not None:
                    with self._errors.translated():
                        self._scratch.drop(self._first)
            # The server may be gone; it drops what its sessions had.
            except VcsError as error:
                logging.getLogger(__name__).debug("Left on the server: %s", error)
            finally:
                for spark in self._sessions:
                    spark.stop()
                self._views.clear()
                self._sessions.clear()
                self._first = None

    def _new_session(self, gate: OperationGate) -> SparkSession:
        client = _client()
        settings = self._all_settings()
        with self._errors.translated():
            spark: SparkSession = client.SparkSession(
                connection=self._address.url, hook_factories=[lambda _: gate]
            )
            self._sessions.append(spark)
            # PySpark would go on for ten minutes.
            spark.client.set_retry_policies([_policy()])
            for key, value in settings.items():
                spark.conf.set(key, value)
            if self._first is None:
                if is_folder(self._blobs.uri):
                    check_shared(
                        spark,
                        self._blobs,
                        self._root(),
                        where=f"on the Spark Connect server {self._address}",
                        tasks=_TASKS,
                        translated=self._errors.translated,
                    )
                self._first = spark
            return spark

    def _all_settings(self) -> dict[str, str]:
        place = hadoop_root(self._blobs.uri, self._options)
        return storage_settings(place, self._options, os.environ) | self._settings


def _client() -> Any:
    """Return PySpark's client.

    Raises:
        InputError: It lacks a package, or what ends statements.
    """
    try:
        # It needs grpc and pandas, which PySpark does not install by itself.
        module = importlib.import_module("pyspark.sql.connect.session")
    except ImportError as error:
        raise InputError(
            "method: connect needs the client of Spark Connect, which lacks a package here "
            f"({error.name or error}): pip install 'dbt-vcs[connect]'"
        ) from error
    if "hook_factories" not in inspect.signature(module.SparkSession).parameters:
        raise InputError(
            f"method: connect needs a newer PySpark than {version('pyspark')}, whose client has "
            "no hooks, so that no statement could be cancelled: pip install --upgrade 'pyspark<5'"
        )
    silence_echoes()
    return module


def _policy() -> Any:
    retries = importlib.import_module("pyspark.sql.connect.client.retries")
    return retries.DefaultPolicy(max_retries=_RETRIES, max_backoff=_WAIT)
