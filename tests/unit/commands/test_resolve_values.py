"""Choices for conflicts stay chosen, and values given by hand are those that land."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.commands.conflicts import list_conflicts
from dbt.adapters.vcs.commands.merge import continue_merge, merge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
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
from dbt.adapters.vcs.project.operations import Caller, prepare_operation
from dbt.adapters.vcs.table.files.parquet import arrow_schema
from tests.unit.warehouse import START, Warehouse

Row = tuple[int, str, str | None, str]
"""id, credit, note, name"""


def schema(note: str) -> Schema:
    return Schema.of(
        [
            Field(id="", name="id", type="bigint", nullable=False),
            Field(id="", name="credit", type="decimal(9,2)"),
            Field(id="", name=note, type="varchar(7)"),
            Field(id="", name="name", type="string", nullable=False),
        ]
    )


BASE: list[Row] = [(n, "1.00", "old", f"n{n}") for n in range(6)]


def table(
    warehouse: Warehouse, rows: list[Row], *, keyed: bool = True, note: str = "note"
) -> Entry:
    """A table of one block; its third column can have another name."""
    columns = schema(note)
    data = [
        {"id": id, "credit": Decimal(credit), note: text, "name": name}
        for id, credit, text, name in rows
    ]
    names = {field.name: field.id for field in columns.fields}
    by_id = [{names[name]: value for name, value in row.items()} for row in data]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(by_id, arrow_schema(columns)), sink)
    path = f"data/c/w=x{abs(hash(repr((rows, note))))}/1.parquet"
    if not any(blob.path == path for blob in warehouse.blobs.walk("data/c")):
        warehouse.blobs.create(path, sink.getvalue().to_pybytes())
    block = Block(path=path, rows=len(rows), bytes=100)
    segment = SegmentId(warehouse.repository.objects.put(Segment(blocks=(block,))))
    snapshot = Snapshot(
        table=TableId("c"),
        schema=columns,
        segments=(SegmentRef(id=segment, blocks=1, rows=len(rows), bytes=100),),
        created_at=Micros(START),
        operation="append",
        primary_key=(names["id"],) if keyed else (),
    )
    return TableEntry(snapshot=SnapshotId(warehouse.repository.objects.put(snapshot)))


def changed(rows: list[Row], **changes: Row | None) -> list[Row]:
    """Rows with others in their places: `r2=None` deletes the row 2."""
    found: dict[int, Row] = {row[0]: row for row in rows}
    for name, row in changes.items():
        id = int(name[1:])
        found.pop(id, None)
        if row is not None:
            found[id] = row
    return [found[id] for id in sorted(found)]


OURS = changed(
    BASE,
    r1=(1, "2.00", "old", "n1"),
    r2=(2, "2.00", "ours", "n2"),
    r3=(3, "2.00", "old", "ours"),
    r4=None,
    r7=(7, "7.00", "same", "ours"),
)
THEIRS = changed(
    BASE,
    r1=(1, "3.00", "old", "n1"),
    r2=(2, "3.00", "their", "n2"),
    r3=(3, "3.00", "their", "n3"),
    r4=(4, "3.00", "old", "n4"),
    r7=(7, "8.00", "same", "their"),
)


@pytest.fixture
def forked(warehouse: Warehouse) -> Warehouse:
    warehouse.put(a=table(warehouse, BASE), b="1")
    warehouse.branch("dev")
    warehouse.put("dev", a=table(warehouse, THEIRS), b="2")
    warehouse.put(a=table(warehouse, OURS), b="3")
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    return warehouse


def choose(
    warehouse: Warehouse,
    relation: str | None,
    choice: str | None = None,
    key: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
    *,
    again: bool = False,
) -> int:
    chosen = RowChoice(
        choice=None if choice is None else Choice.of(choice),
        key=key or {},
        values=values or {},
        again=again,
    )
    return resolve(warehouse.repository, "main", relation, chosen, author="ann").count


def rows(warehouse: Warehouse, name: str = "a") -> dict[int, tuple[str, str | None, str]]:
    return {
        row["id"]: (str(row["credit"]), row["note"], row["name"]) for row in warehouse.rows(name)
    }


def shown(warehouse: Warehouse, id: int) -> dict[str, Any]:
    report = list_conflicts(warehouse.repository, "main", "shop.a", limit=99)
    (row,) = [row for row in report.rows if id in (row["our_id"], row["their_id"])]
    return {
        name.removeprefix("result_"): row[name]
        for name in ("resolution", "result_credit", "result_note", "result_name")
    }


def test_all_means_those_that_are_left(forked: Warehouse) -> None:
    assert choose(forked, "shop.a", "theirs", {"id": "1"}) == 1
    assert choose(forked, "shop.a", None, {"id": "2"}, {"credit": "9", "note": "mine"}) == 1
    assert choose(forked, None, "ours") == 13
    continue_merge(forked.repository, "main", author="ann")
    assert rows(forked) == {
        0: ("1.00", "old", "n0"),
        1: ("3.00", "old", "n1"),
        2: ("9.00", "mine", "n2"),
        3: ("2.00", "old", "ours"),
        5: ("1.00", "old", "n5"),
        7: ("7.00", "same", "ours"),
    }
    assert {row["v"] for row in forked.rows("b")} == {"3"}


def test_a_relation_without_a_key_means_what_is_left_of_it(forked: Warehouse) -> None:
    choose(forked, "shop.a", "theirs", {"id": "1"})
    assert choose(forked, "shop.a", "ours") == 4
    with pytest.raises(InputError, match=r"already resolved.*--again"):
        choose(forked, "shop.a", "base")
    assert shown(forked, 1)["resolution"] == "theirs"
    assert choose(forked, "shop.a", "base", again=True) == 5
    assert shown(forked, 1)["resolution"] == "base"


def test_what_is_shown_is_what_lands(forked: Warehouse) -> None:
    choose(forked, "shop.b", "ours")
    choose(forked, "shop.a", "theirs", {"id": "1"})
    choose(forked, "shop.a", "ours", {"id": "2"}, {"note": pa.scalar(None)})
    choose(forked, "shop.a", None, {"id": "3"}, {"credit": "2.50"})
    choose(forked, "shop.a", None, {"id": "4"}, {"note": "kept"})
    choose(forked, "shop.a", "base", {"id": "7"})
    wanted = {
        1: {"resolution": "theirs", "credit": Decimal("3.00"), "note": "old", "name": "n1"},
        2: {"resolution": "custom", "credit": Decimal("2.00"), "note": None, "name": "n2"},
        # Only theirs changed the note, only ours the name.
        3: {"resolution": "custom", "credit": Decimal("2.50"), "note": "their", "name": "ours"},
        # Ours deleted the row: what theirs has is what there is.
        4: {"resolution": "custom", "credit": Decimal("3.00"), "note": "kept", "name": "n4"},
        7: {"resolution": "base", "credit": None, "note": None, "name": None},
    }
    assert {id: shown(forked, id) for id in wanted} == wanted
    continue_merge(forked.repository, "main", author="ann")
    found = rows(forked)
    assert found.pop(0) == (*found.pop(5)[:2], "n0")
    assert found == {
        id: (str(row["credit"]), row["note"], row["name"])
        for id, row in wanted.items()
        if row["name"] is not None
    }


def test_a_value_is_changed_again_on_top_of_the_row_that_was_chosen(forked: Warehouse) -> None:
    choose(forked, "shop.a", "theirs", {"id": "2"})
    choose(forked, "shop.a", None, {"id": "2"}, {"credit": "4"})
    choose(forked, "shop.a", None, {"id": "2"}, {"NAME": "x"})
    assert shown(forked, 2) == {
        "resolution": "custom",
        "credit": Decimal("4.00"),
        "note": "their",
        "name": "x",
    }
    choose(forked, "shop.a", "delete", {"id": "2"})
    assert set(shown(forked, 2).values()) == {"delete", None}


@pytest.mark.parametrize(
    ("key", "values", "choice", "error", "words"),
    [
        ({"id": "2"}, {"credit": "9"}, None, InputError, "Both sides changed note"),
        ({"id": "7"}, {"credit": "9"}, None, InputError, "Both sides changed name"),
        ({"id": "1"}, {"credit": "1.505"}, None, InputError, r"'1.505' is not a value.*credit"),
        ({"id": "1"}, {"note": "too long"}, None, InputError, "at most 7 characters"),
        (
            {"id": "1"},
            {"name": pa.scalar(None)},
            "ours",
            InputError,
            "name of shop.a can't be NULL",
        ),
        ({"id": "1"}, {"id": "8"}, None, InputError, "in the primary key"),
        ({"id": "1"}, {"x": "8"}, None, InputError, "credit, note, name"),
        ({"id": "4"}, {"note": "x"}, "ours", InputError, "start from in ours"),
        ({"id": "7"}, {"note": "x"}, "base", InputError, "start from in base"),
        ({"id": "1"}, {"note": "x"}, "delete", InputError, "delete can't be combined with values"),
        ({"id": "1"}, {"note": "x"}, "custom", InputError, "expected one of ours"),
        ({"id": "1"}, {}, "custom", InputError, "--set column=value"),
        ({"id": "1"}, {}, None, InputError, "Give a choice"),
        ({}, {"note": "x"}, None, InputError, "need the key"),
        ({"id": "1.5"}, {"note": "x"}, None, InputError, "'1.5' is not a value of the column id"),
        ({"id": "99"}, {"note": "x"}, None, NotFoundError, "has the key id=99"),
    ],
)
def test_what_can_not_be_chosen_changes_nothing(
    forked: Warehouse,
    key: dict[str, Any],
    values: dict[str, Any],
    choice: str | None,
    error: type[Exception],
    words: str,
) -> None:
    before = forked.head("merges/main")
    with pytest.raises(error, match=words):
        choose(forked, "shop.a", choice, key, values)
    assert forked.head("merges/main") == before


def test_values_of_a_table_without_a_key_are_refused(warehouse: Warehouse) -> None:
    warehouse.put(a=table(warehouse, BASE[:2], keyed=False))
    warehouse.branch("dev")
    warehouse.put("dev", a=table(warehouse, BASE[:1] * 3 + BASE[1:2], keyed=False))
    warehouse.put(a=table(warehouse, BASE[1:2], keyed=False))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    with pytest.raises(InputError, match="no primary key"):
        choose(warehouse, "shop.a", None, {"id": "0"}, {"note": "x"})
    choose(warehouse, "shop.a", "theirs")
    continue_merge(warehouse.repository, "main", author="ann")
    assert len(warehouse.rows("a")) == 4


def test_choices_stay_when_new_conflicts_come_up(forked: Warehouse) -> None:
    choose(forked, "shop.a", None, {"id": "1"}, {"credit": "5"})
    choose(forked, None, "theirs")
    forked.put(a=table(forked, changed(OURS, r0=(0, "9.00", "old", "n0"))))
    forked.put("dev", c="1")
    # Not new for the commit that is merged.
    continue_merge(forked.repository, "main", author="ann")
    assert rows(forked)[1] == ("5.00", "old", "n1")


def test_only_what_is_new_has_to_be_chosen_for(warehouse: Warehouse) -> None:
    theirs = changed(THEIRS, r0=(0, "3.00", "old", "n0"))
    warehouse.put(a=table(warehouse, BASE))
    warehouse.branch("dev")
    warehouse.put("dev", a=table(warehouse, theirs))
    warehouse.put(a=table(warehouse, OURS))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    choose(warehouse, "shop.a", None, {"id": "1"}, {"credit": "5"})
    choose(warehouse, None, "theirs")
    warehouse.put(a=table(warehouse, changed(OURS, r0=(0, "9.00", "old", "n0"))))
    with pytest.raises(ConflictError, match=r"1 row changed differently"):
        continue_merge(warehouse.repository, "main", author="ann")
    (found,) = list_conflicts(warehouse.repository, "main").relations
    assert (found.conflicts, found.resolved) == (6, 5)
    assert choose(warehouse, None, "ours") == 1
    continue_merge(warehouse.repository, "main", author="ann")
    assert rows(warehouse) == {
        0: ("9.00", "old", "n0"),
        1: ("5.00", "old", "n1"),
        2: ("3.00", "their", "n2"),
        3: ("3.00", "their", "n3"),
        4: ("3.00", "old", "n4"),
        5: ("1.00", "old", "n5"),
        7: ("8.00", "same", "their"),
    }


def test_beginning_the_same_merge_again_keeps_what_was_chosen(forked: Warehouse) -> None:
    choose(forked, "shop.a", None, {"id": "1"}, {"credit": "5"})
    choose(forked, "shop.b", "ours")
    with pytest.raises(ConflictError):
        merge(forked.repository, "dev", "main", author="ann")
    assert shown(forked, 1)["credit"] == Decimal("5.00")
    assert choose(forked, None, "ours") == 4


def test_values_for_a_row_that_is_in_conflict_no_more_are_not_dropped(forked: Warehouse) -> None:
    choose(forked, "shop.a", None, {"id": "1"}, {"credit": "5"})
    choose(forked, None, "ours")
    forked.put(a=table(forked, BASE))
    head = forked.head()
    with pytest.raises(ConflictError, match=r"Values were chosen for .* any more"):
        continue_merge(forked.repository, "main", author="ann")
    assert forked.head() == head


def test_the_operation_takes_values_as_yaml_has_them(forked: Warehouse) -> None:
    caller = Caller(repository=forked.repository, author="ann", branch="main")
    values = {"credit": 11.5, "note": None}
    prepare_operation(caller, "resolve", {"relation": "shop.a", "key": {"id": 1}, "set": values})()
    assert shown(forked, 1) == {
        "resolution": "custom",
        "credit": Decimal("11.50"),
        "note": None,
        "name": "n1",
    }
    for given in ({"credit": 11.505}, {"note": True}, {"note": 1.5}, {"note": [1]}):
        with pytest.raises(InputError, match=r"not a value|in quotes"):
            prepare_operation(
                caller, "resolve", {"relation": "shop.a", "key": {"id": 1}, "set": given}
            )()


@pytest.mark.parametrize("now", [(1, "7.00", "old", "n1"), None])
def test_a_row_that_was_changed_since_it_was_decided_is_a_conflict_again(
    forked: Warehouse, now: Row | None
) -> None:
    choose(forked, "shop.a", None, {"id": "1"}, {"credit": "5"})
    choose(forked, "shop.a", None, {"id": "3"}, {"credit": "6"})
    choose(forked, None, "ours")
    forked.put(a=table(forked, changed(OURS, r1=now)))
    head = forked.head()
    with pytest.raises(ConflictError, match=r"1 row changed differently"):
        continue_merge(forked.repository, "main", author="ann")
    assert forked.head() == head
    found = list_conflicts(forked.repository, "main").relations
    assert [(item.conflicts, item.resolved) for item in found] == [(5, 4), (10, 10)]
    assert shown(forked, 1)["resolution"] is None
    choose(forked, None, "theirs")
    continue_merge(forked.repository, "main", author="ann")
    assert (rows(forked)[1][0], rows(forked)[3][0]) == ("3.00", "6.00")


@pytest.mark.parametrize("column", ["diff_type", "diff_count", "Diff_Type", "resolution"])
def test_columns_called_as_those_of_conflicts_are_told_from_them(
    warehouse: Warehouse, column: str
) -> None:
    def put(branch: str, text: str) -> None:
        entry = table(warehouse, [(1, "1.00", text, "n")], note=column)
        warehouse.put(branch, a=entry)

    put("main", "old")
    warehouse.branch("dev")
    put("dev", "added")
    put("main", "removed")
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    (row,) = list_conflicts(warehouse.repository, "main", "shop.a").rows
    assert next(iter(row.values())) == "modified"
    assert len({name.lower() for name in row}) == len(row) == 2 + 3 * 4 + 3 + 1
    choose(warehouse, "shop.a", None, {"id": "1"}, {column: "mine"})
    continue_merge(warehouse.repository, "main", author="ann")
    assert {row[column] for row in warehouse.rows("a")} == {"mine"}
