"""Documents are kept within a bound, and threads may share them."""

from __future__ import annotations

from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.iceberg.serve.documents import Documents
from tests.unit.serve.conftest import PlainMaker
from tests.unit.warehouse import Warehouse


def test_the_documents_that_are_kept_stay_within_a_bound(warehouse: Warehouse) -> None:
    maker, commit = PlainMaker(), CommitId("0" * 64)
    entry = warehouse.table("1")
    one = len(Documents(maker, {}).body(commit, RelationName("s", "t0"), entry).data)
    documents = Documents(maker, {}, max_bytes=3 * one)
    maker.made.clear()

    def load(number: int) -> None:
        documents.body(commit, RelationName("s", f"t{number}"), entry)

    for number in (0, 1, 2, 0, 3, 0, 1):
        load(number)
        assert documents.bytes <= 3 * one
    # The one that was asked for least recently went first.
    assert maker.made == ["s.t0", "s.t1", "s.t2", "s.t3", "s.t1"]
    assert (documents.hits, documents.misses) == (2, 5)


def test_a_document_larger_than_the_bound_is_answered_and_not_kept(warehouse: Warehouse) -> None:
    maker = PlainMaker()
    documents = Documents(maker, {}, max_bytes=10)
    for _ in range(2):
        body = documents.body(CommitId("0" * 64), RelationName("s", "t"), warehouse.table("1"))
        assert b"snapshots" in body.data
    assert (documents.bytes, maker.made) == (0, ["s.t", "s.t"])


def test_views_are_not_given_the_settings_of_the_store(warehouse: Warehouse) -> None:
    documents = Documents(PlainMaker(), {"s3.region": "eu"})
    name, commit = RelationName("s", "t"), CommitId("0" * 64)
    assert b"s3.region" in documents.body(commit, name, warehouse.table("1")).data
    assert b"s3.region" not in documents.body(commit, name, warehouse.view("select 1")).data


def test_a_document_is_made_again_after_a_while(warehouse: Warehouse) -> None:
    maker, now = PlainMaker(), [0.0]
    documents = Documents(maker, {}, seconds=lambda: now[0])
    entry = warehouse.table("1")
    for at, count in ((0.0, 1), (899.0, 1), (901.0, 2), (902.0, 2)):
        now[0] = at
        body = documents.body(CommitId("0" * 64), RelationName("s", "t"), entry)
        assert len(maker.made) == count
        assert documents.bytes == len(body.data)
