"""A SparkSession that somebody else made, used with its own catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.catalog import PRIVATE, Catalog
from dbt.adapters.vcs.engines.errors import translated
from dbt.adapters.vcs.engines.quoting import quoted, quoted_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MARK: Final = "dbt-vcs shows "


def adopt(spark: SparkSession, catalog: Catalog, owner: str) -> None:
    """Mark a session's catalog as showing an owner's names.

    Raises:
        InputError: It is no session of this process, its catalog is not in memory, or it shows
            another owner's names.
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
                f"The SparkSession's catalog is {kind!r}; dbt-vcs needs one in memory. Build the "
                "session without enableHiveSupport(), or leave `spark` out."
            )
        mark = _mark_of(spark)
        if mark is not None and mark != owner:
            raise InputError(
                f"This SparkSession shows {mark} already, so it can't show {owner}. Close that "
                "connection first, or use another SparkSession (spark.newSession() shares the "
                "catalog and does not help), or leave `spark` out."
            )
        if mark is None:
            catalog.ensure_schema(spark, PRIVATE, comment=_MARK + owner)


def release(spark: SparkSession, catalog: Catalog) -> None:
    """Remove every name that was shown, and the mark."""
    with translated():
        for name in catalog.shown:
            spark.sql(f"drop view if exists {quoted_relation(name)}")
        spark.sql(f"drop database if exists {quoted(PRIVATE)} cascade")


def _mark_of(spark: SparkSession) -> str | None:
    if not spark.catalog.databaseExists(PRIVATE):
        return None
    comment = spark.catalog.getDatabase(PRIVATE).description or ""
    return comment.removeprefix(_MARK)
