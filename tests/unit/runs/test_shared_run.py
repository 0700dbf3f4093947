"""Shared runs: when they may be joined, closed and merged."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.commands.branch import delete_branch, rename_branch
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.commands.runs import discard_run
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    StorageError,
)
from dbt.adapters.vcs.core.model import NodeRun, Run, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.workspace import shared_run
from dbt.adapters.vcs.workspace.run_branch import (
    PENDING,
    SHARED_LEASE,
    RunBranch,
    Status,
    check_mergeable,
    find_run,
    record_of,
)
from dbt.adapters.vcs.workspace.shared_run import (
    begin_run,
    check_succeeded,
    close_run,
    fail_run,
    joined_run,
    outdated_tables,
    put_results,
    reopen_run,
    undone_before,
)
from tests.unit.tables import Tables
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
    check_succeeded(repository, now(repository, run))
    # It was left out, as it follows from what failed in that command.
    ended(repository, run, a="error", b="skipped")
    ended(repository, run, a="success")
    with pytest.raises(ConflictError, match=r"not a success: model\.shop\.b \(skipped\)\."):
        check_succeeded(repository, now(repository, run))
    ended(repository, run, b="success")
    check_succeeded(repository, now(repository, run))


def test_results_are_looked_at_only_where_something_failed(
    repository: Repository, run: RunBranch, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(repository, run, a="success")
    with monkeypatch.context() as patch:
        patch.setattr(shared_run, "undone_nodes", None)
        assert undone_before(repository, run.name) == frozenset()
    ended(repository, run, b="error", c="skipped")
    assert undone_before(repository, run.name) == {"model.shop.b", "model.shop.c"}
    ended(repository, run, b="success")
    assert undone_before(repository, run.name) == {"model.shop.c"}
    # Who closes and opens the run keeps the mark.
    reopen_run(
        repository,
        close_run(repository, now(repository, run), author="ann", force=True),
        author="ann",
    )
    assert now(repository, run).has_failures


def test_a_run_is_marked_before_a_failure_lands(
    repository: Repository, run: RunBranch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(_: object) -> None:
        raise StorageError("the store is away")

    monkeypatch.setattr(repository, "land", dies)
    with pytest.raises(StorageError):
        ended(repository, run, a="error")
    assert now(repository, run).has_failures


def test_a_command_that_was_announced_and_never_ended_is_missed(
    repository: Repository, run: RunBranch
) -> None:
    ended(repository, run, a="success", c="success")
    ended(repository, run, a=PENDING, b=PENDING)
    with pytest.raises(ConflictError, match=r"not ended: model\.shop\.a, model\.shop\.b\."):
        close_run(repository, now(repository, run), author="ann")
    assert now(repository, run).status is Status.OPEN
    # Another one that was announced before it says how the nodes ended now.
    ended(repository, run, a="success")
    with pytest.raises(ConflictError, match=r"not ended: model\.shop\.b\. 'main'"):
        check_succeeded(repository, now(repository, run))
    closed = close_run(repository, now(repository, run), author="ann", force=True)
    # What is published by force has results only.
    assert {node.id for node in record_of(repository, closed).nodes} == {
        "model.shop.a",
        "model.shop.c",
    }
    with pytest.raises(ConflictError, match="is being published"):
        ended(repository, run, d=PENDING)


def test_a_run_that_was_closed_while_a_command_is_pending_is_not_merged(
    repository: Repository, run: RunBranch
) -> None:
    ended(repository, run, a=PENDING)
    shared_run._change_status(repository, run, Status.OPEN, Status.PASSED, "ann")
    with pytest.raises(ConflictError, match="passed"):
        check_mergeable(repository, now(repository, run))


def test_a_node_that_failed_and_is_being_repeated_counts_as_failed_for_others(
    repository: Repository, run: RunBranch
) -> None:
    ended(repository, run, a="error")
    ended(repository, run, a=PENDING, b=PENDING)
    assert undone_before(repository, run.name) == {"model.shop.a"}
    with pytest.raises(ConflictError, match=r"not ended: model\.shop\.a, model\.shop\.b\."):
        check_succeeded(repository, now(repository, run))


class Built:
    """A shared run whose commands build tables from each other."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.repository = tables, tables.warehouse.repository
        tables.put(a=self.version("0"), b=self.version("0"))
        self.run = begin_run(self.repository, "main", author="ann")

    def version(self, row: str, **inputs: TableEntry) -> TableEntry:
        read = {f"shop.{name}": entry for name, entry in inputs.items()}
        return self.tables.entry([self.tables.block({1: row})], inputs=read)

    def lands(self, **relations: TableEntry) -> None:
        """A command builds relations, one a model of its name."""
        nodes = tuple(
            NodeRun(id=f"model.shop.{name}", status="success", relation=f"shop.{name}")
            for name in relations
        )
        record = Run(invocation="i", command="run", nodes=nodes)
        self.tables.warehouse.put(self.run.name, run=record, **relations)

    @property
    def outdated(self) -> list[str]:
        return list(map(str, outdated_tables(self.repository, now(self.repository, self.run))))


@pytest.fixture
def built(warehouse: Warehouse) -> Built:
    return Built(Tables(warehouse))


def test_what_was_built_before_what_it_reads_was_built_again_is_not_published(
    built: Built,
) -> None:
    old, new = built.version("1"), built.version("2")
    reader = built.version("b", a=old)
    built.lands(a=old)
    built.lands(b=reader)
    built.lands(c=built.version("c", b=reader), d=built.version("d"))
    assert built.outdated == []
    # Repeated with the same outcome: nothing has to be built again.
    built.lands(a=old)
    assert built.outdated == []
    built.lands(a=new)
    assert built.outdated == ["shop.b", "shop.c"]
    run = now(built.repository, built.run)
    with pytest.raises(
        ConflictError, match=r"built again: shop\.b, shop\.c\. 'main' is unchanged"
    ):
        close_run(built.repository, run, author="ann")
    check_succeeded(built.repository, run, fresh=False)
    built.lands(b=built.version("b", a=new))
    assert built.outdated == ["shop.c"]


def test_a_reader_of_what_failed_and_was_repeated_after_it_is_not_published(
    built: Built, warehouse: Warehouse
) -> None:
    """Both commands run at once, so neither knows of the other."""
    before = warehouse.shown()["shop.a"]
    assert isinstance(before, TableEntry)
    failed = NodeRun(id="model.shop.a", status="error", relation="shop.a")
    built.lands(b=built.version("b", a=before))
    record = Run(invocation="i", command="run", nodes=(failed,))
    put_results(built.repository, built.run.name, record, "dbt run", "ann")
    built.lands(a=built.version("1"))
    assert built.outdated == ["shop.b"]


def test_a_reader_of_what_was_killed_and_repeated_after_it_is_not_published(
    built: Built, warehouse: Warehouse
) -> None:
    before = warehouse.shown()["shop.a"]
    assert isinstance(before, TableEntry)
    ended(built.repository, built.run, a=PENDING)
    built.lands(b=built.version("b", a=before))
    ended(built.repository, built.run, a=PENDING)
    built.lands(a=built.version("1"))
    assert built.outdated == ["shop.b"]


def test_a_table_that_the_run_builds_once_may_have_read_what_was_before(
    built: Built, warehouse: Warehouse
) -> None:
    """As a model that reads, as a source, what another one changes later."""
    before = warehouse.shown()["shop.a"]
    assert isinstance(before, TableEntry)
    built.lands(b=built.version("b", a=before))
    built.lands(a=built.version("1"))
    assert built.outdated == []
    check_succeeded(built.repository, now(built.repository, built.run))


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
        check_mergeable(repository, now(repository, run))
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
        check_mergeable(repository, now(repository, run))
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


@pytest.mark.parametrize("when", ["before", "between", "after"])
def test_a_run_goes_on_after_a_purge_of_what_it_began_from(
    warehouse: Warehouse, when: str
) -> None:
    """Whether the purge comes before the first command lands, between two, or after both."""
    tables, old = Tables(warehouse), warehouse.repository
    first = tables.block({1: "ann", 2: "jane"})
    failed = Run(
        invocation="i0", command="run", nodes=(NodeRun(id="model.shop.old", status="error"),)
    )
    base = tables.entry([first])
    warehouse.put(run=failed, a=base)
    run = begin_run(old, "main", author="ann")

    def purges(now: str) -> None:
        if now == when:
            other = Repository.open(old.blobs, clock=old.clock)
            report = purge(other, PurgeRequest(relation="shop.a", where="id = 2"), author="bob")
            assert report.rows and f"branch {run.name}" in report.moved

    purges("before")
    # The process that began the run knows nothing of the purge.
    ended(old, run, b=PENDING, a="success")
    warehouse.put(run.name, b=tables.entry([tables.block({7: "kim"})]))
    purges("between")
    ended(old, run, b="success")
    purges("after")
    found = now(old, run)
    results = {node.id for node in record_of(old, found).nodes}
    assert results == {"model.shop.a", "model.shop.b"}
    # Else what came before the run would count as a part of it.
    assert outdated_tables(old, found) == []
    close_run(old, found, author="ann")
    merge(old, run.name, "main", author="ann")
    assert tables.rows("a") == {1: "ann"} and tables.rows("b") == {7: "kim"}
    assert now(old, run).status is Status.PUBLISHED
    assert check_repository(old).problems == ()


def test_the_branch_of_a_run_is_deleted_with_those_of_its_commands(warehouse: Warehouse) -> None:
    repository = warehouse.repository
    run = begin_run(repository, "main", author="ann")
    part = warehouse.run("part", Status.OPEN, target=run.name, a="1")
    with pytest.raises(ConflictError, match=r"part is still running \(elsewhere:1\)"):
        delete_branch(repository, run.name, author="ann")
    delete_branch(repository, run.name, author="ann", force=True)
    assert [repository.find_branch(name) for name in (run.name, part.name)] == [None, None]


def test_a_run_that_its_command_published_does_not_fail_with_it(
    repository: Repository, run: RunBranch
) -> None:
    shared_run._change_status(repository, run, Status.OPEN, Status.PUBLISHED, "ann")
    assert fail_run(repository, run, "make ended with 2", author="ann").status is Status.PUBLISHED
    assert now(repository, run).note == ""


def test_a_run_fails_with_its_command(repository: Repository, run: RunBranch) -> None:
    failed = fail_run(repository, run, "make ended with 2", author="ann")
    assert failed == now(repository, run)
    assert (failed.status, failed.note) == (Status.FAILED, "make ended with 2")
