"""In process and by Spark: the differences of random versions are the same rows."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.diffs.three_way import ThreeWay
from dbt.adapters.vcs.core.model import RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.sql.syntax.diff_call import TwoWayShape
from dbt.adapters.vcs.table.limits import Limits

from .conftest import Sql

pytestmark = pytest.mark.spark

NOTHING = Limits(rows=-1, bytes=-1)
SHAPES: tuple[TwoWayShape, ...] = ("wide", "signed", "changes")
COLUMNS = """
    id int, name string, price decimal(8,2), ratio double, at timestamp, seen timestamp_ntz,
    day date, raw binary, tags array<string>, place struct<x:int,y:string>, props map<string,int>
"""
VALUES = {
    "name": ["'a'", "'ä'", "''", "null"],
    "price": ["1.50", "-2.00", "null"],
    "ratio": ["double('NaN')", "double('-0.0')", "double('0.0')", "1.5e0", "null"],
    "at": ["timestamp'2026-03-29 02:30:00Z'", "timestamp'1800-01-01 00:00:00Z'", "null"],
    "seen": ["timestamp_ntz'2026-03-29 02:30:00'", "null"],
    "day": ["date'2026-01-01'", "null"],
    "raw": ["x'00ff'", "null"],
    "tags": ["array('a', null)", "array()", "null"],
    "place": ["named_struct('x', 1, 'y', null)", "null"],
    "props": ["map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)", "null"],
}


def row(chance: random.Random, id: int) -> str:
    return f"({id}, {', '.join(chance.choice(values) for values in VALUES.values())})"


def snapshot(client: Client, name: str, revision: str = "main") -> Snapshot:
    repository = client.repository
    entry = repository.tree(repository.resolve(revision)).entry(RelationName("shop", name))
    assert isinstance(entry, TableEntry)
    return repository.objects.snapshot(entry.snapshot)


def both(
    client: Client, difference: Difference | ThreeWay, shape: TwoWayShape = "wide"
) -> Iterator[Counter[Any]]:
    """Yield the rows as Arrow and as Spark finds them, both shown by Spark.

    If Spark only scans files for them, it has to find the same by comparing all rows.
    """
    session = client._workspace.open_session("test")
    if isinstance(difference, Difference):
        difference = replace(difference, shape=shape)
    if isinstance(difference, Difference) and difference._scanned(session, shape) is not None:
        text = difference.by_engine(session)
        with patch.object(Difference, "_scanned", return_value=None):
            compared = difference.by_engine(session)
        assert text != compared
        query = "select to_json(struct(*)) from ({})"
        scanned = Counter(session.query(query.format(text)).fetch())
        assert scanned == Counter(session.query(query.format(compared)).fetch())
    for limits in (Limits(rows=1_000_000, bytes=1 << 30), NOTHING):
        text = difference.relation(session, limits=limits)
        assert text.startswith("(") == (limits is NOTHING)
        rows = session.query(f"select to_json(struct(*)) from {text}").fetch()
        types = tuple((c.name, c.type) for c in session.analysed(f"select * from {text}").columns)
        yield Counter([("types", types), *(spelled(line) for (line,) in rows)])


def spelled(line: str) -> str:
    """Return a row as it is shown, with one spelling of what is equal."""
    return line.replace("-0.0", "0.0").replace('{"b":2,"a":1}', '{"a":1,"b":2}')


@pytest.mark.parametrize("keyed", [True, False])
def test_random_histories(client: Client, sql: Sql, keyed: bool) -> None:
    chance = random.Random(7)
    key = ", 'primary_key' = 'id'" if keyed else ""
    sql(f"create table t ({COLUMNS}) tblproperties ('vcs.write_mode' = 'merge_on_read'{key})")
    ids = list(range(40))
    sql(f"insert into t values {', '.join(row(chance, id) for id in ids)}")
    if not keyed:
        sql("insert into t select * from t where id < 10")
    sql("insert into t select * from values " + row(chance, 100))
    sql("delete from t where id = 3")
    sql("update t set name = 'changed', ratio = 0.0 where id between 5 and 12")
    added = ", ".join(row(chance, id) for id in range(200, 206))
    sql(f"insert into t values {added}")
    sql("delete from t where id = 201 or id = 7")
    assert any(item.deleted for item in snapshot(client, "t").segments)
    versions = [snapshot(client, "t", f"main~{n}") for n in range(6)]
    for before, after in [(5, 0), (1, 4)]:
        difference = Difference(
            repository=client.repository, before=versions[before], after=versions[after]
        )
        for shape in SHAPES:
            arrow, spark = both(client, difference, shape)
            assert arrow == spark, (before, after, shape)
            assert len(arrow) > 1
    some = Difference(
        repository=client.repository,
        before=versions[5],
        after=versions[0],
        columns=("name", "props"),
    )
    arrow, spark = both(client, some, "wide")
    assert arrow == spark
    nothing = Difference(repository=client.repository, before=versions[0], after=versions[0])
    arrow, spark = both(client, nothing, "changes")
    assert arrow == spark
    assert len(arrow) == 1


def test_partitions_and_columns_that_changed(client: Client, sql: Sql) -> None:
    sql(
        "create table p (id int, `a.b c` int, `row` float, gone string, day date) "
        "partitioned by (day) tblproperties ('vcs.write_mode' = 'merge_on_read')"
    )
    days = ("date'2026-01-01'", "date'2026-01-02'", "null")
    values = ", ".join(f"({n}, {n}, {n}.5, 'x', {days[n % 3]})" for n in range(30))
    sql(f"insert into p values {values}")
    sql("delete from p where id in (4, 5, 6)")
    sql("alter table p alter column `a.b c` type bigint")
    sql("alter table p rename column `row` to item")
    sql("alter table p drop column gone")
    sql("alter table p add columns (more string)")
    sql("update p set `a.b c` = 5000000000, more = 'new' where id between 8 and 10")
    sql("insert into p values (40, 1, 1.5, 'z', date'2026-01-01')")
    before, after = snapshot(client, "p", "main~7"), snapshot(client, "p")
    assert any(item.deleted for item in after.segments)
    for columns in ((), ("id", "a.b c", "day")):
        difference = Difference(
            repository=client.repository, before=before, after=after, columns=columns
        )
        for shape in SHAPES:
            arrow, spark = both(client, difference, shape)
            assert arrow == spark, shape
            assert sum(arrow.values()) == 1 + 3 + 2 * 3 + 1


@pytest.mark.parametrize("keyed", [True, False])
def test_three_way_differences_of_random_histories(client: Client, sql: Sql, keyed: bool) -> None:
    chance = random.Random(11)
    key = ", 'primary_key' = 'id'" if keyed else ""
    sql(f"create table t ({COLUMNS}) tblproperties ('vcs.write_mode' = 'merge_on_read'{key})")
    sql(f"insert into t values {', '.join(row(chance, id) for id in range(40))}")
    if not keyed:
        sql("insert into t select * from t where id < 10")
    base = snapshot(client, "t")
    sides = []
    for first in (0, 5):
        sql(f"delete from t where id between {first + 20} and {first + 23}")
        sql(f"update t set name = 'changed', ratio = 0.0 where id between {first} and {first + 8}")
        sql(f"update t set price = {first} where id between {first + 10} and {first + 12}")
        added = ", ".join(row(chance, id) for id in range(100 + first, 108 + first))
        sql(f"insert into t values {added}")
        sides.append(snapshot(client, "t"))
        sql("restore table t to version as of 'main~4'")
    ours, theirs = sides
    for columns in ((), ("id", "name", "props")):
        found = ThreeWay(
            repository=client.repository, base=base, ours=ours, theirs=theirs, columns=columns
        )
        arrow, spark = both(client, found)
        assert arrow == spark
        assert sum(arrow.values()) > 30
    nothing = ThreeWay(repository=client.repository, base=base, ours=base, theirs=base)
    arrow, spark = both(client, nothing)
    assert arrow == spark
    assert len(arrow) == 1


def test_three_way_differences_of_columns_that_changed(client: Client, sql: Sql) -> None:
    sql(
        "create table c (id int, `a.b c` int, was float, gone string) "
        "tblproperties ('vcs.write_mode' = 'merge_on_read', 'primary_key' = 'id')"
    )
    sql("insert into c values (1, 1, 1.5, 'x'), (2, 2, 2.5, 'y'), (3, 3, 3.5, 'z')")
    base = snapshot(client, "c")
    sql("alter table c alter column `a.b c` type bigint")
    sql("alter table c drop column gone")
    sql("update c set `a.b c` = 5000000000 where id = 1")
    ours = snapshot(client, "c")
    sql("restore table c to version as of 'main~3'")
    sql("alter table c rename column was to now")
    sql("alter table c add columns (more string)")
    sql("update c set more = 'new', now = 9.5 where id in (1, 2)")
    sql("update c set gone = 'w' where id = 3")
    theirs = snapshot(client, "c")
    found = ThreeWay(repository=client.repository, base=base, ours=ours, theirs=theirs)
    arrow, spark = both(client, found)
    assert arrow == spark
    names = [name for name, _ in next(iter(arrow))[1]]
    assert names[:3] == ["id", "our_diff_type", "their_diff_type"]
    assert {"base_now", "their_more", "our_a.b c"} <= set(names)
    assert not any("gone" in name or "was" in name for name in names)
    rows = [json.loads(line) for line in arrow if isinstance(line, str)]
    # What the third row differs in was dropped by the other side.
    assert sorted(rows, key=lambda item: item["id"]) == [
        {
            "id": 1,
            "our_diff_type": "modified",
            "their_diff_type": "modified",
            "base_id": 1,
            "our_id": 1,
            "their_id": 1,
            "base_a.b c": 1,
            "our_a.b c": 5_000_000_000,
            "their_a.b c": 1,
            "base_now": 1.5,
            "our_now": 1.5,
            "their_now": 9.5,
            "their_more": "new",
        },
        {
            "id": 2,
            "their_diff_type": "modified",
            "base_id": 2,
            "our_id": 2,
            "their_id": 2,
            "base_a.b c": 2,
            "our_a.b c": 2,
            "their_a.b c": 2,
            "base_now": 2.5,
            "our_now": 2.5,
            "their_now": 9.5,
            "their_more": "new",
        },
    ]
