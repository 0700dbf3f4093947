"""The choice of an engine by the profile's `method`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.methods import check_method
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.engines.server_address import REMOTE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def make_engine(
    blobs: Blobs,
    *,
    method: str = "session",
    settings: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
    given: Any = None,
    owner: str = "",
) -> Engine:
    """Return an engine; nothing starts before its first session is asked for.

    Args:
        blobs: The repository's store; the engine reads and writes below its `uri`.
        method: One of `methods.METHODS`.
        settings: The engine's own settings.
        storage_options: The store's own options, credentials among them.
        given: An existing session of the engine to use instead of a private one, if any.
        owner: Whose names the catalog shows, such as `<repository>@<branch>`.

    Raises:
        InputError: There is no such method, or the settings don't go with it.
    """
    check_method(method, settings)
    return _MAKERS[method](
        blobs, settings=settings, storage_options=storage_options, given=given, owner=owner
    )


def answering_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings together with those that every session gets; nothing starts."""
    from dbt.adapters.vcs.engines.dataframes.session_settings import session_defaults

    return {**session_defaults(settings.get("spark.master", "local[*]")), **settings}


def archived_classes(env: Mapping[str, str]) -> Path | None:
    """Return the archive with which the Spark of an environment starts sooner, if there is one.

    Raises:
        EngineError: There is no Java.
    """
    from dbt.adapters.vcs.engines.spark.process.class_archive import archive_of

    return archive_of(env)


def archive_classes(work: Sequence[str], env: Mapping[str, str]) -> Path:
    """Make that archive of what a command needs, which ends with `end_process`.

    Raises:
        EngineError: There is no folder for it, or no Java, or Java made none.
    """
    from dbt.adapters.vcs.engines.spark.process.class_archive import make_archive

    return make_archive(work, env)


def end_process() -> None:
    """Stop the Spark of this process for good, and wait for its own process to end."""
    from dbt.adapters.vcs.engines.spark.context import end_process

    end_process()


def _spark_here(
    blobs: Blobs,
    *,
    settings: Mapping[str, str] | None,
    storage_options: Mapping[str, str] | None,
    given: SparkSession | None,
    owner: str,
) -> Engine:
    # Imported only when chosen, so that commands without an engine start faster.
    from dbt.adapters.vcs.engines.spark.engine import SparkEngine

    return SparkEngine(
        blobs, settings=settings, storage_options=storage_options, spark=given, owner=owner
    )


def _spark_there(
    blobs: Blobs,
    *,
    settings: Mapping[str, str] | None,
    storage_options: Mapping[str, str] | None,
    given: Any,
    owner: str,
) -> Engine:
    if given is not None:
        raise InputError(
            "A connection makes its own session on a Spark Connect server. Give its address, "
            f"{{{REMOTE!r}: 'sc://...'}}, and no session."
        )
    from dbt.adapters.vcs.engines.connect.connect_engine import ConnectEngine

    return ConnectEngine(blobs, settings=settings, storage_options=storage_options)


_MAKERS: Final[Mapping[str, Callable[..., Engine]]] = {
    "session": _spark_here,
    "connect": _spark_there,
}
