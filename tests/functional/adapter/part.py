"""The part of the conformance suite that `make test` runs: a few classes of every group."""

from __future__ import annotations

from typing import Final

import pytest

PART: Final = {
    "basic": {"TestSimpleMaterializations", "TestIncremental"},
}


def is_in_part(item: pytest.Item) -> bool:
    """Tell whether `make test` runs a test: its class is named above, or it is in no group."""
    group = item.path.parent.name
    if group == "adapter":
        return True
    node = item.getparent(pytest.Class)
    return node is not None and node.name in PART.get(group, ())
