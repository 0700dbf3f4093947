"""The one SparkContext of the process, and private catalogs on it."""

from __future__ import annotations

import atexit
import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import hadoop_root, with_connector
from dbt.adapters.vcs.engines.dataframes.statement_jobs import silence_echoes
from dbt.adapters.vcs.engines.java import (
    ensure_address,
    ensure_java,
    ensure_spark_home,
    find_java,
    spark_jars,
    with_archive,
)
from dbt.adapters.vcs.engines.session_settings import is_local, process_settings
from dbt.adapters.vcs.engines.spark.jobs import translated
from dbt.adapters.vcs.engines.spark.launch import Launch, Launches
from dbt.adapters.vcs.yaml_text import setting_text

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_LOG: Final = logging.getLogger(__name__)
_SAID_LINES: Final = 15
# Lines of the launcher and the JVM that say nothing about why Spark did not start.
_NOISE: Final = re.compile(
    r"\s*$|\s+at |\s*\.\.\. \d+ more|WARNING:|Using Spark's default|Setting |To adjust |"
    r".* (?:WARN|INFO) "
)
_CATALOG: Final = "spark.sql.catalogImplementation"
_SESSION: Final = "org.apache.spark.sql.classic.SparkSession"
_EXTENSIONS: Final = "org.apache.spark.sql.SparkSessionExtensions"
_APPLY_EXTENSIONS: Final = "org$apache$spark$sql$classic$SparkSession$$applyExtensions"
_ML_FUNCTIONS: Final = "org.apache.spark.sql.ml.InternalFunctionRegistration"
_UI: Final = "org.apache.spark.sql.execution.ui"
_WAREHOUSE: Final = "spark.sql.warehouse.dir"
_LAUNCHES: Final = Launches()


def spark_context(settings: Mapping[str, str]) -> SparkContext:
    """Return the process's SparkContext, started with these settings if there is none.

    Raises:
        EngineError: There is no Java, or Spark doesn't start.
    """
    from pyspark import SparkContext

    with SparkContext._lock:
        active = SparkContext._active_spark_context
        if active is not None and active._jsc is not None:
            # A process has one SparkContext, whoever started it. Its settings can no longer
            # change.
            _tell_differences(active, settings)
            return active
        if SparkContext._gateway is None:
            settings = _launched_with(settings)
        return _start({_WAREHOUSE: _warehouse(), **settings})


def settings_to_start(
    blobs: Blobs, settings: Mapping[str, str], storage_options: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings of a process that reads a repository's store; the user's win."""
    place = hadoop_root(blobs.uri, storage_options)
    # Jars can only be named before the JVM starts.
    return process_settings(with_connector(settings, place, spark_jars(os.environ)))


def launch(settings: Mapping[str, str]) -> None:
    """Let Spark's process start, unless there is one; nothing waits for it.

    `spark_context` takes it up if it asks for the same settings. Otherwise it ends with Python.

    Raises:
        EngineError: There is no Java.
    """
    from pyspark import SparkContext

    # Whoever holds the lock starts Spark.
    if not SparkContext._lock.acquire(blocking=False):
        return
    try:
        if SparkContext._gateway is None:
            _LAUNCHES.begin({_WAREHOUSE: _warehouse(), **_launched_with(settings)})
    finally:
        SparkContext._lock.release()


def _launched_with(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of Spark's process, for whose start the environment is made ready."""
    from pyspark import __version__

    # Checked here, since the launcher's own error does not tell the way out.
    find_java(os.environ)
    ensure_spark_home(os.environ, __version__)
    if is_local(settings.get("spark.master", "")):
        ensure_address(os.environ)
    return with_archive(settings, os.environ)


def end_process() -> None:
    """Stop Spark for good, and wait for its process to end."""
    from pyspark import SparkContext

    with SparkContext._lock:
        active, gateway = SparkContext._active_spark_context, SparkContext._gateway
    if active is not None:
        active.stop()
    process = getattr(gateway, "proc", None)
    if gateway is not None and process is not None:
        gateway.shutdown()
        # The JVM that PySpark starts ends when its standard input does.
        process.stdin.close()
        process.wait()


def is_running() -> bool:
    """Return whether the process has a SparkContext, without waiting for one that starts."""
    found = getattr(sys.modules.get("pyspark.core.context"), "SparkContext", None)
    active = getattr(found, "_active_spark_context", None)
    return active is not None and active._jsc is not None


def private_root(context: SparkContext, options: Mapping[str, str]) -> SparkSession:
    """Return a session with a catalog that no other session of the process sees."""
    from pyspark.sql import SparkSession

    # Decision 4: `newSession()` would share the catalog of its parent, so the root of an engine is
    # made as the first one, with no default session in sight.
    with translated(), _others_kept(context) as sessions:
        # `getConf` would copy all settings, some calls for each.
        if context._conf.get(_CATALOG, "in-memory") != "in-memory":
            # Somebody started Spark with Hive's catalog, of which a process has just one.
            options = {**options, _CATALOG: "in-memory"}
        spark = SparkSession(context, _first_session(context, sessions, options))
        _stop_recording(context, spark)
        return spark


def _first_session(context: SparkContext, sessions: Any, options: Mapping[str, str]) -> Any:
    """Return a session of the JVM as its builder makes it, without MLlib's functions if it may.

    The builder loads extensions that jars bring, of which Spark itself has one: internal functions
    of MLlib, whose types Scala finds out by reflection. That takes a third of the time between
    SparkContext and first answer. `load_ml_functions` loads it for those who can call them.
    """
    from py4j.protocol import Py4JError

    if _extensions_of_jars(context) == [_ML_FUNCTIONS]:
        with suppress(Py4JError):
            companion = getattr(java_class(context, f"{_SESSION}$"), "MODULE$")
            # What `spark.sql.extensions` names.
            apply_named = getattr(companion, _APPLY_EXTENSIONS)
            sc: Any = context
            nothing = java_class(context, "scala.Option").empty()
            to_map = java_class(context, "org.apache.spark.api.python.PythonUtils").toScalaMap
            return java_class(context, _SESSION)(
                sc._jsc.sc(),
                nothing,
                nothing,
                apply_named(sc._jsc.sc(), java_class(context, _EXTENSIONS)()),
                # As the builder writes numbers and truth values.
                to_map({key: setting_text(value) for key, value in options.items()}),
                to_map({}),
            )
    builder = sessions.builder()
    for key, value in options.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _extensions_of_jars(context: SparkContext) -> list[str]:
    """Return the classes of extensions that Spark finds in jars, by name; none is loaded."""
    thread = java_class(context, "java.lang.Thread").currentThread()
    loaders = java_class(context, "java.util.ServiceLoader")
    kind = java_class(context, "java.lang.Class").forName(f"{_EXTENSIONS}Provider")
    found = loaders.load(kind, thread.getContextClassLoader()).stream().toArray()
    return [provider.type().getName() for provider in found]


def load_ml_functions(context: SparkContext) -> None:
    """Load the functions that MLlib calls by name, once in a process; text can't call them."""
    from py4j.protocol import Py4JError

    # A Spark without MLlib has none.
    with suppress(Py4JError):
        java_class(context, "java.lang.Class").forName(f"{_ML_FUNCTIONS}$")


def new_session(root: SparkSession) -> SparkSession:
    """Return a session on the same catalog with its own temporary views and settings."""
    from pyspark.sql import SparkSession

    with translated(), root.sparkContext._lock:
        known = SparkSession._instantiatedSession
        # Without one PySpark would make the new session the default of the process.
        SparkSession._instantiatedSession = root
        try:
            return root.newSession()
        finally:
            SparkSession._instantiatedSession = known


def _stop_recording(context: SparkContext, spark: SparkSession) -> None:
    """Take a new catalog's record of statements off Spark, unless Spark's pages need it.

    With its catalog a session gets Spark's `SharedState`, which records all statements of the
    process, whichever catalog they read, and is never removed: after 1,000 catalogs each statement
    would be recorded, and its records cleaned up, 1,000 times. Pages need one such record.
    """
    java: Any = spark._jsparkSession
    known: Any = context
    sc = known._jsc.sc()
    bus, ui = sc.listenerBus(), sc.ui()
    status = java.sharedState().statusStore()
    record = status.listener().get()
    if ui.isDefined():
        tag = java_class(context, "scala.reflect.ClassTag").apply(record.getClass())
        # The first record, which Spark's pages show.
        if bus.findListenersByClass(tag).size() == 1:
            return
        tabs = ui.get().getTabs()
        for tab in [tabs.apply(n) for n in range(tabs.size())]:
            if tab.prefix() == "SQL" and tab.sqlStore().equals(status):
                ui.get().detachTab(tab)
    bus.removeListener(record)
    _drop_clean_ups(context, sc.statusStore().store(), record)


def _drop_clean_ups(context: SparkContext, store: Any, record: Any) -> None:
    """Remove what a record has asked Spark's store of statuses to call it for.

    The store has no method for that, so its fields are changed.
    """
    from py4j.protocol import Py4JError

    try:
        triggers, flushes = _field(store, "triggers"), _field(store, "flushTriggers")
        kind = java_class(context, "java.lang.Class").forName(f"{_UI}.SQLExecutionUIData")
        latched = triggers.apply(kind)
        all_of_kind = latched.triggers()
        helper = java_class(context, "org.apache.spark.api.python.PythonUtils")
        found = [all_of_kind.apply(n) for n in range(all_of_kind.size())]
        left = [trigger for trigger in found if not _calls(trigger.action(), record)]
        made = java_class(context, latched.getClass().getName())
        triggers.put(kind, made(store, helper.toSeq(left)))
        for n in reversed(range(flushes.size())):
            if _calls(flushes.apply(n), record):
                flushes.remove(n)
    except Py4JError as error:
        # Costs memory, a little for each catalog, but nobody's statement.
        _LOG.debug("Spark %s keeps clean-ups of closed catalogs: %s", context.version, error)


def _field(owner: Any, name: str) -> Any:
    found = owner.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found.get(owner)


def _calls(closure: Any, target: Any) -> bool:
    """Return whether a Scala function was made inside of an object."""
    for found in closure.getClass().getDeclaredFields():
        found.setAccessible(True)
        if target.equals(found.get(closure)):
            return True
    return False


def java_class(context: SparkContext, name: str) -> Any:
    """Return a class of Spark's process by its full name.

    Going through packages, as PySpark does, would cost a call for each part of the name.
    """
    from py4j.java_gateway import JavaClass

    gateway: Any = context._gateway
    return JavaClass(name, gateway._gateway_client)


def scala_names(names: Any) -> list[str]:
    """Return a Scala sequence of names, read in a single call."""
    return [name for name in str(names.mkString("\n")).split("\n") if name]


@contextmanager
def _others_kept(context: SparkContext) -> Iterator[Any]:
    """Keep the default session that other code sees while sessions are made in the block."""
    from pyspark.sql import SparkSession

    with context._lock:
        sessions = java_class(context, _SESSION)
        default, active = sessions.getDefaultSession(), sessions.getActiveSession()
        # Both sides have a default: PySpark's in these attributes, the JVM's in its companion
        # object. Code that asks for "the" session must not get one of ours.
        known, current = SparkSession._instantiatedSession, SparkSession._activeSession
        sessions.clearDefaultSession()
        sessions.clearActiveSession()
        try:
            yield sessions
        finally:
            SparkSession._instantiatedSession, SparkSession._activeSession = known, current
            sessions.clearDefaultSession()
            sessions.clearActiveSession()
            if default.isDefined():
                sessions.setDefaultSession(default.get())
            if active.isDefined():
                sessions.setActiveSession(active.get())


def _start(settings: Mapping[str, str]) -> SparkContext:
    from py4j import java_gateway
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError

    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway: Any = SparkContext._gateway
    launched = _LAUNCHES.take(settings) if gateway is None else None
    try:
        if launched is not None:
            _load_beside_java()
            gateway = launched.gateway()
        with translated():
            context = SparkContext(conf=conf, gateway=gateway)
    except (PySparkRuntimeError, EngineError) as error:
        # Java's own error doesn't name the version.
        ensure_java(os.environ)
        raise EngineError(_refusal(error, launched)) from error
    finally:
        if launched is not None:
            launched.said.close()
    silence_echoes()
    # Py4J logs a lost JVM on the root logger, which prints the stacks that the error has.
    py4j: Any = java_gateway
    py4j.logging = logging.getLogger(f"{java_gateway.__name__}.echo")
    py4j.logging.setLevel(logging.CRITICAL)
    if is_local(settings.get("spark.master", "")) and "PYSPARK_PYTHON" not in os.environ:
        # Workers need the packages of this Python; PySpark would take the first `python3` on the
        # PATH. It reads the variable only once, so a setting of the session would come too late.
        context.pythonExec = sys.executable
    return context


@cache
def _load_beside_java() -> None:
    """Import what sessions need, while Java is at work, and keep PySpark from loading pandas.

    It would, and more, to ask of an argument of its first call whether it is NumPy's.
    """
    import pyspark.sql  # noqa: F401
    from pyspark.sql import types

    for kind in (types.NumpyScalarConverter, types.NumpyArrayConverter):
        setattr(kind, "can_convert", _asked_of_numpys(kind.can_convert))  # noqa: B010


def _asked_of_numpys(plain: Callable[[Any, object], bool]) -> Callable[[Any, object], bool]:
    def can_convert(converter: Any, value: object) -> bool:
        # Nothing is NumPy's that was made without it.
        if "numpy" not in sys.modules:
            return False
        from numpy import generic, ndarray

        return isinstance(value, generic | ndarray) and plain(converter, value)

    return can_convert


@cache
def _warehouse() -> str:
    """Return the folder of the tables of whoever else uses Spark in this process.

    It is there as long as the process is, since Spark creates it again whenever a session
    without a folder of its own needs one, whichever engine started Spark.
    """
    folder = tempfile.TemporaryDirectory(prefix="dbt-vcs-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return folder.name


def _refusal(error: BaseException, launched: Launch | None) -> str:
    text = "" if launched is None else launched.output()
    lines = [line.strip() for line in text.splitlines() if not _NOISE.match(line)]
    reason = str(error) if isinstance(error, EngineError) else ""
    words = "\n".join([reason, *lines[:_SAID_LINES]]).strip() or str(error)
    return f"Spark did not start; check the Spark settings. Spark's message:\n{words}"


def _tell_differences(context: SparkContext, settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        # Those are set for each session, and do not depend on who started Spark.
        if key.startswith("spark.sql."):
            continue
        running = context._conf.get(key)
        if running != value:
            _LOG.debug("Spark already runs in this process: %s stays %s", key, running)
