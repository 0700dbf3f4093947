"""Branches that changed the same rows, merged on two workers in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.changes.merges import table_merge
from dbt.adapters.vcs.changes.merges.table_merge import merge_tables
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.engines.row_sessions import ENGINE
from dbt.adapters.vcs.table.limits import Limits

from .drivers import Open, check, rows_of

ROWS = 30_000
NOTHING = Limits(rows=-1, bytes=-1)
Row = dict[str, Any]


def base(id: int) -> Row:
    return {"id": id, "a": id % 10, "b": f"b{id % 5}"}


def ours(id: int) -> Row | None:
    """Return a row of main: a third has another a, some are gone."""
    if id % 100 == 1:
        return None
    return {**base(id), "a": -1} if id % 3 == 0 else base(id)


def theirs(id: int) -> Row | None:
    """Return a row of dev: others, and some of the same, have another a or b, or are gone."""
    if id % 100 == 3:
        return None
    if id % 5 == 0:
        return {**base(id), "a": -2 if id % 15 == 0 else base(id)["a"], "b": "dev"}
    return {**base(id), "b": "dev"} if id % 99 == 0 else base(id)


def resolved(id: int, mode: str) -> Row | None:
    """Return the merged row by the table of cases in docs/merge.md."""
    b, o, t = base(id), ours(id), theirs(id)
    if t == b or o == t:
        return o
    if o == b:
        return t
    if mode == "cell_skip" and o is not None and t is not None:
        return {name: _cell(b[name], o[name], t[name]) for name in b}
    return t if mode == "accept" else o


def _cell(b: object, o: object, t: object) -> object:
    return t if o == b else o


def conflicts(mode: str) -> int:
    """Count the rows that both sides changed differently, and the mode has to decide."""
    found = 0
    for id in range(ROWS):
        b, o, t = base(id), ours(id), theirs(id)
        clash = b not in (o, t) and o != t
        if clash and mode == "cell_skip" and o is not None and t is not None:
            clash = any(b[n] not in (o[n], t[n]) and o[n] != t[n] for n in b)
        found += clash
    return found


@pytest.fixture(scope="module")
def main(opened: Open, tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The branch main; dev began where main was, and both changed since."""
    repository = tmp_path_factory.mktemp("branches") / "ware house"
    main = opened(repository)
    main.sql(
        "create table t tblproperties ('primary_key' = 'id', 'vcs.write_mode' = 'merge_on_read') "
        f"as select id, id % 10 a, concat('b', id % 5) b from range(0, {ROWS}, 1, 4)"
    )
    main.create("dev").close()
    dev = opened(repository, "dev")
    main.sql("update t set a = -1 where id % 3 = 0")
    main.sql("delete from t where id % 100 = 1")
    dev.sql("update t set b = 'dev' where id % 5 = 0 or id % 99 = 0")
    dev.sql("update t set a = -2 where id % 15 = 0")
    dev.sql("delete from t where id % 100 = 3")
    assert rows_of(main, "t") == rows(ours(id) for id in range(ROWS))
    assert rows_of(dev, "t") == rows(theirs(id) for id in range(ROWS))
    return main


@pytest.fixture(params=["here", "by Spark"], scope="module")
def where(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where rows are decided: a merge of this size in this process, or by the executors."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "by Spark":
            engine = partial(merge_tables, limits=NOTHING)
            patch.setattr(table_merge, "merge_tables", engine)
            patch.setenv(ENGINE, "spark")
        yield request.param


def rows(of: Iterator[Row | None]) -> dict[int, Row]:
    return {row["id"]: row for row in of if row is not None}


def test_conflicts_change_nothing(main: Client, where: str) -> None:
    name = f"fail-{where.replace(' ', '-')}"
    with main.create(name) as trunk:
        before = main.repository.branch(name).head
        with pytest.raises(
            ConflictError, match=f"t: {conflicts('fail')} rows changed differently"
        ):
            trunk.merge("dev")
        assert main.repository.branch(name).head == before
        assert rows_of(trunk, "t") == rows(ours(id) for id in range(ROWS))


@pytest.mark.parametrize("mode", ["skip", "accept", "cell_skip"])
def test_a_mode_decides_conflicts(main: Client, where: str, mode: str) -> None:
    with main.create(f"{mode}-{where.replace(' ', '-')}") as trunk:
        report = trunk.merge("dev", on_conflict=mode)
        [merged] = report.relations
        assert merged.conflicts == conflicts(mode) > 0
        assert rows_of(trunk, "t") == rows(resolved(id, mode) for id in range(ROWS))
        assert trunk.merge("dev").how == "up_to_date"
    check(main.repository)


def test_branches_are_left_as_they_were(main: Client) -> None:
    assert rows_of(main, "t") == rows(ours(id) for id in range(ROWS))
    dev = main.sql("select * from t version as of 'dev'").to_pylist()
    assert {row["id"]: row for row in dev} == rows(theirs(id) for id in range(ROWS))
