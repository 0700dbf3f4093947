"""Reads `optimize`."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.statements.families.optimize_statement import Optimize
from dbt.adapters.vcs.statements.reader_registry import reads
from dbt.adapters.vcs.statements.readers.clauses import (
    read_names,
)
from dbt.adapters.vcs.statements.syntax.cursor import TokenCursor
from dbt.adapters.vcs.statements.syntax.relations import is_name


@reads("optimize")
def read_optimize(cursor: TokenCursor) -> Optimize:
    """Read what follows `optimize`.

    Raises:
        UnsupportedError: It has `where` or `zorder by`.
    """
    if cursor.at("table") and is_name(cursor.ahead()):
        cursor.index += 1
    target = cursor.target()
    if cursor.at("where"):
        raise UnsupportedError(
            "`optimize ... where` is not supported on versioned tables: blocks of a good size "
            "are not rewritten anyway. Leave the condition out."
        )
    if cursor.at("zorder"):
        raise UnsupportedError(
            f"`optimize {target.name} ... zorder by` is not supported on versioned tables. "
            "Sort the rows by columns instead: optimize ... cluster by (a, b)."
        )
    cluster_by = read_names(cursor) if cursor.take("cluster", "by") else ()
    cursor.end()
    return Optimize(target=target, cluster_by=cluster_by)
