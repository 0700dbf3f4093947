"""The next step to take if a run was not published, depending on what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dbt.adapters.vcs.core.model import NodeRun
from dbt.adapters.vcs.project.invocation import Invocation

UNDONE: Final = frozenset({"error", "runtime error"})
"""Statuses of nodes whose changes are dropped."""

FAILED: Final = UNDONE | {"fail", "partial success"}
"""Statuses of nodes that make dbt report a failure."""

_SHOWN: Final = 5


def what_failed(nodes: Sequence[NodeRun], hooks: Sequence[str]) -> str:
    """Return a clause with what failed in a run: the first node or hook, and how many more."""
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
    """Return the sentence with the next step after a failed run.

    `dbt retry` runs only the nodes that failed or were skipped. It doesn't help after a failed
    hook, or if nodes that were already built must be built again.

    Args:
        invocation: The command.
        nodes: The results of its nodes.
        outdated: Ids of nodes that were built before their file changed, and are kept.
        tested: Ids of nodes that the failed tests read.
    """
    if invocation.is_operation:
        return "Fix the cause and run the operation again."
    if invocation.is_freshness:
        # dbt keeps no record of it to retry from.
        return f"Fix the cause and run: dbt {invocation.command}"
    if outdated:
        return f"{outdated_warning(outdated)} Running the same command again builds everything."
    if not any(node.status in FAILED for node in nodes):
        return "Fix the cause and run the same command again."
    step = "Fix the cause and run: dbt retry"
    if not tested:
        return step
    return (
        f"{step}. It doesn't rebuild nodes that succeeded: after a change to {_names(tested)}, "
        f"run: {_build(tested)}"
    )


def outdated_warning(outdated: Sequence[str]) -> str:
    """Return a warning about nodes that changed after the retried run built them."""
    have, them = ("has", "it") if len(outdated) == 1 else ("have", "them")
    return (
        f"{_names(outdated)} {have} changed since the run built {them}, and dbt retry doesn't "
        f"build {them} again. Run: {_build(outdated)}"
    )


def _names(ids: Sequence[str]) -> str:
    names = [_name(id) for id in ids]
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _build(ids: Sequence[str]) -> str:
    return f"dbt build --select {' '.join(f'{_name(id)}+' for id in ids)}"


def _name(id: str) -> str:
    """Return the name that selects a node: `orders` for the id `model.shop.orders`."""
    return id.split(".", 2)[-1]
