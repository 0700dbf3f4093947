"""Stage writes: apply a stage to a table's blocks, as tombstones and new blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

from dbt.adapters.vcs.changes.writes.keys import shown
from dbt.adapters.vcs.changes.writes.nullability import refuse_null
from dbt.adapters.vcs.changes.writes.stage import Stage
from dbt.adapters.vcs.changes.writes.stage_arrow import SmallChanges
from dbt.adapters.vcs.changes.writes.stage_spark import LargeChanges
from dbt.adapters.vcs.changes.writes.targets import BlockChoice, RowTarget, tombstone_folder
from dbt.adapters.vcs.changes.writes.versions import folder_of, put_segments, without_blocks
from dbt.adapters.vcs.core.errors import InputError, VcsError
from dbt.adapters.vcs.core.model import Block, Replacement, SegmentRef, Snapshot, Tombstone
from dbt.adapters.vcs.table.files.footers import WrittenFiles, read_blocks
from dbt.adapters.vcs.table.files.parquet import can_write
from dbt.adapters.vcs.table.limits import TooLargeError
from dbt.adapters.vcs.workspace.statement_scope import Scope

MAX_DELETED: Final = 0.3
"""A block that has lost more of its rows than this is written again without them."""

MIN_BYTES: Final = 1024 * 1024
"""A block smaller than this is written again rather than given a tombstone."""

MAX_ROWS_IN_PROCESS: Final = 1_000_000
MAX_BYTES_IN_PROCESS: Final = 256 * 1024 * 1024
"""Of blocks that are written again, in files, and of rows that somebody gave."""

MAX_STAGED_IN_PROCESS: Final = 2_000_000
"""Rows of a stage that is applied in process."""

WRITE_MODE: Final = "vcs.write_mode"
"""Table property: how changed rows are stored: `auto`, `merge_on_read` or `copy_on_write`."""

MODES: Final = ("auto", "merge_on_read", "copy_on_write")
_SHOWN: Final = 5


class Rewritten(NamedTuple):
    """The result of applying a stage.

    Attributes:
        segments: The table's new segments; its present ones if nothing changed.
        affected: Rows affected by the statement, as Spark counts them.
        is_changed: False if no row's values changed.
    """

    segments: tuple[SegmentRef, ...]
    affected: int
    is_changed: bool


class Changes(Protocol):
    """The rows of a stage, ready to be counted and written."""

    def affected(self) -> int:
        """Return how many rows are updated, deleted or inserted, unchanged ones included."""

    def repeated(self, places: Sequence[int], limit: int) -> list[tuple[Any, ...]]:
        """Return values of some rows that matched several times; `places` are columns."""

    def inserted(self) -> int:
        """Return how many new rows are to be written, updated ones included."""

    def deletions(self) -> Mapping[str, int]:
        """Return how many rows each block loses, by its path."""

    def write(
        self, target: RowTarget, choice: BlockChoice, folder: str
    ) -> tuple[WrittenFiles, tuple[Tombstone, ...]]:
        """Write the new blocks and the tombstones, and return both."""


def write_mode(snapshot: Snapshot) -> str:
    """Return how a table's blocks lose rows.

    Raises:
        InputError: The table property has an invalid value.
    """
    mode = snapshot.properties.get(WRITE_MODE, "auto").lower()
    if mode not in MODES:
        raise InputError(
            f"The table property {WRITE_MODE} is '{mode}'; expected one of {', '.join(MODES)}. "
            f"Set it: alter table ... set tblproperties ('{WRITE_MODE}' = 'auto')."
        )
    return mode


def chosen(
    blocks: Iterable[Block],
    deleted: Mapping[str, int],
    before: Mapping[str, int],
    mode: str,
) -> BlockChoice:
    """Decide what happens to each block that loses rows.

    Args:
        blocks: The table's blocks.
        deleted: Rows that each loses now, by path; blocks that lose none are left out.
        before: Rows that tombstones already delete from each.
        mode: As `write_mode` returns it.
    """
    gone: list[str] = []
    rewritten: list[Block] = []
    holed: list[str] = []
    for block in blocks:
        if block.path not in deleted:
            continue
        lost = deleted[block.path] + before.get(block.path, 0)
        small = block.bytes < MIN_BYTES or lost > block.rows * MAX_DELETED
        if lost >= block.rows:
            gone.append(block.path)
        elif mode == "copy_on_write" or (mode == "auto" and small):
            rewritten.append(block)
        else:
            holed.append(block.path)
    return BlockChoice(frozenset(gone), tuple(rewritten), frozenset(holed))


def rewritten(
    scope: Scope,
    target: RowTarget,
    stage: Stage,
    *,
    key: Sequence[int] | None = None,
    updates_only: Collection[str] = (),
    occurs_once: bool = False,
) -> Rewritten:
    """Apply a stage: write its files, and return the table's new segments.

    Readers see no change yet. Blocks are written first, then manifests; if something fails, the
    new files are deleted.

    Args:
        scope: The statement's scope.
        target: The table.
        stage: The row changes.
        key: Given if no row may match several times: the columns, by position, that errors show.
        updates_only: Given if every row of the stage is an update of its own row of the table:
            the columns that may get other values, by field id.
        occurs_once: True if no row of the table can be in the stage twice.

    Raises:
        InputError: A row matched several times, or a NOT NULL column would get a NULL.
    """
    blobs = scope.overlay.repository.blobs
    changes = _changes(scope, target, stage, occurs_once)
    if key is not None:
        _refuse_repeated(target, changes, key)
    affected, deleted, inserted = changes.affected(), changes.deletions(), changes.inserted()
    snapshot = target.snapshot
    if not deleted and not inserted:
        return Rewritten(snapshot.segments, affected, False)
    choice = chosen(target.blocks, deleted, target.deleted, write_mode(snapshot))
    if isinstance(changes, SmallChanges) and not _fits(choice.rewritten):
        changes = LargeChanges(blobs, scope.session, stage, occurs_once=occurs_once)
    repository = scope.overlay.repository
    folder = folder_of(snapshot.table)
    try:
        files, tombstones = changes.write(target, choice, folder)
        schema, by = snapshot.schema, snapshot.partition_by
        blocks = read_blocks(blobs, files, schema, by, files)
        refuse_null(blobs, blocks, schema)
    except BaseException:
        _discard(scope, folder)
        raise
    leaving = choice.gone | {block.path for block in choice.rewritten}
    kept = without_blocks(repository, snapshot.segments, leaving)
    replaced: tuple[Replacement, ...] = ()
    if updates_only and not leaving:
        replaced = (_replacement(blocks, tombstones, updates_only),)
    added = put_segments(repository, blocks, tombstones, replacements=replaced)
    return Rewritten((*kept, *added), affected, True)


def _replacement(
    blocks: Sequence[Block], tombstones: Sequence[Tombstone], columns: Iterable[str]
) -> Replacement:
    return Replacement(
        blocks=tuple(block.path for block in blocks),
        tombstones=tuple(stone.path for stone in tombstones),
        rows=sum(block.rows for block in blocks),
        columns=tuple(sorted(columns)),
    )


def _changes(scope: Scope, target: RowTarget, stage: Stage, occurs_once: bool) -> Changes:
    snapshot, blobs = target.snapshot, scope.overlay.repository.blobs
    small = stage.rows <= MAX_STAGED_IN_PROCESS and stage.bytes <= MAX_BYTES_IN_PROCESS
    if small and can_write(snapshot.schema, snapshot.partition_by):
        with suppress(TooLargeError):
            return SmallChanges(blobs, stage)
    return LargeChanges(blobs, scope.session, stage, occurs_once=occurs_once)


def _fits(blocks: Sequence[Block]) -> bool:
    return (
        sum(block.rows for block in blocks) <= MAX_ROWS_IN_PROCESS
        and sum(block.bytes for block in blocks) <= MAX_BYTES_IN_PROCESS
    )


def _refuse_repeated(target: RowTarget, changes: Changes, key: Sequence[int]) -> None:
    rows = changes.repeated(key, _SHOWN)
    if not rows:
        return
    fields = target.snapshot.schema.fields
    listed = "; ".join(
        ", ".join(
            f"{fields[place].name} = {shown(value)}" for place, value in zip(key, row, strict=True)
        )
        for row in rows
    )
    raise InputError(
        f"MERGE: some rows of {target.name} match several rows of the source, so their new "
        f"values are ambiguous: {listed}. Nothing was changed; leave one row of the source for "
        "each, for instance by `group by` or `row_number()`."
    )


def _discard(scope: Scope, folder: str) -> None:
    """Delete what a failed write left behind; collection finds anything this misses."""
    blobs = scope.overlay.repository.blobs
    # Report the error of the write, not of the cleanup.
    with suppress(VcsError):
        for written in (folder, tombstone_folder(folder)):
            for info in list(blobs.walk(written)):
                blobs.delete(info.path)
