"""Random tables and random histories of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from dbt.adapters.vcs.core.model import Field, Schema, Snapshot
from tests.property.oracle import Row, Table, value_of
from tests.property.world import Place, World

NAN = math.nan

VALUES: dict[str, Sequence[Any]] = {
    "bigint": (1, 2, 3, -(2**63), 2**63 - 1),
    "int": (0, 1, 2, 3),
    "boolean": (True, False),
    "string": ("a", "b", "", "it's \\ \n \U0001f600", "a\0"),
    "varchar(3)": ("a", "abc", "", "\U0001f600"),
    "varchar(9)": ("a", "longer"),
    "binary": (b"", b"\x00", b"\xff\xfe"),
    "double": (0.0, -0.0, NAN, 1.5, math.inf),
    "float": (0.0, -0.0, NAN, 0.25),
    "decimal(10,2)": (Decimal("0.00"), Decimal("1.50"), Decimal("-1.50"), Decimal("99999999.99")),
    "decimal(38,18)": (Decimal("0"), Decimal("1e-18")),
    "date": (date(1969, 12, 31), date(2026, 11, 21), date(1, 1, 1)),
    "timestamp": (
        datetime(1970, 1, 1, tzinfo=timezone.utc),
        datetime(2026, 11, 21, 8, 0, 0, 1, tzinfo=timezone.utc),
    ),
    "timestamp_ntz": (datetime(1970, 1, 1), datetime(2026, 11, 21, 8, 0, 0, 1)),
    "array<int>": ([], [1], [1, 2], [2, 1], [None]),
    "array<array<double>>": ([[0.0]], [[-0.0]], [[NAN], []], [None]),
    "struct<a:int,b:string>": ({"a": 1, "b": None}, {"a": 1, "b": "x"}, {"a": None, "b": None}),
    "map<string,int>": ([], [("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a", None)]),
    "array<struct<x:double>>": ([{"x": 0.0}], [{"x": -0.0}], [None]),
}
KEY_TYPES = ("bigint", "int", "string", "double", "date", "decimal(10,2)", "timestamp")
PARTITION_TYPES = ("int", "date")


@dataclass(frozen=True)
class Shape:
    """What tables of one example look like."""

    schema: Schema
    key: tuple[str, ...]
    partition_by: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        return [field.id for field in self.schema.fields]


@st.composite
def shapes(draw: st.DrawFn, *, keyed: bool) -> Shape:
    types = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    key = draw(st.lists(st.sampled_from(KEY_TYPES), min_size=1, max_size=2)) if keyed else []
    fields = [Field(id="", name=f"k{n}", type=type_) for n, type_ in enumerate(key)]
    fields += [Field(id="", name=f"v{n}", type=type_) for n, type_ in enumerate(types)]
    schema = Schema.of(fields)
    candidates = [f.id for f in schema.fields[1:] if f.type in PARTITION_TYPES]
    partition_by = draw(st.sampled_from(candidates)) if candidates and draw(st.booleans()) else ""
    return Shape(
        schema,
        tuple(f"k{n}" for n in range(len(key))),
        (partition_by,) if partition_by else (),
    )


class Writer:
    """Makes one version from another by steps that hypothesis chooses."""

    def __init__(self, world: World, shape: Shape, draw: Callable[..., Any]) -> None:
        self.world = world
        self.shape = shape
        self.draw = draw

    def base(self) -> Snapshot:
        empty = self.world.create(
            self.shape.schema, [], key=self.shape.key, partition_by=self.shape.partition_by
        )
        filled = self._append(empty, most=5)
        return self.steps(filled, most=2)

    def steps(self, snapshot: Snapshot, most: int = 3) -> Snapshot:
        past = [snapshot]
        for _ in range(self.draw(st.integers(0, most))):
            step = self.draw(st.sampled_from(STEPS))
            if step == "restore":
                past.append(self.world.restore(past[-1], self.draw(st.sampled_from(past))))
            else:
                past.append(getattr(self, f"_{step}")(past[-1]))
        return past[-1]

    def compacted(self, snapshot: Snapshot) -> Snapshot:
        blocks = self._blocks(snapshot)
        return self.world.compact(snapshot, blocks, derive=self.draw(st.booleans()))

    def _append(self, snapshot: Snapshot, most: int = 3) -> Snapshot:
        rows = [self._row(key=True) for _ in range(self.draw(st.integers(1, most)))]
        return self.world.append(snapshot, self._fitting(self.world.rows(snapshot), rows))

    def _delete(self, snapshot: Snapshot) -> Snapshot:
        return self.world.delete(snapshot, self._some(snapshot))

    def _update(self, snapshot: Snapshot) -> Snapshot:
        live = dict(self.world.located(snapshot))
        places = self._some(snapshot)
        rest = [row for place, row in live.items() if place not in places]
        return self.world.update(
            snapshot, places, self._changed(rest, [live[place] for place in places])
        )

    def _replace(self, snapshot: Snapshot) -> Snapshot:
        return self.replaced(snapshot)

    def replaced(self, snapshot: Snapshot) -> Snapshot:
        """Set columns outside the key, as UPDATE does: rows that stay the same are left out."""
        live = dict(self.world.located(snapshot))
        others = [f for f in self.shape.schema.fields if f.id not in self.shape.key]
        if not others:
            return snapshot
        fields = self.draw(st.lists(st.sampled_from(others), unique=True, min_size=1, max_size=2))
        changed: dict[Place, Row] = {}
        for place in self._some(snapshot):
            row = live[place] | {field.id: self._value(field, ()) for field in fields}
            if value_of(row, self.shape.columns) != value_of(live[place], self.shape.columns):
                changed[place] = row
        if not changed:
            return snapshot
        return self.world.replace(snapshot, changed, [field.id for field in fields])

    def _rewrite(self, snapshot: Snapshot) -> Snapshot:
        blocks = self._blocks(snapshot)
        rest = [row for place, row in self.world.located(snapshot) if place[0] not in blocks]

        def change(rows: Table) -> Table:
            kept = [row for row in rows if self.draw(st.integers(0, 3))]
            touched = [n for n in range(len(kept)) if not self.draw(st.integers(0, 2))]
            same = [row for n, row in enumerate(kept) if n not in touched]
            return same + self._changed(rest + same, [kept[n] for n in touched])

        return self.world.rewrite(snapshot, blocks, change)

    def _compact(self, snapshot: Snapshot) -> Snapshot:
        return self.compacted(snapshot)

    def _clone(self, snapshot: Snapshot) -> Snapshot:
        return self.world.clone(snapshot)

    def _some(self, snapshot: Snapshot) -> list[Place]:
        places = [place for place, _ in self.world.located(snapshot)]
        if not places:
            return []
        return self.draw(  # type: ignore[no-any-return]
            st.lists(st.sampled_from(places), unique=True, max_size=4)
        )

    def _blocks(self, snapshot: Snapshot) -> list[str]:
        paths = [block.path for block in self.world.blocks(snapshot)]
        if not paths:
            return []
        return self.draw(  # type: ignore[no-any-return]
            st.lists(st.sampled_from(paths), unique=True, max_size=3)
        )

    def _changed(self, rest: Table, rows: Table) -> Table:
        """Return rows with other values, now and then with another key."""
        changed = []
        for row in rows:
            new = self._row(key=not self.draw(st.integers(0, 3)))
            changed.append({**row, **new})
        return self._fitting(rest, changed)

    def _fitting(self, rest: Table, rows: Table) -> Table:
        """Leave rows out whose key is taken."""
        if not self.shape.key:
            return rows
        taken = {value_of(row, self.shape.key) for row in rest}
        fitting = []
        for row in rows:
            key = value_of(row, self.shape.key)
            if key not in taken:
                taken.add(key)
                fitting.append(row)
        return fitting

    def _row(self, *, key: bool) -> Row:
        row: Row = {}
        for field in self.shape.schema.fields:
            if field.id in self.shape.key:
                if key:
                    row[field.id] = self._value(field, (None,))
            elif key or self.draw(st.booleans()):
                row[field.id] = self._value(field, ())
        return row

    def _value(self, field: Field, refused: Sequence[Any]) -> Any:
        choices = [value for value in (*VALUES[field.type], None) if value not in refused]
        return self.draw(st.sampled_from(choices))


STEPS = ("append", "delete", "update", "replace", "rewrite", "compact", "clone", "restore")
