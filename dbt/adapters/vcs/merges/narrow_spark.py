"""Narrowing by the engine: find, among many changed rows, those a merge must look at.

Every row of the pieces is tagged with the sides that touched it, and grouped by a hash of its key:

| block, or deletions from a block that all share | rows are tagged                          |
|--------------------------------------------------|------------------------------------------|
| only ours has it otherwise than base             | `ours`, all of them                      |
| only theirs has it so, and so has the graft      | `theirs`, all of them                    |
| anything else                                    | each by the states in which it is live   |

Wanted are all rows of a group with tags of both sides, and each row that the graft holds
differently from `ours + theirs - base`. If two groups share a hash, both are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from dbt.adapters.vcs.core.model import Block, Field
from dbt.adapters.vcs.core.model.segment import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.delta import Deletion
from dbt.adapters.vcs.core.plan.pieces import Piece
from dbt.adapters.vcs.core.plan.states import State, Triple
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.diffs.diff_query import files_mount, image_relations
from dbt.adapters.vcs.engines.found_places import find_places
from dbt.adapters.vcs.engines.port import Readers, VersionReader
from dbt.adapters.vcs.merges.by_engine.dead_places import dead_places
from dbt.adapters.vcs.rows.compare.located import Places
from dbt.adapters.vcs.rows.equality_sql import canonical
from dbt.adapters.vcs.rows.files.block_reader import Files
from dbt.adapters.vcs.rows.limits import Limits, TooLargeError
from dbt.adapters.vcs.rows.quoting import quoted, sql_type
from dbt.adapters.vcs.statements.syntax.conditions import where_clause

CANDIDATES: Final = Limits(rows=1_000_000, bytes=64 * 2**20)
"""More rows than this, or a larger part of the files, are not read into this process."""

_MOST_TIMES: Final = 5
"""A place is found at most with its block, and with the tombstone of each of four states."""

_KEYS: Final = "__vcs_keys"
_SIDES: Final = ("ours", "theirs")
_STATES: Final = ("base", "ours", "theirs", "graft")


class _Kind(NamedTuple):
    """How rows are tagged: all the same, or by the states that have their block."""

    ours: bool = False
    theirs: bool = False
    states: int = 0


class Narrowing:
    """A `Narrow` that uses an engine, which is started only when it is called."""

    def __init__(self, blobs: Blobs, sessions: Readers, limits: Limits = CANDIDATES) -> None:
        """Take the repository's store and the provider of engine sessions."""
        self._blobs = blobs
        self._sessions = sessions
        self._limits = limits

    def __call__(
        self,
        pieces: Sequence[Piece],
        triple: Triple,
        graft: State,
        by: Sequence[Field],
        keys: pa.Table | None = None,
    ) -> Places:
        """Return the places of the rows in the groups that a merge must look at.

        Raises:
            TooLargeError: There are too many of them to read.
        """
        session = self._sessions()
        search = _Search(session, self._blobs, triple, graft, by)
        query = search.query(pieces, keys)
        if sum(piece.rows for piece in pieces) > self._limits.rows:
            self._check(self._least(session, query), 0)
        places = find_places(session, query)
        infos = {piece.block: piece.info for piece in pieces if piece.info and piece.info.rows}
        share = (
            infos[path].bytes * len(rows) // infos[path].rows
            for path, rows in places.items()
            if path in infos
        )
        self._check(sum(map(len, places.values())), sum(share))
        return places

    def check(self, triple: Triple) -> None:
        """Refuse versions with more deleted rows than this process can look at."""
        self._check(sum(sum(side.deletions.values()) for side in triple[:3]), 0)

    def _least(self, session: VersionReader, query: str) -> int:
        """Return how many places a query finds; of very many, a number that is not too large.

        To count each place once costs more than to find them all.
        """
        [[found]] = session.query(f"select count(*) from ({query})").fetch()
        if found <= self._limits.rows:
            return int(found)
        if found > _MOST_TIMES * self._limits.rows:
            return int(found) // _MOST_TIMES
        [[found]] = session.query(f"select count(distinct {_PLACE}) from ({query})").fetch()
        return int(found)

    def _check(self, rows: int, size: int) -> None:
        if rows > self._limits.rows or size > self._limits.bytes:
            raise TooLargeError(
                f"Both sides changed the same rows of one table: at least {rows:,} of them have "
                f"to be looked at one by one, and at most {self._limits.rows:,} rows and "
                f"{self._limits.bytes:,} bytes are. Nothing was changed. Merge an earlier commit "
                "of the source first, or choose a side for the whole table: restore it on one "
                "side as the other has it, then merge again."
            )


class _Search:
    """The query for the rows of the groups to look at, over some pieces."""

    def __init__(
        self,
        session: VersionReader,
        blobs: Blobs,
        triple: Triple,
        graft: State,
        by: Sequence[Field],
    ) -> None:
        self._session = session
        self._files = Files(blobs, triple.stones.values())
        self._states = states = (*triple[:3], graft)
        self._stones = triple.stones
        self._by = by
        self._infos: list[Block] = []
        self._holes = [_by_block(state) for state in states]
        values = (canonical(quoted(field.id), field.type) for field in by)
        self._hash = f"xxhash64({', '.join(values)})"

    def query(self, pieces: Sequence[Piece], keys: pa.Table | None) -> str:
        """Return the query for `__vcs_file` and `__vcs_pos`; a place may occur twice."""
        blocks: dict[_Kind, list[str]] = {}
        images: dict[_Kind, list[Deletion]] = {}
        mixed: set[str] = set()
        self._infos = [piece.info for piece in pieces if piece.info]
        for piece in pieces:
            kind = self._kind(piece)
            if kind.states:
                mixed.add(piece.block)
            if piece.image is None:
                blocks.setdefault(kind, []).append(piece.block)
            else:
                deletion = Deletion(piece.image, piece.block, piece.rows)
                images.setdefault(kind, []).append(deletion)
        gone = dead_places(self._session, self._states, mixed, self._stones)
        parts = [
            _tagged(rows, kind, gone)
            for kind in {**blocks, **images}
            for rows in (
                *self._of_blocks(blocks.get(kind, ())),
                *self._of_images(images.get(kind, ())),
            )
        ]
        # A window reads, shuffles and sorts the rows once; a join with the groups does so twice.
        both = " and ".join(f"bool_or({side}) over (partition by code)" for side in _SIDES)
        return (
            f"select {_PLACE} from (select {_PLACE}, odd, {both} met "
            f"from ({' union all '.join(parts)}){self._asked_for(keys)}) where odd or met"
        )

    def _asked_for(self, keys: pa.Table | None) -> str:
        """Return the clause that a row has one of the given keys, or nothing."""
        if keys is None:
            return ""
        shown = self._session.mount_arrow(_KEYS, keys)
        columns = ", ".join(
            f"cast({quoted(field.id)} as {sql_type(field.type)}) {quoted(field.id)}"
            for field in self._by
        )
        codes = f"select {self._hash} from (select {columns} from {shown})"
        return f" where code in ({codes})"

    def _kind(self, piece: Piece) -> _Kind:
        path, is_shared = piece.block, piece.image is not None
        there = [is_shared or path in state.blocks for state in self._states]
        base, ours, theirs, graft = (
            (present, holes.get(path, frozenset()))
            for present, holes in zip(there, self._holes, strict=True)
        )
        if ours == base and graft == theirs:
            return _Kind(theirs=True)
        if theirs == base and graft == ours:
            return _Kind(ours=True)
        return _Kind(states=sum(present << number for number, present in enumerate(there)))

    def _of_blocks(self, paths: Sequence[str]) -> Iterator[str]:
        if paths:
            mount = files_mount(paths, self._by, entries=self._infos)
            relation = self._session.mount_located(mount)
            yield f"select {_PLACE}, {self._hash} code from {relation}"

    def _of_images(self, images: Sequence[Deletion]) -> Iterator[str]:
        lacking = {
            path for path in {item.path for item in images} if self._files.lacking(path, self._by)
        }
        whole = [item for item in images if item.path not in lacking]
        for relation, wanted in image_relations(self._session, whole, self._by):
            yield f"select {_PLACE}, {self._hash} code from {relation} {where_clause(wanted)}"
        part = [item for item in images if item.path in lacking]
        if part:
            # Their table had dropped a column that is compared; the blocks still hold it.
            places = " union all ".join(
                f"select {_PLACE} from {relation} {where_clause(wanted)}"
                for relation, wanted in image_relations(self._session, part, ())
            )
            (rows,) = self._of_blocks(sorted({item.block for item in part}))
            yield f"select * from ({rows}) left semi join ({places}) using ({_PLACE})"


_PLACE: Final = f"{FILE_COLUMN}, {POSITION_COLUMN}"


def _tagged(rows: str, kind: _Kind, gone: str | None) -> str:
    """Return a query for the `code`, place, `ours`, `theirs` and `odd` of some rows."""
    if not kind.states:
        tags = f"{kind.ours} ours, {kind.theirs} theirs, false odd"
        return f"select code, {_PLACE}, {tags} from ({rows})"
    live = str(kind.states)
    if gone is not None:
        rows = f"({rows}) left join ({gone}) using ({_PLACE})"
        live = f"{live} & ~coalesce(gone, 0)"
    else:
        rows = f"({rows})"
    bits = ", ".join(
        f"shiftright(live, {number}) & 1 {state}" for number, state in enumerate(_STATES)
    )
    return (
        f"select code, {_PLACE}, ours <> base ours, theirs <> base theirs, "
        f"graft <> ours + theirs - base odd from (select code, {_PLACE}, {bits} from "
        f"(select code, {_PLACE}, {live} live from {rows}))"
    )


def _by_block(state: State) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for image, block in state.deletions:
        found.setdefault(block, set()).add(image)
    return {block: frozenset(images) for block, images in found.items()}
