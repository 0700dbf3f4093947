"""Merging branches whose tables were defined differently, mostly without Java."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode, Policy
from dbt.adapters.vcs.commands.merge import MergeRequest, continue_merge, merge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.core.errors import ConflictError

KEY = "alter table t set tblproperties (primary_key = 'id')"


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Client]:
    with connect(str(tmp_path / "w"), create=True) as client:
        client.sql("create schema if not exists analytics")
        client.write("t", ints(id=[1, 2], a=[1, 2], z=[1, 2]))
        yield client


def ints(**columns: list[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def rows(client: Client) -> list[dict[str, Any]]:
    return sorted(client.table("t").to_arrow().to_pylist(), key=str)


def ids(client: Client) -> list[int]:
    return sorted(row["id"] for row in client.table("t").to_arrow().to_pylist())


def forked(main: Client, ours: list[str], theirs: list[str]) -> tuple[Client, Client]:
    """Return two branches that each added a row, and then changed the table's definition."""
    left, right = main.create("ours"), main.create("theirs")
    for client, id, statements in ((left, 3, ours), (right, 4, theirs)):
        client.write("t", ints(id=[id], a=[id], z=[id]))
        for statement in statements:
            client.sql(statement)
    return left, right


DEFINITIONS = {
    "types": ("alter table t add column n int", "alter table t add column n string"),
    "names": ("alter table t rename column a to b", "alter table t rename column a to c"),
    "dropped": ("alter table t drop column a", "alter table t rename column a to c"),
    "one_name": ("alter table t rename column a to c", "alter table t rename column z to c"),
    "key": (KEY, "alter table t set tblproperties (primary_key = 'id,a')"),
}


@pytest.mark.parametrize("mode", ["skip", "accept", "cell_skip", "cell_accept"])
@pytest.mark.parametrize("case", DEFINITIONS.values(), ids=DEFINITIONS)
def test_a_mode_that_decides_about_columns_keeps_the_rows_of_both(
    main: Client, case: tuple[str, str], mode: str
) -> None:
    left, _ = forked(main, [case[0]], [case[1]])
    assert left.merge("theirs", on_conflict=mode).how == "merge"
    assert ids(left) == [1, 2, 3, 4]


def test_a_value_that_the_deciding_sides_type_lacks_is_a_conflict(main: Client) -> None:
    left, right = forked(
        main, ["alter table t add column n int"], ["alter table t add column n string"]
    )
    right.write("t", pa.table({"id": pa.array([5], pa.int32()), "n": ["x"]}))
    with pytest.raises(ConflictError, match=r"column n \(string\) .* int.*n = 'x' where id = 5"):
        left.merge("theirs", on_conflict="skip")
    assert ids(left) == [1, 2, 3]
    assert left.merge("theirs", on_conflict="accept").how == "merge"
    assert ids(left) == [1, 2, 3, 4, 5]


def test_columns_then_rows_are_resolved_by_hand(main: Client) -> None:
    main.sql(KEY)
    left, right = forked(
        main, ["alter table t rename column a to b"], ["alter table t rename column a to c"]
    )
    left.write("t", ints(id=[1], z=[10]), mode="merge")
    right.write("t", ints(id=[1], z=[20]), mode="merge")
    with pytest.raises(ConflictError, match="name of b"):
        left.merge("theirs")
    repository, ours = left.repository, RowChoice(choice=Choice.OURS)
    resolve(repository, "ours", "analytics.t", ours, author="ann")
    with pytest.raises(ConflictError, match="1 row changed differently"):
        continue_merge(repository, "ours", author="ann")
    theirs = RowChoice(choice=Choice.THEIRS)
    resolve(repository, "ours", "analytics.t", theirs, author="ann")
    continue_merge(repository, "ours", author="ann")
    assert list(rows(left)[0]) == ["id", "b", "z"]
    assert sorted((row["id"], row["z"]) for row in rows(left)) == [(1, 20), (2, 2), (3, 3), (4, 4)]


def test_an_edit_of_a_column_that_the_other_side_dropped_is_decided_by_mode_or_hand(
    main: Client,
) -> None:
    main.sql(KEY)
    left, right = main.create("ours"), main.create("theirs")
    left.write("t", ints(id=[1], a=[10]), mode="merge")
    right.sql("alter table t drop column a")
    main.create("edits", at="ours")
    repository, said = (
        left.repository,
        r"drop of a: .* with other values in ours, .* \(1 row: id = 1\)",
    )
    dry = merge(repository, "theirs", "ours", author="ann", request=MergeRequest(dry_run=True))
    assert dry.how == "conflict"
    assert re.search(said, dry.conflicts[0])
    with pytest.raises(ConflictError, match=said):
        left.merge("theirs")
    resolve(repository, "ours", "analytics.t", RowChoice(choice=Choice.OURS), author="ann")
    continue_merge(repository, "ours", author="ann")
    assert rows(left)[0] == {"id": 1, "a": 10, "z": 1}
    # The other way round, with a mode.
    other = main.create("other", at="theirs")
    with pytest.raises(ConflictError, match="nothing in ours, a int with other values in theirs"):
        other.merge("edits")
    other.merge("edits", on_conflict="skip")
    assert list(rows(other)[0]) == ["id", "z"]


def test_edits_of_a_dropped_column_are_counted_and_a_few_are_named(main: Client) -> None:
    main.write("t", ints(id=list(range(3, 9)), a=[0] * 6, z=[0] * 6))
    plain = main.create("plain")
    plain.create("other").sql("alter table t drop column a")
    plain.write("t", ints(id=list(range(1, 9)), a=[7] * 8, z=[1, 2, *[0] * 6]), mode="overwrite")
    with pytest.raises(ConflictError, match=r"nothing in theirs \(8 rows\)"):
        plain.merge("other")
    main.sql(KEY)
    main.create("theirs").sql("alter table t drop column a")
    main.write("t", ints(id=[8, 5, 6, 7], a=[9] * 4), mode="merge")
    with pytest.raises(ConflictError, match=r"\(4 rows: id = 5; id = 6; id = 7; and 1 more\)"):
        main.merge("theirs")


def test_new_rows_with_a_column_that_the_other_side_replaced_are_a_conflict(main: Client) -> None:
    main.sql("alter table t drop column z")
    left, right = main.create("ours"), main.create("theirs")
    left.write("t", ints(id=[3], a=[3]))
    right.sql("alter table t drop column a")
    dropped = right.create("dropped")
    right.sql("alter table t add column a string")
    for ours, theirs in ((left, "theirs"), (right, "ours")):
        with pytest.raises(
            ConflictError, match=r"drop of a: .* a int with other values in.* \(1 row\)"
        ):
            ours.merge(theirs)
    # Nothing has the name where it was only dropped: the row has no value to lose.
    dropped.merge("ours")
    assert rows(dropped) == [{"id": 1}, {"id": 2}, {"id": 3}]
    right.merge("ours", on_conflict="skip")
    assert [row["a"] for row in rows(right)] == [None, None, None]


@pytest.mark.parametrize("keyed", ["ours", "theirs"])
def test_a_key_of_one_side_tells_which_rows_were_edited(main: Client, keyed: str) -> None:
    left, right = main.create("ours"), main.create("theirs")
    (left if keyed == "ours" else right).sql(KEY)
    left.sql("alter table t drop column a")
    right.write("t", ints(id=[2, 1], a=[2, 9], z=[2, 9]), mode="overwrite")
    with pytest.raises(ConflictError, match="nothing in ours, a int with other values in theirs"):
        left.merge("theirs")


@pytest.mark.spark
@pytest.mark.parametrize("key", [KEY, ""], ids=["key", "no_key"])
def test_rows_without_a_value_for_a_column_are_not_picked(main: Client, key: str) -> None:
    if key:
        main.sql(key)
    other = main.create("other")
    other.sql("alter table t drop column a")
    other.write("t", ints(id=[1], z=[10]), mode="merge" if key else "append")
    before = rows(main)
    with pytest.raises(ConflictError, match="drop of a: a in the base, a in ours, nothing in th"):
        main.sql("snapshot pick table t from t{snapshot='other'} where id = 1")
    assert rows(main) == before


def test_a_merge_names_the_relations_that_a_diff_shows(main: Client) -> None:
    main.sql(KEY)
    main.write("u", ints(id=[1]))
    other = main.create("other")
    for value in (9, 1):
        other.write("t", ints(id=[1], a=[value]), mode="merge")
    other.sql("alter table u set tblproperties (x = 'y')")
    main.write("v", ints(id=[1]))
    report = main.merge("other")
    assert [str(change) for change in report.changes] == [
        "  changed  table  analytics.u  +0 -0 ~0  (definition)"
    ]


OFF = "alter table t set tblproperties (primary_key = 'id', 'vcs.enforce_primary_key' = 'false')"
ON = "alter table t unset tblproperties ('vcs.enforce_primary_key')"
WIDE = "alter table t set tblproperties (primary_key = 'id, a')"
Broken: TypeAlias = tuple[str, str, dict[str, list[int | None]], str]
"""Before the branches, on one of them, rows of the other, and what the conflict says."""
BROKEN: dict[str, Broken] = {
    "key_and_a_copy": ("", KEY, {"id": [1], "a": [9]}, r"\(id\) that other rows .* have: 1"),
    "key_and_null": ("", KEY, {"id": [None], "a": [9]}, r"NULL in the primary key \(id\)"),
    "key_and_two": ("", KEY, {"id": [7, 7], "a": [8, 9]}, r"same primary key \(id\): 7"),
    "check_turned_on": (OFF, ON, {"id": [7, 7], "a": [8, 9]}, r"same primary key \(id\): 7"),
    "key_narrowed": (WIDE, KEY, {"id": [1], "a": [9]}, r"\(id\) that other rows .* have: 1"),
    "not_null": (
        "",
        "alter table t alter column z set not null",
        {"id": [8], "a": [9], "z": [None]},
        r"declares z NOT NULL .* NULL in 1 row of the other side, such as \(id: 8",
    ),
    "check": (
        "",
        "alter table t add constraint low check (a < 5)",
        {"id": [8], "a": [9]},
        r"declares what rows break: The check constraint low \(a < 5\) .* is false for",
    ),
}


@pytest.mark.parametrize("is_declared_by_ours", [True, False], ids=["ours", "theirs"])
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=[pytest.mark.spark] if name == "check" else [])
        for name, case in BROKEN.items()
    ],
)
def test_rows_meet_what_the_other_side_declares(
    main: Client,
    case: tuple[str, str, dict[str, list[int | None]], str],
    is_declared_by_ours: bool,
) -> None:
    before, declared, new, said = case
    if before:
        main.sql(before)
    left, right = main.create("ours"), main.create("theirs")
    strict, other = (left, right) if is_declared_by_ours else (right, left)
    strict.sql(declared)
    other.write("t", ints(**new))
    kept = rows(left)
    side = "Ours" if is_declared_by_ours else "Theirs"
    for dry_run in (True, False):
        request = MergeRequest(policy=Policy(override=Mode.ACCEPT), dry_run=dry_run)
        if dry_run:
            told = "; ".join(
                merge(left.repository, "theirs", "ours", request, author="ann").conflicts
            )
            assert re.search(f"analytics.t: {side} .*{said}", told), told
        else:
            with pytest.raises(ConflictError, match=f"analytics.t: {side} .*{said}"):
                merge(left.repository, "theirs", "ours", request, author="ann")
    assert rows(left) == kept


def test_rows_that_keep_the_key_of_the_other_side_are_merged(main: Client) -> None:
    left, right = main.create("ours"), main.create("theirs")
    left.sql(KEY)
    right.write("t", ints(id=[3], a=[9]))
    left.merge("theirs")
    assert ids(left) == [1, 2, 3]


def test_a_clone_without_the_key_is_merged_by_it(main: Client) -> None:
    main.sql("create table s clone t")
    main.sql(KEY)
    main.write("s", ints(id=[1, 3], a=[9, 3]))
    with pytest.raises(ConflictError, match=r"Ours declares a primary key .* have: 1"):
        main.sql("snapshot merge table t from s")
    assert ids(main) == [1, 2]


def test_a_revert_meets_the_key_that_it_brings_back(main: Client) -> None:
    main.sql(KEY)
    main.sql("alter table t unset tblproperties (primary_key)")
    commit = main.log(1)[0].id
    main.write("t", ints(id=[1], a=[9]))
    with pytest.raises(ConflictError, match=r"Theirs declares a primary key .* have: 1"):
        revert(main.repository, commit, branch="main", author="ann")
    assert ids(main) == [1, 1, 2]


@pytest.mark.parametrize("mode", list(Mode))
def test_a_column_that_both_add_in_another_case_is_one(main: Client, mode: Mode) -> None:
    main.sql(KEY)
    left, right = forked(
        main, ["alter table t add column W int"], ["alter table t add column w int"]
    )
    left.write("t", ints(id=[5, 1], a=[5, 1], z=[5, 1], W=[5, 10]), mode="merge")
    right.write("t", ints(id=[6, 2], a=[6, 2], z=[6, 2], w=[6, 20]), mode="merge")
    assert left.merge("theirs", on_conflict=mode.value).how == "merge"
    table = left.table("t").to_arrow()
    assert table.column_names == ["id", "a", "z", "W"]
    found = {row["id"]: row["W"] for row in table.to_pylist()}
    assert found == {1: 10, 2: 20, 3: None, 4: None, 5: 5, 6: 6}
    left.write("t", ints(id=[7], a=[7], z=[7], w=[7]))
    assert left.table("t").count() == 7
