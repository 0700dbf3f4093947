"""A schema of one engine on the server, for tables that an INSERT is run against."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.table.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_PREFIX: Final = "vcs_scratch_"
_NAME: Final = re.compile(rf"{_PREFIX}(\d+)_[0-9a-f]+")
KEPT: Final = 24 * 60 * 60
"""Seconds after which a schema of an engine that was killed is dropped by another."""


class ScratchSchema:
    """A schema that is created when it is first needed, and dropped at the end.

    Its name tells when it was made, so that a later engine can drop what one left that was
    killed. The tables are empty for all but the time of one statement, and their files are the
    repository's: dropping a schema loses nothing.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Take a clock in seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._name: str | None = None

    def table(self, spark: SparkSession) -> str:
        """Return the quoted name of a new table, which doesn't exist yet."""
        with self._lock:
            if self._name is None:
                self._sweep(spark)
                self._name = f"{_PREFIX}{int(self._clock())}_{uuid.uuid4().hex[:12]}"
            # Somebody may have taken it for one that was left.
            spark.sql(f"create schema if not exists {quoted(self._name)}")
            return f"{quoted(self._name)}.{quoted(f't_{uuid.uuid4().hex}')}"

    def drop(self, spark: SparkSession) -> None:
        """Drop the schema; a server that is gone keeps it for a later engine to drop."""
        with self._lock:
            if self._name is not None:
                spark.sql(f"drop schema if exists {quoted(self._name)} cascade")
                self._name = None

    def _sweep(self, spark: SparkSession) -> None:
        for row in spark.sql(f"show schemas like '{_PREFIX}*'").collect():
            found = _NAME.fullmatch(str(row[0]))
            if found is not None and int(found[1]) < self._clock() - KEPT:
                # Another engine may be dropping it, too.
                with suppress(VcsError):
                    spark.sql(f"drop schema if exists {quoted(str(row[0]))} cascade")
