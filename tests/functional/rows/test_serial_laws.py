"""Two statements at the same moment leave what one after the other would have left.

The oracle is a list of rows and a plain function for each statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.api import Client, connect
from tests.functional.clients import SPARK, rows_of

pytestmark = pytest.mark.spark

Row = tuple[int | None, int | None]
Rows = list[Row]
Step = Callable[[Rows], Rows]


def top(rows: Rows) -> int | None:
    return max((k for k, _ in rows if k is not None), default=None)


def upserted(rows: Rows) -> Rows:
    matched = any(k == 1 for k, _ in rows)
    changed = [(k, v + 1 if k == 1 and v is not None else v) for k, v in rows]
    return changed if matched else [*changed, (1, 0)]


STATEMENTS: dict[str, Step] = {
    "insert into t values (1, 5)": lambda rows: [*rows, (1, 5)],
    "insert into t select max(k) + 1, 0 from t": lambda rows: [
        *rows, (None if top(rows) is None else (top(rows) or 0) + 1, 0)
    ],
    "insert overwrite t values (2, 7)": lambda _: [(2, 7)],
    "insert overwrite t select k, v * 2 from t": lambda rows: [
        (k, None if v is None else v * 2) for k, v in rows
    ],
    "insert into t replace where k = 1 values (1, 9)": lambda rows: [
        *(row for row in rows if row[0] != 1), (1, 9)
    ],
    "merge into t using (select 1 as k) s on t.k = s.k when matched then update set v = v + 1 "
    "when not matched then insert (k, v) values (1, 0)": upserted,
    "merge into t using (select 1 as k) s on t.k = s.k "
    "when not matched then insert (k, v) values (1, 3)": lambda rows: (
        rows if any(k == 1 for k, _ in rows) else [*rows, (1, 3)]
    ),
    "update t set v = v + 10 where k = 1": lambda rows: [
        (k, v + 10 if k == 1 and v is not None else v) for k, v in rows
    ],
    "delete from t where k = 1": lambda rows: [row for row in rows if row[0] != 1],
    "delete from t where k in (select max(k) from t)": lambda rows: [
        row for row in rows if row[0] is None or row[0] != top(rows)
    ],
    "truncate table t": lambda _: [],
    "create or replace table t as select 3 as k, 3 as v": lambda _: [(3, 3)],
    "optimize t": lambda rows: rows,
}  # fmt: skip


@pytest.fixture(scope="module")
def writers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Client]]:
    place = str(tmp_path_factory.mktemp("serial") / "warehouse")
    with (
        connect(place, schema="shop", create=True, spark=SPARK) as one,
        connect(place, schema="shop", spark=SPARK) as other,
    ):
        one.sql("create schema shop")
        yield one, other


@settings(max_examples=max(1, settings().max_examples // 8))
@given(
    before=st.sampled_from([[], [(1, 1)], [(1, 1), (2, 2)]]),
    ours=st.sampled_from(sorted(STATEMENTS)),
    theirs=st.sampled_from(sorted(STATEMENTS)),
)
def test_two_statements_leave_what_they_leave_one_after_the_other(
    writers: tuple[Client, Client], before: Rows, ours: str, theirs: str
) -> None:
    one, other = writers
    one.sql("create or replace table t (k int, v int)")
    if before:
        one.sql(f"insert into t values {', '.join(map(str, before))}")
    overtaken(one, ours, lambda: other.sql(theirs))
    first, second = STATEMENTS[theirs], STATEMENTS[ours]
    legal = [second(first(before)), first(second(before))]
    found: Any = rows_of(one.sql("select k, v from t"))
    assert in_order(found) in [in_order(rows) for rows in legal]


def overtaken(client: Client, text: str, other: Callable[[], object]) -> None:
    """Run a statement, and another writer's just before it lands, or after it if it never does."""
    line: Any = client._workspace.line
    land, waiting = line.land, [other]

    def landed(*args: Any, **kwargs: Any) -> Any:
        while waiting:
            waiting.pop()()
        return land(*args, **kwargs)

    line.land = landed
    try:
        client.sql(text)
    finally:
        line.land = land
    while waiting:
        waiting.pop()()


def in_order(rows: Rows) -> Rows:
    return sorted(rows, key=repr)
