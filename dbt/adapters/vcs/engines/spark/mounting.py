"""One immutable table version as relations of Spark's catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from dbt.adapters.vcs.core.errors import DamagedError, EngineError, NotFoundError
from dbt.adapters.vcs.core.model import Field, RelationName, Tombstone
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.tombstone import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.spark.deletions import (
    MAX_WRITTEN,
    deleted_rows,
    file_of,
    left_rows,
    position_of,
    written_rows,
)
from dbt.adapters.vcs.engines.spark.file_list import FileList
from dbt.adapters.vcs.engines.spark.location import exact_files
from dbt.adapters.vcs.engines.spark.process.spark_errors import translated
from dbt.adapters.vcs.engines.version_mounts import TableMount
from dbt.adapters.vcs.rows.files.block_reader import Files
from dbt.adapters.vcs.rows.partition_values import (
    WRITE_FOLDER,
    column_of,
    partition_folders,
)
from dbt.adapters.vcs.rows.quoting import literal, options_clause, quoted, quoted_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPTIONS: Final = {
    "timeZone": "UTC",
    "mergeSchema": "false",
    # Files are listed and not looked up, so a missing one must not be skipped.
    "ignoreMissingFiles": "false",
}
_NO_PARTITIONS: Final = {"recursiveFileLookup": "true"}
_MAX_READ: Final = 4 * 1024**2
"""The most bytes of tombstones to read in order to inline the rows that they delete."""

_MAX_FILES: Final = 16
"""The most tombstones to read that way; each is a request if the store is remote."""

_LOST: Final = (
    "The rows of a version without a name are collected when it is older than the retention; "
    "restore those of any other from a backup."
)
_NOWHERE: Final = (
    f"cast(null as string) {FILE_COLUMN}",
    f"cast(null as bigint) {POSITION_COLUMN}",
)
_TOMBSTONE_FIELDS: Final = (
    Field(id=FILE_COLUMN, name=FILE_COLUMN, type="string"),
    Field(id=POSITION_COLUMN, name=POSITION_COLUMN, type="bigint"),
)


class Layout(NamedTuple):
    """What files must share to be read as one Spark table.

    Attributes:
        base: The folder below which folder names are partition values; '' for files without
            partitions, for which Spark ignores folder names.
        columns: Names of the partition folders in the paths.
        depth: The number of folders above the file.
        holed: True if tombstones delete rows of these files.
    """

    base: str
    columns: tuple[str, ...]
    depth: int
    holed: bool

    @property
    def is_one_write(self) -> bool:
        """True if the folder of the write is no partition, unlike what Spark would think."""
        return self.base.rpartition("/")[2].startswith(f"{WRITE_FOLDER}=")


_PLAIN: Final = Layout("", (), 0, False)


class Part(NamedTuple):
    """The files of one layout, as a table."""

    name: RelationName
    layout: Layout
    files: tuple[str, ...]


def layouts(mount: TableMount) -> dict[Layout, list[str]]:
    """Return the files of a version by layout; empty without files.

    A table usually has one layout, or two with tombstones. Files from a cloned table, another
    partitioning, or a column named like the write's own folder add more.
    """
    groups: dict[Layout, list[str]] = {}
    clash = any(field.id.lower() == WRITE_FOLDER for field in mount.fields)
    holed = {target for stone in mount.tombstones for target in stone.targets}
    for file in sorted(set(mount.files)):
        write, folders = partition_folders(file)
        columns = tuple(name for name, _ in folders)
        base = "" if not columns else write if clash else write.rpartition("/")[0]
        layout = Layout(base, columns, file.count("/"), file in holed)
        groups.setdefault(layout, []).append(file)
    return groups


class Mounting:
    """Creates the relations of one version."""

    def __init__(
        self,
        spark: SparkSession,
        name: RelationName,
        mount: TableMount,
        *,
        blobs: Blobs,
        root: str,
        lists: Path,
    ) -> None:
        """Take a version.

        Args:
            spark: A session of the catalog.
            name: The name of the version's relation; other tables derive their names from it.
            mount: The version.
            blobs: The repository's store.
            root: The repository as Spark names it.
            lists: A local folder for the lists of files that Spark reads.
        """
        self._spark = spark
        self._name = name
        self._mount = mount
        self._blobs = blobs
        self._root = root
        self._lists = lists

    def create(self) -> None:
        """Create the relation with field ids as column names: a table, or a view over several.

        Raises:
            DamagedError: A file is missing.
        """
        parts = self._parts()
        if parts[0].name == self._name:
            return
        self._view(self._name, list(self._queries(parts, located=False)))

    def create_located(self, name: RelationName) -> None:
        """Create the same relation with two more columns: `__vcs_file`, `__vcs_pos`.

        Raises:
            DamagedError: A file is missing.
        """
        self._view(name, list(self._queries(self._parts(), located=True)))

    def _parts(self) -> list[Part]:
        """Create and return the tables; a single one without tombstones gets the name."""
        groups = layouts(self._mount) or {_PLAIN: []}
        alone = len(groups) == 1 and not next(iter(groups)).holed
        alone = alone and not any(map(self._limited, groups)) and not any(map(_copied, groups))
        parts: list[Part] = []
        for number, (layout, files) in enumerate(groups.items()):
            name = self._name if alone else self._numbered(str(number))
            self._table(name, self._stored(layout), files, layout)
            parts.append(Part(name, layout, tuple(files)))
        return parts

    def _limited(self, layout: Layout) -> set[str]:
        """Return the ids of char(n) and varchar(n) columns stored in folder names.

        Spark can't read a folder name as either type.
        """
        held = _held(layout)
        return {
            field.id
            for field in self._mount.fields
            if type_of(field.type).length is not None and field.id.lower() in held
        }

    def _stored(self, layout: Layout) -> list[Field]:
        """Return the columns of a layout's table; values in folders have the folders' names."""
        limited, held = self._limited(layout), _held(layout)
        return [
            msgspec.structs.replace(
                field,
                id=held.get(field.id.lower(), field.id),
                type="string" if field.id in limited else field.type,
            )
            for field in self._mount.fields
        ]

    def _declared(self, located: bool) -> str:
        """Return a query without rows whose columns have the declared types.

        A union takes its types from the first query, and comparisons with char(n) must pad.
        """
        name = self._numbered("types")
        self._table(name, self._mount.fields, ())
        columns = [quoted(field.id) for field in self._mount.fields]
        if located:
            columns += _NOWHERE
        return f"select {', '.join(columns)} from {quoted_relation(name)} kept where 1 = 0"

    def _queries(self, parts: Sequence[Part], *, located: bool) -> Iterator[str]:
        if any(self._limited(part.layout) for part in parts):
            yield self._declared(located)
        for number, part in enumerate(parts):
            table = quoted_relation(part.name)
            columns = self._columns(part.layout)
            if located and not part.files:
                columns += _NOWHERE
            elif located:
                columns += [
                    f"{file_of(part.files, 'kept')} {FILE_COLUMN}",
                    f"{position_of('kept')} {POSITION_COLUMN}",
                ]
            if part.layout.holed:
                yield self._left_rows(part, table, columns, number)
            else:
                yield f"select {', '.join(columns)} from {table} kept"

    def _columns(self, layout: Layout) -> list[str]:
        """Return what to select from a layout's table, as SQL, in the order of the fields."""
        held = _copied(layout)
        return [
            f"{quoted(held[field.id.lower()])} {quoted(field.id)}"
            if field.id.lower() in held
            else quoted(field.id)
            for field in self._mount.fields
        ]

    def _left_rows(self, part: Part, table: str, columns: Sequence[str], number: int) -> str:
        """Return a query for the rows of a part that are not deleted."""
        files = set(part.files)
        stones = [item for item in self._mount.tombstones if not files.isdisjoint(item.targets)]
        count = sum(
            rows for item in stones for target, rows in item.targets.items() if target in files
        )
        size = sum(item.bytes for item in stones)
        if count <= MAX_WRITTEN and size <= _MAX_READ and len(stones) <= _MAX_FILES:
            deleted = written_rows(self._places(stones, files))
        else:
            tables = self._tombstones(stones, number)
            deleted = " union all ".join(deleted_rows(*each, files) for each in tables)
        return left_rows(table, part.files, deleted, count, columns)

    def _tombstones(
        self, tombstones: Sequence[Tombstone], number: int
    ) -> Iterator[tuple[str, list[Tombstone]]]:
        """Create tables of a part's tombstones; yield each table with its tombstones."""
        groups: dict[int, list[Tombstone]] = {}
        for item in tombstones:
            groups.setdefault(item.path.count("/"), []).append(item)
        for depth, group in groups.items():
            name = self._numbered(f"{number}_gone_{depth}")
            paths = sorted({item.path for item in group})
            self._table(name, _TOMBSTONE_FIELDS, paths)
            yield quoted_relation(name), group

    def _places(
        self, tombstones: Sequence[Tombstone], files: Iterable[str]
    ) -> Mapping[str, list[int]]:
        try:
            found = Files(self._blobs).deletions(tombstones, files)
            return {file: positions.tolist() for file, positions in found.items()}
        except NotFoundError as error:
            raise DamagedError(f"A table version lacks deleted rows: {error} {_LOST}") from error

    def _numbered(self, suffix: str) -> RelationName:
        return RelationName(self._name.schema, f"{self._name.identifier}_{suffix}")

    def _view(self, name: RelationName, queries: Sequence[str]) -> None:
        text = " union all ".join(queries)
        with translated():
            self._spark.sql(f"create view if not exists {quoted_relation(name)} as {text}")

    def _table(
        self,
        name: RelationName,
        fields: Sequence[Field],
        files: Collection[str],
        layout: Layout = _PLAIN,
    ) -> None:
        """Create a table over files of one layout."""
        columns = ", ".join(map(_declaration, fields))
        table = quoted_relation(name)
        options = dict(_OPTIONS)
        listed = FileList(self._lists, name.identifier)
        if layout.is_one_write:
            inside = (file.removeprefix(layout.base + "/") for file in files)
            options["path"] = exact_files(self._root, layout.base, inside)
            options["basePath"] = f"{self._root}/{layout.base}"
        else:
            options["path"] = listed.location
        if not layout.columns:
            options |= _NO_PARTITIONS
        found: int | None = None
        try:
            with translated():
                # With files, Spark would infer the columns that are folders, too, at each use.
                self._spark.sql(
                    f"create table if not exists {table} ({columns}) using parquet "
                    f"options ({options_clause(options)})"
                )
                if not layout.is_one_write:
                    listed.fill(self._root, self._sizes(files))
                found = self._found(table)
        except StatementError as error:
            if error.condition != "PATH_NOT_FOUND":
                raise
        if found == len(files):
            return
        self._spark.sql(f"drop table if exists {table}")
        if layout.is_one_write:
            raise lost_files(self._mount, len(files), found or 0)
        raise EngineError(
            f"Spark sees {found or 0} of the {len(files)} files listed in {self._lists}. Leave "
            "the settings of its file sink and the temporary files alone, and connect again."
        )

    def _sizes(self, files: Collection[str]) -> dict[str, int]:
        """Return the sizes of files; those that no entry tells are asked of the store."""
        entries = (*self._mount.entries, *self._mount.tombstones)
        # Of a file that is listed as empty Spark reads no row. No file of Parquet is empty.
        known = {entry.path: entry.bytes for entry in entries if entry.bytes}
        asked = [file for file in files if file not in known]
        for file, size in zip(asked, each(self._size, asked), strict=True):
            if size is not None:
                known[file] = size
        sizes = {file: known[file] for file in files if file in known}
        if len(sizes) < len(files):
            raise lost_files(self._mount, len(files), len(sizes))
        return sizes

    def _size(self, file: str) -> int | None:
        try:
            return self._blobs.size(file)
        except NotFoundError:
            return None

    def _found(self, table: str) -> int:
        """Return how many files Spark knows."""
        # The optimized plan may read rows that the user cached, and then has no files.
        plan = self._spark.table(table)._jdf.queryExecution().analyzed()
        return len(plan.collectLeaves().head().relation().location().inputFiles())


def lost_files(mount: TableMount, expected: int, found: int) -> DamagedError:
    """Return the error for files of a version that are missing."""
    return DamagedError(
        f"A table version should have {expected} files below {literal(mount.folder)}; "
        f"{found} are there. {_LOST}"
    )


def _held(layout: Layout) -> dict[str, str]:
    """Return the names of folders by the lower-case id of the column whose values they have."""
    return {column_of(name).lower(): name for name in layout.columns}


def _copied(layout: Layout) -> dict[str, str]:
    """Return those that are not called like the column."""
    return {id: name for id, name in _held(layout).items() if name.lower() != id}


def _declaration(field: Field) -> str:
    """Return the declaration of a column; Spark uses the default where a file lacks it."""
    column = f"{quoted(field.id)} {field.type}"
    if field.initial is None:
        return column
    # Text is not cast: that would check its length and strip its spaces.
    value = literal(field.initial)
    return f"{column} default " + (
        value if type_of(field.type).is_text else f"cast({value} as {field.type})"
    )
