"""Steps of a run: what its nodes did, and which of them are carried out again to publish it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import (
    Entry,
    Input,
    NodeRun,
    Origin,
    RelationName,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.model.tree import AbsentType, reused_nodes
from dbt.adapters.vcs.core.origins.results import Result, Results
from dbt.adapters.vcs.core.origins.staleness import (
    MAX_BACK,
    RESTORE,
    SAME_ROWS,
    inputs_of,
    is_rebuilt_since,
    is_whole,
    moved_inputs,
    name_of,
    reaching,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.reuse.reuser import Reuse, Tally, told_source
from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.syntax.canonical import asks_for_columns
from dbt.adapters.vcs.sql.syntax.diff_call import DIFF_FUNCTION
from dbt.adapters.vcs.sql.syntax.parser import Query, read
from dbt.adapters.vcs.table.quoting import quoted_relation
from dbt.adapters.vcs.workspace.increments import record
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection, Workspace
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import FAILED
from dbt.adapters.vcs.workspace.statement_scope import Outcome

Work: TypeAlias = Callable[[Connection, Overlay, Origin], Outcome]
"""Work that is not a statement, such as loading a seed."""


class Sent(NamedTuple):
    """A statement, or work that can be done again on another state of the branch.

    Attributes:
        text: Its text; a name, if it is work.
        schema: The schema of unqualified names; empty for the profile's.
        work: The work; None for a statement.
    """

    text: str
    schema: str = ""
    work: Work | None = None


class NodeStep:
    """The changes of one node so far; the lock serializes the node's parallel batches.

    Attributes:
        lock: Held while a statement of the node runs.
        reuse: The results that its statements may take.
        said: The statements that it sent, and other work that can be done again.
        did_more: True if it also did what can't be done again.
    """

    def __init__(self, reuse: Reuse) -> None:
        # Reentrant: whoever executes a statement holds it, and asks for `overlay`.
        self.lock = threading.RLock()
        self.reuse = reuse
        self.said: list[Sent] = []
        self.did_more = False
        self._inputs: dict[tuple[str, str], Input] = {}
        self._overlay: Overlay | None = None

    def overlay(self, workspace: Workspace) -> Overlay:
        """Return what the node sees, beginning with its first statement."""
        with self.lock:
            if self._overlay is None:
                self._overlay = workspace.begin()
            return self._overlay

    def note(self, inputs: Iterable[Input]) -> None:
        """Record what it read: a diff reads two versions of one relation."""
        for item in inputs:
            self._inputs[item.relation, item.version] = item

    def read(self) -> tuple[Input, ...]:
        """Return the versions that it read, by relation name."""
        return tuple(self._inputs[key] for key in sorted(self._inputs))

    def take(self) -> Overlay | None:
        """Return its changes, and forget them; None if it sent no statement."""
        overlay, self._overlay = self._overlay, None
        return overlay


def with_savings(node: NodeRun, tally: Tally, invocation: str) -> NodeRun:
    """Return a node of an invocation with where its results came from, or why none did."""
    # A node of several statements counts as reused only if all of them were.
    if not tally.taken or tally.computed or tally.refused:
        why = "; ".join(dict.fromkeys(tally.refused)) or None
        return msgspec.structs.replace(node, refused=why)
    where = told_source(tally.taken[-1], invocation)
    return msgspec.structs.replace(node, reused=where, saved=round(tally.seconds_saved, 3))


def savings_line(nodes: Iterable[NodeRun]) -> str | None:
    """Return a line for the end of the run; None if nothing was taken."""
    reused, total, seconds = reused_nodes(nodes)
    if not reused:
        return None
    noun = "node" if total == 1 else "nodes"
    return f"Reused: {reused} of {total} {noun}, {seconds:.1f} s of work saved."


def record_consumed(
    overlay: Overlay, node: Any, relation: str | None, origin: Origin, *, zone: str, is_empty: bool
) -> None:
    """Record in an incremental model's table which changes of its inputs it accounts for.

    Not in its materialization: dbt runs Python models only from one that calls `statement` itself.

    Args:
        overlay: What the node made; it has not landed.
        node: dbt's node, or None.
        relation: `schema.identifier` of what it built, or None.
        origin: Who built it.
        zone: The time zone of times without one.
        is_empty: True if the build was to read no row.
    """
    config = getattr(node, "config", None)
    if relation is None or str(getattr(config, "materialized", "")) != "incremental":
        return
    code = str(getattr(node, "compiled_code", None) or "")
    reads = str(node.language) == "sql" and DIFF_FUNCTION in code.lower()
    # Decision 32: which versions were consumed is read from the SQL that was run.
    text = code if reads else ""
    # A build with `--empty` has read no change, so the table still has to consume it.
    record(overlay, RelationName.of(relation), text, origin, lambda: zone, advance=not is_empty)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedStep:
    """A node of the run, or a statement outside of nodes, that has ended and was kept.

    Attributes:
        id: dbt's unique id, or the name of dbt's connection.
        origin: Who ran it.
        writes: What the relations that it changed became, and the one that it built and found to
            be as it should be.
        statements: What it sent, in order.
        did_more: True if it also did what can't be done again, such as running a Python model.
    """

    id: str
    origin: Origin
    reads: tuple[Input, ...] = ()
    writes: Mapping[RelationName, Entry | AbsentType] = field(default_factory=dict)
    statements: tuple[Sent, ...] = ()
    did_more: bool = False

    @property
    def is_test(self) -> bool:
        """True for a test of data."""
        return self.id.startswith("test.")

    def why_not_again(self) -> str | None:
        """Return why its statements don't say all of what it did; None if they do."""
        # Decision 31: a step is repeated if its log says everything that it did.
        if not self.statements and not self.did_more:
            return "it sent no statement"
        if self.did_more:
            return "it ran Python, and its config does not say reuse: true"
        for sent in self.statements:
            # Which versions they are between was settled when the model was compiled.
            if DIFF_FUNCTION in sent.text.lower():
                return "it reads differences"
            if not self.is_test and sent.work is None and _asks(sent.text):
                return "it ran queries while it was rendered"
        return None


class RunLog:
    """The steps of a run, in the order in which they ended; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: list[LoggedStep] = []

    def add(self, step: LoggedStep) -> None:
        """Add a step, unless nothing depends on it."""
        if step.writes or step.is_test:
            with self._lock:
                self._steps.append(step)

    def add_node(self, node: NodeRun, step: NodeStep, overlay: Overlay, origin: Origin) -> None:
        """Add what a node did that is kept; of tests, those that passed."""
        if node.status in FAILED:
            return
        writes = dict(overlay.relations)
        built = RelationName.of(node.relation) if node.relation else None
        if built is not None and (found := overlay.entry(built)) is not None:
            writes[built] = found
        self.add(
            LoggedStep(
                id=node.id,
                origin=origin,
                reads=step.read(),
                writes=writes,
                statements=tuple(step.said),
                did_more=step.did_more,
            )
        )

    @property
    def steps(self) -> tuple[LoggedStep, ...]:
        """The steps so far."""
        with self._lock:
            return tuple(self._steps)


def _asks(text: str) -> bool:
    """Return whether a statement gave rows that what followed may depend on."""
    try:
        statement, _ = read(text)
    except InputError:
        return True
    return isinstance(statement, Query) and not asks_for_columns(text)


Columns: TypeAlias = tuple[tuple[str, str], ...]
"""Names, in lower case, and types of columns."""

Shown: TypeAlias = Callable[[RelationName], Entry | None]
"""Returns what is shown under a name."""


class Replay(NamedTuple):
    """A step that has to be carried out again.

    Attributes:
        why_not: Why that can't be done; None if it can.
        columns: Names and types of the columns that its temporary views must have, since dbt
            wrote its statements for them; None for any.
    """

    step: LoggedStep
    why_not: str | None
    columns: Columns | None = None


def plan_replays(
    repository: Repository,
    steps: Sequence[LoggedStep],
    *,
    base: Shown,
    ours: Shown,
    merged: Shown,
) -> list[Replay]:
    """Return the steps to carry out again, in order; tests that store nothing aside.

    | a step                                                          | again          |
    |-----------------------------------------------------------------|----------------|
    | read what is another version now                                | yes            |
    | read a table of a step that is carried out again                | yes            |
    | changed a table that the target changed, too                    | yes, if it can |
    | changed a relation of a step that is carried out again          | yes            |
    | changed a relation that such a step read before                 | yes            |
    | anything else                                                   | no             |

    What can't be carried out again and both sides changed is left to the merge. What the run
    itself changed before a step read it counts as the merge shows it.

    Args:
        base: What the target showed when the run began.
        ours: What it shows now.
        merged: What it would show with the run merged into it.
    """
    forced: set[RelationName] = set()
    # A round can only add steps to those of the last one, so this ends.
    while True:
        found = _Planner(repository, steps, (base, ours, merged), forced).run()
        missed = _missed(steps, found)
        if not missed:
            return found
        forced |= missed


def _missed(steps: Sequence[LoggedStep], found: Sequence[Replay]) -> set[RelationName]:
    """Return relations of steps that have to be carried out again because others are.

    They share a relation, or a step read a relation before the run changed it.
    """
    chosen = {id(replay.step) for replay in found}
    wanted = {name for replay in found for name in replay.step.writes}
    missed: set[RelationName] = set()
    for step in steps:
        if id(step) in chosen:
            wanted.update(map(name_of, step.reads))
        else:
            missed |= wanted & step.writes.keys()
    return missed


class _Planner:
    """One pass over the steps."""

    def __init__(
        self,
        repository: Repository,
        steps: Sequence[LoggedStep],
        sides: tuple[Shown, Shown, Shown],
        forced: set[RelationName],
    ) -> None:
        self._repository = repository
        self._steps = [step for step in steps if step.writes]
        self._base, self._ours, self._merged = sides
        self._forced = forced
        self._remade: set[RelationName] = set()

    def run(self) -> list[Replay]:
        found = []
        for number, step in enumerate(self._steps):
            moved, why_not = self._moved(number, step), step.why_not_again()
            both = self._both_changed(step)
            if moved or self._forced & step.writes.keys() or (both and why_not is None):
                columns = None
                if why_not is None:
                    why_not, columns = self._other_columns(step, moved)
                found.append(Replay(step, why_not, columns))
                self._remade.update(
                    name for name, entry in step.writes.items() if isinstance(entry, TableEntry)
                )
        return found

    def _moved(self, number: int, step: LoggedStep) -> list[Input]:
        later = {name for item in self._steps[number + 1 :] for name in item.writes}
        moved = []
        for item in step.reads:
            name = name_of(item)
            # Files and named versions don't move; its own table is compared by `_both_changed`.
            if item.external is not None or item.pinned or name in step.writes:
                continue
            # Read before the run changed it: then the target's version is the one that counts.
            shown = self._ours if name in later else self._merged
            if name in self._remade or self._differs(item, shown):
                moved.append(item)
        return moved

    def _both_changed(self, step: LoggedStep) -> bool:
        """Return whether a relation of a step is another one on the target, and since the base."""
        for name, entry in step.writes.items():
            now = self._ours(name)
            if now == self._base(name) or now == entry:
                continue
            if not isinstance(entry, TableEntry) or self._differs(_input(name, entry), self._ours):
                return True
        return False

    def _other_columns(
        self, step: LoggedStep, moved: Sequence[Input]
    ) -> tuple[str | None, Columns | None]:
        """Return why a text that was written for some columns doesn't fit, and what it was for.

        dbt writes the columns of the table into the statements of incremental models, and compares
        them with those of the new rows, which are a temporary view. Where what is read has other
        columns by now, the statements fit if the view still has those of the table.
        """
        kept = [
            (self._base(name), self._ours(name))
            for name, entry in step.writes.items()
            if isinstance(entry, TableEntry) and not self._is_rebuilt(name, entry)
        ]
        if any(self._columns(old) != self._columns(new) for old, new in kept):
            return "the columns of its table have changed, which its statements name", None
        read = [
            (TableEntry(snapshot=item.snapshot), self._merged(name_of(item)))  # type: ignore[arg-type]
            for item in moved
            if item.snapshot is not None
        ]
        if not kept or all(self._columns(old) == self._columns(new) for old, new in read):
            return None, None
        if len(kept) > 1:
            return "what it reads has other columns now, and it changes several tables", None
        return None, self._columns(kept[0][1])

    def _is_rebuilt(self, name: RelationName, entry: TableEntry) -> bool:
        before = self._base(name)
        since = before.snapshot if isinstance(before, TableEntry) else None
        return is_rebuilt_since(self._repository, entry.snapshot, since)

    def _columns(self, entry: Entry | None) -> Columns | None:
        if not isinstance(entry, TableEntry):
            return None
        schema = self._repository.objects.snapshot(entry.snapshot).schema
        return tuple((field.name.lower(), str(field.type)) for field in schema.fields)

    def _differs(self, item: Input, shown: Shown) -> bool:
        return bool(moved_inputs(self._repository, [item], shown))


def _input(name: RelationName, entry: TableEntry) -> Input:
    return Input(relation=str(name), snapshot=entry.snapshot)


_MOST: Final = 20
"""Statements that one table may have been made by."""

_UNKNOWN: Final = "no statements are recorded that make it from nothing"


class RecordedTable(NamedTuple):
    """A table that its recorded statements make.

    Attributes:
        node: dbt's unique id of the node that made it; None if none did.
        statements: What makes it, from nothing.
    """

    name: RelationName
    node: str | None
    statements: tuple[Sent, ...]


class RecordedTables:
    """The tables of a target, and what they were made by."""

    def __init__(self, repository: Repository, *, base: Shown, ours: Shown) -> None:
        """Take what the target showed when the run began, and what it shows now."""
        self._repository = repository
        self._results = Results(repository.blobs)
        self._base = base
        self._ours = ours

    def readers(
        self, moved: Iterable[RelationName], built: Iterable[RelationName]
    ) -> list[RelationName]:
        """Return tables of `built` that were made from others, over any number of steps.

        What comes after its makers in the list was made from them.
        """
        reads = {name: self._reads(name) for name in built}
        reached = reaching(moved, reads)
        found = {name for name, items in reads.items() if not reached.isdisjoint(items)}
        ordered: list[RelationName] = []
        while len(ordered) < len(found):
            rest = found.difference(ordered)
            # Two that read each other have no order, and none is made up: the first name begins.
            free = sorted(name for name in rest if not reads[name] & (rest - {name}))
            ordered += free or sorted(rest)[:1]
        return ordered

    def _reads(self, name: RelationName) -> set[RelationName]:
        """Return what the statements read that made a table since the base, or else before.

        Where they read a version that is shown no more, what that one was made from counts, too:
        no name leads to it.
        """
        entry, before = self._ours(name), self._base(name)
        if not isinstance(entry, TableEntry):
            return set()
        if entry != before:
            return self._read_by([(name, entry.snapshot)]) - {name}
        # A run built it, and found nothing to change: which versions that one read, none tells.
        read = set(map(name_of, inputs_of(self._repository, name, entry.snapshot)))
        shown = [(item, self._ours(item)) for item in read]
        versions = [(item, now.snapshot) for item, now in shown if isinstance(now, TableEntry)]
        return read | self._read_by(versions, with_past=True)

    def _read_by(
        self, versions: Iterable[tuple[RelationName, SnapshotId]], *, with_past: bool = False
    ) -> set[RelationName]:
        """Return what versions were made from since the base.

        Args:
            versions: The versions, each with the name of its table.
            with_past: Whether what all their versions before were made from counts, too.
        """
        read: set[RelationName] = set()
        left, seen = list(versions), set[SnapshotId]()
        while left and len(seen) <= MAX_BACK:
            name, id = left.pop()
            if id in seen or _is_shown(self._base, name, id):
                continue
            seen.add(id)
            snapshot = self._repository.objects.snapshot(id)
            read |= set(map(name_of, snapshot.origin.inputs))
            if with_past or not is_whole(snapshot, name):
                left += ((name, parent) for parent in snapshot.parents)
            inputs = [
                (name_of(item), SnapshotId(item.snapshot))
                for item in snapshot.origin.inputs
                if item.snapshot and not item.pinned
            ]
            left += (item for item in inputs if not _is_shown(self._ours, *item))
        return read

    def recorded(self, name: RelationName) -> RecordedTable | str:
        """Return what makes a table again as its run would now, or why nothing does.

        It has to be made from nothing since the base, by statements whose results are repeatable
        and that read what the target shows: in any order of the runs they would read the same.
        """
        entry, before = self._ours(name), self._base(name)
        if not isinstance(entry, TableEntry):
            return "it is not a table"
        if entry == before:
            return "a run built it and found nothing to change"
        statements: list[Sent] = []
        id: SnapshotId | None = entry.snapshot
        while id is not None and len(statements) < _MOST:
            if isinstance(before, TableEntry) and id == before.snapshot:
                return "it was not made from nothing since the run began"
            snapshot = self._repository.objects.snapshot(id)
            id = snapshot.parents[0] if snapshot.parents else None
            if snapshot.operation == RESTORE:
                return "the run restored it"
            # A compaction has no statement, and needs none.
            if snapshot.operation in SAME_ROWS:
                continue
            result = self._result(name, snapshot)
            if isinstance(result, str):
                return result
            statements.insert(0, Sent(result.statement, result.schema))
            if _makes_whole(name, result):
                # As a run without the table would begin.
                drop = Sent(f"drop table if exists {quoted_relation(name)}")
                node = self._repository.objects.snapshot(entry.snapshot).origin.node
                return RecordedTable(name, node, (drop, *statements))
        return _UNKNOWN

    def _result(self, name: RelationName, snapshot: Snapshot) -> Result | str:
        """Return the statement that made a version, or why it can't be carried out again."""
        others = [item for item in snapshot.origin.inputs if name_of(item) != name]
        if moved_inputs(self._repository, others, self._ours):
            return "it was stale before"
        derivation = snapshot.origin.derivation
        found = None if derivation is None else self._results.find(derivation)
        if found is None or not found.statement or found.target != str(name):
            return _UNKNOWN
        return found


def _makes_whole(name: RelationName, result: Result) -> bool:
    if any(item.relation == str(name) for item in result.inputs):
        return False
    try:
        statement, _ = read(result.statement)
    except InputError:
        return False
    return isinstance(statement, CreateTable) and statement.query is not None


def _is_shown(shown: Shown, name: RelationName, id: SnapshotId) -> bool:
    entry = shown(name)
    return isinstance(entry, TableEntry) and entry.snapshot == id
