"""Laws of compaction: rows don't change, and diffs show only real changes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.commands.optimize import optimize
from dbt.adapters.vcs.core.model import Block, Derivation, Segment, Snapshot, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN
from dbt.adapters.vcs.core.plan.compaction import contents_of, plan_compaction
from dbt.adapters.vcs.core.plan.delta import Deletion, delta
from dbt.adapters.vcs.table.files.block_reader import Files
from tests.unit.shelf import Shelf, _no_engine

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(st.integers(0, 4), min_size=1, max_size=4)),
        st.tuples(st.just("delete"), st.lists(st.integers(0, 99), min_size=1, max_size=3)),
        # A block of these tests has about 400 bytes.
        st.tuples(st.just("optimize"), st.sampled_from([500, 900, 5000])),
    ),
    min_size=2,
    max_size=10,
)


class Book:
    """The table, the rows that it must have, and every version of it."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.shelf.run("create table t (id int)")
        self.rows: Counter[int] = Counter()
        self.versions: list[tuple[Snapshot, Counter[int]]] = []
        self.keep()

    def keep(self) -> None:
        self.versions.append((self.shelf.snapshot("t"), Counter(self.rows)))

    def append(self, ids: list[int]) -> None:
        self.shelf.append("t", id=ids)
        self.rows.update(ids)

    def delete(self, choices: list[int]) -> None:
        live = self.live()
        chosen = {choice % len(live) for choice in choices} if live else set()
        if chosen:
            self.shelf.delete("t", *(live[number][:2] for number in sorted(chosen)))
            self.rows.subtract(live[number][2] for number in chosen)

    def optimize(self, target: int) -> None:
        optimize(
            self.shelf.repository,
            "main",
            relations=["s.t"],
            target_bytes=target,
            author="ann",
            engine=_no_engine,
        )

    def live(self) -> list[tuple[int, int, int]]:
        """Return number of the block, position and value of every row."""
        read = self.shelf.repository.objects.segment
        held = contents_of(read(ref.id) for ref in self.shelf.snapshot("t").segments)
        gone = Files(self.shelf.blobs).deletions(held.tombstones, held.deleted)
        return [
            (number, position, value)
            for number, block in enumerate(held.blocks)
            for position, value in enumerate(self.values(block))
            if position not in gone.get(block.path, ())
        ]

    def values(self, block: Any) -> list[int]:
        fields = self.shelf.snapshot("t").schema.fields
        batches = Files(self.shelf.blobs).batches(block, fields)
        return [value for batch in batches for value in batch.column(0).to_pylist()]

    def images(self, item: Deletion) -> list[int]:
        table = pq.read_table(pa.BufferReader(self.shelf.blobs.get(item.path)))
        found: list[int] = table.filter(pc.equal(table[FILE_COLUMN], item.block))["id"].to_pylist()
        assert len(found) == item.rows
        return found


@given(STEPS)
@settings(deadline=None)
def test_diffs_between_any_two_versions_are_what_changed(steps: list[tuple[str, Any]]) -> None:
    book = Book()
    for step, argument in steps:
        getattr(book, step)(argument)
        book.keep()
        assert Counter(row[0] for row in book.shelf.rows("t")) == +book.rows
    read = book.shelf.repository.objects.segments
    for before, old in book.versions:
        for after, new in book.versions:
            change = delta(before, after, read)
            signed: Counter[int] = Counter()
            for block in change.added:
                signed.update(book.values(block))
            for block in change.removed:
                signed.subtract(book.values(block))
            for item in change.deleted:
                signed.subtract(book.images(item))
            for item in change.restored:
                signed.update(book.images(item))
            wanted = Counter(new)
            wanted.subtract(old)
            assert {k: n for k, n in signed.items() if n} == {k: n for k, n in wanted.items() if n}


@given(STEPS)
@settings(deadline=None)
def test_a_compaction_alone_is_no_difference(steps: list[tuple[str, Any]]) -> None:
    book = Book()
    read = book.shelf.repository.objects.segments
    for step, argument in steps:
        before = book.shelf.snapshot("t")
        getattr(book, step)(argument)
        if step == "optimize":
            after = book.shelf.snapshot("t")
            assert delta(before, after, read).is_empty
            assert delta(after, before, read).is_empty


def test_what_a_compaction_wrote_is_written_again_only_with_other_rows() -> None:
    def block(path: str, bytes: int = 10) -> Block:
        return Block(path=path, rows=10, bytes=bytes)

    def plan(*blocks: Block, gone: int = 0) -> list[list[str]]:
        # As where rows are sorted, a compaction may write more blocks than it was meant to.
        done = Derivation(outputs=("a", "b"), inputs=("x", "y", "z"), tombstones=())
        tombstones = (Tombstone(path="t", targets={"a": gone}, bytes=1),)
        segment = Segment(blocks=blocks, tombstones=tombstones, derivations=(done,))
        bins = plan_compaction(contents_of([segment]), target_bytes=100)
        return [[block.path for block in item.blocks] for item in bins]

    a, b, c = map(block, "abc")
    assert plan(a, b) == []
    assert plan(a, b, block("large", 60)) == []
    assert plan(a, b, c) == [["a", "b", "c"]]
    assert plan(a, c) == [["a", "c"]]
    assert plan(a, b, gone=5) == [["a", "b"]]
