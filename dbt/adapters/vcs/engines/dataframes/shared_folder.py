"""Whether the machines of a cluster see a repository that is a local folder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.engine_errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNSEEN: Final = ("FAILED_READ_FILE", "PATH_NOT_FOUND")

SHARE: Final = (
    "Every machine of the cluster must see the repository's folder under this name: put the "
    "repository on a file system that all of them mount, or in an object store (s3://, gs://, "
    "az://), or run Spark on this machine only (spark.master: local[*])."
)
"""The next step where one doesn't."""


def check_shared(
    spark: SparkSession,
    root: str,
    path: str,
    text: str,
    *,
    where: str,
    tasks: int,
    translated: Callable[[], AbstractContextManager[None]],
) -> None:
    """Check that the executors of a cluster find a file of a repository; one job reads it.

    There should be more tasks than cores. An executor that starts later has no task here; the
    rows of each write are counted anyway.

    Args:
        spark: A session.
        root: The repository as Spark names it.
        path: A pattern that only the file matches.
        text: What the file holds.
        where: Where Spark runs, for the error.
        tasks: How many tasks read the file.
        translated: Returns a block in which Spark's exceptions become ours.

    Raises:
        InputError: A task didn't find the file, or found another.
        StatementError: The job failed for another reason.
    """
    try:
        with translated():
            # Spark's own tasks read the file: Python may be missing on the workers.
            reader = spark.read.option("wholetext", True).option("ignoreMissingFiles", False)
            rows = reader.text([path] * tasks).collect()
    except StatementError as error:
        if not (error.condition or "").startswith(_UNSEEN):
            raise
        reason = "an executor doesn't find its header"
    else:
        if [row.value for row in rows] == [text] * tasks:
            return
        reason = "an executor finds another repository"
    raise InputError(
        f"The repository is the folder {root} of this machine, and Spark runs {where}, "
        f"where {reason}. Nothing was computed. {SHARE}"
    )
