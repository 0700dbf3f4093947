from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Terms
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode, Policy
from dbt.adapters.vcs.commands.merge import MergeReport, MergeRequest, continue_merge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.model import Input, NodeRun, Run, TableEntry
from dbt.adapters.vcs.core.repository import Proposal
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.warehouse import Warehouse, promote


@pytest.fixture
def shop(warehouse: Warehouse) -> Warehouse:
    warehouse.put(a="1", b="1")
    warehouse.branch("dev")
    warehouse.put("dev", a="2")
    warehouse.repository.protect("main", Protection(("tests",)), author="ann")
    return warehouse


def seen_by_test(
    warehouse: Warehouse, status: str = "pass", test: str = "t", branch: str = "dev"
) -> None:
    """Let a test be recorded, as dbt test does; it saw what the branch shows."""
    entries = warehouse.shown(branch)
    inputs = tuple(
        Input(relation=name, snapshot=entry.snapshot)
        for name, entry in entries.items()
        if isinstance(entry, TableEntry)
    )
    node = NodeRun(id=f"test.shop.{test}", status=status, inputs=inputs)
    warehouse.repository.land(
        Proposal(
            branch=branch,
            base=warehouse.head(branch),
            tree=warehouse.repository.tree(warehouse.head(branch)).id,
            author="ann",
            message="dbt test",
            run=Run(invocation="i", command="test", nodes=(node,)),
            allow_empty=True,
        )
    )


def into_main(warehouse: Warehouse, source: str = "dev", **options: Any) -> MergeReport:
    return promote(warehouse.repository, source, "main", MergeRequest(**options), author="ann")


def test_what_no_test_has_seen_is_not_promoted(shop: Warehouse) -> None:
    head = shop.head()
    with pytest.raises(ConflictError, match=r"no test has seen: shop\.a"):
        into_main(shop)
    assert shop.head() == head


def test_what_tests_passed_is_promoted(shop: Warehouse) -> None:
    seen_by_test(shop)
    wanted = shop.shown("dev")
    terms = Terms(metadata={"ticket": "SHOP-12"}, message="Release")
    told = into_main(shop, terms=terms, dry_run=True)
    done = into_main(shop, terms=terms)
    assert (told.how, told.after, done.how) == ("merge", None, "merge")
    assert shop.shown() == wanted
    commit = shop.repository.objects.commit(shop.head())
    assert (commit.message, commit.metadata) == ("Release", {"ticket": "SHOP-12"})
    assert shop.repository.branch("main").protection == Protection(("tests",))


def test_a_warning_is_no_failure(shop: Warehouse) -> None:
    seen_by_test(shop, "warn")
    assert into_main(shop).how == "fast_forward"


def test_a_failed_test_stops_a_promotion(shop: Warehouse) -> None:
    seen_by_test(shop)
    seen_by_test(shop, "fail", "other")
    with pytest.raises(ConflictError, match=r"failed: test\.shop\.other"):
        into_main(shop)


def test_the_last_finding_of_a_test_counts(shop: Warehouse) -> None:
    seen_by_test(shop, "fail")
    seen_by_test(shop, "pass")
    assert into_main(shop).how == "fast_forward"


def test_tests_of_an_older_version_count_for_nothing(shop: Warehouse) -> None:
    seen_by_test(shop)
    shop.put("dev", a="3")
    with pytest.raises(ConflictError, match=r"saw other versions: test\.shop\.t"):
        into_main(shop)


def test_what_a_test_found_on_another_branch_means_nothing(shop: Warehouse) -> None:
    seen_by_test(shop)
    other = shop.run("r2", Status.FAILED, a="7")
    seen_by_test(shop, "fail", branch=other.name)
    assert into_main(shop).how == "fast_forward"


def test_what_merging_would_make_is_untested(shop: Warehouse) -> None:
    seen_by_test(shop)
    shop.repository.protect("main", None, author="ann")
    shop.put(a="9")
    shop.repository.protect("main", Protection(("tests",)), author="ann")
    with pytest.raises(ConflictError, match=r"what merging makes of shop\.a"):
        into_main(shop, policy=Policy(override=Mode.SKIP))


def test_a_dry_run_says_the_same_and_changes_nothing(shop: Warehouse) -> None:
    head = shop.head()
    with pytest.raises(ConflictError, match="no test has seen"):
        into_main(shop, dry_run=True)
    seen_by_test(shop)
    assert into_main(shop, dry_run=True).how == "fast_forward"
    assert shop.head() == head


def test_a_run_that_failed_is_not_promoted(shop: Warehouse) -> None:
    run = shop.run("r1", Status.FAILED, a="4", note="model a failed")
    with pytest.raises(ConflictError, match="failed"):
        into_main(shop, run.name)


def test_a_branch_without_demands_takes_what_no_test_saw(shop: Warehouse) -> None:
    shop.repository.protect("main", Protection(), author="ann")
    assert into_main(shop).how == "fast_forward"


def test_a_promotion_goes_on_if_each_relation_is_as_one_side_has_it(shop: Warehouse) -> None:
    repository = shop.repository
    repository.protect("main", None, author="ann")
    shop.put("dev", v=shop.view("select 2"))
    shop.put(v=shop.view("select 3"))
    repository.protect("main", Protection(("tests",)), author="ann")
    seen_by_test(shop)
    with pytest.raises(ConflictError, match="the conflicts are kept"):
        into_main(shop)
    resolve(repository, "main", "shop.v", RowChoice(choice=Choice.OURS), author="ann")
    kept = shop.shown()["shop.v"]
    assert continue_merge(repository, "main", author="ann").how == "merge"
    assert shop.shown()["shop.a"] == shop.shown("dev")["shop.a"]
    assert shop.shown()["shop.v"] == kept


def test_a_table_that_the_source_dropped_needs_no_test(shop: Warehouse) -> None:
    shop.repository.protect("main", None, author="ann")
    shop.put(c="1")
    shop.repository.protect("main", Protection(("tests",)), author="ann")
    shop.put("dev", b=None)
    seen_by_test(shop)
    assert into_main(shop).how == "merge"
    assert set(shop.shown()) == {"shop.a", "shop.c"}


def test_a_run_whose_rows_would_be_merged_is_to_be_built_again(shop: Warehouse) -> None:
    run = shop.run("r1", Status.PASSED, a="4")
    shop.repository.protect("main", None, author="ann")
    shop.put(a="9")
    shop.repository.protect("main", Protection(("tests",)), author="ann")
    with pytest.raises(ConflictError, match=r"Run dbt build again on what 'main' has now"):
        into_main(shop, run.name, policy=Policy(override=Mode.SKIP))


def test_a_promotion_is_not_forced(shop: Warehouse) -> None:
    head = shop.head()
    with pytest.raises(InputError, match="force is not allowed"):
        into_main(shop, force=True)
    assert shop.head() == head
