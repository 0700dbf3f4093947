"""Outcome: the result of a merge, and how it is stored in the repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.rowwise.repair import Repair
from dbt.adapters.vcs.changes.merges.rowwise.verify import verify
from dbt.adapters.vcs.changes.writes.targets import tombstone_folder
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.ids import Micros, SnapshotId, WriteId
from dbt.adapters.vcs.core.model import Block, Consumption, Field, Origin, Snapshot, Tombstone
from dbt.adapters.vcs.core.origins.consumption import merged_consumption
from dbt.adapters.vcs.core.plan.delta import Deletion, Delta
from dbt.adapters.vcs.core.plan.schema_merge import Definition
from dbt.adapters.vcs.core.plan.states import State, Triple
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.compare.located import signed_rows
from dbt.adapters.vcs.table.compare.net import net_changes
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_rows, write_tombstone
from dbt.adapters.vcs.table.limits import Limits, TooLargeError
from dbt.adapters.vcs.table.manifests import edited

How: TypeAlias = Literal["up_to_date", "fast_forward", "graft", "rewrite"]


class ConflictRows(Protocol):
    """Conflicts that nobody decided."""

    def __len__(self) -> int:
        """Return how many there are."""

    @property
    def table(self) -> pa.Table:
        """The conflicts as `Conflicts.table`; of very many only the first ones."""


class LargeRepair(Protocol):
    """Rows to delete from a graft and to add, which are kept by an engine."""

    @property
    def state(self) -> State:
        """Blocks and deletions of the graft."""

    @property
    def conflicts(self) -> ConflictRows:
        """What both sides changed differently."""

    @property
    def given(self) -> int:
        """How many keys were found whose rows were given by hand."""

    @property
    def is_needed(self) -> bool:
        """Whether there are rows to delete or to add."""

    @property
    def has_changes(self) -> bool:
        """Whether theirs differs from base in any of the picked rows, by content."""

    def write(
        self, definition: Definition, folder: str
    ) -> tuple[tuple[Block, ...], tuple[Tombstone, ...]]:
        """Write the rows to add and the tombstones, checked, below a new folder of a write."""


@dataclass(frozen=True, kw_only=True)
class MergeOutcome:
    """A merge of one table, not yet written.

    Attributes:
        how: `up_to_date`: ours has it all; `fast_forward`: theirs is the result; `graft`: files of
            theirs are added to ours, none is written; `rewrite`: rows are also deleted and
            written.
        conflicts: What both sides changed differently and nobody decided.
        is_blocked: True if conflicts must be decided before the merge can be stored.
        definition: Columns, key and properties of the result.
        repair: Rows to delete and add, None if there are none.
        large: The same if an engine has them.
        picked: False if rows were to be picked, and theirs changed none of them.
        fits: The writes of ours' and theirs' files that were written for this merge.
    """

    repository: Repository
    ours: Snapshot
    theirs: Snapshot
    base: Snapshot | None
    how: How
    definition: Definition
    conflicts: ConflictRows
    is_blocked: bool
    triple: Triple
    state: State
    repair: Repair | None
    limits: Limits
    large: LargeRepair | None = None
    picked: bool = True
    fits: tuple[WriteId, ...] = ()

    @cached_property
    def counts(self) -> Counts:
        """The numbers of rows that ours gains, loses and modifies.

        The first call reads the changes of theirs, unless they only add or only remove rows.

        Raises:
            TooLargeError: There are too many rows; an engine has to count them.
        """
        if self.large is not None:
            raise TooLargeError("An engine has to count the rows that it merged.")
        change = self._delta()
        is_plain = self.repair is None and not (change.rows_added and change.rows_removed)
        if is_plain:
            return Counts(change.rows_added, change.rows_removed, 0)
        signed = signed_rows(self.repository.blobs, change, limits=self.limits)
        fields = self.definition.schema.fields
        mended: tuple[tuple[int, pa.Table], ...] = ()
        if self.repair is not None:
            mended = (-1, self.repair.deleted), (1, self.repair.inserted)
        sign = np.concatenate([signed.sign, *(np.full(x.num_rows, s) for s, x in mended)])

        def columns(wanted: Sequence[Field]) -> list[pa.ChunkedArray]:
            ids = [field.id for field in wanted]
            parts = [signed.read(wanted), *(table.select(ids) for _, table in mended)]
            found: list[pa.ChunkedArray] = pa.concat_tables(parts).columns
            return found

        key = tuple(f for id in self.definition.primary_key for f in fields if f.id == id)
        return net_changes(columns, sign, fields, key).counts

    def put(
        self,
        *,
        write: WriteId,
        parents: tuple[SnapshotId, ...],
        created_at: Micros,
        operation: str = "merge",
        origin: Origin | None = None,
    ) -> Snapshot:
        """Write the files and segments of the merged version, and return it; nobody sees it yet.

        The caller stores the snapshot and points a name to it. If `how` is `up_to_date` or
        `fast_forward` there is nothing to store: use the id of ours or theirs.

        Args:
            write: Names the folder of new files; no other write uses it.
            parents: Ours and theirs; only ours if rows were picked.
            created_at: The time to record.
            operation: The operation to record.
            origin: Its lineage, if any.

        Raises:
            ConflictError: The merge is blocked by conflicts.
            MergeCheckError: The files written don't match the plan; nothing is lost.
        """
        if self.is_blocked:
            raise ConflictError(
                f"Both sides changed {len(self.conflicts)} rows differently. Nothing was "
                "changed. Decide on each, or merge with skip or accept."
            )
        blocks, tombstones = self._written(write)
        deleted_from = {path for stone in tombstones for path in stone.targets}
        sources = [self.theirs, *([self.base] if self.base else [])]
        segments = edited(
            self.repository.objects,
            self.ours,
            sources,
            self.triple.edit(self.state, deleted_from),
            self.triple.stones,
            blocks=blocks,
            tombstones=tombstones,
        )
        definition = self.definition
        result = msgspec.structs.replace(
            self.ours,
            schema=definition.schema,
            segments=segments,
            created_at=created_at,
            operation=operation,
            parents=parents,
            primary_key=definition.primary_key,
            partition_by=definition.partition_by,
            cluster_by=definition.cluster_by,
            comment=definition.comment,
            properties=dict(definition.properties),
            origin=origin or Origin(),
            consumption=self._consumption(is_whole=len(parents) > 1),
        )
        verify(self.repository, self.ours, result, self.triple, self.repair, blocks)
        return result

    def _consumption(self, *, is_whole: bool) -> Consumption | None:
        """Return what the merged rows account for; picked rows are a change by hand."""
        if not is_whole:
            return self.ours.consumption
        base = self.base.consumption if self.base else None
        return merged_consumption((base, self.ours.consumption, self.theirs.consumption))

    def forget(self, *writes: WriteId) -> None:
        """Delete the files of versions that were put and aren't wanted any more, and `fits`."""
        folders = [f"data/{self.ours.table}/w={write}" for write in writes]
        for table, write in zip((self.ours.table, self.theirs.table), self.fits, strict=False):
            folders.append(f"data/{table}/w={write}")
        for folder in folders:
            for written in (folder, tombstone_folder(folder)):
                for blob in list(self.repository.blobs.walk(written)):
                    self.repository.blobs.delete(blob.path)

    def _written(self, write: WriteId) -> tuple[tuple[Block, ...], tuple[Tombstone, ...]]:
        blobs, definition = self.repository.blobs, self.definition
        folder = f"data/{self.ours.table}/w={write}"
        if self.large is not None:
            return self.large.write(definition, folder)
        if self.repair is None:
            return (), ()
        files = write_rows(
            blobs, self.repair.inserted, folder=folder, partition_by=definition.partition_by
        )
        blocks = read_blocks(blobs, files, definition.schema, definition.partition_by, files)
        if not self.repair.deleted.num_rows:
            return blocks, ()
        return blocks, (write_tombstone(blobs, self.repair.deleted, folder=folder),)

    def _delta(self) -> Delta:
        """Return the delta from ours to the graft."""
        ours, result = self.triple.ours, self.state

        def lost(one: State, other: State) -> tuple[Deletion, ...]:
            pairs = (item for item in one.deletions.items() if item[0] not in other.deletions)
            stones = self.triple.stones
            return tuple(Deletion(*key, rows, stones.get(key[0])) for key, rows in pairs)

        return Delta(
            added=tuple(b for path, b in result.blocks.items() if path not in ours.blocks),
            removed=tuple(b for path, b in ours.blocks.items() if path not in result.blocks),
            deleted=lost(result, ours),
            restored=lost(ours, result),
        )
