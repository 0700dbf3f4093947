"""A SparkSession made by somebody else, used with its own catalog."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.dataframes.numbered_frames import NUMBERING
from dbt.adapters.vcs.engines.dataframes.session_settings import COMMIT_PROTOCOL, VERIFY_PAGES
from dbt.adapters.vcs.engines.port import PRIVATE
from dbt.adapters.vcs.engines.spark.catalog import Catalog
from dbt.adapters.vcs.engines.spark.process.spark_errors import translated
from dbt.adapters.vcs.rows.quoting import literal, quoted, quoted_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MARK: Final = "dbt-vcs shows "
_WRITING: Final = {
    # INT96, Spark's default, has no bounds in footers, and other readers stop at the year 2262.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    **COMMIT_PROTOCOL,
    **NUMBERING,
    VERIFY_PAGES: "true",
}
"""Settings with which a session writes blocks, and reads them."""


class Adoption(NamedTuple):
    """What to undo when the session is given back.

    Attributes:
        token: Distinguishes this use of the catalog from a later one by the same owner.
        settings: The previous values of the settings; None for one that was not set.
    """

    token: str
    settings: Mapping[str, str | None]


def adopt(spark: SparkSession, catalog: Catalog, owner: str) -> Adoption:
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
        if mark is not None and mark[0] != owner:
            raise InputError(
                f"This SparkSession already shows {mark[0]}, so it can't show {owner}. Close that "
                "connection first, or leave `spark` out (newSession() would share the catalog)."
            )
        token = uuid.uuid4().hex
        catalog.ensure_schema(spark, PRIVATE)
        comment = literal(f"{_MARK}{owner} {token}")
        spark.sql(f"comment on database {quoted(PRIVATE)} is {comment}")
        before = {key: spark.conf.get(key, None) for key in _WRITING}
        for key, value in _WRITING.items():
            spark.conf.set(key, value)
        return Adoption(token, before)


def release(spark: SparkSession, catalog: Catalog, adoption: Adoption) -> None:
    """Remove what was shown, and the mark, unless the same owner uses the catalog again."""
    with translated():
        mark = _mark(spark)
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
