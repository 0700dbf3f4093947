"""Version mounts: versions of tables, made readable under names of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.vcs.core.model import Block, Field, Tombstone

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMount:
    """One immutable table version, ready to be mounted.

    Attributes:
        id: A name unique to this version; letters, digits and underscores.
        folder: `data/<table id>`, with the table's own writes. Files may be elsewhere.
        files: Paths of the block files, relative to the repository.
        fields: The columns, in order.
        partition_by: Field ids of the partition columns, outermost first.
        tombstones: The deleted rows of the files; targets are files of the version.
        entries: Known entries of the files, whose digests the files must have.
    """

    id: str
    folder: str
    files: tuple[str, ...]
    fields: tuple[Field, ...]
    partition_by: tuple[str, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    entries: tuple[Block | Tombstone, ...] = ()


class TableParts(Protocol):
    """Rows of this process that are gathered one part at a time."""

    @property
    def schema(self) -> pa.Schema:
        """Their columns."""

    @property
    def count(self) -> int:
        """The number of rows."""

    def parts(self) -> Iterator[pa.Table]:
        """Yield the rows as tables, each built when it is requested."""


class VersionMounts(Protocol):
    """Makes versions readable without a name on the branch, and rows of this process, too."""

    def mount_physical(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation, with field ids as column names.

        It never changes. It may have more columns than the fields, so select by name.
        """

    def mount_located(self, mount: TableMount) -> str:
        """Return the quoted name of what `mount_physical` shows, with the position of each row.

        Two more columns: `__vcs_file`, the block's path relative to the repository, and
        `__vcs_pos`, the row's position in it, from 0.
        """

    def mount_version(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation, with the table's column names.

        It never changes.
        """

    def mount_arrow(self, name: str, rows: pa.Table | TableParts, *, lasting: bool = False) -> str:
        """Return the quoted name of a temporary view of this session with rows of this process.

        Mounting other rows under the same `name`, an identifier, replaces them. `lasting` allows
        other views to read them for as long as the engine's session lives.
        """

    def mount_deleted(
        self,
        tombstones: Sequence[Tombstone],
        files: Collection[str],
        fields: Sequence[Field] = (),
    ) -> tuple[str, str]:
        """Mount the rows that tombstones delete from some files.

        Returns the quoted name of a relation and a SQL condition that selects the rows in it.
        The relation has `__vcs_file` and `__vcs_pos` as in `mount_located`, and the fields
        whose values the tombstones store, by id. All tombstones must be at the same folder
        depth.
        """


def whole_table(rows: pa.Table | TableParts) -> pa.Table:
    """Return rows as one table."""
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows
    return pa.concat_tables([rows.schema.empty_table(), *rows.parts()])
