"""Diff and merge of versions whose columns changed at random, against the oracle."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.diffs.difference import diff
from dbt.adapters.vcs.changes.merges.rowwise.row_merge import SchemaConflictError
from dbt.adapters.vcs.changes.merges.rowwise.side_fitting import MisfitError
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Field, Schema, Snapshot
from dbt.adapters.vcs.core.plan.schema_merge import merge_definitions
from tests.property import oracle
from tests.property.histories import PARTITION_TYPES, VALUES, Shape, Writer, shapes
from tests.property.merging import RowMode, drawn_mode, merge, policy_of, result_of
from tests.property.oracle import Row, Table, counts_of, signed_diff, value_of, wide_diff
from tests.property.world import World

WIDER = {
    "int": "bigint",
    "float": "double",
    "decimal(10,2)": "decimal(38,18)",
    "varchar(3)": "varchar(9)",
    "varchar(9)": "string",
}


def altered(data: st.DataObject, shape: Shape, *, with_initial: bool) -> Schema:
    schema = shape.schema
    for _ in range(data.draw(st.integers(0, 2))):
        free = [f.name for f in schema.fields if f.id not in (*shape.key, *shape.partition_by)]
        wider = [f for f in schema.fields if f.type in WIDER and f.id not in shape.partition_by]
        match data.draw(st.sampled_from(["add", "drop", "rename", "widen", "reorder"])):
            case "add":
                name = data.draw(st.sampled_from(["n0", "n1", "v0"]))
                if schema.find(name) is None:
                    type_ = data.draw(st.sampled_from(["int", "bigint", "string"]))
                    values = [None, "7", "8"] if with_initial and type_ != "string" else [None]
                    initial = data.draw(st.sampled_from(values))
                    schema = schema.add([Field(id="", name=name, type=type_, initial=initial)])
            case "drop" if free and len(schema.fields) > 1 + len(shape.partition_by):
                schema = schema.drop([data.draw(st.sampled_from(free))])
            case "rename":
                name = data.draw(st.sampled_from(["r0", "r1"]))
                if schema.find(name) is None:
                    old = data.draw(st.sampled_from([f.name for f in schema.fields]))
                    schema = schema.rename(old, name)
            case "widen" if wider:
                field = data.draw(st.sampled_from(wider))
                new = Field(id=field.id, name=field.name, type=WIDER[field.type])
                schema = schema.replace(new)
            case "reorder":
                fields = data.draw(st.permutations(schema.fields))
                schema = Schema(fields=tuple(fields), retired=schema.retired)
    return schema


class Sides:
    """A base, and two sides that changed columns, then rows."""

    def __init__(self, data: st.DataObject, *, keyed: bool, with_layout: bool = False) -> None:
        """Make them; `with_layout` changes keys, partitions and added values, too."""
        self.shape = data.draw(shapes(keyed=keyed))
        self._with_layout = with_layout
        self.world = World()
        self.base = Writer(self.world, self.shape, data.draw).base()
        self.ours, self.theirs = self._side(data), self._side(data)

    def _side(self, data: st.DataObject) -> Snapshot:
        schema = altered(data, self.shape, with_initial=self._with_layout)
        side = self.base
        if schema != self.base.schema:
            side = self.world.alter(self.base, schema=schema)
        shape = Shape(schema, self.shape.key, self.shape.partition_by)
        if self._with_layout and data.draw(st.booleans()):
            keys = [(), self.shape.key[:1], self.shape.key]
            side = self.world.alter(side, primary_key=data.draw(st.sampled_from(keys)))
        if self._with_layout and data.draw(st.booleans()):
            by = [
                f.id for f in schema.fields[1:] if f.type in PARTITION_TYPES and f.initial is None
            ]
            partition_by = tuple(data.draw(st.sampled_from([[], by[:1]])))
            rows = self.world.rows(side)
            emptied = self.world.alter(side, segments=(), partition_by=partition_by)
            side = self.world.append(emptied, rows)
            shape = Shape(schema, self.shape.key, partition_by)
        return Writer(self.world, shape, data.draw).steps(side, 2)


def touched(sides: Sides, version: Snapshot) -> Table:
    """Return the base's rows as a side shows them while it leaves them alone."""
    return sides.world.rows(msgspec.structs.replace(sides.base, schema=version.schema))


def check_rows_of_one_side(sides: Sides, result: Snapshot) -> None:
    """Check each row that at most one side touched: it is in a merge as that side left it.

    A column that this side lacks has the value that the other side shows, or would show.
    """
    by = result.primary_key or sides.shape.key
    found = [sides.world.rows(version) for version in (sides.ours, sides.theirs, result)]
    before = [touched(sides, version) for version in (sides.ours, sides.theirs)]
    tables = [{value_of(row, by): row for row in rows} for rows in (*found, *before)]
    if any(len(table) < len(rows) for table, rows in zip(tables, (*found, *before), strict=True)):
        return  # The key that the mode decided for doesn't tell rows apart.
    merged = tables.pop(2)
    for (now, other), (was, other_was) in (
        (tables[:2], tables[2:]),
        (tables[1::-1], tables[:1:-1]),
    ):
        for key in {*now, *was, *other}:
            mine, others = now.get(key), other.get(key)
            if not is_same(others, other_was.get(key)):
                continue  # The other side touched it.
            if mine is None:
                assert key not in merged
                continue
            assert key in merged, f"{key} is lost"
            if is_same(mine, was.get(key)):
                continue  # Nobody touched it: the mode decides what an added column shows.
            for field in result.schema.fields:
                shown = mine if field.id in mine else others or {field.id: initial_of(field)}
                assert is_same({"c": shown.get(field.id)}, {"c": merged[key][field.id]}), field


def edited_in(sides: Sides, side: Snapshot) -> set[str]:
    """Return the columns that the other side dropped and in which this one changed a value."""
    other = sides.theirs if side is sides.ours else sides.ours
    before, after = touched(sides, side), sides.world.rows(side)
    dropped = [
        field.id
        for field in sides.base.schema.fields
        if side.schema.by_id(field.id) and not other.schema.by_id(field.id)
    ]

    def is_replaced(id: str) -> bool:
        """Whether the other side has another column of this name: new rows need a value there."""
        kept = side.schema.by_id(id)
        new = kept and other.schema.find(kept.name)
        return new is not None and sides.base.schema.by_id(new.id) is None

    def is_edited(id: str) -> bool:
        every = [field.id for field in side.schema.fields]
        paired_by = side.primary_key if side.primary_key == sides.base.primary_key else ()
        if is_replaced(id) and wide_diff(before, after, every, paired_by).added:
            return True
        key = side.primary_key or other.primary_key or sides.base.primary_key
        if id in key:
            return False
        if key and wide_diff(before, after, [*key, id], key).modified:
            return True
        rest = [column for column in every if column != id]
        added = [
            sum(max(count, 0) for count in signed_diff(before, after, columns).values())
            for columns in (every, rest)
        ]
        return bool(rest) and added[1] < added[0]

    return {id for id in dropped if is_edited(id)}


def is_same(one: Row | None, other: Row | None) -> bool:
    if one is None or other is None:
        return one is other
    return value_of(one, list(one)) == value_of(other, list(one))


def initial_of(field: Field) -> Any:
    return None if field.initial is None else int(field.initial)


keyed_or_not = pytest.mark.parametrize("keyed", [True, False], ids=["key", "no_key"])


@keyed_or_not
@given(data=st.data())
def test_merge_with_other_columns_is_the_oracles(keyed: bool, data: st.DataObject) -> None:
    sides = Sides(data, keyed=keyed)
    mode, cells = drawn_mode(data)
    versions = (sides.base, sides.ours, sides.theirs)
    edited = {*edited_in(sides, sides.ours), *edited_in(sides, sides.theirs)}
    merged = merge_definitions(
        *versions,
        prefer={"skip": "ours", "accept": "theirs"}.get(mode),  # type: ignore[arg-type]
        edited=dict.fromkeys(edited, "rows"),
    )
    if merged.conflicts:
        with pytest.raises(SchemaConflictError):
            merge(sides.world.repository, *versions, policy=policy_of(mode=mode, cells=cells))
        return
    if merge_definitions(*versions, edited=dict.fromkeys(edited, "rows")).conflicts:
        return  # What the mode decided is held to a law of its own below.
    columns = [field.id for field in merged.definition.schema.fields]
    tables = [sides.world.rows(version) for version in versions]
    expected = oracle.merge(tables, columns, sides.shape.key, mode, cells)
    outcome = merge(sides.world.repository, *versions, policy=policy_of(mode=mode, cells=cells))
    assert outcome.conflicts.table.num_rows == len(expected.conflicts)
    if not outcome.is_blocked:
        result = result_of(sides.world, outcome)
        assert result.schema == merged.definition.schema
        assert counts_of(sides.world.rows(result), columns) == expected.rows


@given(data=st.data())
def test_no_edit_of_a_column_that_the_other_side_dropped_vanishes(data: st.DataObject) -> None:
    sides = Sides(data, keyed=data.draw(st.booleans()))
    versions = (sides.base, sides.ours, sides.theirs)
    for name, side, other in (("ours", *versions[1:]), ("theirs", *versions[:0:-1])):
        edited = edited_in(sides, side)
        if not edited or merge_definitions(*versions).conflicts:
            continue
        with pytest.raises(SchemaConflictError):
            merge(sides.world.repository, *versions)
        mode: RowMode = "skip" if name == "ours" else "accept"
        told = dict.fromkeys(edited, "rows")
        if merge_definitions(*versions, prefer=name, edited=told).conflicts:
            continue  # The other side has another column of that name: no mode keeps both.
        with suppress(MisfitError):
            outcome = merge(sides.world.repository, *versions, policy=policy_of(mode=mode))
            kept = {field.id for field in result_of(sides.world, outcome).schema.fields}
            assert edited <= kept
        opposite: RowMode = "accept" if mode == "skip" else "skip"
        if not edited_in(sides, other):
            outcome = merge(sides.world.repository, *versions, policy=policy_of(mode=opposite))
            kept = {field.id for field in result_of(sides.world, outcome).schema.fields}
            assert not edited & kept


@keyed_or_not
@given(data=st.data())
def test_diff_with_other_columns_is_the_oracles(keyed: bool, data: st.DataObject) -> None:
    sides = Sides(data, keyed=keyed)
    before, after = sides.base, sides.theirs
    found = diff(sides.world.repository, before, after)
    columns = [
        field.id
        for field in (*after.schema.fields, *before.schema.fields)
        if field.id not in (*after.schema.retired, *before.schema.retired)
    ]
    columns = list(dict.fromkeys(columns))
    names = {field.id: field.name for field in found.comparison.fields}
    signed = {}
    for row in found.signed().to_pylist():
        value = value_of({id: row[names[id]] for id in columns}, columns)
        signed[value] = row["diff_count"]
    tables = [sides.world.rows(version) for version in (before, after)]
    assert signed == signed_diff(*tables, columns)


@keyed_or_not
@given(data=st.data())
def test_no_mode_loses_a_row_that_one_side_touched(keyed: bool, data: st.DataObject) -> None:
    sides = Sides(data, keyed=True, with_layout=True)
    if not keyed:
        plain = (
            sides.world.alter(v, primary_key=()) for v in (sides.base, sides.ours, sides.theirs)
        )
        sides.base, sides.ours, sides.theirs = plain
    mode, cells = drawn_mode(data)
    policy = policy_of(mode=mode, cells=cells)
    try:
        outcome = merge(
            sides.world.repository, sides.base, sides.ours, sides.theirs, policy=policy
        )
    except (MisfitError, SchemaConflictError, InputError):
        return
    if not outcome.is_blocked:
        check_rows_of_one_side(sides, result_of(sides.world, outcome))


def test_every_type_that_widens_has_values() -> None:
    assert {*WIDER, *WIDER.values()} <= VALUES.keys()
