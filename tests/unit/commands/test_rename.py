"""Renaming branches and tags, those that carry names from before the rules above all."""

from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merges
from dbt.adapters.vcs.commands.branch import (
    delete_branch,
    protect_branch,
    rename_branch,
    undelete_branch,
)
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.tag import create_tag, rename_tag
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError, ProtectedError
from dbt.adapters.vcs.core.model import RefMove
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.run_branch import Status, find_run
from tests.unit.warehouse import Warehouse

ODD = ("main~1", "x^", "x@{1}", "a..b", "..", "@", "a b", "cafe")


def old_tag(repository: Repository, name: str) -> None:
    """Make a tag as a version before the rules of names did."""
    move = RefMove(
        name=name,
        commit=repository.branch("main").head,
        at=repository.clock(),
        by="ann",
        action="create",
    )
    assert repository.refs.advance("tags", move, after=0)


@pytest.mark.parametrize("name", ODD)
def test_an_old_odd_name_is_read_and_can_be_renamed(warehouse: Warehouse, name: str) -> None:
    repository = warehouse.repository
    warehouse.put(a="1")
    repository.create_branch(name, warehouse.head(), author="ann", check=False)
    made = warehouse.put(name, a="2")
    assert repository.resolve(name) == made
    assert rename_branch(repository, name, "plain", author="bob").head == made
    assert repository.find_branch(name) is None
    last = repository.refs.log("heads", name)[0].move
    assert (last.by, last.note) == ("bob", "renamed to plain")
    with pytest.raises(NotFoundError, match="by bob, renamed to plain"):
        repository.branch(name)
    assert undelete_branch(repository, name, author="bob").head == made
    old_tag(repository, "t^")
    assert rename_tag(repository, "t^", "v1", author="bob").commit == warehouse.head()
    assert [tag.name for tag in repository.tags()] == ["v1"]


def test_a_merge_into_an_old_odd_name_keeps_its_conflicts(warehouse: Warehouse) -> None:
    repository = warehouse.repository
    warehouse.put(a="1")
    for name in ("a..b", "x"):
        repository.create_branch(name, warehouse.head(), author="ann", check=False)
        warehouse.put(name, a=name[0])
    with pytest.raises(ConflictError):
        merge(repository, "x", "a..b", author="ann")
    assert [item.target for item in open_merges(repository)] == ["a..b"]
    with pytest.raises(ConflictError, match=r"merge --abort a\.\.b"):
        rename_branch(repository, "a..b", "ab", author="ann")


def test_runs_that_wait_for_a_branch_follow_it(warehouse: Warehouse) -> None:
    warehouse.branch("dev")
    warehouse.run("r1", Status.PASSED, target="dev", b="1")
    rename_branch(warehouse.repository, "dev", "work", author="ann")
    assert find_run(warehouse.repository, "r1").target == "work"
    merge(warehouse.repository, "runs/r1", "work", author="ann")
    assert find_run(warehouse.repository, "r1").status is Status.PUBLISHED


def test_what_others_lean_on_is_not_renamed(warehouse: Warehouse) -> None:
    repository = warehouse.repository
    for name in ("busy", "kept", "free"):
        warehouse.branch(name)
    warehouse.run("r1", Status.OPEN, target="busy", b="1")
    warehouse.run("r2", Status.FAILED, target="free", b="1")
    protect_branch(repository, "kept", Protection(), author="ann")
    create_tag(repository, "v1", "main", author="ann")
    before = {branch.name: branch.head for branch in repository.branches()}
    for old, new, kind, message in (
        ("main", "trunk", InputError, "default branch and can't be renamed"),
        ("kept", "open", ProtectedError, "branch unprotect kept"),
        ("busy", "calm", ConflictError, "run r1 for 'busy' is still running"),
        ("runs/r2", "mine", InputError, "runs/ is where dbt runs keep"),
        ("free", "runs/free", InputError, "runs/ is where dbt runs keep"),
        ("free", "merges/main", InputError, "merges/ is where merges"),
        ("free", "v1", InputError, "a tag 'v1'"),
        ("free", "kept", InputError, "already a branch 'kept'"),
        ("free", "free", InputError, "already a branch 'free'"),
        ("free", "free~1", InputError, "the sign ~"),
        ("nix", "some", NotFoundError, "no branch 'nix'"),
    ):
        with pytest.raises(kind, match=message):
            rename_branch(repository, old, new, author="ann")
    assert {branch.name: branch.head for branch in repository.branches()} == before
    for old, new, message in (
        ("v1", "main", "a branch 'main'"),
        ("v1", "runs/x", "runs/ is where"),
        ("v1", "v^", "the sign"),
        ("v2", "v3", "no tag 'v2'"),
    ):
        with pytest.raises(InputError, match=message):
            rename_tag(repository, old, new, author="ann")


def test_a_commit_made_while_a_branch_is_renamed_goes_along(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = warehouse.repository
    warehouse.branch("dev")
    made = []
    advance = repository.refs.advance

    def slow(space: str, move: RefMove, **given: Any) -> RefMove | None:
        if move.action == "delete" and not made:
            made.append(warehouse.put("dev", a="1"))
        return advance(space, move, **given)

    monkeypatch.setattr(repository.refs, "advance", slow)
    rename_branch(repository, "dev", "work", author="ann")
    assert [repository.branch("work").head] == made
    assert repository.find_branch("dev") is None
    delete_branch(repository, "work", author="ann")
