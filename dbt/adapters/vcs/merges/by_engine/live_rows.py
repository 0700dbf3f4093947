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
from typing import Final

from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.model.segment import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.delta import Deletion
from dbt.adapters.vcs.core.plan.pieces import Piece
from dbt.adapters.vcs.core.plan.states import State
from dbt.adapters.vcs.diffs.diff_query import files_mount, image_relations
from dbt.adapters.vcs.engines.version_mounts import VersionMounts
from dbt.adapters.vcs.merges.by_engine.dead_places import dead_places
from dbt.adapters.vcs.rows.files.block_reader import Files
from dbt.adapters.vcs.rows.quoting import quoted
from dbt.adapters.vcs.statements.syntax.conditions import where_clause

STATES: Final = ("b", "o", "t", "g")
"""Base, ours, theirs, graft: columns that are 1 if the state has the row, else 0."""

_ALL: Final = (1 << len(STATES)) - 1
_PLACE: Final = f"{FILE_COLUMN}, {POSITION_COLUMN}"


class LiveRows:
    """Makes queries for the rows that some, but not all states have."""

    def __init__(
        self,
        session: VersionMounts,
        files: Files,
        states: Sequence[State],
        stones: Mapping[str, Tombstone],
    ) -> None:
        """Take the states in the order of `STATES`, and the entries of their tombstones."""
        self._session = session
        self._files = files
        self._states = states
        self._stones = stones
        self._infos: list[Block] = []
        self._images: dict[str, dict[str, int]] = {}
        for number, state in enumerate(states):
            for image, block in state.deletions:
                known = self._images.setdefault(block, {})
                known[image] = known.get(image, 0) | 1 << number

    def query(self, pieces: Sequence[Piece], fields: Sequence[Field]) -> str:
        """Return the query for `f`, `p`, the states, and the fields as `c0`, `c1`...

        `f` and `p` are the place of a row; each place occurs once.
        """
        self._infos = [piece.info for piece in pieces if piece.info]
        listed = ", ".join(f"{quoted(field.id)} c{n}" for n, field in enumerate(fields))
        columns = f"{FILE_COLUMN} f, {POSITION_COLUMN} p" + (f", {listed}" if listed else "")
        parts = [
            f"select {columns}, {live} live from {rows}"
            for rows, live in self._parts(pieces, fields)
        ]
        bits = ", ".join(
            f"cast(shiftright(live, {number}) & 1 as int) {state}"
            for number, state in enumerate(STATES)
        )
        named = "".join(f", c{n}" for n in range(len(fields)))
        return (
            f"select f, p, {bits}{named} from ({' union all '.join(parts)}) "
            f"where live not in (0, {_ALL})"
        )

    def _parts(
        self, pieces: Sequence[Piece], fields: Sequence[Field]
    ) -> Iterator[tuple[str, str]]:
        """Yield SQL for relations of rows, and for the bits of the states that have each."""
        plain: dict[int, set[str]] = {}
        pierced: dict[int, set[str]] = {}
        alone: dict[int, list[Deletion]] = {}
        several: set[str] = set()
        for piece in pieces:
            block, images = piece.block, self._images.get(piece.block, {})
            if piece.image is None:
                having = sum((block in s.blocks) << n for n, s in enumerate(self._states))
                (pierced if images else plain).setdefault(having, set()).add(block)
            elif set(images) == {piece.image} and not self._files.lacking(piece.image, fields):
                item = Deletion(piece.image, block, piece.rows, self._stones.get(piece.image))
                alone.setdefault(_ALL & ~images[piece.image], []).append(item)
            else:
                # Their images overlap, or lack a column that their table had dropped.
                several.add(block)
        for having, blocks in plain.items():
            yield self._located(blocks, fields), str(having)
        for live, deletions in alone.items():
            for relation, wanted in image_relations(self._session, deletions, fields):
                yield f"{relation} {where_clause(wanted)}", str(live)
        for having, blocks in pierced.items():
            rows = f"{self._located(blocks, fields)} left join {self._gone(blocks)}"
            yield f"{rows} using ({_PLACE})", f"({having} & ~coalesce(gone, 0))"
        if several:
            rows = f"{self._located(several, fields)} join {self._gone(several)}"
            yield f"{rows} using ({_PLACE})", f"({_ALL} & ~gone)"

    def _located(self, blocks: Collection[str], fields: Sequence[Field]) -> str:
        mount = files_mount(blocks, fields, entries=self._infos)
        return self._session.mount_located(mount)

    def _gone(self, blocks: Collection[str]) -> str:
        dead = dead_places(self._session, self._states, blocks, self._stones)
        assert dead is not None
        return f"({dead})"
