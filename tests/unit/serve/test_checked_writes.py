"""Check constraints hold for rows of clients, without an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Proposal
from dbt.adapters.vcs.core.tree_changes import TreeChanges
from tests.unit.iceberg.lake import Lake

from .hand_writer import Writer
from .test_writing import head, refusal


def checked(folder: Path, condition: str) -> Writer:
    """Return a client of a table with a constraint, which an engine would have looked at."""
    writer = Writer(Lake(folder / "lake"))
    repository, name = writer.lake.repository, RelationName("s", "t")
    base = head(writer.lake)
    entry = repository.tree(base).entry(name)
    assert isinstance(entry, TableEntry)
    old = repository.objects.snapshot(entry.snapshot)
    properties = {**old.properties, "vcs.check.good": condition}
    new = msgspec.structs.replace(old, properties=properties, parents=(entry.snapshot,))
    made = TableEntry(snapshot=SnapshotId(repository.objects.put(new)))
    tree = repository.edit(repository.tree(base).id, TreeChanges(relations={name: made}))
    repository.land(
        Proposal(branch="main", base=base, tree=tree, author="ann", message="constraint")
    )
    return writer


def test_rows_that_fit_land_and_others_are_named(tmp_path: Path) -> None:
    writer = checked(tmp_path, "id > 0 and name in ('a', 'b')")
    base = writer.load()
    good = writer.write(base, [(1, "a"), (2, None)])
    assert writer.send(writer.snapshot(base, [good])).is_success
    base, before = writer.load(), head(writer.lake)
    for rows in ([(3, "c")], [(-1, "a")], [(0, None)], [(5, "a"), (4, "zzz")]):
        request = writer.snapshot(base, [good, writer.write(base, rows)])
        status, _, message = refusal(writer.send(request))
        assert (status, "check constraint good" in message) == (400, True), message
        assert repr(rows[-1][1] or 0).strip("'") in message
        assert head(writer.lake) == before


def test_rows_that_the_commit_deletes_are_not_checked(tmp_path: Path) -> None:
    writer = checked(tmp_path, "id > 0")
    base = writer.load()
    new = writer.write(base, [(-1, "a"), (1, "b")])
    request = writer.snapshot(base, [new], (writer.delete(base, {new: [0]}),))
    assert writer.send(request).is_success
    assert writer.rows() == [(1, "b")]


@pytest.mark.parametrize("condition", ["length(name) < 3", "id < abs(id)"])
def test_a_condition_that_only_sql_computes_is_refused(tmp_path: Path, condition: str) -> None:
    writer = checked(tmp_path, condition)
    base, before = writer.load(), head(writer.lake)
    status, _, message = refusal(
        writer.send(writer.snapshot(base, [writer.write(base, [(1, "a")])]))
    )
    assert (status, "needs Spark" in message) == (400, True)
    assert head(writer.lake) == before


def test_a_merge_of_checked_rows(tmp_path: Path) -> None:
    writer = checked(tmp_path, "id > 0")
    base = writer.load()
    assert writer.send(
        writer.snapshot(base, [writer.write(base, [(1, "a"), (2, "b")])])
    ).is_success
    base = writer.load()
    requests: list[Any] = [
        writer.snapshot(base, [writer.write(base, rows)])
        for rows in ([(1, "z"), (2, "b")], [(1, "a"), (2, "y")])
    ]
    for request in requests:
        assert writer.send(request).is_success
    assert writer.rows() == [(1, "z"), (2, "y")]
