"""Errors at the end of a run are reported as dbt reports its own."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import Any, cast

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.vcs.core.errors import ConflictError, StorageError
from dbt.adapters.vcs.project.events import RunListener
from dbt.adapters.vcs.project.run import RunLife


def event(name: str, **data: Any) -> Any:
    return SimpleNamespace(info=SimpleNamespace(name=name), data=SimpleNamespace(**data))


class Life:
    """A run whose publish and whose nodes fail."""

    is_ended = False

    def end(self, success: bool, seconds: float) -> None:
        self.is_ended = True
        raise ConflictError("analytics.b was changed on both sides.")

    def end_node(self, node: Any) -> None:
        raise StorageError("The disk is full.")


def listener() -> RunListener:
    life = Life()
    return RunListener(lambda: cast(RunLife, life), lambda: None, lambda nodes: None)


@pytest.mark.parametrize(
    "last",
    [event("ArtifactWritten", artifact_type="RunExecutionResult"), event("EndOfRunSummary")],
)
def test_a_publish_that_fails_is_told_once_results_are_safe(last: Any) -> None:
    listen = listener()
    listen(event("EndRunResult", success=True, elapsed_time=1.0))
    with pytest.raises(DbtRuntimeError, match=r"analytics\.b was changed on both sides") as caught:
        listen(last)
    assert isinstance(caught.value.__cause__, ConflictError)
    listen(event("EndOfRunSummary"))


def test_a_step_that_fails_is_told() -> None:
    node = SimpleNamespace(
        node_relation=SimpleNamespace(schema="s", alias="a"), unique_id="model.shop.a"
    )
    result = SimpleNamespace(status="success", execution_time=1.0)
    with pytest.raises(DbtRuntimeError, match="The disk is full"):
        listener()(event("NodeFinished", node_info=node, run_result=result))


class Stopped(Life):
    """A run that Ctrl-C stopped, and whose user presses it again while that is written down."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.can_go_on: bool | None = None

    def interrupt(self) -> frozenset[str]:
        for _ in range(self.times):
            os.kill(os.getpid(), signal.SIGINT)
        return frozenset()

    def abandon(self, *, can_go_on: bool) -> None:
        self.can_go_on = can_go_on


def test_a_second_ctrl_c_does_not_keep_a_run_from_being_marked() -> None:
    before = signal.getsignal(signal.SIGINT)
    written = event("ArtifactWritten", artifact_type="RunExecutionResult")
    for times in (1, 2):
        life = Stopped(times)
        listen = RunListener(lambda life=life: life, lambda: None, lambda nodes: None)  # type: ignore[misc]
        if times == 1:
            listen(written)
        else:
            with pytest.raises(KeyboardInterrupt):
                listen(written)
        assert (life.can_go_on is None) == (times == 2)
        assert signal.getsignal(signal.SIGINT) is before
