"""Landing: trees put on a branch, whatever landed there meanwhile."""

import pytest

from dbt.adapters.vcs.core.errors import (
    ConflictError,
    DamagedError,
    NotFoundError,
)
from dbt.adapters.vcs.core.groups import Landed
from dbt.adapters.vcs.core.model import Absent
from dbt.adapters.vcs.core.repository import Proposal, Repository, TreeConflictError
from dbt.adapters.vcs.core.tree_changes import TreeChanges
from tests.contract.landings import land, name, shown


def test_landing_on_an_unmoved_branch_goes_forward(repository: Repository) -> None:
    before = repository.branch("main").head
    landed = land(repository, a=1)
    assert landed == Landed(landed.commit, True, before, "fast_forward")
    commit = repository.objects.commit(landed.commit)
    assert (commit.parents, commit.author, commit.message) == ((before,), "ann", "Put a")
    assert repository.branch("main").ref.move.action == "commit"


def test_a_change_that_changes_nothing_makes_no_commit(repository: Repository) -> None:
    first = land(repository, a=1)
    again = land(repository, a=1)
    assert again == Landed(first.commit, False, first.commit, "up_to_date")
    assert repository.branch("main").ref.seq == 2


def test_a_change_that_changes_nothing_may_still_set_the_state(repository: Repository) -> None:
    landed = land(repository, a=1)
    tree = repository.tree(landed.commit).id
    for _ in range(2):
        again = repository.land(
            Proposal(
                branch="main",
                base=landed.commit,
                tree=tree,
                author="ann",
                message="m",
                state={"k": "v"},
            )
        )
        assert again == Landed(landed.commit, False, landed.commit, "up_to_date")
    assert dict(repository.branch("main").state) == {"k": "v"}
    assert repository.branch("main").ref.seq == 3


def test_changes_of_different_relations_merge(repository: Repository) -> None:
    base = land(repository, a=1, b=1, c=1).commit
    ours = land(repository, base=base, a=2, d=1)
    theirs = land(repository, base=base, b=2, c=None)
    assert (ours.how, theirs.how) == ("fast_forward", "merge")
    assert theirs.before == ours.commit
    assert shown(repository) == {"a": 2, "b": 2, "d": 1}
    assert repository.objects.commit(theirs.commit).parents == (ours.commit,)


def test_the_same_change_twice_is_no_conflict(repository: Repository) -> None:
    base = land(repository, a=1).commit
    ours = land(repository, base=base, a=2)
    assert land(repository, base=base, a=2) == Landed(
        ours.commit, False, ours.commit, "up_to_date"
    )


def test_a_conflict_names_the_relations_and_changes_nothing(repository: Repository) -> None:
    base = land(repository, a=1, b=1, c=1, d=1).commit
    ours = land(repository, base=base, a=2, b=None, e=1).commit
    before = sorted(repository.blobs.walk("refs"))
    with pytest.raises(ConflictError) as caught:
        land(repository, base=base, a=3, b=2, d=2, e=2)
    message = str(caught.value)
    assert "shop.a (changed there, changed here)" in message
    assert "shop.b (dropped there, changed here)" in message
    assert "shop.e (created there, created here)" in message
    assert "shop.d" not in message
    assert isinstance(caught.value, TreeConflictError)
    assert caught.value.head == ours
    assert list(caught.value.merge.conflicts) == [name("a"), name("b"), name("e")]
    assert sorted(repository.blobs.walk("refs")) == before
    assert shown(repository) == {"a": 2, "c": 1, "d": 1, "e": 1}


def test_a_merge_records_the_other_side_as_parent(repository: Repository) -> None:
    base = land(repository, a=1, b=1).commit
    repository.create_branch("x", base, author="ann")
    theirs = land(repository, "x", b=2).commit
    ours = land(repository, a=2).commit
    tree = repository.tree(theirs).id
    merged = repository.land(
        Proposal(
            branch="main", base=base, tree=tree, author="ann", message="Merge x", parents=(theirs,)
        )
    )
    assert repository.objects.commit(merged.commit).parents == (ours, theirs)
    assert repository.merge_base(merged.commit, theirs) == theirs
    assert repository.resolve("main^2") == theirs
    again = repository.land(
        Proposal(
            branch="main", base=base, tree=tree, author="ann", message="Merge x", parents=(theirs,)
        )
    )
    assert again == Landed(merged.commit, False, merged.commit, "up_to_date")


def test_a_merge_of_what_is_there_already_still_records_that_it_was(
    repository: Repository,
) -> None:
    base = land(repository, a=1).commit
    repository.create_branch("x", base, author="ann")
    theirs = land(repository, "x", a=2).commit
    ours = land(repository, base=base, a=2, b=1).commit
    tree = repository.tree(theirs).id
    merged = repository.land(
        Proposal(
            branch="main", base=base, tree=tree, author="ann", message="Merge x", parents=(theirs,)
        )
    )
    assert repository.objects.commit(merged.commit).parents == (ours, theirs)
    # So that what x does next merges with x's last state as base.
    later = land(repository, "x", a=3).commit
    following = repository.land(
        Proposal(
            branch="main", base=theirs, tree=repository.tree(later).id, author="ann", message="m"
        )
    )
    assert following.moved
    assert shown(repository) == {"a": 3, "b": 1}


def test_a_schema_dropped_there_and_filled_here_stays(repository: Repository) -> None:
    base = land(repository, a=1).commit
    tree = repository.tree(base).id
    dropped = repository.edit(tree, TreeChanges(schemas={"shop": Absent}))
    repository.land(Proposal(branch="main", base=base, tree=dropped, author="ann", message="m"))
    land(repository, base=base, b=2)
    assert shown(repository) == {"b": 2}


def test_landing_on_a_branch_that_is_not_there_is_refused(repository: Repository) -> None:
    head = repository.branch("main").head
    with pytest.raises(NotFoundError, match=r"no branch 'mian'\. Did you mean 'main'"):
        repository.land(
            Proposal(
                branch="mian", base=head, tree=repository.tree(head).id, author="ann", message="m"
            )
        )


def test_landing_a_tree_that_is_not_stored_is_refused(repository: Repository) -> None:
    head = repository.branch("main").head
    for tree, parents in (("0" * 64, ()), (repository.tree(head).id, ("0" * 64,))):
        with pytest.raises(DamagedError, match="missing"):
            repository.land(
                Proposal(
                    branch="main", base=head, tree=tree, author="ann", message="m", parents=parents
                )
            )
    assert repository.branch("main").head == head
