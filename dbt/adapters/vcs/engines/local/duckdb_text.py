"""DuckDB's text for a query of ours in Spark SQL.

Queries on rows are written once, as Spark reads them. sqlglot writes them for DuckDB; what it
doesn't know, or what means something else there, is replaced here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp

_RENAMED: Final[dict[str, Callable[[list[exp.Expression]], exp.Expression]]] = {
    # Decision 45: both hash equal values to equal numbers (NaN, -0.0), and neither is stored.
    "XXHASH64": lambda arguments: exp.Anonymous(
        this="vcs_hash", expressions=[exp.Anonymous(this="hash", expressions=arguments)]
    ),
    "MONOTONICALLY_INCREASING_ID": lambda _: exp.Window(this=exp.RowNumber()),
    "ARRAY_REPEAT": lambda arguments: exp.Anonymous(this="vcs_repeat", expressions=arguments),
}

MACROS: Final = (
    "create macro vcs_hash(number) as cast(number >> 1 as bigint)",
    "create macro vcs_first(items) as items[1]",
    "create macro vcs_repeat(value, times) as list_resize([value][1:0], times, value)",
)
"""Functions of Spark's that DuckDB lacks."""


@lru_cache(maxsize=256)
def duckdb_text(text: str) -> str:
    """Return DuckDB's text for a query in Spark SQL."""
    tree = sqlglot.parse_one(text, read="spark")
    # From the inside out: what replaces a node keeps the parts that were replaced before.
    for node in reversed(list(tree.find_all(exp.Expression))):
        new = _translated(node)
        if new is not node:
            node.replace(new)
    return tree.sql(dialect="duckdb")


def _translated(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.TryCast):
        # Without ANSI mode, Spark's casts give NULL. None of ours may.
        return exp.Cast(this=node.this, to=node.to)
    if isinstance(node, exp.CountIf):
        return exp.Count(this=exp.If(this=node.this, true=exp.Literal.number(1)))
    if isinstance(node, exp.Column) and _is_sorted_by(node):
        return kept(node)
    if (value := _chosen(node)) is not None:
        return value
    if _is_whole_sum(node):
        # DuckDB's sums of whole numbers have 128 bits, Spark's 64.
        return exp.cast(node.copy(), "bigint", copy=False)
    if isinstance(node, exp.Anonymous) and node.name.upper() in _RENAMED:
        return _RENAMED[node.name.upper()](node.expressions)
    return node


def _chosen(node: exp.Expression) -> exp.Expression | None:
    """Return what gives the first value that isn't NULL, if that is what a node asks for.

    DuckDB's own functions for it make nested values anew from keys, as its sorts do: see `kept`.
    """
    call = node.this if isinstance(node, exp.Window) else node
    if not isinstance(call, exp.IgnoreNulls | exp.AnyValue):
        return None
    if call is node and isinstance(node.parent, exp.Window):
        return None
    value = call.this if isinstance(call, exp.AnyValue) else call.this.this
    found: exp.Expression = exp.Filter(
        this=exp.Anonymous(this="list", expressions=[value.copy()]),
        expression=exp.Where(this=value.copy().is_(exp.null()).not_()),
    )
    if isinstance(node, exp.Window):
        call.replace(found)
        found = node.copy()
    return exp.Anonymous(this="vcs_first", expressions=[found])


def kept(column: exp.Expression) -> exp.Expression:
    """Return a column to sort by as an expression that isn't the column itself.

    DuckDB makes columns that it sorts by anew from the keys of the sort, where -0.0 has become 0.0
    and all NaN the same (seen in 1.5.5). What it sorts by a struct of them, it keeps.
    """
    return exp.Anonymous(this="row", expressions=[column.copy()])


def _is_sorted_by(column: exp.Column) -> bool:
    """Return whether a column is one that rows are divided or sorted by."""
    above = column.parent
    return isinstance(above, exp.Ordered) or (
        isinstance(above, exp.Window) and column.arg_key == "partition_by"
    )


def _is_whole_sum(node: exp.Expression) -> bool:
    """Return whether a node is a sum, with its window, that nothing has cast yet."""
    total = node.this if isinstance(node, exp.Window) else node
    if not isinstance(total, exp.Sum) or isinstance(node.parent, exp.Cast | exp.Window):
        return False
    return not total.this.is_type("decimal")
