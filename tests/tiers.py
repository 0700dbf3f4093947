"""The second tier: what `make test` leaves to `make test-rest`, by folder, file or function.

The first tier has each behaviour once, and takes a quarter of an hour on two cores at most. What
is listed costs most of the rest: whole programs, campaigns, the same checks in one more setting,
and what runs no line of its own. Nothing listed is skipped: `make test-all` runs both tiers, and
`.ci/run` another third of the second one each time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

SLOW: Final = tuple(
    listed
    for listed in Path(__file__).with_name("second_tier.txt").read_text().splitlines()
    if listed and not listed.startswith("#")
)
"""Tests that are left out entirely."""

VARIANTS: Final = (
    "functional",
    "unit/cli/test_listings.py::test_a_reader_that_has_enough_ends_the_listing_quietly",
    "unit/cli/test_listings.py::test_printing_takes_as_much_memory_for_many_rows_as_for_few",
    "unit/cli/test_one_door.py::test_command_and_operation_do_and_refuse_the_same",
    "unit/cli/test_progress_line.py::test_whatever_takes_long_shows_files_and_takes_the_line_away",
    "unit/core/test_cache.py",
    "unit/rows/test_limits.py",
    "unit/serve/test_partition_types.py",
    "unit/test_stopped_session.py",
)
"""Tests with many cases: of each function one case stays in the first tier, and one in eight."""


def slow(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the tests of the second tier. Names decide, and not the order of the tests."""
    lowest: dict[str, int] = {}
    for item in items:
        path = _path(item)
        lowest[path] = min(_checksum(item), lowest.get(path, _checksum(item)))
    for item in items:
        path, checksum = _path(item), _checksum(item)
        if path.startswith("functional/adapter/"):
            if item.getparent(pytest.Class) is not None and "/basic/" not in path:
                yield item
            continue
        is_one_of_many = checksum > lowest[path] and _is_listed(path, VARIANTS)
        if _is_listed(path, SLOW) or (checksum % 8 and (is_one_of_many or _is_elsewhere(item))):
            yield item


def in_share(test: str, share: int, seed: str) -> bool:
    """Return whether a test's file is among the one in `share` that a seed chooses."""
    file = test.partition("::")[0]
    return zlib.crc32(f"{seed} {file}".encode()) % share == 0


def _path(item: pytest.Item) -> str:
    return item.nodeid.removeprefix("tests/").partition("[")[0]


def _checksum(item: pytest.Item) -> int:
    return zlib.crc32(item.nodeid.encode())


def _is_elsewhere(item: pytest.Item) -> bool:
    """Return whether a test is one that runs here, too, on a server: Spark Connect or S3."""
    call = getattr(item, "callspec", None)
    return call is not None and (
        call.params.get("method") == "connect" or "s3" in call.id.split("-")
    )


def _is_listed(path: str, listed: tuple[str, ...]) -> bool:
    # A path is listed as a whole, with its file, or with a folder above it.
    names, places = _split(listed)
    return path in names or path.startswith(places)


@cache
def _split(listed: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    return frozenset(listed), tuple(f"{name}{mark}" for name in listed for mark in ("/", "::"))
