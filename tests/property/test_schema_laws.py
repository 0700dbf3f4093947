"""Diff and merge of versions whose columns changed at random, against the oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.model import Field, Schema, Snapshot
from dbt.adapters.vcs.core.plan.schema_merge import merge_definitions
from dbt.adapters.vcs.diffs.row_diff import diff
from dbt.adapters.vcs.merges.rowwise.row_merge import SchemaConflictError, merge
from dbt.adapters.vcs.merges.rowwise.row_policy import RowPolicy
from tests.property import oracle
from tests.property.histories import VALUES, Shape, Writer, shapes
from tests.property.merging import drawn_mode, result_of
from tests.property.oracle import counts_of, signed_diff, value_of
from tests.property.world import World

WIDER = {
    "int": "bigint",
    "float": "double",
    "decimal(10,2)": "decimal(38,18)",
    "varchar(3)": "varchar(9)",
    "varchar(9)": "string",
}


def altered(data: st.DataObject, shape: Shape) -> Schema:
    schema = shape.schema
    for _ in range(data.draw(st.integers(0, 2))):
        free = [f.name for f in schema.fields if f.id not in (*shape.key, *shape.partition_by)]
        wider = [f for f in schema.fields if f.type in WIDER and f.id not in shape.partition_by]
        match data.draw(st.sampled_from(["add", "drop", "rename", "widen", "reorder"])):
            case "add":
                name = data.draw(st.sampled_from(["n0", "n1", "v0"]))
                if schema.find(name) is None:
                    type_ = data.draw(st.sampled_from(["int", "bigint", "string"]))
                    schema = schema.add([Field(id="", name=name, type=type_)])
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

    def __init__(self, data: st.DataObject, *, keyed: bool) -> None:
        self.shape = data.draw(shapes(keyed=keyed))
        self.world = World()
        self.base = Writer(self.world, self.shape, data.draw).base()
        self.ours, self.theirs = self._side(data), self._side(data)

    def _side(self, data: st.DataObject) -> Snapshot:
        schema = altered(data, self.shape)
        side = self.base
        if schema != self.base.schema:
            side = self.world.alter(self.base, schema=schema)
        shape = Shape(schema, self.shape.key, self.shape.partition_by)
        return Writer(self.world, shape, data.draw).steps(side, 2)


keyed_or_not = pytest.mark.parametrize("keyed", [True, False], ids=["key", "no_key"])


@keyed_or_not
@given(data=st.data())
def test_merge_with_other_columns_is_the_oracles(keyed: bool, data: st.DataObject) -> None:
    sides = Sides(data, keyed=keyed)
    mode, cells = drawn_mode(data)
    versions = (sides.base, sides.ours, sides.theirs)
    merged = merge_definitions(
        *versions,
        prefer={"skip": "ours", "accept": "theirs"}.get(mode),  # type: ignore[arg-type]
    )
    if merged.conflicts:
        with pytest.raises(SchemaConflictError):
            merge(sides.world.repository, *versions, policy=RowPolicy(mode=mode, cells=cells))
        return
    columns = [field.id for field in merged.definition.schema.fields]
    tables = [sides.world.rows(version) for version in versions]
    expected = oracle.merge(tables, columns, sides.shape.key, mode, cells)
    outcome = merge(sides.world.repository, *versions, policy=RowPolicy(mode=mode, cells=cells))
    assert outcome.conflicts.table.num_rows == len(expected.conflicts)
    if not outcome.is_blocked:
        result = result_of(sides.world, outcome)
        assert result.schema == merged.definition.schema
        assert counts_of(sides.world.rows(result), columns) == expected.rows


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


def test_every_type_that_widens_has_values() -> None:
    assert {*WIDER, *WIDER.values()} <= VALUES.keys()
