"""docs/scale.md: its tables are the counts of the reference run."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from dbt.adapters.vcs.core.store.blobs import READ_AT_ONCE, MemoryBlobs, each, together

CHECKOUT = Path(__file__).parents[3]
PAGE = (CHECKOUT / "docs/scale.md").read_text(encoding="utf-8")


@pytest.fixture
def scale(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(CHECKOUT / "benchmarks"))
    return importlib.import_module("scale")


def test_the_tables_are_what_was_counted(scale: ModuleType) -> None:
    figures = scale.read_figures(scale.RESULTS / "reference")
    assert scale.page(PAGE, figures) == PAGE, "Run python benchmarks/scale.py --page."
    stale = re.sub(r", \d+ kB", ", 0 kB", PAGE)
    assert stale != PAGE
    assert scale.page(stale, figures) == PAGE


def test_the_verbs_of_one_branch_ask_for_the_same_beside_any_number(scale: ModuleType) -> None:
    figures = scale.read_figures(scale.RESULTS / "reference")
    for name in ("tables", "branches"):
        smallest, *others = figures[name].values()
        for verb in ("branch create", "tag create", "clone", "run of one model"):
            found = {costs[verb].requests for costs in others}
            # A few more where the tree of a schema has grown a level, or is cut into pieces.
            assert max(found) <= 1.5 * smallest[verb].requests, (name, verb)


def test_a_request_is_counted_as_an_object_store_sees_it(scale: ModuleType) -> None:
    blobs, meter = MemoryBlobs(), scale.Meter()
    store = scale.Metered(blobs, meter)
    blobs.create("a/0", b"123")
    with meter.measuring() as cost:
        store.create_all({f"a/{number}": b"x" for number in range(32)})
        list(store.walk("a"))
        store.get("a/0")
        store.exists("b")
    # One was there: it is read, and written again.
    assert (cost.writes, cost.reads, cost.lists) == (33, 3, 1)
    assert (cost.bytes_written, cost.bytes_read) == (33, 4)
    # All writes at once, the look at what was there, and three requests.
    assert cost.rounds == 1 + 2 + 3


def test_requests_that_are_made_at_once_count_once(scale: ModuleType) -> None:
    blobs, meter = MemoryBlobs(), scale.Meter()
    store = scale.Metered(blobs, meter)
    with meter.measuring() as cost:
        each(store.exists, map(str, range(READ_AT_ONCE + 1)))
        together(store, lambda: [store.exists("a"), store.exists("b")], lambda: store.exists("c"))
        store.exists("d")
        together(
            store,
            lambda: together(store, lambda: store.exists("e"), lambda: store.exists("f")),
            lambda: store.exists("g"),
        )
    assert (cost.reads, cost.rounds) == (READ_AT_ONCE + 1 + 3 + 1 + 3, 2 + 2 + 1 + 1)
