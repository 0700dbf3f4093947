"""A target: the table whose rows a statement changes, with its manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Block, RelationName
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN, RESERVED
from dbt.adapters.vcs.engines.port import VersionMounts
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.statement_scope import Scope
from dbt.adapters.vcs.workspace.table_version import Version


class BlockChoice(NamedTuple):
    """What happens to the blocks that lose rows.

    Attributes:
        gone: Paths of blocks that lose all rows and are removed.
        rewritten: Blocks whose remaining rows are written to new blocks.
        holed: Paths of blocks that get a tombstone.
    """

    gone: frozenset[str]
    rewritten: tuple[Block, ...]
    holed: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class RowTarget(Version):
    """A version of a table whose rows are to change.

    Attributes:
        name: What statements call the table.
    """

    name: RelationName

    def located(self, session: VersionMounts, blocks: Sequence[Block]) -> str:
        """Return SQL for the rows of some blocks: columns by name, `__vcs_file`, `__vcs_pos`.

        Raises:
            UnsupportedError: A column has one of these reserved names.
        """
        for field in self.snapshot.schema.fields:
            if field.name.lower().startswith(RESERVED):
                raise UnsupportedError(
                    f"{self.name} has a column {field.name}; rows can't be changed while a name "
                    f"begins with {RESERVED}. Rename it: alter table {self.name} rename column."
                )
        named = (
            f"{quoted(field.id)} as {quoted(field.name)}" for field in self.snapshot.schema.fields
        )
        columns = ", ".join([*named, FILE_COLUMN, POSITION_COLUMN])
        return f"(select {columns} from {session.mount_located(self.mount(blocks))})"


def tombstone_folder(folder: str) -> str:
    """Return a folder for a write's tombstones: the engine only writes to new folders."""
    return f"{folder}t"


def target_of(scope: Scope, name: RelationName) -> RowTarget:
    """Return the table with a name as a target.

    Raises:
        NotFoundError: There is no such relation.
        InputError: It is a view.
    """
    return RowTarget(
        snapshot=scope.overlay.require_table(name),
        read=scope.overlay.repository.objects.segment,
        name=name,
    )
