"""The life of one dbt invocation: a run branch, one commit per node, one publish at the end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from shlex import quote

import msgspec
from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.vcs.changes.merges.project_rules import Rules
from dbt.adapters.vcs.commands.options import with_options
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.model import NodeRun, Origin, RelationName, Run, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.credentials import VcsCredentials
from dbt.adapters.vcs.hooks.branch_event import RunFailure
from dbt.adapters.vcs.hooks.hook_calls import HookQueue
from dbt.adapters.vcs.project.invocation import Invocation
from dbt.adapters.vcs.project.manifest import Project
from dbt.adapters.vcs.project.node_steps import (
    LoggedStep,
    NodeStep,
    RunLog,
    Sent,
    Work,
    record_consumed,
    savings_line,
    with_savings,
)
from dbt.adapters.vcs.project.operations import PostponedOperations
from dbt.adapters.vcs.project.publication import Publication
from dbt.adapters.vcs.project.reuse_modes import ReuseModes
from dbt.adapters.vcs.project.run_record import RunRecord
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.reuse.taken_versions import settle_history
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection, Upkeep, Workspace
from dbt.adapters.vcs.workspace.lines.lines import RunLine
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import FAILED, PENDING, PREFIX, SKIPPED, UNDONE, Status
from dbt.adapters.vcs.workspace.shared_run import note_undone, put_results, undone_before
from dbt.adapters.vcs.workspace.statement_scope import Outcome

logger = AdapterLogger("Vcs")

# dbt calls the connection of a node by the node's unique id.
_NODES = ("model.", "seed.", "snapshot.", "test.", "unit_test.", "function.")


def is_node(name: str) -> bool:
    """Return whether a connection's name is that of a node that dbt runs."""
    return name.startswith(_NODES)


def is_hook(name: str) -> bool:
    """Return whether a connection's name is that of a project hook that dbt compiles."""
    return name.startswith("operation.")


class RunLife:
    """One invocation that may change its target branch.

    The changes of a node are collected in a step and committed to the run branch when the node
    succeeds; the changes of a node that ends in an error are dropped. Statements outside nodes
    (schemas, hooks, operations) are committed one by one. The target branch moves once, at the
    end.
    """

    def __init__(
        self,
        workspace: Workspace,
        line: RunLine,
        invocation: Invocation,
        project: Project,
        *,
        credentials: VcsCredentials,
        rules: Rules,
        say: Callable[[str], None],
    ) -> None:
        """Take what the run works with; `say` writes a line to dbt's log."""
        self.workspace = workspace
        self.line = line
        self.invocation = invocation
        self.is_ended = False
        self._project = project
        self._credentials = credentials
        self._rules = rules

        def warn(text: str) -> None:
            logger.warning(with_options(text, invocation.options))

        self._upkeep = Upkeep(workspace, line, auto=credentials.auto_optimize, warn=warn)
        # Called for what the run did, once dbt is done with it.
        self.hooks = HookQueue(rules.hooks, warn)
        self._modes = ReuseModes(
            workspace.repository,
            project.node,
            said=invocation.reuse,
            refreshes=invocation.refreshes,
        )
        self._say = say
        self._lock = threading.Lock()
        # Nodes end in parallel; each commit of the run branch follows the last one.
        self._landing = threading.Lock()
        self._is_interrupted = False
        self._steps: dict[str, NodeStep] = {}
        self._outside: list[Reuse] = []
        self.record = RunRecord(workspace.repository, line, invocation, project)
        # As it is when the command begins to read: what is built again meanwhile it may not see.
        self._undone: frozenset[str] = (
            undone_before(self.repository, line.run.target) if self.record.is_part else frozenset()
        )
        self._log = RunLog()
        self.postponed = PostponedOperations(say)

    @property
    def repository(self) -> Repository:
        """The repository."""
        return self.workspace.repository

    @property
    def seconds(self) -> float:
        """Wall time in seconds since the run started."""
        return (self.repository.clock() - self.line.run.started_at) / 1_000_000

    def announce(self, ids: Collection[str]) -> None:
        """Let a shared run know which nodes the command is about to build.

        Whoever publishes the run misses them if the command is killed.

        Raises:
            VcsError: It could not be recorded, or nothing can be added to the run any more.
        """
        if not (self.record.is_part and ids):
            return
        self.record.announced = tuple(ids)
        nodes = [NodeRun(id=id, status=PENDING) for id in ids]
        run, author = self.line.run.target, self.invocation.author
        # The id of the run, since by its own a command is recognised as one that has landed.
        record = msgspec.structs.replace(
            self.record.of(nodes), invocation=run.removeprefix(PREFIX)
        )
        message = f"dbt {self.invocation.command}: begun"
        put_results(self.repository, run, record, message, author)

    def execute(self, connection: Connection, name: str, text: str, origin: Origin) -> Outcome:
        """Execute a statement that dbt sends over the named connection."""
        if is_node(name):
            # Decision 5: the statements of a node are committed together, when it has ended.
            step = self._step(name)
            with step.lock:
                overlay = step.overlay(self.workspace)
                outcome = connection.execute(text, overlay, origin=origin, reuse=step.reuse)
                step.note(outcome.inputs)
                step.said.append(Sent(text))
                return outcome
        # Decision 5: outside of nodes each statement is a commit of its own.
        overlay, reuse = self.workspace.begin(), self._modes.reuse(name, self.line.branch)
        outcome = connection.execute(text, overlay, origin=origin, reuse=reuse)
        self.land(overlay, name)
        self._log.add(
            LoggedStep(
                id=name,
                origin=origin,
                reads=outcome.inputs,
                writes=dict(overlay.relations),
                statements=(Sent(text),),
            )
        )
        self._remember(reuse)
        # The rows of a query are fetched later.
        self._outside.append(reuse)
        return outcome

    def change(
        self, connection: Connection, name: str, work: Work, origin: Origin, *, repeatable: bool
    ) -> Outcome:
        """Do work on the overlay of the named connection, in the way of `execute`."""
        if is_node(name):
            step = self._step(name)
            with step.lock:
                if repeatable:
                    step.said.append(Sent(name, work=work))
                else:
                    step.did_more = True
                outcome = work(connection, step.overlay(self.workspace), origin)
                step.note(outcome.inputs)
                return outcome
        overlay = self.workspace.begin()
        outcome = work(connection, overlay, origin)
        self.land(overlay, name)
        # Without statements: work outside of nodes isn't carried out again.
        self._log.add(LoggedStep(id=name, origin=Origin(), writes=dict(overlay.relations)))
        return outcome

    def reuse(self, name: str) -> Reuse:
        """Return the results that the named connection may take."""
        if is_node(name):
            return self._step(name).reuse
        return self._modes.reuse(name, self.line.branch)

    def overlay(self, name: str) -> Overlay:
        """Return what the named connection sees now; not for changes."""
        if is_node(name):
            return self._step(name).overlay(self.workspace)
        return self.workspace.begin()

    def land(self, overlay: Overlay, message: str, run: Run | None = None) -> None:
        """Commit an overlay to the run branch, unless it has no changes."""
        # Decision 30: a version that was taken gets the branch's own version as its first parent.
        settle_history(overlay)
        if not overlay.is_empty:
            self.line.land(overlay, message, run)

    def end_node(self, node: NodeRun) -> NodeRun | None:
        """Keep or drop a node's changes when it has ended; return what is recorded of it.

        Nothing is, once the run is interrupted. A node that follows from a model that failed is
        recorded as skipped, and its changes are dropped.
        """
        step = self._step(node.id)
        with step.lock, self._landing:
            overlay = step.take()
            # Decision 8: dbt's record names this node as skipped, so a retry makes its changes
            # again.
            if self._is_interrupted:
                return None
            node = self._unless_outdated(node)
            node = with_savings(node, step.reuse.tally, self.invocation.id)
            # Each batch of a microbatch model ends like a node, and then the model as a whole.
            if (batch := self.record.ended.get(node.id)) is not None:
                node = msgspec.structs.replace(
                    node, rows=batch.rows, file_checksum=batch.file_checksum
                )
            if overlay is not None and node.status not in UNDONE:
                rows = _rows(overlay, node.relation)
                node = msgspec.structs.replace(
                    node,
                    rows=node.rows if rows is None else rows,
                    file_checksum=self._project.digest(node.id),
                )
                origin = self._project.origin(node.id, self.invocation.id)
                record_consumed(
                    overlay,
                    self._project.node(node.id),
                    node.relation,
                    origin,
                    zone=self._credentials.time_zone,
                    is_empty=self.invocation.is_empty,
                )
                self.land(overlay, f"{node.id} ({node.status})", self.record.of([node]))
                self._log.add_node(node, step, overlay, origin)
            if node.status in UNDONE:
                self.postponed.drop(node.id)
            if node.id.startswith("test."):
                # A later publish or promotion asks which versions a test has seen.
                node = msgspec.structs.replace(node, inputs=step.read())
            self.record.ended[node.id] = node
            # Only now: a result that did not land names versions that a collection may take.
            if node.status not in UNDONE or node.id.startswith("test."):
                self._remember(step.reuse)
        if overlay is not None and node.status not in UNDONE:
            self._upkeep.look(overlay)
        return node

    def _unless_outdated(self, node: NodeRun) -> NodeRun:
        """Return the result of a node, skipped if it was built on a node that failed.

        With dbt's `on_error: continue`, or in another command of a shared run, nodes that read
        such a node run on the version before. Published, they would look as if they followed from
        what their code says.
        """
        if node.status in FAILED | UNDONE or node.id.startswith("unit_test."):
            # A unit test reads no table.
            return node
        ended = self.record.ended
        failed = {id for id in ended if id.startswith("model.") and ended[id].status in FAILED}
        failed.update(id for id in self._undone if id not in ended or ended[id].status in UNDONE)
        cause = self._project.ancestor(node.id, failed)
        if cause is None:
            return node
        # Each batch of a microbatch model ends like a node.
        if node.id not in self.record.ended:
            why = (
                "failed" if cause in ended else "did not succeed in an earlier command of the run"
            )
            self._say(f"Left out: {node.id} follows from {cause}, which {why}.")
        return msgspec.structs.replace(node, status=SKIPPED)

    def end(self, success: bool, seconds: float) -> None:
        """Publish if the run succeeded, otherwise keep its branch for inspection.

        Raises:
            VcsError: It could not be published; the run branch is kept and records why.
        """
        # Before anything can fail: dbt fires further events, which must not end it again.
        self.is_ended = True
        for reuse in self._outside:
            self._remember(reuse)
        self._upkeep.tell()
        try:
            nodes = self.record.all_nodes()
            if self._end(success, seconds):
                if self.postponed:
                    # Operations call hooks of their own: those for the run come first.
                    self.hooks.call()
                self.postponed.carry_out()
        finally:
            self.postponed.leave_out()
        if (line := savings_line(nodes)) is not None:
            self._say(line)

    def _end(self, success: bool, seconds: float) -> bool:
        """Return whether the target now shows what the run did."""
        if self.record.is_part:
            self._end_part(success, seconds)
            # Of an operation that failed nothing is taken, nor what it asked to be done later.
            return success or not self.invocation.is_operation
        if not self.line.has_changes and any(node.inputs for node in self.record.nodes):
            self._record_tests(success)
            return success
        # What succeeded is published then, although something failed.
        takes_part = self._credentials.publish == "always" and self.line.has_changes
        if not success and not (takes_part and self._is_due()):
            self._keep_failed(self.record.what_failed(), self.record.next_step())
            self._note_failed("failed")
            return False
        if not self.line.has_changes:
            self.line.end(Status.PUBLISHED, "nothing changed")
            self._say(f"Nothing changed: {self.line.run.target} is unchanged.")
        elif self._is_due():
            self._publish(success, seconds)
        else:
            self._keep_passed()
            return False
        return True

    def _end_part(self, success: bool, seconds: float) -> None:
        """End a command of a shared run, which takes what succeeded and the results of all.

        Raises:
            VcsError: It could not land; its nodes count as failed.
        """
        landed = False
        failed_operation = self.invocation.is_operation and not success
        if self.invocation.is_operation:
            status = "success" if success else "error"
            id = self.invocation.operation
            self.record.ended[id] = NodeRun(id=id, status=status, seconds=round(seconds, 3))
        if self.line.has_changes and failed_operation:
            # It starts from the beginning when it is repeated.
            self._keep_failed(self.record.what_failed(), self.record.next_step())
        elif self.line.has_changes:
            note_undone(
                self.repository,
                self.line.run.target,
                self.record.all_nodes(),
                author=self.invocation.author,
            )
            try:
                landed = self._publish(success, seconds)
            except VcsError as error:
                self._put_results(str(error))
                raise
        else:
            self.line.end(Status.PUBLISHED, "nothing changed")
        if not landed:
            # A result without changes may come after a failure of the same node, or be one.
            self._put_results()

    def _put_results(self, error: str = "") -> None:
        nodes = self.record.all_nodes()
        if error:
            # What could not land is missing on the run, whatever became of its nodes.
            nodes = [msgspec.structs.replace(node, status="error") for node in nodes]
        if not nodes:
            return
        run, command = self.line.run.target, self.invocation.command
        try:
            put_results(
                self.repository,
                run,
                self.record.of(nodes),
                f"dbt {command}",
                self.invocation.author,
            )
        except VcsError as other:
            if not error:
                raise
            # The first error is raised, and says what failed; this one says what it leads to.
            logger.warning(f"The failure is not recorded on {run}: {other}")

    def interrupt(self) -> frozenset[str]:
        """Keep no further changes; return the ids of the nodes whose changes were kept."""
        with self._landing:
            self._is_interrupted = True
            return frozenset(node.id for node in self.record.nodes if node.status not in UNDONE)

    def abandon(self, *, can_go_on: bool, error: str | None = None) -> None:
        """Keep the branch of a run that was stopped before its result.

        `can_go_on` is true if dbt's record names every node, so that dbt retry can resume; `error`
        is a clause that says what stopped it, None if a person did.
        """
        self.is_ended = True
        self.postponed.leave_out()
        # Decision 8: the record was completed, so a retry leaves out nothing.
        if can_go_on:
            self._keep_failed("it was interrupted", "Run: dbt retry")
            return
        run = self.line.end(Status.INTERRUPTED, error or "it was interrupted")
        if error is not None:
            self._note_failed("stopped")
        kept = f"; {run.name} keeps the results so far" if self.line.has_changes else ""
        if error is not None:
            self._say(
                f"Not published: {error}. {run.target} is unchanged{kept}. Fix the cause and "
                "run the same command again."
            )
        elif kept:
            self._say(f"Interrupted: {run.target} is unchanged{kept}. Run the same command again.")

    def _note_failed(self, reason: str) -> None:
        self.hooks.add(
            RunFailure(
                repository=self.repository,
                run=self.line.run,
                nodes=tuple(self.record.nodes),
                reason=reason,
                author=self.invocation.author,
                has_changes=self.line.has_changes,
            )
        )

    def _record_tests(self, success: bool) -> None:
        """Keep the test results for versions that the target already has."""
        command = self.invocation.command
        self.line.record(f"dbt {command}: tests alone", self.record.of(self.record.nodes))
        tested = success and self.invocation.is_testing
        status = Status.PUBLISHED if success else Status.FAILED
        note = "nothing changed" if success else self.record.what_failed()
        self.line.end(status, note, tested=tested)
        if success:
            self._say(f"Nothing changed: {self.line.run.target} is unchanged.")
        else:
            self._note_failed("failed")

    def _is_due(self) -> bool:
        # A protected branch moves by promotion only.
        if self.repository.branch(self.line.run.target).protection is not None:
            return False
        if self._credentials.publish == "after_tests":
            return self.invocation.is_testing
        return self._credentials.publish in ("on_success", "always")

    def _publish(self, success: bool, seconds: float) -> bool:
        """Publish, and return whether the target has a commit more."""
        publication = Publication(
            workspace=self.workspace,
            line=self.line,
            rules=self._rules,
            invocation=self.invocation,
            say=self._say,
            hooks=self.hooks,
            steps=self._log.steps,
            modes=self._modes,
            node_of=self._project.node,
        )
        return publication.put(
            self.record.published(seconds),
            seconds,
            tested=success and self.invocation.is_testing,
            failed=None if success else self.record.what_failed(),
        )

    def _keep_failed(self, why: str, step: str) -> None:
        if self.line.has_changes and (rest := self.record.unrecorded()):
            # A retry needs to know which files they were built from.
            self.line.record(f"dbt {self.invocation.command}: no change", self.record.of(rest))
        run = self.line.end(Status.FAILED, why)
        if not self.line.has_changes:
            return
        self._say(
            f"Not published: {why}. {run.target} is unchanged; {run.name} keeps the results. "
            f"{step}"
        )

    def _keep_passed(self) -> None:
        tested = self.invocation.is_testing
        found = [node for node in self.record.nodes if node.inputs]
        if found:
            # A later publish needs to know which versions the tests saw.
            self.line.record(f"dbt {self.invocation.command}: tests", self.record.of(found))
        run = self.line.end(Status.PASSED, "waiting to be published", tested=tested)
        if self.repository.branch(run.target).protection is not None:
            why = f"{run.target} is protected"
            step = f"dbt-vcs promote {quote(run.name)} {quote(run.target)}"
        elif self._credentials.publish == "after_tests":
            why, step = "publish: after_tests", "dbt test"
        else:
            why = f"publish: {self._credentials.publish}"
            step = f"dbt-vcs merge {quote(run.name)} {quote(run.target)}"
        self._say(f"Not published yet ({why}). Next: {step}")

    def _remember(self, reuse: Reuse) -> None:
        """Remember what was computed, now that it has landed; without it, it's computed again."""
        try:
            reuse.remember()
        except VcsError as error:
            self._say(f"Results were not kept for other runs: {error}")

    def _step(self, name: str) -> NodeStep:
        with self._lock:
            # The batches of a microbatch model run in parallel, and share one step.
            if name not in self._steps:
                self._steps[name] = NodeStep(self._modes.reuse(name, self.line.branch))
            return self._steps[name]


def _rows(overlay: Overlay, relation: str | None) -> int | None:
    """Return the row count of the table that a node built; None if it built none."""
    entry = overlay.relations.get(RelationName.of(relation)) if relation else None
    return overlay.snapshot(entry.snapshot).rows if isinstance(entry, TableEntry) else None
