import pytest

from dbt.adapters.vcs.commands.branch import create_branch
from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.tag import create_tag, delete_tag, list_tags
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.model import Run
from tests.unit.warehouse import Warehouse


def test_a_tag_stays_where_it_was_put(warehouse: Warehouse) -> None:
    first = warehouse.put(a="1", message="First")
    create_tag(warehouse.repository, "v1", "main", author="bob", note="release")
    warehouse.put(a="2")
    (tag,) = list_tags(warehouse.repository)
    assert (tag.name, tag.commit, tag.summary) == ("v1", first, "First")
    assert (tag.tagged_by, tag.note) == ("bob", "release")
    with pytest.raises(InputError, match="already a tag 'v1'"):
        create_tag(warehouse.repository, "v1", "main", author="bob")
    assert delete_tag(warehouse.repository, "v1", author="bob") == first
    assert list_tags(warehouse.repository) == []
    with pytest.raises(NotFoundError, match="v1"):
        delete_tag(warehouse.repository, "v1", author="bob")


def test_the_log_is_newest_first_with_names_and_runs(warehouse: Warehouse) -> None:
    first = warehouse.put(a="1", run=Run(invocation="i1", command="build"))
    second = warehouse.put(a="2", message="Second\n\nWith more to say.")
    create_tag(warehouse.repository, "v1", first, author="bob")
    entries = list(read_log(warehouse.repository, "main"))
    assert [entry.id for entry in entries[:2]] == [second, first]
    assert [entry.names for entry in entries] == [("main",), ("tag: v1",), ()]
    assert [entry.invocation for entry in entries] == [None, "i1", None]
    assert entries[0].summary == "Second"
    assert entries[0].parents == (first,)
    assert [entry.id for entry in read_log(warehouse.repository, "main", limit=1)] == [second]
    with pytest.raises(InputError, match="limit"):
        list(read_log(warehouse.repository, "main", limit=0))


def test_a_range_lists_what_one_side_lacks(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("feature")
    here = warehouse.put("feature", b="1")
    there = warehouse.put(a="2")

    def ids(revision: str) -> list[str]:
        return [entry.id for entry in read_log(warehouse.repository, revision)]

    assert ids("main..feature") == [here]
    assert ids("feature..main") == [there]
    assert ids("main...feature") == [here]
    assert ids("main..main") == []
    old = warehouse.repository.resolve("main~1")
    warehouse.repository.create_branch("odd..name", old, author="ann", check=False)
    assert len(ids("odd..name")) == 2
    with pytest.raises(NotFoundError, match="'x'"):
        ids("x..main")


def test_the_log_of_a_relation_has_the_commits_that_changed_it(warehouse: Warehouse) -> None:
    made = warehouse.put(a="1", b="1")
    warehouse.put(b="2")
    warehouse.branch("feature")
    changed = warehouse.put("feature", a="2")
    warehouse.put(b="3")
    merged = merge(warehouse.repository, "feature", "main", author="ann").after
    dropped = warehouse.put(a=None)
    again = warehouse.put(a="1")

    def ids(relation: str) -> list[str]:
        found = list(read_log(warehouse.repository, "main", relation=relation))
        return [entry.id for entry in found]

    assert ids("SHOP.`a`") == [again, dropped, merged, changed, made]
    with pytest.raises(NotFoundError, match=r"No commit of 'main' changed shop\.nix"):
        ids("shop.nix")
    for odd in ("a", "x.y.z", "shop.", ""):
        with pytest.raises(InputError, match=r"Expected schema\.table"):
            ids(odd)


def test_a_name_is_not_given_to_a_branch_and_a_tag(warehouse: Warehouse) -> None:
    repository = warehouse.repository
    with pytest.raises(InputError, match=r"a branch 'main'.*another name"):
        create_tag(repository, "main", "main", author="ann")
    create_tag(repository, "v1", "main", author="ann")
    with pytest.raises(InputError, match=r"a tag 'v1'.*another name"):
        create_branch(repository, "v1", author="ann")
    assert repository.find_branch("v1") is None
