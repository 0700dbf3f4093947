"""The functions that go with a DataFrame: of this process's Spark, or of a server's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CONNECT = "pyspark.sql.connect."


def is_remote(frame: DataFrame) -> bool:
    """Return whether a frame is a server's."""
    return type(frame).__module__.startswith(_CONNECT)


def functions_for(frame: DataFrame) -> Any:
    """Return the module of functions whose columns fit a frame.

    PySpark's own choice depends on the process's environment, and not on the frame.
    """
    if is_remote(frame):
        from pyspark.sql.connect import functions as remote

        return remote
    from pyspark.sql import functions

    return functions


def observation_for(frame: DataFrame) -> Any:
    """Return a new observation for a frame."""
    if is_remote(frame):
        from pyspark.sql.connect.observation import Observation as Remote

        return Remote()
    from pyspark.sql import Observation

    return Observation()
