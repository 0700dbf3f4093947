"""Compaction: fewer blocks, the same rows, no difference to any diff."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.changes.writes.compaction import is_table_due, put_optimized, rewrite_table
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.commands.optimize import (
    OptimizeReport,
    optimize,
    parse_size,
)
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.core.model import Origin, RelationName, Snapshot
from dbt.adapters.vcs.core.plan.collect import files_of
from dbt.adapters.vcs.core.plan.delta import Delta, delta
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.manifests import put_segments
from dbt.adapters.vcs.table.types import arrow_type
from tests.unit.shelf import Shelf, _no_engine

T = RelationName("s", "t")


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    shelf.run("create table t (id int, v string)")
    for number in range(4):
        shelf.append("t", id=[10 * number + n for n in range(5)], v=[f"v{number}"] * 5)
    return shelf


def run(shelf: Shelf, *relations: str, **arguments: Any) -> OptimizeReport:
    return optimize(
        shelf.repository,
        "main",
        relations=relations or ("s.t",),
        author="ann",
        engine=_no_engine,
        **arguments,
    )


def change(shelf: Shelf, before: Snapshot, after: Snapshot) -> Delta:
    return delta(before, after, shelf.repository.objects.segments)


def test_small_blocks_become_one(shelf: Shelf) -> None:
    before, rows = shelf.snapshot("t"), shelf.rows("t")
    report = run(shelf)
    after = shelf.snapshot("t")
    assert shelf.rows("t") == rows
    assert [block.rows for block in shelf.blocks("t")] == [20]
    assert after.operation == "optimize"
    assert (report.tables[0].blocks_before, report.tables[0].blocks_after) == (4, 1)
    assert change(shelf, before, after).is_empty
    assert change(shelf, after, before).is_empty


def test_what_is_well_is_left_alone(shelf: Shelf) -> None:
    run(shelf)
    head = shelf.line.head()
    report = run(shelf)
    assert (report.commit, report.tables, report.looked_at) == (None, (), 1)
    assert shelf.line.head() == head
    size = shelf.blocks("t")[0].bytes
    shelf.append("t", id=[99], v=["x"])
    kept = shelf.blocks("t")[0].path
    assert run(shelf, target_bytes=size).commit is None, "one small block has no company"
    shelf.append("t", id=[100], v=["x"])
    run(shelf, target_bytes=size)
    assert shelf.blocks("t")[0].path == kept


def test_deleted_rows_go_for_good(shelf: Shelf) -> None:
    shelf.delete("t", (0, 1), (2, 0), (2, 4))
    before, rows = shelf.snapshot("t"), shelf.rows("t")
    report = run(shelf)
    after = shelf.snapshot("t")
    assert shelf.rows("t") == rows
    assert len(rows) == after.rows == 17
    assert sum(ref.deleted for ref in after.segments) == 0
    assert report.tables[0].dropped_rows == 3
    assert change(shelf, before, after).is_empty


def test_what_diffs_from_before_read_is_not_collected(shelf: Shelf) -> None:
    start = shelf.snapshot("t")
    shelf.delete("t", (0, 1))
    run(shelf)
    (item,) = change(shelf, start, shelf.snapshot("t")).deleted
    read = shelf.repository.objects.segment
    kept = [path for ref in shelf.snapshot("t").segments for path in files_of(read(ref.id))]
    assert item.path in kept


def test_a_block_without_rows_left_goes(shelf: Shelf) -> None:
    shelf.run("create table one (id int)")
    shelf.append("one", id=[1, 2])
    shelf.delete("one", (0, 0), (0, 1))
    before = shelf.snapshot("one")
    run(shelf, "s.one")
    after = shelf.snapshot("one")
    assert after.rows == 0 and shelf.blocks("one") == []
    assert change(shelf, before, after).is_empty
    shelf.append("one", id=[3])
    assert [block.rows for block in change(shelf, before, shelf.snapshot("one")).added] == [1]


def test_only_what_came_since_is_a_difference(shelf: Shelf) -> None:
    shelf.delete("t", (1, 0))
    first = shelf.snapshot("t")
    shelf.append("t", id=[50], v=["new"])
    shelf.delete("t", (0, 0))
    run(shelf)
    found = change(shelf, first, shelf.snapshot("t"))
    # The row that was added is in the new block with all others; diffs by value find it.
    assert sum(block.rows for block in found.added) == 19
    second = shelf.snapshot("t")
    shelf.delete("t", (0, 3))
    found = change(shelf, second, shelf.snapshot("t"))
    assert (found.rows_added, found.rows_removed, found.added) == (0, 1, ())


def test_compactions_one_after_the_other_cancel(shelf: Shelf) -> None:
    versions = [shelf.snapshot("t")]
    rows = shelf.rows("t")
    size = sum(block.bytes for block in shelf.blocks("t")) // 2 + 1
    for target in (size, 2**20):
        run(shelf, target_bytes=target)
        versions.append(shelf.snapshot("t"))
    assert [sum(ref.blocks for ref in item.segments) for item in versions] == [4, 2, 1]
    shelf.delete("t", (0, 0))
    versions.append(shelf.snapshot("t"))
    shelf.run("alter table t set tblproperties ('x' = '1')")
    run(shelf)
    versions.append(shelf.snapshot("t"))
    for early in versions[:3]:
        for late in versions[:3]:
            assert change(shelf, early, late).is_empty
        for late in versions[3:]:
            found = change(shelf, early, late)
            assert (found.added, found.removed) == ((), ())
            assert [item.rows for item in found.deleted] == [1]
    assert change(shelf, versions[3], versions[4]).is_empty
    assert sorted(shelf.rows("t")) == sorted(rows)[1:]


def test_partitions_stay_apart(shelf: Shelf) -> None:
    shelf.run("create table p (id int, day int) partitioned by (day)")
    overlay = shelf.begin()
    snapshot = overlay.require_table(RelationName("s", "p"))
    paths = []
    for number in range(6):
        folder = f"data/{snapshot.table}/w=x{number}/day={number % 2}"
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"id": pa.array([number], pa.int32())}), sink)
        paths.append(f"{folder}/part-0.parquet")
        shelf.blobs.create(paths[-1], sink.getvalue().to_pybytes())
    blocks = read_blocks(shelf.blobs, paths, snapshot.schema, snapshot.partition_by)
    scope = shelf.connection.scope("", overlay, Origin())
    segments = put_segments(shelf.repository.objects, blocks)
    changed(scope, RelationName("s", "p"), snapshot, operation="append", segments=segments)
    shelf.line.land(overlay, "append")
    run(shelf, "s.p")
    after = shelf.blocks("p")
    assert sorted((block.partition["day"], block.rows) for block in after) == [("0", 3), ("1", 3)]
    assert sorted(shelf.rows("p")) == [(number, number % 2) for number in range(6)]


def test_values_of_every_type_stay_what_they_are(shelf: Shelf) -> None:
    columns = {
        "a": ("tinyint", [1, None]),
        "b": ("double", [-0.0, 1e308]),
        "c": ("decimal(38,10)", [Decimal("-1.0000000001"), None]),
        "d": ("timestamp", [datetime(1, 1, 1, tzinfo=timezone.utc), None]),
        "e": ("timestamp_ntz", [datetime(9999, 12, 31, 23, 59, 59, 999999), None]),
        "f": ("array<struct<x:int,y:map<string,binary>>>", [[{"x": 1, "y": [("k", b"\0")]}], []]),
        "g": ("string", ["", "it's \n \U0001f600"]),
        "h": ("binary", [b"", b"\xff\x00"]),
        "i": ("boolean", [True, None]),
    }
    shelf.run(f"create table w ({', '.join(f'{n} {t}' for n, (t, _) in columns.items())})")
    for _ in range(2):
        shelf.append("w", **{n: pa.array(v, arrow_type(t)) for n, (t, v) in columns.items()})
    rows = shelf.rows("w")
    run(shelf, "s.w")
    assert len(shelf.blocks("w")) == 1
    assert str(shelf.rows("w")) == str(rows)


def test_columns_that_came_later_or_widened(shelf: Shelf) -> None:
    shelf.run("alter table t alter column id type bigint")
    shelf.run("alter table t rename column v to name")
    shelf.run("alter table t add column later int first")
    shelf.append("t", later=pa.array([1], pa.int32()), id=[2**40], name=["new"])
    rows = shelf.rows("t")
    run(shelf)
    assert len(shelf.blocks("t")) == 1
    assert shelf.rows("t") == rows


def test_what_is_written_anew_is_clustered(shelf: Shelf) -> None:
    shelf.run("create table c (id int, k int) cluster by (k)")
    for number in (3, 1, 2, 0):
        shelf.append("c", id=[number] * 2, k=[10 * number + 1, 10 * number])
    run(shelf, "s.c")
    assert [row[1] for row in shelf.rows("c")] == [0, 1, 10, 11, 20, 21, 30, 31]


def test_rows_that_others_add_and_delete_meanwhile_stay(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = []

    def slow(*arguments: Any, **options: Any) -> Any:
        found = rewrite_table(*arguments, **options)
        if not planned:
            shelf.append("t", id=[77], v=["theirs"])
            shelf.delete("t", (3, 0))
        planned.append(found)
        return found

    monkeypatch.setattr("dbt.adapters.vcs.commands.optimize.rewrite_table", slow)
    run(shelf)
    assert sorted(shelf.rows("t"))[-1] == (77, "theirs")
    assert shelf.snapshot("t").rows == 20
    assert len(planned) == 2, "the block that lost a row could not be taken as it was written"
    assert len(shelf.blocks("t")) == 1


def test_what_was_written_serves_after_an_insert_of_others(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = []

    def slow(*arguments: Any, **options: Any) -> Any:
        planned.append(rewrite_table(*arguments, **options))
        shelf.append("t", id=[77], v=["theirs"])
        return planned[-1]

    monkeypatch.setattr("dbt.adapters.vcs.commands.optimize.rewrite_table", slow)
    run(shelf)
    assert len(planned) == 1
    assert [block.rows for block in shelf.blocks("t")] == [1, 20]


def test_a_statement_that_lost_the_race_is_run_again(shelf: Shelf) -> None:
    overlay = shelf.begin()
    assert shelf.run("optimize t", overlay).rows.fetch() == [("s.t", "4", "1", "0")]  # type: ignore[union-attr]
    shelf.append("t", id=[77], v=["theirs"])
    with pytest.raises(ConflictError):
        shelf.line.land(overlay, "optimize t")
    shelf.run("optimize t")
    assert [block.rows for block in shelf.blocks("t")] == [21]


def test_a_rewrite_of_blocks_that_are_gone_counts_for_nothing(shelf: Shelf) -> None:
    rewrites = rewrite_table(shelf.repository, shelf.snapshot("t"), shelf.connection.session)
    shelf.run("truncate table t")
    assert put_optimized(shelf.begin(), T, rewrites, Origin()) is None


def test_a_table_is_due_when_reading_it_suffers(shelf: Shelf) -> None:
    assert not is_table_due(shelf.repository, shelf.snapshot("t"))
    shelf.delete("t", (0, 0), (0, 1), (0, 2))
    assert is_table_due(shelf.repository, shelf.snapshot("t"))
    shelf.run("create table many (id int)")
    for number in range(66):
        shelf.append("many", id=[number])
    assert is_table_due(shelf.repository, shelf.snapshot("many"))
    optimize(shelf.repository, "main", everything=True, author="ann", engine=_no_engine)
    assert not is_table_due(shelf.repository, shelf.snapshot("many"))
    assert not is_table_due(shelf.repository, shelf.snapshot("t"))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, InputError),
        ({"relations": ["s.t"], "everything": True}, InputError),
        ({"relations": ["t"]}, InputError),
        ({"relations": ["s.nix"]}, NotFoundError),
        ({"schema": "nix"}, NotFoundError),
        ({"everything": True, "target_bytes": 0}, InputError),
        ({"relations": ["s.t"], "cluster_by": ["nix"]}, InputError),
    ],
)
def test_what_can_not_be_optimized(shelf: Shelf, arguments: Any, error: type) -> None:
    with pytest.raises(error):
        optimize(shelf.repository, "main", **arguments, author="ann", engine=_no_engine)


@pytest.mark.parametrize(
    ("text", "size"),
    [("128MB", 2**27), ("64 MiB", 2**26), ("1g", 2**30), ("1.5k", 1536), ("1000", 1000)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-1", "1 light year", "1e9"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError, match="Expected a size"):
        parse_size(text)
