"""The temporary views and functions that one session makes for a branch's names.

They go with the session, so nothing is left in a catalog, however the process ends. A view's
name is made from its contents and never means anything else: what a statement names stays as it
was, though a server analyses a query again whenever its rows are fetched.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.model import Field, RelationName
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs, each
from dbt.adapters.vcs.engines.dataframes.deletions import written_array
from dbt.adapters.vcs.engines.dataframes.frame_session import DEFAULTS
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import escaped_path
from dbt.adapters.vcs.engines.dataframes.mounting import (
    FooterChecks,
    Layout,
    Mounting,
    column_list,
    initial_value,
    lost_files,
    requiring_files,
)
from dbt.adapters.vcs.engines.dataframes.name_registry import MountedFiles, NameRegistry, rewritten
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.port import PRIVATE, Column, TableMount
from dbt.adapters.vcs.sql.syntax.lexer import tokenize
from dbt.adapters.vcs.sql.syntax.parser import query_of
from dbt.adapters.vcs.table.quoting import quoted, sql_type
from dbt.adapters.vcs.table.types import RAW_TYPE_KEY

# The same as for Spark in process: a server may have other settings.
_OPTIONS: Final = {
    "timeZone": "UTC",
    "mergeSchema": "false",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
}
_METADATA: Final = "_metadata"
# Spark's reader fills one column of positions, so where rows have one this lacks it. Spark fails
# if it is there and nothing reads it.
_NUMBERED: Final = f"struct({_METADATA}.file_path, {_METADATA}.file_modification_time) {_METADATA}"


class SessionViews:
    """Makes temporary views in one session, each once.

    Attributes:
        changes: How often the session's settings may have changed. A view keeps those with which
            it was made, so a query is made again after each change.
    """

    def __init__(
        self,
        spark: Any,
        registry: NameRegistry,
        *,
        blobs: Blobs,
        root: Callable[[], str],
        translated: Callable[[], Any],
        relations: Callable[..., ViewRelations] | None = None,
    ) -> None:
        """Take the session.

        Args:
            registry: What the names of the branch mean.
            root: Returns the repository as Spark names it.
            translated: Returns a block in which Spark's exceptions become ours.
            relations: Makes the relations of a version, as `ViewRelations`; None for those.
        """
        self.spark = spark
        self.registry = registry
        self._blobs = blobs
        self.root = root
        self._translated = translated
        self._relations = relations or ViewRelations
        self.changes = 0
        self._made: set[str] = set()
        self._versions: dict[str, threading.Lock] = {}
        self._types: dict[tuple[str, ...], Any] = {}
        self._footers = FooterChecks(blobs)

    def version(self, end: str, *, located: bool = False) -> str:
        """Return the view of what is mounted as `__vcs.<end>`, as SQL.

        Args:
            end: The end of the name: `s_<id>`, `l_<id>` with positions, or `v_<id>`.
            located: True for a view that has the column `_metadata`, if it is one of files.
        """
        mount = self.registry.versions[end]
        if end.startswith("v_"):
            return self.named(mount)
        name = RelationName(PRIVATE, end)
        located = located or end.startswith("l_")
        relations = self._relations(self, mount, located=located)
        # With `_metadata` it is another view.
        made = relations.own_name(name)
        # The forms of a version share views and lists of files; a list is written by one thread.
        with self._versions.setdefault(mount.id, threading.Lock()):
            if made not in self._made:
                self._footers.check(mount, self.root())
                base = RelationName(PRIVATE, f"s_{mount.id}")
                mounting = Mounting(base, mount, blobs=self._blobs, relations=relations)
                if end.startswith("l_"):
                    mounting.create_located(name)
                else:
                    mounting.create()
                self._made.add(made)
        return quoted(made)

    def named(self, mount: TableMount) -> str:
        """Return the view of a version with the table's column names, as SQL."""
        made = self.registry.own(f"v_{mount.id}")
        if made not in self._made:
            self.registry.versions[f"s_{mount.id}"] = mount
            physical = self.version(f"s_{mount.id}")
            ids = ", ".join(quoted(field.id) for field in mount.fields)
            columns = [(field.name, field.comment) for field in mount.fields]
            self.make(made, columns, f"select {ids} from {physical}")
        return quoted(made)

    def query(self, text: str, columns: Sequence[tuple[str, str | None]]) -> str:
        """Return the view of a query whose names are a session's own, as SQL."""
        # The settings count, since a view keeps those that it was made with.
        made = self.registry.own(f"q_{digest(repr((text, tuple(columns), self.changes)))}")
        if made not in self._made:
            self.make(made, columns, text)
        return quoted(made)

    def files(self, files: MountedFiles) -> str:
        """Return the view of files that are not versioned, as SQL.

        Raises:
            NotFoundError: There are none.
        """
        key = (files.location, files.format.lower(), files.options, files.edition)
        made = self.registry.own(f"f_{digest(repr(key))}")
        if made not in self._made:
            with requiring_files(files.format, files.location), self._translated():
                reader = self.spark.read.format(files.format).options(**dict(files.options))
                reader.load(files.location).createOrReplaceTempView(made)
            self._made.add(made)
        return quoted(made)

    def make(self, made: str, columns: Sequence[tuple[str, str | None]], text: str) -> None:
        """Make a view of a query."""
        self.spark.sql(
            f"create or replace temporary view {quoted(made)} {column_list(columns)} as {text}"
        )
        self._made.add(made)

    def table(
        self, made: str, mount: TableMount, files: Collection[str], read: Callable[[], Any]
    ) -> None:
        """Make a view of the frame that reads a version's files."""
        if made in self._made:
            return
        try:
            with self._translated():
                read().createOrReplaceTempView(made)
        except StatementError as error:
            if error.condition != "PATH_NOT_FOUND":
                raise
            # Spark names one missing file, and stops.
            there = sum(each(self._is_there, list(files)))
            if there == len(files):
                raise
            raise lost_files(mount, len(files), there) from error
        self._made.add(made)

    def schema(self, fields: Sequence[Field]) -> Any:
        """Return the schema of a version's files; where a file lacks a column it has a default."""
        return self._schema([(field.id, field.type, initial_value(field)) for field in fields])

    def declared(self, columns: Sequence[Column]) -> Any:
        """Return the schema of a table with some columns, for writes."""
        return self._schema([(column.name, column.type, column.default) for column in columns])

    def _schema(self, columns: Sequence[tuple[str, str, str | None]]) -> Any:
        """Return the schema for names, types and defaults as SQL."""
        from pyspark.sql.types import StructField, StructType

        found = []
        types = self.types([type_ for _, type_, _ in columns])
        for (name, text, default), type_ in zip(columns, types, strict=True):
            metadata: dict[str, Any] = {}
            if "char(" in text:
                # Spark's own way to keep the length of char and varchar.
                metadata[RAW_TYPE_KEY] = text
            if default is not None:
                metadata |= dict.fromkeys(DEFAULTS, default)
            found.append(StructField(name, type_, True, metadata))
        return StructType(found)

    def types(self, texts: Sequence[str]) -> list[Any]:
        """Return Spark's types for their texts."""
        key = tuple(texts)
        if not key:
            return []
        if key not in self._types:
            # A client can't parse the text of a type; the server does, for all of them in one
            # call.
            nulls = (f"cast(null as {sql_type(text)}) c{n}" for n, text in enumerate(texts))
            schema = self.spark.sql(f"select {', '.join(nulls)}").schema
            self._types[key] = [field.dataType for field in schema.fields]
        return list(self._types[key])

    def _is_there(self, file: str) -> bool:
        try:
            self._blobs.size(file)
        except NotFoundError:
            return False
        return True


class ViewRelations:
    """`Relations` as temporary views of a session.

    A view of files has the column `_metadata` only where it is needed: the server would compute
    it for each row.
    """

    # A server knows nothing of this process.
    writes_arrays = True

    def __init__(self, views: SessionViews, mount: TableMount, *, located: bool) -> None:
        self._views = views
        self._mount = mount
        self._located = located

    def own_name(self, name: RelationName) -> str:
        """Return the name of the view for a relation's."""
        end = "m" if self._located else "p"
        return self._views.registry.own(f"{name.identifier}_{end}")

    def first_number(self, layout: Layout, files: Collection[str]) -> str | None:
        """Return None: the server lists files itself, so they can't be given numbers."""
        return None

    def place(self, layout: Layout) -> str | None:
        """Return None, as there is no list to put it into."""
        return None

    def table(
        self,
        name: RelationName,
        fields: Sequence[Field],
        files: Collection[str],
        layout: Layout,
        numbers: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Make a view of files."""
        schema = self._views.schema(fields)
        if not files:
            self._views.spark.createDataFrame([], schema).createOrReplaceTempView(
                self.own_name(name)
            )
            return
        options = {**_OPTIONS, **self._folders(layout)}

        def read() -> Any:
            reader = self._views.spark.read.schema(schema).options(**options)
            frame = self._frame(reader, name, files, layout, numbers)
            # Which tombstone a row is from is seen from its file.
            is_tombstones = any(field.id == FILE_COLUMN for field in fields)
            has_metadata = self._located or layout.holed or is_tombstones
            # Nothing is asked of a single file whose rows have their positions.
            if not has_metadata or (numbers and len(files) == 1):
                return frame
            return frame.selectExpr("*", _NUMBERED if numbers else _METADATA)

        self._views.table(self.own_name(name), self._mount, files, read)

    def _folders(self, layout: Layout) -> dict[str, str]:
        """Return options for which folders are columns."""
        if layout.columns:
            return {"basePath": f"{self._views.root()}/{layout.base}"}
        return {"recursiveFileLookup": "true"}

    def _frame(
        self,
        reader: Any,
        name: RelationName,
        files: Collection[str],
        layout: Layout,
        numbers: Mapping[str, int],
    ) -> Any:
        return reader.parquet(*(escaped_path(f"{self._views.root()}/{file}") for file in files))

    def array(self, name: RelationName, numbers: npt.NDArray[np.int64]) -> str:
        """Return SQL for an array of bigints."""
        return written_array(numbers)

    def view(self, name: RelationName, query: str) -> None:
        """Make a view of a query over the version's other views."""
        # `Mounting` names relations as in a catalog; here they are views of the session.
        parsed = query_of(query, tokenize(query)[:-1])
        text = rewritten(
            query,
            parsed.reads,
            lambda read: (
                quoted(self.own_name(RelationName(PRIVATE, read.identifier)))
                if read.schema == PRIVATE
                else None
            ),
            lambda call: None,
        )
        self._views.make(self.own_name(name), (), text)


def digest(text: str) -> str:
    """Return a short name for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
