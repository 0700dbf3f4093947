from collections.abc import Callable
from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Terms
from dbt.adapters.vcs.commands.merge import MergeReport, MergeRequest, merge
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError, RetryError
from dbt.adapters.vcs.core.model import Run
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges
from dbt.adapters.vcs.workspace.run_branch import Status, run_of
from tests.unit.warehouse import Warehouse


def into_main(warehouse: Warehouse, source: str = "feature", **options: Any) -> MergeReport:
    return merge(warehouse.repository, source, "main", MergeRequest(**options), author="bob")


@pytest.fixture
def forked(warehouse: Warehouse) -> Warehouse:
    warehouse.put(a="1", b="1")
    warehouse.branch("feature")
    return warehouse


def names(report: MergeReport) -> list[str]:
    return [change.name for change in report.changes]


def test_a_source_without_news_is_up_to_date(forked: Warehouse) -> None:
    forked.put(a="2")
    head = forked.head()
    for source in ("feature", "main", "main~1"):
        report = into_main(forked, source)
        assert (report.how, report.before, report.after) == ("up_to_date", head, head)
    assert forked.head() == head


def test_a_target_that_stood_still_moves_to_the_source(forked: Warehouse) -> None:
    before = forked.head()
    forked.put("feature", a="2")
    head = forked.put("feature", c="1")
    report = into_main(forked)
    assert (report.how, report.before, report.after) == ("fast_forward", before, head)
    assert names(report) == ["shop.a", "shop.c"]
    assert forked.head() == head
    move = forked.repository.branch("main").ref.move
    assert (move.by, move.action, move.note) == ("bob", "merge", "feature: fast-forward")


def test_changes_of_different_relations_merge_with_both_as_parents(forked: Warehouse) -> None:
    theirs = forked.put("feature", a="2", c="1")
    ours = forked.put(b="2")
    report = into_main(forked)
    assert report.how == "merge"
    assert names(report) == ["shop.a", "shop.c"]
    commit = forked.repository.objects.commit(forked.head())
    assert commit.parents == (ours, theirs)
    assert (commit.message, commit.author) == ("Merge feature into main", "bob")
    assert forked.shown() == {
        "shop.a": forked.table("2"),
        "shop.b": forked.table("2"),
        "shop.c": forked.table("1"),
    }
    assert into_main(forked).how == "up_to_date"


def test_main_merged_back_lets_the_next_merge_go_forward(forked: Warehouse) -> None:
    forked.put("feature", a="2")
    forked.put(b="2")
    merge(forked.repository, "main", "feature", author="bob")
    forked.put("feature", a="3")
    assert into_main(forked).how == "fast_forward"
    assert forked.shown()["shop.b"] == forked.table("2")


def test_a_message_can_be_given(forked: Warehouse) -> None:
    forked.put("feature", a="2")
    forked.put(b="2")
    into_main(forked, terms=Terms(message="Tax of 2027"))
    assert forked.repository.objects.commit(forked.head()).message == "Tax of 2027"


def test_a_conflict_names_the_relations_and_changes_nothing(forked: Warehouse) -> None:
    forked.put("feature", a="2", c="1", b=None)
    head = forked.put(a="3", b="2")
    with pytest.raises(
        ConflictError,
        match=r"shop\.a: 10 rows changed differently; shop\.b: ours changed it, theirs dropped it",
    ):
        into_main(forked)
    assert forked.head() == head
    report = into_main(forked, dry_run=True)
    assert report.how == "conflict"
    assert report.conflicts == (
        "shop.a: 10 rows changed differently",
        "shop.b: ours changed it, theirs dropped it",
    )
    assert names(report) == ["shop.c"]


def test_a_conflict_of_a_schema_is_named(forked: Warehouse) -> None:
    for branch, comment in (("feature", "theirs"), ("main", "ours")):
        head = forked.head(branch)
        tree = forked.repository.tree(head)
        changes = TreeChanges(schemas={"shop": SchemaInfo(comment)})
        forked.repository.land(
            Proposal(
                branch=branch,
                base=head,
                tree=forked.repository.edit(tree.id, changes),
                author="ann",
                message="Comment",
            )
        )
    with pytest.raises(ConflictError, match="schema shop"):
        into_main(forked)


def test_a_dry_run_foretells_and_changes_nothing(forked: Warehouse) -> None:
    head = forked.put("feature", a="2", schema="fresh")
    before = forked.head()
    report = into_main(forked, dry_run=True)
    assert (report.how, report.after, report.dry_run) == ("fast_forward", head, True)
    assert [(change.kind, change.name) for change in report.changes] == [
        ("schema", "fresh"),
        ("table", "fresh.a"),
    ]
    assert forked.head() == before
    ours = forked.put(b="2")
    report = into_main(forked, dry_run=True)
    assert (report.how, report.after, names(report)) == ("merge", None, ["fresh", "fresh.a"])
    assert forked.head() == ours
    done = into_main(forked)
    assert done.changes == report.changes


def test_ff_only_refuses_a_merge_commit(forked: Warehouse) -> None:
    forked.put("feature", a="2")
    head = forked.put(b="2")
    with pytest.raises(ConflictError, match="can't be fast-forwarded"):
        into_main(forked, terms=Terms(ff_only=True))
    assert forked.head() == head
    merge(forked.repository, "main", "feature", author="bob")
    assert into_main(forked, terms=Terms(ff_only=True)).how == "fast_forward"


def test_unknown_names_are_refused(forked: Warehouse) -> None:
    with pytest.raises(NotFoundError, match=r"'featur'.*'feature'"):
        into_main(forked, "featur")
    with pytest.raises(NotFoundError, match="'nix'"):
        merge(forked.repository, "main", "nix", author="bob")


@pytest.mark.parametrize(
    "status", [Status.FAILED, Status.INTERRUPTED, Status.OPEN, Status.RESUMED]
)
def test_a_run_that_did_not_succeed_is_not_merged_unnoticed(
    forked: Warehouse, status: Status
) -> None:
    run = forked.run("r1", status, a="2", note="model b failed")
    head = forked.head()
    for source in ("runs/r1", "heads/runs/r1", "runs/r1^0", run.head):
        for dry_run in (False, True):
            with pytest.raises(ConflictError, match=f"{status}: model b failed"):
                into_main(forked, source, dry_run=dry_run)
    assert forked.head() == head
    assert into_main(forked, "runs/r1", force=True).how == "fast_forward"
    assert forked.shown()["shop.a"] == forked.table("2")
    branch = forked.repository.branch("runs/r1")
    assert branch.state["status"] == str(status)


def test_a_run_that_passed_is_published_as_one_commit(forked: Warehouse) -> None:
    before = forked.head()
    run = forked.run("r1", Status.PASSED, a="2", c="1", note="waiting to be published")
    report = into_main(forked, "runs/r1")
    assert (report.how, names(report)) == ("fast_forward", ["shop.a", "shop.c"])
    commit = forked.repository.objects.commit(forked.head())
    assert commit.parents == (before,)
    assert commit.run is not None
    assert (commit.run.invocation, commit.run.head) == ("r1", run.head)
    assert forked.repository.branch("main").ref.move.action == "publish"
    published = run_of(forked.repository.branch("runs/r1"))
    assert published is not None
    assert (published.status, published.note) == (Status.PUBLISHED, "")
    forked.put(a="9")
    assert into_main(forked, "runs/r1").how == "up_to_date"


def test_a_run_merges_with_what_landed_meanwhile(forked: Warehouse) -> None:
    forked.run("r1", Status.PASSED, a="2")
    ours = forked.put(b="2")
    with pytest.raises(ConflictError, match="can't be fast-forwarded"):
        into_main(forked, "runs/r1", terms=Terms(ff_only=True))
    foretold = into_main(forked, "runs/r1", dry_run=True)
    assert (foretold.how, foretold.after) == ("merge", None)
    assert into_main(forked, "runs/r1").how == "merge"
    assert forked.repository.objects.commit(forked.head()).parents == (ours,)


def test_a_run_on_another_branch_than_its_target_still_waits(forked: Warehouse) -> None:
    forked.run("r1", Status.PASSED, a="2")
    merge(forked.repository, "runs/r1", "feature", author="bob")
    assert forked.repository.branch("runs/r1").state["status"] == "passed"
    into_main(forked, "runs/r1")
    assert forked.repository.branch("runs/r1").state["status"] == "published"


def test_a_run_whose_publisher_died_before_saying_so_counts_as_published(
    forked: Warehouse,
) -> None:
    forked.run("r1", Status.PASSED, a="2")
    head = forked.put(a="2", run=Run(invocation="r1", command="build"))
    assert into_main(forked, "runs/r1").how == "up_to_date"
    assert forked.head() == head
    assert forked.repository.branch("runs/r1").state["status"] == "published"


def test_nothing_is_merged_into_a_run(forked: Warehouse) -> None:
    forked.run("r1", Status.FAILED, a="2")
    with pytest.raises(InputError, match="branch of a dbt run"):
        merge(forked.repository, "main", "runs/r1", author="bob")


def racing(repository: Repository, act: Callable[[], object]) -> Callable[..., Any]:
    """`move_branch`, with another writer, `act`, who is always first."""
    original = repository.move_branch

    def move(*args: Any, **kwargs: Any) -> Any:
        act()
        return original(*args, **kwargs)

    return move


def test_a_target_that_moves_meanwhile_is_planned_again(
    forked: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked.put("feature", a="2")
    once = iter([lambda: forked.put(b="2")])
    act = racing(forked.repository, lambda: next(once, lambda: None)())
    monkeypatch.setattr(forked.repository, "move_branch", act)
    report = into_main(forked)
    assert (report.how, names(report)) == ("merge", ["shop.a"])
    assert forked.shown()["shop.b"] == forked.table("2")


def test_a_target_that_comes_to_conflict_meanwhile_is_a_conflict(
    forked: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked.put("feature", a="2")
    once = iter([lambda: forked.put(a="3")])
    act = racing(forked.repository, lambda: next(once, lambda: None)())
    monkeypatch.setattr(forked.repository, "move_branch", act)
    with pytest.raises(ConflictError, match=r"changed the same.*shop\.a: 10 rows"):
        into_main(forked)


def test_races_are_given_up_in_the_end(forked: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    forked.put("feature", a="2")
    monkeypatch.setattr("dbt.adapters.vcs.core.turns.MAX_WAIT", 0.0)
    monkeypatch.setattr(forked.repository, "move_branch", lambda *args, **kwargs: None)
    with pytest.raises(RetryError, match="merge 'feature' into 'main'"):
        into_main(forked)


def test_a_tag_is_no_target(forked: Warehouse) -> None:
    forked.repository.create_tag("v1", forked.head(), author="ann")
    with pytest.raises(InputError, match="'v1' is a tag, which can't move"):
        merge(forked.repository, "feature", "v1", author="ann")
