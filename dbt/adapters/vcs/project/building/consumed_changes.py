"""Consumed changes: what an incremental model accounts for once it is built."""

from __future__ import annotations

from typing import Any

from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.scope.mounts import relation_of
from dbt.adapters.vcs.statements.syntax.diff_call import DIFF_FUNCTION
from dbt.adapters.vcs.worktree.increments import record
from dbt.adapters.vcs.worktree.overlay import Overlay


def record_consumed(
    overlay: Overlay, node: Any, relation: str | None, origin: Origin, *, zone: str, is_empty: bool
) -> None:
    """Record in an incremental model's table which changes of its inputs it accounts for.

    Not in its materialization: dbt runs Python models only from one that calls `statement` itself.

    Args:
        overlay: What the node made; it has not landed.
        node: dbt's node, or None.
        relation: `schema.identifier` of what it built, or None.
        origin: Who built it.
        zone: The time zone of times without one.
        is_empty: True if the build was to read no row.
    """
    config = getattr(node, "config", None)
    if relation is None or str(getattr(config, "materialized", "")) != "incremental":
        return
    code = str(getattr(node, "compiled_code", None) or "")
    reads = str(node.language) == "sql" and DIFF_FUNCTION in code.lower()
    text = code if reads else ""
    record(overlay, relation_of(relation), text, origin, lambda: zone, advance=not is_empty)
