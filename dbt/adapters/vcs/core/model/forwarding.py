"""Forwarding: which objects took the place of which when a history was rewritten."""

from __future__ import annotations

from dbt.adapters.vcs.core.model.value import Value


class Forwarding(Value, frozen=True, kw_only=True):
    """The new id of each object that a purge replaced, by the old one.

    Attributes:
        commits: Of commits.
        trees: Of trees, of both levels.
        snapshots: Of versions of tables.
        segments: Of segments.
    """

    commits: dict[str, str] = {}
    trees: dict[str, str] = {}
    snapshots: dict[str, str] = {}
    segments: dict[str, str] = {}
