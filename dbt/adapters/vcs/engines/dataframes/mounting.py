"""One immutable table version as relations: tables of files, and queries over them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.model import Block, Field, RelationName, Tombstone
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.deletions import (
    LOST,
    POSITION_FIELD,
    ROW_INDEX,
    TOMBSTONE_FIELDS,
    DeletedPlaces,
    deleted_rows,
    file_of,
    left_numbered_rows,
    left_rows,
    unmarked_rows,
    written_rows,
)
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.port import TableMount
from dbt.adapters.vcs.table.files.footers import check_footers
from dbt.adapters.vcs.table.partition_values import WRITE_FOLDER, column_of, partition_folders
from dbt.adapters.vcs.table.quoting import literal, quoted, quoted_relation, sql_type
from dbt.adapters.vcs.table.row_numbers import FileNumbers

# With more checked files than this, all are forgotten once versions are dropped.
_MOST_CHECKED: Final = 200_000
_NO_FILES: Final = ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")
_NOWHERE: Final = (
    f"cast(null as string) {FILE_COLUMN}",
    f"cast(null as bigint) {POSITION_COLUMN}",
)


class Relations(Protocol):
    """Where the relations of a version are created, unless they exist."""

    @property
    def writes_arrays(self) -> bool:
        """Whether `array` writes the numbers out, for Spark to parse with each query."""

    def first_number(self, layout: Layout, files: Collection[str]) -> str | None:
        """Return SQL for the number that `table` gives the first row of a file.

        Args:
            files: All files of a table.

        Returns:
            The number in a row of the table `kept`; None if such a table has no numbers.
        """

    def place(self, layout: Layout) -> str | None:
        """Return SQL for the place of a row's file among those of `table`, counted from 0.

        Returns:
            The place in a row of the table `kept`, if its files have no numbers; None if such a
            table doesn't know it.
        """

    def table(
        self,
        name: RelationName,
        fields: Sequence[Field],
        files: Collection[str],
        layout: Layout,
        numbers: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Create a table over files of one layout, in which `_metadata` is a column.

        Args:
            numbers: The number of the first row of each file, if `first_number` has SQL for it.

        Raises:
            DamagedError: A file is missing.
        """

    def array(self, name: RelationName, numbers: npt.NDArray[np.int64]) -> str:
        """Return SQL for an array of bigints, which queries look into for each row.

        Args:
            name: A name for it, which has stood for no other numbers.
        """

    def view(self, name: RelationName, query: str) -> None:
        """Create a view."""


class Mounting:
    """Creates the relations of one version."""

    def __init__(
        self, name: RelationName, mount: TableMount, *, blobs: Blobs, relations: Relations
    ) -> None:
        """Take a version.

        Args:
            name: The name of the version's relation; other tables derive their names from it.
            relations: Where its relations are created.
        """
        self._name = name
        self._mount = mount
        self._blobs = blobs
        self._relations = relations

    def query(self) -> str:
        """Create the tables, and return a query for the rows, with field ids as column names.

        Raises:
            DamagedError: A file is missing.
        """
        return self._query(self._parts(), located=False)

    def create(self, query: str | None = None) -> None:
        """Create the relation of the same rows: the only table, or a view over several.

        Args:
            query: What `query` returned, if it was asked for before.

        Raises:
            DamagedError: A file is missing.
        """
        # A single table is the relation itself: each view that a query goes through costs Spark
        # milliseconds.
        query = self.query() if query is None else query
        if not self._is_table(self._groups()):
            self._relations.view(self._name, query)

    def create_located(self, name: RelationName) -> None:
        """Create the same relation with two more columns: `__vcs_file`, `__vcs_pos`.

        Raises:
            DamagedError: A file is missing.
        """
        self._relations.view(name, self._query(self._parts(), located=True))

    def _parts(self) -> list[Part]:
        """Create and return the tables; a single one without tombstones gets the name."""
        groups = self._groups()
        is_table = self._is_table(groups)
        parts: list[Part] = []
        for number, (layout, files) in enumerate(groups.items()):
            name = self._name if is_table else self._own_name(str(number))
            first = self._relations.first_number(layout, files) if layout.holed else None
            numbers = None
            if first is not None:
                numbers = DeletedPlaces(self._mount, files, self._blobs).numbers()
            fields = self._table_fields(layout)
            if numbers is None:
                self._relations.table(name, fields, files, layout)
            else:
                # Decision 26: a column costs less than the struct `_metadata`.
                fields.append(POSITION_FIELD)
                self._relations.table(name, fields, files, layout, numbers.first)
            place = self._relations.place(layout)
            parts.append(Part(name, layout, tuple(files), numbers, first or "", place))
        return parts

    def _groups(self) -> dict[Layout, list[str]]:
        return layouts(self._mount) or {PLAIN: []}

    def _is_table(self, groups: Collection[Layout]) -> bool:
        """Return whether the relation is the only table itself."""
        if len(groups) > 1:
            return False
        (layout,) = groups
        return not (layout.holed or layout.copied or self._limited_ids(layout))

    def _limited_ids(self, layout: Layout) -> set[str]:
        """Return the ids of char(n) and varchar(n) columns stored in folder names.

        Spark can't read a folder name as either type.
        """
        held = layout.held
        return {
            field.id
            for field in self._mount.fields
            if type_of(field.type).length is not None and field.id.lower() in held
        }

    def _table_fields(self, layout: Layout) -> list[Field]:
        """Return the columns of a layout's table; values in folders have the folders' names."""
        limited, held = self._limited_ids(layout), layout.held
        return [
            msgspec.structs.replace(
                field,
                id=held.get(field.id.lower(), field.id),
                # The union with `_declared_types` gives it its declared type again.
                type="string" if field.id in limited else field.type,
            )
            for field in self._mount.fields
        ]

    def _declared_types(self, located: bool) -> str:
        """Return a query without rows whose columns have the declared types.

        A union takes its types from the first query, and comparisons with char(n) must pad.
        """
        name = self._own_name("types")
        self._relations.table(name, self._mount.fields, (), PLAIN)
        columns = [quoted(field.id) for field in self._mount.fields]
        if located:
            columns += _NOWHERE
        return f"select {', '.join(columns)} from {quoted_relation(name)} kept where 1 = 0"

    def _query(self, parts: Sequence[Part], *, located: bool) -> str:
        return " union all ".join(self._queries(parts, located=located))

    def _queries(self, parts: Sequence[Part], *, located: bool) -> Iterator[str]:
        if any(self._limited_ids(part.layout) for part in parts):
            yield self._declared_types(located)
        for number, part in enumerate(parts):
            table = quoted_relation(part.name)
            columns = self._columns(part.layout)
            if located and not part.files:
                columns += _NOWHERE
            elif located:
                columns += [
                    f"{part.file} {FILE_COLUMN}",
                    f"{part.position} {POSITION_COLUMN}",
                ]
            if part.layout.holed:
                yield self._left_rows(part, table, columns, number)
            else:
                yield f"select {', '.join(columns)} from {table} kept"

    def _columns(self, layout: Layout) -> list[str]:
        """Return what to select from a layout's table, as SQL, in the order of the fields."""
        held = layout.copied
        return [
            f"{quoted(held[field.id.lower()])} {quoted(field.id)}"
            if field.id.lower() in held
            else quoted(field.id)
            for field in self._mount.fields
        ]

    def _left_rows(self, part: Part, table: str, columns: Sequence[str], number: int) -> str:
        files = set(part.files)
        places = DeletedPlaces(self._mount, files, self._blobs)
        written = self._relations.writes_arrays
        bitmap = None if part.numbers is None else places.bitmap(part.numbers, written=written)
        if part.numbers is not None and bitmap is not None:
            return unmarked_rows(
                table,
                part.number,
                part.position,
                bitmap,
                columns,
                array=lambda name, found: self._relations.array(
                    self._own_name(f"{number}_{name}"), found
                ),
            )
        positions = places.positions()
        if positions is not None:
            deleted = written_rows({file: found.tolist() for file, found in positions.items()})
        else:
            tables = self._tombstones(places.tombstones, number)
            deleted = " union all ".join(deleted_rows(*each, files) for each in tables)
        if part.numbers is not None:
            return left_numbered_rows(
                table,
                part.numbers,
                part.number,
                part.position,
                deleted,
                places.count,
                columns,
            )
        return left_rows(table, part.files, deleted, places.count, columns)

    def _tombstones(
        self, tombstones: Sequence[Tombstone], number: int
    ) -> Iterator[tuple[str, list[Tombstone]]]:
        """Create tables of a part's tombstones; yield each table with its tombstones."""
        groups: dict[int, list[Tombstone]] = {}
        for item in tombstones:
            groups.setdefault(item.path.count("/"), []).append(item)
        # `file_of` takes the path of a tombstone from its end, by a number of folders.
        for depth, group in groups.items():
            name = self._own_name(f"{number}_gone_{depth}")
            paths = sorted({item.path for item in group})
            self._relations.table(name, TOMBSTONE_FIELDS, paths, PLAIN)
            yield quoted_relation(name), group

    def _own_name(self, suffix: str) -> RelationName:
        return RelationName(self._name.schema, f"{self._name.identifier}_{suffix}")


def lost_files(mount: TableMount, expected: int, found: int) -> DamagedError:
    """Return the error for files of a version that are missing."""
    return DamagedError(
        f"A table version should have {expected} files below {literal(mount.folder)}; "
        f"{found} are there. {LOST}"
    )


# Files with at most this part of the rows of those with deletions are read with them.
_MOST_INTACT: Final = 8


class Layout(NamedTuple):
    """What files must share to be read as one Spark table.

    Attributes:
        base: The folder below which folder names are partition values; '' for files without
            partitions, for which Spark ignores folder names.
        columns: Names of the partition folders in the paths.
        depth: The number of folders above the file.
        holed: True if tombstones delete rows of these files, or of most of them.
    """

    base: str
    columns: tuple[str, ...]
    depth: int
    holed: bool

    @property
    def is_one_write(self) -> bool:
        """True if the folder of the write is no partition, unlike what Spark would think."""
        return self.base.rpartition("/")[2].startswith(f"{WRITE_FOLDER}=")

    @property
    def held(self) -> dict[str, str]:
        """The names of folders by the lower-case id of the column whose values they have."""
        return {column_of(name).lower(): name for name in self.columns}

    @property
    def copied(self) -> dict[str, str]:
        """Those that are not called like the column."""
        return {id: name for id, name in self.held.items() if name.lower() != id}


PLAIN: Final = Layout("", (), 0, False)


def layouts(mount: TableMount) -> dict[Layout, list[str]]:
    """Return the files of a version by layout; empty without files.

    A table usually has one layout, or two with tombstones. Files from a cloned table, another
    partitioning, or a column named like the write's own folder add more. A few files without
    deleted rows, such as those of an update, join files with some: planning another scan takes
    longer than looking up their rows.
    """
    groups: dict[Layout, list[str]] = {}
    # Spark would take the folder of the write for that column.
    clash = any(field.id.lower() == WRITE_FOLDER for field in mount.fields)
    holed = {target for item in mount.tombstones for target in item.targets}
    for file in sorted(set(mount.files)):
        write, folders = partition_folders(file)
        columns = tuple(name for name, _ in folders)
        base = "" if not columns else write if clash else write.rpartition("/")[0]
        layout = Layout(base, columns, file.count("/"), file in holed)
        groups.setdefault(layout, []).append(file)
    # Each layout is one scan in a union.
    for layout in [layout for layout in groups if layout.holed]:
        intact = layout._replace(holed=False)
        if intact in groups and _is_small_part(mount, groups[intact], groups[layout]):
            groups[layout] = sorted([*groups[layout], *groups.pop(intact)])
    return groups


def _is_small_part(mount: TableMount, files: Collection[str], others: Collection[str]) -> bool:
    rows = {item.path: item.rows for item in mount.entries if isinstance(item, Block)}
    if not rows.keys() >= {*files, *others}:
        return False
    few, many = (sum(rows[file] for file in part) for part in (files, others))
    return _MOST_INTACT * few <= many


MAX_NAMED: Final = 200
"""Up to so many files are told apart by the number of their first row, others by their path."""


class Part(NamedTuple):
    """The files of one layout, as a table.

    With the numbers of its rows it has the column of their positions, too.

    Attributes:
        name: The table's name.
        numbers: The numbers of their rows; None if they have none.
        first: SQL for the number of the first row of a file.
        place: Without numbers, SQL for the place of a row's file in `files`; None if the table
            doesn't know it.
    """

    name: RelationName
    layout: Layout
    files: tuple[str, ...]
    numbers: FileNumbers | None
    first: str
    place: str | None

    @property
    def position(self) -> str:
        """SQL for the position of a row of the table `kept` in its file."""
        # Spark's reader fills one column of positions, so both can't be asked for.
        return ROW_INDEX if self.numbers is None else f"kept.{POSITION_FIELD.id}"

    @property
    def number(self) -> str:
        """SQL for the number of a row of the table `kept`."""
        return self.position if len(self.files) == 1 else f"({self.first} + {self.position})"

    @property
    def file(self) -> str:
        """SQL for the path of the file of a row of the table `kept`, below the repository."""
        if len(self.files) == 1:
            return literal(self.files[0])
        known = self.place if self.numbers is None else self.first
        # The map of many files would cost more than to cut the path.
        if known is None or len(self.files) > MAX_NAMED:
            return file_of(self.files, "kept")
        if self.numbers is None:
            # Taking it from the path would search and copy a text for each row.
            return f"array({', '.join(map(literal, self.files))})[cast({known} as int)]"
        paths = (f"{number}L, {literal(path)}" for path, number in self.numbers.first.items())
        return f"element_at(map({', '.join(paths)}), {self.first})"


class FooterChecks:
    """Compares footers and sizes of files with entries, each once; Spark takes any as it is."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        # By path and size: entries of one file may differ, and one of them is wrong then.
        self._checked: set[tuple[str, int]] = set()

    def check(self, mount: TableMount, root: str) -> None:
        """Check the files of a version.

        Args:
            root: The repository as Spark names it.

        Raises:
            DamagedError: One is damaged or missing, or another file is in its place.
        """
        # Object stores check what they keep by themselves, and a request for each file would be
        # felt, so only files on a disk are checked.
        if not root.startswith("file:"):
            return
        entries = (*mount.entries, *mount.tombstones)
        new = [item for item in entries if (item.path, item.bytes) not in self._checked]
        absent = check_footers(self._blobs, new)
        if absent:
            raise lost_files(mount, len(entries), len(entries) - len(absent))
        self._checked.update((entry.path, entry.bytes) for entry in new)

    def forget(self) -> None:
        """Forget what was checked, if that is much; a file that is read again is checked again."""
        if len(self._checked) > _MOST_CHECKED:
            self._checked.clear()


@contextmanager
def requiring_files(format: str, location: str) -> Iterator[None]:
    """Turn Spark's errors about files that a block looks for into ours.

    Raises:
        NotFoundError: There are none.
    """
    try:
        yield
    except StatementError as error:
        if error.condition not in _NO_FILES:
            raise
        raise NotFoundError(
            f"There are no files of format {format} at {location} ({error}). Check the location "
            "and the format."
        ) from error


def column_list(columns: Sequence[tuple[str, str | None]]) -> str:
    """Return names and comments of a view's columns as SQL; empty for those of its query."""
    if not columns:
        return ""
    named = (
        quoted(name) + (f" comment {literal(comment)}" if comment else "")
        for name, comment in columns
    )
    return f"({', '.join(named)})"


def initial_value(field: Field) -> str | None:
    """Return what rows of a file without a column have in it, as SQL; None for NULL."""
    if field.initial is None:
        return None
    value = literal(field.initial)
    # Text is not cast: that would check its length and strip its spaces.
    return value if type_of(field.type).is_text else f"cast({value} as {sql_type(field.type)})"
