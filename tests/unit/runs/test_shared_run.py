"""Shared runs: when they may be joined, closed and merged."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.commands.branch import delete_branch, rename_branch
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.runs import discard_run
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.core.model import NodeRun, Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.workspace import shared_run
from dbt.adapters.vcs.workspace.run_branch import (
    SHARED_LEASE,
    RunBranch,
    Status,
    check_mergeable,
    find_run,
)
from dbt.adapters.vcs.workspace.shared_run import (
    begin_run,
    check_succeeded,
    close_run,
    joined_run,
    put_results,
    reopen_run,
)
from tests.unit.warehouse import Warehouse

DAY = 24 * 60 * 60 * 1_000_000


class Clock:
    now = DAY

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def repository(clock: Clock) -> Repository:
    return Repository.create(MemoryBlobs(), author="ann", clock=clock)  # type: ignore[arg-type]


@pytest.fixture
def run(repository: Repository) -> RunBranch:
    return begin_run(repository, "main", author="ann")


def ended(repository: Repository, run: RunBranch, **results: str) -> None:
    nodes = tuple(NodeRun(id=f"model.shop.{name}", status=told) for name, told in results.items())
    record = Run(
        invocation="i", command="run", target="t", dbt_version="1", started_at=0, nodes=nodes
    )
    put_results(repository, run.name, record, "dbt run", "ann")


def now(repository: Repository, run: RunBranch) -> RunBranch:
    return find_run(repository, run.invocation)


def test_the_last_result_counts(repository: Repository, run: RunBranch) -> None:
    ended(repository, run, a="error", b="success")
    with pytest.raises(ConflictError, match=r"model\.shop\.a \(error\)"):
        check_succeeded(repository, now(repository, run))
    ended(repository, run, a="success")
    ended(repository, run, b="skipped")
    check_succeeded(repository, now(repository, run))


def test_a_failure_that_comes_while_a_run_is_closed_reopens_it(
    repository: Repository, run: RunBranch, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shared_run._change_status

    def late(
        repository: Repository, run: RunBranch, old: Status, new: Status, author: str
    ) -> None:
        if new is Status.PASSED:
            ended(repository, run, a="error")
        real(repository, run, old, new, author)

    monkeypatch.setattr(shared_run, "_change_status", late)
    with pytest.raises(ConflictError, match="last result"):
        close_run(repository, now(repository, run), author="ann")
    assert joined_run(repository, run.invocation).status is Status.OPEN


def test_a_run_that_was_closed_and_not_checked_is_not_merged(
    repository: Repository, run: RunBranch
) -> None:
    ended(repository, run, a="error")
    # As if the process that closed it had died before it looked once more.
    shared_run._change_status(repository, run, Status.OPEN, Status.PASSED, "ann")
    with pytest.raises(ConflictError, match="passed"):
        check_mergeable(repository, run.name)
    with pytest.raises(ConflictError, match="last result"):
        close_run(repository, now(repository, run), author="ann")
    assert now(repository, run).status is Status.OPEN


def test_nothing_is_added_to_a_run_that_is_closed(repository: Repository, run: RunBranch) -> None:
    closed = close_run(repository, now(repository, run), author="ann")
    with pytest.raises(ConflictError, match="is being published"):
        ended(repository, run, a="success")
    with pytest.raises(ConflictError, match="dbt-vcs run begin --branch main"):
        joined_run(repository, run.invocation)
    reopen_run(repository, closed, author="ann")
    ended(repository, run, a="success")


def test_an_open_run_is_not_merged_nor_started_from(
    repository: Repository, run: RunBranch
) -> None:
    with pytest.raises(ConflictError, match="open"):
        check_mergeable(repository, run.name)
    with pytest.raises(InputError, match="is the branch of a run"):
        begin_run(repository, run.name, author="ann")
    with pytest.raises(NotFoundError, match="no such run"):
        joined_run(repository, "nix")


def test_a_run_lives_as_long_as_something_lands_on_it(
    repository: Repository, run: RunBranch, clock: Clock
) -> None:
    clock.now += SHARED_LEASE - 1
    ended(repository, run, a="success")
    clock.now += SHARED_LEASE - 1
    assert not now(repository, run).is_abandoned(clock.now)  # type: ignore[arg-type]
    clock.now += 2
    assert now(repository, run).is_abandoned(clock.now)  # type: ignore[arg-type]


def test_a_run_that_was_published_or_discarded_meanwhile_is_not_reopened(
    repository: Repository, run: RunBranch
) -> None:
    closed = close_run(repository, now(repository, run), author="ann")
    merge(repository, run.name, "main", author="bob")
    reopen_run(repository, closed, author="ann")
    assert now(repository, run).status is Status.PUBLISHED
    discard_run(repository, run.name, author="bob")
    reopen_run(repository, closed, author="ann")
    assert repository.find_branch(run.name) is None


def test_an_open_run_follows_its_branch_to_a_new_name(repository: Repository) -> None:
    repository.create_branch("dev", repository.branch("main").head, author="ann")
    run = begin_run(repository, "dev", author="ann")
    rename_branch(repository, "dev", "work", author="ann")
    found = joined_run(repository, run.invocation)
    assert (found.target, found.status) == ("work", Status.OPEN)


def test_the_branch_of_a_run_is_deleted_with_those_of_its_commands(warehouse: Warehouse) -> None:
    repository = warehouse.repository
    run = begin_run(repository, "main", author="ann")
    part = warehouse.run("part", Status.OPEN, target=run.name, a="1")
    with pytest.raises(ConflictError, match=r"part is still running \(elsewhere:1\)"):
        delete_branch(repository, run.name, author="ann")
    delete_branch(repository, run.name, author="ann", force=True)
    assert [repository.find_branch(name) for name in (run.name, part.name)] == [None, None]
