"""Repairs: the rows to delete from and add to a graft to make every group right.

Only groups that both sides touched can be wrong, and rows that the graft of whole files holds
differently from `ours + theirs - base`. For each of these rows

    repair = rows wanted (decide.py) - rows that the graft has

where a negative number becomes deletions at known places, and a positive one rows in new files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.rowwise.decide import Conflicts, Groups, decide
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import RowPolicy
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.delta import Piece
from dbt.adapters.vcs.core.plan.schema_merge import Definition
from dbt.adapters.vcs.core.plan.states import DeletionKey, State, Triple
from dbt.adapters.vcs.table.compare.located import (
    Located,
    Mask,
    PlaceGrid,
    fast_first,
    locate,
    ranks,
    sums,
)
from dbt.adapters.vcs.table.equality import Codes, codes_of, group_ids, ids_within
from dbt.adapters.vcs.table.files.block_reader import Files, Positions
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_rows, write_tombstone
from dbt.adapters.vcs.table.row_numbers import are_among


class MergeCheckError(VcsError):
    """A merge did not write what it planned. Report it; nothing was changed."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"The merged version is not what was planned: {what}. Nothing was changed. This is a "
            "defect of dbt-vcs: report it, with the two versions if you can."
        )


MAX_DELETED: Final = 0.5
"""A block of theirs of which more than this part would be deleted is not grafted; the rest of
its rows is written anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """How a graft becomes the merged version.

    Attributes:
        state: Blocks and deletions of the graft.
        deleted: Rows to delete from it, in the columns of a tombstone file.
        inserted: Rows to add, columns by field id.
        made: How many of these, at the end, exist on no side: they were merged by column.
        conflicts: What both sides changed differently.
        rows: The rows that were examined.
        units: For each of them a number, the same for equal rows of one group.
        wanted: How many rows the merge wants, by that number.
    """

    files: Files
    state: State
    deleted: pa.Table
    inserted: pa.Table
    made: int
    conflicts: Conflicts
    rows: TouchedRows
    units: Codes
    wanted: Positions

    @property
    def is_needed(self) -> bool:
        """Whether there are rows to delete or to add."""
        return bool(self.deleted.num_rows or self.inserted.num_rows)

    def write(
        self, definition: Definition, folder: str
    ) -> tuple[tuple[Block, ...], tuple[Tombstone, ...]]:
        """Write the rows to add and the tombstones below `data/<table id>/w=<write id>`, new."""
        blobs, schema, by = self.files.blobs, definition.schema, definition.partition_by
        files = write_rows(blobs, self.inserted, folder=folder, partition_by=by)
        blocks = read_blocks(blobs, files, schema, by, files)
        if not self.deleted.num_rows:
            return blocks, ()
        return blocks, (write_tombstone(blobs, self.deleted, folder=folder),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a repair has to decide.

    Attributes:
        pieces: The pieces that may hold rows that both sides touched or that were picked.
        key: The columns that identify a row; none if only its whole content does.
        policy: What to do about conflicts, and which rows are picked.
    """

    files: Files
    pieces: Sequence[Piece]
    triple: Triple
    fields: Sequence[Field]
    key: Sequence[Field]
    policy: RowPolicy

    @property
    def by(self) -> Sequence[Field]:
        """The columns that rows are grouped by."""
        return self.key or self.fields


def repair(question: Question, state: State) -> Repair:
    """Return the repair of a graft, without the policy's decisions and picks.

    Args:
        state: The graft, in which no row is deleted twice.

    Raises:
        UnsupportedError: Rows must be examined, and Arrow can't read one of their columns.
    """
    found = _attempt(question, state)
    poor = mostly_deleted(question.triple, state, found.deleted_of())
    if poor:
        # Without these blocks other rows are missing: what to add is found again.
        less = without(state, poor)
        found = _attempt(question, less)
    return found.repair()


def needs_values(question: Question, state: State) -> bool:
    """Return whether rows have to be examined, so that all of their columns are read."""
    return len(_suspects_of(question, state)[0]) > 0


def _attempt(question: Question, state: State) -> _Attempt:
    return _Attempt(question, state, *_suspects_of(question, state))


def _suspects_of(question: Question, state: State) -> tuple[TouchedRows, Codes]:
    rows = touched_rows(question.files, question.pieces, question.triple, state)
    return suspects(question.files, rows, question.by)


class _Attempt:
    """The repair of one graft."""

    def __init__(self, question: Question, state: State, rows: TouchedRows, group: Codes) -> None:
        self.state = state
        self.rows = rows
        self._files = question.files
        self._fields = question.fields
        self._keyed = keyed = bool(question.key)
        # Numbered again, without the gaps of rows that were left out: groups are places in arrays
        # below.
        group = group_ids([pa.array(group)], len(rows))
        masks = (rows.base, rows.ours, rows.theirs)
        content = self._contents(group, question.by) if keyed else group
        self.groups = Groups.of(group, content, masks, keyed=keyed)
        self.verdict = decide(self.groups, self._read, mode=question.policy.mode)
        units = self.groups.unit
        # Of equal rows of the graft any may stay: the first ones do.
        # Grafted rows are ranked among themselves: a row that the graft lacks must not use up a
        # place.
        rank = ranks(units * 2 + self.rows.grafted)
        wanted = self.verdict.wanted[units] if len(units) else units
        self.deleted = self.rows.grafted & (rank >= wanted)

    def deleted_of(self) -> dict[str, int]:
        """Return how many rows each block loses."""
        located = self.rows.located.take(self.deleted)
        numbers, counts = np.unique(located.piece, return_counts=True)
        pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
        return {located.pieces[number].block: count for number, count in pairs}

    def repair(self) -> Repair:
        units = self.groups.unit
        have = sums(units, self.rows.grafted.astype(np.int64))
        missing = np.maximum(self.verdict.wanted - have, 0)
        made = self._made()
        return Repair(
            files=self._files,
            state=self.state,
            deleted=self._deleted(),
            inserted=pa.concat_tables([self._read(np.repeat(self.groups.first, missing)), made]),
            made=made.num_rows,
            conflicts=Conflicts.of(
                self.groups, self.verdict, self._read, self._fields, keyed=self._keyed
            ),
            rows=self.rows,
            wanted=self.verdict.wanted,
            units=units,
        )

    def _read(self, rows: Positions) -> pa.Table:
        return self.rows.located.read_at(self._files, self._fields, rows)

    def _contents(self, group: Codes, key: Sequence[Field]) -> Codes:
        """Return a number for each row, equal for equal rows of the same key."""
        # A group of one row is told from nothing, so its other columns need not be read.
        several = np.bincount(group)[group] > 1
        located = self.rows.located.take(several)
        others = [field for field in self._fields if field not in key]
        columns = (
            located.read(self._files, [field]).column(field.id)
            for field in chain(*fast_first(others))
        )
        content = np.arange(len(group))
        content[several] = ids_within(group[several], columns)
        return content

    def _deleted(self) -> pa.Table:
        rows = self.rows.located.take(self.deleted)
        images = rows.read(self._files, self._fields)
        images = images.add_column(0, POSITION_COLUMN, pa.array(rows.position, pa.int64()))
        return images.add_column(0, FILE_COLUMN, rows.blocks())

    def _made(self) -> pa.Table:
        """Return the rows merged from columns of different rows."""
        located = self.rows.located
        if not self.verdict.made:
            return self._read(np.empty(0, np.int64))
        columns = [
            located.read_at(self._files, [field], source).column(field.id)
            for field, source in zip(self._fields, self.verdict.made, strict=True)
        ]
        return pa.table(columns, names=[field.id for field in self._fields])


def mostly_deleted(triple: Triple, state: State, deleted: Mapping[str, int]) -> set[str]:
    """Return the blocks added by theirs that would lose most of their rows.

    Args:
        deleted: How many rows a repair deletes from each block.
    """
    lost = dict(deleted)
    for (_, block), rows in state.deletions.items():
        if block in lost:
            lost[block] += rows
    return {
        path
        for path, rows in lost.items()
        if path in state.blocks
        # Blocks of ours are in the table already: only what would be added can be left out.
        and path not in triple.ours.blocks
        and rows > MAX_DELETED * state.blocks[path].rows
    }


def without(
    state: State, blocks: Collection[str], deletions: Collection[DeletionKey] = ()
) -> State:
    """Return a state without some blocks and the deletions from them, and without others."""
    return State(
        {path: block for path, block in state.blocks.items() if path not in blocks},
        {
            key: count
            for key, count in state.deletions.items()
            if key[1] not in blocks and key not in deletions
        },
    )


def suspects(files: Files, rows: TouchedRows, by: Sequence[Field]) -> tuple[TouchedRows, Codes]:
    """Return the candidates: rows that may be wrong, and for each the number of its group.

    Rows are grouped by one column after another. If only one side changed a group, its other
    columns need not be read: the result takes that side's rows, whatever they hold. For most rows
    one or two columns are enough.

    They include all rows of a group that both sides touched. Of other groups they include the rows
    that the graft holds differently from `ours + theirs - base`, each as a group of its own.

    Args:
        rows: All rows that a side touched.
        by: The columns that identify a row.
    """
    left, numbers = rows, np.arange(len(rows))
    groups = np.zeros(len(rows), np.int64)
    alone = [numbers[:0]]
    for place, field in enumerate(chain(*fast_first(by))):
        if not len(left):
            break
        column = left.located.read(files, [field]).column(field.id)
        groups = group_ids([pa.array(groups), column], len(left)) if place else codes_of(column)
        both = _touched_by_both(left, groups)
        # A group of one side alone is settled, and its rows need no further column. Only those
        # that the graft gets wrong have to be put right.
        alone.append(numbers[~both & _is_wrong(left)])
        left, numbers, groups = left.take(both), numbers[both], groups[both]
    single = np.concatenate(alone)
    found = np.full(len(rows), -1)
    found[numbers] = groups
    # Each of these is a group of its own, numbered after those of both sides.
    found[single] = int(groups.max(initial=-1)) + 1 + np.arange(len(single))
    kept = found >= 0
    return rows.take(kept), found[kept]


def _any_in_group(groups: Codes, rows: Mask) -> Mask:
    """Return a mask of the groups that contain any of the marked rows."""
    found = np.zeros(int(groups.max(initial=-1)) + 1, np.bool_)
    found[groups[rows]] = True
    return found


def _touched_by_both(rows: TouchedRows, groups: Codes) -> Mask:
    both = _any_in_group(groups, rows.ours != rows.base)
    both &= _any_in_group(groups, rows.theirs != rows.base)
    found: Mask = both[groups]
    return found


def _is_wrong(rows: TouchedRows) -> Mask:
    """Return a mask of rows that the graft gets wrong, assuming only one side touched them."""
    base, ours, theirs, grafted = (
        mask.astype(np.int8) for mask in (rows.base, rows.ours, rows.theirs, rows.grafted)
    )
    # The other side agrees with the base, so the sum is what the side that touched the row has.
    wrong: Mask = grafted != ours + theirs - base
    return wrong


@dataclass(frozen=True, slots=True)
class TouchedRows:
    """Physical rows that some but not all of base, ours, theirs and the graft have, each once.

    Attributes:
        located: Their places.
        base: Mask of the rows that are live in base.
        ours: The same for ours.
        theirs: The same for theirs.
        grafted: The same for the graft.
    """

    located: Located
    base: Mask
    ours: Mask
    theirs: Mask
    grafted: Mask

    def __len__(self) -> int:
        return len(self.located)

    def take(self, chosen: Mask) -> TouchedRows:
        """Return some of the rows."""
        return TouchedRows(
            self.located.take(chosen),
            self.base[chosen],
            self.ours[chosen],
            self.theirs[chosen],
            self.grafted[chosen],
        )


def touched_rows(
    files: Files,
    pieces: Sequence[Piece],
    triple: Triple,
    graft: State,
) -> TouchedRows:
    """Return the rows of pieces that some but not all of base, ours, theirs and the graft have.

    Only tombstones are read.
    """
    located = locate(files, pieces)
    grid = PlaceGrid(located.parts())
    first = grid.first()
    if not first.all():
        # Two tombstones can hold one row.
        located = located.take(first)
        grid = PlaceGrid(located.parts())
    states = (*triple[:3], graft)
    base, ours, theirs, grafted = (_live_in(files, pieces, grid, state) for state in states)
    rows = TouchedRows(located, base, ours, theirs, grafted)
    return rows.take((base != ours) | (base != theirs) | (base != grafted))


def dead_rows(files: Files, grid: PlaceGrid, deletions: Iterable[tuple[str, str]]) -> Mask:
    """Return a mask of the deleted rows, given tombstones and the block each deletes from."""
    tombstones: dict[str, list[str]] = {}
    for image, block in deletions:
        if block in grid.blocks:
            tombstones.setdefault(block, []).append(image)
    return grid.among((block, files.dead(images, block)) for block, images in tombstones.items())


def overlaps(files: Files, triple: Triple, graft: State) -> dict[DeletionKey, int]:
    """Return the deletions of theirs that overlap those of ours, by how many rows are left.

    A row must not be deleted twice. Only positions are read, a block's at a time.
    """
    ours = deletions_of_ours(triple, graft)
    found: dict[DeletionKey, int] = {}
    # In the order of tombstones, so that few positions have to be kept at a time.
    for image, block in sorted(graft.deletions.keys() - triple.ours.deletions.keys()):
        if block in ours:
            positions = files.deleted(image, block, triple.tombstones.get(image))[0]
            twice = are_among(positions, files.dead(ours[block], block))
            if twice.any():
                found[image, block] = int((~twice).sum())
    return found


def deletions_of_ours(triple: Triple, graft: State) -> dict[str, list[str]]:
    """Return the tombstones of ours that a graft keeps, by the block that they delete from."""
    found: dict[str, list[str]] = {}
    for image, block in graft.deletions.keys() & triple.ours.deletions.keys():
        found.setdefault(block, []).append(image)
    return found


def _live_in(files: Files, pieces: Sequence[Piece], grid: PlaceGrid, state: State) -> Mask:
    # An image's row belongs to a block that every state has, so it is live in a state without an
    # entry for the block.
    shared: dict[str, bool] = {}
    for piece in pieces:
        shared.setdefault(piece.block, piece.image is not None)
    there = grid.spread([item.block in state.blocks or shared[item.block] for item in pieces])
    return there & ~dead_rows(files, grid, state.deletions)
