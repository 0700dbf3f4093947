"""What sessions over data frames do alike, whichever engine computes the frames."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Field, RelationName, Tombstone
from dbt.adapters.vcs.engines.dataframes.deletions import deletions_mount, is_listed
from dbt.adapters.vcs.engines.dataframes.spark_rows import columns_of_schema
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.port import (
    Column,
    TableMount,
    TableParts,
    TemporaryDefinition,
    whole_table,
)
from dbt.adapters.vcs.sql.syntax.lexer import tokenize
from dbt.adapters.vcs.table.quoting import quoted, quoted_relation

if TYPE_CHECKING:
    import pyarrow as pa

_NO_WRITE: Final = re.compile(r"\s*(?:set|reset|add|list)\b", re.IGNORECASE)


class LocalNames(Protocol):
    """The temporary views and functions of one session."""

    def views(self) -> frozenset[str]:
        """Return the names of the views."""
        ...

    def view(self, name: str) -> TemporaryDefinition | None:
        """Return what a view was made of."""
        ...

    def functions(self) -> frozenset[str]:
        """Return the names of the functions."""
        ...

    def function(self, name: str) -> TemporaryDefinition | None:
        """Return what a function was made of."""
        ...


class FrameSession(ABC):
    """The part of `Session` that needs only a session of Spark's, by py4j or by Connect."""

    def __init__(self, spark: Any, jobs: StatementJobs, temporary: LocalNames) -> None:
        self._frames = spark
        self._running = jobs
        self._local = temporary

    @abstractmethod
    def mount_physical(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation."""

    @abstractmethod
    def _relation(self, quoted_name: str) -> Any:
        """Return a relation or temporary view as a data frame; nothing is run."""

    def mount_deleted(
        self,
        tombstones: Sequence[Tombstone],
        files: Collection[str],
        fields: Sequence[Field] = (),
    ) -> tuple[str, str]:
        """Mount the rows that tombstones delete from some files."""
        mount = deletions_mount(tombstones, fields)
        return self.mount_physical(mount), is_listed(tombstones, files)

    def mount_arrow(self, name: str, rows: pa.Table | TableParts, *, lasting: bool = False) -> str:
        """Return the quoted name of a temporary view with rows of this process."""
        from pyspark.sql.pandas.types import from_arrow_schema

        table = whole_table(rows)
        with self._running.run():
            # Without it Spark reads timestamp_ntz as timestamp.
            schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
            self._frames.createDataFrame(table, schema).createOrReplaceTempView(name)
        return quoted(name)

    def relation_columns(self, name: RelationName | str) -> tuple[Column, ...]:
        """Return the columns of a mounted relation or of a temporary view."""
        text = quoted(name) if isinstance(name, str) else quoted_relation(name)
        with self._running.run():
            return columns_of_schema(self._relation(text).schema)

    def temporary_views(self) -> frozenset[str]:
        """Return the temporary views of this session."""
        with self._running.run():
            return self._local.views()

    def temporary_view(self, name: str) -> TemporaryDefinition | None:
        """Return what a temporary view was made of."""
        with self._running.run():
            return self._local.view(name)

    def temporary_functions(self) -> frozenset[str]:
        """Return the temporary functions of this session."""
        with self._running.run():
            return self._local.functions()

    def temporary_function(self, name: str) -> TemporaryDefinition | None:
        """Return what a temporary function was made of."""
        with self._running.run():
            return self._local.function(name)

    @property
    def is_here(self) -> bool:
        """False: see `RowSession`."""
        return False

    def setting(self, key: str, default: str | None = None) -> str | None:
        """Return an engine setting as this session sees it."""
        with self._running.run():
            value: str | None = self._frames.conf.get(key, default)
            return value

    def cancel(self) -> None:
        """Cancel the running statement."""
        self._running.cancel()

    def close(self) -> None:
        """Cancel the running statement and refuse further ones."""
        self._running.close()

    def _refuse_hidden_write(self, text: str) -> None:
        """Refuse to write to a directory that a setting names, which Spark puts into the text."""
        if "${" not in text or _NO_WRITE.match(text) or tokenize(text)[0].word == "explain":
            return
        # Only a statement that runs is given the settings of this session.
        plan = self._frames.sql(f"explain extended {text}").collect()[0][0]
        if "InsertIntoDir" in plan:
            raise UnsupportedError(
                "`insert overwrite directory` takes no settings (`${...}`) in its text: write the "
                "location and the query out."
            )
