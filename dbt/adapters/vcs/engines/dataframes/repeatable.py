"""Whether running a query again gives the same rows, by Spark's text of its plan."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

# Nodes that don't select rows, so the current time in them can't change which rows come out.
_HARMLESS: Final = re.compile(r"[\s:+-]*(SubqueryAlias|View|Project)\b")

# Nodes that pick among rows in any order, or run a program.
_CHOOSES_ANY: Final = re.compile(
    r"\b(GlobalLimit|LocalLimit|Tail|Offset|Sample|ScriptTransformation)\b"
)
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


# fmt: off
# Spark's functions that are not deterministic, or depend on the order of rows.
_VARYING: Final = frozenset({
    "rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle",
    "monotonically_increasing_id", "spark_partition_id", "input_file_name",
    "input_file_block_start", "input_file_block_length", "reflect", "java_method", "try_reflect",
    "first", "first_value", "last", "last_value", "any_value", "collect_list", "collect_set",
    "array_agg", "listagg", "string_agg", "mode", "approx_top_k",
})
# fmt: on

_CALL: Final = re.compile(r"(\w+)\(")
_ANALYSED: Final = "== Analyzed Logical Plan =="
_OPTIMIZED: Final = "== Optimized Logical Plan =="


def is_plan_repeatable(explained: str, others: Collection[str]) -> bool:
    """Return whether running a query twice surely gives the same rows.

    A server doesn't tell Spark's own verdict on expressions, so the names in the plan decide.

    Args:
        explained: What `explain extended` returns; views and SQL functions are spelled out in it.
        others: Functions of users, lower case, that may vary.
    """
    plan = explained.partition(_ANALYSED)[2].partition(_OPTIMIZED)[0].strip()
    # The first line lists the columns of the result.
    lines = plan.partition("\n")[2]
    called = {name.lower() for name in _CALL.findall(lines)}
    # Names too many do no harm: the query then counts as one that varies.
    varying = not called.isdisjoint(_VARYING) or not called.isdisjoint(others)
    return bool(lines) and is_repeatable(lines, deterministic=not varying)
