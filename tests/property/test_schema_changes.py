"""Schema change between the sides of a diff or merge: each case with its result or its error."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from math import inf, nan
from typing import Any

import pytest

from dbt.adapters.vcs.changes.diffs.difference import Difference, diff
from dbt.adapters.vcs.changes.diffs.matched_columns import column_changes
from dbt.adapters.vcs.changes.merges.conflicts import policy
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Clash
from dbt.adapters.vcs.changes.merges.rowwise.row_merge import SchemaConflictError
from dbt.adapters.vcs.changes.merges.rowwise.side_fitting import MisfitError
from dbt.adapters.vcs.changes.merges.table_merge import TableMerge, merge_tables
from dbt.adapters.vcs.changes.writes.pruning import matching
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, RelationName, Schema, Snapshot
from dbt.adapters.vcs.sql.syntax.conditions import Comparison, Constant
from dbt.adapters.vcs.table.files import block_reader
from tests.property.merging import RowMode, merge, policy_of, result_of
from tests.property.oracle import Table
from tests.property.world import World

BASE = Schema.of(
    [
        Field(id="", name="k", type="bigint"),
        Field(id="", name="a", type="int"),
        Field(id="", name="b", type="string"),
    ]
)
Change = Callable[[Schema], Schema]


def same(schema: Schema) -> Schema:
    return schema


def add(name: str, type_: str, **more: Any) -> Change:
    return lambda schema: schema.add([Field(id="", name=name, type=type_, **more)])


def drop(name: str) -> Change:
    return lambda schema: schema.drop([name])


def rename(old: str, new: str) -> Change:
    return lambda schema: schema.rename(old, new)


def put(name: str, **attributes: Any) -> Change:
    def change(schema: Schema) -> Schema:
        field = schema.field(name)
        values = {key: getattr(field, key) for key in field.__struct_fields__}
        return schema.replace(Field(**{**values, **attributes}))

    return change


def order(*names: str) -> Change:
    return lambda schema: Schema(
        fields=tuple(schema.field(name) for name in names), retired=schema.retired
    )


def both(*changes: Change) -> Change:
    def change(schema: Schema) -> Schema:
        for item in changes:
            schema = item(schema)
        return schema

    return change


class Sides:
    """A base with one row in each of three blocks, and two sides with other columns."""

    def __init__(self, ours: Change, theirs: Change, mode: RowMode = "fail") -> None:
        self.world = World()
        version = self.world.create(BASE, [{"k": 1, "a": 10, "b": "x"}], key=("k",))
        version = self.world.append(version, [{"k": 2, "a": 20, "b": "y"}])
        self.base = self.world.append(version, [{"k": 3, "a": 30, "b": "z"}])
        self.ours = self.world.alter(self.base, schema=ours(BASE))
        self.theirs = self.world.alter(self.base, schema=theirs(BASE))
        self.mode = mode

    def update(self, version: Snapshot, k: int, **values: Any) -> Snapshot:
        ((place, row),) = [item for item in self.world.located(version) if item[1]["k"] == k]
        return self.world.update(version, [place], [{**row, **values}])

    def merged(self) -> Snapshot:
        outcome = merge(
            self.world.repository,
            self.base,
            self.ours,
            self.theirs,
            policy=policy_of(mode=self.mode),
        )
        return result_of(self.world, outcome)

    def rows(self, snapshot: Snapshot) -> Table:
        return sorted(self.world.rows(snapshot), key=lambda row: row["k"])


def shown(schema: Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema.fields)


# name: ours, theirs, columns of the result
MERGES: dict[str, tuple[Change, Change, str]] = {
    "added_in_theirs": (same, add("n", "int"), "k bigint, a int, b string, n int"),
    "added_in_ours": (add("n", "int"), same, "k bigint, a int, b string, n int"),
    "added_in_both_alike": (
        add("n", "int"),
        add("n", "int"),
        "k bigint, a int, b string, n int",
    ),
    "added_in_both_in_another_case": (
        add("N", "int"),
        add("n", "int"),
        "k bigint, a int, b string, N int",
    ),
    "added_in_both_of_types_that_widen": (
        add("n", "int"),
        add("n", "bigint"),
        "k bigint, a int, b string, n bigint",
    ),
    "added_different_ones": (
        add("m", "int"),
        add("n", "int"),
        "k bigint, a int, b string, m int, n int",
    ),
    "dropped_in_theirs": (same, drop("a"), "k bigint, b string"),
    "dropped_in_ours": (drop("a"), same, "k bigint, b string"),
    "dropped_in_both": (drop("a"), drop("a"), "k bigint, b string"),
    "dropped_different_ones": (drop("a"), drop("b"), "k bigint"),
    "dropped_and_comment_changed": (drop("a"), put("a", comment="c"), "k bigint, b string"),
    "dropped_and_added_again_in_theirs": (
        same,
        both(drop("a"), add("a", "int")),
        "k bigint, b string, a int",
    ),
    "renamed_in_theirs": (same, rename("a", "z"), "k bigint, z int, b string"),
    "renamed_in_both_alike": (rename("a", "z"), rename("a", "z"), "k bigint, z int, b string"),
    "renamed_and_retyped": (
        rename("a", "z"),
        put("a", type="bigint"),
        "k bigint, z bigint, b string",
    ),
    "renamed_different_ones": (rename("a", "y"), rename("b", "z"), "k bigint, y int, z string"),
    "names_swapped_in_theirs": (
        same,
        both(rename("a", "t"), rename("b", "a"), rename("t", "b")),
        "k bigint, b int, a string",
    ),
    "retyped_in_theirs": (same, put("a", type="bigint"), "k bigint, a bigint, b string"),
    "retyped_in_ours": (put("a", type="bigint"), same, "k bigint, a bigint, b string"),
    "retyped_in_both_alike": (
        put("a", type="bigint"),
        put("a", type="bigint"),
        "k bigint, a bigint, b string",
    ),
    "reordered_in_theirs": (same, order("b", "k", "a"), "b string, k bigint, a int"),
    "reordered_in_ours": (order("b", "k", "a"), same, "b string, k bigint, a int"),
    "reordered_in_ours_and_added_in_theirs": (
        order("b", "k", "a"),
        add("n", "int"),
        "b string, k bigint, a int, n int",
    ),
    "reordered_in_theirs_and_added_between_in_ours": (
        both(add("n", "int"), order("k", "n", "a", "b")),
        order("b", "k", "a"),
        "b string, k bigint, n int, a int",
    ),
    "commented_in_theirs": (same, put("a", comment="c"), "k bigint, a int, b string"),
    "default_in_theirs": (same, put("a", default="7"), "k bigint, a int, b string"),
}

# name: ours, theirs, kinds of conflict
CONFLICTS: dict[str, tuple[Change, Change, set[str]]] = {
    "added_in_both_of_other_types": (add("n", "int"), add("n", "string"), {"type"}),
    "dropped_and_renamed": (drop("a"), rename("a", "z"), {"drop"}),
    "renamed_and_dropped": (rename("a", "z"), drop("a"), {"drop"}),
    "dropped_and_retyped": (drop("a"), put("a", type="bigint"), {"drop"}),
    "dropped_and_given_a_default": (drop("a"), put("a", default="1"), {"drop"}),
    "renamed_differently": (rename("a", "y"), rename("a", "z"), {"name"}),
    "renamed_to_a_name_that_the_other_side_added": (
        rename("a", "n"),
        add("n", "int"),
        {"name"},
    ),
    "retyped_to_types_that_do_not_widen": (
        put("a", type="bigint"),
        put("a", type="string"),
        {"type"},
    ),
    "narrowed": (same, put("a", type="smallint"), {"type"}),
    "reordered_differently": (order("b", "k", "a"), order("a", "b", "k"), {"order"}),
    "commented_differently": (put("a", comment="x"), put("a", comment="y"), {"comment"}),
    "defaults_differ": (put("a", default="1"), put("a", default="2"), {"default"}),
    "nothing_left": (drop("a"), both(drop("k"), drop("b")), {"drop"}),
    "key_dropped": (same, drop("k"), {"primary_key"}),
}


@pytest.mark.parametrize("case", MERGES.values(), ids=MERGES)
def test_schemas_that_merge(case: tuple[Change, Change, str]) -> None:
    ours, theirs, expected = case
    sides = Sides(ours, theirs)
    assert shown(sides.merged().schema) == expected


@pytest.mark.parametrize("case", MERGES.values(), ids=MERGES)
def test_rows_of_both_sides_are_there_after_schemas_merged(
    case: tuple[Change, Change, str],
) -> None:
    ours, theirs, _ = case
    sides = Sides(ours, theirs)
    sides.ours = sides.update(sides.ours, 1, b="ours")
    sides.theirs = sides.update(sides.theirs, 2, b="theirs")
    if not (sides.ours.schema.by_id("b") and sides.theirs.schema.by_id("b")):
        with pytest.raises(SchemaConflictError, match="b: b string in the base"):
            sides.merged()
        return
    merged = sides.merged()
    rows = sides.rows(merged)
    assert [row["k"] for row in rows] == [1, 2, 3]
    if merged.schema.by_id("b"):
        assert [row["b"] for row in rows] == ["ours", "theirs", "z"]
    if merged.schema.by_id("a"):
        assert [row["a"] for row in rows] == [10, 20, 30]


@pytest.mark.parametrize("case", CONFLICTS.values(), ids=CONFLICTS)
def test_schemas_that_conflict(case: tuple[Change, Change, set[str]]) -> None:
    ours, theirs, kinds = case
    with pytest.raises(
        SchemaConflictError, match="Both sides changed the table's definition"
    ) as e:
        Sides(ours, theirs).merged()
    assert {item.kind for item in e.value.conflicts} == kinds


@pytest.mark.parametrize(("mode", "expected"), [("skip", "x"), ("accept", "y")])
def test_the_mode_decides_about_what_no_row_depends_on(mode: RowMode, expected: str) -> None:
    sides = Sides(put("a", comment="x"), put("a", comment="y"), mode)
    field = sides.merged().schema.field("a")
    assert field.comment == expected


def test_a_conflict_names_what_each_side_did() -> None:
    with pytest.raises(SchemaConflictError, match="name of y: a in the base, y in ours, z in th"):
        Sides(rename("a", "y"), rename("a", "z")).merged()


def test_conflicts_have_a_renamed_column_with_its_type() -> None:
    sides = Sides(rename("a", "z"), rename("a", "z"))
    sides.ours = sides.update(sides.ours, 1, a=5)
    sides.theirs = sides.update(sides.theirs, 1, a=6)
    ids = {side: sides.world.id(getattr(sides, side)) for side in ("ours", "theirs", "base")}
    work = TableMerge(name=RelationName("s", "t"), mode=policy.Mode.FAIL, **ids)
    clash = merge_tables(sides.world.repository, work, None)
    assert isinstance(clash, Clash)
    assert {c.name: c.type for c in clash.columns if c.name.endswith("_z")} == {
        "base_z": "int",
        "our_z": "int",
        "their_z": "int",
    }


def test_conflicts_have_the_rows_of_files_that_were_written_only_to_compare_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Large files are not held in memory."""
    monkeypatch.setattr(block_reader, "_READ_WHOLE", 0)
    sides = Sides(add("n", "bigint"), add("n", "double"))
    sides.ours = sides.update(sides.ours, 1, a=11)
    sides.theirs = sides.update(sides.theirs, 1, a=12, n=2.0)
    ids = {side: sides.world.id(getattr(sides, side)) for side in ("ours", "theirs", "base")}
    before = set(sides.world.blobs.walk("data"))
    work = TableMerge(name=RelationName("s", "t"), mode=policy.Mode.FAIL, prefer="ours", **ids)
    clash = merge_tables(sides.world.repository, work, None)
    assert isinstance(clash, Clash)
    assert clash.rows is not None
    assert clash.rows.select(["our_a", "their_a", "their_n"]).to_pylist() == [
        {"our_a": 11, "their_a": 12, "their_n": 2}
    ]
    assert set(sides.world.blobs.walk("data")) == before


def test_a_column_that_one_side_adds_with_values_and_the_other_changes_otherwise() -> None:
    sides = Sides(add("n", "int"), same)
    sides.ours = sides.update(sides.ours, 1, n=5)
    sides.theirs = sides.update(sides.theirs, 1, b="theirs")
    outcome = merge(sides.world.repository, sides.base, sides.ours, sides.theirs)
    assert outcome.conflicts.table.column("our_n").to_pylist() == [5]
    cells = merge(
        sides.world.repository, sides.base, sides.ours, sides.theirs, policy=policy_of(cells=True)
    )
    rows = sides.rows(result_of(sides.world, cells))
    assert rows[0] == {"k": 1, "a": 10, "b": "theirs", "n": 5}


def test_values_are_compared_at_the_wider_type() -> None:
    sides = Sides(same, put("a", type="bigint"))
    sides.ours = sides.update(sides.ours, 1, b="same")
    sides.theirs = sides.update(sides.theirs, 1, b="same")
    sides.theirs = sides.update(sides.theirs, 2, a=2**40)
    merged = sides.merged()
    assert [row["a"] for row in sides.rows(merged)] == [10, 2**40, 30]


@pytest.mark.parametrize("is_keyed", [True, False])
def test_an_edit_of_a_column_that_the_other_side_dropped_is_a_conflict(is_keyed: bool) -> None:
    sides = Sides(same, drop("a"))
    if not is_keyed:
        for name in ("base", "ours", "theirs"):
            setattr(sides, name, sides.world.alter(getattr(sides, name), primary_key=()))
    untouched = sides.ours
    sides.ours = sides.update(untouched, 1, a=11)
    with pytest.raises(
        SchemaConflictError,
        match="drop of a: a int in the base, a int with other values in ours, nothing in theirs",
    ):
        sides.merged()
    versions = (sides.base, sides.ours, sides.theirs)
    kept = merge(sides.world.repository, *versions, policy=policy_of(mode="skip"))
    assert [row["a"] for row in sides.rows(result_of(sides.world, kept))] == [11, 20, 30]
    gone = merge(sides.world.repository, *versions, policy=policy_of(mode="accept"))
    assert shown(result_of(sides.world, gone).schema) == "k bigint, b string"
    # Rows that come, go or change elsewhere are no edits of it.
    sides.ours = sides.update(untouched, 1, b="ours")
    sides.ours = sides.world.append(sides.ours, [{"k": 8, "a": 1, "b": "new"}])
    assert shown(sides.merged().schema) == "k bigint, b string"


def test_not_null_of_one_side_and_null_of_the_other() -> None:
    sides = Sides(put("b", nullable=False), same)
    sides.theirs = sides.update(sides.theirs, 2, b=None)
    ids = {side: sides.world.id(getattr(sides, side)) for side in ("ours", "theirs", "base")}
    work = TableMerge(name=RelationName("s", "t"), mode=policy.Mode.SKIP, **ids)
    clash = merge_tables(sides.world.repository, work, None)
    assert isinstance(clash, Clash)
    assert "Ours declares b NOT NULL in s.t, and it is NULL in 1 row of the other side" in str(
        clash
    )
    assert "such as (k: 2)" in str(clash)


def test_files_of_another_partitioning_are_written_to_the_one_that_wins() -> None:
    sides = Sides(same, same)
    sides.ours = sides.world.append(sides.ours, [{"k": 8, "a": 1, "b": "x"}])
    emptied = sides.world.alter(sides.theirs, segments=(), partition_by=("a",))
    sides.theirs = sides.world.append(emptied, sides.world.rows(sides.base))
    merged = sides.merged()
    assert [row["k"] for row in sides.rows(merged)] == [1, 2, 3, 8]
    assert all(set(block.partition) == {"a"} for block in sides.world.blocks(merged))


DECIDED: dict[str, tuple[Change, Change, str, str]] = {
    "added_with_other_types": (
        add("n", "int"),
        add("n", "string"),
        "k bigint, a int, b string, n int",
        "k bigint, a int, b string, n string",
    ),
    "renamed_differently": (
        rename("a", "y"),
        rename("a", "z"),
        "k bigint, y int, b string",
        "k bigint, z int, b string",
    ),
    "dropped_and_renamed": (
        drop("a"),
        rename("a", "z"),
        "k bigint, b string",
        "k bigint, z int, b string",
    ),
    "renamed_to_one_name": (
        rename("a", "c"),
        rename("b", "c"),
        "k bigint, c int, b string",
        "k bigint, a int, c string",
    ),
}


@pytest.mark.parametrize("case", DECIDED.values(), ids=DECIDED)
@pytest.mark.parametrize("mode", ["skip", "accept"])
def test_a_mode_decides_about_columns_and_keeps_the_rows_of_both(
    mode: RowMode, case: tuple[Change, Change, str, str]
) -> None:
    ours, theirs, *expected = case
    sides = Sides(ours, theirs, mode)
    sides.ours = sides.world.append(sides.ours, [{"k": 8}])
    sides.theirs = sides.world.append(sides.theirs, [{"k": 9}])
    merged = sides.merged()
    assert shown(merged.schema) == expected[mode == "accept"]
    assert [row["k"] for row in sides.rows(merged)] == [1, 2, 3, 8, 9]


@pytest.mark.parametrize(("mode", "side"), [("skip", "theirs"), ("accept", "ours")])
def test_a_value_that_the_winning_type_lacks_is_named(mode: RowMode, side: str) -> None:
    sides = Sides(add("n", "int"), add("n", "string"), mode)
    sides.ours = sides.world.append(sides.ours, [{"k": 8, "n": 5}])
    sides.theirs = sides.world.append(sides.theirs, [{"k": 9, "n": "five"}])
    shown = "n = 'five' where k = 9" if side == "theirs" else "n = 5 where k = 8"
    with pytest.raises(MisfitError, match=f"{side} has values of the column n .*{shown}"):
        sides.merged()


def test_numbers_that_both_types_have_are_written_in_the_winning_type() -> None:
    sides = Sides(put("a", type="bigint"), put("a", type="double"), "skip")
    base = sides.world.alter(sides.base, schema=drop("a")(BASE))
    sides.base = base
    sides.ours = sides.world.alter(base, schema=add("n", "bigint")(base.schema))
    sides.theirs = sides.world.alter(base, schema=add("n", "double")(base.schema))
    sides.theirs = sides.world.append(sides.theirs, [{"k": 9, "n": 2.0}])
    assert sides.rows(sides.merged())[-1] == {"k": 9, "b": None, "n": 2}
    sides.theirs = sides.world.append(sides.theirs, [{"k": 10, "n": 2.5}])
    with pytest.raises(MisfitError, match=r"n = 2.5 where k = 10"):
        sides.merged()


def test_rows_that_are_written_again_are_found_by_the_initial_value_of_a_column() -> None:
    sides = Sides(
        both(add("n", "bigint"), add("c", "int", initial="5")), add("n", "double"), "skip"
    )
    sides.theirs = sides.world.append(sides.theirs, [{"k": 9, "n": 2.0}])
    merged = sides.merged()
    assert [row["c"] for row in sides.rows(merged)] == [5, 5, 5, 5]
    blocks = sides.world.blocks(merged)
    is_five = Comparison("c", "=", (Constant("number", "5"),))
    assert matching(blocks, merged.schema, [is_five]) == tuple(blocks)
    field = merged.schema.field("c")
    assert [block.stats.get(field.id) for block in blocks] == [None] * len(blocks)


@pytest.mark.parametrize(
    ("winning", "losing", "value", "expected"),
    [
        ("bigint", "double", -0.0, 0),
        ("bigint", "double", nan, None),
        ("bigint", "double", inf, None),
        ("bigint", "double", 1e19, None),
        ("double", "bigint", 2**53, 2.0**53),
        ("double", "bigint", 2**53 + 1, None),
        ("double", "bigint", 2**63 - 1, None),
        ("tinyint", "decimal(4,1)", Decimal("7.0"), 7),
        ("tinyint", "decimal(4,1)", Decimal("7.5"), None),
        ("tinyint", "decimal(4,1)", Decimal("300.0"), None),
        ("decimal(4,1)", "double", 1.5, Decimal("1.5")),
        ("decimal(4,1)", "double", 1.25, None),
    ],
)
def test_a_number_fits_another_type_if_it_comes_back_the_same(
    winning: str, losing: str, value: Any, expected: Any
) -> None:
    sides = Sides(add("n", winning), add("n", losing), "skip")
    sides.theirs = sides.world.append(sides.theirs, [{"k": 9, "n": value}, {"k": 8, "n": None}])
    if expected is None:
        with pytest.raises(MisfitError, match="where k = 9"):
            sides.merged()
        return
    found = {row["k"]: row["n"] for row in sides.rows(sides.merged())}
    assert found == {1: None, 2: None, 3: None, 8: None, 9: expected}


def test_rows_keep_the_value_that_their_side_gave_an_added_column() -> None:
    sides = Sides(add("n", "int", initial="1"), add("n", "int", initial="2"), "skip")
    before = sides.world.append(sides.base, [{"k": 9}])
    sides.theirs = sides.world.alter(before, schema=sides.theirs.schema)
    sides.theirs = sides.update(sides.theirs, 1, b="theirs")
    assert [row["n"] for row in sides.rows(sides.merged())] == [2, 1, 1, 2]


def test_a_type_that_only_spark_has_is_not_written_again_without_it() -> None:
    ours, theirs = (
        both(add("n", "int", initial=str(n)), add("v", "variant"), drop("b")) for n in (1, 2)
    )
    sides = Sides(ours, theirs, "skip")
    before = sides.world.append(sides.base, [{"k": 9}])
    sides.theirs = sides.world.alter(before, schema=sides.theirs.schema)
    with pytest.raises(UnsupportedError, match="Use a connection that has Spark"):
        sides.merged()


def test_rows_changed_after_dropping_a_column_that_stays_are_a_conflict() -> None:
    sides = Sides(drop("a"), rename("a", "z"), "accept")
    sides.ours = sides.update(sides.ours, 1, b="ours")
    with pytest.raises(MisfitError, match="ours dropped z and then wrote rows of the base again"):
        sides.merged()


def test_sides_that_drop_all_but_what_partitions_conflict() -> None:
    world = World()
    base = world.create(BASE, [{"k": 1, "a": 2, "b": "x"}], partition_by=("k",))
    ours = world.alter(base, schema=drop("a")(base.schema))
    theirs = world.alter(base, schema=drop("b")(base.schema))
    with pytest.raises(SchemaConflictError, match="drop of all columns but those that partition"):
        merge(world.repository, base, ours, theirs, policy=policy_of(mode="accept"))


def test_other_keys_on_both_sides_conflict() -> None:
    sides = Sides(same, same)
    sides.ours = sides.world.alter(sides.ours, primary_key=("a",))
    sides.theirs = sides.world.alter(sides.theirs, primary_key=("b",))
    with pytest.raises(SchemaConflictError, match="primary_key: k in the base, a in ours, b in"):
        sides.merged()


def test_conflicts_name_renamed_columns_and_never_their_ids() -> None:
    sides = Sides(same, rename("b", "theirs"))
    sides.ours = sides.world.alter(
        sides.ours, schema=rename("k", "key")(sides.ours.schema), primary_key=("k", "a")
    )
    sides.theirs = sides.world.alter(sides.theirs, primary_key=("k", "b"))
    told = "primary_key: key in the base, key, a in ours, key, b in theirs"
    with pytest.raises(SchemaConflictError, match=told):
        sides.merged()


def test_properties_and_comments_merge_one_by_one() -> None:
    sides = Sides(same, same)
    sides.ours = sides.world.alter(sides.ours, properties={"p": "1"}, comment="ours")
    sides.theirs = sides.world.alter(sides.theirs, properties={"q": "2"})
    merged = sides.merged()
    assert (merged.properties, merged.comment) == ({"p": "1", "q": "2"}, "ours")


def changed(sides: Sides) -> list[tuple[str, str, str | None, str | None]]:
    return [tuple(item) for item in column_changes(sides.base, sides.theirs)]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (add("n", "int"), [("added", "n", None, "int")]),
        (drop("a"), [("dropped", "a", "int", None)]),
        (rename("a", "z"), [("renamed", "z", "a", "z")]),
        (put("a", type="bigint"), [("retyped", "a", "int", "bigint")]),
        (put("a", nullable=False), [("nullable", "a", "yes", "no")]),
        (put("a", comment="c"), [("comment", "a", None, "c")]),
        (put("a", default="1"), [("default", "a", None, "1")]),
        (order("k", "b", "a"), [("moved", "b", "3", "2"), ("moved", "a", "2", "3")]),
        (
            both(drop("a"), add("n", "int")),
            [("added", "n", None, "int"), ("dropped", "a", "int", None)],
        ),
    ],
)
def test_a_diff_tells_how_columns_differ(change: Change, expected: list[Any]) -> None:
    sides = Sides(same, change)
    assert changed(sides) == expected
    assert diff(sides.world.repository, sides.base, sides.theirs).counts == (0, 0, 0)


def test_a_new_column_reads_as_null_before_it_was_there() -> None:
    sides = Sides(same, add("n", "int"))
    sides.theirs = sides.update(sides.theirs, 1, n=5)
    (change,) = diff(sides.world.repository, sides.base, sides.theirs).wide().to_pylist()
    assert (change["diff_type"], change["from_n"], change["to_n"]) == ("modified", None, 5)


def test_a_dropped_column_makes_no_row_differ() -> None:
    sides = Sides(same, drop("b"))
    paths = [block.path for block in sides.world.blocks(sides.theirs)]
    sides.theirs = sides.world.compact(sides.theirs, paths, derive=False)
    found = diff(sides.world.repository, sides.base, sides.theirs)
    assert found.counts == (0, 0, 0)
    sides.theirs = sides.update(sides.theirs, 1, a=11)
    (change,) = diff(sides.world.repository, sides.base, sides.theirs).wide().to_pylist()
    assert (change["from_a"], change["to_a"]) == (10, 11)
    assert (change["from_b"], change["to_b"]) == ("x", None)


def test_a_dropped_and_a_new_column_of_one_name_stand_side_by_side() -> None:
    sides = Sides(same, both(drop("b"), add("b", "string")))
    sides.theirs = sides.update(sides.theirs, 1, b__2="new")
    (change,) = diff(sides.world.repository, sides.base, sides.theirs).wide().to_pylist()
    assert (change["to_b"], change["from_b"], change["from_b__before"]) == ("new", None, "x")


def test_types_that_nothing_holds_both_of_are_not_compared() -> None:
    sides = Sides(same, put("a", type="string"))
    with pytest.raises(UnsupportedError, match="was int and is string"):
        diff(sides.world.repository, sides.base, sides.theirs)
    some = Difference(
        repository=sides.world.repository,
        before=sides.base,
        after=sides.theirs,
        columns=("k", "b"),
    )
    assert some.in_process().counts == (0, 0, 0)


def test_a_diff_of_some_columns() -> None:
    sides = Sides(same, same)
    sides.theirs = sides.update(sides.theirs, 1, a=11)
    sides.theirs = sides.update(sides.theirs, 2, b="new")
    found = Difference(
        repository=sides.world.repository, before=sides.base, after=sides.theirs, columns=("B",)
    )
    assert found.table().to_pylist() == [
        {"diff_type": "modified", "from_k": 2, "to_k": 2, "from_b": "y", "to_b": "new"}
    ]
    with pytest.raises(InputError, match="There is no column 'z'"):
        replace(found, columns=("z",)).in_process()


def test_decimals_are_equal_by_value_at_the_wider_scale() -> None:
    world = World()
    narrow = Schema.of([Field(id="", name="d", type="decimal(4,1)")])
    base = world.create(narrow, [{"d": Decimal("1.5")}])
    wide = put("d", type="decimal(8,3)")(narrow)
    theirs = world.alter(base, schema=wide)
    paths = [block.path for block in world.blocks(theirs)]
    theirs = world.compact(theirs, paths, derive=False)
    assert diff(world.repository, base, theirs).counts == (0, 0, 0)
