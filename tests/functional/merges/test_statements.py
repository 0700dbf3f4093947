"""`snapshot merge` and `snapshot pick` as the paper writes them, against the rows they leave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from tests.functional.life.shop import SPARK

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("merges")
    with connect(str(folder / "warehouse"), create=True, spark=SPARK) as client:
        client.sql("create schema analytics")
        yield client


@pytest.fixture
def forked(client: Client) -> Client:
    """A table t with a key, and a clone c of it; both were changed since."""
    for name in ("c", "t", "other"):
        client.sql(f"drop table if exists {name}")
    client.sql(
        "create table t tblproperties ('primary_key' = 'id') as "
        "select id, cast(id * 10 as int) as v, 'x' as w from range(6)"
    )
    client.sql("create table c clone t")
    client.sql("update t set v = 1 where id in (1, 2)")
    client.sql("update c set v = 2 where id in (2, 3)")
    client.sql("delete from c where id = 4")
    client.sql("insert into c values (9, 90, 'new')")
    return client


def rows(client: Client, table: str = "t") -> dict[int, int]:
    return {row["id"]: row["v"] for row in client.sql(f"select id, v from {table}").to_pylist()}


def answer(client: Client, text: str) -> dict[str, Any]:
    (row,) = client.sql(text).to_pylist()
    return row


def test_a_conflict_changes_nothing_and_shows_the_rows(forked: Client) -> None:
    before = rows(forked)
    with pytest.raises(ConflictError, match=r"1 row changed differently.*when conflict skip"):
        forked.sql("snapshot merge table t from c")
    assert rows(forked) == before


@pytest.mark.parametrize(("mode", "value"), [("skip", 1), ("accept", 2)])
def test_a_mode_decides(forked: Client, mode: str, value: int) -> None:
    told = answer(forked, f"snapshot merge table t from c when conflict {mode}")
    assert rows(forked) == {0: 0, 1: 1, 2: value, 3: 2, 5: 50, 9: 90}
    assert told == {
        "relation": "analytics.t",
        "mode": mode,
        "how": "rewrite",
        "added": 1,
        "removed": 1,
        "modified": 1 + (mode == "accept"),
        "conflicts": 1,
    }
    again = answer(forked, f"snapshot merge table t from c when conflict {mode}")
    assert (again["how"], again["added"], again["removed"]) == ("up_to_date", 0, 0)


@pytest.mark.parametrize(("mode", "value"), [("cell_skip", 1), ("cell_accept", 2)])
def test_cells_are_merged_column_by_column(forked: Client, mode: str, value: int) -> None:
    forked.sql("update t set w = 'ours' where id = 3")
    with pytest.raises(ConflictError, match="1 row changed differently"):
        forked.sql("snapshot merge table t from c when conflict cell")
    answer(forked, f"snapshot merge table t from c when conflict {mode}")
    found = forked.sql("select v, w from t where id in (2, 3) order by id").to_pylist()
    assert found == [{"v": value, "w": "x"}, {"v": 2, "w": "ours"}]


def test_a_dry_run_foretells(forked: Client) -> None:
    before = rows(forked)
    told = answer(forked, "snapshot merge table t from c when conflict skip dry run")
    assert (told["added"], told["removed"], told["modified"]) == (1, 1, 1)
    assert answer(forked, "snapshot merge table t from c dry run")["conflicts"] == 1
    assert rows(forked) == before


def test_a_base_can_be_named(forked: Client) -> None:
    forked.sql("create snapshot now for table c")
    told = answer(forked, "snapshot merge table t from c based on c{snapshot='now'}")
    assert told["how"] == "up_to_date"
    forked.sql("drop snapshot now for table c")


def test_tables_without_a_common_version(forked: Client) -> None:
    forked.sql(
        "create table other tblproperties ('primary_key' = 'id') as "
        "select id, cast(id * 10 as int) as v, 'x' as w from range(4, 8)"
    )
    told = answer(forked, "snapshot merge table t from other")
    assert (told["added"], told["removed"], told["conflicts"]) == (2, 0, 0)
    assert rows(forked) == {0: 0, 1: 1, 2: 1, 3: 30, 4: 40, 5: 50, 6: 60, 7: 70}


@pytest.mark.parametrize(
    "chosen",
    [
        "keys (3), (9)",
        "keys ('3'), (4 + 5)",
        "where id in (3, 9)",
        "where v in (2, 90) and id > 2",
    ],
)
def test_the_changes_of_chosen_rows_are_taken_over(forked: Client, chosen: str) -> None:
    told = answer(forked, f"snapshot pick table t from c {chosen}")
    assert rows(forked) == {0: 0, 1: 1, 2: 1, 3: 2, 4: 40, 5: 50, 9: 90}
    assert (told["added"], told["removed"], told["modified"]) == (1, 0, 1)


def test_a_picked_row_in_conflict(forked: Client) -> None:
    with pytest.raises(ConflictError, match="1 row changed differently"):
        forked.sql("snapshot pick table t from c keys (2)")
    answer(forked, "snapshot pick table t from c keys (2) when conflict accept")
    assert rows(forked)[2] == 2


@pytest.mark.parametrize(
    ("text", "error", "found"),
    [
        ("snapshot merge table t from nothing", NotFoundError, "analytics.nothing"),
        ("snapshot merge table nothing from c", NotFoundError, "analytics.nothing"),
        ("snapshot merge table t from c{snapshot='no'}", NotFoundError, "no"),
        ("snapshot pick table t from c keys (1, 2)", InputError, r"each of \(id\)"),
        ("snapshot merge table t from c when conflict win", InputError, "win"),
    ],
)
def test_what_does_not_fit_is_refused(
    forked: Client, text: str, error: type[Exception], found: str
) -> None:
    before = rows(forked)
    with pytest.raises(error, match=found):
        forked.sql(text)
    assert rows(forked) == before


def test_keys_that_differ_are_named(forked: Client) -> None:
    forked.sql("alter table c set tblproperties ('primary_key' = 'id, w')")
    forked.sql("alter table t set tblproperties ('primary_key' = 'id, v')")
    with pytest.raises(ConflictError, match="primary_key"):
        forked.sql("snapshot merge table t from c")
