"""Savings: what the nodes of a run took from what was computed before."""

from __future__ import annotations

import threading

import msgspec

from dbt.adapters.vcs.core.model import NodeRun
from dbt.adapters.vcs.reuse.reuser import Tally


class Savings:
    """Counts the nodes whose results were all known; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nodes = 0
        self._reused = 0
        self._seconds = 0.0

    def noted(self, node: NodeRun, tally: Tally) -> NodeRun:
        """Count a node, and return it with where its results came from."""
        is_reused = bool(tally.taken) and not tally.computed and not tally.refused
        with self._lock:
            self._nodes += 1
            self._reused += is_reused
            self._seconds += tally.seconds_saved
        if not is_reused:
            why = "; ".join(dict.fromkeys(tally.refused)) or None
            return msgspec.structs.replace(node, refused=why)
        last = tally.taken[-1].result
        where = last.branch or "an earlier statement"
        return msgspec.structs.replace(node, reused=where, saved=round(tally.seconds_saved, 3))

    def line(self) -> str | None:
        """Return a line for the end of the run; None if nothing to speak of was taken."""
        if not self._reused and not round(self._seconds, 1):
            return None
        noun = "node" if self._nodes == 1 else "nodes"
        return (
            f"Reused: {self._reused} of {self._nodes} {noun}, {self._seconds:.1f} s of work saved."
        )
