"""Resolving the text after a table's name, and the errors for texts without a meaning."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import Micros, SnapshotId
from dbt.adapters.vcs.core.model import Entry, RelationName, TableEntry
from dbt.adapters.vcs.workspace.points import find_version, find_version_at
from tests.unit.warehouse import Warehouse

A = RelationName("shop", "a")


def version(warehouse: Warehouse, text: str, relation: RelationName = A) -> Entry:
    return TableEntry(snapshot=find_version(warehouse.repository, relation, text).snapshot)


def named(warehouse: Warehouse, name: str, entry: Entry, relation: RelationName = A) -> None:
    assert isinstance(entry, TableEntry)
    warehouse.repository.snapshots.create(
        relation, name, entry.snapshot, at=warehouse.head(), author="ann"
    )


def test_a_snapshot_comes_before_a_revision_before_an_id(warehouse: Warehouse) -> None:
    one, two, three = (warehouse.table(block) for block in "123")
    assert isinstance(three, TableEntry)
    warehouse.put(a=one)
    warehouse.branch("x")
    warehouse.put(a=two)
    assert version(warehouse, "x") == one
    named(warehouse, "x", two)
    assert version(warehouse, "x") == two
    assert version(warehouse, "heads/x") == one
    assert version(warehouse, "main~1") == one
    assert version(warehouse, three.snapshot[:9]) == three
    warehouse.repository.snapshots.delete(A, "x", author="ann")
    assert version(warehouse, "x") == one


def test_a_name_is_one_tables_and_given_once(warehouse: Warehouse) -> None:
    one, two = warehouse.table("1"), warehouse.table("2")
    warehouse.put(a=one, b=two)
    b = RelationName("shop", "b")
    named(warehouse, "sn", one)
    named(warehouse, "sn", two, b)
    assert version(warehouse, "sn") == one
    assert version(warehouse, "sn", b) == two
    with pytest.raises(InputError, match=r"already a snapshot 'sn' of shop\.a"):
        named(warehouse, "sn", two)
    names = warehouse.repository.snapshots
    assert [(str(item.relation), item.name) for item in names.all()] == [
        ("shop.a", "sn"),
        ("shop.b", "sn"),
    ]
    names.delete(A, "sn", author="ann")
    assert names.of(A) == []
    with pytest.raises(NotFoundError, match=r"'sn' of shop\.a was deleted"):
        names.delete(A, "sn", author="ann")
    named(warehouse, "sn", two)
    assert version(warehouse, "sn") == two
    with pytest.raises(InputError, match="control character"):
        named(warehouse, "s\nn", two)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("sn2", NotFoundError, "Did you mean 'sn1'"),
        ("zzz", NotFoundError, "Its snapshots are: sn1"),
        ("main~1", NotFoundError, r"no table shop\.a at 'main~1'.*Did you mean shop\.aa"),
        ("main~7", NotFoundError, "goes past the first commit"),
        ("views", InputError, "is a view at 'views'"),
        ("", InputError, "names no branch"),
    ],
)
def test_what_means_nothing(
    warehouse: Warehouse, text: str, error: type[Exception], words: str
) -> None:
    warehouse.put(aa="2")
    one = warehouse.table("1")
    warehouse.put(a=one)
    named(warehouse, "sn1", one)
    warehouse.branch("views")
    warehouse.put("views", a=None)
    warehouse.put("views", a=warehouse.view("select 1 as id"))
    with pytest.raises(error, match=words):
        version(warehouse, text)


def test_a_time_follows_the_branchs_log_then_its_history(warehouse: Warehouse) -> None:
    one, two, three = (warehouse.table(block) for block in "123")
    repository = warehouse.repository
    start = warehouse.clock()
    warehouse.put(a=one)
    early = warehouse.clock()
    warehouse.put(a=two)
    middle = warehouse.clock()
    warehouse.branch("feature")
    warehouse.put("feature", a=three)
    late = warehouse.clock()

    def at(moment: Micros, branch: str | None) -> SnapshotId:
        head = warehouse.head(branch or "feature")
        return find_version_at(repository, A, moment, branch=branch, head=head).snapshot

    for branch in ("feature", None):
        assert [TableEntry(snapshot=at(moment, branch)) for moment in (early, middle, late)] == [
            one,
            two,
            three,
        ]
    assert TableEntry(snapshot=at(late, "main")) == two
    with pytest.raises(NotFoundError, match=r"There is no table shop\.a on 'main' at"):
        at(start, "main")
    with pytest.raises(NotFoundError, match="begins after 1970"):
        at(Micros(0), "feature")


def test_the_log_tells_where_a_branch_stood_not_when_commits_were_made(
    warehouse: Warehouse,
) -> None:
    one, two = warehouse.table("1"), warehouse.table("2")
    repository = warehouse.repository
    warehouse.put(a=one)
    warehouse.branch("feature")
    warehouse.put("feature", a=two)
    before = warehouse.clock()
    main = repository.branch("main")
    repository.move_branch(main, warehouse.head("feature"), author="ann", action="merge")
    found = find_version_at(repository, A, before, branch="main", head=warehouse.head())
    assert TableEntry(snapshot=found.snapshot) == one
