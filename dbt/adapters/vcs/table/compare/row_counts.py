"""How many rows differ, known without Arrow."""

from __future__ import annotations

from typing import NamedTuple


class Counts(NamedTuple):
    """Numbers of rows added, removed and modified; without a key none is modified."""

    added: int
    removed: int
    modified: int
