"""`require: [approval]`: only what somebody agreed to is promoted."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.changes.merges.approvals import Approval, approvals_of, approve
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError, NotFoundError
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse, promote


@pytest.fixture
def forked(warehouse: Warehouse) -> Warehouse:
    warehouse.put(a="1", b="1")
    warehouse.branch("dev")
    warehouse.put("dev", a="2")
    warehouse.repository.protect("main", Protection(("approval",)), author="ann")
    return warehouse


def promoted(warehouse: Warehouse, source: str = "dev") -> str:
    return promote(warehouse.repository, source, "main", author="ann").how


def approved_by(warehouse: Warehouse, branch: str = "dev") -> list[str]:
    found = approvals_of(warehouse.repository, branch, warehouse.head(branch))
    return [item.author for item in found]


def test_only_an_approved_commit_is_promoted(forked: Warehouse) -> None:
    head = forked.head("dev")
    with pytest.raises(ConflictError, match=f"dbt-vcs approve dev --at {head[:12]}"):
        promoted(forked)
    assert approve(forked.repository, "dev", author="bob", at=head, note="fine") == head
    (found,) = approvals_of(forked.repository, "dev", head)
    assert found == Approval(author="bob", at=found.at, note="fine")
    # What was agreed to is the commit: another one needs another approval.
    forked.put("dev", a="3")
    assert approved_by(forked) == []
    with pytest.raises(ConflictError, match="nobody has approved"):
        promoted(forked)
    with pytest.raises(ConflictError, match="by now"):
        approve(forked.repository, "dev", author="bob", at=head)
    approve(forked.repository, "dev", author="bob")
    assert promoted(forked) == "fast_forward"


def test_the_newest_word_of_a_person_counts(forked: Warehouse) -> None:
    repository = forked.repository
    for author in ("bob", "eve", "bob"):
        approve(repository, "dev", author=author, note=author)
    assert approved_by(forked) == ["bob", "eve"]
    approve(repository, "dev", author="bob", withdraw=True)
    assert approved_by(forked) == ["eve"]
    with pytest.raises(ConflictError, match="nothing to withdraw"):
        approve(repository, "dev", author="bob", withdraw=True)
    approve(repository, "dev", author="eve", withdraw=True)
    with pytest.raises(ConflictError, match="nobody has approved"):
        promoted(forked)
    approve(repository, "dev", author="bob")
    assert approved_by(forked) == ["bob"]


def test_relations_of_either_side_need_no_other_approval(forked: Warehouse) -> None:
    repository = forked.repository
    repository.protect("main", None, author="ann")
    forked.put(b="2")
    repository.protect("main", Protection(("approval",)), author="ann")
    approve(repository, "dev", author="bob")
    # Each relation is the source's or the target's, and so was looked at.
    assert promoted(forked) == "merge"


def test_nobody_has_seen_a_table_that_the_merge_itself_makes(warehouse: Warehouse) -> None:
    tables, repository = Tables(warehouse), warehouse.repository
    block = tables.block({1: "a", 2: "b"})
    base = tables.entry([block], key=True)
    tables.put(t=base)
    warehouse.branch("dev")
    for branch, id in (("main", 3), ("dev", 4)):
        added = tables.block({id: "new"})
        tables.put(branch, t=tables.entry([block, added], parents=[base], key=True))
    repository.protect("main", Protection(("approval",)), author="ann")
    approve(repository, "dev", author="bob")
    with pytest.raises(ConflictError, match=r"nobody can have seen what merging makes of shop\.t"):
        promoted(warehouse)
    merge(repository, "main", "dev", author="ann")
    with pytest.raises(ConflictError, match="nobody has approved"):
        promoted(warehouse)
    approve(repository, "dev", author="bob")
    assert promoted(warehouse) == "fast_forward"


def test_what_is_no_branch_can_not_be_approved(forked: Warehouse) -> None:
    approve(forked.repository, "dev", author="bob")
    with pytest.raises(ConflictError, match="Promote the branch by its name"):
        promoted(forked, "dev~0")
    with pytest.raises(NotFoundError, match="nix"):
        approve(forked.repository, "nix", author="bob")


def test_an_approval_changes_neither_protection_nor_history(forked: Warehouse) -> None:
    repository = forked.repository
    before = forked.head()
    approve(repository, "main", author="bob")
    assert repository.branch("main").protection == Protection(("approval",))
    assert forked.head() == before
    merge(repository, "main", "dev", author="ann")
