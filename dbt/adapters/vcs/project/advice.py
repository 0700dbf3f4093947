"""The next step to take where a run was not published: what failed decides it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dbt.adapters.vcs.core.model import NodeRun
from dbt.adapters.vcs.project.invocation import Invocation

UNDONE: Final = frozenset({"error", "runtime error"})
"""Statuses of nodes whose work is dropped."""

FAILED: Final = UNDONE | {"fail", "partial success"}
"""Statuses of nodes that make dbt's verdict a failure."""

_SHOWN: Final = 5


def what_failed(nodes: Sequence[NodeRun], hooks: Sequence[str]) -> str:
    """Return what failed in a run, as a clause: the first node or hook, and how many more."""
    names = [node.id for node in nodes if node.status in FAILED]
    names += [f"the hook {hook}" for hook in hooks]
    if not names:
        return "dbt reported a failure"
    return f"{names[0]} failed" + (f", and {len(names) - 1} more" if names[1:] else "")


def next_step(
    invocation: Invocation,
    nodes: Sequence[NodeRun],
    *,
    outdated: Sequence[str],
    tested: Sequence[str],
) -> str:
    """Return the sentence that says how to go on after a verdict of failure.

    `dbt retry` runs nodes again that failed or were skipped, and no others: it doesn't help after
    a hook that failed by itself, nor where what was built already has to be built again.

    Args:
        invocation: The command.
        nodes: How its nodes ended.
        outdated: Ids of nodes that were built before their file changed, and are kept.
        tested: Ids of nodes that the tests that failed read.
    """
    if invocation.is_operation:
        return "Mend the cause and run the operation again."
    if invocation.is_freshness:
        # dbt keeps no record of it that it could retry.
        return f"Mend the cause and type: dbt {invocation.command}"
    if outdated:
        return f"{outdated_warning(outdated)} The same command again builds everything."
    if not any(node.status in FAILED for node in nodes):
        return "Mend the cause and run the same command again."
    step = "Mend the cause and type: dbt retry"
    if not tested:
        return step
    return (
        f"{step}. It builds nothing again that was built: after a change to {_names(tested)}, "
        f"type: {_build(tested)}"
    )


def outdated_warning(outdated: Sequence[str]) -> str:
    """Return what to know of nodes that changed after a run built them that is retried."""
    have, them = ("has", "it") if len(outdated) == 1 else ("have", "them")
    return (
        f"{_names(outdated)} {have} changed since the run built {them}, and dbt retry doesn't "
        f"build {them} again. Type: {_build(outdated)}"
    )


def _names(ids: Sequence[str]) -> str:
    names = [_name(id) for id in ids]
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _build(ids: Sequence[str]) -> str:
    return f"dbt build --select {' '.join(f'{_name(id)}+' for id in ids)}"


def _name(id: str) -> str:
    """Return the name that selects a node, of its unique id: `orders` of `model.shop.orders`."""
    return id.split(".", 2)[-1]
