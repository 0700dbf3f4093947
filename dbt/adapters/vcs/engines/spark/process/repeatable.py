"""Whether a query gives the same rows when it is run again a moment later."""

from __future__ import annotations

import re
from typing import Final

_HARMLESS: Final = re.compile(r"[\s:+-]*(SubqueryAlias|View|Project)\b")
"""Nodes that choose no rows; above all others a moment's time in them changes no row's being."""

_CHOOSES_ANY: Final = re.compile(r"\b(GlobalLimit|LocalLimit|Tail|Offset|Sample)\b")
_MOMENT: Final = re.compile(
    r"\b(current_date|current_time|current_timestamp|localtimestamp|now)\b"
)


def is_repeatable(plan: str, *, deterministic: bool) -> bool:
    """Tell from a query's analysed plan whether running it twice gives the same rows.

    Args:
        plan: Spark's text of it, a node a line, the topmost first.
        deterministic: What Spark says of its expressions; of times and limits it says nothing.
    """
    if not deterministic or _CHOOSES_ANY.search(plan):
        return False
    lines = plan.splitlines()
    while lines and _HARMLESS.match(lines[0]):
        del lines[0]
    return not any(map(_MOMENT.search, lines))
