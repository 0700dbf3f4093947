"""Events: follow the progress of a run by dbt's own events."""

from __future__ import annotations

import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, Final

from dbt.artifacts.schemas.results import RunStatus
from dbt.artifacts.schemas.run import RunResult
from dbt.task.runnable import GraphRunnableTask
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.model import NodeRun
from dbt.adapters.vcs.project.run import RunLife, is_node
from dbt.adapters.vcs.workspace.run_branch import SKIPPED

_REUSED: Final[Any] = getattr(RunStatus, "Reused", None)
"""dbt's status of nodes that were not computed again, from dbt-core 1.12 on."""


class RunListener:
    """Turns dbt's events into the steps of a run.

    dbt has no adapter hook for "the run is over", but fires events in a fixed order:
    ConcurrencyLine before anything runs, NodeFinished
    for each node, EndRunResult with dbt's own verdict, ArtifactWritten once run_results.json is
    written, CommandCompleted. A publish that fails is raised when run_results.json is safe. On
    Ctrl-C there is no EndRunResult, nor after an error that stops dbt, such as one that a hook's
    Jinja raises: MainEncounteredError comes instead. Nor is there one of source freshness, whose
    last event is FreshnessCheckComplete.

    Errors are raised as dbt's: of any other dbt shows the stack.
    """

    def __init__(
        self,
        life: Callable[[], RunLife | None],
        close: Callable[[], None],
        before: Callable[[Sequence[Any]], None],
        typed: Callable[[str], str] = str,
    ) -> None:
        """`life` returns the run, or None before it starts.

        `close` releases the engine; `before` gets the nodes before the first one runs; `typed`
        gives the commands in a message the options of this one.
        """
        self._life = life
        self._close = close
        self._before = before
        self._typed = typed
        self._error: VcsError | None = None
        self._stopped_by: str | None = None
        self._handlers: dict[str, Callable[[RunLife, Any], None]] = {
            "NodeFinished": self._node_finished,
            "LogHookEndLine": self._hook_ended,
            "EndRunResult": self._end_run_result,
            "ArtifactWritten": self._artifact_written,
            "EndOfRunSummary": self._end_of_run_summary,
            "FreshnessCheckComplete": self._freshness_check_complete,
            "MainEncounteredError": self._main_encountered_error,
            "CommandCompleted": self._command_completed,
        }

    def __call__(self, message: Any) -> None:
        """Handle one event.

        Raises:
            DbtRuntimeError: Handling the event failed.
        """
        if message.info.name == "ConcurrencyLine":
            self._about_to_run()
        handler = self._handlers.get(message.info.name)
        if handler is None:
            return
        life = self._life()
        if life is not None:
            try:
                handler(life, message.data)
            except VcsError as error:
                raise DbtRuntimeError(self._typed(str(error))) from error
        if message.info.name == "CommandCompleted":
            self._close()

    def _about_to_run(self) -> None:
        try:
            # An internal name of dbt. Where a release lacks it nothing is checked, and builds
            # still run.
            self._before(getattr(_running_task(), "_flattened_nodes", None) or ())
        except VcsError as error:
            raise DbtRuntimeError(self._typed(str(error))) from error

    def _node_finished(self, life: RunLife, data: Any) -> None:
        node, result = data.node_info, data.run_result
        relation = node.node_relation
        named = relation.schema and relation.alias and is_node(node.unique_id)
        ended = life.end_node(
            NodeRun(
                id=node.unique_id,
                status=str(result.status).lower(),
                seconds=round(result.execution_time, 3),
                relation=f"{relation.schema}.{relation.alias}".lower() if named else None,
            )
        )
        if ended is None:
            return
        if ended.status == SKIPPED:
            # So that `dbt retry` builds it again, and `dbt build` skips what reads it.
            _report(ended.id, RunStatus.Skipped)
        elif _REUSED is not None and ended.reused is not None and ended.status == "success":
            _report(ended.id, _REUSED)

    def _hook_ended(self, life: RunLife, data: Any) -> None:
        life.record.hooks[data.statement] = str(data.status).lower()

    def _end_run_result(self, life: RunLife, data: Any) -> None:
        if life.is_ended:
            return
        try:
            life.end(bool(data.success), float(data.elapsed_time))
        except VcsError as error:
            # Raised later: dbt has not written run_results.json yet, and never would.
            self._error = error

    def _artifact_written(self, life: RunLife, data: Any) -> None:
        if data.artifact_type != "RunExecutionResult":
            return
        if not life.is_ended:
            # No result came before the artifact: Ctrl-C. The changes of nodes that still run are
            # dropped.
            with _once_is_enough():
                is_complete = _complete_record(life.interrupt())
                life.abandon(can_go_on=is_complete)
        self._raise()

    def _end_of_run_summary(self, life: RunLife, data: Any) -> None:
        # With --no-write-json no artifact is written.
        self._raise()

    def _freshness_check_complete(self, life: RunLife, data: Any) -> None:
        if not life.is_ended:
            life.end(not life.record.failed, life.seconds)

    def _main_encountered_error(self, life: RunLife, data: Any) -> None:
        # dbt fires it while it handles the error, which has more details than the event's text.
        error = sys.exc_info()[1]
        if not isinstance(error, KeyboardInterrupt | SystemExit):
            self._stopped_by = _clause(error)

    def _command_completed(self, life: RunLife, data: Any) -> None:
        if not life.is_ended:
            life.abandon(can_go_on=False, error=self._stopped_by)
        # Last, so that commands of hooks find run_results.json, and dbt's own end isn't late.
        life.hooks.call()

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error


def _clause(error: BaseException | None) -> str:
    """Return what an error stopped: a hook, if it was raised while rendering the hook's Jinja."""
    # Neither the event nor the error names the hook, only the frame that renders it does.
    for frame, _ in traceback.walk_tb(error.__traceback__ if error is not None else None):
        if frame.f_code.co_name == "get_hook_sql":
            return f"the hook {frame.f_locals['hook'].name} failed"
    return "an error stopped dbt"


@contextmanager
def _once_is_enough() -> Iterator[None]:
    """Take no notice of one more Ctrl-C within the block; a third stops what hangs.

    A second one, while what the first one stopped is written down, would leave a run that can't
    be retried.
    """
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread gets signals, and may say what they do.
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: signal.signal(signal.SIGINT, before))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _complete_record(kept: Collection[str]) -> bool:
    """Add the selected nodes that have no result to run_results.json, as skipped.

    When it is interrupted, dbt writes that file with only the nodes that have ended; after
    `--fail-fast` it adds the others, as this function does. Without them `dbt retry` would resume
    only a part of the run, find no failure, and publish it.

    Args:
        kept: Ids of nodes whose changes are kept, whatever dbt's record says.

    Returns:
        False if the file could not be completed; the run must not be retried then.
    """
    task = _running_task()
    if task is None or task._flattened_nodes is None:
        return False
    known = {result.node.unique_id for result in task.node_results} | set(kept)
    skipped = [
        RunResult.from_node(node, RunStatus.Skipped, "Interrupted")
        for node in task._flattened_nodes
        if node.unique_id not in known
    ]
    record = task.get_result(
        results=[*task.node_results, *skipped],
        elapsed_time=time.time() - task.started_at,
        # As dbt has its times: in UTC, without a zone.
        generated_at=datetime.now(timezone.utc).replace(tzinfo=None),
    )
    # Where dbt wrote its own a moment ago.
    record.write(task.result_path())
    return True


def _report(id: str, status: RunStatus) -> None:
    """Give the result of a node, of which dbt is just saying that it ended, another status.

    What dbt counts, and run_results.json, have that status; the event that is being fired has not.
    """
    # No hook of an adapter says how a node ended: dbt's runners do, in a variable.
    for frame, _ in traceback.walk_stack(sys._getframe()):
        result = frame.f_locals.get("result")
        if isinstance(result, RunResult) and result.node.unique_id == id:
            if result.status != status:
                result.status = status
                # Of a node that was skipped, dbt takes a message for an error.
                result.message = None if status == RunStatus.Skipped else result.message
            return


def _running_task() -> Any:
    """Return dbt's task from the call stack, or None; dbt doesn't pass it to adapters."""
    # Events carry no task, and dbt fires them on the stack of the one that runs.
    for frame, _ in traceback.walk_stack(sys._getframe()):
        task = frame.f_locals.get("self")
        if isinstance(task, GraphRunnableTask):
            return task
    return None
