"""The rows that an INSERT statement adds, as a frame of a session that renames.

A server doesn't hand out the plan of a statement. Where the types of the query are the table's,
INSERT does nothing to its rows, and they are the query's. Otherwise the statement runs against a
table of its own, and its rows are what is there.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from dbt.adapters.vcs.core.errors import UnsupportedError, VcsError
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.engines.dataframes.frame_session import declared_columns
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import escaped_path
from dbt.adapters.vcs.engines.dataframes.session_text import SessionText
from dbt.adapters.vcs.engines.dataframes.spark_rows import columns_of_schema
from dbt.adapters.vcs.engines.port import Column
from dbt.adapters.vcs.sql.syntax.insertion import Insert
from dbt.adapters.vcs.sql.syntax.lexer import tokenize
from dbt.adapters.vcs.sql.syntax.parser import Statement, parse
from dbt.adapters.vcs.table.quoting import literal, quoted, sql_type


def plain_rows(
    spark: Any, texts: SessionText, insert: Insert, columns: Sequence[Column]
) -> Any | None:
    """Return the rows of an INSERT as those of its query; None if INSERT may change them."""
    if insert.columns or insert.partition or _names_defaults(insert):
        return None
    frame: Any = spark.sql(texts.query(insert.query))
    # By name Spark reorders; in the table's order there is nothing to reorder.
    if insert.by_name and frame.columns != [column.name for column in columns]:
        return None
    found = [column.type for column in columns_of_schema(frame.schema)]
    same = found == [column.type for column in columns]
    # INSERT checks the length of text, and pads it.
    if not same or any(type_of(type_).length is not None for type_ in found):
        return None
    return frame.toDF(*(column.name for column in columns))


@contextmanager
def staged_rows(
    spark: Any,
    texts: SessionText,
    insert: Insert,
    stage: str,
    *,
    place: str,
    partition_by: Sequence[str],
    columns: Sequence[Column],
) -> Iterator[Any]:
    """Run an INSERT; yield the rows within the block.

    Args:
        insert: The statement; its target is `stage`.
        stage: The name of a table that doesn't exist yet.
        place: Where its files are, as Spark names it.
        partition_by: Names of the partition columns.
        columns: The table's columns.
    """
    ordered = partitions_last(columns, partition_by)
    text = without_partition(insert, stage, ordered)
    # Spark takes a table's path for a pattern, so one with such characters can't be a table's.
    options = f" options (path {literal(place)})" if escaped_path(place) == place else ""
    spark.sql(f"create table {stage} ({declared_columns(ordered)}) using parquet{options}")
    try:
        spark.sql(texts.sent(text))
        yield spark.table(stage)
    finally:
        spark.sql(f"drop table if exists {stage}")


def partitions_last(columns: Sequence[Column], partition_by: Sequence[str]) -> list[Column]:
    """Return columns with those of the partitions last, where INSERT expects them."""
    last = {name.lower() for name in partition_by}
    ordered = [column for column in columns if column.name.lower() not in last]
    for name in partition_by:
        ordered += [column for column in columns if column.name.lower() == name.lower()]
    return ordered


def without_partition(insert: Insert, stage: str, columns: Sequence[Column]) -> str:
    """Return an INSERT in which the values of a partition clause are columns of the query.

    The stage isn't partitioned: folder names would turn an empty text into NULL.
    """
    if not insert.partition:
        return insert.text
    if _names_defaults(insert):
        raise UnsupportedError(
            "In this session an INSERT with a partition clause takes no DEFAULT. Leave the "
            "partition clause out, and give the partition columns in a column list."
        )
    types = {column.name.lower(): column.type for column in columns}
    static = {
        spec.name: f"cast({spec.value_sql} as {sql_type(types[spec.name.lower()])})"
        for spec in insert.partition
        if spec.value_sql is not None
    }
    values = "".join(f", {value} as {quoted(name)}" for name, value in static.items())
    query = f"select *{values} from (\n{insert.query.text}\n)"
    if insert.by_name:
        return f"insert into {stage} by name {query}"
    known = {name.lower() for name in static}
    own = insert.columns or tuple(c.name for c in columns if c.name.lower() not in known)
    names = ", ".join(map(quoted, (*own, *static)))
    return f"insert into {stage} ({names}) {query}"


def parsed_insert(text: str, stage: str) -> Insert:
    """Return a statement as the one INSERT that it has to be.

    Raises:
        UnsupportedError: It isn't.
    """
    found: Statement | None
    try:
        found = parse(text)
    except UnsupportedError:
        found = None
    if not isinstance(found, Insert):
        raise UnsupportedError(
            f"Expected one INSERT into {stage}. Write one INSERT per statement, into one table."
        )
    return found


def _names_defaults(insert: Insert) -> bool:
    return any(token.word == "default" for token in tokenize(insert.query.text))


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

    def table(self, spark: Any) -> str:
        """Return the quoted name of a new table, which doesn't exist yet."""
        with self._lock:
            if self._name is None:
                self._sweep(spark)
                self._name = f"{_PREFIX}{int(self._clock())}_{uuid.uuid4().hex[:12]}"
            # Somebody may have taken it for one that was left.
            spark.sql(f"create schema if not exists {quoted(self._name)}")
            return f"{quoted(self._name)}.{quoted(f't_{uuid.uuid4().hex}')}"

    def drop(self, spark: Any) -> None:
        """Drop the schema; a server that is gone keeps it for a later engine to drop."""
        with self._lock:
            if self._name is not None:
                spark.sql(f"drop schema if exists {quoted(self._name)} cascade")
                self._name = None

    def _sweep(self, spark: Any) -> None:
        for row in spark.sql(f"show schemas like '{_PREFIX}*'").collect():
            found = _NAME.fullmatch(str(row[0]))
            # A day: no statement of a live engine takes as long.
            if found is not None and int(found[1]) < self._clock() - KEPT:
                # Another engine may be dropping it, too.
                with suppress(VcsError):
                    spark.sql(f"drop schema if exists {quoted(str(row[0]))} cascade")
