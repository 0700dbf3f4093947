"""Which engine computes many rows: DuckDB in this process, or Spark.

| the rows                                     | are computed by                                  |
|----------------------------------------------|--------------------------------------------------|
| few, of types that Arrow has                 | this process, column by column (`table.limits`)  |
| more                                         | DuckDB in this process, spilling to disk         |
| of types that only Spark has, or as asked    | Spark                                            |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.port import RowSession
from dbt.adapters.vcs.table.files.block_reader import is_readable

ENGINE: Final = "DBT_VCS_ENGINE"
"""Variable of the environment: `spark` to compute there what DuckDB could, too."""

_ENGINES: Final = ("duckdb", "spark")


@contextmanager
def row_session(
    blobs: Blobs, fields: Sequence[Field], sessions: Callable[[], RowSession] | None
) -> Iterator[RowSession]:
    """Yield the session that computes rows with some columns.

    Args:
        sessions: Returns Spark's session; None if there is none.

    Raises:
        UnsupportedError: Only Spark has the type of a column, and there is no session of it.
        InputError: A setting of the engine can't be used.
    """
    if not is_for_spark(fields):
        # DuckDB takes a twentieth of a second to load: only where rows are computed.
        from dbt.adapters.vcs.engines.local_session import LocalSession

        with LocalSession(blobs) as session:
            yield session
        return
    if sessions is None:
        # There may be none: then somebody asked for Spark.
        only = ", ".join(f"{f.name} ({f.type})" for f in fields if not is_readable(f))
        raise UnsupportedError(
            f"Expected columns that can be computed without Spark, found {only or 'a request'} "
            f"for Spark where there is none. Use a connection that has Spark."
        )
    yield sessions()


def is_for_spark(fields: Sequence[Field]) -> bool:
    """Return whether only Spark computes rows with some columns: it is asked for, or they need it.

    Raises:
        InputError: The environment names another engine.
    """
    asked = os.environ.get(ENGINE, "").strip().lower() or _ENGINES[0]
    if asked not in _ENGINES:
        raise InputError(
            f"Expected {' or '.join(_ENGINES)} in {ENGINE}, found {asked!r}. Set it to one of "
            "them, or unset it."
        )
    return asked == "spark" or not all(map(is_readable, fields))
