"""Forwarding: which objects took the place of which when a history was rewritten."""

from __future__ import annotations

from dbt.adapters.vcs.core.model.value import Value


class Forwarding(Value, frozen=True, kw_only=True):
    """What took the place of each object and each move that a purge replaced, by the old id.

    Attributes:
        commits: Of commits.
        trees: Of trees, of both levels.
        snapshots: Of versions of tables.
        segments: Of segments.
        moves: Of files of moves whose free text was redacted; their ids are the files' SHA-256.
    """

    commits: dict[str, str] = {}
    trees: dict[str, str] = {}
    snapshots: dict[str, str] = {}
    segments: dict[str, str] = {}
    moves: dict[str, str] = {}
