"""Purged rows: where the rows are that meet a condition, and the files without them.

This process looks for them where it compares as SQL does; the engine computes any other condition.
Tombstones name rows by block and position. A block without some rows is another block, with other
positions, so every tombstone that deletes rows from it is written again, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.changes.writes.pruning import matching
from dbt.adapters.vcs.changes.writes.row_filters import filter_of
from dbt.adapters.vcs.commands.purged_history import CONFLICTS
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import SnapshotId, TableId, new_write_id
from dbt.adapters.vcs.core.model import (
    Block,
    Derivation,
    Field,
    Schema,
    Segment,
    Snapshot,
    Tombstone,
)
from dbt.adapters.vcs.core.model.data_type import INTEGERS, type_of
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, PLACE, POSITION_COLUMN, RESERVED
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.port import TableMount, VersionReader, find_places
from dbt.adapters.vcs.sql.syntax.conditions import (
    Comparison,
    check_condition,
    comparisons_of,
    where_clause,
)
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Slice, decode, tokenize
from dbt.adapters.vcs.sql.syntax.names import Name
from dbt.adapters.vcs.table.files.block_reader import Files, Positions
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_tombstone
from dbt.adapters.vcs.table.files.rewrite import read_stored, write_without
from dbt.adapters.vcs.table.partition_values import folders_like
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.table.row_numbers import are_among, distinct

Places = Mapping[str, Positions]
"""Positions in ascending order, by path of the block."""

Reading = tuple[Field, ...]
"""The columns by which the condition is read."""

GONE: Final = "gone-"
"""How the file names of blocks begin whose files were collected: nothing of them is told."""

_FILES: Final = 500
"""Files that one query of the engine reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToErase:
    """The files that change.

    Attributes:
        blocks: Blocks with rows to erase, and the positions of these.
        schemas: The columns of each block, and its partition columns.
        collected: Blocks whose files are gone, and whose bounds and folders may tell of rows.
        tombstones: Tombstones to write again, each with every block that a version applies it to.
        images: Before-images to erase besides: positions by path of the block.
    """

    blocks: Mapping[str, tuple[Block, Positions]]
    schemas: Mapping[str, tuple[Schema, tuple[str, ...]]]
    collected: Mapping[str, Block]
    tombstones: Mapping[str, Tombstone]
    images: Places


@dataclass(slots=True)
class _Files:
    """The files of some versions, and by which columns each can be read."""

    blocks: dict[str, Block] = field(default_factory=dict)
    schemas: dict[str, tuple[Schema, tuple[str, ...]]] = field(default_factory=dict)
    tombstones: dict[str, Tombstone] = field(default_factory=dict)
    readings: dict[Reading, tuple[dict[str, Block], dict[str, Tombstone]]] = field(
        default_factory=dict
    )


def check_purge_condition(where: str) -> None:
    """Check that a text is one expression over columns alone.

    Raises:
        InputError: It isn't.
    """
    check_condition(where, "--where")
    if any(token.word in ("select", "from") for token in tokenize(where)):
        raise InputError(
            "The condition of a purge can't read other tables, which old versions were not "
            "made with. List the values: customer_id in (4711, 4712)."
        )


def texts_in(where: str) -> tuple[str, ...]:
    """Return the texts in a condition that may be somebody's data."""
    found = (decode(token.text) for token in tokenize(where) if token.kind is Kind.STRING)
    # One or two characters are found by chance in almost any message.
    return tuple(dict.fromkeys(text for text in found if len(text) > 2))


def find_rows(
    repository: Repository,
    versions: Mapping[SnapshotId, Snapshot],
    where: str,
    sessions: Callable[[], VersionReader],
) -> tuple[ToErase, int]:
    """Return the files of versions that hold rows to erase, and how many versions lack a column.

    A row is erased from every version that shares its file. What is known of blocks whose files
    were collected is erased, too, unless their bounds show that no row can have met the condition.

    Raises:
        InputError: The condition mentions no column of the table, or may be true of a row now
            and false later.
        EngineError: The engine can't compute it.
    """
    needed = _needed_columns(where, versions.values())
    files, lacking = _files_of(repository, versions, needed)
    # One listing for each table in place of a request for each file.
    folders = {"/".join(path.split("/")[:2]) for path in (*files.blocks, *files.tombstones)}
    there = {info.path for folder in folders for info in repository.blobs.walk(folder)}
    matcher = _Matcher(Files(repository.blobs), where, needed, sessions)
    # Comparisons that hold for every row to erase, whatever the condition says besides.
    implied = comparisons_of(where, Slice(0, len(where)), Name(schema=None, identifier=""), None)
    held = {
        path: matcher.files.files_of(tombstone)
        for path, tombstone in files.tombstones.items()
        if path in there
    }
    # Rows of blocks that can be read are known already.
    known = there & files.blocks.keys()
    rows: dict[str, Positions] = {}
    images: dict[str, Positions] = {}
    for fields, (blocks, tombstones) in files.readings.items():
        # Manifests outlive the files that a collection deletes.
        present = [blocks[path] for path in blocks if path in there]
        # Bounds rule out most files before one is read.
        readable = matching(present, Schema(fields=fields), implied)
        _add_places(rows, matcher.in_blocks(readable, fields))
        written = [tombstones[path] for path in tombstones if path in there]
        held_here = set().union(*(held[tombstone.path] for tombstone in written))
        _add_places(images, matcher.in_images(written, sorted(held_here - known), fields))
    collected = _collected_blocks(files, there, implied)
    # Rows in a changed block move up, so all that delete from it are written again.
    changed = {*rows, *collected, *images}
    erased = ToErase(
        blocks={path: (files.blocks[path], gone) for path, gone in rows.items()},
        schemas=files.schemas,
        collected=collected,
        tombstones={
            path: files.tombstones[path] for path, names in held.items() if changed & names
        },
        images=images,
    )
    return erased, lacking


def _needed_columns(where: str, versions: Iterable[Snapshot]) -> frozenset[str]:
    """Return the columns, of any version, that the condition may name, in lower case."""
    kinds = (Kind.WORD, Kind.QUOTED)
    words = {token.text.lower() for token in tokenize(where) if token.kind in kinds}
    columns = {name for version in versions for name in version.schema.names}
    # Any word that is a column of some version: a column read in vain does no harm.
    needed = frozenset(words & {name.lower() for name in columns})
    if not needed:
        names = ", ".join(sorted(columns))
        raise InputError(f"The condition names no column of the table. It has: {names}.")
    return needed


def _collected_blocks(
    files: _Files, there: set[str], implied: Sequence[Comparison]
) -> dict[str, Block]:
    """Return the blocks whose files are gone, and which may have had such rows."""
    return {
        path: block
        for path, block in files.blocks.items()
        if path not in there
        and not path.rpartition("/")[2].startswith(GONE)
        and matching([block], files.schemas[path][0], implied)
    }


def _add_places(found: dict[str, Positions], more: Places) -> None:
    for path, places in more.items():
        if len(places):
            found[path] = distinct(np.concatenate([found.get(path, places), places]))


def _files_of(
    repository: Repository, versions: Mapping[SnapshotId, Snapshot], needed: frozenset[str]
) -> tuple[_Files, int]:
    """Return the files of versions, and how many versions lack a column of the condition."""
    files, lacking = _Files(), 0
    segments: dict[str, Segment] = {}
    called = _names(versions.values(), needed)
    for snapshot in versions.values():
        fields = _fields_as_named(snapshot.schema.fields, needed, called[snapshot.table])
        is_conflict = snapshot.operation == CONFLICTS
        views = list(_readings(fields, needed, is_conflict=is_conflict))
        lacking += not views
        for ref in snapshot.segments:
            if ref.id not in segments:
                segments[ref.id] = repository.objects.segment(ref.id)
            _add_files(files, segments[ref.id], snapshot, views)
    return files, lacking


def _names(versions: Iterable[Snapshot], needed: frozenset[str]) -> dict[TableId, dict[str, str]]:
    """Return for each table the names of the condition by id of the columns that had them."""
    found: dict[TableId, dict[str, str]] = {}
    for snapshot in versions:
        names = found.setdefault(snapshot.table, {})
        for column in snapshot.schema.fields:
            if column.name.lower() in needed:
                names[column.id] = column.name.lower()
    return found


def _add_files(files: _Files, segment: Segment, snapshot: Snapshot, views: list[Reading]) -> None:
    for block in segment.blocks:
        files.blocks.setdefault(block.path, block)
        files.schemas.setdefault(block.path, (snapshot.schema, snapshot.partition_by))
        for view in views:
            files.readings.setdefault(view, ({}, {}))[0][block.path] = block
    # Decision 10: derivations keep the tombstones that a rewrite took into account, and these
    # hold copies of rows.
    applied = (tombstone for item in segment.derivations for tombstone in item.tombstones)
    for tombstone in (*segment.tombstones, *applied):
        known = files.tombstones.get(tombstone.path)
        # Versions apply one tombstone to different blocks, and it is rewritten once for all of
        # them.
        targets = {**(known.targets if known else {}), **tombstone.targets}
        files.tombstones[tombstone.path] = msgspec.structs.replace(tombstone, targets=targets)
        for view in views:
            files.readings.setdefault(view, ({}, {}))[1][tombstone.path] = tombstone


def _fields_as_named(
    fields: Sequence[Field], needed: frozenset[str], called: Mapping[str, str]
) -> tuple[Field, ...]:
    """Return a version's columns under the names that the condition uses.

    A column that has another name in this version is the same column, by its id.

    Args:
        fields: The version's columns.
        needed: The names that the condition mentions, in lower case.
        called: Such names by id of the columns that have them in some version.
    """
    own = {field.name.lower() for field in fields}
    # A name that another column has in this version means that other column.
    renamed = {
        field.id: called[field.id]
        for field in fields
        if field.name.lower() not in needed and called.get(field.id, "") in needed - own
    }
    return tuple(
        msgspec.structs.replace(field, name=renamed[field.id]) if field.id in renamed else field
        for field in fields
    )


def _readings(
    fields: Sequence[Field], needed: frozenset[str], *, is_conflict: bool
) -> Iterator[Reading]:
    """Yield the columns by which a condition can be read in a version; none if it lacks some."""
    if not is_conflict:
        views = [tuple(fields)]
    else:
        # A row of a waiting merge holds several rows of the table: one for each side.
        by_name = {field.name: field for field in fields}
        columns = [name[5:] for name in by_name if name.startswith("base_")]
        views = [
            tuple(
                msgspec.structs.replace(
                    # Key columns have no `result_`: a conflict's key is the same on all sides.
                    by_name.get(f"{side}_{name}") or by_name[f"our_{name}"],
                    name=name,
                )
                for name in columns
                if f"our_{name}" in by_name
            )
            for side in ("base", "our", "their", "result")
        ]
    for view in views:
        if needed <= {field.name.lower() for field in view}:
            yield view


@dataclass(frozen=True, slots=True)
class _Matcher:
    """Finds the rows that meet a condition; `needed` are the columns that it may name."""

    files: Files
    where: str
    needed: frozenset[str]
    sessions: Callable[[], VersionReader]

    def in_blocks(self, blocks: Sequence[Block], fields: Sequence[Field]) -> Places:
        """Return where rows of blocks meet the condition; deleted rows count, too."""
        condition = self._arrow_condition(fields)
        if condition is None:
            return self._engine_places(blocks, fields)
        return {block.path: self._local_places(block, *condition) for block in blocks}

    def in_images(
        self, tombstones: Sequence[Tombstone], files: Sequence[str], fields: Sequence[Field]
    ) -> Places:
        """Return where before-images meet it: positions in the blocks that they are from.

        Only images of rows of the given files are looked at.
        """
        if not files or not tombstones:
            return {}
        condition = self._arrow_condition(fields)
        if condition is None:
            return self._engine_image_places(tombstones, files, fields)
        return self._local_image_places(tombstones, files, *condition)

    def _local_places(
        self, block: Block, named: Sequence[Field], condition: pc.Expression
    ) -> Positions:
        start, found = 0, [np.empty(0, np.int64)]
        for batch in self.files.batches(block, named):
            found.append(_row_numbers(pa.Table.from_batches([batch]), named, condition) + start)
            start += batch.num_rows
        return np.concatenate(found)

    def _local_image_places(
        self,
        tombstones: Sequence[Tombstone],
        files: Sequence[str],
        named: Sequence[Field],
        condition: pc.Expression,
    ) -> Places:
        found: dict[str, Positions] = {}
        for tombstone in tombstones:
            rows = self.files.columns(tombstone.path, named, entry=tombstone)
            wanted = _row_numbers(rows, named, condition)
            for file in files:
                positions, places = self.files.deleted(tombstone.path, file, tombstone)
                _add_places(found, {file: positions[are_among(places, wanted)]})
        return found

    def _arrow_condition(
        self, fields: Sequence[Field]
    ) -> tuple[list[Field], pc.Expression] | None:
        """Return the columns of the condition, and what it means to Arrow.

        None if only the engine computes the same as SQL does.
        """
        named = [field for field in fields if field.name.lower() in self.needed]
        for column in named:
            # What a time or an inexact number is compared with depends on the session.
            type_ = type_of(column.type)
            if not (type_.is_plain_text or type_.kind in (*INTEGERS, "date", "boolean")):
                return None
        try:
            return named, filter_of(self.where, Schema(fields=tuple(named)))
        except InputError:
            return None

    def _engine_places(self, blocks: Sequence[Block], fields: Sequence[Field]) -> Places:
        found: dict[str, Positions] = {}
        for start in range(0, len(blocks), _FILES):
            entries = tuple(blocks[start : start + _FILES])
            paths = tuple(block.path for block in entries)
            told = "\n".join([*paths, *map(repr, fields)])
            mount = TableMount(
                # Named by its contents: a session keeps what it mounted, under a name that must
                # mean one thing.
                id="pu_" + hashlib.sha256(told.encode()).hexdigest()[:32],
                folder="/".join(paths[0].split("/")[:2]),
                files=paths,
                fields=tuple(fields),
                entries=entries,
            )
            relation = self.sessions().mount_located(mount)
            found.update(self._places(relation, fields, "true"))
        return found

    def _engine_image_places(
        self, tombstones: Sequence[Tombstone], files: Sequence[str], fields: Sequence[Field]
    ) -> Places:
        found: dict[str, Positions] = {}
        for tombstone in tombstones:
            relation, selected = self.sessions().mount_deleted([tombstone], files, fields)
            _add_places(found, self._places(relation, fields, selected))
        return found

    def _places(self, relation: str, fields: Sequence[Field], selected: str) -> Places:
        for column in fields:
            if column.name.lower().startswith(RESERVED):
                raise UnsupportedError(
                    f"The table has a column {column.name}; no name may begin with {RESERVED} "
                    "here. Rename it: alter table ... rename column."
                )
        columns = ", ".join(f"{quoted(field.id)} as {quoted(field.name)}" for field in fields)
        query = (
            f"select {PLACE} from (select {columns}, {PLACE} from {relation} where {selected}) "
            f"{where_clause(self.where)}"
        )
        session = self.sessions()
        if not session.analysed(query).is_repeatable():
            raise InputError(
                "The condition may be true of a row now and false later, so it can't say which "
                "rows to erase from all versions. Leave functions such as rand() and now() out."
            )
        return find_places(session, query)


def _row_numbers(rows: pa.Table, fields: Sequence[Field], condition: pc.Expression) -> Positions:
    """Return the numbers of the rows, whose columns have the ids of fields, that meet it."""
    named = rows.rename_columns([field.name for field in fields])
    numbered = named.append_column(POSITION_COLUMN, pa.array(np.arange(len(rows))))
    found: Positions = numbered.filter(condition).column(POSITION_COLUMN).to_numpy()
    return found


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
