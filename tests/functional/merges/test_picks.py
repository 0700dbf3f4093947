"""`snapshot pick`: which rows it takes, what it refuses, and what it leaves as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import ConflictError, EngineError, InputError, VcsError
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.table.exact_values import key_value
from tests.functional.life.shop import SPARK

pytestmark = pytest.mark.spark

START = {0: 0, 1: 1, 2: 1, 3: 30, 4: 40, 5: 50}
"""The rows of t."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("picks")
    with connect(str(folder / "warehouse"), create=True, spark=SPARK) as client:
        client.sql("create schema analytics")
        client.sql("create schema other")
        client.sql(
            "create table t tblproperties ('primary_key' = 'id') as "
            "select cast(id as int) as id, cast(id * 10 as int) as v from range(6)"
        )
        client.sql("create table c clone t")
        client.sql("update t set v = 1 where id in (1, 2)")
        client.sql("update c set v = 2 where id in (2, 3)")
        client.sql("create snapshot one for table c")
        client.sql("delete from c where id = 4")
        client.sql("insert into c values (9, 90)")
        client.sql("create snapshot two for table c")
        client.sql("update c set v = 5 where id = 5")
        client.sql("create table chosen as select * from values (3, 'x'), (9, 'y') as r(id, w)")
        client.sql("create table other.chosen as select * from values (9, 'y') as r(id, w)")
        client.sql("create table start clone t")
        yield client


@pytest.fixture
def forked(client: Client) -> Client:
    """A table t with a key, and a clone c of it; both were changed since."""
    client.sql("create or replace table t clone start")
    return client


def rows(client: Client, table: str = "t") -> dict[int, int]:
    return {row["id"]: row["v"] for row in client.sql(f"select id, v from {table}").to_pylist()}


def answer(client: Client, text: str) -> dict[str, Any]:
    (row,) = client.sql(text).to_pylist()
    return row


def head(client: Client) -> str:
    return client.repository.branch("main").head


@pytest.mark.parametrize(
    "value",
    ["1.5", "4294967297", "'1x'", "null", "true", "date'2026-01-01'", "cast(null as int)", "''"],
)
def test_a_key_that_the_type_does_not_hold_is_refused_by_name(forked: Client, value: str) -> None:
    before = head(forked)
    with pytest.raises(InputError, match=r"column id .*analytics\.t"):
        forked.sql(f"snapshot pick table t from c keys (3), ({value})")
    with pytest.raises(InputError, match=r"column id .*analytics\.t"):
        forked.sql(f"snapshot pick table t from c keys (select {value})")
    assert (rows(forked), head(forked)) == (START, before)


@pytest.mark.parametrize(
    "chosen",
    [
        "keys (3), (9)",
        "keys ('3'), (9.0)",
        "keys (3L), (4 + 5)",
        "keys ((select min(id) from chosen)), (9)",
        "keys (select id from chosen)",
        "keys (with w as (select id from chosen) select id from w)",
        "keys (values 3, 9)",
        "keys (select id + 0.0 from chosen version as of 'main' order by id)",
        "where id in (select id from chosen)",
        "where exists (select 1 from chosen x where x.id = c.id)",
        "where id in (select to_id from snapshot_diff('t', 'c') where to_id in (3, 9))",
        "where id in (select id from analytics.chosen version as of 'main')",
        "where id = 3 or id = (select max(id) from other.chosen)",
    ],
)
def test_the_changes_of_chosen_rows_are_taken_over(forked: Client, chosen: str) -> None:
    told = answer(forked, f"snapshot pick table t from c {chosen}")
    assert rows(forked) == {**START, 3: 2, 9: 90}
    assert (told["added"], told["removed"], told["modified"]) == (1, 0, 1)


def test_what_a_subquery_reads_is_noted(forked: Client) -> None:
    forked.sql("snapshot pick table t from c where id in (select id from other.chosen)")
    tree = forked.repository.tree(forked.repository.resolve("main"))
    entry = tree.entry(RelationName("analytics", "t"))
    assert isinstance(entry, TableEntry)
    inputs = forked.repository.objects.snapshot(entry.snapshot).origin.inputs
    assert {item.relation for item in inputs} == {"analytics.c", "other.chosen"}


def test_a_table_that_a_subquery_lacks_is_named_with_near_ones(forked: Client) -> None:
    text = "snapshot pick table t from c where id in (select id from chozen)"
    with pytest.raises(EngineError, match=r"no table or view analytics\.chozen") as caught:
        forked.sql(text)
    assert "Did you mean analytics.chosen" in str(caught.value)


@pytest.mark.parametrize(
    "chosen",
    ["keys (0)", "keys (77)", "where id = 0", "where false = true", "keys (select 1 where 1 = 0)"],
)
def test_a_pick_that_picks_nothing_makes_no_commit_and_says_so(
    forked: Client, chosen: str
) -> None:
    before = head(forked)
    with pytest.warns(UserWarning, match=r"Nothing picked: .* analytics\.c"):
        told = answer(forked, f"snapshot pick table t from c {chosen}")
    assert told["how"] == "nothing_picked"
    assert (told["added"], told["removed"], told["modified"], told["conflicts"]) == (0, 0, 0, 0)
    assert (rows(forked), head(forked)) == (START, before)


def test_picking_the_same_again_makes_no_commit(forked: Client) -> None:
    forked.sql("snapshot pick table t from c keys (3), (9)")
    before = head(forked)
    told = answer(forked, "snapshot pick table t from c keys (3), (9)")
    assert (told["how"], told["added"], told["modified"]) == ("up_to_date", 0, 0)
    assert head(forked) == before


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("between snapshot one and two keys (4)", {4: None}),
        ("between snapshot one and two", {4: None, 9: 90}),
        ("between snapshot 'one' and two where id > 3", {4: None, 9: 90}),
        ("where id > 4 between snapshot two and 'main'", {5: 5}),
        ("between snapshot two and 'main' keys (select 5)", {5: 5}),
    ],
)
def test_what_changed_between_two_snapshots_is_picked(
    forked: Client, text: str, wanted: dict[int, int | None]
) -> None:
    answer(forked, f"snapshot pick table t from c {text}")
    expected: dict[int, int | None] = {**START, **wanted}
    assert rows(forked) == {key: value for key, value in expected.items() if value is not None}


def test_nothing_changed_between_a_snapshot_and_itself(forked: Client) -> None:
    before = head(forked)
    with pytest.warns(UserWarning, match="Nothing picked"):
        forked.sql("snapshot pick table t from c between snapshot one and one")
    assert head(forked) == before


def test_the_way_back_is_the_same_words_the_other_way_round(forked: Client) -> None:
    forked.sql("snapshot pick table t from c between snapshot one and two")
    forked.sql("snapshot pick table t from c between snapshot two and one")
    assert rows(forked) == START


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("between snapshot one and missing", InputError, "missing"),
        ("between snapshot one", InputError, "`and`"),
        ("between one and two", InputError, "`between snapshot`"),
        ("between snapshot one and two based on c", InputError, "based on"),
        ("keys (select id, w from chosen)", InputError, r"each of \(id\)"),
        ("keys (select id from chosen), (3)", InputError, "one query"),
        ("keys (1, 2)", InputError, r"each of \(id\)"),
    ],
)
def test_what_does_not_fit_is_refused(
    forked: Client, text: str, error: type[VcsError], words: str
) -> None:
    with pytest.raises(error, match=words):
        forked.sql(f"snapshot pick table t from c {text}")
    with pytest.raises(InputError, match="between snapshot"):
        forked.sql("snapshot pick table t from c{snapshot='one'} between snapshot one and two")
    assert rows(forked) == START


def test_null_is_a_value_where_all_columns_tell_rows_apart(client: Client) -> None:
    for name in ("plain", "copy"):
        client.sql(f"drop table if exists {name}")
    client.sql("create table plain as select 1 as a, 'x' as b")
    client.sql("create table copy clone plain")
    client.sql("insert into copy values (null, 'y'), (2, 'z')")
    told = answer(client, "snapshot pick table plain from copy keys (null, 'y')")
    assert (told["added"], told["removed"]) == (1, 0)
    found = client.sql("select * from plain order by a").to_pylist()
    assert found == [{"a": None, "b": "y"}, {"a": 1, "b": "x"}]


@pytest.mark.parametrize(
    ("type_", "stored", "written"),
    [
        ("tinyint", "5", ["5", "5L", "5.0", "cast(5 as double)", "'5'"]),
        ("decimal(8,2)", "1.5", ["1.5", "1.50", "1.5d", "'1.50'"]),
        ("double", "0.1", ["0.1", "0.1d", "0.1f", "'0.1'"]),
        ("float", "0.1", ["0.1", "0.1f", "0.1d"]),
        ("string", "'a'", ["'a'", "concat('a', '')"]),
        ("varchar(3)", "'a'", ["'a'"]),
        ("char(3)", "'a'", ["'a'", "'a  '"]),
        ("date", "date'2026-01-02'", ["date'2026-01-02'", "'2026-01-02'"]),
        (
            "timestamp",
            "timestamp'2026-01-02 03:04:05Z'",
            ["timestamp'2026-01-02 03:04:05Z'", "'2026-01-02 03:04:05'"],
        ),
        ("timestamp_ntz", "timestamp_ntz'2026-01-02 03:04:05'", ["'2026-01-02 03:04:05'"]),
        ("binary", "X'00ff'", ["X'00ff'"]),
        ("boolean", "true", ["true", "'true'"]),
    ],
)
def test_a_value_finds_its_row_however_it_is_written(
    client: Client, type_: str, stored: str, written: list[str]
) -> None:
    for value in written:
        client.sql("drop table if exists k1")
        client.sql("drop table if exists k2")
        client.sql(f"create table k1 (k {type_}, v int) tblproperties ('primary_key' = 'k')")
        client.sql("create table k2 clone k1")
        client.sql(f"insert into k2 select cast({stored} as {type_}), 1")
        told = answer(client, f"snapshot pick table k1 from k2 keys ({value})")
        assert told["added"] == 1, value


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("set tblproperties (primary_key = 'id')", r"a primary key .* \(id\): 2\. Nothing"),
        ("alter column v set not null", r"v NOT NULL .* \(id: 2"),
        ("add constraint small check (v < 50)", r"small \(v < 50\) .* is false"),
    ],
)
def test_picked_rows_meet_what_the_table_declares(
    client: Client, declared: str, said: str
) -> None:
    client.sql("create or replace table free as select 1 as id, 1 as v")
    client.sql("create or replace table copy clone free")
    client.sql("insert into copy values (2, 90), (2, 91), (2, null)")
    client.sql(f"alter table free {declared}")
    before = head(client)
    with pytest.raises(ConflictError, match=f"Ours declares .*{said}"):
        client.sql("snapshot pick table free from copy where id = 2")
    assert (rows(client, "free"), head(client)) == ({1: 1}, before)


NUMBERS = ("1", "1.5", "128", "-129", "3000000000", "0.1", "2.50", "123456.789", "1e300d", "-0d")
TIMES = (
    "date'2026-01-01'",
    "timestamp_ntz'2026-01-01 00:00:00'",
    "timestamp_ntz'2026-01-01 00:00:00.000001'",
)


def test_a_value_is_taken_where_sparks_own_casts_leave_it_as_it_is(client: Client) -> None:
    numeric = ("tinyint", "int", "bigint", "decimal(6,2)", "decimal(30,3)", "double")
    pairs = [(value, type_) for value in NUMBERS for type_ in numeric]
    pairs += [(value, type_) for value in TIMES for type_ in ("date", "timestamp_ntz")]
    columns = [
        f"{value} as v{n}, coalesce(try_cast({value} as {type_}) = {value}, false) as same{n}"
        for n, (value, type_) in enumerate(pairs)
    ]
    row = client.sql(f"select {', '.join(columns)}")
    taken, expected = [], []
    for n, (value, type_) in enumerate(pairs):
        if row.column(f"same{n}")[0].as_py():
            expected.append((value, type_))
        try:
            key_value(RelationName("s", "t"), "c", type_, row.column(f"v{n}")[0])
        except InputError:
            continue
        taken.append((value, type_))
    assert taken == expected
    assert 0 < len(taken) < len(pairs)
