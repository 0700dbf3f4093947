"""Results that are in use are stored again, now and then."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.origins.results import Result, Results
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.reuse.reuser import Reuse

KEY = "a" * 64
HOUR = 3_600_000_000


@pytest.mark.parametrize(("hours", "stored"), [(1, False), (47, False), (49, True)])
def test_a_result_in_use_is_stored_again_every_other_day(hours: int, stored: bool) -> None:
    results = Results(MemoryBlobs())
    reuse = Reuse(results)
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
