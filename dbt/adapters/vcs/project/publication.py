"""Publication of a run as one commit of its target, and healing of what is stale before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from dbt.adapters.vcs.changes.diffs.summaries import list_changes, rows_text
from dbt.adapters.vcs.changes.merges.branch_landing import LandedWork, land_work
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Terms
from dbt.adapters.vcs.changes.merges.contracts import check_contracts
from dbt.adapters.vcs.changes.merges.merge_plan import MergePlan, Work
from dbt.adapters.vcs.changes.merges.project_rules import Rules
from dbt.adapters.vcs.changes.merges.stale_by_merge import (
    EARLIER,
    Both,
    Healed,
    ReadSetCheck,
    changed_by_target,
    entry_after,
    joined,
    newly_stale,
    skewed_by,
)
from dbt.adapters.vcs.core.errors import ConflictError, InputError, VcsError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import (
    Commit,
    Input,
    NodeRun,
    Origin,
    RelationName,
    Run,
    TableEntry,
)
from dbt.adapters.vcs.core.origins.staleness import moved_inputs
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.hooks.branch_event import BranchMove, MergeStop, RunFailure, waiting_merge
from dbt.adapters.vcs.hooks.hook_calls import HookQueue
from dbt.adapters.vcs.project.invocation import Invocation
from dbt.adapters.vcs.project.node_steps import (
    Columns,
    LoggedStep,
    RecordedTable,
    RecordedTables,
    Replay,
    Sent,
    plan_replays,
)
from dbt.adapters.vcs.project.reuse_modes import ReuseModes
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.reuse.taken_versions import settle_history
from dbt.adapters.vcs.sql.syntax.parser import CreateTemporaryView, read
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import RunLine
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import Status
from dbt.adapters.vcs.workspace.shared_run import check_joinable


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """How a run is published.

    Attributes:
        workspace: Where the run works.
        line: The run's branch.
        rules: The project's rules for branches and merges.
        invocation: The dbt command.
        say: Writes a line to dbt's log.
        hooks: Takes what the project's hooks are called for at the end of the command.
        steps: What the run did, in order.
        modes: Decides which results a node may take.
        node_of: Returns dbt's node of an id, or None.
    """

    workspace: Workspace
    line: RunLine
    rules: Rules
    invocation: Invocation
    say: Callable[[str], None]
    hooks: HookQueue
    steps: tuple[LoggedStep, ...]
    modes: ReuseModes
    node_of: Callable[[str], Any]

    def put(self, record: Run, seconds: float, *, tested: bool, failed: str | None) -> bool:
        """Publish the run, say what moved, and return whether the target did.

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
            landed = self._land(record, check)
        except VcsError as error:
            self.line.end(Status.FAILED, f"it could not be published: {error}")
            self._note_failed(record)
            raise self._failure(error) from error
        try:
            # Only now: a result that did not land names versions that may be collected.
            carry.remember()
        except VcsError as error:
            self.say(f"Results were not kept for other runs: {error}")
        self.line.end(Status.PUBLISHED, tested=tested)
        if failed is not None:
            self.say(f"{failed}; what succeeded is published (publish: always).")
        if landed.before == landed.after:
            self.say(f"Nothing changed: {run.target} is unchanged.")
            return False
        for line in published(repository, run.target, landed.before, landed.after, seconds):
            self.say(line)
        if landed.before != before or before != run.fork:
            self.say(f"  {run.target} had moved in the meantime; the run was merged into it.")
        for line in (*check.lines, *self._stale(landed, check.stale)):
            self.say(f"  {line}")
        if (rule := self.rules.export_of(run.target)) is not None:
            # Most projects do without.
            from dbt.adapters.vcs.iceberg.exports import export_after

            export_after(repository, run.target, rule, self.say)
        self.hooks.add(
            BranchMove(
                repository=repository,
                branch=run.target,
                before=landed.before,
                after=landed.after,
                source=run.name,
                action="publish",
            )
        )
        return True

    def _note_failed(self, record: Run) -> None:
        run, repository = self.line.run, self.workspace.repository
        author = self.invocation.author
        if waiting_merge(repository, run.target, run.name) is not None:
            self.hooks.add(
                MergeStop(
                    repository=repository,
                    branch=run.target,
                    source=run.name,
                    action="publish",
                    author=author,
                )
            )
            return
        self.hooks.add(
            RunFailure(
                repository=repository,
                run=run,
                nodes=record.nodes,
                reason="not_published",
                author=author,
                has_changes=True,
            )
        )

    def _stale(self, landed: LandedWork, told: frozenset[str]) -> Iterator[str]:
        """Yield a line about tables that the run made stale, but for those that it told."""
        repository = self.workspace.repository
        also = changed_by_target(repository, landed.plan)
        both = Both.of(repository, landed.before, landed.after)
        found = newly_stale(repository, both, also).tables
        rest = [name for name in found if name not in told]
        if rest:
            target = self.line.run.target
            yield f"Stale now: {joined(rest)}. See dbt-vcs stale {quote(target)}."

    def _healer(self, carry: Carry) -> RunHealer:
        repository, invocation = self.workspace.repository, self.invocation
        return RunHealer(
            repository,
            self.steps,
            carry,
            origin=Origin(invocation=invocation.id),
            author=invocation.author,
            fails=self._fails,
        )

    def _fails(self, test: str) -> bool:
        """Return whether wrong rows of a test are an error, and no warning."""
        config = getattr(self.node_of(test), "config", None)
        return str(getattr(config, "severity", "error")).lower() == "error"

    def _land(self, record: Run, check: ReadSetCheck) -> LandedWork:
        run, invocation = self.line.run, self.invocation
        repository = self.workspace.repository
        contracts = self.rules.contracts_on(repository, run.target)

        def checked(plan: MergePlan) -> MergePlan:
            # A shared run may have been published since this command began.
            check_joinable(plan.target)
            return check_contracts(repository, contracts, check(plan))

        return land_work(
            repository,
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
            # Most runs land without a merge, and need no session.
            sessions=lambda: self.workspace.open_session("publish"),
            validator=checked,
        )

    def _failure(self, error: VcsError) -> VcsError:
        run = self.line.run
        text = (
            f"The run was not published to {run.target}, which is unchanged. Run the same command "
            f"again: it builds on {run.target} as it is now, and takes what is not stale from "
            f"what was computed before. The reason: {error} The branch {run.name} keeps the "
            f"results: dbt-vcs show {quote(run.name)}"
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


TRIES: Final = 5
"""Times that a run is healed: each time the target moved again while that was done."""


class RunHealer:
    """Heals the plans of one run; see `changes.merges.stale_by_merge.Healer`."""

    def __init__(
        self,
        repository: Repository,
        steps: Sequence[LoggedStep],
        carry: Carry,
        *,
        origin: Origin,
        author: str,
        fails: Callable[[str], bool],
    ) -> None:
        """Take what the run did.

        Args:
            steps: What the run did, in order; tests that did not pass aside.
            origin: Who makes tables of other runs again.
            fails: Returns whether a test with wrong rows is an error; by its id.
        """
        self._repository = repository
        self._steps = steps
        self._carry = carry
        self._origin = origin
        self._author = author
        self._fails = fails
        self._tries = 0

    def __call__(self, plan: MergePlan) -> Healed:
        """Return the plan with what was computed again.

        Raises:
            ConflictError: Something can't be carried out again, or fails; or a test fails on what
                was computed; or the target moved too often meanwhile.
        """
        if plan.changes is None:
            return Healed(plan)
        ours = self._repository.tree(plan.target.head).entry
        replays = plan_replays(
            self._repository,
            self._steps,
            base=self._repository.tree(plan.base).entry,
            ours=ours,
            merged=lambda name: entry_after(plan, name, ours(name)),
        )
        made = {name for replay in replays for name in replay.step.writes}
        # What is computed again needs no merge; any other conflict is the merge's to report.
        if any(clash.name not in made for clash in plan.clashes):
            return Healed(plan)
        others, notes = ([], ()) if replays else self._others(plan)
        if replays or others:
            self._count(plan)
        overlay = self._overlay(plan, made)
        # In the order of the run, since a step may read what one before it makes.
        seen = {replay.step.id: self._carry_again(plan, overlay, replay) for replay in replays}
        # Tests come last, so that they see everything that was computed again.
        self._make(plan, overlay, others)
        self._test(plan, overlay, seen)
        if not (seen or others):
            return Healed(plan, notes=notes)
        settle_history(overlay)
        names = (str(name) for replay in replays for name in sorted(replay.step.writes))
        return Healed(
            _healed_plan(plan, overlay, seen),
            tuple(dict.fromkeys(names)),
            tuple(str(table.name) for table in others),
            notes,
        )

    def _make(self, plan: MergePlan, overlay: Overlay, tables: Sequence[RecordedTable]) -> None:
        for table in tables:
            origin = msgspec.structs.replace(self._origin, node=table.node)
            self._carry_out(plan, overlay, origin, table.statements, table.node or str(table.name))

    def _test(self, plan: MergePlan, overlay: Overlay, seen: dict[str, tuple[Input, ...]]) -> None:
        """Run tests that saw other versions, and add what they see now to `seen`, by id."""
        for step in self._steps:
            if step.is_test and step.id not in seen and self._saw_others(step, overlay):
                again = Replay(step, step.why_not_again())
                seen[step.id] = self._carry_again(plan, overlay, again)

    def _saw_others(self, step: LoggedStep, overlay: Overlay) -> bool:
        return bool(moved_inputs(self._repository, step.reads, overlay.entry))

    def _overlay(self, plan: MergePlan, made: set[RelationName]) -> Overlay:
        """Return the target with the run merged into it, except for what will be made again."""
        assert plan.changes is not None
        head, changes = plan.target.head, plan.changes
        # Decision 31: what is computed again starts from what the target shows.
        kept = {name: entry for name, entry in changes.relations.items() if name not in made}
        return Overlay(
            repository=self._repository,
            base=head,
            tree=self._repository.tree(head),
            relations=kept,
            schemas=dict(changes.schemas),
            branch=plan.target.name,
            author=self._author,
        )

    def _count(self, plan: MergePlan) -> None:
        self._tries += 1
        if self._tries > TRIES:
            raise ConflictError(
                f"{plan.target.name!r} moved each of {TRIES} times while what had become stale "
                "was computed again."
            )

    def _carry_again(self, plan: MergePlan, overlay: Overlay, replay: Replay) -> tuple[Input, ...]:
        """Carry a step out again, and return what it read.

        Raises:
            ConflictError: That can't be done, or it is a test and fails.
        """
        (step, why_not, columns), target = replay, plan.target.name
        if why_not is not None:
            raise ConflictError(
                f"{step.id} read or changed what {target!r} shows in another version now, and "
                f"can't be carried out again by itself: {why_not} (on_stale: heal)."
            )
        inputs, rows = self._carry_out(
            plan, overlay, step.origin, step.statements, step.id, columns
        )
        if step.is_test and self._fails(step.id) and is_failure(rows):
            raise ConflictError(f"{step.id} fails on what {target!r} would show (on_stale: heal).")
        return inputs

    def _others(self, plan: MergePlan) -> tuple[list[RecordedTable], tuple[str, ...]]:
        """Return the tables of others to make again, all that the run makes stale or none.

        Making some of them only would give a state that no order of the runs gives.
        """
        if all(item.is_theirs for item in skewed_by(self._repository, plan)):
            return [], ()
        base, shown = (self._repository.tree(id).entry for id in (plan.base, plan.target.head))
        tables = RecordedTables(self._repository, base=base, ours=shown)
        ours = changed_by_target(self._repository, plan)
        theirs = {
            item.name for item in self._repository.diff(plan.base, plan.work.commit).relations
        }
        both = ours & theirs
        built = ours | self._built(plan)
        found = [(name, tables.recorded(name)) for name in tables.readers(theirs, built)]
        # A relation that both changed is as neither made it, so no order of the runs gives it.
        why_none = f"both sides changed {min(both)}" if both else self._why_no_order(plan)
        if why_none is not None:
            found = [(name, why_none) for name, _ in found]
        missing = [f"{name} ({why})" for name, why in found if isinstance(why, str)]
        # Decision 31: to fail would help nobody, since the same command would make the same state.
        if missing:
            return [], (f"Not computed again, as if the run came last: {joined(missing)}.",)
        return [item for _, item in found if isinstance(item, RecordedTable)], ()

    def _built(self, plan: MergePlan) -> set[RelationName]:
        """Return the relations that runs built on the target since the base, changed or not."""
        return {
            RelationName.of(node.relation)
            for commit in self._since(plan)
            for node in (commit.run.nodes if commit.run is not None else ())
            if node.relation is not None
        }

    def _why_no_order(self, plan: MergePlan) -> str | None:
        """Return why the run can't count as earlier than what the target got since the base.

        A run that counts as earlier than others, from before this one began, can't come after it.
        """
        for commit in self._since(plan):
            if EARLIER in commit.metadata:
                return f"another run counts as earlier already: {commit.summary}"
        return None

    def _since(self, plan: MergePlan) -> Iterator[Commit]:
        for id, commit in self._repository.log(plan.target.head):
            if id == plan.base:
                break
            yield commit

    def _carry_out(
        self,
        plan: MergePlan,
        overlay: Overlay,
        origin: Origin,
        statements: Sequence[Sent],
        label: str,
        columns: Columns | None = None,
    ) -> Carried:
        try:
            return self._carry(overlay, origin, statements, label, columns)
        except VcsError as error:
            raise ConflictError(
                f"{label} could not be carried out again on what {plan.target.name!r} shows now "
                f"(on_stale: heal): {error}"
            ) from error


def is_failure(rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether a test's answer (failures, should warn, should fail) is a failure."""
    return any(str(row[2]).lower() in ("true", "1") for row in rows if len(row) > 2)


def _healed_plan(
    plan: MergePlan, overlay: Overlay, seen: Mapping[str, tuple[Input, ...]]
) -> MergePlan:
    """Return a plan that lands what an overlay shows, with what its nodes found on it."""
    assert plan.changes is not None
    work, record = plan.work, plan.work.record
    if record is not None:
        nodes = tuple(
            _node_record(node, overlay, seen[node.id]) if node.id in seen else node
            for node in record.nodes
        )
        work = replace(work, record=msgspec.structs.replace(record, nodes=nodes))
    return replace(plan, work=work, how="merge", changes=overlay.changes, clashes=())


def _node_record(node: NodeRun, overlay: Overlay, inputs: tuple[Input, ...]) -> NodeRun:
    if node.inputs:
        return msgspec.structs.replace(node, inputs=inputs)
    entry = overlay.entry(RelationName.of(node.relation)) if node.relation else None
    rows = overlay.snapshot(entry.snapshot).rows if isinstance(entry, TableEntry) else node.rows
    return msgspec.structs.replace(node, rows=rows)


class Carried(NamedTuple):
    """What statements gave.

    Attributes:
        inputs: What they read.
        rows: The rows of the last one; none if it has no result.
    """

    inputs: tuple[Input, ...]
    rows: tuple[tuple[Any, ...], ...]


Carry: TypeAlias = Callable[
    [Overlay, Origin, Sequence[Sent], str, Columns | None],
    Carried,
]
"""Carries out statements on an overlay, one after the other; a text says whose they are.

With columns, the statements make a temporary view with just these. Raises a `VcsError` if one
fails.
"""


class WorkspaceCarry:
    """Carries statements out in a run's workspace, and takes results that are known."""

    def __init__(self, workspace: Workspace, reuse: Callable[[str], Reuse]) -> None:
        """`reuse` returns what the node of an id may take."""
        self._workspace = workspace
        self._reuse = reuse
        self._reuses: list[Reuse] = []

    def __call__(
        self,
        overlay: Overlay,
        origin: Origin,
        statements: Sequence[Sent],
        label: str,
        columns: Columns | None,
    ) -> Carried:
        """Carry statements out; see `Carry`."""
        reuse = self._reuse(label)
        self._reuses.append(reuse)
        # One of its own: temporary views of the run must be made again, and not be found.
        connection = self._workspace.connect(f"{label} again")
        inputs: dict[tuple[str, str], Input] = {}
        rows: tuple[tuple[Any, ...], ...] = ()
        fits = columns is None
        try:
            for text, schema, work in statements:
                if work is not None:
                    outcome = work(connection, overlay, origin)
                else:
                    if schema and schema != connection.schema:
                        connection.execute(f"use {quoted(schema)}", overlay, origin=origin)
                    outcome = connection.execute(text, overlay, origin=origin, reuse=reuse)
                inputs.update(((item.relation, item.version), item) for item in outcome.inputs)
                # Now, because the next statement may change what they are computed from.
                rows = () if outcome.rows is None else tuple(outcome.rows.fetch())
                if columns is not None and (view := _temporary_view(text)) is not None:
                    shown = connection.execute(
                        f"select * from {view} limit 0", overlay, origin=origin
                    )
                    assert shown.rows is not None
                    found = shown.rows.columns
                    _check_columns({(item.name.lower(), item.type) for item in found}, columns)
                    fits = True
        finally:
            connection.close()
        if not fits:
            raise InputError("what it reads has other columns now, and it makes no new rows first")
        return Carried(tuple(inputs[key] for key in sorted(inputs)), rows)

    def remember(self) -> None:
        """Remember what was computed, now that it has landed.

        Raises:
            StorageError: The store failed; it is computed again where it is needed.
        """
        while self._reuses:
            self._reuses.pop().remember()


def _temporary_view(text: str) -> str | None:
    """Return the name of the temporary view that a statement makes, quoted; None for others."""
    statement, _ = read(text)
    if not isinstance(statement, CreateTemporaryView):
        return None
    return quoted(statement.target.name.identifier)


def _check_columns(found: set[tuple[str, str]], wanted: Columns) -> None:
    """Check that new rows have the columns that dbt saw, whose names are in its statements."""
    other = sorted({name for name, _ in found.symmetric_difference(wanted)})
    if other:
        raise InputError(
            f"its new rows have other columns than its table by now: {', '.join(other)}"
        )
