"""Tasks that fail, or whose executor dies, in the middle of a write: no row is theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import EngineError
from tests.functional.engine.faltering import Faltering, Trouble

from .drivers import Open, check, rows_of

EVERY, TASKS = 20_000, 4
ROWS = EVERY * TASKS
LAST = [EVERY * (task + 1) - 1 for task in range(TASKS)]
FROM = f"range(0, {ROWS}, 1, {TASKS})"

STATEMENTS = {
    "create table as": "create table {t} as select id, falter(id) v, id % 3 p from {rows}",
    "partitions": (
        "create table {t} partitioned by (p) as select id, falter(id) v, id % 3 p from {rows}"
    ),
    "insert": "insert into {t} select id, falter(id), id % 3 from {rows}",
    "overwrite": "insert overwrite {t} select id, falter(id), id % 3 from {rows}",
}
EXPECTED = {id: {"id": id, "v": id, "p": id % 3} for id in range(ROWS)}


def prepared(statement: str) -> list[str]:
    """Return what has to be there before a statement runs."""
    if statement.startswith("create table"):
        return []
    made = ["create table {t} (id bigint, v bigint, p bigint)"]
    if "overwrite" in statement:
        made.append("insert into {t} values (-1, -1, -1)")
    return made


@pytest.mark.parametrize("trouble", ["fail", "die"])
@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_second_attempt_ends_a_write_right(
    opened: Open, tmp_path: Path, kind: str, trouble: Trouble
) -> None:
    repository = tmp_path / "ware house"
    client = opened(repository)
    values = LAST if trouble == "fail" else LAST[:1]
    faltering = Faltering(folder=repository, every=EVERY, trouble=trouble, values=values)
    client.sql(faltering.statement())
    text = STATEMENTS[kind].format(t="t", rows=FROM)
    for before in prepared(text):
        client.sql(before.format(t="t"))
    client.sql(text)

    assert rows_of(client, "t") == EXPECTED
    seen = faltering.attempts()
    assert {task for task, attempt in seen if attempt == 0} == set(range(TASKS))
    assert {task for task, attempt in seen if attempt == 1} >= (
        set(range(TASKS)) if trouble == "fail" else {0}
    )
    if trouble == "die" and kind != "partitions":
        # What the dead executor had written was beside what replaced it. (Rows of partitions are
        # sorted before the first file is opened.)
        assert faltering.leftovers() == {0}
    check(client.repository)


def test_a_task_that_always_fails_changes_nothing(opened: Open, tmp_path: Path) -> None:
    repository = tmp_path / "ware house"
    client = opened(repository)
    client.sql("create table t (id bigint, v bigint, p bigint)")
    client.sql("insert into t values (1, 2, 3)")
    before = client.repository.branch("main").head
    faltering = Faltering(folder=repository, every=EVERY, trouble="never")
    client.sql(faltering.statement())
    made = client.repository.branch("main").head
    for kind in ("insert", "overwrite"):
        with pytest.raises(EngineError, match="this task falters"):
            client.sql(STATEMENTS[kind].format(t="t", rows=FROM))
    assert (0, 3) in faltering.attempts() or (1, 3) in faltering.attempts()
    assert made != before
    assert client.repository.branch("main").head == made
    assert client.sql("select * from t").to_pylist() == [{"id": 1, "v": 2, "p": 3}]
    check(client.repository)


def test_row_changes_survive_failing_tasks(opened: Open, tmp_path: Path) -> None:
    repository = tmp_path / "ware house"
    client = opened(repository)
    faltering = Faltering(folder=repository, every=EVERY, trouble="fail", values=LAST)
    client.sql(
        "create table t tblproperties ('primary_key' = 'id', 'vcs.write_mode' = 'merge_on_read') "
        f"as select id, id v from {FROM}"
    )
    client.sql(faltering.statement())
    client.sql("update t set v = falter(id) + 1 where id % 2 = 1")
    assert any(attempt == 1 for _, attempt in faltering.attempts())
    client.sql(faltering.statement("again"))
    client.sql(
        f"merge into t using (select again(id) id from {FROM} where id % 4 = 3) s on t.id = s.id "
        "when matched then update set v = -1"
    )
    assert any(attempt == 1 for _, attempt in faltering.attempts())
    expected = {id: {"id": id, "v": -1 if id % 4 == 3 else id + id % 2} for id in range(ROWS)}
    assert rows_of(client, "t") == expected
    check(client.repository)
