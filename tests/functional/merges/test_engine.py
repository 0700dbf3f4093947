"""Merges by statement of what Arrow can't compare, or what does not fit this process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.changes.merges import table_merge
from dbt.adapters.vcs.changes.merges.by_engine.engine_repair import EngineRepair, EngineRepairs
from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.changes.merges.rowwise.repair import Question
from dbt.adapters.vcs.changes.merges.table_merge import merge_tables
from dbt.adapters.vcs.commands.merge import continue_merge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.engines.factory import make_engine
from dbt.adapters.vcs.engines.row_sessions import ENGINE
from dbt.adapters.vcs.sql import snapshot_merge
from dbt.adapters.vcs.table.limits import Limits
from tests.functional.life.shop import SPARK

pytestmark = pytest.mark.spark

COLUMNS = {
    "json": ("variant", "parse_json('{\"a\": {id}}')"),
    "span": ("interval day to second", "make_dt_interval(0, 0, 0, {id})"),
    "deep": ("map<string,map<int,double>>", "map('a', map({id}, double('-0.0')))"),
    "word": ("string collate unicode_ci", "'W{id}' collate unicode_ci"),
    "props": ("map<double,array<string>>", "map(double('-0.0'), array('{id}', null), 1, null)"),
    "parts": ("array<struct<v:variant>>", "array(named_struct('v', parse_json('{id}')))"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("engine")
    with connect(str(folder / "warehouse"), create=True, spark=SPARK) as client:
        client.sql("create schema analytics")
        yield client


@pytest.fixture(params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The engine of rows that don't fit."""
    monkeypatch.setenv(ENGINE, request.param)
    return str(request.param)


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing fit this process."""
    never = partial(merge_tables, limits=Limits(rows=-1, bytes=-1))
    monkeypatch.setattr(snapshot_merge, "merge_tables", never)


def row(id: int) -> str:
    values = ", ".join(text.replace("{id}", str(id)) for _, text in COLUMNS.values())
    return f"select {id}, {values}"


def make(client: Client, key: str) -> None:
    """A table t and its clone c, the rows 0 to 3 in each, and different ones since."""
    for name in ("c", "t"):
        client.sql(f"drop table if exists {name}")
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in COLUMNS.items())
    properties = f"'vcs.write_mode' = 'merge_on_read'{key}"
    client.sql(f"create table t (id int, {columns}) tblproperties ({properties})")
    client.sql("insert into t " + " union all ".join(map(row, range(4))))
    client.sql("create table c clone t")
    client.sql("delete from t where id = 0")
    client.sql("insert into t " + row(10))
    client.sql("delete from c where id = 3")
    client.sql("insert into c " + row(11))


def ids(client: Client) -> list[int]:
    return [found["id"] for found in client.sql("select id from t order by id").to_pylist()]


def answer(client: Client, text: str) -> dict[str, Any]:
    (found,) = client.sql(text).to_pylist()
    return found


KEYS = pytest.mark.parametrize("key", ["", ", 'primary_key' = 'id'"], ids=["no_key", "key"])


@KEYS
def test_rows_of_types_that_only_spark_reads_merge_where_no_row_meets(
    client: Client, key: str
) -> None:
    make(client, key)
    told = answer(client, "snapshot merge table t from c dry run")
    assert (told["how"], told["added"], told["removed"]) == ("graft", 1, 1)
    assert ids(client) == [1, 2, 3, 10]
    told = answer(client, "snapshot merge table t from c")
    assert (told["how"], told["added"], told["removed"], told["conflicts"]) == ("graft", 1, 1, 0)
    assert ids(client) == [1, 2, 10, 11]
    again = answer(client, "snapshot merge table t from c")
    assert again["how"] == "up_to_date"


def test_rows_of_such_types_that_both_changed_are_compared_by_spark(client: Client) -> None:
    make(client, ", 'primary_key' = 'id'")
    client.sql("delete from t where id = 3")
    told = answer(client, "snapshot merge table t from c")
    assert (told["added"], told["removed"], told["conflicts"]) == (1, 0, 0)
    assert ids(client) == [1, 2, 10, 11]


def test_without_a_key_spark_compares_them(client: Client) -> None:
    make(client, "")
    client.sql("delete from t where id = 3")
    told = answer(client, "snapshot merge table t from c")
    assert (told["added"], told["removed"], told["conflicts"]) == (1, 0, 0)
    assert ids(client) == [1, 2, 10, 11]


@pytest.mark.usefixtures("no_room")
@pytest.mark.parametrize(("mode", "left"), [("skip", "ours"), ("accept", "theirs")])
def test_what_does_not_fit_merges_with_an_engine(
    client: Client, engine: str, mode: str, left: str
) -> None:
    for name in ("c", "t"):
        client.sql(f"drop table if exists {name}")
    client.sql(
        "create table t tblproperties ('primary_key' = 'id') as "
        "select id, 'base' as v from range(1000)"
    )
    client.sql("create table c clone t")
    client.sql("update t set v = 'ours' where id < 300")
    client.sql("update c set v = 'theirs' where id between 200 and 499")
    client.sql("delete from c where id >= 900")
    told = answer(client, f"snapshot merge table t from c when conflict {mode}")
    assert (told["removed"], told["conflicts"]) == (100, 100)
    assert told["modified"] == (200 if mode == "skip" else 300)
    found = client.sql("select v, count(*) n from t group by v").to_pylist()
    counts = {item["v"]: item["n"] for item in found}
    assert counts == {"base": 400, "ours": 200, "theirs": 200, left: 300}


SIDES = {
    "fits": ("skip", "add column n int", "add column n bigint", 7),
    "does_not_fit": ("skip", "add column n int", "add column n bigint", 2**40),
    "is_no_number": ("accept", "add column n string", "add column n int", 7),
    "widens": ("skip", "add column n bigint default 1", "add column n int default 2", 7),
    "is_dropped": ("fail", "drop column v", "add column n int", 7),
}


@pytest.mark.parametrize("sides", SIDES.values(), ids=SIDES)
def test_spark_says_and_writes_of_other_columns_what_this_process_does(
    client: Client, monkeypatch: pytest.MonkeyPatch, sides: tuple[str, str, str, int]
) -> None:
    mode, ours, theirs, value = sides

    def merged() -> tuple[list[dict[str, Any]], str]:
        for name in ("c", "t"):
            client.sql(f"drop table if exists {name}")
        client.sql(
            "create table t tblproperties ('primary_key' = 'id', "
            "'vcs.write_mode' = 'merge_on_read') as select id, 'base' as v from range(6)"
        )
        client.sql("create table c clone t")
        for name, change, id in (("t", ours, 10), ("c", theirs, 11)):
            client.sql(f"alter table {name} {change}")
            client.sql(f"insert into {name} (id) values ({id + 10})")
            client.sql(f"delete from {name} where id = {id - 10}")
            if "add" in change:
                new = value if name == "c" else 5
                client.sql(f"insert into {name} values ({id}, 'new', {new})")
                client.sql(f"update {name} set v = '{name}' where id = {id - 8}")
        said = ""
        try:
            client.sql(f"snapshot merge table t from c when conflict {mode}")
        except ConflictError as error:
            said = str(error)
        return client.sql("select * from t order by id").to_pylist(), said

    here = merged()
    never = partial(merge_tables, limits=Limits(rows=-1, bytes=-1))
    monkeypatch.setattr(snapshot_merge, "merge_tables", never)
    assert merged() == here
    shown = {found["id"] for found in here[0]}
    assert bool(here[1]) == (11 not in shown), here
    assert ({11, 21} if not here[1] else {1}) <= shown


@pytest.mark.usefixtures("no_room")
def test_picked_rows_merge_with_an_engine(client: Client, engine: str) -> None:
    for name in ("c", "t"):
        client.sql(f"drop table if exists {name}")
    client.sql(
        "create table t tblproperties ('primary_key' = 'id') as "
        "select id, 'base' as v from range(10)"
    )
    client.sql("create table c clone t")
    client.sql("update c set v = 'theirs' where id < 5")
    told = answer(client, "snapshot pick table t from c keys (2), (7)")
    assert (told["modified"], told["conflicts"]) == (1, 0)
    found = client.sql("select id from t where v = 'theirs'").to_pylist()
    assert found == [{"id": 2}]


@pytest.fixture
def repairs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many choices each repair by an engine was given; nothing fits this process."""
    never = Limits(rows=-1, bytes=-1)
    far = partial(merge_tables, limits=never)
    monkeypatch.setattr(table_merge, "merge_tables", far)
    found: list[int] = []
    repair = EngineRepairs.__call__

    def counted(
        self: EngineRepairs, question: Question, *arguments: Any, **options: Any
    ) -> EngineRepair:
        found.append(len(question.policy.decisions))
        return repair(self, question, *arguments, **options)

    monkeypatch.setattr(EngineRepairs, "__call__", counted)
    return found


def test_choices_for_single_rows_are_followed_by_an_engine(
    client: Client, engine: str, repairs: list[int]
) -> None:
    chosen = {
        5: RowChoice(choice=None, key={"id": "5"}, values={"v": "given"}),
        6: RowChoice(choice=Choice.THEIRS, key={"id": "6"}),
        7: RowChoice(choice=Choice.BASE, key={"id": "7"}),
        8: RowChoice(choice=Choice.DELETE, key={"id": "8"}),
        9: RowChoice(choice=Choice.THEIRS, key={"id": "9"}),
    }
    made = partial(make_engine, client.repository.blobs, settings=SPARK)
    with client.create(f"trunk_{engine}") as trunk:
        trunk.sql(
            "create table chosen tblproperties ('primary_key' = 'id') as "
            "select id, 'base' as v from range(100)"
        )
        with trunk.create(f"side_{engine}") as side:
            side.sql("update chosen set v = 'theirs' where id between 5 and 19")
        trunk.sql("update chosen set v = 'ours' where id < 9")
        trunk.sql("delete from chosen where id = 9")
        with pytest.raises(ConflictError, match="5 rows changed differently"):
            trunk.merge(f"side_{engine}")
        for choice in chosen.values():
            resolve(trunk.repository, trunk.branch, "analytics.chosen", choice, author="ann")
        before = trunk.repository.branch(trunk.branch).head
        # What was seen of the row 7 isn't there any more, so nobody chose for what is.
        trunk.sql("update chosen set v = 'later' where id = 7")
        with pytest.raises(ConflictError, match="1 row changed differently"):
            continue_merge(trunk.repository, trunk.branch, author="ann", engine=made)
        again = RowChoice(choice=Choice.OURS, key={"id": "7"})
        resolve(trunk.repository, trunk.branch, "analytics.chosen", again, author="ann")
        continue_merge(trunk.repository, trunk.branch, author="ann", engine=made)
        assert repairs == [0, 5, 5]
        found = trunk.sql("select id, v from chosen").to_pylist()
    assert trunk.repository.branch(trunk.branch).head != before
    expected = dict.fromkeys(range(100), "base")
    expected |= dict.fromkeys(range(5, 20), "theirs") | dict.fromkeys(range(5), "ours")
    expected |= {5: "given", 7: "later"}
    del expected[8]
    assert {row["id"]: row["v"] for row in found} == expected
