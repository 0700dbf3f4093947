"""Rivals, clients of the server and damaged stores that make a message appear."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from dbt.adapters.vcs.changes.merges import approvals
from dbt.adapters.vcs.commands import status
from dbt.adapters.vcs.commands.resolve import undo_decision
from dbt.adapters.vcs.commands.tag import rename_tag
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.model import Commit, NodeRun, RelationName, Run, TableEntry
from dbt.adapters.vcs.core.retention import check_present
from dbt.adapters.vcs.iceberg.serve.catalog_api import rest_app
from dbt.adapters.vcs.iceberg.serve.client_help import Served, client_help
from dbt.adapters.vcs.iceberg.serve.documents import Documents, IcebergDocuments
from dbt.adapters.vcs.iceberg.shown_history import shown_entry
from dbt.adapters.vcs.table.row_numbers import FileNumbers, deletion_bitmap
from dbt.adapters.vcs.workspace.run_branch import PENDING, RunBranch, Status, find_run
from dbt.adapters.vcs.workspace.shared_run import begin_run, close_run, joined_run, put_results
from tests.unit.cli import scenes as at
from tests.unit.cli.scenes import Scene
from tests.unit.tables import Tables


def said_by(call: Callable[[], object]) -> str:
    """Return what a call says that fails."""
    with pytest.raises(VcsError) as found:
        call()
    return str(found.value)


def approved_while_it_moves(scene: Scene) -> str:
    at.history(scene)
    repository = scene.warehouse.repository
    real = approvals.approvals_of

    def rival(*given: Any) -> Any:
        scene.put("dev", late="1")
        return real(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(approvals, "approvals_of", rival)
        return said_by(lambda: approvals.approve(repository, "dev", author="bob"))


def undone_by_two(scene: Scene) -> str:
    at.waiting(scene)
    repository = scene.warehouse.repository
    seen = scene.warehouse.head("merges/main")
    scene.vcs("resolve", "shop.a", "main", "--with", "ours")
    return said_by(lambda: undo_decision(repository, "main", author="bob", seen=seen))


def renamed_and_deleted(scene: Scene) -> str:
    """A tag is deleted by somebody else as soon as it has its new name."""
    at.history(scene)
    repository = scene.warehouse.repository
    real = repository.rename

    def rival(*given: Any, **more: Any) -> None:
        real(*given, **more)
        scene.vcs("tag", "delete", "v2")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repository, "rename", rival)
        return said_by(lambda: rename_tag(repository, "v1", "v2", author="bob"))


def status_of_many(scene: Scene) -> str:
    at.history(scene)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(status, "MOST_TABLES", 0)
        return scene.vcs("status").output


def file_is_gone(scene: Scene) -> str:
    at.real(scene)
    repository = scene.warehouse.repository
    (path,) = scene.folder.glob("warehouse/data/t/w=x3/*.parquet")
    path.unlink()
    before, after = (repository.tree(scene.warehouse.head(name)).id for name in ("main", "dev"))
    return said_by(lambda: check_present(repository, before, after))


def shown_as_another_kind(scene: Scene) -> str:
    at.history(scene)
    name = RelationName("shop", "never")
    head = scene.warehouse.head()
    return said_by(lambda: shown_entry(scene.warehouse.repository, head, name, TableEntry))


def protected_warehouse(scene: Scene) -> str:
    at.protected(scene)
    served = Served(
        url="http://localhost:8181",
        warehouse="main",
        example=RelationName("shop", "a"),
        location=scene.warehouse.blobs.uri,
        is_protected=True,
    )
    return "\n".join(text for item in client_help(served) for text in item.writes)


def refused(scene: Scene, path: str, **body: Any) -> str:
    """Return what the server answers to a client that it refuses."""
    repository = scene.warehouse.repository
    documents = Documents(IcebergDocuments(repository), {})
    app = rest_app(repository, documents, tokens=None, log=lambda line: None)
    response = TestClient(app, base_url="http://localhost").post(path, json=body)
    assert response.status_code in (400, 403), response.text
    return str(response.json()["error"]["message"])


def made_on_a_tag(scene: Scene) -> str:
    at.history(scene)
    return refused(scene, "/v1/v1/namespaces/shop/tables", name="t", schema=SCHEMA)


def made_on_a_run(scene: Scene) -> str:
    at.history(scene)
    scene.warehouse.run("r1", Status.PASSED, a="2")
    return refused(scene, "/v1/runs%2Fr1/namespaces/shop/tables", name="t", schema=SCHEMA)


def updated(scene: Scene, *updates: dict[str, Any]) -> str:
    at.history(scene)
    path = "/v1/main/namespaces/shop/tables/a"
    return refused(scene, path, requirements=[], updates=list(updates))


def shown_by_a_client(scene: Scene) -> str:
    return updated(scene, {"action": "set-snapshot-ref", "ref-name": "main", "snapshot-id": 1})


def kept_from_main(scene: Scene) -> str:
    return updated(
        scene, {"action": "add-snapshot", "snapshot": {"snapshot-id": 1, "manifest-list": "x"}}
    )


def ref_removed(scene: Scene) -> str:
    return updated(scene, {"action": "remove-snapshot-ref", "ref-name": "x"})


SCHEMA = {"type": "struct", "fields": []}


def two_roots(scene: Scene) -> None:
    """`main` and `other` begin with commits of their own."""
    at.history(scene)
    repository = scene.warehouse.repository
    head = repository.objects.commit(scene.warehouse.head())
    root = Commit(
        parents=(),
        tree=head.tree,
        author="ann",
        committed_at=scene.warehouse.clock(),
        message="Begin again",
    )
    repository.create_branch("other", repository.objects.put(root), author="ann")  # type: ignore[arg-type]


def two_broken(scene: Scene) -> None:
    """The second of two commits put a row below 0 into two tables."""
    tables = Tables(scene.warehouse)
    scene.warehouse.branch("dev")
    for number in (1, -1):
        entries = [tables.entry([tables.block({number: "x"})]) for _ in "ab"]
        tables.put("dev", a=entries[0], b=entries[1])


def cut_export(scene: Scene) -> None:
    """What was exported is damaged."""
    at.real(scene)
    scene.vcs("export")
    (path,) = scene.folder.glob("warehouse/iceberg/export/**/a/metadata/*.json")
    path.write_text("{")


def to_pick(scene: Scene) -> None:
    """The first of two commits of `dev` changed the row that `main` changed, too."""
    at.clash(scene)
    scene.put("dev", e="1")


def lost_branch(scene: Scene) -> None:
    """The log of a branch is gone since the last collection."""
    at.history(scene)
    scene.vcs("gc")
    shutil.rmtree(scene.folder / "warehouse/refs/heads/dev")


def beyond_the_end(scene: Scene) -> str:
    """A tombstone deletes a row that its file doesn't have."""
    at.damaged(scene)
    files = FileNumbers.of({"data/a.parquet": 1})
    return said_by(lambda: deletion_bitmap(files, {"data/a.parquet": np.array([9])}))


def shared(scene: Scene) -> RunBranch:
    at.history(scene)
    return begin_run(scene.warehouse.repository, "main", author="ann")


def begun_for_a_run(scene: Scene) -> str:
    run = shared(scene)
    return said_by(lambda: begin_run(scene.warehouse.repository, run.name, author="ann"))


def joined_when_gone(scene: Scene) -> str:
    at.history(scene)
    return said_by(lambda: joined_run(scene.warehouse.repository, "gone"))


def joined_when_closed(scene: Scene) -> str:
    run, repository = shared(scene), scene.warehouse.repository
    close_run(repository, run, author="ann")
    return said_by(lambda: joined_run(repository, run.invocation))


def closed_with_a_failure(scene: Scene, status: str = "error") -> str:
    run, repository = shared(scene), scene.warehouse.repository
    node = NodeRun(id="model.shop.a", status=status)
    record = Run(invocation="i1", command="build", nodes=(node,))
    put_results(repository, run.name, record, "dbt build", "ann")
    return said_by(lambda: close_run(repository, run, author="ann"))


def closed_when_a_command_was_killed(scene: Scene) -> str:
    return closed_with_a_failure(scene, PENDING)


def closed_with_an_old_table(scene: Scene) -> str:
    """A run that built a table again after it was read."""
    run, repository = shared(scene), scene.warehouse.repository
    tables = Tables(scene.warehouse)
    old, new = (tables.entry([tables.block({1: text})]) for text in ("old", "new"))
    reader = tables.entry([], inputs={"shop.raw": old})
    record = Run(
        invocation="i1",
        command="build",
        nodes=(NodeRun(id="model.shop.raw", status="success", relation="shop.raw"),),
    )
    for relations in ({"raw": old}, {"reader": reader, "raw": new}):
        scene.warehouse.put(run.name, run=record, **relations)
    return said_by(lambda: close_run(repository, find_run(repository, run.name), author="ann"))


def closed_while_a_command_runs(scene: Scene) -> str:
    run = shared(scene)
    scene.warehouse.run("p2", Status.OPEN, target=run.name)
    return said_by(lambda: close_run(scene.warehouse.repository, run, author="ann"))
