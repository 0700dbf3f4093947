"""This process as Spark's driver, for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.core.repository import Repository

from .daemons import wait_for

SCHEMA = "shop"
Open = Callable[..., Client]


@contextmanager
def driver(settings: Mapping[str, str]) -> Iterator[Open]:
    """Yield what opens a branch of a repository; its application ends with the block.

    As long as it runs it has the whole cluster.
    """
    clients: list[Client] = []

    def opened(repository: Path, branch: str = "main") -> Client:
        is_new = not repository.exists()
        client = connect(
            str(repository), branch, schema=SCHEMA, create=is_new, spark=settings, author="ann"
        )
        clients.append(client)
        if is_new:
            client.sql(f"create schema {SCHEMA}")
        return client

    try:
        yield opened
    finally:
        for client in clients:
            client.close()
        stop_spark()


def stop_spark() -> None:
    """End this process's application, if it runs one."""
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()


def executors(number: int) -> None:
    """Wait until so many executors are there."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context

    def known() -> bool:
        # The driver is one of them.
        return bool(context._jsc.sc().getExecutorMemoryStatus().size() == number + 1)

    wait_for(known, lambda: f"{number} executors were expected")


def rows_of(client: Client, name: str, key: str = "id") -> dict[Any, dict[str, Any]]:
    """Read a whole table with Spark; return its rows by key."""
    rows = client.sql(f"select * from {name}").to_pylist()
    found = {row[key]: row for row in rows}
    assert len(found) == len(rows), f"{len(rows) - len(found)} rows of {name} are there twice"
    return found


def check(repository: Repository) -> None:
    """Check every byte that a commit needs."""
    assert check_repository(repository, data=DataCheck()).problems == ()
