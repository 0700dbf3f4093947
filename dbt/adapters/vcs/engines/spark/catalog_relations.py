"""Relations of Spark's catalog for the versions of tables."""

from __future__ import annotations

import json
import os
import shutil
import weakref
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from dbt.adapters.vcs.core.errors import EngineError, NotFoundError
from dbt.adapters.vcs.core.model import Field, RelationName
from dbt.adapters.vcs.core.model.snapshot import RESERVED
from dbt.adapters.vcs.core.store.blobs import Blobs, each
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import exact_files
from dbt.adapters.vcs.engines.dataframes.mounting import (
    MAX_NAMED,
    Layout,
    initial_value,
    lost_files,
)
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.port import TableMount
from dbt.adapters.vcs.engines.session_settings import is_local
from dbt.adapters.vcs.engines.spark.function_registry import SharedArrays
from dbt.adapters.vcs.engines.spark.jobs import translated
from dbt.adapters.vcs.engines.spark.plans import analysed_plan, run_command
from dbt.adapters.vcs.table.quoting import options_clause, quoted, quoted_relation, sql_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Options of a table win over settings of the session, which are the user's.
_OPTIONS: Final = {
    "timeZone": "UTC",
    "mergeSchema": "false",
    # Files are listed and not looked up, so a missing one must not be skipped.
    "ignoreMissingFiles": "false",
}
# Spark would take a folder `w=...` for a partition.
_NO_PARTITIONS: Final = {"recursiveFileLookup": "true"}
_LOCAL: Final = "file:"
# Lists have times in milliseconds, rows in microseconds.
_MICROS: Final = 1_000

# The column, and folder of a link, with the number of the first row of a file.
_FIRST: Final = f"{RESERVED}first"

TIME_AS_NUMBER: Final = "unix_micros(kept._metadata.file_modification_time)"
"""The number of a file's first row, in a row of the table `kept`, by its time in a list."""

TIME_AS_PLACE: Final = "unix_millis(kept._metadata.file_modification_time)"
"""The same for the place of a file among those of a list."""

_LOG: Final = "_spark_metadata"
_VERSION: Final = "v1"
_PLAIN: Final = "/=,'*!~@:"
_BLOCK_SIZE: Final = 128 * 1024**2


class Lists:
    """A folder for lists of files, which is deleted with this object.

    Spark follows links in it for as long as a query may run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)


class MountedVersion:
    """What is mounted of a version.

    Attributes:
        lists: The folder of its lists of files.
        relations: Its tables and views in the catalog.
        arrays: The names of its arrays.
        complete: The names in the private schema that are ready.
        query: A query for its rows, once its tables are made.
    """

    def __init__(self, lists: Lists) -> None:
        self.lists = lists
        self.relations: set[RelationName] = set()
        self.arrays: set[RelationName] = set()
        self.complete: set[str] = set()
        self.query: str | None = None


class CatalogRelations:
    """`Relations` in a session's catalog."""

    # All sessions of the catalog are ours, and have the arrays.
    writes_arrays = False

    def __init__(
        self,
        spark: SparkSession,
        mount: TableMount,
        *,
        blobs: Blobs,
        root: str,
        version: MountedVersion,
        arrays: SharedArrays,
    ) -> None:
        """Take a session and a version.

        Args:
            root: The repository as Spark names it.
            version: Gets the name of each relation and array, and has the lists of files.
            arrays: Those of the catalog's sessions.
        """
        self._spark = spark
        self._mount = mount
        self._blobs = blobs
        self._root = root
        self._version = version
        self._arrays = arrays

    def array(self, name: RelationName, numbers: npt.NDArray[np.int64]) -> str:
        """Return SQL for an array of bigints."""
        self._version.arrays.add(name)
        with translated():
            return self._arrays.add(self._spark, name, numbers)

    def view(self, name: RelationName, query: str) -> None:
        """Create a view."""
        self._version.relations.add(name)
        with translated():
            run_command(
                self._spark, f"create view if not exists {quoted_relation(name)} as {query}"
            )

    def first_number(self, layout: Layout, files: Collection[str]) -> str | None:
        """Return SQL for the number that `table` gives the first row of a file.

        The times of files come from their list.
        """
        if layout.is_one_write:
            return None
        return f"kept.{_FIRST}" if self._links(layout, files) else TIME_AS_NUMBER

    def place(self, layout: Layout) -> str | None:
        """Return SQL for the place of a row's file, which its list has as its time, too."""
        return None if layout.is_one_write else TIME_AS_PLACE

    def table(
        self,
        name: RelationName,
        fields: Sequence[Field],
        files: Collection[str],
        layout: Layout,
        numbers: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Create a table over files of one layout."""
        self._version.relations.add(name)
        linked = bool(numbers) and self._links(layout, files)
        if linked:
            fields = [*fields, Field(id=_FIRST, name=_FIRST, type="bigint")]
        columns = ", ".join(map(_declaration, fields))
        table = quoted_relation(name)
        listed = FileList(self._version.lists.path, name.identifier)
        options = {**_OPTIONS, "path": listed.location}
        if layout.is_one_write:
            # A column is called `w`, like the folder of a write. With that folder as the base,
            # Spark takes only the folders below it for partitions.
            inside = (file.removeprefix(layout.base + "/") for file in files)
            options["path"] = exact_files(self._root, layout.base, inside)
            options["basePath"] = f"{self._root}/{layout.base}"
        if not layout.columns and not linked:
            options |= _NO_PARTITIONS
        found: int | None = None
        try:
            with translated():
                # With files, Spark would infer the columns that are folders, too, at each use.
                run_command(
                    self._spark,
                    f"create table if not exists {table} ({columns}) using parquet "
                    f"options ({options_clause(options)})",
                )
                if not layout.is_one_write:
                    self._list(listed, files, numbers, linked=linked)
                found = file_count(analysed_plan(self._spark, f"table {table}"))
        except StatementError as error:
            if error.condition != "PATH_NOT_FOUND":
                raise
        # Decision 24: a Spark that ignored the log must not show a table with fewer rows.
        if found == len(files):
            return
        run_command(self._spark, f"drop table if exists {table}")
        if layout.is_one_write:
            raise lost_files(self._mount, len(files), found or 0)
        raise unlisted(self._version.lists.path, len(files), found or 0)

    def _list(
        self, listed: FileList, files: Collection[str], numbers: Mapping[str, int], *, linked: bool
    ) -> None:
        sizes = sizes_of(self._blobs, self._mount, files)
        if linked:
            listed.fill_linked(Path(self._root.removeprefix(_LOCAL)), sizes, _FIRST, numbers)
        else:
            listed.fill(self._root, sizes, times_of(files, numbers))

    def _links(self, layout: Layout, files: Collection[str]) -> bool:
        """Return whether Spark reads links to files, which it does on this machine only."""
        return (
            # Decision 26: a column from a link's folder costs a row next to nothing, a file's time
            # is in a struct that Spark makes for each row.
            1 < len(files) <= MAX_NAMED
            and not layout.columns
            and self._root.startswith(_LOCAL)
            and is_local(self._spark.sparkContext.master or "")
            # Links need no rights there.
            and os.name == "posix"
        )


def sizes_of(blobs: Blobs, mount: TableMount, files: Collection[str]) -> dict[str, int]:
    """Return the sizes of files; those that no entry tells are asked of the store.

    Raises:
        DamagedError: A file is missing.
    """

    def size(file: str) -> int | None:
        try:
            return blobs.size(file)
        except NotFoundError:
            return None

    entries = (*mount.entries, *mount.tombstones)
    # Of a file that is listed as empty Spark reads no row. No file of Parquet is empty.
    known = {entry.path: entry.bytes for entry in entries if entry.bytes}
    asked = [file for file in files if file not in known]
    for file, found in zip(asked, each(size, asked), strict=True):
        if found is not None:
            known[file] = found
    sizes = {file: known[file] for file in files if file in known}
    if len(sizes) < len(files):
        raise lost_files(mount, len(files), len(sizes))
    return sizes


def times_of(files: Collection[str], numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the time that a list gives each file, from which queries tell files apart."""
    # Decision 26: the time of a file says which number its first row has.
    if numbers:
        return {file: number // _MICROS for file, number in numbers.items()}
    # Without deleted rows, it says which of the files a row is from.
    return {file: place for place, file in enumerate(files)}


def file_count(plan: Any) -> int:
    """Return how many files Spark reads for a table, given its analysed plan.

    An optimized plan may read rows that the user cached, and then has no files.
    """
    return len(plan.collectLeaves().head().relation().location().inputFiles())


def unlisted(folder: Path, expected: int, found: int) -> EngineError:
    """Return the error for a Spark that doesn't read the files of a list."""
    return EngineError(
        f"Spark sees {found} of the {expected} files listed in {folder}. Leave the settings of "
        "its file sink and the temporary files alone, and connect again."
    )


def _declaration(field: Field) -> str:
    """Return the declaration of a column; Spark uses the default where a file lacks it."""
    column = f"{quoted(field.id)} {sql_type(field.type)}"
    value = initial_value(field)
    return column if value is None else f"{column} default {value}"


class FileList:
    """A list in the form of the log of Spark's file sink.

    Spark takes the files and sizes of a folder with such a log from the log, wherever the files
    are. The name is in braces, a pattern that doesn't match itself: if the log is gone or ignored,
    Spark fails with PATH_NOT_FOUND, and doesn't take the folder for a table without files.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Make a list without files, unless it exists.

        Args:
            folder: A local folder.
            name: A name without characters that are special in paths; each list has its own.
        """
        self._log = folder / f"{{{name}}}" / _LOG
        self._new = folder / f"{name}.new"
        self.location = f"file:{self._log.parent}"
        self._log.mkdir(parents=True, exist_ok=True)
        # Decision 24: over a list with files Spark would infer the columns that are folders, at
        # each use, and store none.
        self._put("0", [])

    def fill(self, root: str, files: Mapping[str, int], times: Mapping[str, int]) -> None:
        """Add the files, unless this was done before.

        Args:
            root: The repository as Spark names it.
            files: The size in bytes of each file, by its path relative to the repository.
            times: When a file changed, as Spark should see it, in milliseconds; 0 for others.
        """
        lines = (
            _line(uri(f"{root}/{path}"), size, times.get(path, 0)) for path, size in files.items()
        )
        self._put("1", list(lines))

    def fill_linked(
        self, root: Path, files: Mapping[str, int], column: str, values: Mapping[str, int]
    ) -> None:
        """Add links to local files, unless this was done before.

        Spark takes the name of a link's folder for a column, with one value in all rows of a
        file.

        Args:
            root: The repository's folder.
            files: The size in bytes of each file, by its path relative to the repository.
            column: The column's name.
            values: Its value in each file; no two have the same.
        """
        lines = []
        for path, size in files.items():
            link = self._log.parent / f"{column}={values[path]}" / PurePosixPath(path).name
            if not link.is_symlink():
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(root / path)
            lines.append(_line(uri(f"file:{link}"), size, 0))
        self._put("1", lines)

    def _put(self, batch: str, lines: Sequence[str]) -> None:
        place = self._log / batch
        if not place.exists():
            # Spark may read the log as soon as it has its name.
            self._new.write_text("\n".join([_VERSION, *lines]))
            self._new.rename(place)


def uri(path: str) -> str:
    """Return Hadoop's spelling of a path, with a scheme, as a URI."""
    scheme, _, rest = path.partition(":")
    authority = ""
    if rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    return f"{scheme}://{authority}{quote(rest, safe=_PLAIN)}"


def _line(uri: str, size: int, time: int) -> str:
    return json.dumps(
        {
            "path": uri,
            "size": size,
            "isDir": False,
            "modificationTime": time,
            "blockReplication": 1,
            "blockSize": _BLOCK_SIZE,
            "action": "add",
        }
    )
