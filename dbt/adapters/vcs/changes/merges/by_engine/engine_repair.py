"""Repair by an engine: what `rowwise/repair.py` does, for any number of rows.

The engine decides every group, and writes what is to be done once, as files. From these it writes
the rows to add, and the tombstones of those to delete. For Spark this process reads only positions
of deleted rows, a block's at a time. DuckDB, which is in it, gets all rows from it, a part at a
time.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.diff_query import files_mount, tombstones_of
from dbt.adapters.vcs.changes.merges.by_engine.live_rows import STATES, LiveRows, StreamedRows
from dbt.adapters.vcs.changes.merges.by_engine.row_decisions import (
    CHANGED,
    CONFLICT,
    COUNTS,
    DELETE,
    GIVEN,
    INSERT,
    MADE,
    OPEN,
    SEVERAL,
    UNIT,
    RowDecisions,
    given_choices,
    spelled,
)
from dbt.adapters.vcs.changes.merges.rowwise.decide import OUR_TYPE, THEIR_TYPE, mark_of
from dbt.adapters.vcs.changes.merges.rowwise.repair import (
    MergeCheckError,
    Question,
    deletions_of_ours,
    mostly_deleted,
    overlaps,
    without,
)
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import key_table
from dbt.adapters.vcs.changes.writes.tombstone_ranges import tombstone_folder, write_tombstones
from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.ids import new_write_id
from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.delta import Deletion
from dbt.adapters.vcs.core.plan.schema_merge import Definition
from dbt.adapters.vcs.core.plan.states import DeletionKey, State, Triple
from dbt.adapters.vcs.core.store.blobs import Blobs, delete_below
from dbt.adapters.vcs.engines.port import Destination, Rewriters, RowSession, TableMount
from dbt.adapters.vcs.engines.row_sessions import row_session
from dbt.adapters.vcs.table.compare.located import Mask, Places
from dbt.adapters.vcs.table.equality import canonical
from dbt.adapters.vcs.table.files.block_reader import Files, Positions, is_readable, shown_type
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_tombstone
from dbt.adapters.vcs.table.quoting import literal, quoted, sql_type
from dbt.adapters.vcs.table.row_numbers import are_among, distinct
from dbt.adapters.vcs.table.types import unlimited

_KEPT_POSITIONS: Final = 32 * 2**20
"""Bytes of deleted rows' positions that are kept."""

_PART_ROWS: Final = 500_000

_THREADS: Final = 2

# Decision 45: so many codes are told apart at first, by a bit for each side, in 128 MiB a side. Of
# 40 million codes, one in twenty-five shares its bit with another.
_MARKS: Final = 2**30

_KEYS: Final = "__vcs_picked"

KEPT: Final = 100_000
"""Up to so many conflicts are read and can be decided one by one."""

SHOWN: Final = 100
"""Of more conflicts so many are read, to be shown."""

_SIDES: Final = {"b": "base", "o": "our", "t": "their"}


@dataclass(kw_only=True)
class EngineRepairs:
    """Makes repairs; call `forget` to delete what they are staged in, once they are written.

    As a context, it does so at the end.

    Attributes:
        sessions: Provides Spark's session; None to refuse what only it can compute.
    """

    blobs: Blobs
    sessions: Rewriters | None = None
    _folders: list[str] = field(default_factory=list)
    _opened: ExitStack = field(default_factory=ExitStack)
    _sessions: dict[bool, RowSession] = field(default_factory=dict)

    def __enter__(self) -> EngineRepairs:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()

    def session(self, fields: Sequence[Field]) -> RowSession:
        """Return the session that computes rows with some columns, until `forget`.

        There is one for all steps: each would take as much memory as the settings allow.
        """
        needs_spark = not all(map(is_readable, fields))
        if needs_spark not in self._sessions:
            session = row_session(self.blobs, fields, self.sessions)
            self._sessions[needs_spark] = self._opened.enter_context(session)
        return self._sessions[needs_spark]

    def __call__(
        self, question: Question, state: State, folder: str, *, is_small: bool = False
    ) -> EngineRepair:
        """Return the repair of a graft.

        Args:
            state: The graft, in which rows may be deleted twice; ours if rows are picked.
            folder: `data/<table id>`.
            is_small: Whether DuckDB may hold what is done to single rows in memory.

        Raises:
            InputError: Values were chosen for a key with several rows, or for other columns than
                the table has now.
        """
        policy, triple = question.policy, question.triple
        session = self.session(question.fields)
        # Blocks are read in the order of their tombstones: few positions have to be kept.
        files = Files(self.blobs, triple.tombstones.values(), kept=_KEPT_POSITIONS)
        question = replace(question, files=files)
        # Decision 45: a tombstone of theirs that shares rows with ours can't be taken over. What
        # is left of it is copied to a new one, instead of being decided row by row.
        lost = overlaps(question.files, triple, state)
        # What is left of a tombstone is written from its images, and Arrow has to read them.
        trims = all(map(is_readable, question.fields))
        # To the eyes of the decisions those overlap, where the rest of them is written again.
        graft, state = state, without(state, (), lost)
        decisions = RowDecisions(
            fields=question.fields,
            key=question.key,
            mode=policy.mode,
            picks=policy.only is not None,
            choices=given_choices(session, policy, question.fields, question.by),
        )
        states = (*triple[:3], graft if trims else state)
        find = _found_here if session.is_here else _found_there
        coded, met = find(session, question, states, decisions)
        if policy.only is not None and policy.only.keys is not None:
            keys = session.mount_arrow(_KEYS, key_table(policy.only.keys, question.by))
            coded = decisions.of_keys(coded, keys)
        query = decisions.query(coded, met)
        stage = None
        if not (is_small and session.is_here):
            stage = f"{folder}/w={new_write_id()}"
            # Noted before the write, so that `forget` also deletes what a failed write left.
            self._folders.append(stage)
        actions = StagedActions(session, decisions, query, stage)
        if actions.totals[SEVERAL]:
            raise InputError(
                "Values were chosen for a key that stands for several rows on one side, so it is "
                "not known which row they are of. Choose a side for it, or delete."
            )
        poor = mostly_deleted(triple, state, actions.deletions)
        return EngineRepair(
            files=question.files,
            triple=triple,
            state=without(state, poor),
            grafted=state,
            poor=frozenset(poor),
            actions=actions,
            conflicts=OpenConflicts(actions),
            # Without trims the engine saw a graft that lacks these deletions, so it has decided on
            # their rows like on any others.
            trims=lost if trims else {},
        )

    def forget(self) -> None:
        """Close the sessions, and delete the files that repairs are staged in."""
        self._opened.close()
        self._sessions.clear()
        delete_below(self.blobs, *self._folders)


@dataclass(frozen=True, kw_only=True)
class EngineRepair:
    """How a graft becomes the merged version.

    Attributes:
        state: Blocks and deletions of the graft.
        grafted: The same with the blocks that are not worth it, whose rows are written again.
        poor: Paths of these.
        actions: What is done to single rows.
        conflicts: What both sides changed differently.
        trims: Deletions of theirs of which ours has deleted some rows, too, by how many are left:
            these are written again.
    """

    files: Files
    triple: Triple
    state: State
    grafted: State
    poor: frozenset[str]
    actions: StagedActions
    conflicts: OpenConflicts
    trims: Mapping[DeletionKey, int]

    @property
    def has_changes(self) -> bool:
        """Whether theirs differs from base in any of the picked rows, by content."""
        return self.actions.totals[CHANGED] > 0

    @property
    def given(self) -> int:
        """How many keys were found whose rows were given by hand."""
        return self.actions.totals[GIVEN]

    @property
    def is_needed(self) -> bool:
        """Whether there are rows to delete or to add."""
        # A tombstone of theirs with nothing left to trim needs no file: ours deletes all its rows.
        return bool(self._deletions or self._added or any(self.trims.values()))

    def write(
        self, definition: Definition, folder: str
    ) -> tuple[tuple[Block, ...], tuple[Tombstone, ...]]:
        """Write the rows to add and the tombstones, and check that they are all there.

        Args:
            folder: `data/<table id>/w=<write id>`, new.

        Raises:
            MergeCheckError: The files hold other rows.
            DamagedError: A tombstone of theirs does.
        """
        blocks: tuple[Block, ...] = ()
        session, fields = self.actions.session, self.actions.fields
        if self._added:
            listed = ", ".join(f"c{n} {quoted(field.id)}" for n, field in enumerate(fields))
            written = session.write(
                f"select {listed} from ({self._added_rows()})",
                Destination(
                    folder=folder,
                    partition_by=definition.partition_by,
                    cluster_by=definition.cluster_by,
                ),
            )
            schema, by = definition.schema, definition.partition_by
            blocks = read_blocks(self.files.blobs, written.files, schema, by, written.footers)
            self._check(blocks)
        images = ", ".join(f"c{n} {quoted(field.id)}" for n, field in enumerate(fields))
        query = f"select f {FILE_COLUMN}, p {POSITION_COLUMN}, {images} from {self._deleted()}"
        # Decision 9: a tombstone names only blocks of its version, and these blocks are not in it.
        if self.poor:
            paths = ", ".join(map(literal, sorted(self.poor)))
            query += f" left anti join (select explode(array({paths})) poor) on f = poor"
        blobs, inside = self.files.blobs, tombstone_folder(folder)
        tombstones = write_tombstones(blobs, session, query, self._deletions, folder=inside)
        return blocks, (*tombstones, *self._trimmed(inside))

    def _trimmed(self, folder: str) -> Iterator[Tombstone]:
        """Write what is left of theirs' deletions, and yield the tombstones."""
        ours = deletions_of_ours(self.triple, self.grafted)
        by_image: dict[str, list[str]] = {}
        for (image, block), left in self.trims.items():
            if left:
                by_image.setdefault(image, []).append(block)

        def written(number: int, image: str) -> Tombstone:
            blocks = by_image[image]
            tombstone = self.triple.tombstones.get(image) or Tombstone(
                path=image, bytes=0, targets={}
            )
            dead = {block: self.files.dead(ours[block], block) for block in blocks}
            rows = [
                _without(batch, dead)
                for batch in self.files.images(tombstone, blocks, self.actions.fields)
            ]
            table = pa.Table.from_batches(rows).unify_dictionaries()
            if table.num_rows != sum(self.trims[image, block] for block in blocks):
                raise DamagedError(
                    f"{image} holds other rows than its version says. Nothing was changed. Run "
                    "dbt-vcs fsck --data, and restore the file from a backup."
                )
            places = table.column(FILE_COLUMN).cast(pa.string())
            table = table.set_column(0, FILE_COLUMN, places)
            return write_tombstone(self.files.blobs, table, folder=folder, number=number)

        # Arrow reads and writes without Python's lock.
        with ThreadPoolExecutor(_THREADS) as pool:
            yield from pool.map(written, range(len(by_image)), sorted(by_image))

    @property
    def _deletions(self) -> Mapping[str, int]:
        """How many rows are deleted from each block of the result."""
        found = self.actions.deletions
        return {path: rows for path, rows in found.items() if path not in self.poor}

    @property
    def _added(self) -> int:
        totals = self.actions.totals
        return totals[INSERT] + totals[MADE] + self._kept

    @property
    def _kept(self) -> int:
        """How many rows of the blocks that are not grafted are left."""
        # From manifests and counts, not from a query: `_check` compares what was written with
        # this.
        there = sum(self.grafted.blocks[path].rows for path in self.poor)
        dead = sum(self.grafted.deletions_from(self.poor).values())
        return there - dead - sum(self.actions.deletions[path] for path in self.poor)

    def _deleted(self) -> str:
        return f"(select * from {self.actions.relation} where action = {DELETE})"

    def _added_rows(self) -> str:
        """Return the query for the rows to add, columns `c0`, `c1`..."""
        fields = self.actions.fields
        columns = ", ".join(f"c{n}" for n in range(len(fields)))
        staged = (
            f"select {columns} from {self.actions.relation} where action in ({INSERT}, {MADE})"
        )
        if not self._kept:
            return staged
        dead = tombstones_of(
            Deletion(image, block, rows, self.triple.tombstones.get(image))
            for (image, block), rows in self.grafted.deletions_from(self.poor).items()
        )
        mount = files_mount(self.poor, fields, dead, self.grafted.blocks.values())
        listed = ", ".join(f"{quoted(field.id)} c{n}" for n, field in enumerate(fields))
        return (
            f"{staged} union all select {listed} from "
            f"{self.actions.session.mount_located(mount)} kept left anti join "
            f"(select f, p from {self._deleted()}) gone "
            f"on kept.{POSITION_COLUMN} = gone.p and kept.{FILE_COLUMN} = gone.f"
        )

    def _check(self, blocks: tuple[Block, ...]) -> None:
        """Read back what was written, and compare its rows with what was wanted."""
        fields = self.actions.fields
        # Decision 25: what an engine wrote is read back before anything refers to it.
        mount = files_mount([block.path for block in blocks], fields, entries=blocks)
        written = self.actions.session.mount_physical(mount)
        # The same query gave the written rows, so its digest can't show that it asks for too few:
        # the count from the manifests does.
        wanted = self._digest(self._added_rows(), [f"c{n}" for n in range(len(fields))])
        found = self._digest(f"select * from {written}", [quoted(field.id) for field in fields])
        if wanted != found or wanted[0] != self._added:
            raise MergeCheckError(
                f"{found[0]} rows were written where {self._added} had to be, or others"
            )

    def _digest(self, query: str, columns: list[str]) -> tuple[int, object]:
        """Return the number of rows, and a sum over their contents in any order."""
        values = ", ".join(
            canonical(column, field.type)
            for column, field in zip(columns, self.actions.fields, strict=True)
        )
        # A sum has no order, and 38 digits hold the hashes of more rows than a table has.
        text = f"select count(*), sum(cast(xxhash64({values}) as decimal(38, 0))) from ({query})"
        [(rows, contents)] = self.actions.session.query(text).fetch()
        return int(rows), contents


def _without(batch: pa.RecordBatch, dead: Mapping[str, Positions]) -> pa.RecordBatch:
    """Return located rows without those at some positions of their blocks."""
    paths, positions = batch.column(0), batch.column(1).to_numpy()
    left = np.ones(batch.num_rows, np.bool_)
    codes = paths.indices.to_numpy()
    for code, path in enumerate(paths.dictionary.to_pylist()):
        here = np.flatnonzero(codes == code)
        if path in dead and len(here):
            # Positions of one block at a time: that of one block means nothing in another.
            left[here] = ~are_among(positions[here], dead[path])
    return batch.filter(pa.array(left))


def _found_there(
    session: RowSession, question: Question, states: Sequence[State], decisions: RowDecisions
) -> tuple[str, str]:
    """Return queries for all rows, coded, and for the codes of groups to decide: both in SQL."""
    rows = LiveRows(
        session=session,
        files=question.files,
        states=states,
        tombstones=question.triple.tombstones,
        pieces=question.pieces,
    )
    by, fields = decisions.by, question.fields
    # The groups follow from the keys alone, so this scan leaves the other columns out.
    met = decisions.met(decisions.coded(rows.query(by), by))
    return decisions.coded(rows.query(fields), fields), met


def _found_here(
    session: RowSession, question: Question, states: Sequence[State], decisions: RowDecisions
) -> tuple[str, str]:
    """Return the same with only the rows of these groups: whatever is known of a row is given."""
    # Keys are read twice, for the groups and for the places of their rows; other columns once, and
    # only where these places are.
    rows = StreamedRows(
        files=question.files,
        states=states,
        tombstones=question.triple.tombstones,
        pieces=question.pieces,
        fields=decisions.by,
    )
    near = _near(session, rows, decisions)
    coded = f"select * from {session.mount_arrow('near', near)}"
    met = session.query(decisions.met(coded)).arrow()
    codes = f"select * from {session.mount_arrow('met', met)}"
    found = session.query(f"select f, p from ({coded}) left semi join ({codes}) using (code)")
    rows = replace(rows, fields=question.fields, places=_places(found.arrow()))
    here = f"select * from {session.mount_arrow('met_rows', rows)}"
    return decisions.coded(here, question.fields), codes


def _near(session: RowSession, rows: StreamedRows, decisions: RowDecisions) -> pa.Table:
    """Return the rows whose group both sides may have touched, and few others, without keys."""
    # Decision 45: most groups are one side's alone, and to tell them all apart takes more memory
    # than there may be. So codes are marked first, a bit for each of so many. Most codes that meet
    # a mark of the other side are wanted, and SQL finds out which.

    def coded() -> Iterator[tuple[pa.Table, Positions]]:
        # A part at a time: DuckDB would go on reading while this process marks what it read. It
        # gives only numbers back, in any order: places are long.
        for part in _gathered(rows.parts()):
            numbers = pa.array(np.arange(len(part)))
            given = session.mount_arrow("part", part.append_column("n", numbers))
            text = decisions.coded(f"select * from {given}", decisions.by)
            found = session.query(f"select n, code from ({text})").arrow()
            codes = np.empty(len(part), np.int64)
            codes[found.column("n").to_numpy()] = found.column("code").to_numpy()
            yield part, codes

    ours, theirs = (np.zeros(_MARKS // 8, np.uint8) for _ in range(2))
    for part, code in coded():
        b, o, t, g = (part.column(name).to_numpy() for name in STATES)
        # A row that the graft gets wrong has to be decided even if only one side touched its
        # group, so it counts for both.
        is_odd = g != o + t - b
        _mark(theirs, code[(t != b) | is_odd])
        # Rows that are picked are compared with the base only, whatever ours did.
        if not decisions.picks:
            _mark(ours, code[(o != b) | is_odd])

    def told(part: pa.Table, code: Positions) -> pa.Table:
        return part.select(["f", "p", *STATES]).append_column("code", pa.array(code, pa.int64()))

    # The keys are computed a second time: to hold them would take the memory that the marks save.
    kept = [told(rows.schema.empty_table(), np.empty(0, np.int64))]
    for part, code in coded():
        near = _marked(theirs, code)
        if not decisions.picks:
            near &= _marked(ours, code)
        if near.any():
            kept.append(told(part, code).filter(pa.array(near)))
    return pa.concat_tables(kept)


def _gathered(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    # Each table costs a query, so small ones are put together.
    held: list[pa.Table] = []
    for part in parts:
        held.append(part)
        if sum(map(len, held)) >= _PART_ROWS:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def _mark(marks: npt.NDArray[np.uint8], codes: Positions) -> None:
    # Hashes are signed, and the mask gives a place for negative ones, too.
    place = codes & (_MARKS - 1)
    # Two codes may fall into one byte. A plain `|=` by index would keep the bit of only one.
    np.bitwise_or.at(marks, place >> 3, (1 << (place & 7)).astype(np.uint8))


def _marked(marks: npt.NDArray[np.uint8], codes: Positions) -> Mask:
    place = codes & (_MARKS - 1)
    found: Mask = (marks[place >> 3] >> (place & 7).astype(np.uint8) & 1).astype(np.bool_)
    return found


def _places(found: pa.Table) -> Places:
    """Return the positions of rows by block, each once, in ascending order."""
    paths = found.column("f").combine_chunks().dictionary_encode()
    codes, positions = paths.indices.to_numpy(), found.column("p").to_numpy()
    return {
        path: distinct(positions[codes == code])
        for code, path in enumerate(paths.dictionary.to_pylist())
    }


@dataclass(frozen=True)
class OpenConflicts:
    """Conflicts that nobody decided, as `rowwise.decide.Conflicts`."""

    actions: StagedActions

    def __len__(self) -> int:
        return self.actions.totals[CONFLICT]

    @cached_property
    def table(self) -> pa.Table:
        """The conflicts as `Conflicts.table`; of more than `KEPT` any `SHOWN`."""
        limit = len(self) if len(self) <= KEPT else SHOWN
        found = self.actions.session.query(f"{self.query} limit {limit}").arrow()
        return found.cast(self._schema)

    @property
    def query(self) -> str:
        """The query for all of them, in any order."""
        fields, by = self.actions.fields, self.actions.by
        row = f"struct({', '.join(f'c{n}' for n in range(len(fields)))})"
        rows = [
            # The `true` skips NULLs: of a group's rows only one is that of the side.
            f"first(case when {state} = 1 then {row} end, true) row_{state}"
            for state in _SIDES
        ]
        # All rows of a conflict without a key are equal, and so are these counts.
        counts = ["max(uo - ub) our_count", "max(ut - ub) their_count"]
        columns = [f"{sql} {quoted(name)}" for sql, name, _ in self._marks()]
        columns += [
            f"row_{state}.c{n} {quoted(f'{side}_{field.name}')}"
            for n, field in enumerate(fields)
            for state, side in _SIDES.items()
        ]
        return (
            f"select {', '.join(columns)} from (select {', '.join([*rows, *counts])} "
            f"from {self.actions.relation} where action = {OPEN} "
            f"group by {', '.join([*spelled(fields, by), UNIT])})"
        )

    def _marks(self) -> list[tuple[str, str, pa.DataType]]:
        """Return SQL, name and type of the columns that tell what each side did."""
        keyed, mark = self.actions.keyed, mark_of(self.actions.fields)
        found = []
        for state, side, name in (("o", "our", OUR_TYPE), ("t", "their", THEIR_TYPE)):
            told = (
                f"if(row_b is null, 'added', if(row_{state} is null, 'removed', 'modified'))"
                if keyed
                else f"if({side}_count > 0, 'added', 'removed')"
            )
            found.append((told, name + mark, pa.string()))
        if not keyed:
            for side in ("our", "their"):
                found.append((f"{side}_count", f"{side}_diff_count{mark}", pa.int64()))
        return found

    @property
    def _schema(self) -> pa.Schema:
        values = (
            (f"{side}_{field.name}", shown_type(field))
            for field in self.actions.fields
            for side in _SIDES.values()
        )
        return pa.schema([*((name, type_) for _, name, type_ in self._marks()), *values])


_OWN: Final[Mapping[str, str]] = {
    "action": "int",
    "f": "string",
    "p": "bigint",
    **dict.fromkeys("bot", "int"),
    **dict.fromkeys(COUNTS, "bigint"),
    UNIT: "bigint",
}


class StagedActions:
    """The rows of `RowDecisions.query`, in files below a folder of their own, or in memory."""

    def __init__(
        self, session: RowSession, decisions: RowDecisions, query: str, folder: str | None
    ) -> None:
        """Run a query and keep its rows.

        Args:
            folder: A new folder, which the caller deletes; None to hold the rows in memory.
        """
        self.session = session
        self.fields = tuple(decisions.fields)
        self.by = decisions.by
        self.keyed = bool(decisions.key)
        self._folder = folder or ""
        self._files: tuple[str, ...] = ()
        self._held: str | None = None
        if folder is None:
            rows = session.query(query).arrow()
            self._held = session.mount_arrow(f"actions_{new_write_id()}", rows)
        else:
            self._files = session.write(query, Destination(folder=folder)).files

    @cached_property
    def relation(self) -> str:
        """SQL for the rows, to put after `from`."""
        if self._held is not None:
            return self._held
        columns = {
            **_OWN,
            **{f"c{n}": unlimited(field.type) for n, field in enumerate(self.fields)},
        }
        # A write of no rows leaves no file, so there is nothing to mount.
        if not self._files:
            nulls = (f"cast(null as {sql_type(type_)}) {name}" for name, type_ in columns.items())
            return f"(select {', '.join(nulls)} limit 0)"
        mount = TableMount(
            id=f"ra_{hashlib.sha256(self._folder.encode()).hexdigest()[:32]}",
            folder=self._folder,
            files=self._files,
            fields=tuple(Field(id=name, name=name, type=t) for name, t in columns.items()),
        )
        return self.session.mount_physical(mount)

    @cached_property
    def totals(self) -> Counter[int]:
        """How many rows there are of each kind of action."""
        text = f"select action, count(*) from {self.relation} group by action"
        return Counter(dict(self.session.query(text).fetch()))

    @cached_property
    def deletions(self) -> Mapping[str, int]:
        """How many rows each block loses, by its path."""
        text = f"select f, count(*) from {self.relation} where action = {DELETE} group by f"
        return dict(self.session.query(text).fetch())
