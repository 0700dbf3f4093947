"""Compaction of a table: the same rows in blocks of a good size, without deleted rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import (
    Block,
    Derivation,
    Field,
    Origin,
    RelationName,
    Snapshot,
    TableEntry,
    Tombstone,
)
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.plan.compaction import (
    TARGET_BYTES,
    Bin,
    carried_out,
    composed,
    is_due,
    plan_compaction,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Destination, Rewriter
from dbt.adapters.vcs.table.files.block_reader import is_readable
from dbt.adapters.vcs.table.files.footers import WrittenFiles, read_blocks
from dbt.adapters.vcs.table.files.rewrite import rewrite_blocks
from dbt.adapters.vcs.table.manifests import (
    folder_of,
    joined_segments,
    put_segments,
    without_blocks,
)
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.table_version import Version

OPERATION: Final = "optimize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Blocks and what they were rewritten to, with the same rows.

    Attributes:
        inputs: Paths of the blocks that they replace.
        outputs: The blocks that were written.
        tombstones: Deletions from the inputs that were carried out.
    """

    inputs: tuple[str, ...]
    outputs: tuple[Block, ...]
    tombstones: tuple[Tombstone, ...]


def is_table_due(repository: Repository, snapshot: Snapshot) -> bool:
    """Return whether small blocks or deletions slow down reading a table."""
    return is_due(Version.of(repository, snapshot).contents)


def rewrite_table(
    repository: Repository,
    snapshot: Snapshot,
    sessions: Callable[[], Rewriter],
    *,
    target_bytes: int = TARGET_BYTES,
    cluster_by: Sequence[str] = (),
) -> tuple[Rewrite, ...]:
    """Rewrite the blocks that are worth it; readers see no change until `put_optimized`.

    Runs in process if Arrow knows the types and the table is not sorted as a whole; otherwise
    with the engine.

    Args:
        cluster_by: Columns to sort all rows of the table by; if empty, rewritten blocks are
            sorted by the table's own clustering columns.

    Raises:
        InputError: A column to cluster by doesn't exist, or its type has no ranges.
    """
    version = Version.of(repository, snapshot)
    writer = _Writer(repository, version, sessions, target_bytes)
    if cluster_by:
        return writer.sorted_by(_clustering(snapshot, cluster_by))
    key = snapshot.schema.by_id(snapshot.cluster_by[0]) if snapshot.cluster_by else None
    order = None if key is None else partial(_range, field=key)
    bins = plan_compaction(version.contents, target_bytes=target_bytes, order=order)
    return tuple(writer.rewrite(item) for item in bins)


def put_optimized(
    overlay: Overlay, name: RelationName, rewrites: Iterable[Rewrite], origin: Origin
) -> Snapshot | None:
    """Store a version of a table in which rewrites replace their inputs.

    A rewrite is used if every input is still in the table with exactly the deletions that it
    applied, so others may have changed the table meanwhile. Returns None if no rewrite is
    used.
    """
    repository = overlay.repository
    present = overlay.require_version(name)
    snapshot = overlay.snapshot(present)
    before = Version.of(repository, snapshot)
    contents = before.contents
    there = {block.path for block in contents.blocks}
    usable = [
        item
        for item in rewrites
        if there.issuperset(item.inputs)
        # The outputs still have rows that others deleted from the inputs meanwhile.
        and carried_out(contents.tombstones, item.inputs) == item.tombstones
    ]
    if not usable:
        return None
    # Decision 10: a diff or merge takes all outputs for all inputs, and so reads neither.
    derivations = [
        derivation
        for item in usable
        # An input may be the output of an earlier compaction. Put together, the two still cancel.
        for derivation in composed(
            Derivation(
                outputs=tuple(block.path for block in item.outputs),
                inputs=item.inputs,
                tombstones=item.tombstones,
            ),
            before.derivations,
        )
    ]
    gone = {path for item in usable for path in item.inputs}
    outputs = [block for item in usable for block in item.outputs]
    kept = without_blocks(repository.objects, snapshot.segments, gone)
    added = put_segments(repository.objects, outputs, derivations=derivations)
    version = msgspec.structs.replace(
        snapshot,
        segments=joined_segments(repository.objects, (*kept, *added)),
        parents=(present,),
        operation=OPERATION,
        created_at=repository.clock(),
        origin=origin,
    )
    # A rewrite never changes rows, and nothing after this would notice.
    if version.rows != snapshot.rows:
        raise AssertionError(
            f"{name}: compaction changed the number of rows from {snapshot.rows} to {version.rows}"
        )
    overlay.put(name, TableEntry(snapshot=SnapshotId(repository.objects.put(version))))
    return version


@dataclass(frozen=True, slots=True)
class _Writer:
    repository: Repository
    version: Version
    sessions: Callable[[], Rewriter]
    target_bytes: int

    def rewrite(self, item: Bin) -> Rewrite:
        paths = tuple(block.path for block in item.blocks)
        tombstones = carried_out(self.version.tombstones, paths)
        if all(map(is_readable, self.version.snapshot.schema.fields)):
            files = self._in_process(item.blocks, tombstones)
        else:
            files = self._by_engine(item.blocks, self.version.snapshot.cluster_by, item.bytes)
        return self._done(paths, files, tombstones)

    def sorted_by(self, fields: Sequence[Field]) -> tuple[Rewrite, ...]:
        """Rewrite the whole table sorted by columns, unless it is sorted already."""
        blocks = self.version.blocks
        if not blocks or self._is_sorted(fields[0]):
            return ()
        size = sum(block.bytes for block in blocks)
        columns = tuple(field.id for field in fields)
        files = self._by_engine(blocks, columns, size)
        paths = tuple(block.path for block in blocks)
        return (self._done(paths, files, self.version.tombstones),)

    def _is_sorted(self, field: Field) -> bool:
        """Return whether blocks already have a good size and ranges that don't overlap."""
        if plan_compaction(self.version.contents, target_bytes=self.target_bytes):
            return False
        groups: dict[str, list[Block]] = {}
        for block in self.version.blocks:
            groups.setdefault(repr(sorted(block.partition.items())), []).append(block)
        for blocks in groups.values():
            ranges = sorted(_range(block, field) for block in blocks)
            # Ends may be equal: rows with one value can fill several blocks.
            if any(one.high > other.low for one, other in pairwise(ranges)):
                return False
        return True

    def _in_process(
        self, blocks: Sequence[Block], tombstones: Sequence[Tombstone]
    ) -> WrittenFiles:
        return rewrite_blocks(
            self.repository.blobs,
            blocks,
            self.version.snapshot.schema.fields,
            tombstones,
            folder=folder_of(self.version.snapshot.table),
            target_bytes=self.target_bytes,
            sort_by=self.version.snapshot.cluster_by,
        )

    def _by_engine(
        self, blocks: Sequence[Block], cluster_by: Sequence[str], size: int
    ) -> WrittenFiles:
        snapshot, session = self.version.snapshot, self.sessions()
        # Without a sort, which distributes rows, each task of Spark would write a file.
        tasks = math.ceil(size / self.target_bytes) or 1
        hint = "" if cluster_by else f"/*+ coalesce({tasks}) */ "
        columns = ", ".join(quoted(field.id) for field in snapshot.schema.fields)
        written = session.write(
            f"select {hint}{columns} from {session.mount_physical(self.version.mount(blocks))}",
            Destination(
                folder=folder_of(snapshot.table),
                partition_by=snapshot.partition_by,
                cluster_by=cluster_by,
            ),
        )
        return {path: written.footers.get(path) for path in written.files}

    def _done(
        self, paths: tuple[str, ...], files: WrittenFiles, tombstones: tuple[Tombstone, ...]
    ) -> Rewrite:
        snapshot, blobs = self.version.snapshot, self.repository.blobs
        blocks = read_blocks(blobs, files, snapshot.schema, snapshot.partition_by, files)
        return Rewrite(inputs=paths, outputs=blocks, tombstones=tombstones)


def _clustering(snapshot: Snapshot, names: Sequence[str]) -> tuple[Field, ...]:
    fields = tuple(snapshot.schema.field(name) for name in names)
    for field in fields:
        if type_of(field.type).is_nested:
            raise InputError(
                f"Rows can't be clustered by {field.name}: files keep no value ranges for the "
                f"type {field.type}. Choose a column of a plain type."
            )
    return fields


class _Range(NamedTuple):
    """The range of a block's values in a column; an unknown end sorts first."""

    low: tuple[bool, Any]
    high: tuple[bool, Any]


def _range(block: Block, field: Field) -> _Range:
    stats = block.stats.get(field.id)
    ends = (None, None) if stats is None else (stats.min, stats.max)
    # Manifests have bounds of decimals as text, which has another order.
    if type_of(field.type).kind == "decimal":
        return _Range(*(_placed(None if end is None else Decimal(str(end))) for end in ends))
    return _Range(*map(_placed, ends))


def _placed(end: Any) -> tuple[bool, Any]:
    return (False, 0) if end is None else (True, end)
