import pytest

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode, Policy
from dbt.adapters.vcs.commands.branch import create_branch, list_branches
from dbt.adapters.vcs.commands.conflicts import OpenMergeReport, conflicts_text, list_conflicts
from dbt.adapters.vcs.commands.layout import fitted_lines, plain_lines
from dbt.adapters.vcs.commands.merge import (
    MergeReport,
    MergeRequest,
    abort_merge,
    continue_merge,
    merge,
)
from dbt.adapters.vcs.commands.resolve import Resolution, resolve
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.core.repository import Repository
from tests.contract.faulty import Crash, FaultyBlobs, under
from tests.unit.warehouse import Warehouse


@pytest.fixture
def forked(warehouse: Warehouse) -> Warehouse:
    warehouse.put(a="1", b="1", v=warehouse.view("select 1"))
    warehouse.branch("dev")
    warehouse.put("dev", a="2", v=warehouse.view("select 2"))
    warehouse.put(a="3", b="3", v=warehouse.view("select 3"))
    return warehouse


def merge_dev(warehouse: Warehouse, mode: Mode | None = None) -> MergeReport:
    request = MergeRequest(policy=Policy(override=mode))
    return merge(warehouse.repository, "dev", "main", request, author="ann")


def choose(
    warehouse: Warehouse, relation: str | None, choice: str, key: dict[str, str] | None = None
) -> Resolution:
    chosen = RowChoice(choice=Choice.of(choice), key=key or {})
    return resolve(warehouse.repository, "main", relation, chosen, author="ann")


def values(warehouse: Warehouse, name: str) -> dict[int, str]:
    return {row["id"]: row["v"] for row in warehouse.rows(name)}


def test_conflicts_are_kept_as_tables_and_the_target_stays(forked: Warehouse) -> None:
    head = forked.head()
    with pytest.raises(ConflictError, match=r"dbt-vcs resolve --all --with ours main"):
        merge_dev(forked)
    assert forked.head() == head
    report = list_conflicts(forked.repository, "main", "shop.a", limit=1)
    assert [(item.relation, item.conflicts, item.resolved) for item in report.relations] == [
        ("shop.a", 10, 0),
        ("shop.v", 1, 0),
    ]
    (row,) = report.rows
    assert row == {
        "our_diff_type": "modified",
        "their_diff_type": "modified",
        "base_id": 0,
        "our_id": 0,
        "their_id": 0,
        "base_v": "1",
        "our_v": "3",
        "their_v": "2",
        "result_v": None,
        "resolution": None,
    }
    assert set(forked.shown("merges/main")) == {"shop.a"}


def test_conflicts_are_kept_after_a_merge_that_died_while_it_kept_them(
    forked: Warehouse,
) -> None:
    dying = FaultyBlobs(forked.blobs, after=under("refs/heads/merges", Crash()))
    died = Repository.open(dying, clock=forked.clock)
    with pytest.raises(Crash):
        merge(died, "dev", "main", author="ann")
    for _ in range(2):
        with pytest.raises(ConflictError, match=r"dbt-vcs resolve --all --with ours main"):
            merge_dev(forked)
        report = list_conflicts(forked.repository, "main", "shop.a", limit=1)
        assert [item.relation for item in report.relations] == ["shop.a", "shop.v"]


def test_a_merge_goes_on_when_every_conflict_is_resolved(forked: Warehouse) -> None:
    repository = forked.repository
    with pytest.raises(ConflictError):
        merge_dev(forked)
    choose(forked, "shop.a", "ours")
    for key, choice in (("1", "theirs"), ("2", "base"), ("3", "delete")):
        done = choose(forked, "shop.a", choice, {"id": key})
        assert (done.count, done.left) == (1, 1)
    with pytest.raises(ConflictError, match=r"Not resolved yet: shop\.v"):
        continue_merge(repository, "main", author="ann")
    assert choose(forked, "shop.v", "theirs").left == 0
    theirs = forked.head("dev")
    report = continue_merge(repository, "main", author="ann")
    assert report.how == "merge"
    assert values(forked, "a") == {0: "3", 1: "2", 2: "1", **dict.fromkeys(range(4, 10), "3")}
    assert values(forked, "b") == dict.fromkeys(range(10), "3")
    assert forked.shown()["shop.v"] == forked.shown("dev")["shop.v"]
    assert theirs in repository.objects.commit(forked.head()).parents
    assert list_conflicts(repository, "main") == OpenMergeReport(
        source=None, target="main", branch=None
    )
    with pytest.raises(NotFoundError, match="no branch 'mian'"):
        list_conflicts(repository, "mian")


def test_a_merge_does_not_go_on_with_rows_left(forked: Warehouse) -> None:
    with pytest.raises(ConflictError):
        merge_dev(forked)
    head = forked.head()
    choose(forked, "shop.v", "ours")
    choose(forked, "shop.a", "ours", {"id": "4"})
    with pytest.raises(ConflictError, match=r"9 of 10 conflicts of shop\.a"):
        continue_merge(forked.repository, "main", author="ann")
    assert forked.head() == head


def test_all_conflicts_can_be_resolved_alike(forked: Warehouse) -> None:
    with pytest.raises(ConflictError):
        merge_dev(forked)
    assert choose(forked, None, "theirs").count == 11
    continue_merge(forked.repository, "main", author="ann")
    assert values(forked, "a") == dict.fromkeys(range(10), "2")


def test_what_the_target_got_meanwhile_is_kept(forked: Warehouse) -> None:
    with pytest.raises(ConflictError):
        merge_dev(forked)
    choose(forked, None, "ours")
    forked.put(c="1")
    continue_merge(forked.repository, "main", author="ann")
    assert "shop.c" in forked.shown()


def test_a_conflict_that_is_new_is_kept_as_one_again(forked: Warehouse) -> None:
    with pytest.raises(ConflictError):
        merge_dev(forked, Mode.FAIL)
    choose(forked, None, "ours")
    forked.put(a=forked.table("3", "9"), d="1")
    forked.put("dev", d="2")
    # The work that waits is what dev was when the merge began.
    continue_merge(forked.repository, "main", author="ann")
    with pytest.raises(ConflictError, match=r"shop\.d: 10 rows"):
        merge_dev(forked)


def test_a_merge_is_given_up(forked: Warehouse) -> None:
    head = forked.head()
    with pytest.raises(ConflictError):
        merge_dev(forked)
    abort_merge(forked.repository, "main", author="ann")
    assert forked.head() == head
    assert forked.repository.find_branch("merges/main") is None


@pytest.mark.parametrize(
    ("mode", "value", "view"), [(Mode.SKIP, "3", "main"), (Mode.ACCEPT, "2", "dev")]
)
def test_a_mode_decides(forked: Warehouse, mode: Mode, value: str, view: str) -> None:
    wanted = forked.shown(view)["shop.v"]
    report = merge_dev(forked, mode)
    assert values(forked, "a") == dict.fromkeys(range(10), value)
    assert forked.shown()["shop.v"] == wanted
    merged = {str(item.name): item for item in report.relations}
    assert (merged["shop.a"].conflicts, merged["shop.a"].mode) == (10, mode)
    assert report.how == "merge"


def test_merging_the_same_again_changes_nothing(forked: Warehouse) -> None:
    merge_dev(forked, Mode.ACCEPT)
    head = forked.head()
    assert merge_dev(forked).how == "up_to_date"
    assert forked.head() == head


@pytest.mark.parametrize(
    ("relation", "choice", "key", "error", "text"),
    [
        (
            "shop.b",
            "ours",
            {},
            NotFoundError,
            "shop.b has no conflicts; expected one of: shop.a, shop.v",
        ),
        ("shop.a", "mine", {}, InputError, "expected one of ours, theirs, base, delete"),
        ("shop.a", "ours", {"id": "77"}, NotFoundError, "No conflict of shop.a has the key"),
        ("shop.a", "ours", {"x": "1"}, InputError, "has no column 'x'"),
        ("shop.v", "ours", {"id": "1"}, InputError, "conflicts as a whole"),
        (None, "ours", {"id": "1"}, InputError, "needs its relation"),
    ],
)
def test_what_does_not_fit_is_refused(
    forked: Warehouse,
    relation: str | None,
    choice: str,
    key: dict[str, str],
    error: type[Exception],
    text: str,
) -> None:
    with pytest.raises(ConflictError):
        merge_dev(forked)
    with pytest.raises(error, match=text):
        choose(forked, relation, choice, key)


def test_nothing_is_merged_into_the_branch_of_a_merge(forked: Warehouse) -> None:
    with pytest.raises(ConflictError):
        merge_dev(forked)
    with pytest.raises(InputError, match="the branch of a merge"):
        merge(forked.repository, "dev", "merges/main", author="ann")


def test_the_branch_of_a_merge_is_no_source(forked: Warehouse) -> None:
    with pytest.raises(ConflictError):
        merge_dev(forked)
    forked.branch("other")
    with pytest.raises(ConflictError, match="holds the conflicts of a merge"):
        merge(forked.repository, "merges/main", "other", author="ann")
    assert "merges/main" not in [item.name for item in list_branches(forked.repository)]
    with pytest.raises(InputError, match="merges with conflicts keep their branches"):
        create_branch(forked.repository, "merges/x", author="ann")


def test_conflicts_are_shown_whole_in_a_pipe_and_fit_a_terminal(forked: Warehouse) -> None:
    forked.put("dev", a=forked.table("x" * 200))
    with pytest.raises(ConflictError):
        merge_dev(forked)
    report = list_conflicts(forked.repository, "main", "shop.a", limit=1)
    assert report.rows[0]["their_v"] == "x" * 200
    assert any("x" * 200 in line for line in plain_lines(conflicts_text(report)))
    lines = [
        "".join(span.text for span in line.spans)
        for line in fitted_lines(conflicts_text(report), 100)
        if line.spans and "dbt-vcs" not in line.spans[0].text
    ]
    assert max(map(len, lines)) <= 100
    (head,) = [line for line in lines if "our_diff_type" in line]
    assert {"our_diff_type", "their_diff_type", "our_id", "our_v", "their_v"} < {*head.split()}
    assert "resolution" in head.split()
    assert any(line.endswith("…") for line in lines)
