"""The catalog of one engine: immutable mounts, and views with logical names over them."""

from __future__ import annotations

import hashlib
import itertools
import re
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.mounting import (
    FooterChecks,
    Mounting,
    column_list,
    requiring_files,
)
from dbt.adapters.vcs.engines.port import PRIVATE, Placeholder, TableMount
from dbt.adapters.vcs.engines.spark.catalog_placeholders import CatalogPlaceholders
from dbt.adapters.vcs.engines.spark.catalog_relations import (
    CatalogRelations,
    Lists,
    MountedVersion,
)
from dbt.adapters.vcs.engines.spark.function_registry import SharedArrays
from dbt.adapters.vcs.engines.spark.jobs import translated
from dbt.adapters.vcs.engines.spark.plans import run_command
from dbt.adapters.vcs.table.quoting import literal, options_clause, quoted, quoted_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Hive's name, and yet it holds for every catalog.
_PARTITIONS_IN_CATALOG: Final = "spark.sql.hive.manageFilesourcePartitions"
# How many versions that nothing shows stay mounted, since a later statement may read them.
_UNUSED: Final = 100

# Names of versions in the texts of views: `s_`, `l_` or `v_`, and the id.
_MOUNTED: Final = re.compile(r"\b[slv]_(\w+)")


class Reader(Protocol):
    """A session that reads the catalog."""

    @property
    def spark(self) -> SparkSession:
        """Spark's session."""

    @property
    def versions(self) -> set[str]:
        """The ids of the versions that its present statement has mounted."""

    def temporary_texts(self) -> Iterable[str]:
        """Return the texts of its temporary views and functions."""


class Catalog:
    """The names that all sessions of one engine share. Safe to use from several threads.

    The repository's location for Spark is resolved with the first read or write of a file,
    since an empty repository may be where Spark can't reach it, such as in memory.
    """

    def __init__(self, blobs: Blobs, root: Callable[[], str]) -> None:
        """Take the repository's store, and a function that returns its root for Spark."""
        self._blobs = blobs
        self._root = root
        self._folder = tempfile.TemporaryDirectory(prefix="dbt-vcs-", ignore_cleanup_errors=True)
        self._lock = threading.Lock()
        # A lock for each name, so that two threads mount different versions at the same time, and
        # none mounts a version twice. One lock would make the slowest mount everybody's.
        self._locks: weakref.WeakValueDictionary[str, threading.Lock] = (
            weakref.WeakValueDictionary()
        )
        self._schemas: set[str] = set()
        # Weak, so that a session that ends does not keep versions mounted.
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._numbers = itertools.count()
        # By id, those that were mounted longest ago first.
        self._versions: dict[str, MountedVersion] = {}
        self._most_versions = 0
        self._files: set[str] = set()
        self._footers = FooterChecks(blobs)
        self._shown: dict[RelationName, str | None] = {}
        self._texts: dict[RelationName, str] = {}
        self._functions: dict[RelationName, str] = {}
        self._placeholders: CatalogPlaceholders | None = None
        self._arrays = SharedArrays()

    @property
    def root(self) -> str:
        """The repository as Spark names it."""
        return self._root()

    @property
    def warehouse(self) -> str:
        """A folder for directories that Spark insists on creating; it holds no data."""
        return self._folder.name

    def attach(self, reader: Reader) -> None:
        """Let a session read what is mounted."""
        with self._lock:
            self._readers.add(reader)
        self._arrays.attach(reader.spark)

    def lists(self) -> tuple[Lists, ...]:
        """Return what a query of this moment may read; it stays as long as these do."""
        return tuple(version.lists for version in list(self._versions.values()))

    def ensure_schema(self, spark: SparkSession, schema: str) -> None:
        """Create a database if it doesn't exist."""
        with self._lock_of(f"schema {schema}"):
            if schema in self._schemas:
                return
            # Each catalog has that one; to say so, Spark would first load all that it can say.
            if schema != "default":
                # Spark creates a folder for each; a schema's name may not be valid for a folder.
                folder = Path(self.warehouse) / hashlib.sha256(schema.encode()).hexdigest()[:16]
                location = literal(f"file:{folder}")
                run_command(
                    spark, f"create database if not exists {quoted(schema)} location {location}"
                )
            if schema != PRIVATE:
                # Decision 16: a table that a DataFrame saved here would never be committed.
                self._placeholders_of(spark).wall(schema)
            self._schemas.add(schema)

    def mount_rows(self, reader: Reader, mount: TableMount, *, located: bool) -> str:
        """Make a version readable by its own name, once, and return that name.

        With `located`, the rows' positions are two more columns, under another name.
        """
        name = RelationName(PRIVATE, f"{'l' if located else 's'}_{mount.id}")
        with self._version(reader, mount) as version:
            if name.identifier not in version.complete:
                mounting = self._mounting(reader.spark, mount, version)
                if located:
                    self._footers.check(mount, self.root)
                    mounting.create_located(name)
                else:
                    mounting.create(self._query(reader.spark, mount, version))
                version.complete.add(name.identifier)
        self._drop_unused()
        return quoted_relation(name)

    @contextmanager
    def _version(self, reader: Reader, mount: TableMount) -> Iterator[MountedVersion]:
        """Hold a version's lock within a block, for a session that may name the version then."""
        self.ensure_schema(reader.spark, PRIVATE)
        # Before its lock is waited for: whoever holds that may be dropping the version.
        reader.versions.add(mount.id)
        with self._lock_of(f"mount {mount.id}"):
            with self._lock:
                version = self._versions.pop(mount.id, None)
                if version is None:
                    folder = Path(self.warehouse) / "lists" / str(next(self._numbers))
                    version = MountedVersion(Lists(folder))
                self._versions[mount.id] = version
            yield version

    def _query(self, spark: SparkSession, mount: TableMount, version: MountedVersion) -> str:
        """Return a query for the rows of a version, whose lock is held; make its tables once."""
        if version.query is None:
            self._footers.check(mount, self.root)
            version.query = self._mounting(spark, mount, version).query()
        return version.query

    def _drop_unused(self) -> None:
        """Drop what was mounted longest ago of the versions that nothing shows.

        A long session would otherwise keep the tables of every version that it ever read.
        """
        with self._lock:
            if len(self._versions) <= self._most_versions:
                return
            readers = list(self._readers)
            texts = list(self._texts.values())
            known = list(self._versions)
        texts += (text for reader in readers for text in reader.temporary_texts())
        needed = set[str]().union(*(reader.versions for reader in readers))
        for text in texts:
            for name in set(_MOUNTED.findall(text)):
                # The tables of a version have its id and more in their names.
                while name:
                    needed.add(name)
                    name = name.rpartition("_")[0]
        free = [id for id in known if id not in needed]
        for id in free[: max(0, len(free) - _UNUSED)]:
            self._drop(id)
        self._footers.forget()
        # Looking takes time, too, so the next time is after as many more.
        self._most_versions = len(self._versions) + _UNUSED

    def _drop(self, id: str) -> None:
        """Drop a version, unless somebody has come to need it."""
        lock = self._lock_of(f"mount {id}")
        if not lock.acquire(blocking=False):
            return
        try:
            with self._lock:
                readers = list(self._readers)
                if any(id in reader.versions for reader in readers):
                    return
                version = self._versions.pop(id, None)
            if version is None or not readers:
                return
            named = RelationName(PRIVATE, f"v_{id}")
            with self._lock_of(f"name {named}"):
                if self._shown.pop(named, None) is not None:
                    version.relations.add(named)
            java: Any = readers[0].spark._jsparkSession
            catalog = java.sharedState().externalCatalog()
            # Not by statements, which would take Spark many times as long.
            for name in version.relations:
                catalog.dropTable(name.schema, name.identifier, True, False)
            for name in version.arrays:
                self._arrays.remove(name, catalog)
            for reader in readers:
                session: Any = reader.spark._jsparkSession
                # A session keeps the files that it found for a table.
                session.sessionState().catalog().invalidateAllCachedTables()
        finally:
            lock.release()

    def _mounting(
        self, spark: SparkSession, mount: TableMount, version: MountedVersion
    ) -> Mounting:
        name = RelationName(PRIVATE, f"s_{mount.id}")
        relations = CatalogRelations(
            spark,
            mount,
            blobs=self._blobs,
            root=self.root,
            version=version,
            arrays=self._arrays,
        )
        return Mounting(name, mount, blobs=self._blobs, relations=relations)

    def mount_table(self, reader: Reader, name: RelationName, mount: TableMount) -> None:
        """Show a version under a logical name."""
        # Each view that a query goes through takes Spark some milliseconds.
        with self._version(reader, mount) as version:
            query = self._query(reader.spark, mount, version)
        with self._lock_of(f"name {name}"):
            if self._shown.get(name) != mount.id:
                columns = column_list([(field.name, field.comment) for field in mount.fields])
                self._show(reader.spark, name, columns, query, mount.id)
        self._drop_unused()

    def mount_view(
        self,
        spark: SparkSession,
        name: RelationName,
        text: str,
        columns: Sequence[tuple[str, str | None]],
    ) -> None:
        """Show a query under a logical name."""
        with self._lock_of(f"name {name}"):
            self._show(spark, name, column_list(columns), text)

    def mount_files(
        self,
        spark: SparkSession,
        name: RelationName,
        *,
        location: str,
        format: str,
        options: Mapping[str, str],
    ) -> None:
        """Show files that are not versioned under a logical name."""
        stored = {key: value for key, value in options.items() if key.lower() != "path"}
        key = repr((location, format.lower(), sorted(stored.items())))
        id = f"f_{hashlib.sha256(key.encode()).hexdigest()[:32]}"
        physical = quoted_relation(RelationName(PRIVATE, id))
        self.ensure_schema(spark, PRIVATE)
        with self._lock_of(f"mount {id}"):
            # Files that are not versioned may have changed; Spark lists a table's files only once.
            if id in self._files:
                run_command(spark, f"refresh table {physical}")
            else:
                given = options_clause({**stored, "path": location})
                with requiring_files(format, location), translated(), _listing_partitions(spark):
                    run_command(
                        spark,
                        f"create table if not exists {physical} using {quoted(format)} "
                        f"options ({given})",
                    )
                self._files.add(id)
        with self._lock_of(f"name {name}"):
            self._show(spark, name, "", f"select * from {physical}")

    def unmount(self, spark: SparkSession, name: RelationName) -> None:
        """Remove a logical name."""
        with self._lock_of(f"name {name}"):
            self._shown.pop(name, None)
            self._texts.pop(name, None)
            if name.schema in self._schemas:
                run_command(spark, f"drop view if exists {quoted_relation(name)}")

    def mount_function(
        self, spark: SparkSession, name: RelationName, id: str, definition: str
    ) -> None:
        """Create a function from the text after its name, unless this version exists."""
        with self._lock_of(f"function {name}"):
            if self._functions.get(name) == id:
                return
            self._functions.pop(name, None)
            # Known before the function is there: it names versions, which must not be dropped.
            self._texts[name] = definition
            self.ensure_schema(spark, name.schema)
            # `create or replace` does not replace a function of another kind.
            run_command(spark, f"drop function if exists {quoted_relation(name)}")
            run_command(spark, f"create function {quoted_relation(name)}{definition}")
            self._functions[name] = id

    def unmount_function(self, spark: SparkSession, name: RelationName) -> None:
        """Remove a function."""
        with self._lock_of(f"function {name}"):
            if self._functions.pop(name, None) is not None:
                self._texts.pop(name, None)
                run_command(spark, f"drop function if exists {quoted_relation(name)}")

    @contextmanager
    def with_placeholders(
        self, spark: SparkSession, placeholders: Mapping[RelationName, Placeholder]
    ) -> Iterator[None]:
        """Show placeholders under names within a block, and remove them after it."""
        board = self._placeholders_of(spark)
        self.ensure_schema(spark, PRIVATE)
        # Asked before the views go: placeholders must show the columns as their queries name them.
        queried = {name: board.query_columns(name) for name in placeholders}
        for name in placeholders:
            self.ensure_schema(spark, name.schema)
            self.unmount(spark, name)
        try:
            for name, placeholder in placeholders.items():
                board.put_up(name, placeholder, queried[name])
            yield
        finally:
            for name in placeholders:
                board.take_down(name)

    def close(self) -> None:
        """Remove the temporary folder."""
        self._folder.cleanup()

    def _show(
        self,
        spark: SparkSession,
        name: RelationName,
        columns: str,
        query: str,
        id: str | None = None,
    ) -> None:
        self._shown.pop(name, None)
        if not (name.schema == PRIVATE and id is not None):
            # A name of the version's own goes with it.
            self._texts[name] = query
        self.ensure_schema(spark, name.schema)
        run_command(spark, f"create or replace view {quoted_relation(name)} {columns} as {query}")
        self._shown[name] = id

    def _placeholders_of(self, spark: SparkSession) -> CatalogPlaceholders:
        with self._lock:
            if self._placeholders is None:
                self._placeholders = CatalogPlaceholders(spark, PRIVATE)
            return self._placeholders

    def _lock_of(self, key: str) -> threading.Lock:
        """Return the lock of a key, which is forgotten when nobody holds it or waits for it."""
        with self._lock:
            lock = self._locks.get(key)
            if lock is None:
                lock = self._locks[key] = threading.Lock()
            return lock


@contextmanager
def _listing_partitions(spark: SparkSession) -> Iterator[None]:
    """Create tables whose partitions are the existing folders.

    Otherwise Spark would look for partitions in the catalog, find none, and read no rows.
    """
    before = spark.conf.get(_PARTITIONS_IN_CATALOG)
    spark.conf.set(_PARTITIONS_IN_CATALOG, "false")
    try:
        yield
    finally:
        spark.conf.set(_PARTITIONS_IN_CATALOG, str(before))
