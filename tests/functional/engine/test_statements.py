"""Statements run, fail and are cancelled."""

import threading
import time
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.engine_errors import CancelledError, StatementError
from dbt.adapters.vcs.engines.port import Column
from dbt.adapters.vcs.engines.spark.session import ProcessSession

from .bench import Bench
from .conftest import EngineFactory

pytestmark = pytest.mark.spark
ALL_ENGINES = True

# Without a shuffle, since a task that spills to a slow disk can't be interrupted.
FOREVER = "select count(*) from range(0, 4000000000000, 1, 4) where id < rand() - 1"


def test_python_values(bench: Bench) -> None:
    rows = bench.session.query(
        """select 1 i, 1.50 d, 'x' s, X'00ff' b, date'2026-01-02' day,
                  timestamp'2026-01-02 03:04:05.000006' ts, timestamp_ntz'2026-01-02 03:04:05' ntz,
                  interval '1 2' day to hour dt, interval '1-2' year to month ym,
                  parse_json('{"a": [1, null]}') v, array(1, null) a, map('k', X'01') m,
                  named_struct('x y', 1, 'z', array(named_struct('t', timestamp'2026-01-02'))) st,
                  map(named_struct('k', 1), 2) mk, cast(null as string) n,
                  array(parse_json('1')) va,
                  map('i', interval '1' day) mi"""
    )
    assert rows.fetch() == [
        (
            1,
            Decimal("1.50"),
            "x",
            b"\x00\xff",
            date(2026, 1, 2),
            datetime(2026, 1, 2, 3, 4, 5, 6),
            datetime(2026, 1, 2, 3, 4, 5),
            "INTERVAL '1 02' DAY TO HOUR",
            "INTERVAL '1-2' YEAR TO MONTH",
            '{"a":[1,null]}',
            [1, None],
            {"k": b"\x01"},
            {"x y": 1, "z": [{"t": datetime(2026, 1, 2)}]},
            {(("k", 1),): 2},
            None,
            ["1"],
            {"i": "INTERVAL '1' DAY"},
        )
    ]
    assert [type(value) for value in rows.fetch()[0]][3] is bytes


def test_arrow(bench: Bench) -> None:
    table = bench.session.query(
        """select 1 a, 'x' a, timestamp'2026-01-02' t, parse_json('[1]') v,
                  interval '1-2' year to month ym, cast(null as timestamp_ntz) n"""
    ).arrow()
    assert table.column_names == ["a", "a", "t", "v", "ym", "n"]
    assert table.schema.types == [
        pa.int32(),
        pa.string(),
        pa.timestamp("us", "UTC"),
        pa.string(),
        pa.string(),
        pa.timestamp("us"),
    ]
    assert table.column(3).to_pylist() == ["[1]"]
    assert bench.session.query("select 1 a where false").arrow().num_rows == 0


def test_a_limit(bench: Bench) -> None:
    rows = bench.session.query(
        "select id, timestamp'2026-01-01' t from range(100) order by id desc"
    )
    assert [row[0] for row in rows.fetch(3)] == [99, 98, 97]
    assert rows.fetch(0) == []
    assert len(rows.fetch()) == 100


def test_dates_that_python_lacks(bench: Bench) -> None:
    rows = bench.session.query("select make_date(20000, 1, 1) d")
    with pytest.raises(EngineError, match="Cast the column to string"):
        rows.fetch()
    assert rows.arrow().column(0).cast(pa.int32()).to_pylist() == [6_585_322]


def test_analysis_runs_nothing(bench: Bench) -> None:
    session = bench.session
    assert session.analysed("select 1 a, raise_error('no') b").columns == (
        Column(name="a", type="int", nullable=False),
        Column(name="b", type="void"),
    )
    assert session.analysed("create table default.never (a int) using parquet").columns == ()
    assert bench.rows("show tables in default") == []


def test_commands_answer_rows(bench: Bench, method: str) -> None:
    bench.session.ensure_schema("some_schema")
    bench.session.ensure_schema("some_schema")
    # A catalog that is somebody else's has nothing of a branch.
    assert (("some_schema",) in bench.rows("show schemas")) is (method == "session")
    assert bench.session.query("use some_schema").fetch() == []


@pytest.mark.parametrize(
    ("text", "condition", "words"),
    [
        ("select * from nope", "TABLE_OR_VIEW_NOT_FOUND", "`nope` cannot be found"),
        ("selec 1", "PARSE_SYNTAX_ERROR", "selec 1"),
        ("select b from (select 1 a)", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "line 1 pos 7"),
        ("select raise_error('boo') from range(3)", "USER_RAISED_EXCEPTION", "boo"),
        ("select (select id from range(2))", "SCALAR_SUBQUERY_TOO_MANY_ROWS", "More than one row"),
        ("select cast('x' as int) / id from range(1)", None, ""),
    ],
)
def test_errors_are_sparks_own_words(
    bench: Bench, text: str, condition: str | None, words: str
) -> None:
    if condition is None:
        assert bench.rows(text) == [(None,)]
        return
    with pytest.raises(StatementError) as caught:
        bench.session.query(text).fetch()
    message = str(caught.value)
    assert caught.value.condition == condition
    assert words in message
    assert "\tat " not in message and "org.apache" not in message and "+- " not in message
    assert len(message) < 1_000
    assert caught.value.__cause__ is not None


def test_python_functions_fail_with_their_own_line(bench: Bench) -> None:
    bench.session.spark.udf.register("broken", lambda value: 1 / 0, IntegerType())
    with pytest.raises(StatementError, match="ZeroDivisionError"):
        bench.session.query("select broken(id) from range(1)").fetch()


@pytest.mark.parametrize("how", ["fetch", "write", "arrow"])
def test_cancel_ends_a_long_statement(bench: Bench, how: str) -> None:
    session, outcome = bench.session, []

    def work() -> None:
        try:
            if how == "write":
                bench.write(FOREVER)
            else:
                getattr(session.query(FOREVER), how)()
        except EngineError as error:
            outcome.append(error)

    wait = _job_watcher(session)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    wait()
    began = time.monotonic()
    session.cancel()
    thread.join(20)
    assert time.monotonic() - began < 10
    assert [type(error) for error in outcome] == [CancelledError]
    assert "cancelled" in str(outcome[0])
    assert not list(bench.blobs.walk("data"))
    assert bench.rows("select 1") == [(1,)], "the session goes on"


def test_cancel_ends_a_statement_in_which_another_session_was_asked(bench: Bench) -> None:
    session, other, outcome = bench.session, bench.engine.session("other"), []

    def work() -> None:
        try:
            with session.statement():
                assert other.query("select 1").fetch() == [(1,)]
                other_is_done.set()
                session.query(FOREVER).fetch()
        except EngineError as error:
            outcome.append(error)

    other_is_done = threading.Event()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert other_is_done.wait(60)
    _job_watcher(session)()
    session.cancel()
    thread.join(20)
    assert [type(error) for error in outcome] == [CancelledError]
    assert bench.rows("select 1") == [(1,)], "the session goes on"


def test_cancel_leaves_other_sessions_alone(bench: Bench) -> None:
    other = bench.engine.session("other")
    answers = []
    wait = _job_watcher(other)
    thread = threading.Thread(
        target=lambda: answers.append(
            other.query("select sum(id % 7) from range(10000000)").fetch()
        )
    )
    thread.start()
    wait()
    bench.session.cancel()
    thread.join(60)
    assert len(answers) == 1


def test_a_closed_session_refuses(bench: Bench, engine_factory: EngineFactory) -> None:
    engine = engine_factory(bench.blobs)
    session = engine.session("short")
    session.close()
    with pytest.raises(EngineError, match="session is closed"):
        session.query("select 1")
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="engine is closed"):
        engine.session("late")


def _job_watcher(session: Any) -> Callable[[], None]:
    """Return a function that waits until a job of the session runs."""
    if not isinstance(session, ProcessSession):
        # A server tells its client from time to time how far a statement is.
        began = threading.Event()
        session.spark.registerProgressHandler(lambda *_, **__: began.set())

        def wait_for_server() -> None:
            assert began.wait(20), "no job started"

        return wait_for_server

    tracker = session.spark.sparkContext.statusTracker()

    def wait() -> None:
        for _ in range(200):
            if tracker.getActiveJobsIds():
                return
            time.sleep(0.05)
        raise AssertionError("no job started")

    return wait
