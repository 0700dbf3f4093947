"""Repair by an engine: what `rowwise/repair.py` does, for any number of rows.

The engine decides every group, and writes what is to be done once, as files. From these it writes
the rows to add, and the tombstones of those to delete. Nothing that grows with the change is read
into this process: only counts, and a number for each block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import pyarrow as pa

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.ids import new_write_id
from dbt.adapters.vcs.core.model import Block, Tombstone
from dbt.adapters.vcs.core.model.segment import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.delta import Deletion
from dbt.adapters.vcs.core.plan.schema_merge import Definition
from dbt.adapters.vcs.core.plan.states import DeletionKey, State, Triple
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.diffs.diff_query import files_mount, tombstones_of
from dbt.adapters.vcs.engines.port import Destination, Rewriter
from dbt.adapters.vcs.merges.by_engine.dead_places import dead_places
from dbt.adapters.vcs.merges.by_engine.given_choices import given_choices
from dbt.adapters.vcs.merges.by_engine.live_rows import LiveRows
from dbt.adapters.vcs.merges.by_engine.row_decisions import (
    DELETE,
    INSERT,
    MADE,
    OPEN,
    UNIT,
    RowDecisions,
    spelled,
)
from dbt.adapters.vcs.merges.by_engine.staged_actions import StagedActions
from dbt.adapters.vcs.merges.rowwise.conflict_rows import OUR_TYPE, THEIR_TYPE, mark_of
from dbt.adapters.vcs.merges.rowwise.repair import (
    Question,
    mostly_deleted,
    unclear_row,
    without,
)
from dbt.adapters.vcs.merges.rowwise.row_policy import key_table
from dbt.adapters.vcs.rows.equality_sql import canonical
from dbt.adapters.vcs.rows.files.block_reader import shown_type
from dbt.adapters.vcs.rows.files.footers import read_blocks
from dbt.adapters.vcs.rows.limits import TooLargeError
from dbt.adapters.vcs.rows.quoting import literal, quoted
from dbt.adapters.vcs.writes.targets import tombstone_folder
from dbt.adapters.vcs.writes.tombstone_ranges import write_tombstones

_STATES: Final = 60
"""How many tombstones one query tells apart: each has a bit of a number."""


_KEYS: Final = "__vcs_picked"

KEPT: Final = 100_000
"""Up to so many conflicts are read and can be decided one by one."""

SHOWN: Final = 100
"""Of more conflicts so many are read, to be shown."""

_SIDES: Final = {"b": "base", "o": "our", "t": "their"}


class RepairCheckError(VcsError):
    """An engine did not write the rows that a merge wants. Report it; nothing was changed."""


@dataclass(kw_only=True)
class EngineRepairs:
    """Makes repairs; call `forget` to delete what they are staged in, once they are written."""

    blobs: Blobs
    sessions: Callable[[], Rewriter]
    _folders: list[str] = field(default_factory=list)

    def __call__(self, question: Question, state: State, folder: str) -> EngineRepair:
        """Return the repair of a graft.

        Args:
            question: What to decide; its places are not used.
            state: The graft, in which rows may be deleted twice; ours if rows are picked.
            folder: `data/<table id>`.

        Raises:
            TooLargeError: Rows are picked by a condition that only this process computes.
            InputError: Values were chosen for a key with several rows, or for other columns than
                the table has now.
        """
        policy, triple = question.policy, question.triple
        if policy.only is not None and policy.only.where is not None:
            raise TooLargeError(
                "More rows were changed on both sides than a condition can be looked up in. "
                "Nothing was changed. Pick fewer rows, or name their keys."
            )
        session = self.sessions()
        state = without_overlaps(session, triple, state)
        decisions = RowDecisions(
            fields=question.fields,
            key=question.key,
            mode=policy.mode,
            cells=policy.cells,
            picks=policy.only is not None,
            choices=given_choices(session, policy, question.fields, question.by),
        )
        rows = LiveRows(session, question.files, (*triple[:3], state), triple.stones)
        by, fields = decisions.by, question.fields
        met = decisions.met(decisions.coded(rows.query(question.pieces, by), by))
        coded = decisions.coded(rows.query(question.pieces, fields), fields)
        if policy.only is not None and policy.only.keys is not None:
            keys = session.mount_arrow(_KEYS, key_table(policy.only.keys, question.by))
            coded = decisions.of_keys(coded, keys)
        query = decisions.query(coded, met)
        stage = f"{folder}/w={new_write_id()}"
        self._folders.append(stage)
        actions = StagedActions(session, decisions, query, stage)
        if actions.totals.several:
            raise unclear_row()
        return EngineRepair.of(self.blobs, question, state, actions)

    def forget(self) -> None:
        """Delete the files that repairs are staged in."""
        for folder in self._folders:
            for blob in list(self.blobs.walk(folder)):
                self.blobs.delete(blob.path)


@dataclass(frozen=True, kw_only=True)
class EngineRepair:
    """How a graft becomes the merged version.

    Attributes:
        blobs: The repository's store.
        triple: Base, ours, theirs.
        state: Blocks and deletions of the graft.
        grafted: The same with the blocks that are not worth it, whose rows are written again.
        poor: Paths of these.
        actions: What is done to single rows.
        conflicts: What both sides changed differently.
    """

    blobs: Blobs
    triple: Triple
    state: State
    grafted: State
    poor: frozenset[str]
    actions: StagedActions
    conflicts: OpenConflicts

    @classmethod
    def of(
        cls, blobs: Blobs, question: Question, state: State, actions: StagedActions
    ) -> EngineRepair:
        """Return the repair by staged actions."""
        poor = mostly_deleted(question.triple, state, actions.deletions)
        return cls(
            blobs=blobs,
            triple=question.triple,
            state=without(state, poor),
            grafted=state,
            poor=frozenset(poor),
            actions=actions,
            conflicts=OpenConflicts(actions),
        )

    @property
    def has_changes(self) -> bool:
        """Whether theirs differs from base in any of the picked rows, by content."""
        return self.actions.totals.changed > 0

    @property
    def given(self) -> int:
        """How many keys were found whose rows were given by hand."""
        return self.actions.totals.given

    @property
    def is_needed(self) -> bool:
        """Whether there are rows to delete or to add."""
        return bool(self._deletions or self._added)

    def write(
        self, definition: Definition, folder: str
    ) -> tuple[tuple[Block, ...], tuple[Tombstone, ...]]:
        """Write the rows to add and the tombstones, and check that they are all there.

        Args:
            definition: The result's.
            folder: `data/<table id>/w=<write id>`, new.

        Raises:
            RepairCheckError: The files hold other rows.
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
            blocks = read_blocks(self.blobs, written.files, schema, by, written.footers)
            self._check(blocks)
        images = ", ".join(f"c{n} {quoted(field.id)}" for n, field in enumerate(fields))
        query = f"select f {FILE_COLUMN}, p {POSITION_COLUMN}, {images} from {self._deleted()}"
        if self.poor:
            paths = ", ".join(map(literal, sorted(self.poor)))
            query += f" left anti join (select explode(array({paths})) poor) on f = poor"
        stones = write_tombstones(
            self.blobs, session, query, self._deletions, folder=tombstone_folder(folder)
        )
        return blocks, stones

    @property
    def _deletions(self) -> Mapping[str, int]:
        """How many rows are deleted from each block of the result."""
        found = self.actions.deletions
        return {path: rows for path, rows in found.items() if path not in self.poor}

    @property
    def _added(self) -> int:
        """How many rows are added."""
        totals = self.actions.totals
        return totals.inserted + totals.made + self._kept

    @property
    def _kept(self) -> int:
        """How many rows of the blocks that are not grafted are left."""
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
            Deletion(image, block, rows, self.triple.stones.get(image))
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
        mount = files_mount([block.path for block in blocks], fields, entries=blocks)
        written = self.actions.session.mount_physical(mount)
        wanted = self._digest(self._added_rows(), [f"c{n}" for n in range(len(fields))])
        found = self._digest(f"select * from {written}", [quoted(field.id) for field in fields])
        if wanted != found or wanted[0] != self._added:
            raise RepairCheckError(
                f"The merged version is not what was planned: {found[0]} rows were written where "
                f"{self._added} had to be, or others. Nothing was changed. This is a defect of "
                "dbt-vcs: report it, with the two versions if you can."
            )

    def _digest(self, query: str, columns: list[str]) -> tuple[int, object]:
        """Return the number of rows, and a sum over their contents in any order."""
        values = ", ".join(
            canonical(column, field.type)
            for column, field in zip(columns, self.actions.fields, strict=True)
        )
        text = f"select count(*), sum(cast(xxhash64({values}) as decimal(38, 0))) from ({query})"
        [(rows, contents)] = self.actions.session.query(text).fetch()
        return int(rows), contents


def without_overlaps(session: Rewriter, triple: Triple, result: State) -> State:
    """Return a graft without those deletions of theirs that overlap deletions of ours.

    As `rowwise.touched.without_overlaps`.
    """
    ours = {key: rows for key, rows in result.deletions.items() if key in triple.ours.deletions}
    blocks = {block for _, block in ours}
    theirs: dict[str, dict[DeletionKey, int]] = {}
    for (image, block), rows in result.deletions.items():
        if block in blocks and (image, block) not in ours:
            theirs.setdefault(image, {})[image, block] = rows
    images = sorted(theirs)
    twice: set[DeletionKey] = set()
    for first in range(0, len(images), _STATES):
        some = images[first : first + _STATES]
        states = [State({}, ours), *(State({}, theirs[image]) for image in some)]
        dead = dead_places(session, states, blocks, triple.stones)
        both = f"select distinct {FILE_COLUMN}, gone from ({dead}) where gone & 1 = 1 and gone > 1"
        for block, gone in session.query(both).fetch():
            twice |= {(image, block) for n, image in enumerate(some) if gone >> n + 1 & 1}
    kept = {key: rows for key, rows in result.deletions.items() if key not in twice}
    return State(result.blocks, kept)


@dataclass(frozen=True)
class OpenConflicts:
    """Conflicts that nobody decided, as `rowwise.conflict_rows.Conflicts`."""

    actions: StagedActions

    def __len__(self) -> int:
        return self.actions.totals.conflicts

    @cached_property
    def table(self) -> pa.Table:
        """The conflicts as `Conflicts.table`; of more than `KEPT` the first `SHOWN`."""
        limit = len(self) if len(self) <= KEPT else SHOWN
        found = self.actions.session.query(f"{self.query} limit {limit}").arrow()
        return found.cast(self._schema)

    @property
    def query(self) -> str:
        """The query for all of them, in any order."""
        fields, by = self.actions.fields, self.actions.by
        row = f"struct({', '.join(f'c{n}' for n in range(len(fields)))})"
        rows = [
            f"first(case when {state} = 1 then {row} end, true) row_{state}" for state in _SIDES
        ]
        # All rows of a conflict without a key are equal, and so are these counts.
        counts = ["max(uo - ub) our_count", "max(ut - ub) their_count"]
        columns = [*self._types(), *self._counts()]
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

    def _types(self) -> list[str]:
        mark = mark_of(self.actions.fields)
        found = []
        for state, side, name in (("o", "our", OUR_TYPE), ("t", "their", THEIR_TYPE)):
            told = (
                f"if(row_b is null, 'added', if(row_{state} is null, 'removed', 'modified'))"
                if self.actions.keyed
                else f"if({side}_count > 0, 'added', 'removed')"
            )
            found.append(f"{told} {quoted(name + mark)}")
        return found

    def _counts(self) -> list[str]:
        if self.actions.keyed:
            return []
        mark = mark_of(self.actions.fields)
        return [f"{side}_count {quoted(f'{side}_diff_count{mark}')}" for side in ("our", "their")]

    @property
    def _schema(self) -> pa.Schema:
        fields, mark = self.actions.fields, mark_of(self.actions.fields)
        told = [(name + mark, pa.string()) for name in (OUR_TYPE, THEIR_TYPE)]
        if not self.actions.keyed:
            told += [(f"{side}_diff_count{mark}", pa.int64()) for side in ("our", "their")]
        return pa.schema(
            [
                *told,
                *(
                    (f"{side}_{field.name}", shown_type(field))
                    for field in fields
                    for side in _SIDES.values()
                ),
            ]
        )
