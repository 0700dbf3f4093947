"""Branches from Python: the list and the rules of deletion are those of `dbt-vcs branch`."""

from __future__ import annotations

import warnings

import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merges
from dbt.adapters.vcs.commands.branch import list_branches, undelete_branch
from dbt.adapters.vcs.commands.merge import abort_merge, merge
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError, ProtectedError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.warehouse import Warehouse


def no_engine(branch: str) -> Engine:
    raise AssertionError("no engine is needed here")


def client_on(warehouse: Warehouse, branch: str = "main") -> Client:
    return Client.on(warehouse.repository, branch, no_engine, schema="shop", author="bob")


def test_branches_are_those_that_the_command_lists(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("feature/tax")
    head = warehouse.put("feature/tax", a="2")
    warehouse.put(b="1")
    warehouse.put(b="2")
    warehouse.run("r1", Status.FAILED, c="1")
    client = client_on(warehouse, "feature/tax")
    found = client.branches()
    assert found == list(list_branches(warehouse.repository))
    assert [(one.name, one.ahead, one.behind) for one in found] == [
        ("feature/tax", 1, 2),
        ("main", 0, 0),
    ]
    assert found[0].head == head
    assert [one.name for one in client.branches(with_runs=True)][-1] == "runs/r1"


def test_a_damaged_branch_is_a_warning_beside_the_others(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    found = warehouse.repository.branch("dev")
    path = f"refs/heads/dev/{found.ref.seq:020d}"
    data = warehouse.blobs.get(path)
    warehouse.blobs.delete(path)
    warehouse.blobs.create(path, data[:-3])
    # Opened again, so that nothing is remembered.
    warehouse.repository = Repository.open(warehouse.blobs, clock=warehouse.clock)
    with pytest.warns(UserWarning, match="dev"):
        assert [one.name for one in client_on(warehouse).branches()] == ["main"]


def test_a_branch_without_work_of_its_own_is_deleted(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("done")
    head = warehouse.head("done")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert client_on(warehouse).delete("done") == head
    move = warehouse.repository.refs.log("heads", "done")[0].move
    assert (move.action, move.by) == ("delete", "bob")
    assert undelete_branch(warehouse.repository, "done", author="ann").head == head
    with pytest.raises(NotFoundError, match="nope"):
        client_on(warehouse).delete("nope")


def test_unmerged_work_is_deleted_by_force_only(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    warehouse.branch("topic")
    head = warehouse.put("topic", a="2")
    client = client_on(warehouse)
    with pytest.raises(ConflictError, match="commits that 'main' lacks"):
        client.delete("topic")
    # The branch of the client has them, so nothing is lost.
    merge(warehouse.repository, "topic", "dev", author="ann")
    assert client_on(warehouse, "dev").delete("topic") == head
    with pytest.raises(ConflictError, match="commits that 'main' lacks"):
        client_on(warehouse, "dev").delete("dev")
    client.delete("dev", force=True)
    assert [one.name for one in client.branches()] == ["main"]


def test_the_default_branch_and_protected_ones_stay(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("kept")
    warehouse.repository.protect("kept", Protection(), author="ann")
    for force in (False, True):
        for branch in ("main", "kept"):
            client = client_on(warehouse, branch)
            with pytest.raises(InputError, match="default branch"):
                client.delete("main", force=force)
            with pytest.raises(ProtectedError, match="branch unprotect kept"):
                client.delete("kept", force=force)


def test_a_run_at_work_is_deleted_by_force_only(warehouse: Warehouse) -> None:
    warehouse.run("r1", Status.OPEN)
    client = client_on(warehouse)
    with pytest.raises(ConflictError, match="still running"):
        client.delete("runs/r1")
    client.delete("runs/r1", force=True)
    assert warehouse.repository.find_branch("runs/r1") is None


def test_a_run_that_did_not_land_on_a_deleted_branch_is_a_warning(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    warehouse.run("r1", Status.FAILED, target="dev", b="1")
    with pytest.warns(UserWarning, match="dbt-vcs show runs/r1") as told:
        client_on(warehouse).delete("dev")
    assert [warning.filename for warning in told] == [__file__]


def test_a_waiting_merge_into_a_deleted_branch_can_still_be_aborted(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    for name in ("dev", "topic"):
        warehouse.branch(name)
        warehouse.put(name, a=name)
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "topic", "dev", author="ann")
    client = client_on(warehouse)
    with pytest.raises(ConflictError, match="commits that 'main' lacks"):
        client.delete("dev")
    assert [item.target for item in open_merges(warehouse.repository)] == ["dev"]
    client.delete("dev", force=True)
    abort_merge(warehouse.repository, "dev", author="ann")
    assert not open_merges(warehouse.repository)


@pytest.mark.parametrize("name", ["main~1", "a b", "x@{1}", "it's", "größe"])
def test_an_odd_name_is_deleted(warehouse: Warehouse, name: str) -> None:
    warehouse.put(a="1")
    warehouse.repository.create_branch(name, warehouse.head(), author="ann", check=False)
    client = client_on(warehouse)
    assert client.delete(name) == warehouse.head()
    assert [one.name for one in client.branches()] == ["main"]
