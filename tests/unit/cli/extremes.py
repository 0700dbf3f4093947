"""Stores that lose what they listed, versions that are large, and clients that ask for much."""

from __future__ import annotations

import os
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, cast

import msgspec
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.changes.merges import table_merge
from dbt.adapters.vcs.changes.merges.by_engine import engine_repair
from dbt.adapters.vcs.changes.merges.stale_by_merge import MAX_UNCHANGED
from dbt.adapters.vcs.changes.merges.table_merge import merge_tables
from dbt.adapters.vcs.commands.garbage import find_names
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.ids import CommitId, Micros, SnapshotId
from dbt.adapters.vcs.core.model import Field, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import SeenRefs
from dbt.adapters.vcs.core.store.objects import object_path
from dbt.adapters.vcs.iceberg.serve.catalog_api import rest_app
from dbt.adapters.vcs.iceberg.serve.documents import Documents, IcebergDocuments
from dbt.adapters.vcs.table.limits import Limits
from tests.unit.cli import scenes as at
from tests.unit.cli.faults import said_by
from tests.unit.cli.scenes import Scene
from tests.unit.iceberg.lake import Lake
from tests.unit.merges.test_damaged_tombstones import forked, swap
from tests.unit.serve.hand_writer import VectorWriter
from tests.unit.serve.test_writing import refusal
from tests.unit.tables import Tables

START: Final = 1_700_000_000
"""Seconds; so old that a collection deletes what nothing names."""


def default_is_not_listed(scene: Scene) -> str:
    """A store lists no names, and there is always one."""
    at.real(scene)
    repository = scene.warehouse.repository
    seen = SeenRefs({}, {}, repository.clock())
    return said_by(lambda: find_names(repository, Micros(0), seen))


def swapped_while_merged(scene: Scene) -> str:
    """A tombstone of before there were digests is another file when it is read again."""
    tables = Tables(scene.warehouse)
    _, dev, theirs, other = forked(tables, key=True)
    plain = msgspec.structs.replace(theirs, footer="", whole="")
    old = tables.warehouse.repository.objects
    blocks = [
        block
        for ref in old.snapshot(dev.snapshot).segments
        for block in old.segment(ref.id).blocks
    ]
    parents = [tables.shown(RelationName("shop", "t"))]
    tables.put("dev", t=tables.entry(blocks, [plain], parents=parents, key=True))
    real = engine_repair.overlaps

    def rival(*given: Any) -> Any:
        found = real(*given)
        swap(tables, theirs, other)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_repair, "overlaps", rival)
        never = partial(merge_tables, limits=Limits(rows=-1, bytes=-1))
        patch.setattr(table_merge, "merge_tables", never)
        return said_by(lambda: merge(scene.warehouse.repository, "dev", "main", author="bob"))


def collected_long_ago(scene: Scene) -> str:
    """A commit that nothing ever named is asked for by its id."""
    at.real(scene)
    repository = scene.warehouse.repository
    head = repository.objects.commit(scene.warehouse.head())
    id = repository.objects.put(msgspec.structs.replace(head, message="Never landed"))
    repository.objects.flush()
    os.utime(scene.folder / "warehouse" / object_path("commit", id), (START, START))
    assert "Deleted 0 data files and 1 manifest" in scene.vcs("gc").output
    return said_by(lambda: Repository.open(scene.warehouse.blobs).objects.commit(CommitId(id)))


def many_tables(scene: Scene) -> None:
    """More tables than a merge looks at are as they were."""
    same = scene.warehouse.table("1")
    scene.put(a="1", **{f"t{number}": same for number in range(MAX_UNCHANGED + 1)})
    scene.warehouse.branch("dev")
    scene.put("dev", a="2")


def needs_spark(scene: Scene) -> None:
    """Both sides changed a row with a value of a type that only Spark has."""
    tables = Tables(scene.warehouse)
    objects = scene.warehouse.repository.objects

    def put(branch: str, name: str) -> None:
        old = objects.snapshot(tables.entry([tables.block({1: name})], key=True).snapshot)
        schema = old.schema.add([Field(id="", name="waited", type="interval day to second")])
        new = objects.put(msgspec.structs.replace(old, schema=schema))
        tables.put(branch, a=TableEntry(snapshot=SnapshotId(new)))

    put("main", "before")
    scene.warehouse.branch("dev")
    put("main", "ours")
    put("dev", "theirs")


def damage_inside(scene: Scene) -> None:
    """Overwrite the last column of the newest version, whose file keeps its size."""
    (path,) = scene.folder.glob("warehouse/data/t/w=x3/*.parquet")
    start = pq.read_metadata(path).row_group(0).column(1).data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 9] = bytes(9)
    path.write_bytes(data)


def damaged_inside(scene: Scene) -> None:
    at.real(scene)
    damage_inside(scene)


def needs_a_damaged_file(scene: Scene) -> None:
    needs_spark(scene)
    damage_inside(scene)


def brought_back(scene: Scene) -> str:
    """A client's deletion vector lacks rows that the one before it deleted."""
    scene.warehouse.put(schema="s")
    lake = SimpleNamespace(repository=scene.warehouse.repository)
    writer = VectorWriter(cast(Lake, lake))
    base = writer.load()
    file = writer.write(base, [(1, "a"), (2, "b"), (3, "c")])
    assert writer.send(writer.snapshot(base, [file])).is_success
    for rows in ([0, 1], [1, 2]):
        base = writer.load()
        deleted = writer.delete(base, {file: rows}, alone=True)
        answer = writer.send(writer.snapshot(base, [file], (deleted,)))
    return refusal(answer)[2]


def named_in_another_commit(scene: Scene) -> str:
    """A snapshot is named by its id where the branch shows another version."""
    at.history(scene)
    name = RelationName("shop", "a")
    (old,) = (e for n, e in scene.warehouse.shown("main~1").items() if n == str(name))
    assert isinstance(old, TableEntry)
    repository = scene.warehouse.repository
    with connect(scene.warehouse.blobs.uri, "main") as client:
        client.sql(f"create snapshot first for table shop.a {{snapshot = '{old.snapshot}'}}")
    app = rest_app(repository, Documents(IcebergDocuments(repository), {}), tokens=None)
    http = TestClient(app, base_url="http://localhost")
    return refusal(http.get("/v1/first/namespaces/shop/tables/a"))[2]
