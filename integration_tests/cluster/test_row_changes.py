"""Update, delete, insert and merge on two workers, against a dict that changes in the same way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .drivers import Open, check, executors, rows_of

ROWS = 60_000
Row = dict[str, Any]
Rows = dict[int, Row]


def row(id: int, v: int, word: str | None) -> Row:
    return {"id": id, "p": id % 3, "v": v, "word": word}


FIRST = {id: row(id, id * 2, f"w{id % 7}") for id in range(ROWS)}
MAKE = (
    "as select id, id * 2 v, concat('w', id % 7) word, cast(id % 3 as int) p "
    f"from range(0, {ROWS}, 1, 4)"
)
TABLES = {
    "tombstones": "create table t tblproperties ('vcs.write_mode' = 'merge_on_read') ",
    "rewrites": "create table t tblproperties ('vcs.write_mode' = 'copy_on_write') ",
    "a key and partitions": (
        "create table t partitioned by (p) tblproperties ('primary_key' = 'id') "
    ),
}


def few_updated(rows: Rows) -> Rows:
    return {k: {**r, "v": r["v"] + 1} if k % 6_000 == 7 else r for k, r in rows.items()}


def half_updated(rows: Rows) -> Rows:
    return {
        k: {**r, "word": None, "v": r["v"] + r["p"]} if k % 2 == 0 else r for k, r in rows.items()
    }


def deleted(rows: Rows) -> Rows:
    return {k: r for k, r in rows.items() if r["v"] % 5 != 1}


def merged(rows: Rows) -> Rows:
    result = dict(rows)
    for id in range(50_000, 70_000):
        if id not in result:
            result[id] = row(id, -id, "new")
        elif id % 10 == 0:
            del result[id]
        else:
            result[id] = {**result[id], "word": "merged"}
    return result


def overwritten(rows: Rows) -> Rows:
    return {k: r for k, r in rows.items() if r["p"] != 1} | {100_000: row(100_000, 1, "one")}


CHANGES: list[tuple[str, Callable[[Rows], Rows]]] = [
    ("update t set v = v + 1 where id % 6000 = 7", few_updated),
    ("update t set word = null, v = v + p where id % 2 = 0", half_updated),
    ("delete from t where v % 5 = 1", deleted),
    (
        "merge into t using (select id from range(50000, 70000, 1, 4)) s on t.id = s.id "
        "when matched and s.id % 10 = 0 then delete "
        "when matched then update set word = 'merged' "
        "when not matched then insert (id, p, v, word) values (s.id, s.id % 3, -s.id, 'new')",
        merged,
    ),
    (
        "insert into t replace where p = 1 select 100000L, 1L, 'one', 1",
        overwritten,
    ),
]


@pytest.mark.parametrize("kind", TABLES)
def test_statements_change_the_rows_that_they_name(
    opened: Open, tmp_path: Path, kind: str
) -> None:
    client = opened(tmp_path / "ware house")
    client.sql(TABLES[kind] + MAKE)
    executors(2)
    expected = FIRST
    assert rows_of(client, "t") == expected
    for text, change in CHANGES:
        changed = change(expected)
        assert changed != expected
        expected = changed
        import time

        a = time.time()
        client.sql(text)
        b = time.time()
        assert rows_of(client, "t") == expected, text
        print("TIMED", text[:30], b - a, time.time() - b)
        [total] = client.sql("select count(v) n, sum(v) v, count(word) w from t").to_pylist()
        assert total == {
            "n": len(expected),
            "v": sum(each["v"] for each in expected.values()),
            "w": sum(each["word"] is not None for each in expected.values()),
        }
    # The first version is still what it was.
    first = client.sql(f"select * from t version as of 'main~{len(CHANGES)}'").to_pylist()
    assert {each["id"]: each for each in first} == FIRST
    check(client.repository)
