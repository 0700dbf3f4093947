"""A target: the table whose rows a statement changes, as its manifests tell."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Block, RelationName, Snapshot, TableEntry, Tombstone
from dbt.adapters.vcs.core.model.schema import RESERVED
from dbt.adapters.vcs.core.model.tombstone import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.engines.port import Session, TableMount
from dbt.adapters.vcs.rows.quoting import quoted
from dbt.adapters.vcs.scope.statement_scope import Scope


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One version of a table.

    Attributes:
        name: What statements call it.
        version: The snapshot's id, or another text that names this version and no other.
        snapshot: The version.
        blocks: All blocks, in order.
        tombstones: All tombstones.
    """

    name: RelationName
    version: str
    snapshot: Snapshot
    blocks: tuple[Block, ...]
    tombstones: tuple[Tombstone, ...]

    @property
    def deleted(self) -> Mapping[str, int]:
        """Rows that tombstones delete, by path of the block."""
        counts: Counter[str] = Counter()
        for item in self.tombstones:
            counts.update(item.targets)
        return counts

    def mount(self, blocks: Sequence[Block]) -> TableMount:
        """Return what an engine needs to read some of the blocks."""
        paths = tuple(block.path for block in blocks)
        id = self.version[:32]
        if len(paths) < len(self.blocks):
            digest = hashlib.sha256("\n".join([self.version, *paths]).encode()).hexdigest()
            id = f"{id[:16]}_{digest[:32]}"
        wanted = set(paths)
        tombstones = tuple(
            msgspec.structs.replace(
                item, targets={path: item.targets[path] for path in sorted(targets)}
            )
            for item in self.tombstones
            if (targets := wanted & item.targets.keys())
        )
        return TableMount(
            id=id,
            folder=f"data/{self.snapshot.table}",
            files=paths,
            fields=self.snapshot.schema.fields,
            partition_by=self.snapshot.partition_by,
            tombstones=tombstones,
        )

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
    snapshot = scope.overlay.require_table(name)
    entry = scope.overlay.require(name)
    assert isinstance(entry, TableEntry)
    segments = [scope.overlay.repository.objects.segment(ref.id) for ref in snapshot.segments]
    return Target(
        name=name,
        version=entry.snapshot,
        snapshot=snapshot,
        blocks=tuple(block for segment in segments for block in segment.blocks),
        tombstones=tuple(item for segment in segments for item in segment.tombstones),
    )
