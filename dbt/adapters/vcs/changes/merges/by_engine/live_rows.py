"""Live rows: the rows that sides touched, with the states that have them, as a query.

| rows                                                | live in                                  |
|-----------------------------------------------------|------------------------------------------|
| of a block from which no state deletes              | the states that have the block           |
| of any other block                                  | these, less those that delete the row    |
| images, the only ones of a block that all share     | all states but those with the tombstone  |
| images of a block that all share, of several files  | the same, and read from the block once   |
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.diff_query import files_mount, image_relations
from dbt.adapters.vcs.core.model import Field, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, PLACE, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.delta import Deletion, Piece
from dbt.adapters.vcs.core.plan.states import State
from dbt.adapters.vcs.engines.port import VersionMounts
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.table.compare.located import Places
from dbt.adapters.vcs.table.files.block_reader import Files, Positions, located_schema
from dbt.adapters.vcs.table.partition_values import unknown_block
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.table.row_numbers import are_among

STATES: Final = ("b", "o", "t", "g")
"""Base, ours, theirs, graft: columns that are 1 if the state has the row, else 0."""

_ALL: Final = (1 << len(STATES)) - 1


@dataclass(frozen=True, kw_only=True)
class LiveRows:
    """Makes queries for the rows of pieces that some, but not all states have.

    Attributes:
        states: The states in the order of `STATES`.
        tombstones: Entries of their tombstones, as far as they are known.
    """

    session: VersionMounts
    files: Files
    states: Sequence[State]
    tombstones: Mapping[str, Tombstone]
    pieces: Sequence[Piece]

    def query(self, fields: Sequence[Field]) -> str:
        """Return the query for `f`, `p`, the states, and the fields as `c0`, `c1`...

        `f` and `p` are the place of a row; each place occurs once.
        """
        listed = ", ".join(f"{quoted(field.id)} c{n}" for n, field in enumerate(fields))
        columns = f"{FILE_COLUMN} f, {POSITION_COLUMN} p" + (f", {listed}" if listed else "")
        parts = [
            f"select {columns}, {live} live from {rows}" for rows, live in self._parts(fields)
        ]
        bits = ", ".join(
            f"cast(shiftright(live, {number}) & 1 as int) {state}"
            for number, state in enumerate(STATES)
        )
        named = "".join(f", c{n}" for n in range(len(fields)))
        return (
            f"select f, p, {bits}{named} from ({' union all '.join(parts)}) "
            # A row that all states have, or none, was touched by nobody.
            f"where live not in (0, {_ALL})"
        )

    def _parts(self, fields: Sequence[Field]) -> Iterator[tuple[str, str]]:
        """Yield SQL for relations of rows, and for the bits of the states that have each."""
        # Blocks that the same states have are one relation: few relations are few scans.
        plain: dict[int, set[str]] = {}
        pierced: dict[int, set[str]] = {}
        alone: dict[int, list[Deletion]] = {}
        several: set[str] = set()
        deleting = _deleting(self.states)
        for piece in self.pieces:
            block, images = piece.block, deleting.get(piece.block, {})
            if piece.image is None:
                having = sum((block in s.blocks) << n for n, s in enumerate(self.states))
                (pierced if images else plain).setdefault(having, set()).add(block)
            # With a single tombstone the images are the rows, and the block need not be read. All
            # states have the block, so a row is live in those that don't delete it.
            elif set(images) == {piece.image} and not self.files.lacking(piece.image, fields):
                item = Deletion(piece.image, block, piece.rows, self.tombstones.get(piece.image))
                alone.setdefault(_ALL & ~images[piece.image], []).append(item)
            else:
                # Their images overlap, or lack a column that their table had dropped.
                several.add(block)
        for having, blocks in plain.items():
            yield self._located(blocks, fields), str(having)
        for live, deletions in alone.items():
            for relation, wanted in image_relations(self.session, deletions, fields):
                yield f"{relation} {where_clause(wanted)}", str(live)
        for having, blocks in pierced.items():
            rows = f"{self._located(blocks, fields)} left join {self._gone(blocks)}"
            yield f"{rows} using ({PLACE})", f"({having} & ~coalesce(gone, 0))"
        if several:
            rows = f"{self._located(several, fields)} join {self._gone(several)}"
            yield f"{rows} using ({PLACE})", f"({_ALL} & ~gone)"

    def _located(self, blocks: Collection[str], fields: Sequence[Field]) -> str:
        infos = [piece.info for piece in self.pieces if piece.info]
        return self.session.mount_located(files_mount(blocks, fields, entries=infos))

    def _gone(self, blocks: Collection[str]) -> str:
        """Return SQL for `__vcs_file`, `__vcs_pos` and `gone` of deleted rows; a place is once.

        `gone` has the bit `1 << n` if the state n deletes the row.
        """
        parts = " union all ".join(self._places(blocks))
        return f"(select {PLACE}, bit_or(state) gone from ({parts}) group by {PLACE})"

    def _places(self, blocks: Collection[str]) -> Iterator[str]:
        """Yield queries for the places, with the states that deleted them; one may occur twice."""
        found: dict[Deletion, int] = {}
        for number, state in enumerate(self.states):
            for (image, block), rows in state.deletions_from(blocks).items():
                item = Deletion(image, block, rows)
                found[item] = found.get(item, 0) | 1 << number
        # Deletions that the same states have are read together: few relations are few scans.
        for mask in sorted(set(found.values())):
            images = [
                item._replace(tombstone=self.tombstones.get(item.path))
                for item, having in found.items()
                if having == mask
            ]
            for relation, wanted in image_relations(self.session, images, ()):
                yield f"select {PLACE}, {mask} state from {relation} {where_clause(wanted)}"


def _deleting(states: Sequence[State]) -> dict[str, dict[str, int]]:
    """Return the tombstones that delete from each block, with the bits of the states having it."""
    found: dict[str, dict[str, int]] = {}
    for number, state in enumerate(states):
        for image, block in state.deletions:
            known = found.setdefault(block, {})
            known[image] = known.get(image, 0) | 1 << number
    return found


@dataclass(frozen=True, kw_only=True)
class StreamedRows:
    """The rows of `LiveRows` as batches, for an engine in this process: nothing is joined.

    Attributes:
        states: The states in the order of `STATES`.
        tombstones: Entries of their tombstones, as far as they are known.
        fields: Columns of the pieces that are read, `c0`, `c1`... in the batches.
        places: The only rows that are wanted, by block; None for all.
    """

    files: Files
    states: Sequence[State]
    tombstones: Mapping[str, Tombstone]
    pieces: Sequence[Piece]
    fields: Sequence[Field]
    places: Places | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns: as in `LiveRows.query`."""
        file, position, *columns = located_schema(self.fields)
        return pa.schema(
            [
                file.with_name("f"),
                position.with_name("p"),
                *((state, pa.int32()) for state in STATES),
                *(field.with_name(f"c{n}") for n, field in enumerate(columns)),
            ]
        )

    @property
    def count(self) -> int:
        """The number of rows, at most."""
        return sum(piece.rows for piece in self.pieces)

    def parts(self) -> Iterator[pa.Table]:
        """Yield the rows, a batch at a time."""
        images = _deleting(self.states)
        alone: dict[str, dict[str, int]] = {}
        several: set[str] = set()
        for piece in self.pieces:
            block, deleting = piece.block, images.get(piece.block, {})
            if piece.image is None:
                having = sum((block in s.blocks) << n for n, s in enumerate(self.states))
                yield from self._of_block(piece, having, deleting)
            elif set(deleting) == {piece.image} and not self.files.lacking(
                piece.image, self.fields
            ):
                # Collected by tombstone, so that each file is opened once.
                alone.setdefault(piece.image, {})[block] = _ALL & ~deleting[piece.image]
            elif block not in several:
                # Their images overlap, or lack a column that their table had dropped.
                several.add(block)
                yield from self._of_block(piece, _ALL, deleting)
        for image, blocks in alone.items():
            yield from self._of_images(image, blocks)

    def _of_block(
        self, piece: Piece, having: int, deleting: Mapping[str, int]
    ) -> Iterator[pa.Table]:
        """Yield the rows of a block that some of the states that have it, but not all, hold."""
        block = piece.info or unknown_block(piece.block)
        rows = self.files.count(block)
        live = np.full(rows, having, np.int32)
        for image, states in deleting.items():
            live[self.files.deleted(image, piece.block, self.tombstones.get(image))[0]] &= ~states
        wanted = (live != 0) & (live != _ALL)
        if self.places is None:
            gone = None if wanted.all() else np.flatnonzero(~wanted)
            for batch in self.files.batches(block, self.fields, gone, located=True):
                yield self._told(batch, live[batch.column(1).to_numpy()])
            return
        asked = self.places.get(piece.block)
        if asked is None:
            return
        at = asked[wanted[asked]]
        if len(at):
            values = self.files.columns(
                block.path, self.fields, rows=at, partition=block.partition, entry=block
            )
            yield self._some(block.path, at, live[at], values)

    def _of_images(self, image: str, blocks: Mapping[str, int]) -> Iterator[pa.Table]:
        """Yield the rows that a tombstone deletes from some blocks, each with its states."""
        tombstone = self.tombstones.get(image) or Tombstone(path=image, bytes=0, targets={})
        if self.places is None:
            for batch in self.files.images(tombstone, blocks.keys(), self.fields):
                paths = batch.column(0)
                # The dictionary may have blocks that are not asked for, of which no row comes.
                of_path = np.array([blocks.get(path, 0) for path in paths.dictionary.to_pylist()])
                yield self._told(batch, of_path[paths.indices.to_numpy()].astype(np.int32))
            return
        for block, live in blocks.items():
            asked = self.places.get(block)
            if asked is None:
                continue
            positions, rows = self.files.deleted(image, block, self.tombstones.get(image))
            chosen = are_among(positions, asked)
            if chosen.any():
                values = self.files.columns(
                    image, self.fields, rows=rows[chosen], entry=self.tombstones.get(image)
                )
                states = np.full(len(values), live, np.int32)
                yield self._some(block, positions[chosen], states, values)

    def _some(
        self, block: str, positions: Positions, live: npt.NDArray[np.int32], values: pa.Table
    ) -> pa.Table:
        # A path is long, and the same in all rows.
        same = pa.DictionaryArray.from_arrays(np.zeros(len(live), np.int32), pa.array([block]))
        return self._with_states([same, pa.array(positions)], live, values.columns)

    def _told(self, batch: pa.RecordBatch, live: npt.NDArray[np.int32]) -> pa.Table:
        return self._with_states(batch.columns[:2], live, batch.columns[2:])

    def _with_states(
        self,
        place: Sequence[pa.Array],
        live: npt.NDArray[np.int32],
        values: Sequence[pa.Array | pa.ChunkedArray],
    ) -> pa.Table:
        states = [pa.array(live >> number & 1) for number in range(len(STATES))]
        return pa.table([*place, *states, *values], schema=self.schema)
