"""Which Spark: by the profile's `method`; nothing here loads it before rows are computed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.methods import REMOTE, check_method
from dbt.adapters.vcs.engines.port import Engine


def make_engine(
    blobs: Blobs,
    *,
    method: str = "session",
    settings: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
    given: Any = None,
) -> Engine:
    """Return an engine; nothing starts before its first session is asked for.

    Args:
        blobs: The repository's store; the engine reads and writes below its `uri`.
        method: One of `methods.METHODS`.
        storage_options: The store's own options, credentials among them.
        given: An existing session of the engine to use instead of a private one, if any.

    Raises:
        InputError: There is no such method, or the settings don't go with it.
    """
    check_method(method, settings)
    return _MAKERS[method](blobs, settings=settings, storage_options=storage_options, given=given)


def launch_process(
    blobs: Blobs,
    *,
    method: str = "session",
    settings: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> None:
    """Let the process that such an engine needs begin to start, if it has its own; don't wait.

    It starts while other modules are imported. The arguments are those of `make_engine`.

    Raises:
        EngineError: There is no Java.
        InputError: There is no such method, or the settings don't go with it.
    """
    check_method(method, settings)
    if method == "session":
        from dbt.adapters.vcs.engines.spark.context import launch, settings_to_start

        launch(settings_to_start(blobs, settings or {}, storage_options or {}))


def end_process() -> None:
    """Stop the Spark of this process for good, and wait for its own process to end."""
    from dbt.adapters.vcs.engines.spark.context import end_process

    end_process()


def _spark_here(blobs: Blobs, *, given: Any, storage_options: Any, **options: Any) -> Engine:
    # Imported only when chosen, so that commands without an engine start faster.
    if given is not None:
        from dbt.adapters.vcs.engines.spark.adopted import AdoptedEngine

        return AdoptedEngine(blobs, given, storage_options=storage_options)
    from dbt.adapters.vcs.engines.spark.engine import SparkEngine

    return SparkEngine(blobs, storage_options=storage_options, **options)


def _spark_there(blobs: Blobs, *, given: Any, **options: Any) -> Engine:
    if given is not None:
        raise InputError(
            "A connection makes its own session on a Spark Connect server. Give its address, "
            f"{{{REMOTE!r}: 'sc://...'}}, and no session."
        )
    from dbt.adapters.vcs.engines.connect.connect_engine import ConnectEngine

    return ConnectEngine(blobs, **options)


_MAKERS: Final[Mapping[str, Callable[..., Engine]]] = {
    "session": _spark_here,
    "connect": _spark_there,
}


def running_tasks() -> tuple[int, int] | None:
    """Return how many tasks of the running stages are done, and how many there are.

    Returns:
        None if no stage runs, or this process has no Spark of its own. Spark is not loaded.
    """
    # Another thread may be importing pyspark or starting Spark: each may be there in part only.
    spark = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    context = getattr(spark, "_active_spark_context", None)
    if context is None or getattr(context, "_jsc", None) is None:
        return None
    from py4j.protocol import Py4JError

    try:
        tracker = context.statusTracker()
        found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    except (Py4JError, OSError):
        # Spark is about to end, and nothing more can be said of its tasks.
        return None
    stages = [stage for stage in found if stage is not None]
    if not stages:
        return None
    return sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages)
