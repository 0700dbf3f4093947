"""Erased files: what takes the place of each file that holds rows to erase.

Tombstones name rows by block and position. A block without some rows is another block, with other
positions, so every tombstone that deletes rows from it is written again, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.core.model import Block, Derivation, Schema, Segment, Tombstone
from dbt.adapters.vcs.core.model.segment import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.rows.files.block_reader import Positions
from dbt.adapters.vcs.rows.files.filtering import read_stored, write_without
from dbt.adapters.vcs.rows.files.footers import read_blocks
from dbt.adapters.vcs.rows.files.tombstone_files import write_tombstone
from dbt.adapters.vcs.rows.partition_values import folders_like
from dbt.adapters.vcs.rows.sorted_numbers import are_among

GONE: Final = "gone-"
"""How the file names of blocks begin whose files were collected: nothing of them is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToErase:
    """The files that change.

    Attributes:
        blocks: Blocks with rows to erase, and the positions of these.
        schemas: The columns of each of these blocks, and its partition columns.
        collected: Blocks whose files are gone, and whose bounds and folders may tell of rows.
        stones: Tombstones to write again.
        images: Before-images to erase besides: positions by path of the block.
    """

    blocks: Mapping[str, tuple[Block, Positions]]
    schemas: Mapping[str, tuple[Schema, tuple[str, ...]]]
    collected: Mapping[str, Block]
    stones: Mapping[str, Tombstone]
    images: Mapping[str, Positions]


@dataclass(frozen=True, slots=True)
class _Stone:
    """A tombstone that was written again: its new entry with all targets; None without rows."""

    entry: Tombstone | None


@dataclass(frozen=True, slots=True)
class Replacements:
    """What takes the place of files in manifests.

    Attributes:
        blocks: The new block by the path of the old one; None if no row is left.
        rows: Number of rows that were erased.
        images: Number of before-images that were erased.
    """

    blocks: dict[str, Block | None] = field(default_factory=dict)
    stones: dict[str, _Stone] = field(default_factory=dict)
    rows: int = 0
    images: int = 0

    @property
    def old(self) -> set[str]:
        """Paths of the files that were replaced."""
        return {*self.blocks, *self.stones}

    def segment(self, old: Segment) -> Segment:
        """Return a segment in which files are replaced."""
        blocks = (self.blocks.get(block.path, block) for block in old.blocks)
        stones = map(self._stone, old.tombstones)
        derivations = map(self._derivation, old.derivations)
        return Segment(
            blocks=tuple(block for block in blocks if block is not None),
            tombstones=tuple(stone for stone in stones if stone is not None),
            derivations=tuple(item for item in derivations if item is not None),
        )

    def _path(self, old: str) -> str | None:
        if old not in self.blocks:
            return old
        block = self.blocks[old]
        return None if block is None else block.path

    def _paths(self, old: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in map(self._path, old) if path is not None)

    def _stone(self, old: Tombstone) -> Tombstone | None:
        written = self.stones.get(old.path)
        counts = old.targets if written is None else {}
        if written is not None:
            if written.entry is None:
                return None
            counts = written.entry.targets
        targets: dict[str, int] = {}
        for target, rows in old.targets.items():
            path = self._path(target)
            count = rows if written is None else counts.get(path or "", 0)
            if path is not None and count:
                targets[path] = count
        if written is None and targets == old.targets:
            return old
        entry = old if written is None or written.entry is None else written.entry
        return msgspec.structs.replace(entry, targets=targets) if targets else None

    def _derivation(self, old: Derivation) -> Derivation | None:
        stones = tuple(stone for stone in map(self._stone, old.tombstones) if stone is not None)
        outputs, inputs = self._paths(old.outputs), self._paths(old.inputs)
        if not outputs and not inputs:
            return None
        return Derivation(outputs=outputs, inputs=inputs, tombstones=stones)


class FileEraser:
    """Writes the files that take the place of others, or only tells of them in a dry run."""

    def __init__(self, blobs: Blobs, write: str, *, dry_run: bool) -> None:
        self._blobs = blobs
        self._write = write
        self._dry_run = dry_run
        self._number = 0

    def replaced(self, files: ToErase) -> Replacements:
        """Return the replacements of files, which are stored unless this is a dry run."""
        blocks: dict[str, Block | None] = {}
        for path, block in files.collected.items():
            blocks[path] = self._collected(block)
        for path, (block, gone) in files.blocks.items():
            blocks[path] = None
            if len(gone) < block.rows:
                blocks[path] = self._block(block, gone, *files.schemas[path])
        stones: dict[str, _Stone] = {}
        images = 0
        for path, stone in files.stones.items():
            entry, erased = self._stone(stone, files, blocks)
            stones[path] = _Stone(entry)
            images += erased
        rows = sum(len(gone) for _, gone in files.blocks.values())
        return Replacements(blocks, stones, rows, images)

    def _folder(self, path: str) -> str:
        return f"{'/'.join(path.split('/')[:2])}/w={self._write}"

    def _next(self) -> str:
        self._number += 1
        return f"{self._number:05}-{self._write}.parquet"

    def _collected(self, block: Block) -> Block:
        path = f"{self._folder(block.path)}/{GONE}{self._next()}"
        return Block(path=path, rows=block.rows, bytes=block.bytes)

    def _block(
        self, block: Block, gone: Positions, schema: Schema, partition_by: tuple[str, ...]
    ) -> Block:
        path = f"{self._folder(block.path)}/{folders_like(block)}part-{self._next()}"
        if self._dry_run:
            return msgspec.structs.replace(block, path=path, rows=block.rows - len(gone))
        footer = write_without(self._blobs, block, gone, path, fields=schema.fields)
        [new] = read_blocks(self._blobs, [path], schema, partition_by, {path: footer})
        stats = {id: new.stats[id] for id in block.stats if id in new.stats}
        return msgspec.structs.replace(new, stats=stats, partition=block.partition)

    def _stone(
        self, stone: Tombstone, files: ToErase, blocks: Mapping[str, Block | None]
    ) -> tuple[Tombstone | None, int]:
        """Return the new entry of a tombstone with all its targets, and how many images went."""
        rows = read_stored(self._blobs, stone)
        paths = rows.column(FILE_COLUMN).combine_chunks().dictionary_encode()
        codes = paths.indices.to_numpy(zero_copy_only=False)
        positions = rows.column(POSITION_COLUMN).to_numpy().astype(np.int64)
        left = np.ones(len(positions), np.bool_)
        names: list[str] = []
        for code, file in enumerate(paths.dictionary.to_pylist()):
            here = np.flatnonzero(codes == code)
            new = blocks.get(file)
            names.append(new.path if new is not None else file)
            # What deletes from no block has no meaning any more.
            left[here] = file in stone.targets
            gone = [each for each in _erased(file, files) if len(each)]
            if gone:
                left[here] &= ~are_among(positions[here], np.concatenate(gone))
            if file in files.blocks:
                shift = np.searchsorted(files.blocks[file][1], positions[here])
                positions[here] -= shift
        kept = np.flatnonzero(left)
        erased_rows = len(positions) - len(kept)
        if not len(kept):
            return None, erased_rows
        if self._dry_run:
            counts = np.bincount(codes[kept], minlength=len(names)).tolist()
            targets = {name: n for name, n in zip(names, counts, strict=True) if n}
            path = f"{self._folder(stone.path)}t/{self._next()}"
            return Tombstone(path=path, bytes=stone.bytes, targets=targets), erased_rows
        file_column = pa.array(names, pa.string()).take(pa.array(codes))
        rows = rows.set_column(rows.schema.get_field_index(FILE_COLUMN), FILE_COLUMN, file_column)
        place = rows.schema.get_field_index(POSITION_COLUMN)
        rows = rows.set_column(place, POSITION_COLUMN, pa.array(positions, pa.int64()))
        rows = rows.take(pa.array(kept)).replace_schema_metadata(None)
        self._number += 1
        folder = f"{self._folder(stone.path)}t{self._number}"
        return write_tombstone(self._blobs, rows, folder=folder), erased_rows


def _erased(file: str, files: ToErase) -> list[Positions]:
    found = [files.images[file]] if file in files.images else []
    return [*found, files.blocks[file][1]] if file in files.blocks else found
