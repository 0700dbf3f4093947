"""Purged files: what takes the place of each file that holds rows to erase.

Tombstones name rows by block and position. A block without some rows is another block, with other
positions, so every tombstone that deletes rows from it is written again, too.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.commands.purged_rows import GONE, ToErase
from dbt.adapters.vcs.core.ids import new_write_id
from dbt.adapters.vcs.core.model import Block, Derivation, Segment, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_tombstone
from dbt.adapters.vcs.table.files.rewrite import read_stored, write_without
from dbt.adapters.vcs.table.partition_values import folders_like
from dbt.adapters.vcs.table.row_numbers import are_among


class NewFiles:
    """The files that take the place of others; a dry run only makes their entries.

    Attributes:
        rows: Number of rows that were erased.
        images: Number of before-images that were erased.
    """

    def __init__(self, blobs: Blobs, files: ToErase, *, dry_run: bool) -> None:
        self._blobs = blobs
        self._files = files
        self._dry_run = dry_run
        self._write = new_write_id()
        self._number = 0
        self.rows = sum(len(gone) for _, gone in files.blocks.values())
        self.images = 0
        # By the path of the old one; None if nothing is left of it.
        self._blocks: dict[str, Block | None] = {}
        # Blocks first: tombstones name their new paths and positions.
        for path, block in files.collected.items():
            self._blocks[path] = self._collected_block(block)
        for path in files.blocks:
            self._blocks[path] = self._block_of(path)
        self._tombstones = {
            path: self._tombstone_of(tombstone) for path, tombstone in files.tombstones.items()
        }

    def segment(self, old: Segment) -> Segment:
        """Return a segment in which files are replaced."""
        blocks = (self._blocks.get(block.path, block) for block in old.blocks)
        derivations = map(self._derivation_of, old.derivations)
        return Segment(
            blocks=tuple(block for block in blocks if block is not None),
            tombstones=self._applied_tombstones(old.tombstones),
            derivations=tuple(item for item in derivations if item is not None),
        )

    def _path(self, old: str) -> str | None:
        if old not in self._blocks:
            return old
        block = self._blocks[old]
        return None if block is None else block.path

    def _paths(self, old: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in map(self._path, old) if path is not None)

    def _applied_tombstones(self, old: Iterable[Tombstone]) -> tuple[Tombstone, ...]:
        """Return what is left of tombstones, each with the blocks to which it is applied here."""
        found = []
        for tombstone in old:
            new = self._tombstones.get(tombstone.path, tombstone)
            if new is None:
                continue
            # A version applies a tombstone to some of its targets, and of these some rows may be
            # erased.
            counts = {
                path: rows if new is tombstone else new.targets.get(path, 0)
                for target, rows in tombstone.targets.items()
                if (path := self._path(target)) is not None
            }
            targets = {path: rows for path, rows in counts.items() if rows}
            if targets:
                found.append(msgspec.structs.replace(new, targets=targets))
        return tuple(found)

    def _derivation_of(self, old: Derivation) -> Derivation | None:
        outputs, inputs = self._paths(old.outputs), self._paths(old.inputs)
        if not outputs and not inputs:
            return None
        return Derivation(
            outputs=outputs, inputs=inputs, tombstones=self._applied_tombstones(old.tombstones)
        )

    def _folder(self, path: str) -> str:
        # Decision 2: each write has a folder of its own.
        return f"{'/'.join(path.split('/')[:2])}/w={self._write}"

    def _next_name(self) -> str:
        self._number += 1
        return f"{self._number:05}-{self._write}.parquet"

    def _collected_block(self, block: Block) -> Block:
        # Without bounds and folders of partitions, which may hold values of erased rows.
        path = f"{self._folder(block.path)}/{GONE}{self._next_name()}"
        return Block(path=path, rows=block.rows, bytes=block.bytes)

    def _block_of(self, old: str) -> Block | None:
        block, gone = self._files.blocks[old]
        if len(gone) == block.rows:
            return None
        schema, partition_by = self._files.schemas[old]
        path = f"{self._folder(block.path)}/{folders_like(block)}part-{self._next_name()}"
        if self._dry_run:
            return msgspec.structs.replace(block, path=path, rows=block.rows - len(gone))
        footer = write_without(self._blobs, block, gone, path, fields=schema.fields)
        [new] = read_blocks(self._blobs, [path], schema, partition_by, {path: footer})
        stats = {id: new.stats[id] for id in block.stats if id in new.stats}
        return msgspec.structs.replace(new, stats=stats, partition=block.partition)

    def _tombstone_of(self, tombstone: Tombstone) -> Tombstone | None:
        """Return the new entry of a tombstone with all its targets; None if no row is left."""
        rows = read_stored(self._blobs, tombstone)
        paths = rows.column(FILE_COLUMN).combine_chunks().dictionary_encode()
        codes = paths.indices.to_numpy(zero_copy_only=False)
        positions = rows.column(POSITION_COLUMN).to_numpy().astype(np.int64)
        left = np.ones(len(positions), np.bool_)
        names: list[str] = []
        for code, file in enumerate(paths.dictionary.to_pylist()):
            here = np.flatnonzero(codes == code)
            new = self._blocks.get(file)
            names.append(new.path if new is not None else file)
            # What deletes from no block has no meaning any more.
            left[here] = file in tombstone.targets
            if file in self._files.images:
                left[here] &= ~are_among(positions[here], self._files.images[file])
            if file in self._files.blocks:
                gone = self._files.blocks[file][1]
                left[here] &= ~are_among(positions[here], gone)
                # Each row moves up by the rows before it that are gone.
                positions[here] -= np.searchsorted(gone, positions[here])
        kept = np.flatnonzero(left)
        self.images += len(positions) - len(kept)
        if not len(kept):
            return None
        if self._dry_run:
            counts = np.bincount(codes[kept], minlength=len(names)).tolist()
            targets = {name: n for name, n in zip(names, counts, strict=True) if n}
            path = f"{self._folder(tombstone.path)}t/{self._next_name()}"
            return Tombstone(path=path, bytes=tombstone.bytes, targets=targets)
        file_column = pa.array(names, pa.string()).take(pa.array(codes))
        rows = rows.set_column(rows.schema.get_field_index(FILE_COLUMN), FILE_COLUMN, file_column)
        place = rows.schema.get_field_index(POSITION_COLUMN)
        rows = rows.set_column(place, POSITION_COLUMN, pa.array(positions, pa.int64()))
        rows = rows.take(pa.array(kept)).replace_schema_metadata(None)
        self._number += 1
        folder = f"{self._folder(tombstone.path)}t{self._number}"
        return write_tombstone(self._blobs, rows, folder=folder)
