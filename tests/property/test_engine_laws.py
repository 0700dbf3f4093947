"""Merges that SQL decides give what merges column by column do, on each engine."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.merges.branch_landing import keep_conflicts
from dbt.adapters.vcs.changes.merges.by_engine import engine_repair
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Clash, OpenMerge, Terms
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Decided, Pick, Seen
from dbt.adapters.vcs.changes.merges.table_merge import Merged, TableMerge, merge_tables
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import SnapshotId, WriteId
from dbt.adapters.vcs.core.model import Field, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.local_session import LocalSession
from dbt.adapters.vcs.engines.port import RowSession, Session
from dbt.adapters.vcs.engines.row_sessions import ENGINE
from dbt.adapters.vcs.engines.spark.engine import SparkEngine
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.limits import LIMITS, Limits
from tests.property import oracle
from tests.property.histories import Shape, Writer, shapes
from tests.property.merging import Fork, RowMode, drawn_mode, policy_of
from tests.property.oracle import Table, Value, canonical, counts_of, value_of
from tests.property.world import CountingBlobs, World

NOTHING = Limits(rows=-1, bytes=-1)
NAME = RelationName("s", "t")
# With Spark an example takes seconds: few are tried, and to shrink one would take an hour.
PHASES = (Phase.explicit, Phase.generate)
FEW = settings(
    max_examples=max(1, settings().max_examples // 25),
    phases=PHASES,
    suppress_health_check=[HealthCheck.too_slow],
)
SOME = settings(
    max_examples=max(1, settings().max_examples // 4),
    phases=PHASES,
    suppress_health_check=[HealthCheck.too_slow],
)


class Place:
    """One repository for all examples, and one session of Spark if it is the engine."""

    def __init__(self, folder: Path, engine: Callable[..., SparkEngine] | None) -> None:
        self.blobs = LocalBlobs(folder, fsync=False)
        self.repository = Repository.create(self.blobs, author="test")
        self.session = engine(self.blobs).session("laws") if engine is not None else None
        self.rows: RowSession = self.session or LocalSession(self.blobs)
        self.worlds = count()
        self.settings = SOME if self.session is None else FEW

    def world(self) -> World:
        return SharedWorld(self)

    def merge(
        self,
        fork: Fork,
        mode: Mode,
        limits: Limits,
        *,
        dry_run: bool = False,
        only: Pick | None = None,
        decisions: tuple[Decided, ...] = (),
    ) -> tuple[SnapshotId, Merged] | Clash:
        """Merge a fork; return what it came to."""
        work = TableMerge(
            name=NAME,
            ours=fork.world.id(fork.ours),
            theirs=fork.world.id(fork.theirs),
            based_on=fork.world.id(fork.base),
            mode=mode,
            dry_run=dry_run,
            only=only,
            decisions=decisions,
        )
        return merge_tables(self.repository, work, self.sessions, limits=limits)

    @property
    def sessions(self) -> Callable[[], Session] | None:
        session = self.session
        return None if session is None else lambda: session


class SharedWorld(World):
    """A world among others: no two write files of one name."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        # Spark reads and writes files here; nobody counts them.
        self.blobs = cast(CountingBlobs, place.blobs)
        self.repository = place.repository
        self._prefix = f"w{next(place.worlds)}"

    def _bytes(self, path: str) -> bytes:
        return self.repository.blobs.get(path)

    def write(self) -> WriteId:
        return WriteId(f"{self._prefix}{super().write()}")


class PlacedFork(Fork):
    """A fork on disk."""

    def __init__(self, place: Place, shape: Shape, draw: Callable[..., Any]) -> None:
        self.shape = shape
        self.world = place.world()
        self.writer = Writer(self.world, shape, draw)
        self.base = self.writer.base()
        self.ours = self.writer.steps(self.base, 3)
        self.theirs = self.writer.steps(self.base, 3)


@pytest.fixture(scope="module", params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    is_spark = request.param == "spark"
    engine = request.getfixturevalue("spark_engine_factory") if is_spark else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENGINE, request.param)
        made = Place(tmp_path_factory.mktemp("engine"), engine)
        yield made
        if isinstance(made.rows, LocalSession):
            made.rows.close()


def told(fork: Fork, found: tuple[SnapshotId, Merged] | Clash) -> tuple[Any, Counter[Value]]:
    """Return the report of a merge and its resulting rows; for a clash, its rows."""
    if isinstance(found, Clash):
        assert found.rows is not None
        return (found.kind, found.message), Counter(map(repr, found.rows.to_pylist()))
    version, merged = found
    snapshot = fork.world.repository.objects.snapshot(version)
    # Whether rows were written doesn't matter: an engine trims a tombstone that has rows of both
    # sides, where this process may find that equal rows are left.
    how = "graft" if merged.how == "rewrite" else merged.how
    numbers = (how, merged.added, merged.removed, merged.modified, merged.conflicts)
    return numbers, counts_of(fork.world.rows(snapshot), fork.shape.columns)


@pytest.mark.parametrize("keyed", [True, False], ids=["key", "no_key"])
def test_an_engine_decides_the_same_merge(place: Place, keyed: bool) -> None:
    @place.settings
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        fork = PlacedFork(place, data.draw(shapes(keyed=keyed)), data.draw)
        mode = data.draw(st.sampled_from(list(Mode)))
        here = told(fork, place.merge(fork, mode, LIMITS))
        assert told(fork, place.merge(fork, mode, NOTHING)) == here

    holds()


@pytest.mark.parametrize("keyed", [True, False], ids=["key", "no_key"])
def test_an_engine_picks_rows_as_the_oracle_does(place: Place, keyed: bool) -> None:
    @place.settings
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        fork = PlacedFork(place, data.draw(shapes(keyed=keyed)), data.draw)
        mode, cells = drawn_mode(data)
        # Few actions are held in memory, many are written to files.
        limits = data.draw(st.sampled_from([LIMITS, NOTHING]))
        by = fork.shape.key or fork.shape.columns
        base, ours, theirs = tables = [
            fork.world.rows(v) for v in (fork.base, fork.ours, fork.theirs)
        ]
        keys = [
            tuple(row[id] for id in by)
            for rows in tables
            for row in rows
            if data.draw(st.booleans())
        ]
        only = Pick(keys=data.draw(st.sampled_from([keys, None])))
        found = place.merge(fork, policy_of(mode, cells).mode, limits, only=only)
        picked = {tuple(map(canonical, key)) for key in keys}

        def is_picked(row: dict[str, Any]) -> bool:
            return only.keys is None or value_of(row, by) in picked

        # Theirs, as if only the picked rows had been changed.
        some = [*filter(is_picked, theirs), *(row for row in base if not is_picked(row))]
        check_told(fork, found, [base, ours, some], mode, cells, {})

    holds()


@pytest.mark.parametrize("keyed", [True, False], ids=["key", "no_key"])
def test_an_engine_follows_choices_as_the_oracle_does(place: Place, keyed: bool) -> None:
    @place.settings
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        fork = PlacedFork(place, data.draw(shapes(keyed=keyed)), data.draw)
        mode, cells = drawn_mode(data)
        # Few actions are held in memory, many are written to files.
        limits = data.draw(st.sampled_from([LIMITS, NOTHING]))
        decisions = tuple(choices(fork, keyed, data.draw))
        tables = [fork.world.rows(side) for side in (fork.base, fork.ours, fork.theirs)]
        by, columns = fork.shape.key or fork.shape.columns, fork.shape.columns
        now = {value_of(row, by): value_of(row, columns) for row in tables[1]}
        decided: dict[Value, str | Value] = {}
        for item in decisions:
            key = tuple(map(canonical, item.key))
            decided.pop(key, None)
            seen = item.seen and item.seen.row and value_of(dict(item.seen.row), columns)
            # The row of ours that somebody saw is another one now.
            if item.seen is not None and seen != now.get(key):
                continue
            given_row = {**dict(zip(by, item.key, strict=True)), **(item.row or {})}
            is_custom = item.choice is Choice.CUSTOM
            decided[key] = value_of(given_row, columns) if is_custom else item.choice.value
        found = outcome(
            lambda: place.merge(fork, policy_of(mode, cells).mode, limits, decisions=decisions)
        )
        if isinstance(found, str):
            # Values were given for a row that not both sides touched.
            assert "not changed on both sides any more" in found
            assert any(item.choice is Choice.CUSTOM for item in decisions)
        else:
            check_told(fork, found, tables, mode, cells, decided)

    holds()


def check_told(
    fork: Fork,
    found: tuple[SnapshotId, Merged] | Clash,
    tables: Sequence[Table],
    mode: RowMode,
    cells: bool,
    decided: Mapping[Value, str | Value],
) -> None:
    """Hold rows and the number of conflicts to the oracle."""
    shape = fork.shape
    expected = oracle.merge(tables, shape.columns, shape.key, mode, cells, decided)
    if mode == "fail" and expected.conflicts:
        assert isinstance(found, Clash) and found.rows is not None
        assert found.rows.num_rows + found.more == len(expected.conflicts)
        return
    (*_, conflicts), rows = told(fork, found)
    assert rows == expected.rows
    assert conflicts == len(expected.conflicts)


def choices(fork: Fork, keyed: bool, draw: Callable[..., Any]) -> Iterator[Decided]:
    """Choose for keys that both sides changed, for others too, and for some twice."""
    by, columns = fork.shape.key or fork.shape.columns, fork.shape.columns
    sides = [fork.world.rows(side) for side in (fork.base, fork.ours, fork.theirs)]
    every = [row for rows in sides for row in rows]
    if not every:
        return

    def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[id] for id in by)

    def changed(row: dict[str, Any]) -> bool:
        states = [sorted(repr(x) for x in rows if key_of(x) == key_of(row)) for rows in sides]
        return states[0] not in states[1:] and states[1] != states[2]

    met = [row for row in every if changed(row)]
    for row in met + draw(st.lists(st.sampled_from(every), max_size=2)):
        key = key_of(row)
        if not keyed:
            yield Decided(key, draw(st.sampled_from(SIDES_ONLY)))
            continue
        choice = draw(st.sampled_from([*SIDES_ONLY, Choice.DELETE, Choice.CUSTOM]))
        own = [item for item in sides[1] if key_of(item) == key]
        # Mostly what is there: other choices are void.
        seen = draw(st.sampled_from([None, *map(Seen, own or [None]), Seen(row), Seen(None)]))
        # A value of another row fits the column's type.
        other = draw(st.sampled_from(every))
        given = {name: other[name] for name in columns if name not in by}
        yield Decided(key, choice, given if choice is Choice.CUSTOM else None, seen)


def outcome(
    merged: Callable[[], tuple[SnapshotId, Merged] | Clash],
) -> tuple[SnapshotId, Merged] | Clash | str:
    """Return what a merge came to, or the words of its error."""
    try:
        return merged()
    except (ConflictError, InputError) as error:
        return str(error)


SIDES_ONLY = (Choice.OURS, Choice.THEIRS, Choice.BASE)
SCHEMA = Schema.of([Field(id="", name="k", type="bigint"), Field(id="", name="v", type="string")])


class Sides(Fork):
    """A base of rows by key, and what becomes of it on two sides."""

    def __init__(self, place: Place, rows: Table) -> None:
        self.shape = Shape(SCHEMA, ("k",), ())
        self.world = place.world()
        self.base = self.world.create(SCHEMA, rows, key=("k",))
        self.ours = self.theirs = self.base

    def changed(self, remove: Sequence[int], add: Table) -> Snapshot:
        """Replace rows of the base, by one tombstone and one block."""
        places = [place for place, row in self.world.located(self.base) if row["k"] in remove]
        if not add:
            return self.world.delete(self.base, places)
        return self.world.update(self.base, places, add)


def rows(keys: Sequence[int], v: str = "0") -> Table:
    return [{"k": k, "v": v} for k in keys]


def data_files(place: Place) -> set[str]:
    return {blob.path for blob in place.blobs.walk("data")}


def test_a_row_that_the_graft_leaves_otherwise_is_looked_at(place: Place) -> None:
    sides = Sides(place, rows(range(10)))
    sides.ours = sides.changed([1, 2], [])
    # The row 2 is deleted by ours already, so this tombstone can't be taken over as it is.
    sides.theirs = sides.changed([2, 3], [])
    sides.theirs = sides.world.append(sides.theirs, rows([3], "theirs"))
    found = place.merge(sides, Mode.FAIL, NOTHING)
    assert told(sides, found) == told(sides, place.merge(sides, Mode.FAIL, LIMITS))
    assert told(sides, found)[1] == counts_of(
        rows([0, *range(4, 10)]) + rows([3], "theirs"), ["k", "v"]
    )


def test_a_deletion_that_theirs_undid_takes_nothing_from_their_own(place: Place) -> None:
    sides = Sides(place, rows(range(10)))
    whole = sides.base
    sides.base = sides.changed([1, 2], [])
    sides.ours = sides.changed([3, 4], [])
    undone = sides.world.restore(sides.base, whole)
    places = [at for at, row in sides.world.located(undone) if row["k"] in (2, 3)]
    sides.theirs = sides.world.delete(undone, places)
    found = place.merge(sides, Mode.FAIL, NOTHING)
    assert told(sides, found) == told(sides, place.merge(sides, Mode.FAIL, LIMITS))
    # Theirs has the row 1 back; the row 2 is gone in both, deleted anew.
    assert told(sides, found)[1] == counts_of(rows([0, 1, *range(5, 10)]), ["k", "v"])


def test_the_rest_of_a_block_that_is_mostly_decided_against_stays(place: Place) -> None:
    sides = Sides(place, rows([100]))
    sides.ours = sides.changed([], rows(range(8), "ours"))
    sides.theirs = sides.changed([], rows(range(10), "theirs"))
    found = place.merge(sides, Mode.SKIP, NOTHING)
    assert told(sides, found) == told(sides, place.merge(sides, Mode.SKIP, LIMITS))
    assert not isinstance(found, Clash)
    merged = place.repository.objects.snapshot(found[0])
    assert not any(ref.deleted for ref in merged.segments)
    expected = rows([100]) + rows(range(8), "ours") + rows([8, 9], "theirs")
    assert told(sides, found)[1] == counts_of(expected, ["k", "v"])


def test_a_dry_run_counts_and_leaves_nothing(place: Place) -> None:
    sides = Sides(place, rows(range(10)))
    sides.ours = sides.changed([1, 2], rows([1, 2], "ours"))
    sides.theirs = sides.changed([2, 3, 4], rows([2, 3], "theirs"))
    before = data_files(place)
    found = place.merge(sides, Mode.ACCEPT, NOTHING, dry_run=True)
    assert not isinstance(found, Clash)
    version, merged = found
    assert version == sides.world.id(sides.ours)
    assert (merged.added, merged.removed, merged.modified, merged.conflicts) == (0, 1, 2, 1)
    assert data_files(place) == before


@pytest.mark.parametrize("mode", list(Mode))
def test_an_engine_leaves_no_file_but_those_of_the_result(place: Place, mode: Mode) -> None:
    sides = Sides(place, rows(range(10)))
    sides.ours = sides.changed([1, 2, 3], rows([1, 2], "ours"))
    sides.theirs = sides.changed([2, 3, 4], rows([2, 4], "theirs"))
    before = data_files(place)
    found = place.merge(sides, mode, NOTHING)
    left = data_files(place) - before
    if isinstance(found, Clash):
        assert not left
        return
    merged = place.repository.objects.snapshot(found[0])
    segments = [place.repository.objects.segment(ref.id) for ref in merged.segments]
    named = {block.path for segment in segments for block in segment.blocks}
    assert left <= named | {tombstone.path for part in segments for tombstone in part.tombstones}


def test_of_very_many_conflicts_the_first_are_shown_and_all_are_counted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = Sides(place, rows(range(20)))
    sides.ours = sides.changed(range(20), rows(range(9), "ours"))
    sides.theirs = sides.changed(range(20), rows(range(20), "theirs"))
    here = place.merge(sides, Mode.FAIL, LIMITS)
    there = place.merge(sides, Mode.FAIL, NOTHING)
    assert told(sides, here) == told(sides, there)
    assert isinstance(there, Clash) and (there.count, there.more) == (20, 0)
    monkeypatch.setattr(engine_repair, "KEPT", 19)
    monkeypatch.setattr(engine_repair, "SHOWN", 3)
    found = place.merge(sides, Mode.FAIL, NOTHING)
    assert isinstance(found, Clash)
    assert (found.count, found.more) == (20, 17)
    assert found.rows is not None and there.rows is not None
    assert found.rows.schema == there.rows.schema
    assert Counter(map(repr, found.rows.to_pylist())) < told(sides, here)[1]
    with pytest.raises(ConflictError, match=r"20 rows changed differently, too many .*'theirs'"):
        keep_conflicts(
            place.repository,
            OpenMerge(
                target="main",
                source="dev",
                head=place.repository.branch("main").head,
                theirs=place.repository.branch("main").head,
                mode=None,
                terms=Terms(),
            ),
            [found],
            author="test",
        )


def test_many_edits_of_a_column_that_the_other_side_dropped_are_found(place: Place) -> None:
    sides = Sides(place, rows(range(10)))
    sides.ours = sides.world.alter(sides.base, schema=SCHEMA.drop(["v"]))
    sides.theirs = sides.changed([2, 3, 4, 5], rows([2, 3, 4, 5], "theirs"))
    here, there = (place.merge(sides, Mode.FAIL, limits) for limits in (LIMITS, NOTHING))
    assert isinstance(there, Clash) and there == here
    assert "4 rows: k = 2; k = 3; k = 4; and 1 more" in there.message


def test_what_one_side_changed_alone_is_counted_by_the_engine(place: Place) -> None:
    sides = Sides(place, rows(range(10)))
    sides.theirs = sides.changed([2, 3, 4], rows([2, 3, 12], "theirs"))
    found = place.merge(sides, Mode.FAIL, NOTHING)
    assert not isinstance(found, Clash)
    _, merged = found
    assert (merged.how, merged.added, merged.removed, merged.modified) == (
        "fast_forward",
        1,
        1,
        2,
    )


@pytest.mark.parametrize("keyed", [True, False], ids=["key", "no_key"])
def test_an_engine_finds_the_same_differences(place: Place, keyed: bool) -> None:
    @place.settings
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        fork = PlacedFork(place, data.draw(shapes(keyed=keyed)), data.draw)
        check_difference(place, fork)

    holds()


def test_a_row_that_both_deleted_is_no_difference(place: Place) -> None:
    sides = Sides(place, rows(range(10)))
    # Each has a tombstone of its own for the row 3, and theirs has another row of its key.
    sides.ours = sides.changed([3, 4], rows([4], "ours"))
    sides.theirs = sides.changed([3, 5], rows([3], "theirs"))
    assert check_difference(place, sides) == (1, 1, 1)


def test_a_row_that_one_deleted_from_a_copy_is_no_difference(place: Place) -> None:
    sides = Sides(place, rows(range(4)))
    world = sides.world
    blocks = [block.path for block in world.blocks(sides.base)]
    sides.ours = world.compact(sides.base, blocks, derive=True)
    # Manifests tell of this update, but not which of its rows theirs deleted.
    changed = {at: {**row, "v": "ours"} for at, row in world.located(sides.ours)}
    sides.ours = world.replace(sides.ours, changed, ["v"])
    sides.theirs = sides.changed([0, 2, 3], [])
    assert check_difference(place, sides) == (0, 3, 1)


def check_difference(place: Place, fork: Fork) -> Counts:
    """Return how two sides differ; an engine finds the same rows as this process does."""
    difference = Difference(repository=place.repository, before=fork.ours, after=fork.theirs)
    found = place.rows.query(difference.by_engine(place.rows)).arrow()
    columns = found.column_names
    assert counts_of(found.to_pylist(), columns) == counts_of(
        difference.table().to_pylist(), columns
    )
    counts = difference.counts()
    assert difference.counts_by_engine(place.rows) == counts
    kinds = found.column("diff_type").to_pylist()
    assert tuple(map(kinds.count, Counts._fields)) == counts
    return counts
