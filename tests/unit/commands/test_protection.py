import pytest

from dbt.adapters.vcs.commands.branch import delete_branch
from dbt.adapters.vcs.commands.merge import MergeRequest, merge
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ProtectedError
from dbt.adapters.vcs.core.repository import Proposal
from tests.unit.warehouse import Warehouse


@pytest.fixture
def protected(warehouse: Warehouse) -> Warehouse:
    warehouse.put(orders="a")
    warehouse.branch("dev")
    warehouse.put("dev", orders="b")
    warehouse.repository.protect("main", Protection(("tests",)), author="ann")
    return warehouse


def test_a_protected_branch_takes_no_commit(protected: Warehouse) -> None:
    before = protected.head()
    with pytest.raises(ProtectedError, match="dbt-vcs promote"):
        protected.put(orders="c")
    assert protected.head() == before


def test_a_protected_branch_takes_no_merge(protected: Warehouse) -> None:
    before = protected.head()
    with pytest.raises(ProtectedError, match="by promotion alone"):
        merge(protected.repository, "dev", "main", author="ann")
    assert protected.head() == before


def test_a_dry_run_of_a_merge_into_a_protected_branch_is_refused(protected: Warehouse) -> None:
    with pytest.raises(ProtectedError, match="dbt-vcs promote"):
        merge(protected.repository, "dev", "main", MergeRequest(dry_run=True), author="ann")


def test_a_protected_branch_is_not_deleted(protected: Warehouse) -> None:
    protected.repository.protect("dev", Protection(), author="ann")
    with pytest.raises(ProtectedError, match="unprotect dev"):
        delete_branch(protected.repository, "dev", author="ann")
    assert protected.repository.find_branch("dev") is not None


def test_a_protection_outlives_the_moves_of_its_branch(protected: Warehouse) -> None:
    base = protected.head()
    protected.repository.land(
        Proposal(
            branch="main",
            base=base,
            tree=protected.repository.tree(protected.head("dev")).id,
            author="ann",
            message="Promote dev",
            promotes=True,
        )
    )
    assert protected.head() != base
    assert protected.repository.branch("main").protection == Protection(("tests",))


def test_a_lifted_protection_demands_nothing(protected: Warehouse) -> None:
    protected.repository.protect("main", None, author="ann")
    protected.put(orders="c")
    assert protected.repository.branch("main").protection is None
