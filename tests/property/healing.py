"""Runs without an engine: statements of a few words, computed here, and published side by side."""

from __future__ import annotations

import hashlib
import itertools
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.changes.merges.branch_landing import LandedWork, land_work
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Terms
from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale, Policy
from dbt.adapters.vcs.changes.merges.merge_plan import Work
from dbt.adapters.vcs.changes.merges.stale_by_merge import EARLIER, ReadSetCheck
from dbt.adapters.vcs.core.ids import CommitId, SegmentId, SnapshotId, TableId
from dbt.adapters.vcs.core.model import (
    Absent,
    Block,
    Field,
    Input,
    NodeRun,
    Origin,
    RelationName,
    Schema,
    Segment,
    SegmentRef,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.model import Run as RunRecord
from dbt.adapters.vcs.core.origins.results import Result, Results
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.project.node_steps import Columns, LoggedStep, RunLog, Sent
from dbt.adapters.vcs.project.publication import Carried, RunHealer
from dbt.adapters.vcs.workspace.lines.lines import RunLine
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import find_run

SCHEMA = Schema.of([Field(id="", name="v", type="string")])
_STATEMENT = re.compile(
    r"(?:(drop) table if exists|(create) or replace table|(insert) into) `?s`?\.`?(\w+)`?"
    r"(?: as)?(?: select '(\w+)' from (.*))?"
)

State = dict[str, tuple[str, ...]]
"""The rows of each table, sorted."""


@dataclass(frozen=True)
class Step:
    """A statement: makes a table, or adds a row to it, of what it reads."""

    target: str
    reads: tuple[str, ...]
    word: str
    adds: bool = False

    @property
    def text(self) -> str:
        start = (
            f"insert into s.{self.target}"
            if self.adds
            else f"create or replace table s.{self.target} as"
        )
        read = ", ".join(f"s.{name}" for name in self.reads)
        return f"{start} select '{self.word}' from {read}"


def done(state: Mapping[str, tuple[str, ...]], step: Step) -> State:
    """What a statement makes of a state: the oracle."""
    row = value(step.word, [state[name] for name in step.reads])
    before = state[step.target] if step.adds else ()
    return {**state, step.target: tuple(sorted((*before, row)))}


def value(word: str, read: Sequence[Sequence[str]]) -> str:
    told = "|".join(",".join(rows) for rows in read)
    return f"{word}:{hashlib.sha256(told.encode()).hexdigest()[:12]}"


@dataclass
class Engine:
    """Carries statements out; the rows of a block are in its path."""

    repository: Repository
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def __call__(
        self,
        overlay: Overlay,
        origin: Origin,
        statements: Sequence[Sent],
        label: str,
        columns: Columns | None = None,
    ) -> Carried:
        inputs: list[Input] = []
        for sent in statements:
            inputs += self.execute(overlay, origin, sent.text)
        return Carried(tuple(inputs), ())

    def rows(self, entry: TableEntry) -> tuple[str, ...]:
        objects = self.repository.objects
        segments = (objects.segment(ref.id) for ref in objects.snapshot(entry.snapshot).segments)
        blocks = (block for segment in segments for block in segment.blocks)
        return tuple(sorted(block.path.rpartition("/")[2] for block in blocks))

    def execute(self, overlay: Overlay, origin: Origin, text: str) -> list[Input]:
        found = _STATEMENT.fullmatch(text)
        assert found, text
        drop, create, insert, target, word, listed = found.groups()
        name = RelationName("s", target)
        if drop:
            overlay.put(name, Absent)
            return []
        reads = [item.rpartition(".")[2] for item in listed.split(", ")]
        read = {item: self._table(overlay, item) for item in reads}
        row = value(word, [self.rows(read[item]) for item in reads])
        segment = stored(self.repository, f"{origin.invocation}{next(self.numbers)}", row)
        ref = SegmentRef(
            id=SegmentId(self.repository.objects.put(segment)), blocks=1, rows=1, bytes=1
        )
        before = overlay.entry(name) or overlay.before(name)
        old = overlay.snapshot(before.snapshot) if isinstance(before, TableEntry) else None
        inputs = [
            Input(relation=f"s.{item}", snapshot=entry.snapshot)
            for item, entry in sorted(read.items())
        ]
        if create and old and self.rows(before) == (row,):
            # A rebuild that finds the rows as they should be makes no version.
            return inputs
        key = hashlib.sha256(repr((text, inputs, before)).encode()).hexdigest()
        version = Snapshot(
            table=TableId("t"),
            schema=SCHEMA,
            segments=(*(old.segments if insert and old else ()), ref),
            created_at=self.repository.clock(),
            operation="append" if insert else ("rebuild" if old else "create"),
            parents=(before.snapshot,) if isinstance(before, TableEntry) else (),
            origin=Origin(
                node=origin.node,
                invocation=origin.invocation,
                inputs=tuple(inputs),
                derivation=key,
            ),
        )
        id = overlay.put_table(name, version)
        result = Result(
            kind="table",
            version=id,
            statement=text,
            schema="s",
            target=str(name),
            inputs=tuple(inputs),
        )
        Results(self.repository.blobs).put(key, result)
        return inputs

    @staticmethod
    def _table(overlay: Overlay, name: str) -> TableEntry:
        entry = overlay.entry(RelationName("s", name))
        assert isinstance(entry, TableEntry)
        return entry


def stored(repository: Repository, write: str, row: str) -> Segment:
    """A segment of one row, in a file of its own."""
    path, data = f"data/t/w={uuid.uuid4().hex}{write}/{row}", parquet(row)
    repository.blobs.create(path, data)
    return Segment(blocks=(Block(path=path, rows=1, bytes=len(data)),))


@cache
def parquet(row: str) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"v": pa.array([row], pa.string())}), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def begun(repository: Repository, names: Sequence[str]) -> State:
    """Put the first version of each table on the branch main."""
    engine = Engine(repository)
    base = repository.branch("main").head
    overlay = Overlay(repository=repository, base=base, tree=repository.tree(base), branch="main")
    overlay.put_schema("s", comment=None, properties={})
    seed = {}
    for name in names:
        segment = stored(repository, "first", f"{name}0")
        ref = SegmentRef(id=SegmentId(repository.objects.put(segment)), blocks=1, rows=1, bytes=1)
        version = Snapshot(
            table=TableId("t"),
            schema=SCHEMA,
            segments=(ref,),
            created_at=repository.clock(),
            operation="create",
        )
        overlay.put_table(RelationName("s", name), version)
        seed[name] = engine.rows(TableEntry(snapshot=SnapshotId(repository.objects.put(version))))
    proposal = Proposal(
        branch="main",
        base=base,
        tree=repository.edit(overlay.tree.id, overlay.changes),
        author="ann",
        message="Begin",
    )
    repository.land(proposal)
    return seed


def shown(repository: Repository, revision: str = "main") -> State:
    """What a revision shows."""
    engine, tree = Engine(repository), repository.tree(repository.resolve(revision))
    return {
        name: engine.rows(entry)
        for name, entry in tree.relations("s").items()
        if isinstance(entry, TableEntry)
    }


class Run:
    """A run of some statements, each a node of its own."""

    def __init__(self, repository: Repository, id: str, steps: Sequence[Step]) -> None:
        self.repository = repository
        self.steps = steps
        self.engine = Engine(repository)
        self.log = RunLog()
        self.done = 0
        self.line = RunLine(
            repository,
            invocation=id,
            target="main",
            command="run",
            author="ann",
            on_error=lambda error: None,
        )

    def step(self) -> None:
        """Carry out the next statement."""
        step, run = self.steps[self.done], self.line.run
        base = run.head
        overlay = Overlay(
            repository=self.repository,
            base=base,
            tree=self.repository.tree(base),
            branch="main",
            author="ann",
        )
        origin = Origin(node=f"model.{step.target}", invocation=run.invocation)
        sent = (Sent(step.text),)
        inputs = self.engine(overlay, origin, sent, "").inputs
        name = RelationName("s", step.target)
        found = overlay.entry(name)
        assert found is not None
        if not overlay.is_empty:
            self.line.land(overlay, step.text)
        self.log.add(
            LoggedStep(
                id=f"model.{step.target}",
                origin=origin,
                reads=inputs,
                writes={name: found},
                statements=sent,
            )
        )
        self.done += 1

    def publish(self, on_stale: OnStale) -> LandedWork:
        """Publish the run; raises a `ConflictError` if it can't be."""
        run = self.line.run
        self.line._stopped.set()
        nodes = tuple(
            NodeRun(id=f"model.{step.target}", status="success", relation=f"s.{step.target}")
            for step in self.steps
        )
        record = RunRecord(invocation=run.invocation, command="run", nodes=nodes)
        healer = RunHealer(
            self.repository,
            self.log.steps,
            self.engine,
            origin=Origin(invocation=run.invocation),
            author="ann",
            fails=lambda test: True,
        )
        return land_work(
            self.repository,
            Work(source=run.name, commit=run.head, run=run, policy=Policy(), record=record),
            "main",
            Terms(message=run.invocation),
            author="ann",
            sessions=_no_engine,
            validator=ReadSetCheck(self.repository, on_stale, healer),
        )


def _no_engine() -> None:
    raise AssertionError("no merge here needs an engine")


def told_order(repository: Repository) -> Iterator[tuple[CommitId, list[str]]]:
    """Each commit of the branch main with the order of runs, by id, that it stands for.

    A run comes last, or before all that landed since it began if its commit says so.
    """
    order: list[str] = []
    landed: list[CommitId] = []
    commits = list(repository.log(repository.branch("main").head))
    for id, commit in reversed(commits):
        if commit.message.startswith("r"):
            since = len(landed)
            if EARLIER in commit.metadata:
                since = landed.index(find_run(repository, commit.message).fork) + 1
            order.insert(len(order) - (len(landed) - since), commit.message)
        landed.append(id)
        yield id, list(order)


def serial(first: State, runs: Sequence[Run]) -> dict[tuple[str, ...], State]:
    """The state that each order of some runs gives."""
    found = {}
    for order in itertools.permutations(runs):
        state = first
        for step in (step for run in order for step in run.steps):
            state = done(state, step)
        found[tuple(run.line.run.invocation for run in order)] = state
    return found
