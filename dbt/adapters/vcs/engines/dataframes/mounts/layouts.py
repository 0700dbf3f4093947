"""Layouts of files: what files must share to be read as one Spark table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.model import Block
from dbt.adapters.vcs.engines.version_mounts import TableMount
from dbt.adapters.vcs.table.partition_values import WRITE_FOLDER, column_of, partition_folders

_MOST_INTACT: Final = 8
"""Files with at most this part of the rows of those with deletions are read with them."""


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
