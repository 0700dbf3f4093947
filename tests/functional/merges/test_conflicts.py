"""Conflicts resolved in SQL, on the branch that keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.commands.merge import abort_merge, continue_merge, merge
from dbt.adapters.vcs.commands.resolve import resolve, undo_decision
from dbt.adapters.vcs.core.errors import ConflictError, InputError, UnsupportedError
from dbt.adapters.vcs.core.repository import Repository
from tests.functional.life.shop import SPARK

pytestmark = pytest.mark.spark

COLUMNS = "id, credit, note, day"


class Shop:
    """A warehouse in which main and dev changed the same rows, and the merge waits."""

    def __init__(self, folder: Path) -> None:
        self.location = str(folder / "warehouse")
        self.main = connect(self.location, create=True, spark=SPARK)
        self.repository: Repository = self.main.repository
        self.main.sql("create schema analytics")
        self.main.sql(
            "create table t (id int not null, credit decimal(9,2), note string not null, "
            "day date) tblproperties ('primary_key' = 'id')"
        )
        self.main.sql("alter table t add constraint small check (credit < 100)")
        self.main.sql(
            "insert into t select id, 1, 'old', date'2026-01-01' from range(1, 6) as r(id)"
        )
        self.main.sql("create table plain as select 1 as a")
        self.main.sql("create table wishes as select * from values (1, 11.50bd), (2, 12) w(id, c)")
        self.repository.create_branch("dev", self.repository.resolve("main"), author="ann")
        self.main.sql("update t set credit = 2")
        self.main.sql("insert into plain values (1)")
        self.main.sql("delete from t where id = 4")
        self.main.sql("update t set note = 'ours' where id = 3")
        self._sql("dev", "update t set credit = 3, day = date'2026-02-02'")
        self._sql("dev", "delete from plain")
        self._sql("dev", "update t set note = 'theirs' where id in (2, 3)")
        self.start = self.repository.resolve("main")

    def _sql(self, branch: str, text: str) -> None:
        with connect(self.location, branch=branch, spark=SPARK) as client:
            client.sql(text)

    def begin(self) -> None:
        """Begin the merge of dev into a new branch prod, which is as main is."""
        if self.repository.find_branch("merges/prod"):
            abort_merge(self.repository, "prod", author="ann")
        if self.repository.find_branch("prod"):
            self.repository.delete_branch("prod", author="ann")
        self.repository.create_branch("prod", self.start, author="ann")
        with pytest.raises(ConflictError):
            merge(self.repository, "dev", "prod", author="ann")

    def rows(self) -> dict[int, tuple[Any, ...]]:
        found = self.main.sql(f"select {COLUMNS} from t version as of 'prod'").to_pylist()
        return {row["id"]: (str(row["credit"]), row["note"], str(row["day"])) for row in found}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    made = Shop(tmp_path_factory.mktemp("conflicts"))
    yield made
    made.main.close()


@pytest.fixture
def conflicts(shop: Shop) -> Iterator[Client]:
    shop.begin()
    with connect(shop.location, branch="merges/prod", spark=SPARK) as client:
        yield client


def shown(client: Client) -> dict[int, tuple[Any, ...]]:
    found = client.sql(
        "select coalesce(our_id, their_id) as id, result_credit as c, result_note as n, "
        "result_day as d, resolution as r from t"
    ).to_pylist()
    return {
        row["id"]: (row["r"], None if row["c"] is None else str(row["c"]), row["n"], str(row["d"]))
        for row in found
    }


def test_what_an_update_chooses_is_shown_and_lands(shop: Shop, conflicts: Client) -> None:
    conflicts.sql("update t set result_credit = 11.50 where our_id = 1")
    conflicts.sql(
        "update t set result_credit = our_credit + their_credit, resolution = 'theirs' "
        "where our_id = 2"
    )
    conflicts.sql(
        "update t as x set result_note = concat(our_note, '+', x.their_note), "
        "result_credit = null where our_id = 3"
    )
    conflicts.sql("update t set resolution = 'delete' where their_id = 4")
    conflicts.sql("update t set resolution = 'OURS' where resolution is null")
    assert shown(conflicts) == {
        1: ("custom", "11.50", "old", "2026-02-02"),
        2: ("custom", "5.00", "theirs", "2026-02-02"),
        3: ("custom", None, "ours+theirs", "2026-02-02"),
        4: ("delete", None, None, "None"),
        5: ("ours", "2.00", "old", "2026-01-01"),
    }
    resolve(
        shop.repository, "prod", "analytics.plain", RowChoice(choice=Choice.THEIRS), author="ann"
    )
    continue_merge(shop.repository, "prod", author="ann")
    assert shop.rows() == {
        1: ("11.50", "old", "2026-02-02"),
        2: ("5.00", "theirs", "2026-02-02"),
        3: ("None", "ours+theirs", "2026-02-02"),
        5: ("2.00", "old", "2026-01-01"),
    }


def test_values_come_from_a_table_of_another_branch(shop: Shop, conflicts: Client) -> None:
    conflicts.sql(
        "update t set resolution = 'ours', result_credit = "
        "(select c from wishes version as of 'main' w where w.id = our_id) where our_id in (1, 2)"
    )
    found = shown(conflicts)
    assert found[1] == ("custom", "11.50", "old", "2026-01-01")
    assert found[2] == ("custom", "12.00", "old", "2026-01-01")
    assert found[5][0] is None


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("update t set our_credit = 11.5", InputError, "set result_credit"),
        ("update t set their_diff_type = 'x'", InputError, "set resolution"),
        ("update t set result_id = 11", InputError, "primary key"),
        ("update t set result_x = 11", InputError, "credit, note, day"),
        ("update t set x = 11", InputError, "credit, note, day"),
        (
            "update t set result_credit = 1.505 where our_id = 1",
            InputError,
            "1.505 is not a value",
        ),
        ("update t set result_credit = '1x' where our_id = 1", InputError, "1x is not a value"),
        ("update t set result_credit = 12345678 where our_id = 1", InputError, "not a value"),
        (
            "update t set result_day = timestamp'2026-01-01 10:00:00' where our_id = 5",
            InputError,
            "without a time",
        ),
        (
            "update t set result_note = null, result_credit = 1 where our_id = 1",
            InputError,
            "NULL",
        ),
        ("update t set result_credit = 9 where our_id = 3", InputError, "Both sides changed note"),
        ("update t set resolution = 'mine'", InputError, "expected one of ours"),
        ("update t set resolution = 'custom'", InputError, "custom needs values"),
        ("update t set resolution = 'delete', result_credit = 1", InputError, "has no result"),
        ("update t set resolution = null, result_credit = 1", InputError, "has no result"),
        ("update plain set result_a = 1", InputError, "no primary key"),
        ("delete from t", UnsupportedError, "keeps the conflicts of merging dev into prod"),
        ("insert into t select * from t", UnsupportedError, "update <table> set resolution"),
        ("drop table t", UnsupportedError, "merge --abort prod"),
        ("create table other as select 1 as a", UnsupportedError, "another branch"),
        ("alter table t drop column result_credit", UnsupportedError, "another branch"),
    ],
)
def test_what_is_no_choice_is_refused(
    shop: Shop, conflicts: Client, text: str, error: type[Exception], words: str
) -> None:
    before = shop.repository.branch("merges/prod").head
    with pytest.raises(error, match=words):
        conflicts.sql(text)
    assert shop.repository.branch("merges/prod").head == before


def test_a_choice_is_taken_back(shop: Shop, conflicts: Client) -> None:
    conflicts.sql("update t set result_credit = 11.50 where our_id = 1")
    conflicts.sql("update t set resolution = 'custom' where our_id = 1")
    assert shown(conflicts)[1][0] == "custom"
    conflicts.sql("update t set resolution = null where our_id = 1")
    assert shown(conflicts)[1] == (None, None, None, "None")


def test_what_sql_chose_is_taken_back_like_any_decision(shop: Shop, conflicts: Client) -> None:
    conflicts.sql("update t set result_credit = 11.50 where our_id = 1")
    conflicts.sql("update t set resolution = 'theirs' where our_id = 2")
    undo_decision(shop.repository, "prod", author="ann")
    assert [shown(conflicts)[id][0] for id in (1, 2)] == ["custom", None]
    undo_decision(shop.repository, "prod", author="ann")
    assert shown(conflicts)[1] == (None, None, None, "None")
    conflicts.sql("update t set resolution = 'ours' where our_id = 1")
    assert shown(conflicts)[1][0] == "ours"


def test_chosen_values_are_held_to_check_constraints(shop: Shop, conflicts: Client) -> None:
    conflicts.sql("update t set result_credit = 100 where our_id = 1")
    resolve(shop.repository, "prod", None, RowChoice(choice=Choice.OURS), author="ann")
    with pytest.raises(InputError, match=r"small \(credit < 100\).* is false for \(id: 1"):
        continue_merge(shop.repository, "prod", author="ann")
    assert shop.repository.resolve("prod") == shop.start
    conflicts.sql("update t set result_credit = 99 where our_id = 1")
    continue_merge(shop.repository, "prod", author="ann")
    assert shop.rows()[1][0] == "99.00"
