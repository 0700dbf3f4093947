"""Running tasks: how far Spark is with what it does now."""

from __future__ import annotations

import sys


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
