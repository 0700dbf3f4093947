"""Publication: when a run is published, and how its work becomes one commit of its target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dbt.adapters.vcs.changes.diffs.summaries import list_changes, rows_text
from dbt.adapters.vcs.changes.merges.branch_landing import Arrival, land_work
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Terms
from dbt.adapters.vcs.changes.merges.merge_plan import Work
from dbt.adapters.vcs.changes.merges.project_rules import Rules
from dbt.adapters.vcs.changes.merges.stale_by_merge import (
    ReadSetCheck,
    changed_by_target,
    joined,
    newly_stale,
)
from dbt.adapters.vcs.core.errors import ConflictError, VcsError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Origin, Run
from dbt.adapters.vcs.core.origins.results import Results
from dbt.adapters.vcs.core.origins.staleness import entries_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.project.healing import Carry, RunHealer, WorkspaceCarry
from dbt.adapters.vcs.project.invocation import Invocation
from dbt.adapters.vcs.project.node_steps import LoggedStep
from dbt.adapters.vcs.project.reuse_modes import ReuseModes
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.run_line import RunLine
from dbt.adapters.vcs.workspace.run_branch import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """How a run is published.

    Attributes:
        workspace: Where the run works.
        line: The run's branch.
        rules: The project's rules for branches and merges.
        invocation: The dbt command.
        say: Writes a line to dbt's log.
        steps: What the run did, in order.
        modes: Decides which results a node may take.
        node_of: Returns dbt's node of an id, or None.
    """

    workspace: Workspace
    line: RunLine
    rules: Rules
    invocation: Invocation
    say: Callable[[str], None]
    steps: tuple[LoggedStep, ...]
    modes: ReuseModes
    node_of: Callable[[str], Any]

    def put(self, record: Run, seconds: float, *, tested: bool, failed: str | None) -> None:
        """Publish the run, and say what moved.

        Args:
            record: The record of the run.
            seconds: How long it took.
            tested: True if its tests passed on what is published.
            failed: What failed, if a part is published all the same.

        Raises:
            VcsError: It could not be published; the run branch is kept and records why.
        """
        run, repository = self.line.run, self.workspace.repository
        before = repository.branch(run.target).head
        carry = WorkspaceCarry(self.workspace, lambda name: self.modes.reuse(name, run.target))
        check = ReadSetCheck(repository, self.rules.on_stale, self._healer(carry))
        try:
            landed = self._landed(record, check)
        except VcsError as error:
            self.line.end(Status.FAILED, f"it could not be published: {error}")
            raise self._explained(error) from error
        try:
            carry.remember()
        except VcsError as error:
            self.say(f"Results were not kept for other runs: {error}")
        self.line.end(Status.PUBLISHED, tested=tested)
        if failed is not None:
            self.say(f"{failed}; what succeeded is published (publish: always).")
        if landed.before == landed.after:
            self.say(f"Nothing changed: {run.target} is unchanged.")
            return
        for line in published(repository, run.target, landed.before, landed.after, seconds):
            self.say(line)
        if landed.before != before or before != run.fork:
            self.say(f"  {run.target} had moved in the meantime; the run was merged into it.")
        for line in (*check.lines, *self._stale(landed, check.stale)):
            self.say(f"  {line}")
        if (rule := self.rules.export_of(run.target)) is not None:
            # Most projects do without.
            from dbt.adapters.vcs.commands.exports import export_after

            export_after(repository, run.target, rule, self.say)

    def _stale(self, landed: Arrival, told: frozenset[str]) -> Iterator[str]:
        """Yield a line about tables that the run made stale, but for those that it told."""
        repository = self.workspace.repository
        before, after = (
            entries_of(repository.tree(commit)) for commit in (landed.before, landed.after)
        )
        also = changed_by_target(repository, landed.plan)
        found = newly_stale(repository, before, after, also).tables
        rest = [name for name in found if name not in told]
        if rest:
            target = self.line.run.target
            yield f"Stale now: {joined(rest)}. See dbt-vcs stale {target}."

    def _healer(self, carry: Carry) -> RunHealer:
        repository, invocation = self.workspace.repository, self.invocation
        return RunHealer(
            repository,
            self.steps,
            carry,
            origin=Origin(invocation=invocation.id),
            results=Results(repository.blobs),
            author=invocation.author,
            fails=self._fails,
        )

    def _fails(self, test: str) -> bool:
        """Return whether wrong rows of a test are an error, and no warning."""
        config = getattr(self.node_of(test), "config", None)
        return str(getattr(config, "severity", "error")).lower() == "error"

    def _landed(self, record: Run, check: ReadSetCheck) -> Arrival:
        run, invocation = self.line.run, self.invocation
        return land_work(
            self.workspace.repository,
            Work(
                source=run.name,
                commit=run.head,
                run=run,
                policy=self.rules.policy,
                record=record,
            ),
            run.target,
            Terms(message=f"dbt {invocation.command} --target {invocation.target}"),
            author=invocation.author,
            sessions=lambda: self.workspace.open_session("publish"),
            judge=check,
        )

    def _explained(self, error: VcsError) -> VcsError:
        run = self.line.run
        text = (
            f"The run was not published to {run.target}, which is unchanged. Run the same command "
            f"again: it builds on {run.target} as it is now, and takes what is not stale from "
            f"what was computed before. The reason: {error} The branch {run.name} keeps the "
            f"results: dbt-vcs show {run.name}"
        )
        return ConflictError(text) if isinstance(error, ConflictError) else VcsError(text)


def published(
    repository: Repository, branch: str, before: CommitId, after: CommitId, seconds: float
) -> Iterator[str]:
    """Yield a line for each relation that changed on a branch, and the last line of a run."""
    changes = [
        change for change in list_changes(repository, before, after) if change.kind != "schema"
    ]
    yield from map(str, changes)
    relations = "1 relation" if len(changes) == 1 else f"{len(changes)} relations"
    yield (
        f"Published {relations} to {branch} @ {after[:12]}: "
        f"{rows_text(changes)} rows, {seconds:.1f}s"
    )
