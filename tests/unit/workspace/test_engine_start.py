"""An engine that starts, and those who wait for it."""

from __future__ import annotations

import threading

import pytest

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection, Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from tests.unit.fake_engine import FakeEngine


class Slow(FakeEngine):
    """An engine whose start takes until it is let go, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(MemoryBlobs())
        self.starts: list[str] = []
        self.go = threading.Event()
        self._error = error

    def start(self) -> None:
        self.starts.append(threading.current_thread().name)
        self.go.wait(30)
        if self._error is not None:
            raise self._error


def connected(engine: FakeEngine, many: int = 1) -> list[Connection]:
    repository = Repository.create(MemoryBlobs(), author="ann")
    workspace = Workspace(
        repository, BranchLine(repository, "main", "ann"), lambda: engine, schema="default"
    )
    return [workspace.connect(f"c{number}") for number in range(many)]


def asking(connection: Connection) -> tuple[threading.Thread, list[object]]:
    """Ask for a session in a thread; the list gets it, or the error."""
    told: list[object] = []

    def ask() -> None:
        try:
            told.append(connection.session())
        except EngineError as error:
            told.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, told


def test_whoever_is_stopped_does_not_wait_for_the_start() -> None:
    engine = Slow()
    stopped, waits = connected(engine, 2)
    (first, said), (second, given) = asking(stopped), asking(waits)
    stopped.stop()
    first.join(10)
    assert not first.is_alive() and isinstance(said[0], EngineError)
    assert second.is_alive() and not given
    engine.go.set()
    second.join(10)
    assert given and not isinstance(given[0], EngineError)
    assert engine.starts == ["vcs-start"]


@pytest.mark.parametrize("error", [EngineError("no Java"), ModuleNotFoundError("pyspark")])
def test_a_start_that_fails_leaves_the_error_to_the_session(
    error: Exception, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = Slow(error)
    (connection,) = connected(engine)
    thread, given = asking(connection)
    engine.go.set()
    thread.join(10)
    assert given and not thread.is_alive()
    assert "Traceback" not in capfd.readouterr().err


def test_the_main_thread_starts_the_engine_itself() -> None:
    engine = Slow()
    (connection,) = connected(engine)
    assert connection.session() is not None
    assert engine.starts == []
