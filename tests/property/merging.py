"""Merges of versions in a world, held to the oracle."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from hypothesis import strategies as st

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.merges.by_engine.engine_repair import EngineRepairs
from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode
from dbt.adapters.vcs.changes.merges.rowwise import row_merge
from dbt.adapters.vcs.changes.merges.rowwise.row_outcome import MergeOutcome
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Decided, RowPolicy
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import Snapshot
from dbt.adapters.vcs.core.repository import Repository
from tests.property import oracle
from tests.property.histories import Shape, Writer
from tests.property.oracle import Value, counts_of, value_of, wide_diff
from tests.property.world import World

RowMode: TypeAlias = Literal["fail", "skip", "accept"]
MODES: tuple[tuple[RowMode, bool], ...] = (
    ("fail", False),
    ("skip", False),
    ("accept", False),
    ("fail", True),
    ("skip", True),
    ("accept", True),
)


ENGINES: deque[EngineRepairs] = deque(maxlen=8)


def policy_of(mode: RowMode = "fail", cells: bool = False, **options: Any) -> RowPolicy:
    """Return the policy of a mode as the oracle takes it: by row, perhaps by cell before."""
    by_cell = "cell" if mode == "fail" else f"cell_{mode}"
    return RowPolicy(mode=Mode(by_cell if cells else mode), **options)


def merge(
    repository: Repository,
    base: Snapshot | None,
    ours: Snapshot,
    theirs: Snapshot,
    **options: Any,
) -> MergeOutcome:
    """Merge rows; DuckDB, where it is needed, is there until some more merges were made."""
    engine = EngineRepairs(blobs=repository.blobs)
    ENGINES.append(engine)
    return row_merge.merge(repository, base, ours, theirs, engine=engine, **options)


class Fork:
    """A base and two versions made from it, in a world of their own."""

    def __init__(self, shape: Shape, draw: Callable[..., Any], steps: int = 3) -> None:
        self.shape = shape
        self.world = World()
        self.writer = Writer(self.world, shape, draw)
        self.base = self.writer.base()
        self.ours = self.writer.steps(self.base, steps)
        self.theirs = self.writer.steps(self.base, steps)

    def merge(
        self,
        base: Snapshot | None,
        ours: Snapshot,
        theirs: Snapshot,
        mode: RowMode = "skip",
        cells: bool = False,
    ) -> Snapshot:
        return result_of(
            self.world,
            merge(
                self.world.repository, base, ours, theirs, policy=policy_of(mode=mode, cells=cells)
            ),
        )

    def counts(self, snapshot: Snapshot) -> Counter[Value]:
        return counts_of(self.world.rows(snapshot), self.shape.columns)


def result_of(world: World, outcome: MergeOutcome) -> Snapshot:
    """Store an outcome, and return its version."""
    if outcome.how == "up_to_date":
        return outcome.ours
    if outcome.how == "fast_forward":
        return outcome.theirs
    result = outcome.put(
        write=world.write(),
        parents=(world.id(outcome.ours), world.id(outcome.theirs)),
        created_at=Micros(max(outcome.ours.created_at, outcome.theirs.created_at) + 1),
    )
    world.id(result)
    return result


def check(
    fork: Fork,
    base: Snapshot | None,
    ours: Snapshot,
    theirs: Snapshot,
    mode: RowMode,
    cells: bool,
    decisions: Sequence[Decided] = (),
) -> MergeOutcome:
    """Hold one merge to the oracle: rows, conflicts and counts."""
    world, columns, key = fork.world, fork.shape.columns, fork.shape.key
    outcome = merge(
        world.repository,
        base,
        ours,
        theirs,
        policy=policy_of(mode=mode, cells=cells, decisions=decisions),
    )
    tables = [world.rows(side) for side in (base, ours, theirs)]
    decided: dict[oracle.Value, str | oracle.Value] = {}
    for item in decisions:
        found = tuple(map(oracle.canonical, item.key))
        given = {**dict(zip(key, item.key, strict=False)), **(item.row or {})}
        row = tuple(oracle.canonical(given[id]) for id in columns) if item.row else None
        decided[found] = row or item.choice.value
    expected = oracle.merge(tables, columns, key, mode, cells, decided)
    assert len(outcome.conflicts) == len(expected.conflicts)
    # Where decisions were made SQL merges, which keeps the rows of undecided conflicts alone.
    if not decisions or mode == "fail":
        assert conflicts_of(fork.shape, outcome) == expected.conflicts
    assert outcome.is_blocked == bool(expected.conflicts and mode == "fail")
    if outcome.is_blocked:
        return outcome
    result = result_of(world, outcome)
    rows = world.rows(result)
    assert counts_of(rows, columns) == expected.rows
    changes = wide_diff(tables[1], rows, columns, key)
    counts = outcome.counts
    if counts is None:
        assert decisions
        counts = Difference(repository=world.repository, before=ours, after=result).counts()
    assert counts == tuple(sum(part.values()) for part in changes)
    assert result.rows == ours.rows + counts.added - counts.removed
    return outcome


def conflicts_of(shape: Shape, outcome: MergeOutcome) -> set[Value]:
    """Return the keys in an outcome's table of conflicts; without a key the rows."""
    by = shape.key or shape.columns
    found = set()
    for row in outcome.conflicts.table.to_pylist():
        sides = [
            value_of({id: row[f"{side}_{id}"] for id in shape.columns}, by)
            for side in ("our", "their", "base")
        ]
        present = [side for side in sides if any(value is not None for value in side)]
        found.add(present[0] if present else sides[0])
    assert len(found) == outcome.conflicts.table.num_rows, "a conflict is told twice"
    return found


def drawn_mode(data: st.DataObject) -> tuple[RowMode, bool]:
    return data.draw(st.sampled_from(MODES))
