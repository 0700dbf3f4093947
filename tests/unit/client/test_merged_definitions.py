"""Merging branches whose tables were defined differently, by a client without Java."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.merges.conflicts.decisions import RowChoice
from dbt.adapters.vcs.merges.rowwise.choice import Choice
from dbt.adapters.vcs.verbs.changing.resolve import continue_merge, resolve

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
