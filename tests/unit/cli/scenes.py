"""Repositories in which a message appears that names a command."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.store.objects import object_path
from dbt.adapters.vcs.core.store.opening import CONDEMNED
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a scenario happens."""

    warehouse: Warehouse
    folder: Path
    vcs: Callable[..., object]

    def put(self, branch: str = "main", **tables: Any) -> None:
        self.warehouse.put(branch, **tables)


def history(scene: Scene) -> None:
    """`main` has two commits, `dev` one more; a tag and a branch that is gone."""
    scene.put(a="1", b="1", v="1")
    scene.put(a="1 2", b="1 2")
    scene.warehouse.branch("dev")
    scene.put("dev", c="1")
    scene.warehouse.branch("gone")
    repository = scene.warehouse.repository
    repository.create_tag("v1", scene.warehouse.head(), author="ann")
    repository.delete_branch("gone", author="ann")


def clash(scene: Scene) -> None:
    """A row of `a` differs on both, and `dropped` is gone on one."""
    scene.put(a="1", dropped="1")
    scene.warehouse.branch("dev")
    scene.put(a="2", dropped="2")
    scene.put("dev", a="3", dropped=None)


def waiting(scene: Scene) -> None:
    clash(scene)
    scene.vcs("merge", "dev", "main", code=1)


def resolved(scene: Scene) -> None:
    waiting(scene)
    scene.vcs("resolve", "--all", "--with", "ours", "main")


def protected(scene: Scene) -> None:
    history(scene)
    scene.vcs("branch", "protect", "main")


def approved(scene: Scene) -> None:
    history(scene)
    scene.vcs("branch", "protect", "main", "--require", "approval")


def moved(scene: Scene) -> Mapping[str, str]:
    history(scene)
    before = scene.warehouse.head("dev")
    scene.put("dev", d="1")
    return {"before": before}


def stale(scene: Scene) -> None:
    """`dev` changes what `b` was made from."""
    tables = Tables(scene.warehouse)
    old, new = (tables.entry([tables.block({1: name})]) for name in ("a", "b"))
    made = tables.entry([tables.block({1: "a"})], inputs={"shop.a": old}, node="model.shop.b")
    scene.warehouse.put(a=old, b=made)
    scene.warehouse.branch("dev")
    scene.warehouse.put("dev", a=new)


def stale_on_dev(scene: Scene) -> None:
    stale(scene)
    scene.vcs("branch", "create", "prod", "main")
    scene.vcs("branch", "protect", "prod", "--require", "fresh")


def stale_on_main(scene: Scene) -> None:
    stale(scene)
    scene.vcs("merge", "dev", "main")


def damaged(scene: Scene) -> None:
    """The newest version's file is cut."""
    real(scene)
    (path,) = scene.folder.glob("warehouse/data/t/w=x3/*.parquet")
    path.write_bytes(path.read_bytes()[:-9])


def in_two_steps(scene: Scene) -> Mapping[str, str]:
    """What was put together on `dev`."""
    history(scene)
    scene.put("dev", a="5", b="5")
    scene.put("dev", a="6")
    return {"one": scene.warehouse.repository.resolve("dev~1")}


def on_dev(scene: Scene) -> Mapping[str, str]:
    """A commit of `dev` whose rows have changed again since."""
    history(scene)
    scene.put("dev", c="5")
    scene.put("dev", c="6")
    return {"one": scene.warehouse.repository.resolve("dev~1")}


def dropped(scene: Scene) -> None:
    history(scene)
    scene.put("dev", dropped="1")
    scene.put("dev", dropped=None)


def kept(scene: Scene) -> None:
    history(scene)
    scene.vcs("branch", "create", "kept")
    scene.vcs("branch", "protect", "kept")


def kept_tag(scene: Scene) -> None:
    history(scene)
    scene.vcs("tag", "protect", "v1")


def waiting_elsewhere(scene: Scene) -> None:
    clash(scene)
    scene.vcs("branch", "create", "to", "main")
    scene.vcs("merge", "dev", "to", code=1)


def rows_waiting(scene: Scene) -> None:
    waiting(scene)
    scene.vcs("resolve", "shop.dropped", "main", "--with", "ours")


def a_move_is_lost(scene: Scene) -> None:
    history(scene)
    next(scene.folder.glob("warehouse/refs/heads/main/*1")).unlink()


def real(scene: Scene) -> Tables:
    """Versions whose files have the sizes that they say."""
    tables = Tables(scene.warehouse)
    for name in ("one", "two"):
        tables.put(a=tables.entry([tables.block({1: name})]))
    scene.warehouse.branch("dev")
    tables.put("dev", a=tables.entry([tables.block({1: "three"})]))
    return tables


def whole(scene: Scene) -> None:
    real(scene)


def orphans(scene: Scene) -> None:
    real(scene).block({1: "nobody's"})


def no_branch(scene: Scene) -> None:
    """The profile's branch is gone."""
    history(scene)
    (project,) = scene.folder.parent.glob("*/profiles.yml")
    project.write_text(project.read_text().replace("branch: main", "branch: never"))


def damaged_commit(scene: Scene) -> None:
    real(scene)
    damage(scene, "commit", scene.warehouse.head("dev"))


def cut(scene: Scene) -> None:
    """The newest version of `a` has a manifest that can't be read; a copy has it."""
    tables = real(scene)
    scene.vcs("copy", "warehouse", "whole")
    damage(scene, "snapshot", tables.shown(RelationName("shop", "a"), "dev").snapshot)


def cut_segment(scene: Scene) -> None:
    tables = real(scene)
    entry = tables.shown(RelationName("shop", "a"), "dev")
    (segment,) = scene.warehouse.repository.objects.snapshot(entry.snapshot).segments
    damage(scene, "segment", segment.id)


def broken(scene: Scene) -> None:
    """The second of two versions has a row below 0."""
    tables = Tables(scene.warehouse)
    ids = (1, -1, -1)
    scene.warehouse.branch("dev")
    for number in ids[:2]:
        tables.put("dev", a=tables.entry([tables.block({number: "x"})]))
    tables.put("dev", b=tables.entry([tables.block({1: "x"})]))


def broken_twice(scene: Scene) -> None:
    broken(scene)
    tables = Tables(scene.warehouse)
    tables._number = 9
    tables.put("dev", a=tables.entry([tables.block({-2: "x"})]))


def mended(scene: Scene) -> None:
    broken(scene)
    scene.warehouse.branch("fixed", "dev")
    tables = Tables(scene.warehouse)
    tables._number = 9
    tables.put("fixed", a=tables.entry([tables.block({1: "x"})]))
    tables.put("dev", a=tables.entry([tables.block({-3: "x"})]))


def real_purge(scene: Scene) -> None:
    real(scene).block({1: "nobody's"})


def older(scene: Scene) -> None:
    real(scene)
    header = scene.folder / "warehouse/vcs.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), "format": CONDEMNED - 1}))


def unexportable(scene: Scene) -> None:
    """What is exported is a file where a folder should be."""
    history(scene)
    (project,) = scene.folder.parent.glob("*/dbt_project.yml")
    project.with_name("vcs.yml").write_text("export: {main: iceberg}\n")
    scene.warehouse.blobs.create("iceberg", b"")


def docs(scene: Scene) -> None:
    """The project has the page of dbt docs."""
    history(scene)
    (project,) = scene.folder.parent.glob("*/dbt_project.yml")
    place = project.with_name("target") / "index.html"
    place.parent.mkdir()
    place.write_text("<html><body></body></html>")


def passed(scene: Scene) -> None:
    history(scene)
    scene.warehouse.run("r1", Status.PASSED, a="2")


def on_a_tag(scene: Scene) -> str:
    history(scene)
    with connect(scene.warehouse.blobs.uri, "v1") as client, pytest.raises(VcsError) as found:
        client.sql("drop table shop.a")
    return str(found.value)


def on_conflicts(scene: Scene) -> str:
    waiting(scene)
    with (
        connect(scene.warehouse.blobs.uri, "merges/main") as client,
        pytest.raises(VcsError) as found,
    ):
        client.sql("drop table shop.a")
    return str(found.value)


def damage(scene: Scene, kind: str, id: str) -> None:
    (scene.folder / "warehouse" / object_path(kind, id)).write_bytes(b"{")


def failed_on_dev(scene: Scene) -> None:
    scene.put(a="1")
    scene.warehouse.branch("dev")
    scene.warehouse.run("r1", Status.FAILED, target="dev", note="x failed", a="2")
