"""Results that are in use are stored again, now and then."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.origins.results import Result, Results
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.reuse.reuser import Reuse

KEY = "a" * 64
HOUR = 3_600_000_000


@pytest.mark.parametrize(("hours", "stored"), [(1, False), (47, False), (49, True)])
def test_a_result_in_use_is_stored_again_every_other_day(hours: int, stored: bool) -> None:
    results = Results(MemoryBlobs())
    reuse = Reuse(results, is_purged=lambda: False)
    results.put(KEY, Result(kind="answer", rows="[[1]]", made_at=Micros(1)))
    now = Micros(hours * HOUR)
    for _ in range(2):
        found = results.find(KEY)
        assert found is not None
        reuse.refresh(now, KEY, found)
        reuse.remember()
    found = results.find(KEY)
    assert found is not None
    assert (found.used_at, found.made_at, found.rows) == (now if stored else 0, 1, "[[1]]")
    reuse.refresh(Micros(now + HOUR), KEY, found)
    assert not stored or not reuse.tally.pending


@pytest.mark.parametrize("moment", ["before it is stored", "while it is stored", "never"])
def test_rows_that_a_purge_may_have_erased_are_not_remembered(moment: str) -> None:
    repository = Repository.create(MemoryBlobs(), author="ann")

    def purge() -> None:
        with repository.maintenance.alone("shop.orders", author="ann"):
            results.drop_all()

    class Raced(Results):
        def put(self, key: str, result: Result, *, replace: bool = False) -> None:
            if moment == "while it is stored":
                purge()
            super().put(key, result, replace=replace)

    def reuse_from_now() -> Reuse:
        before = repository.maintenance.steps()
        return Reuse(results, is_purged=lambda: repository.maintenance.steps() != before)

    results = Raced(repository.blobs)
    reuse = reuse_from_now()
    reuse.refresh(Micros(100 * HOUR), KEY, Result(kind="answer", rows='[["jane"]]'))
    if moment == "before it is stored":
        purge()
    reuse.remember()
    assert (results.find(KEY) is not None) == (moment == "never")
    # What is computed from now on is.
    later = reuse_from_now()
    later.refresh(Micros(200 * HOUR), KEY, Result(kind="answer", rows='[["kim"]]'))
    moment = "never"
    later.remember()
    assert results.find(KEY) is not None
