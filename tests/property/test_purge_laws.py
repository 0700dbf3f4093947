"""The laws of a purge: every version without the erased rows, and all that versions make."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.diffs.difference import diff
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.core.model import Field, RelationName, Schema, Snapshot, TableEntry
from dbt.adapters.vcs.core.origins.results import Result, Results
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges
from tests.property.histories import Shape, Writer
from tests.property.merging import merge, result_of
from tests.property.oracle import Row, Table, counts_of, value_of
from tests.property.world import World

JANE = "jane-4711@example.org"
NAME = RelationName("s", "t")
COLUMNS = ["k", "v", "p"]
CHOICES: dict[str, Sequence[Any]] = {
    "k": (1, 2, 3, 4, 5),
    "v": ("ann", JANE, "bob", None),
    "p": (0, 1, None),
}
SCHEMA = Schema.of(
    [
        Field(id="", name="k", type="bigint"),
        Field(id="", name="v", type="string"),
        Field(id="", name="p", type="int"),
    ]
)
# A condition, and for which rows it is true: NULL is not.
CONDITIONS: tuple[tuple[str, Callable[[Row], bool]], ...] = (
    (f"v = '{JANE}'", lambda row: row["v"] == JANE),
    (f"'{JANE}' <= v and k < 4", lambda row: (row["v"] or "") >= JANE and row["k"] < 4),
    ("k in (1, 3)", lambda row: row["k"] in (1, 3)),
    ("p = 1", lambda row: row["p"] == 1),
    ("v is null", lambda row: row["v"] is None),
    (
        "p is not null and k between 2 and 3",
        lambda row: row["p"] is not None and row["k"] in (2, 3),
    ),
)


class People(Writer):
    """Writes tables of people."""

    def _value(self, field: Field, refused: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from([v for v in CHOICES[field.id] if v not in refused]))


class Lines:
    """Two branches that were one, with the versions that their commits show."""

    def __init__(self, data: st.DataObject) -> None:
        key = ("k",) if data.draw(st.booleans()) else ()
        by = ("p",) if data.draw(st.booleans()) else ()
        self.world = World()
        writer = People(self.world, Shape(SCHEMA, key, by), data.draw)
        repository = self.world.repository
        base = writer.base()
        self.put("main", base)
        repository.create_branch("dev", repository.branch("main").head, author="ann")
        for branch in ("main", "dev"):
            version = base
            for _ in range(data.draw(st.integers(1, 2))):
                version = writer.steps(version)
                self.put(branch, version)

    def put(self, branch: str, version: Snapshot) -> None:
        repository = self.world.repository
        head = repository.branch(branch).head
        tree = repository.tree(head)
        changes = TreeChanges(
            schemas={} if tree.has_schema("s") else {"s": SchemaInfo()},
            relations={NAME: TableEntry(snapshot=self.world.id(version))},
        )
        repository.land(
            Proposal(
                branch=branch,
                base=head,
                tree=repository.edit(tree.id, changes),
                author="ann",
                message="put",
                allow_empty=True,
            )
        )

    def versions(self) -> list[Snapshot]:
        """The versions of all commits: those of main, then those of dev, newest first."""
        repository = self.world.repository
        found = []
        for name in ("main", "dev"):
            for commit, _ in repository.log(repository.branch(name).head):
                entry = repository.tree(commit).entry(NAME)
                if isinstance(entry, TableEntry):
                    found.append(repository.objects.snapshot(entry.snapshot))
        return found

    def erase(self, where: str) -> None:
        self.world.repository.objects.flush()
        repository = Repository.open(self.world.blobs)
        purge(repository, PurgeRequest(relation="s.t", where=where), author="bob")
        self.world.repository = Repository.open(self.world.blobs)


def without(rows: Table, is_erased: Callable[[Row], bool]) -> Table:
    return [row for row in rows if not is_erased(row)]


def signed(world: World, old: Snapshot | None, new: Snapshot | None) -> list[Row]:
    rows: list[Row] = diff(world.repository, old, new).signed().to_pylist()
    return rows


@given(st.data(), st.sampled_from(CONDITIONS))
def test_every_version_loses_the_rows_for_which_the_condition_is_true(
    data: st.DataObject, condition: tuple[str, Callable[[Row], bool]]
) -> None:
    where, is_erased = condition
    lines = Lines(data)
    before = [lines.world.rows(version) for version in lines.versions()]
    lines.erase(where)
    after = [lines.world.rows(version) for version in lines.versions()]
    # The rows that are left keep their order, too.
    assert [[value_of(row, COLUMNS) for row in rows] for rows in after] == [
        [value_of(row, COLUMNS) for row in without(rows, is_erased)] for rows in before
    ]
    assert check_repository(lines.world.repository).problems == ()


@given(st.data(), st.sampled_from(CONDITIONS))
def test_diffs_of_new_versions_are_those_of_the_old_ones_without_the_rows(
    data: st.DataObject, condition: tuple[str, Callable[[Row], bool]]
) -> None:
    where, is_erased = condition
    lines = Lines(data)
    old = [None, *lines.versions()]
    places = [
        (data.draw(st.integers(0, len(old) - 1)), data.draw(st.integers(1, len(old) - 1)))
        for _ in range(3)
    ]
    before = [signed(lines.world, old[left], old[right]) for left, right in places]
    lines.erase(where)
    new = [None, *lines.versions()]
    for (left, right), expected in zip(places, before, strict=True):
        columns = [*COLUMNS, "diff_count"]
        assert counts_of(signed(lines.world, new[left], new[right]), columns) == counts_of(
            without(expected, is_erased), columns
        )


@given(st.data(), st.sampled_from(CONDITIONS))
def test_merging_new_branches_gives_the_old_merge_without_the_rows(
    data: st.DataObject, condition: tuple[str, Callable[[Row], bool]]
) -> None:
    where, is_erased = condition
    lines = Lines(data)

    def merged() -> tuple[int, Table]:
        repository = lines.world.repository
        heads = [repository.branch(name).head for name in ("main", "dev")]
        base = repository.merge_base(*heads)
        assert base is not None
        sides = []
        for commit in (base, *heads):
            entry = repository.tree(commit).entry(NAME)
            assert isinstance(entry, TableEntry)
            sides.append(repository.objects.snapshot(entry.snapshot))
        outcome = merge(repository, *sides)
        if outcome.conflicts.table.num_rows:
            return outcome.conflicts.table.num_rows, []
        return 0, lines.world.rows(result_of(lines.world, outcome))

    conflicts, rows = merged()
    lines.erase(where)
    if not conflicts:
        assert (0, counts_of(merged()[1], COLUMNS)) == (
            0,
            counts_of(without(rows, is_erased), COLUMNS),
        )


@given(st.data())
def test_no_file_holds_what_was_erased(data: st.DataObject) -> None:
    lines = Lines(data)
    blobs = lines.world.blobs
    text = f"select '{JANE}'"
    for number in range(data.draw(st.integers(0, 3))):
        Results(blobs).put(f"{number:064x}", Result(kind="answer", rows=JANE, statement=text))
    lines.erase(f"v = '{JANE}'")
    for folder in ("objects", "refs", "data", "rewritten", "results"):
        for info in blobs.walk(folder):
            stored = blobs.get(info.path)
            if stored.startswith(b"\x28\xb5\x2f\xfd"):
                stored = zstandard.ZstdDecompressor().decompress(stored)
            assert JANE.encode() not in stored, info.path
            if folder == "data":
                table = pq.ParquetFile(pa.BufferReader(stored)).read()
                for name in table.column_names:
                    assert JANE not in table.column(name).to_pylist(), info.path
