"""A target: the table whose rows a statement changes, as its manifests tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Block, RelationName
from dbt.adapters.vcs.core.model.schema import RESERVED
from dbt.adapters.vcs.core.model.tombstone import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.engines.port import Session
from dbt.adapters.vcs.rows.quoting import quoted
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.worktree.table_version import Version


class Choice(NamedTuple):
    """What becomes of the blocks that lose rows.

    Attributes:
        gone: Paths of those that lose all: they leave.
        rewritten: Those whose other rows go to new blocks.
        holed: Paths of those that get a tombstone.
    """

    gone: frozenset[str]
    rewritten: tuple[Block, ...]
    holed: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Target(Version):
    """A version of a table whose rows are to change.

    Attributes:
        name: What statements call the table.
    """

    name: RelationName

    def located(self, session: Session, blocks: Sequence[Block]) -> str:
        """Return the rows of some blocks as SQL: columns by name, `__vcs_file`, `__vcs_pos`.

        Raises:
            UnsupportedError: A column has a name that is kept for these.
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
    """Return the folder of the tombstone beside a write: the engine writes to new ones alone."""
    return f"{folder}t"


def target_of(scope: Scope, name: RelationName) -> Target:
    """Return the table of a name.

    Raises:
        NotFoundError: There is no such relation.
        InputError: It is a view.
    """
    return Target(
        snapshot=scope.overlay.require_table(name),
        read=scope.overlay.repository.objects.segment,
        name=name,
    )
