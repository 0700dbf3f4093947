"""Rows to erase: which files of some versions hold rows that meet a condition, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import SnapshotId, TableId
from dbt.adapters.vcs.core.model import Block, Field, Schema, Segment, Snapshot, Tombstone
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.rows.files.block_reader import Files, Positions
from dbt.adapters.vcs.rows.sorted_numbers import distinct
from dbt.adapters.vcs.statements.syntax.conjuncts import Comparison, comparisons_of
from dbt.adapters.vcs.statements.syntax.names import Name
from dbt.adapters.vcs.statements.syntax.query import Slice
from dbt.adapters.vcs.verbs.erasing.erased_files import GONE, ToErase
from dbt.adapters.vcs.verbs.erasing.matching_rows import (
    Condition,
    Matcher,
    mentioned,
    readings,
    under,
)
from dbt.adapters.vcs.verbs.erasing.reached import CONFLICTS
from dbt.adapters.vcs.writes.pruning import matching

Reading = tuple[tuple[Field, ...], tuple[str, ...]]
"""The columns by which the condition is read, and the ids of the partition columns."""


@dataclass(slots=True)
class _Files:
    """The files of some versions, and by which columns each can be read."""

    blocks: dict[str, Block] = field(default_factory=dict)
    schemas: dict[str, tuple[Schema, tuple[str, ...]]] = field(default_factory=dict)
    stones: dict[str, Tombstone] = field(default_factory=dict)
    by_reading: dict[Reading, dict[str, Block]] = field(default_factory=dict)
    stones_by_reading: dict[Reading, dict[str, Tombstone]] = field(default_factory=dict)


def find_rows(
    repository: Repository,
    versions: Mapping[SnapshotId, Snapshot],
    condition: Condition,
    matcher: Matcher,
) -> tuple[ToErase, int]:
    """Return the files of versions that hold rows to erase, and how many versions lack a column.

    A row is erased from every version that shares its file. What is known of blocks whose files
    were collected is erased, too, unless their bounds show that no row can have met the condition.

    Raises:
        InputError: The condition mentions no column of the table.
    """
    needed = mentioned(condition, (item.schema.fields for item in versions.values()))
    if not needed:
        columns = sorted({name for item in versions.values() for name in item.schema.names})
        raise InputError(
            f"The condition names no column of the table. It has: {', '.join(columns)}."
        )
    files, lacking = _gathered(repository, versions, needed)
    there = _there(repository, (*files.blocks, *files.stones))
    implied = _implied(condition)
    rows = _rows(files, there, implied, matcher)
    stones, images = _stones(repository, files, there, matcher)
    collected = {
        path: block
        for path, block in files.blocks.items()
        if path not in there
        and not path.rpartition("/")[2].startswith(GONE)
        and matching([block], files.schemas[path][0], implied)
    }
    changed = {*rows, *collected}
    again = {
        path: stone
        for path, stone in stones.items()
        if changed & stone.targets.keys() or any(len(images.get(f, ())) for f in stone.targets)
    }
    erased = ToErase(
        blocks={path: (files.blocks[path], gone) for path, gone in rows.items()},
        schemas=files.schemas,
        collected=collected,
        stones={
            path: msgspec.structs.replace(stone, targets=files.stones[path].targets)
            for path, stone in again.items()
        },
        images=images,
    )
    return erased, lacking


def _gathered(
    repository: Repository, versions: Mapping[SnapshotId, Snapshot], needed: frozenset[str]
) -> tuple[_Files, int]:
    """Return the files of versions, and how many versions lack a column of the condition."""
    files, lacking = _Files(), 0
    segments: dict[str, Segment] = {}
    called = _called(versions.values(), needed)
    for snapshot in versions.values():
        fields = under(snapshot.schema.fields, needed, called[snapshot.table])
        is_conflict = snapshot.operation == CONFLICTS
        views = [
            (view, snapshot.partition_by)
            for view in readings(fields, needed, is_conflict=is_conflict)
        ]
        lacking += not views
        for ref in snapshot.segments:
            if ref.id not in segments:
                segments[ref.id] = repository.objects.segment(ref.id)
            _gather(files, segments[ref.id], snapshot, views)
    return files, lacking


def _called(versions: Iterable[Snapshot], needed: frozenset[str]) -> dict[TableId, dict[str, str]]:
    """Return for each table the names of the condition by id of the columns that had them."""
    found: dict[TableId, dict[str, str]] = {}
    for snapshot in versions:
        names = found.setdefault(snapshot.table, {})
        for column in snapshot.schema.fields:
            if column.name.lower() in needed:
                names[column.id] = column.name.lower()
    return found


def _gather(files: _Files, segment: Segment, snapshot: Snapshot, views: list[Reading]) -> None:
    for block in segment.blocks:
        files.blocks.setdefault(block.path, block)
        files.schemas.setdefault(block.path, (snapshot.schema, snapshot.partition_by))
        for view in views:
            files.by_reading.setdefault(view, {})[block.path] = block
    applied = (stone for item in segment.derivations for stone in item.tombstones)
    for stone in (*segment.tombstones, *applied):
        known = files.stones.get(stone.path)
        targets = {**(known.targets if known else {}), **stone.targets}
        files.stones[stone.path] = msgspec.structs.replace(stone, targets=targets)
        for view in views:
            files.stones_by_reading.setdefault(view, {})[stone.path] = stone


def _there(repository: Repository, paths: Iterable[str]) -> set[str]:
    """Return the files that exist, of all in the tables' folders."""
    folders = {"/".join(path.split("/")[:2]) for path in paths}
    return {info.path for folder in folders for info in repository.blobs.walk(folder)}


def _rows(
    files: _Files, there: set[str], implied: Sequence[Comparison], matcher: Matcher
) -> dict[str, Positions]:
    """Return the positions of rows to erase by block, for blocks that have some."""
    found: dict[str, Positions] = {}
    for (fields, partition_by), blocks in files.by_reading.items():
        readable = [block for path, block in blocks.items() if path in there]
        readable = list(matching(readable, Schema(fields=fields), implied))
        if not readable:
            continue
        for path, gone in matcher.in_blocks(readable, fields, partition_by).items():
            if len(gone):
                found[path] = distinct(np.concatenate([found.get(path, gone), gone]))
    return found


def _stones(
    repository: Repository,
    files: _Files,
    there: set[str],
    matcher: Matcher,
) -> tuple[dict[str, Tombstone], dict[str, Positions]]:
    """Return the tombstones by path with every block of which they hold rows, and their images.

    The images are those of blocks that can't be read: rows of the others are known already.
    """
    reader = Files(repository.blobs)
    stones = {
        path: msgspec.structs.replace(stone, targets=dict.fromkeys(reader.files_of(stone), 1))
        for path, stone in files.stones.items()
        if path in there
    }
    images: dict[str, Positions] = {}
    for (fields, _), known in files.stones_by_reading.items():
        readable = [stone for path, stone in known.items() if path in there]
        unknown = {
            file
            for stone in readable
            for file in stones[stone.path].targets
            if file not in there or file not in files.blocks
        }
        for file, gone in matcher.in_images(readable, unknown, fields).items():
            images[file] = distinct(np.concatenate([images.get(file, gone), gone]))
    return stones, images


def _implied(condition: Condition) -> tuple[Comparison, ...]:
    """Return comparisons that hold for every row to erase."""
    text = condition.text
    return comparisons_of(text, Slice(0, len(text)), Name(schema=None, identifier=""), None)
