"""What was asked of a merge holds where it lands, however it gets there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges import branch_landing
from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    Terms,
    find_open_merge,
    open_merge_of,
)
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.commands.merge import MergeRequest, abort_merge, continue_merge, merge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError, NotFoundError, ProtectedError
from dbt.adapters.vcs.core.model import NodeRun, Run, TableEntry
from dbt.adapters.vcs.workspace.run_branch import Status, find_run
from tests.unit.commands.test_promote import seen_by_test
from tests.unit.warehouse import SECOND, Warehouse, promote

TESTS = Protection(("tests",))


@pytest.fixture
def forked(warehouse: Warehouse) -> Warehouse:
    """`main` and `dev` have changed one table differently; tests passed on `dev`."""
    warehouse.put(a="1", b="1")
    warehouse.branch("dev")
    warehouse.put("dev", a="2")
    warehouse.put(a="3")
    seen_by_test(warehouse)
    return warehouse


def protect(warehouse: Warehouse, protection: Protection | None) -> None:
    warehouse.repository.protect("main", protection, author="ann")


def promoted(warehouse: Warehouse, terms: Terms | None = None) -> None:
    request = MergeRequest(terms=terms or Terms())
    promote(warehouse.repository, "dev", "main", request, author="ann")


def choose(warehouse: Warehouse, choice: str) -> None:
    resolve(warehouse.repository, "main", None, RowChoice(choice=Choice.of(choice)), author="bob")


def go_on(warehouse: Warehouse) -> None:
    continue_merge(warehouse.repository, "main", author="bob")


def test_rows_chosen_by_hand_are_no_tested_rows(forked: Warehouse) -> None:
    protect(forked, TESTS)
    with pytest.raises(ConflictError, match="nothing has seen rows that are chosen by hand"):
        promoted(forked)
    choose(forked, "theirs")
    head = forked.head()
    with pytest.raises(ConflictError, match=r"what merging makes of shop\.a.*--abort"):
        go_on(forked)
    assert forked.head() == head
    assert find_open_merge(forked.repository, "main").terms.require == ("tests",)


def test_giving_up_and_testing_the_merge_is_the_way_on(forked: Warehouse) -> None:
    protect(forked, TESTS)
    with pytest.raises(ConflictError):
        promoted(forked)
    abort_merge(forked.repository, "main", author="bob")
    with pytest.raises(ConflictError):
        merge(forked.repository, "main", "dev", author="bob")
    resolve(forked.repository, "dev", None, RowChoice(choice=Choice.OURS), author="bob")
    continue_merge(forked.repository, "dev", author="bob")
    with pytest.raises(ConflictError, match="Run dbt test"):
        promoted(forked)
    seen_by_test(forked)
    wanted = forked.shown("dev")
    promoted(forked)
    assert forked.shown() == wanted


def test_tests_asked_for_at_the_start_stay_asked_for(forked: Warehouse) -> None:
    protect(forked, TESTS)
    with pytest.raises(ConflictError):
        promoted(forked)
    protect(forked, Protection())
    choose(forked, "theirs")
    with pytest.raises(ConflictError, match="Tests are required"):
        go_on(forked)


def test_tests_asked_for_meanwhile_are_asked_for(forked: Warehouse) -> None:
    protect(forked, Protection())
    with pytest.raises(ConflictError):
        promoted(forked)
    protect(forked, TESTS)
    choose(forked, "theirs")
    with pytest.raises(ConflictError, match="Tests are required"):
        go_on(forked)


def test_a_plain_merge_does_not_go_on_into_a_branch_protected_meanwhile(forked: Warehouse) -> None:
    with pytest.raises(ConflictError):
        merge(forked.repository, "dev", "main", author="ann")
    protect(forked, Protection())
    choose(forked, "theirs")
    with pytest.raises(ProtectedError):
        go_on(forked)


def test_facts_of_a_promotion_outlive_its_conflicts(forked: Warehouse) -> None:
    protect(forked, Protection())
    with pytest.raises(ConflictError):
        promoted(forked, Terms(metadata={"ticket": "SHOP-12"}, message="Release"))
    choose(forked, "theirs")
    go_on(forked)
    commit = forked.repository.objects.commit(forked.head())
    assert (commit.message, commit.metadata) == ("Release", {"ticket": "SHOP-12"})
    assert commit.author == "bob"
    with pytest.raises(NotFoundError):
        find_open_merge(forked.repository, "main")


def test_a_merge_that_was_kept_before_terms_were_is_read(forked: Warehouse) -> None:
    with pytest.raises(ConflictError):
        request = MergeRequest(terms=Terms(message="Take it"))
        merge(forked.repository, "dev", "main", request, author="ann")
    branch = forked.repository.branch("merges/main")
    known = {key: text for key, text in branch.state.items() if key in BEFORE_TERMS}
    forked.repository.set_state(branch.name, known, author="ann")
    found = open_merge_of(forked.repository.branch(branch.name))
    assert found is not None
    assert found.terms == Terms(message="Take it")


BEFORE_TERMS = ("merge", "theirs", "target", "mode", "promotes", "message", "whole", "choices")


def test_terms_come_back_from_a_branchs_facts() -> None:
    terms = Terms(
        message="Release\n\nall of it",
        metadata={"ticket": "SHOP-12", "by": "'ann'"},
        promotes=True,
        require=("tests",),
        ff_only=True,
    )
    assert Terms.of(terms.state) == terms
    assert Terms.of(Terms().state) == Terms()


def test_a_run_published_later_keeps_what_was_known_of_it(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    run = warehouse.run("r1", Status.PASSED)
    node = NodeRun(id="model.shop.a", status="success", relation="shop.a", file_checksum="0" * 64)
    record = Run(
        invocation="r1",
        command="build",
        target="dev",
        dbt_version="1.11.2",
        git_sha="1" * 40,
        started_at=run.started_at,
        nodes=(node,),
    )
    warehouse.put(run.name, a="2", run=record)
    warehouse.put(run.name, message="a hook", b="2")
    run = find_run(warehouse.repository, "r1")
    merge(warehouse.repository, run.name, "main", author="ann")
    found = warehouse.repository.objects.commit(warehouse.head()).run
    assert found is not None
    assert (found.target, found.dbt_version, found.git_sha) == ("dev", "1.11.2", "1" * 40)
    ended = warehouse.repository.objects.commit(run.head).committed_at
    assert found.seconds == (ended - run.started_at) / SECOND > 0
    assert found.head == run.head
    assert [(item.id, item.file_checksum) for item in found.nodes] == [("model.shop.a", None)]
    assert isinstance(warehouse.shown()["shop.a"], TableEntry)


def act_first(monkeypatch: pytest.MonkeyPatch, others: Callable[[], object]) -> None:
    """Let somebody else act between a merge's checks and its landing, once."""
    left, plain = [others], branch_landing._put

    def put(*arguments: Any, **options: Any) -> Any:
        while left:
            left.pop()()
        return plain(*arguments, **options)

    monkeypatch.setattr(branch_landing, "_put", put)


def test_tests_asked_for_between_check_and_landing_are_asked_for(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.put(a="1", b="1")
    warehouse.branch("dev")
    warehouse.put("dev", a="2")
    warehouse.put(b="3")
    protect(warehouse, Protection())
    act_first(monkeypatch, lambda: protect(warehouse, TESTS))
    with pytest.raises(ConflictError, match="Tests are required"):
        promoted(warehouse)


def test_a_run_that_has_to_be_fast_forward_is_not_merged_with_who_came_first(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.put(a="1", b="1")
    run = warehouse.run("r1", Status.PASSED, a="2")
    act_first(monkeypatch, lambda: warehouse.put(b="3"))
    with pytest.raises(ConflictError, match="can't be fast-forwarded"):
        request = MergeRequest(terms=Terms(ff_only=True))
        merge(warehouse.repository, run.name, "main", request, author="ann")


def test_a_merge_of_a_branch_asks_for_no_other(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.put(a="1", b="1")
    warehouse.branch("dev")
    warehouse.put("dev", a="2")
    warehouse.put(b="3")
    warehouse.branch("same", "dev")
    listed, folders = [], warehouse.blobs.folders

    def noted(path: str) -> list[str]:
        listed.append(path)
        return folders(path)

    monkeypatch.setattr(warehouse.blobs, "folders", noted)
    merge(warehouse.repository, "dev", "main", author="ann")
    assert not any("heads" in path or "tags" in path for path in listed)
    # What no branch of the revision's own name shows may be kept by any other.
    warehouse.put("same", a="4")
    merge(warehouse.repository, warehouse.head("same"), "main", author="ann")
    assert "refs/heads" in listed
