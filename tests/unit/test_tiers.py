"""The second tier: what is listed exists, and each test is of one tier."""

import re
from pathlib import Path

import pytest

from tests.tiers import SLOW, VARIANTS

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("listed", [*SLOW, *VARIANTS])
def test_what_is_listed_exists(listed: str) -> None:
    path, _, name = listed.partition("::")
    place = TESTS / path
    assert place.exists()
    if name:
        for part in name.split("::"):
            assert re.search(rf"^ *(def|class) {part}\b", place.read_text(), re.MULTILINE)


def test_make_and_ci_run_each_tier_once() -> None:
    makefile = (TESTS.parent / "Makefile").read_text()
    assert re.findall(r"PYTEST\) -m \"(.*?)\"", makefile) == [
        "$(MARKED)",
        "not conformance and (slow or hypothesis)",
    ]
    # Another selection is for other series of dbt-core.
    assert "\nMARKED ?= not conformance and not slow\n" in makefile
    assert (TESTS.parent / ".ci" / "run").read_text().endswith("lint test test-rest\n")
