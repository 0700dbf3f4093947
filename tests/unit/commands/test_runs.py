import pytest

from dbt.adapters.vcs.commands.gc import set_retention
from dbt.adapters.vcs.commands.layout import plain_lines
from dbt.adapters.vcs.commands.runs import (
    discard_expired,
    discard_run,
    find_run,
    list_runs,
    runs_text,
)
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.core.retention import DAY, KEEP
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.warehouse import SECOND, Warehouse


def test_runs_are_listed_newest_first_with_what_became_of_them(warehouse: Warehouse) -> None:
    warehouse.run("one", Status.OPEN, a="1")
    warehouse.clock.now += 3_600 * SECOND
    warehouse.run("two", Status.FAILED, a="1", note="model a failed")
    warehouse.run("three", Status.OPEN, a="1")
    found = list_runs(warehouse.repository)
    assert [(run.id, run.status) for run in found] == [
        ("three", "open"),
        ("two", "failed"),
        ("one", "abandoned"),
    ]
    assert (found[1].note, found[1].target, found[1].command) == (
        "model a failed",
        "main",
        "build",
    )
    assert found[1].branch == "runs/two"


def test_a_run_of_a_dead_process_on_this_host_is_abandoned(warehouse: Warehouse) -> None:
    import socket
    import subprocess
    import sys

    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    warehouse.run("one", Status.OPEN, owner=f"{socket.gethostname()}:{done.pid}")
    assert [run.status for run in list_runs(warehouse.repository)] == ["abandoned"]


def test_a_run_is_discarded_by_its_id_the_start_of_it_or_its_branch(warehouse: Warehouse) -> None:
    for id in ("abc1", "abd2", "xyz3"):
        warehouse.run(id, Status.FAILED, a="1")
    with pytest.raises(InputError, match="matches 2 runs"):
        find_run(warehouse.repository, "ab")
    with pytest.raises(NotFoundError, match="nix"):
        discard_run(warehouse.repository, "nix", author="bob")
    for empty in ("", "runs/"):
        with pytest.raises(InputError, match="empty"):
            discard_run(warehouse.repository, empty, author="bob")
    for given, id in (("abc", "abc1"), ("abd2", "abd2"), ("runs/xyz3", "xyz3")):
        assert discard_run(warehouse.repository, given, author="bob").id == id
    assert list_runs(warehouse.repository) == []


def test_a_run_at_work_is_not_discarded_without_force(warehouse: Warehouse) -> None:
    warehouse.run("r1", Status.OPEN, a="1")
    with pytest.raises(ConflictError, match="still running"):
        discard_run(warehouse.repository, "r1", author="bob")
    discard_run(warehouse.repository, "r1", author="bob", force=True)
    assert list_runs(warehouse.repository) == []


def test_expired_runs_are_those_beyond_the_retention(warehouse: Warehouse) -> None:
    warehouse.run("old", Status.FAILED, a="1")
    warehouse.run("killed", Status.OPEN, a="1")
    warehouse.clock.now += KEEP + 3_600 * SECOND
    warehouse.run("new", Status.FAILED, a="1")
    assert {run.id for run in list_runs(warehouse.repository) if run.is_expired} == {
        "old",
        "killed",
    }
    gone = discard_expired(warehouse.repository, author="bob")
    assert {run.id for run in gone} == {"old", "killed"}
    assert [run.id for run in list_runs(warehouse.repository)] == ["new"]
    assert discard_expired(warehouse.repository, author="bob") == []


def test_whatever_became_of_a_run_can_be_told(warehouse: Warehouse) -> None:
    for status in Status:
        warehouse.run(str(status), status)
    warehouse.run("gone", Status.OPEN)
    warehouse.clock.now += 3_600 * SECOND
    found = list_runs(warehouse.repository)
    assert len(plain_lines(runs_text(found, found[0].started_at))) == len(Status) + 2


def test_expired_runs_are_those_older_than_the_repositorys_retention(
    warehouse: Warehouse,
) -> None:
    repository = warehouse.repository
    set_retention(repository, 30, author="ann")
    warehouse.run("old", Status.FAILED, b="b")
    warehouse.clock.now += 20 * DAY
    assert discard_expired(repository, author="ann") == []
    assert [run.is_expired for run in list_runs(repository)] == [False]
    set_retention(repository, 3, author="ann")
    assert [run.is_expired for run in list_runs(repository)] == [True]
    assert [run.id for run in discard_expired(repository, author="ann")] == ["old"]
    assert list_runs(repository) == []
