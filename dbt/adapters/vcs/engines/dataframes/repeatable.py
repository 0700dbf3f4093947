"""Whether running a query again gives the same rows."""

from __future__ import annotations

import re
from typing import Final

_HARMLESS: Final = re.compile(r"[\s:+-]*(SubqueryAlias|View|Project)\b")
"""Nodes that don't select rows, so the current time in them can't change which rows come out."""

_CHOOSES_ANY: Final = re.compile(
    r"\b(GlobalLimit|LocalLimit|Tail|Offset|Sample|ScriptTransformation)\b"
)
"""Nodes that pick among rows in any order, or run a program."""
_MOMENT: Final = re.compile(
    r"\b(current_date|current_time|current_timestamp|localtimestamp|now)\b"
)


def is_repeatable(plan: str, *, deterministic: bool) -> bool:
    """Return whether running a query twice gives the same rows, by its analysed plan.

    Args:
        plan: Spark's text of the plan, one node per line, the topmost first.
        deterministic: Spark's verdict on its expressions, which ignores times and limits.
    """
    if not deterministic or _CHOOSES_ANY.search(plan):
        return False
    lines = plan.splitlines()
    while lines and _HARMLESS.match(lines[0]):
        del lines[0]
    return not any(map(_MOMENT.search, lines))
