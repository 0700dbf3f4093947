"""One immutable table version as relations: tables of files, and queries over them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import msgspec

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import Block, Field, RelationName, Tombstone
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.tombstone import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.mounts.deleted_places import LOST, DeletedPlaces
from dbt.adapters.vcs.engines.dataframes.mounts.deletions import (
    POSITION_FIELD,
    deleted_rows,
    file_of,
    left_numbered_rows,
    left_rows,
    position_of,
    unmarked_rows,
    written_rows,
)
from dbt.adapters.vcs.engines.version_mounts import TableMount
from dbt.adapters.vcs.rows.file_numbers import UNIT, FileNumbers
from dbt.adapters.vcs.rows.partition_values import (
    WRITE_FOLDER,
    column_of,
    partition_folders,
)
from dbt.adapters.vcs.rows.quoting import literal, quoted, quoted_relation

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


PLAIN: Final = Layout("", (), 0, False)

_MOST_INTACT: Final = 8
"""Files with at most this part of the rows of those with deletions are read with them."""


class Part(NamedTuple):
    """The files of one layout, as a table.

    With the numbers of its rows it has the column of their positions, too.
    """

    name: RelationName
    layout: Layout
    files: tuple[str, ...]
    numbers: FileNumbers | None

    @property
    def position(self) -> str:
        """SQL for the position of a row of the table `kept` in its file."""
        # Spark's reader fills one column of positions, so both can't be asked for.
        return position_of("kept") if self.numbers is None else f"kept.{POSITION_FIELD.id}"


def layouts(mount: TableMount) -> dict[Layout, list[str]]:
    """Return the files of a version by layout; empty without files.

    A table usually has one layout, or two with tombstones. Files from a cloned table, another
    partitioning, or a column named like the write's own folder add more. A few files without
    deleted rows, such as those of an update, join files with some: planning another scan takes
    longer than looking up their rows.
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
    for layout in [layout for layout in groups if layout.holed]:
        intact = layout._replace(holed=False)
        if intact in groups and _is_small_part(mount, groups[intact], groups[layout]):
            groups[layout] = sorted([*groups[layout], *groups.pop(intact)])
    return groups


def _is_small_part(mount: TableMount, files: Collection[str], others: Collection[str]) -> bool:
    """Return whether files have few rows compared with others."""
    rows = {item.path: item.rows for item in mount.entries if isinstance(item, Block)}
    if not rows.keys() >= {*files, *others}:
        return False
    few, many = (sum(rows[file] for file in part) for part in (files, others))
    return _MOST_INTACT * few <= many


class Relations(Protocol):
    """Where the relations of a version are created, unless they exist."""

    def sets_times(self, layout: Layout) -> bool:
        """Return whether `table` takes the times of files of a layout from `times`."""

    def table(
        self,
        name: RelationName,
        fields: Sequence[Field],
        files: Collection[str],
        layout: Layout,
        times: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Create a table over files of one layout, in which `_metadata` is a column.

        Args:
            name: The table's name.
            fields: Its columns.
            files: Its files.
            layout: Their layout.
            times: What `_metadata.file_modification_time` says by file, in milliseconds; 0 for
                others. Ignored unless `sets_times` says otherwise.

        Raises:
            DamagedError: A file is missing.
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
            mount: The version.
            blobs: The repository's store.
            relations: Where its relations are created.
        """
        self._name = name
        self._mount = mount
        self._blobs = blobs
        self._relations = relations

    def create(self) -> None:
        """Create the relation with field ids as column names: a table, or a view over several.

        Raises:
            DamagedError: A file is missing.
        """
        parts = self._parts()
        if parts[0].name == self._name:
            return
        self._view(self._name, self._queries(parts, located=False))

    def create_located(self, name: RelationName) -> None:
        """Create the same relation with two more columns: `__vcs_file`, `__vcs_pos`.

        Raises:
            DamagedError: A file is missing.
        """
        self._view(name, self._queries(self._parts(), located=True))

    def _parts(self) -> list[Part]:
        """Create and return the tables; a single one without tombstones gets the name."""
        groups = layouts(self._mount) or {PLAIN: []}
        alone = len(groups) == 1 and not next(iter(groups)).holed
        alone = alone and not any(map(self._limited, groups)) and not any(map(_copied, groups))
        parts: list[Part] = []
        for number, (layout, files) in enumerate(groups.items()):
            name = self._name if alone else self._numbered(str(number))
            numbers = self._numbers(layout, files)
            first = {} if numbers is None else numbers.first
            times = {file: number // UNIT for file, number in first.items()}
            fields = self._stored(layout)
            if numbers is not None:
                fields.append(POSITION_FIELD)
            self._relations.table(name, fields, files, layout, times)
            parts.append(Part(name, layout, tuple(files), numbers))
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
        self._relations.table(name, self._mount.fields, (), PLAIN)
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
                    f"{part.position} {POSITION_COLUMN}",
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

    def _numbers(self, layout: Layout, files: Collection[str]) -> FileNumbers | None:
        """Return the numbers by which deleted rows are found; None if Spark can't tell them."""
        if not layout.holed or not self._relations.sets_times(layout):
            return None
        return DeletedPlaces(self._mount, files, self._blobs).numbers()

    def _left_rows(self, part: Part, table: str, columns: Sequence[str], number: int) -> str:
        """Return a query for the rows of a part that are not deleted."""
        files = set(part.files)
        places = DeletedPlaces(self._mount, files, self._blobs)
        bitmap = None if part.numbers is None else places.bitmap(part.numbers)
        if part.numbers is not None and bitmap is not None:
            return unmarked_rows(table, part.numbers, bitmap, columns)
        positions = places.positions()
        if positions is not None:
            deleted = written_rows({file: found.tolist() for file, found in positions.items()})
        else:
            tables = self._tombstones(places.tombstones, number)
            deleted = " union all ".join(deleted_rows(*each, files) for each in tables)
        if part.numbers is not None:
            return left_numbered_rows(table, part.numbers, deleted, places.count, columns)
        return left_rows(table, part.files, deleted, places.count, columns)

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
            self._relations.table(name, _TOMBSTONE_FIELDS, paths, PLAIN)
            yield quoted_relation(name), group

    def _numbered(self, suffix: str) -> RelationName:
        return RelationName(self._name.schema, f"{self._name.identifier}_{suffix}")

    def _view(self, name: RelationName, queries: Iterable[str]) -> None:
        self._relations.view(name, " union all ".join(queries))


def lost_files(mount: TableMount, expected: int, found: int) -> DamagedError:
    """Return the error for files of a version that are missing."""
    return DamagedError(
        f"A table version should have {expected} files below {literal(mount.folder)}; "
        f"{found} are there. {LOST}"
    )


def _held(layout: Layout) -> dict[str, str]:
    """Return the names of folders by the lower-case id of the column whose values they have."""
    return {column_of(name).lower(): name for name in layout.columns}


def _copied(layout: Layout) -> dict[str, str]:
    """Return those that are not called like the column."""
    return {id: name for id, name in _held(layout).items() if name.lower() != id}
