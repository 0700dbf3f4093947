"""Savings: what the nodes of a run took from what was computed before."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dbt.adapters.vcs.core.model import NodeRun
from dbt.adapters.vcs.core.model.commit import reused_nodes
from dbt.adapters.vcs.reuse.reuser import Tally, told_source


def with_savings(node: NodeRun, tally: Tally, invocation: str) -> NodeRun:
    """Return a node of an invocation with where its results came from, or why none did."""
    if not tally.taken or tally.computed or tally.refused:
        why = "; ".join(dict.fromkeys(tally.refused)) or None
        return msgspec.structs.replace(node, refused=why)
    where = told_source(tally.taken[-1].result, invocation)
    return msgspec.structs.replace(node, reused=where, saved=round(tally.seconds_saved, 3))


def savings_line(nodes: Iterable[NodeRun]) -> str | None:
    """Return a line for the end of the run; None if nothing was taken."""
    reused, total, seconds = reused_nodes(nodes)
    if not reused:
        return None
    noun = "node" if total == 1 else "nodes"
    return f"Reused: {reused} of {total} {noun}, {seconds:.1f} s of work saved."
