"""Protected tags and named snapshots: names that are neither deleted, moved nor renamed."""

import pytest

from dbt.adapters.vcs.commands.snapshot import (
    create_snapshot,
    delete_snapshot,
    list_snapshots,
    protect_snapshot,
)
from dbt.adapters.vcs.commands.tag import (
    create_tag,
    delete_tag,
    list_tags,
    protect_tag,
    rename_tag,
)
from dbt.adapters.vcs.core.branches import Names, Protection
from dbt.adapters.vcs.core.errors import InputError, NotFoundError, ProtectedError
from dbt.adapters.vcs.core.model import RelationName
from tests.unit.warehouse import Warehouse


def test_a_protected_tag_stays_until_its_protection_is_lifted(warehouse: Warehouse) -> None:
    repository = warehouse.repository
    head = warehouse.put(a="1")
    before = create_tag(repository, "v1", "main", author="ann", note="release")
    assert protect_tag(repository, "v1", True, author="bob").is_protected
    warehouse.put(a="2")
    for refused in (
        lambda: delete_tag(repository, "v1", author="bob"),
        lambda: rename_tag(repository, "v1", "v2", author="bob"),
    ):
        with pytest.raises(ProtectedError, match="dbt-vcs tag unprotect v1"):
            refused()
    with pytest.raises(InputError, match="already a tag"):
        create_tag(repository, "v1", "main", author="bob")
    (tag,) = list_tags(repository)
    assert (tag.commit, tag.note, tag.tagged_by, tag.tagged_at) == (
        head,
        "release",
        "ann",
        before.tagged_at,
    )
    assert not protect_tag(repository, "v1", False, author="bob").is_protected
    assert delete_tag(repository, "v1", author="bob") == head
    with pytest.raises(NotFoundError, match="v1"):
        protect_tag(repository, "v1", True, author="bob")


def test_a_protected_snapshot_stays_until_its_protection_is_lifted(warehouse: Warehouse) -> None:
    repository = warehouse.repository
    warehouse.put(a="1")
    made = create_snapshot(repository, "shop.a", "s1", "main", author="ann", note="audit")
    assert protect_snapshot(repository, "shop.a", "s1", True, author="bob").is_protected
    for refused in (
        lambda: delete_snapshot(repository, "shop.a", "s1", author="bob"),
        lambda: repository.snapshots.delete(RelationName("shop", "a"), "s1", author="bob"),
    ):
        with pytest.raises(ProtectedError, match=r"dbt-vcs snapshot unprotect shop\.a s1"):
            refused()
    (kept,) = list_snapshots(repository)
    assert (kept.snapshot, kept.note, kept.made_by) == (made.snapshot, "audit", "ann")
    assert kept.made_at == made.made_at
    assert not protect_snapshot(repository, "shop.a", "s1", False, author="bob").is_protected
    delete_snapshot(repository, "shop.a", "s1", author="bob")
    assert list_snapshots(repository) == []


@pytest.mark.parametrize("space", ["heads", "tags"])
def test_a_protection_that_comes_during_a_deletion_is_respected(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, space: str
) -> None:
    repository = warehouse.repository
    if space == "heads":
        warehouse.branch("x")
    else:
        create_tag(repository, "x", "main", author="ann")
    follow, calls = Names.follow, []

    def late(names, last, name, commit, **more):  # type: ignore[no-untyped-def]
        if commit is None and not calls:
            calls.append(name)
            if space == "heads":
                repository.protect("x", Protection(), author="bob")
            else:
                repository.protect_tag("x", True, author="bob")
        return follow(names, last, name, commit, **more)

    monkeypatch.setattr(Names, "follow", late)
    with pytest.raises(ProtectedError, match="unprotect x"):
        if space == "heads":
            repository.delete_branch("x", author="ann")
        else:
            repository.delete_tag("x", author="ann")
    assert calls
    assert repository.refs.read(space, "x").move.commit is not None  # type: ignore[union-attr]
