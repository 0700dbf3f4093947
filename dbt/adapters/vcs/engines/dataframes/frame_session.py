"""What sessions over data frames do alike, whichever engine computes the frames."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Field, RelationName, Tombstone
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.deletions import deletions_mount, is_listed
from dbt.adapters.vcs.engines.dataframes.spark_rows import columns_of_schema
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs, renamed
from dbt.adapters.vcs.engines.dataframes.writes import write_frame
from dbt.adapters.vcs.engines.engine_errors import sending
from dbt.adapters.vcs.engines.port import (
    Analysing,
    Column,
    Destination,
    SessionTemporaries,
    TableMount,
    TemporaryDefinition,
    Written,
)
from dbt.adapters.vcs.sql.syntax.lexer import tokenize
from dbt.adapters.vcs.table.quoting import quoted, quoted_relation, sql_type

DEFAULTS: Final = ("CURRENT_DEFAULT", "EXISTS_DEFAULT")
"""Metadata where Spark keeps a column's default: for writes, for rows older than the column."""

_NO_WRITE: Final = re.compile(r"\s*(?:set|reset|add|list)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedQuery:
    """`Analysed` by a session over data frames."""

    columns: tuple[Column, ...]
    is_repeatable: Callable[[], bool]
    write: Callable[[Destination], Written]


class Inserted(NamedTuple):
    """What an INSERT adds.

    Attributes:
        is_repeatable: As in `Written`.
    """

    frame: Any
    is_repeatable: Callable[[], bool] | None


class FrameSession(ABC):
    """The part of `Session` that needs only a session of Spark's, by py4j or by Connect."""

    is_here = False

    def __init__(
        self,
        spark: Any,
        jobs: StatementJobs,
        temporaries: SessionTemporaries,
        blobs: Blobs,
        root: Callable[[], str],
    ) -> None:
        """Take Spark's session, its statements, and the repository as we and Spark reach it."""
        self._spark = spark
        self._jobs = jobs
        self._temporaries = temporaries
        self._blobs = blobs
        self._root = root

    @abstractmethod
    def mount_physical(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation."""

    @abstractmethod
    def _sent_text(self, query_text: str) -> str:
        """Return the text of a query as Spark is given it."""

    @abstractmethod
    def analysed(self, query_text: str) -> AnalysedQuery:
        """Return a query with its names resolved; nothing is run, and no other statement."""

    @abstractmethod
    def _frame(self, sent: str) -> Any:
        """Return the data frame of a text as Spark is given it."""

    @abstractmethod
    def _is_repeatable(self, frame: Any, sent: str) -> bool:
        """Return whether computing the frame of a query again surely gives the same rows."""

    @abstractmethod
    def _new_table(self) -> str:
        """Return the quoted name of a table that doesn't exist yet, for one statement."""

    @abstractmethod
    def _insert_rows(
        self,
        text: str,
        stage: str,
        destination: Destination,
        columns: Sequence[Column],
        analysing: Analysing,
    ) -> AbstractContextManager[Inserted]:
        """Return a block with the rows that an INSERT into a new table would add."""

    @property
    def spark(self) -> Any:
        """The session itself; `cancel` does not cancel what runs through it."""
        return self._spark

    def statement(self) -> AbstractContextManager[None]:
        """Return a block that is one statement of this session."""
        return self._jobs.statement()

    def write(self, query_text: str, destination: Destination) -> Written:
        """Write a query's rows as Parquet files."""
        with self._jobs.run():
            return self.analysed(query_text).write(destination)

    def _write(self, sent: str, frame: Callable[[], Any], destination: Destination) -> Written:
        with sending(sent), self._jobs.run():
            return self._write_frame(frame(), destination)

    def _write_frame(self, frame: Any, destination: Destination) -> Written:
        return write_frame(frame, self._blobs, self._root(), destination, self._jobs)

    def insert(
        self,
        statement: Callable[[str], str],
        destination: Destination,
        *,
        columns: Sequence[Column],
        shown: Sequence[str] | None = None,
        name: RelationName | None = None,
        analysing: Analysing = nullcontext,
    ) -> Written:
        """Write the rows that an INSERT statement adds."""
        called = quoted_relation(name) if name else "the table"
        with self._jobs.run():
            # Spark applies column lists, defaults, casts and static partitions only to an INSERT
            # into a table that it knows.
            stage = self._new_table()
            text = statement(stage)
            with (
                renamed(stage, called),
                sending(text),
                self._jobs.run(),
                self._insert_rows(text, stage, destination, columns, analysing) as inserted,
            ):
                rows = inserted.frame.selectExpr(*(shown or [quoted(c.name) for c in columns]))
                written = self._write_frame(rows, destination)
                return replace(written, is_repeatable=inserted.is_repeatable)

    def check_default(self, expression: str, type: str) -> None:
        """Require that an expression can be the default of a column of a type."""
        with self._jobs.run():
            table = self._new_table()
            # Only DDL applies all of Spark's rules; it makes an empty folder and no file.
            text = f"create table {table} (c {sql_type(type)} default {expression}) using parquet"
            with sending(text), self._jobs.run():
                self._spark.sql(text)
                self._spark.sql(f"drop table {table}")

    def mount_deleted(
        self,
        tombstones: Sequence[Tombstone],
        files: Collection[str],
        fields: Sequence[Field] = (),
    ) -> tuple[str, str]:
        """Mount the rows that tombstones delete from some files."""
        mount = deletions_mount(tombstones, fields)
        return self.mount_physical(mount), is_listed(tombstones, files)

    def relation_columns(self, name: RelationName | str) -> tuple[Column, ...]:
        """Return the columns of a mounted relation or of a temporary view."""
        text = quoted(name) if isinstance(name, str) else quoted_relation(name)
        with self._jobs.run():
            return columns_of_schema(self._frame(self._sent_text(f"table {text}")).schema)

    def temporary_views(self) -> frozenset[str]:
        """Return the temporary views of this session."""
        with self._jobs.run():
            return self._temporaries.temporary_views()

    def temporary_view(self, name: str) -> TemporaryDefinition | None:
        """Return what a temporary view was made of."""
        with self._jobs.run():
            return self._temporaries.temporary_view(name)

    def temporary_functions(self) -> frozenset[str]:
        """Return the temporary functions of this session."""
        with self._jobs.run():
            return self._temporaries.temporary_functions()

    def temporary_function(self, name: str) -> TemporaryDefinition | None:
        """Return what a temporary function was made of."""
        with self._jobs.run():
            return self._temporaries.temporary_function(name)

    def setting(self, key: str) -> str | None:
        """Return an engine setting as this session sees it."""
        with self._jobs.run():
            value: str | None = self._spark.conf.get(key, None)
            return value

    def cancel(self) -> None:
        """Cancel the running statement."""
        self._jobs.cancel()

    def close(self) -> None:
        """Cancel the running statement and refuse further ones."""
        self._jobs.close()

    def _refuse_hidden_write(self, text: str) -> None:
        """Refuse to write to a directory that a setting names, which Spark puts into the text."""
        # Spark replaces `${...}` before it parses; our reader sees the text from before.
        if "${" not in text or _NO_WRITE.match(text) or tokenize(text)[0].word == "explain":
            return
        # Only a statement that runs is given the settings of this session.
        plan = self._spark.sql(f"explain extended {text}").collect()[0][0]
        if "InsertIntoDir" in plan:
            raise UnsupportedError(
                "`insert overwrite directory` takes no settings (`${...}`) in its text: write the "
                "location and the query out."
            )


def declared_columns(columns: Sequence[Column]) -> str:
    """Return the declaration of columns in `create table`, with the defaults that writes use."""
    return ", ".join(
        f"{quoted(column.name)} {sql_type(column.type)}"
        + (f" default {column.default}" if column.default is not None else "")
        for column in columns
    )
