"""The second tier: what `make test` leaves to `make test-rest`, by folder, file or function.

The first tier has each behaviour once, and takes less than ten minutes on two cores. Here are
the tests that cost most of the rest: whole programs, campaigns, and the same checks in one more
setting. Nothing here is skipped: `make test-all` and `.ci/run` run both tiers.
"""

from __future__ import annotations

import zlib
from typing import Final

import pytest

SLOW: Final = (
    "chaos/test_campaign.py",
    "chaos/test_mends.py",
    "chaos/test_plays.py",
    "functional/test_benchmarks.py",
    "functional/test_demo.py",
    "functional/test_package.py",
)
"""Tests that are left out entirely."""

VARIANTS: Final = ("functional/engine/test_tombstones.py",)
"""Tests with many cases, of which one in eight stays in the first tier."""


def is_slow(item: pytest.Item) -> bool:
    """Return whether a test is of the second tier. A test's own name decides, not its place."""
    path, _, function = item.nodeid.removeprefix("tests/").partition("[")
    if path.startswith("functional/adapter/"):
        return item.getparent(pytest.Class) is not None and "/basic/" not in path
    if _is_listed(path, SLOW):
        return True
    parameters = item.callspec.params if isinstance(item, pytest.Function) and function else {}
    is_variant = parameters.get("method") == "connect" or _is_listed(path, VARIANTS)
    return is_variant and zlib.crc32(item.nodeid.encode()) % 8 != 0


def _is_listed(path: str, listed: tuple[str, ...]) -> bool:
    return any(path == name or path.startswith((f"{name}/", f"{name}::")) for name in listed)
