"""Laws of decisions about conflicts, against an oracle on plain dicts.

What a merge leaves is the same in whatever order conflicts were decided, by row, cell, table or
rule; and a decision that was taken back is as one that was never made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import event
from hypothesis import given as for_all
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Cell, Choice, Order
from dbt.adapters.vcs.commands.conflicts import list_conflicts
from dbt.adapters.vcs.commands.merge import continue_merge, merge
from dbt.adapters.vcs.commands.resolve import Resolution, resolve, undo_decision
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import Micros, SegmentId, SnapshotId, TableId
from dbt.adapters.vcs.core.model import (
    Block,
    Entry,
    Field,
    Schema,
    Segment,
    SegmentRef,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.table.files.parquet import arrow_schema
from tests.unit.warehouse import START, Warehouse

COLUMNS: Final = ("n", "s")
SIDES: Final = (Choice.BASE, Choice.OURS, Choice.THEIRS)

Row: TypeAlias = dict[str, Any]
"""The values of the columns that aren't in the key."""

Rows: TypeAlias = dict[int, Row]
Outcome: TypeAlias = "Row | None"
"""What a conflict leaves; None for no row."""


def table(
    warehouse: Warehouse,
    rows: list[tuple[int, Any, Any]],
    *,
    keyed: bool,
    parents: list[Entry] | None = None,
) -> Entry:
    """A table of one block."""
    schema = Schema.of(
        [
            Field(id="", name="id", type="int"),
            Field(id="", name="n", type="int"),
            Field(id="", name="s", type="string"),
        ]
    )
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    types = arrow_schema(schema)
    data = pa.table(
        [pa.array(column, f.type) for column, f in zip(columns, types, strict=True)], schema=types
    )
    sink = pa.BufferOutputStream()
    pq.write_table(data, sink)
    path = f"data/t/{next(_NUMBERS)}/1.parquet"
    warehouse.blobs.create(path, sink.getvalue().to_pybytes())
    objects = warehouse.repository.objects
    size = {"rows": len(rows), "bytes": 100}
    segment = SegmentId(objects.put(Segment(blocks=(Block(path=path, **size),))))
    snapshot = Snapshot(
        table=TableId("t"),
        schema=schema,
        segments=(SegmentRef(id=segment, blocks=1, **size),),
        created_at=Micros(START),
        operation="append",
        parents=tuple(p.snapshot for p in parents or () if isinstance(p, TableEntry)),
        primary_key=(schema.fields[0].id,) if keyed else (),
    )
    return TableEntry(snapshot=SnapshotId(objects.put(snapshot)))


_NUMBERS: Final = iter(range(10**9))

cells = st.sampled_from([None, 1, 2, 3]), st.sampled_from([None, "x", "y", "z"])
row = st.builds(lambda n, s: {"n": n, "s": s}, *cells)
any_sides = st.fixed_dictionaries({side: st.none() | row for side in SIDES})
differing = st.lists(st.none() | row, min_size=3, max_size=3, unique_by=repr).map(
    lambda rows: dict(zip(SIDES, rows, strict=True))
)
sides = st.fixed_dictionaries({1: differing, 2: differing, 3: differing, 4: any_sides})


@dataclass
class Oracle:
    """What decisions leave, on dicts.

    Attributes:
        sides: The row of each side by key, None for no row.
        decided: What was decided, by key.
        before: Earlier states of `decided`, the last one last.
    """

    sides: Mapping[int, Mapping[Choice, Outcome]]
    decided: dict[int, Outcome] = field(default_factory=dict)
    before: list[dict[int, Outcome]] = field(default_factory=list)

    @property
    def conflicts(self) -> list[int]:
        return [
            key
            for key, row in self.sides.items()
            if row[Choice.OURS] != row[Choice.THEIRS]
            and row[Choice.OURS] != row[Choice.BASE]
            and row[Choice.THEIRS] != row[Choice.BASE]
        ]

    def decide(self, chosen: RowChoice) -> int | None:
        """Decide, and return how many conflicts were; None if that is refused."""
        key = int(str(chosen.key["id"])) if chosen.key else None
        meant = [
            item
            for item in self.conflicts
            if item == key or (key is None and (chosen.again or item not in self.decided))
        ]
        found = {}
        for item in meant:
            is_clear, outcome = self.outcome(item, chosen)
            if is_clear:
                found[item] = outcome
            elif key is not None:
                return None
        if meant and not found:
            return None
        if found:
            self.before.append(dict(self.decided))
            self.decided.update(found)
        return len(found)

    def outcome(self, key: int, chosen: RowChoice) -> tuple[bool, Outcome]:
        """Return whether a choice decides a conflict, and what it leaves."""
        row = self.sides[key]
        if not chosen.is_by_column:
            if isinstance(chosen.choice, Order):
                side = larger_side(row, str(chosen.by), chosen.choice)
                return side is not None, row[side] if side else None
            return True, row.get(chosen.choice)
        start = chosen.choice
        if start is not None and row[start] is None:
            return False, None
        made: Row = {}
        for column in COLUMNS:
            if column in chosen.values:
                value = chosen.values[column]
                made[column] = value if isinstance(value, str) else None
                if column == "n" and made[column] is not None:
                    made[column] = int(made[column])
            elif column in chosen.cells:
                cell = chosen.cells[column]
                side = cell if isinstance(cell, Choice) else self.cell_side(row, column, cell)
                if side is None or row[side] is None:
                    return False, None
                made[column] = row[side][column]
            elif start is not None:
                made[column] = row[start][column]
            elif self.decided.get(key) is not None:
                made[column] = self.decided[key][column]
            else:
                side = changed_side(row, column)
                if side is None:
                    return False, None
                made[column] = row[side][column]
        return True, made

    def cell_side(self, row: Mapping[Choice, Outcome], column: str, order: Order) -> Choice | None:
        ours, theirs = row[Choice.OURS], row[Choice.THEIRS]
        if ours is not None and theirs is not None and ours[column] == theirs[column]:
            return Choice.OURS
        return larger_side(row, column, order)

    def undo(self) -> bool:
        if not self.before:
            return False
        self.decided = self.before.pop()
        return True

    def merged(self) -> Rows:
        """The rows when every conflict is decided."""
        found = {}
        for key, row in self.sides.items():
            if key in self.decided:
                left = self.decided[key]
            else:
                is_ours = row[Choice.THEIRS] == row[Choice.BASE]
                left = row[Choice.OURS if is_ours else Choice.THEIRS]
            if left is not None:
                found[key] = left
        return found


def larger_side(row: Mapping[Choice, Outcome], column: str, order: Order) -> Choice | None:
    ours, theirs = ((row[side] or {}).get(column) for side in (Choice.OURS, Choice.THEIRS))
    if ours is None or theirs is None or ours == theirs:
        return None
    is_ours = (ours > theirs) == (order is Order.LARGER)
    return Choice.OURS if is_ours else Choice.THEIRS


def changed_side(row: Mapping[Choice, Outcome], column: str) -> Choice | None:
    base, ours, theirs = (row[side] for side in SIDES)
    if ours is None or theirs is None:
        return Choice.THEIRS if ours is None else Choice.OURS
    if ours[column] == theirs[column]:
        return Choice.OURS
    if base is None:
        return None
    if ours[column] == base[column]:
        return Choice.THEIRS
    return Choice.OURS if theirs[column] == base[column] else None


def given(value: Any) -> Any:
    return pa.scalar(None) if value is None else str(value)


cell: st.SearchStrategy[Cell] = st.sampled_from([*SIDES, *Order])
side = st.sampled_from([*SIDES, Choice.DELETE])
keys = st.just({}) | st.integers(1, 4).map(lambda key: {"id": str(key)})


@st.composite
def choices(draw: st.DrawFn) -> RowChoice:
    """A choice of any kind that is one."""
    key, again = draw(keys), draw(st.booleans())
    kind = draw(st.sampled_from(["side", "order", "cells", "values"]))
    if kind == "side":
        return RowChoice(choice=draw(side), key=key, again=again)
    if kind == "order":
        by = draw(st.sampled_from(COLUMNS))
        return RowChoice(choice=draw(st.sampled_from(Order)), by=by, key=key, again=again)
    start = draw(st.none() | st.sampled_from(SIDES))
    if kind == "cells":
        picked = draw(st.dictionaries(st.sampled_from(COLUMNS), cell, min_size=1))
        return RowChoice(choice=start, cells=picked, key=key, again=again)
    key = {"id": str(draw(st.integers(1, 4)))}
    values = {"n": given(draw(cells[0]))} if draw(st.booleans()) else {"s": given(draw(cells[1]))}
    other = "s" if "n" in values else "n"
    picked = {other: draw(cell)} if draw(st.booleans()) else {}
    return RowChoice(choice=start, values=values, cells=picked, key=key)


steps = st.lists(choices() | st.just("undo"), max_size=12)


def waiting(base: Entry, ours: Entry, theirs: Entry, warehouse: Warehouse) -> bool:
    """Begin the merge of two branches that changed a table; return whether it waits."""
    warehouse.put(a=base, v=warehouse.view("select 1"))
    warehouse.branch("dev")
    warehouse.put("dev", a=theirs, v=warehouse.view("select 2"))
    warehouse.put(a=ours, v=warehouse.view("select 3"))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    return "shop.a" in warehouse.shown("merges/main")


def decide(warehouse: Warehouse, relation: str, chosen: RowChoice) -> Resolution:
    return resolve(warehouse.repository, "main", relation, chosen, author="ann")


def undo(warehouse: Warehouse) -> bool:
    try:
        undo_decision(warehouse.repository, "main", author="bob")
    except InputError:
        return False
    return True


def left(warehouse: Warehouse) -> int:
    return list_conflicts(warehouse.repository, "main").left


@for_all(sides, steps)
def test_decisions_in_any_order_leave_what_they_say_and_undone_ones_nothing(
    rows: Mapping[int, Mapping[Choice, Outcome]], steps: list[RowChoice | str]
) -> None:
    warehouse, oracle = Warehouse(), Oracle(rows)
    entries = [
        table(
            warehouse,
            [(key, *row[side].values()) for key, row in rows.items() if row[side]],
            keyed=True,
        )
        for side in SIDES
    ]
    if not waiting(*entries, warehouse):
        assert not oracle.conflicts
        return
    count = len(oracle.conflicts)
    for step in steps:
        if isinstance(step, str):
            assert undo(warehouse) == oracle.undo()
        else:
            before = warehouse.head("merges/main")
            made = oracle.decide(step)
            event(f"{step}: {'refused' if made is None else 'decided' if made else 'nothing'}")
            if made:
                assert decide(warehouse, "shop.a", step).count == made
            else:
                with pytest.raises(Exception, match=r"\w") as refused:
                    decide(warehouse, "shop.a", step)
                assert "id=" in str(refused.value) or "already resolved" in str(refused.value)
                assert warehouse.head("merges/main") == before
        assert left(warehouse) == 1 + count - len(oracle.decided)
    oracle.decide(RowChoice(choice=Choice.OURS))
    resolve(warehouse.repository, "main", None, RowChoice(choice=Choice.OURS), author="ann")
    continue_merge(warehouse.repository, "main", author="ann")
    found = {row.pop("id"): row for row in warehouse.rows("a")}
    assert found == oracle.merged()


counts = st.fixed_dictionaries({side: st.integers(0, 3) for side in SIDES})
sides_only = st.lists(
    st.sampled_from(["undo", *SIDES]) | st.tuples(st.integers(0, 2), st.sampled_from(SIDES)),
    max_size=8,
)


@for_all(st.lists(counts, min_size=3, max_size=3), sides_only, st.booleans())
def test_decisions_about_copies_and_whole_relations_are_undone_too(
    copies: list[Mapping[Choice, int]], steps: list[Any], again: bool
) -> None:
    """Without a key a conflict is a number of copies; beside it a view conflicts as a whole."""
    warehouse = Warehouse()
    entries: list[Entry] = []
    for side in SIDES:
        rows = [(n, n, "x") for n, count in enumerate(copies) for _ in range(count[side])]
        # Versions that don't come from the base would be rebuilds, which conflict as a whole.
        entries.append(table(warehouse, rows, keyed=False, parents=entries[:1]))
    has_rows = waiting(*entries, warehouse)
    open_ = {n: c for n, c in enumerate(copies) if len({*c.values()}) == 3}
    assert has_rows == bool(open_)
    decided: dict[int | str, Choice] = {}
    before: list[dict[int | str, Choice]] = []
    for step in [*steps, *sorted(SIDES)[: int(again)]]:
        if step == "undo":
            assert undo(warehouse) == bool(before)
            decided = before.pop() if before else decided
            assert left(warehouse) == 1 + len(open_) - len(decided)
            continue
        if isinstance(step, tuple):
            n, choice = step
            if n not in open_:
                continue
            found: dict[int | str, Choice] = {n: choice}
            decide(warehouse, "shop.a", RowChoice(choice=choice, key={"id": str(n)}))
        else:
            relation = "shop.v"
            found = {"v": step}
            decide(warehouse, relation, RowChoice(choice=step))
        before.append(decided)
        decided = {**decided, **found}
        assert left(warehouse) == 1 + len(open_) - len(decided)
    resolve(warehouse.repository, "main", None, RowChoice(choice=Choice.THEIRS), author="ann")
    sources = {
        side: warehouse.shown(branch)["shop.v"]
        for side, branch in ((Choice.OURS, "main"), (Choice.THEIRS, "dev"))
    }
    sources[Choice.BASE] = warehouse.shown("main~1")["shop.v"]
    continue_merge(warehouse.repository, "main", author="ann")
    assert warehouse.shown()["shop.v"] == sources[decided.get("v", Choice.THEIRS)]
    wanted = Counter()
    for n, count in enumerate(copies):
        if n in open_:
            wanted[n] = count[decided.get(n, Choice.THEIRS)]
        else:
            ours, theirs = count[Choice.OURS], count[Choice.THEIRS]
            wanted[n] = ours if theirs == count[Choice.BASE] else theirs
    assert +Counter(row["id"] for row in warehouse.rows("a")) == +wanted
