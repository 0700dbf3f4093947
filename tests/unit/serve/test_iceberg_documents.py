"""Which commits share a table's document, and what it shows."""

from __future__ import annotations

import json
from threading import Event, Thread
from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg import avro_files, manifest_files
from dbt.adapters.vcs.iceberg.serve.access import ANYBODY
from dbt.adapters.vcs.iceberg.serve.catalog_view import view_of
from dbt.adapters.vcs.iceberg.serve.documents import (
    TAGS_AGE,
    Documents,
    IcebergDocuments,
    ServedTags,
)
from tests.unit.warehouse import Warehouse

A = RelationName("shop", "a")


@pytest.fixture
def documents(warehouse: Warehouse) -> IcebergDocuments:
    return IcebergDocuments(warehouse.repository)


def key(warehouse: Warehouse, documents: IcebergDocuments, commit: CommitId) -> str:
    entry = warehouse.repository.tree(commit).entry(A)
    assert isinstance(entry, TableEntry)
    return documents.key(commit, A, entry, tags=True)


def metadata(
    warehouse: Warehouse, documents: IcebergDocuments, commit: CommitId
) -> dict[str, Any]:
    entry = warehouse.repository.tree(commit).entry(A)
    assert isinstance(entry, TableEntry)
    return dict(documents.make(commit, A, entry, branch="main", tags=True).metadata)


@pytest.mark.parametrize("is_newest_first", [False, True])
def test_commits_that_leave_a_table_alone_share_its_document(
    warehouse: Warehouse, documents: IcebergDocuments, is_newest_first: bool
) -> None:
    commits = [warehouse.put(a="1")]
    commits += [warehouse.put(b=str(number)) for number in range(3)]
    commits.reverse() if is_newest_first else None
    assert len({key(warehouse, documents, commit) for commit in commits}) == 1
    made = [metadata(warehouse, documents, commit) for commit in commits]
    assert all(item == made[0] for item in made)


def test_tags_of_a_tables_history_are_its_refs(warehouse: Warehouse) -> None:
    tagged = warehouse.put(a="1")
    head = warehouse.put(a="2")
    other = warehouse.put(b="1")
    warehouse.repository.create_tag("v1", tagged, author="ann")
    warehouse.repository.create_tag("v2", other, author="ann")
    documents = IcebergDocuments(warehouse.repository)
    made = metadata(warehouse, documents, head)
    old = metadata(warehouse, documents, tagged)["current-snapshot-id"]
    now = made["current-snapshot-id"]
    assert {name: (ref["snapshot-id"], ref["type"]) for name, ref in made["refs"].items()} == {
        "main": (now, "branch"),
        "v1": (old, "tag"),
        "v2": (now, "tag"),
    }


def test_a_tag_whose_tree_is_damaged_takes_no_table_along(warehouse: Warehouse) -> None:
    repository = warehouse.repository
    warehouse.branch("side")
    repository.create_tag("broken", warehouse.put("side", a="1"), author="ann")
    lost = repository.objects.commit(repository.tags()[0].commit).tree
    head = warehouse.put(a="2")
    repository.create_tag("whole", head, author="ann")
    for info in list(warehouse.blobs.walk("objects")):
        if info.path.endswith(lost):
            warehouse.blobs.delete(info.path)
    made = metadata(warehouse, IcebergDocuments(Repository.open(warehouse.blobs)), head)
    assert made["refs"].keys() == {"main", "whole"}


def test_a_new_tag_makes_another_document_after_some_seconds(warehouse: Warehouse) -> None:
    head = warehouse.put(a="1")
    now = [0.0]
    tags = ServedTags(warehouse.repository, seconds=lambda: now[0])
    none = tags.now()
    assert none.names == ()
    warehouse.repository.create_tag("v1", head, author="ann")
    now[0] = TAGS_AGE - 1
    assert tags.now() == none
    now[0] = TAGS_AGE
    first = tags.now()
    assert [(item.name, item.commit) for item in first.names] == [("v1", head)]
    warehouse.repository.delete_tag("v1", author="ann")
    warehouse.repository.create_tag("v1", warehouse.put(a="2"), author="ann")
    now[0] = 3 * TAGS_AGE
    assert len({none.digest, first.digest, tags.now().digest}) == 3


def test_a_version_that_came_back_has_another_history(
    warehouse: Warehouse, documents: IcebergDocuments
) -> None:
    first = warehouse.put(a="1")
    entry = warehouse.shown()["shop.a"]
    warehouse.put(a="2")
    again = warehouse.put(a=entry)
    assert key(warehouse, documents, first) != key(warehouse, documents, again)
    old, new = (metadata(warehouse, documents, commit) for commit in (first, again))
    assert old["current-snapshot-id"] == new["current-snapshot-id"]
    assert len(new["snapshot-log"]) > len(old["snapshot-log"])


def test_the_head_of_a_branch_is_followed_only_to_the_last_one(
    warehouse: Warehouse, documents: IcebergDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.put(a="1")
    for number in range(20):
        warehouse.put(b=str(number))
    key(warehouse, documents, warehouse.head())
    head = warehouse.put(b="last")
    read: list[CommitId] = []
    commit = warehouse.repository.objects.commit
    monkeypatch.setattr(
        warehouse.repository.objects, "commit", lambda id: read.append(id) or commit(id)
    )
    entry = warehouse.shown()["shop.a"]
    assert isinstance(entry, TableEntry)
    read.clear()
    documents.key(head, A, entry, tags=True)
    assert len(set(read)) <= 2


def test_threads_load_what_a_branch_shows_while_it_moves(warehouse: Warehouse) -> None:
    warehouse.put(a="0")
    # Some documents go and are made again meanwhile.
    documents = Documents(IcebergDocuments(warehouse.repository), {}, max_bytes=20_000)
    is_over, wrong = Event(), []

    def load() -> None:
        while not is_over.is_set():
            try:
                found = view_of(warehouse.repository, "main", ANYBODY).find(("shop",), "a")
                assert found is not None
                body = documents.body(found.commit, found.relation, found.entry)
                shown = json.loads(body.data)["metadata"]["properties"]["vcs.snapshot"]
                assert shown == found.entry.version
            except Exception as error:
                wrong.append(error)
                return

    threads = [Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 12):
        warehouse.put(**{"a" if number % 2 else "b": str(number)})
    is_over.set()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert documents.misses


def test_a_named_version_that_its_commit_does_not_show_is_refused(
    warehouse: Warehouse, documents: IcebergDocuments
) -> None:
    warehouse.put(a="1")
    old = warehouse.shown()["shop.a"]
    assert isinstance(old, TableEntry)
    head = warehouse.put(a="2")
    with pytest.raises(UnsupportedError, match="Ask for a commit that shows it"):
        documents.make(head, A, old, branch=None, tags=True)


def test_a_missing_package_is_found_before_the_first_request(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise InputError(f"A package is missing: {name}.")

    monkeypatch.setattr(avro_files, "iceberg_extra", missing)
    manifest_files.manifest_schema.cache_clear()
    with pytest.raises(InputError, match="A package is missing"):
        IcebergDocuments(warehouse.repository)
