"""Version mounts: versions of tables, made readable under names of their own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.vcs.core.model import Field, Tombstone

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMount:
    """One immutable version of a table, ready to be made readable.

    Attributes:
        id: Names this version and no other; letters, digits and underscores.
        folder: `data/<table id>`: where the table's own writes lie. Files may lie elsewhere.
        files: Paths of the block files, relative to the repository.
        fields: The columns, in order.
        partition_by: Field ids of the partition columns, outermost first.
        tombstones: Which rows of the files are deleted; targets are files of the version.
    """

    id: str
    folder: str
    files: tuple[str, ...]
    fields: tuple[Field, ...]
    partition_by: tuple[str, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()


class VersionMounts(Protocol):
    """Makes versions readable without a name on the branch, and rows of this process, too."""

    def mount_physical(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation, its columns named by field id.

        It never changes. Columns beyond the fields may show: select by name.
        """

    def mount_located(self, mount: TableMount) -> str:
        """Return the quoted name of what `mount_physical` shows with the place of each row.

        Two more columns: `__vcs_file`, the block's path relative to the repository, and
        `__vcs_pos`, the row's position in it, from 0.
        """

    def mount_version(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation, its columns named as the table's.

        It never changes.
        """

    def mount_arrow(self, name: str, table: pa.Table) -> str:
        """Return the quoted name of a temporary view of this session that shows a table's rows.

        Another table of the same `name`, a word, takes its place.
        """

    def mount_deleted(
        self,
        tombstones: Sequence[Tombstone],
        files: Collection[str],
        fields: Sequence[Field] = (),
    ) -> tuple[str, str]:
        """Return where the rows are that tombstones delete from some files.

        It is the quoted name of a relation and, in SQL, the condition of the rows in it. The
        relation has `__vcs_file` and `__vcs_pos` as `mount_located` has them, and the fields that
        the tombstones keep the values of, by id. All tombstones must be equally deep in folders.
        """
